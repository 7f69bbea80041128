"""Entry point of the launcher: `python -m eukhed.launcher --home DIR --socket PATH [--interactive]`.

One JSON line on standard output: {result, pid, version, build, notice?}, or {error: {code, message, ...}} with
exit status 1 (the error's own where it has one). On standard error the reason, and the end of the daemon's log.
"""

import argparse
import json
import os
import sys
from typing import Any, NoReturn

from eukhed import paths
from eukhed.errors import Broken, EukhedError
from eukhed.launcher.launch import SUPERVISOR, ensure_daemon, launcher_of


def main(supervisor: str = SUPERVISOR) -> NoReturn:
    """Launch, say how it went, end."""
    parser = argparse.ArgumentParser(prog="python -m eukhed.launcher", allow_abbrev=False)
    parser.add_argument("--home")
    parser.add_argument("--socket")
    parser.add_argument("--interactive", action="store_true")
    given = parser.parse_args()
    places = paths.places(os.environ, os.getuid(), given.home, given.socket)
    try:
        told = _launch(places, interactive=given.interactive, supervisor=supervisor)
    except EukhedError as error:
        _fail(error)
    except OSError as error:
        _fail(Broken(f"{error.filename or 'this machine'}: {error.strerror}", next=[["eukhed", "doctor"]]))
    sys.stdout.write(json.dumps(told) + "\n")
    sys.exit(0)


def _launch(places: paths.Places, *, interactive: bool, supervisor: str) -> dict[str, Any]:
    if sys.flags.optimize:
        raise EukhedError("eukhed does not run under python -O: its asserts hold its state together")
    return ensure_daemon(launcher_of(places, os.environ, interactive=interactive, supervisor=supervisor))


def _fail(error: EukhedError) -> NoReturn:
    sys.stdout.write(json.dumps({"error": error.as_wire()}) + "\n")
    sys.stderr.write(f"eukhed: {error.message}\n")
    for line in error.data.get("log") or ():
        sys.stderr.write(f"  {line}\n")
    sys.exit(error.exit)


if __name__ == "__main__":
    main()
