"""`python -m eukhed`: the command line."""

import sys

from eukhed.cli import main

if __name__ == "__main__":
    sys.exit(main())
