"""Whether a start would make a second daemon that nobody asked for: HOME was changed, and the other home's daemon runs.

A state root that was chosen (EUKHED_HOME) is meant; one that follows from HOME alone may be an accident of `sudo -E` or
`su`, if a daemon of this user serves the root of another HOME beside it.
"""

import glob
import os
from collections.abc import Mapping
from typing import Final

from eukhed.client.connection import Connection
from eukhed.errors import EukhedError, WrongPlace
from eukhed.paths import SOCKET_PATH_MAX, Places, state_root

ANSWER_MS: Final = 5_000
USUAL: Final = "/.local/state/eukhed"  # below any HOME


def refuse_beside(places: Places, environ: Mapping[str, str]) -> None:
    """WrongPlace, with both roots, when a daemon of another HOME's root runs in the same runtime directory."""
    if environ.get("EUKHED_HOME") or places.root != state_root(environ):
        return
    beside = os.path.join(glob.escape(os.path.dirname(places.runtime)), "*", "daemon.sock")
    for path in sorted(glob.glob(beside)):
        if path == places.socket or len(os.fsencode(path)) > SOCKET_PATH_MAX:
            continue
        root = _root_of(places._replace(socket=path))
        if root is not None and root.endswith(USUAL):
            raise WrongPlace(
                f"a daemon of yours serves {root}; with this HOME a second one would serve {places.root}. "
                "EUKHED_HOME says which one is meant",
                next=[["eukhed", "--home", root, "status"]],
                root=root,
                here=places.root,
            )


def _root_of(at: Places) -> str | None:
    """Which other root the daemon of this socket serves; None when none answers."""
    try:
        Connection(at, ANSWER_MS).close()
    except WrongPlace as error:
        return str(error.data["root"]) if error.data.get("root") else None
    except EukhedError:
        return None
    return None
