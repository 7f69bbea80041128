"""Tests of the engine of bundles."""
