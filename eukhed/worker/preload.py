"""What the forkserver imports once for all workers, so that a worker imports nothing after its fork.

Importing this module does it: everything that a worker may ever need is imported, so that a file replaced on
the disk later changes nothing; a worker's life is rehearsed, so that caches and specialised code are there before
the fork; and what is there then is frozen, so that no collection in a worker touches shared pages.
"""

import gc
import importlib
import multiprocessing.popen_forkserver  # noqa: F401 - multiprocessing would import it in each child
import os
import pkgutil
import sys
import traceback
from typing import Final

from eukhed.worker import rehearsal

ROOMS: Final = ("worker", "tree", "storage", "cron", "bundles", "wire", "host")
ALONE: Final = ("paths", "config", "environment", "build", "errors", "timing")
BY_NAME: Final = (
    "_strptime",
    "encodings.idna",
)  # the standard library imports these when they are first needed
ELSEWHERE: Final = "eukhed.worker.programs.inside."  # texts of other processes; what they import is large
ROOM: Final = "EUKHED_REHEARSAL"  # the directory that the supervisor made for it


def import_rooms() -> None:
    """Import all that a worker is made of."""
    for name in BY_NAME:
        importlib.import_module(name)
    for name in ALONE:
        importlib.import_module(f"eukhed.{name}")
    for room in ROOMS:
        package = importlib.import_module(f"eukhed.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"eukhed.{room}."):
            if module.name != __name__ and not module.name.startswith(ELSEWHERE):
                importlib.import_module(module.name)


def rehearse() -> None:
    """Play a worker's life where the supervisor made room for it. Without it workers cost more, and do the same."""
    directory = os.environ.pop(ROOM, None)
    if directory is None or not os.path.isdir(directory):  # the supervisor that made it has gone already
        return
    try:
        rehearsal.rehearse(directory)
    except Exception:  # noqa: BLE001 - whatever it is, workers can be made, and theirs is to meet it
        sys.stderr.write("eukhed: workers start cold, since their rehearsal failed\n")
        traceback.print_exc()


import_rooms()
rehearse()
gc.collect()
gc.freeze()
