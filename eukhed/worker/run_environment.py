"""The environment of a run that has not started: one file of the run, 0600, gone once it cannot start again.

Its values are nowhere else on the disk.
"""

from collections.abc import Mapping

from eukhed.errors import Broken
from eukhed.host.files import make_directories
from eukhed.host.seam import Files
from eukhed.wire.codec import decode, encode


def keep(files: Files, directory: str, env: Mapping[bytes, bytes]) -> None:
    """Write the file and flush it; the directory of the run is made."""
    make_directories(files, directory)
    data = encode([[name, value] for name, value in env.items()])
    file = files.open(path_in(directory), write=True, create=True)
    try:
        file.truncate(0)
        if file.append(data) != len(data):
            raise Broken(f"{path_in(directory)}: the file was not taken whole", file=path_in(directory))
        file.flush()
    finally:
        file.close()
    files.flush_directory(directory)


def read(files: Files, directory: str) -> dict[bytes, bytes] | None:
    """The environment that was kept; None when there is none, or not all of it."""
    if files.stat(path_in(directory)) is None:
        return None
    file = files.open(path_in(directory))
    try:
        data = file.read(0, file.size())
    finally:
        file.close()
    pairs = decode(data) if data else None
    return dict(pairs) if isinstance(pairs, list) else None


def forget(files: Files, directory: str) -> None:
    """Remove the file, if it is there."""
    if files.stat(path_in(directory)) is not None:
        files.unlink(path_in(directory))


def path_in(directory: str) -> str:
    return f"{directory}/environment"
