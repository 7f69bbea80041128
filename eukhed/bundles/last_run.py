"""The note on the last run of a bundle: one a name, replaced by the next run's."""

import os
from dataclasses import replace
from typing import Final

from eukhed.bundles import disk, reading
from eukhed.bundles.disk import Notice
from eukhed.bundles.reading import Limits
from eukhed.bundles.records import BadRecord, RunNote, decode_run, encode_run
from eukhed.errors import Broken, Invalid, Refused
from eukhed.host.seam import Files
from eukhed.timing import WallMs

FILE: Final = "last-run.json"


def keep(files: Files, directory: str, note: RunNote, now: WallMs) -> None:
    """Put a note in place of the one before; one without a time is of now.

    Raises:
        Invalid: the cost is no sum of money, or the version no number from 0.
        BrokenBundle: the directory is a link, or none. DiskFull, FileTrouble: as the system says.
    """
    try:
        data = encode_run(note if note.at > 0 else replace(note, at=now))
        decode_run(data)
    except (ValueError, OverflowError) as error:  # a BadRecord, or a number that JSON or the calendar has not
        raise Invalid(f"a note that cannot be kept: {error}") from error
    with disk.told(directory):
        reading.check_place(files, directory)
        disk.make_directories(files, directory)
        disk.replace(files, directory, FILE, data)


def read(files: Files, directory: str, limits: Limits, notice: Notice) -> RunNote | None:
    """The note; None without one, or when it has no time. One that cannot be read is a notice, and None."""
    path = os.path.join(directory, FILE)
    try:
        with disk.told(path):
            reading.check_place(files, directory)
            note = decode_run(disk.read_file(files, path, limits.file_bytes))
    except (Broken, Refused, BadRecord) as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            notice(f"{path}: the note on the last run cannot be read: {error}")
        return None
    return note if note.at > 0 else None
