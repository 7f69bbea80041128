"""A launcher whose supervisor is the stand-in of tests/supervisor."""

from eukhed.launcher.__main__ import main

if __name__ == "__main__":
    main("tests.supervisor.standin")
