"""What the store does to the disk: files put whole, hidden names that are swept meanwhile, modes, errors."""

import errno
import os
import stat
from pathlib import Path

import anyio
import pytest

from eukhed.bundles import disk
from eukhed.errors import DiskFull, FileTrouble, TooLarge
from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFile, SystemFiles
from eukhed.host.seam import FineClock, Modes
from tests.fakes.files import MemoryFiles

FILES = SystemFiles()


def test_put_new_never_replaces_and_replace_does(tmp_path: Path) -> None:
    place = str(tmp_path)
    assert disk.put_new(FILES, place, "a", b"1")
    assert not disk.put_new(FILES, place, "a", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"
    disk.replace(FILES, place, "a", b"3")
    assert (tmp_path / "a").read_bytes() == b"3"
    assert os.listdir(place) == ["a"]
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


@pytest.mark.parametrize("put", [disk.put_new, disk.replace])
def test_what_is_swept_meanwhile_is_written_again(
    tmp_path: Path, put: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[str] = []
    write = disk.write_files

    def and_swept(files: SystemFiles, contents: dict[str, bytes]) -> None:
        write(files, contents)
        if len(swept) < 3:
            swept.extend(contents)
            os.unlink(swept[-1])

    monkeypatch.setattr(disk, "write_files", and_swept)
    put(FILES, str(tmp_path), "a", b"1")  # type: ignore[operator]  # one of the two
    assert (tmp_path / "a").read_bytes() == b"1"
    assert len(set(swept)) == 3


@pytest.mark.parametrize("put", [disk.put_new, disk.replace])
def test_a_directory_that_is_not_there_is_told(tmp_path: Path, put: object) -> None:
    with pytest.raises(FileNotFoundError):
        put(FILES, str(tmp_path / "x"), "a", b"1")  # type: ignore[operator]  # one of the two


def test_many_files_are_flushed_side_by_side_and_the_first_error_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {str(tmp_path / f"f{number}"): b"%d" % number for number in range(150)}
    flushed: list[int] = []
    flush = SystemFile.flush

    def counted(self: SystemFile) -> None:
        flush(self)
        flushed.append(self.size())

    monkeypatch.setattr(SystemFile, "flush", counted)
    disk.write_files(FILES, contents, [str(tmp_path)])
    assert len(flushed) == 150
    assert {path: Path(path).read_bytes() for path in contents} == contents

    def failing(self: SystemFile) -> None:
        counted(self)
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(SystemFile, "flush", failing)
    with pytest.raises(OSError, match="no"):
        disk.write_files(FILES, {str(tmp_path / f"g{number}"): b"" for number in range(5)})
    assert len(flushed) == 155  # each was tried
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError):
        disk.write_files(FILES, {}, [str(tmp_path / "nowhere")])


def test_reading_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert disk.read_file(FILES, str(tmp_path / "a"), 5) == b"12345"
    assert disk.read_file(FILES, str(tmp_path / "a")) == b"12345"
    with pytest.raises(TooLarge):
        disk.read_file(FILES, str(tmp_path / "a"), 4)


def test_directories_are_made_with_those_above(tmp_path: Path) -> None:
    disk.make_directories(FILES, str(tmp_path / "a" / "b"))
    disk.make_directories(FILES, str(tmp_path / "a" / "b"))
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o755


def test_modes_go_through_no_link_and_a_file_system_without_them_is_left(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "a").chmod(0o600)
    os.symlink(tmp_path / "a", tmp_path / "link")
    with pytest.raises(OSError, match="link"):
        FILES.set_mode(str(tmp_path / "link"), 0o777)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert isinstance(FILES, Modes)
    disk.set_mode(MemoryFiles(), "/nowhere", 0o644)


def test_a_tree_goes_and_what_links_point_to_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"1")
    (tmp_path / "tree" / "below").mkdir(parents=True)
    (tmp_path / "tree" / "below" / "file").write_bytes(b"")
    os.symlink(tmp_path / "kept", tmp_path / "tree" / "link")
    os.symlink(tmp_path, tmp_path / "link")
    for name in ("tree", "link", "nowhere"):
        disk.remove_tree(FILES, str(tmp_path / name))
    assert os.listdir(tmp_path) == ["kept"]


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EFBIG, DiskFull),
        (errno.EACCES, FileTrouble),
    ],
)
def test_what_the_system_refuses_is_typed(number: int, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught, disk.told("/place"):
        raise OSError(number, os.strerror(number))
    told = caught.value.data  # type: ignore[attr-defined]  # all are ours
    assert told == {"file": "/place", "reason": errno.errorcode[number]}
    with pytest.raises(FileTrouble, match="/other") as caught_other, disk.told("/place"):
        raise OSError(errno.EIO, "no", "/other")
    assert caught_other.value.data["file"] == "/other"


def test_the_clock_waits_for_less_than_a_millisecond() -> None:
    clock = SystemClock()
    assert isinstance(clock, FineClock)
    anyio.run(clock.sleep_us, 100)
