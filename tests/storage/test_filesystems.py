"""Which file systems a storage may be on."""

from pathlib import Path

import pytest

from eukhed.errors import NotFound, UnsafeFilesystem
from eukhed.host.files import SystemFiles
from eukhed.storage import filesystems
from tests.fakes.crash_files import CrashFiles


class On(CrashFiles):
    """A file system that says what it is told to."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def filesystem(self, path: str) -> str:
        return self._kind


@pytest.mark.parametrize("kind", ["nfs", "smb", "cifs", "9p", "ceph"])
def test_refused(kind: str) -> None:
    with pytest.raises(UnsafeFilesystem, match=f"/x is on {kind}") as caught:
        filesystems.check(On(kind), "/x")
    assert caught.value.data == {"filesystem": kind, "path": "/x"}
    warning = filesystems.check(On(kind), "/x", unsafe=True)
    assert warning is not None
    assert kind in warning


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "0x1234"])
def test_taken(kind: str) -> None:
    assert filesystems.check(On(kind), "/x") is None


def test_fuse_is_warned_of() -> None:
    assert "FUSE" in (filesystems.check(On("fuse"), "/x") or "")


def test_here(tmp_path: Path) -> None:
    assert filesystems.check(SystemFiles(), str(tmp_path)) is None
    with pytest.raises(NotFound):
        filesystems.check(SystemFiles(), str(tmp_path / "none"))
