"""Tests of eukhed/bundles, file by file; machine.py holds what they share."""
