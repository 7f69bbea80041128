"""Tests of eukhed/storage, one file a file; a law has its model beside its test."""
