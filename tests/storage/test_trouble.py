"""trouble.py: errors of the system in our words."""

import errno
import os

import pytest

from eukhed.errors import DiskFull, EukhedError, FileTrouble, Permission
from eukhed.storage.trouble import told_of, trouble


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EFBIG, DiskFull),
        (errno.EACCES, Permission),
        (errno.EPERM, Permission),
        (errno.EIO, FileTrouble),
        (errno.EROFS, FileTrouble),
        (errno.ENOENT, FileTrouble),
    ],
    ids=lambda value: errno.errorcode[value] if isinstance(value, int) else "",
)
def test_each_number_has_its_error(number: int, kind: type[EukhedError]) -> None:
    told = trouble(OSError(number, os.strerror(number), "/a/file"), "/a")
    assert type(told) is kind
    assert told.message == f"/a/file: {os.strerror(number)}"
    assert told.data["file"] == "/a/file"


def test_the_path_stands_in_for_a_file_that_is_not_named() -> None:
    assert trouble(OSError(errno.EIO, "bad"), "/a").data["file"] == "/a"
    assert trouble(OSError("no number"), "/a").message == "/a: no number"


def test_notes_and_cause_are_kept() -> None:
    error = OSError(errno.EIO, "bad")
    error.add_note("left to the sweep")
    with pytest.raises(FileTrouble) as caught, told_of("/a"):
        raise error
    assert caught.value.__cause__ is error
    assert caught.value.__notes__ == ["left to the sweep"]


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), told_of("/a"):
        raise KeyError
