"""Tests of eukhed/host: the real machine, and each fake held equal to it."""
