"""The real file system and its fakes: one history on both, and they agree. Then what only the real one has."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from eukhed.errors import UnsafeFilesystem, WrongPlace
from eukhed.host import libc
from eukhed.host.files import SystemFiles, ensure_private_directory
from eukhed.host.seam import File, Files
from tests.fakes.crash_files import CrashFiles
from tests.fakes.files import MemoryFiles

NAMES = st.sampled_from(["/a", "/b", "/d", "/d/a", "/d/b", "/d/d", "/a/x", "/l"])
DATA = st.binary(min_size=1, max_size=20)
OFFSETS = st.integers(0, 30)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or the errno of what it raises."""
    try:
        return call()
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def shape(files: Files, path: str) -> Any:
    """What both must agree on of a name: not times, not inode numbers."""
    found = files.stat(path)
    return None if found is None else (found.kind, found.size if found.kind == "file" else 0)


class FilesAgree(RuleBasedStateMachine):
    """One history of calls on the real file system and on a fake. A subclass names the fake."""

    def make_fake(self) -> tuple[Files, str]:
        """A fake, and the directory in it to play in."""
        return MemoryFiles(), ""

    careful = False  # only calls that can succeed on such a file: for fakes that leave the rest out

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp()
        self.real: Files = SystemFiles()
        self.fake, self.base = self.make_fake()
        self.open: list[tuple[File, File]] = []
        self.writable: list[tuple[File, File]] = []

    def both(self, call: Callable[[Files, Callable[[str], str]], Any]) -> Any:
        real = outcome(lambda: call(self.real, lambda path: self.root + path))
        fake = outcome(lambda: call(self.fake, lambda path: self.base + path))
        assert real == fake
        return real

    @rule(path=NAMES, write=st.booleans(), create=st.booleans(), exclusive=st.booleans())
    def open_file(self, path: str, write: bool, create: bool, exclusive: bool) -> None:
        made: list[File] = []

        def call(files: Files, at: Callable[[str], str]) -> None:
            made.append(files.open(at(path), write=write or create, create=create, exclusive=exclusive))

        self.both(call)
        if len(made) == 2:
            self.open.append((made[0], made[1]))
            if write or create:
                self.writable.append((made[0], made[1]))

    @rule(path=NAMES)
    def make_directory(self, path: str) -> None:
        self.both(lambda files, at: files.make_directory(at(path)))

    @rule(path=NAMES)
    def remove_directory(self, path: str) -> None:
        self.both(lambda files, at: files.remove_directory(at(path)))

    @rule(path=NAMES)
    def unlink(self, path: str) -> None:
        if self.careful and self.is_directory(path):
            return
        self.both(lambda files, at: files.unlink(at(path)))

    @rule(old=NAMES, new=NAMES, replace=st.booleans())
    def rename(self, old: str, new: str, replace: bool) -> None:
        if self.careful and not (self.is_file(old) and not self.is_directory(new) and self.differ(old, new)):
            return
        self.both(lambda files, at: (files.rename if replace else files.rename_no_replace)(at(old), at(new)))

    @rule(old=NAMES, new=NAMES)
    def link(self, old: str, new: str) -> None:
        if self.careful and not self.is_file(old):
            return
        self.both(lambda files, at: files.link(at(old), at(new)))

    @rule(path=NAMES)
    def scan(self, path: str) -> None:
        self.both(lambda files, at: sorted(files.scan(at(path))))

    @rule(path=NAMES)
    def flush_directory(self, path: str) -> None:
        self.both(lambda files, at: files.flush_directory(at(path)))

    def is_directory(self, path: str) -> bool:
        found = self.real.stat(self.root + path)
        return found is not None and found.kind == "directory"

    def differ(self, one: str, other: str) -> bool:
        """Not two names of one file: such a rename does nothing."""
        found = (self.real.stat(self.root + one), self.real.stat(self.root + other))
        return found[0] is None or found[1] is None or found[0].inode != found[1].inode

    def is_file(self, path: str) -> bool:
        found = self.real.stat(self.root + path)
        return found is not None and found.kind == "file"

    def on_file(self, data: st.DataObject, call: Callable[[File], Any], *, changes: bool = False) -> None:
        candidates = self.writable if changes and self.careful else self.open
        if not candidates:
            return
        real, fake = data.draw(st.sampled_from(candidates))
        assert outcome(lambda: call(real)) == outcome(lambda: call(fake))

    @precondition(lambda self: self.open)
    @rule(data=st.data(), content=DATA)
    def append(self, data: st.DataObject, content: bytes) -> None:
        self.on_file(data, lambda file: file.append(content), changes=True)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), content=DATA, offset=OFFSETS)
    def write(self, data: st.DataObject, content: bytes, offset: int) -> None:
        self.on_file(data, lambda file: file.write(offset, content), changes=True)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), size=OFFSETS, offset=OFFSETS)
    def read(self, data: st.DataObject, size: int, offset: int) -> None:
        self.on_file(data, lambda file: (file.read(offset, size), file.size()))

    @precondition(lambda self: self.open)
    @rule(data=st.data(), size=OFFSETS)
    def truncate(self, data: st.DataObject, size: int) -> None:
        self.on_file(data, lambda file: file.truncate(size), changes=True)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def flush(self, data: st.DataObject) -> None:
        self.on_file(data, lambda file: file.flush())

    @precondition(lambda self: self.open)
    @rule(data=st.data(), exclusive=st.booleans())
    def lock(self, data: st.DataObject, exclusive: bool) -> None:
        exclusive = exclusive or self.careful
        self.on_file(data, lambda file: file.lock(exclusive=exclusive))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        pair = data.draw(st.sampled_from(self.open))
        self.open.remove(pair)
        if pair in self.writable:
            self.writable.remove(pair)
        for file in pair:
            file.close()

    @invariant()
    def same_names(self) -> None:
        for path in ("/a", "/b", "/d", "/d/a", "/d/b", "/d/d"):
            assert shape(self.real, self.root + path) == shape(self.fake, self.base + path), path

    def teardown(self) -> None:
        for pair in self.open:
            for file in pair:
                file.close()
        shutil.rmtree(self.root)


