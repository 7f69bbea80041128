"""copying.py: the bytes are those of the source, holes stay holes, and each way to copy gives the same."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from eukhed.host.copying import copy_data
from eukhed.host.files import SystemFiles
from eukhed.host.seam import Copier

MEGA = 1 << 20


def copied(tmp_path: Path, source: Path, size: int) -> Path:
    target = tmp_path / "copy"
    with source.open("rb") as old, target.open("xb") as new:
        copy_data(old.fileno(), new.fileno(), size)
    return target


@pytest.fixture(params=["as it can", "no range", "neither"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way to copy that a machine may lack, taken away."""

    def cannot(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "not here")

    if request.param != "as it can":
        monkeypatch.setattr(os, "copy_file_range", cannot)
    if request.param == "neither":
        monkeypatch.setattr(fcntl, "ioctl", cannot)
    return str(request.param)


@pytest.mark.parametrize("size", [0, 1, 3 * MEGA - 1, 3 * MEGA, 9 * MEGA])
def test_the_first_bytes(tmp_path: Path, way: str, size: int) -> None:
    source = tmp_path / "source"
    data = os.urandom(3 * MEGA)
    source.write_bytes(data)
    assert copied(tmp_path, source, size).read_bytes() == data[:size], way


@pytest.mark.parametrize("end", [16 * MEGA, 15 * MEGA + 7, 5 * MEGA, 100])
def test_holes_stay_holes(tmp_path: Path, way: str, end: int) -> None:
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.write(b"begin")
        file.seek(16 * MEGA - 3)
        file.write(b"end")
    target = copied(tmp_path, source, end)
    assert target.read_bytes() == source.read_bytes()[:end], way
    assert target.stat().st_blocks * 512 < MEGA


def test_an_end_that_is_a_hole(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x")
    os.truncate(source, 2 * MEGA)
    assert copied(tmp_path, source, 3 * MEGA).read_bytes() == b"x" + bytes(2 * MEGA - 1)


def test_what_else_goes_wrong_is_told(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x")
    with source.open("rb") as old, source.open("rb") as unwritable, pytest.raises(OSError, match="Bad file"):
        copy_data(old.fileno(), unwritable.fileno(), 1)


def test_the_real_files_copy(tmp_path: Path) -> None:
    files = SystemFiles()
    assert isinstance(files, Copier)
    (tmp_path / "a").write_bytes(b"hello")
    old = files.open(str(tmp_path / "a"))
    new = files.open(str(tmp_path / "b"), write=True, create=True, exclusive=True)
    files.copy(old, new, 4)
    assert new.read(0, 9) == b"hell"
