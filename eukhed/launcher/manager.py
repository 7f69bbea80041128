"""The user's service manager: whether it has our unit, and asking it to start that.

A daemon that the manager started is its to start again: one beside it would hold the lock while the unit
failed for ever. The unit serves the default places only, so others are none of its business.
"""

import os
import subprocess
from collections.abc import Mapping
from typing import Final

from eukhed import paths
from eukhed.paths import Places

UNIT: Final = "eukhed.service"
OURS: Final = "EUKHED_"


def manages(places: Places, environ: Mapping[str, str]) -> bool:
    """Whether the user's manager has a unit for the daemon of these places."""
    if not os.path.isfile(_unit_file(environ)):
        return False
    plain = {name: value for name, value in environ.items() if not name.startswith(OURS)}
    return paths.places(plain, os.getuid()) == places


def start(wait_ms: int) -> bool:
    """Ask the manager to start the unit; whether it is active then (Type=notify: it said that it is ready)."""
    try:
        done = subprocess.run(
            ["systemctl", "--user", "start", UNIT],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=wait_ms / 1000,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False  # no manager to ask after all, or none that answers
    return done.returncode == 0


def _unit_file(environ: Mapping[str, str]) -> str:
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "/"), ".config")
    return os.path.join(base, "systemd", "user", UNIT)