class CrashFilesAgree(FilesAgree):
    careful = True

    def make_fake(self) -> tuple[Files, str]:
        return CrashFiles(), ""


TestMemoryFiles = FilesAgree.TestCase
TestCrashFiles = CrashFilesAgree.TestCase
TestMemoryFiles.settings = settings(stateful_step_count=40)
TestCrashFiles.settings = settings(stateful_step_count=40)


# only the real one


def test_a_forked_child_keeps_no_lock(tmp_path: Path) -> None:
    """lock_not_inherited: the lock is free as soon as its owner let go, whatever a forked child does."""
    path = str(tmp_path / "lock")
    ours = SystemFiles().open(path, write=True, create=True)
    assert ours.lock(exclusive=True)
    unlocked = SystemFiles().open(str(tmp_path / "other"), write=True, create=True)
    heard, said = os.pipe()
    wait, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        os.write(
            said, b"closed" if outcome(ours.size) == "EBADF" and outcome(unlocked.size) == 0 else b"kept"
        )
        os.read(wait, 1)
        os._exit(0)
    try:
        assert os.read(heard, 10) == b"closed"
        theirs = SystemFiles().open(path)
        assert not theirs.lock(exclusive=True), "the parent still holds it"
        ours.close()
        assert theirs.lock(exclusive=True), "the child lives, and has let go"
        theirs.close()
    finally:
        os.close(go)
        os.waitpid(child, 0)
        unlocked.close()
        for descriptor in (heard, said, wait):
            os.close(descriptor)


def test_a_dropped_file_lets_go_of_its_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    ours = SystemFiles().open(path, write=True, create=True)
    assert ours.lock(exclusive=True)
    del ours
    theirs = SystemFiles().open(path)
    assert theirs.lock(exclusive=True)
    theirs.close()


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    files = SystemFiles()
    (tmp_path / "file").write_bytes(b"x")
    os.symlink(tmp_path / "file", tmp_path / "link")
    os.mkfifo(tmp_path / "fifo")
    for name, number in (("link", "ELOOP"), ("fifo", "EINVAL"), (".", "EISDIR")):
        assert outcome(partial(files.open, str(tmp_path / name))) == number
    assert outcome(lambda: files.open(str(tmp_path / "link"), write=True, create=True)) == "ELOOP"
    kinds = {entry.name: entry.kind for entry in files.scan(str(tmp_path))}
    assert kinds == {"file": "file", "link": "link", "fifo": "other"}


def test_files_are_made_private_and_close_on_exec(tmp_path: Path) -> None:
    files = SystemFiles()
    file = files.open(str(tmp_path / "a"), write=True, create=True)
    assert file.stat().mode == 0o600
    assert not os.get_inheritable(file._descriptor)
    file.close()
    file.close()
    files.make_directory(str(tmp_path / "d"))
    found = files.stat(str(tmp_path / "d"))
    assert found is not None
    assert found.mode == 0o700


def test_appends_of_two_never_overwrite(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    one, two = (SystemFiles().open(path, write=True, create=True) for _ in range(2))
    for turn in range(10):
        one.append(b"1%d" % turn)
        two.append(b"2%d" % turn)
    one.write(0, b"X")
    assert one.read(0, 100) == b"X0" + b"20" + b"".join(b"1%d2%d" % (turn, turn) for turn in range(1, 10))
    one.close()
    two.close()


def test_a_rename_that_the_file_system_lacks_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    for number in (errno.EINVAL, errno.ENOSYS):

        def lacking(old: str, new: str, number: int = number) -> None:
            raise OSError(number, os.strerror(number), old, None, new)

        monkeypatch.setattr(libc, "rename_no_replace", lacking)
        with pytest.raises(UnsafeFilesystem):
            SystemFiles().rename_no_replace(str(tmp_path / "a"), str(tmp_path / "b"))
    assert sorted(os.listdir(tmp_path)) == ["a"]


def test_file_systems_are_named() -> None:
    assert SystemFiles().filesystem("/proc") == "0x9fa0"
    assert SystemFiles().filesystem("/dev/shm") in {"tmpfs", "ramfs"}
    assert outcome(lambda: SystemFiles().filesystem("/nowhere/at/all")) == "ENOENT"


# directories that are ours alone


def test_a_private_directory_is_made_with_those_above(tmp_path: Path) -> None:
    wanted = str(tmp_path / "a" / "b" / "c")
    for _ in range(2):
        ensure_private_directory(SystemFiles(), wanted)
    for path in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"):
        assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("fault", ["link", "file", "mode", "owner", "parent is a file"])
def test_a_directory_that_is_not_ours_alone_is_refused(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    uid = os.getuid()
    if fault == "link":
        (tmp_path / "real").mkdir(0o700)
        path.symlink_to(tmp_path / "real")
    elif fault == "file":
        path.write_bytes(b"")
    elif fault == "mode":
        path.mkdir(0o750)
    elif fault == "owner":
        path.mkdir(0o700)
        uid += 1
    else:
        path.write_bytes(b"")
        path = path / "below"
    with pytest.raises(WrongPlace, match=str(path)):
        ensure_private_directory(SystemFiles(), str(path), uid)
