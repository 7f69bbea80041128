"""A supervisor whose workers are stand-ins."""

from eukhed.supervisor.__main__ import main

main("tests.supervisor.standin.preload", "tests.supervisor.standin:main")
