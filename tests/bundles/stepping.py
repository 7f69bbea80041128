"""The real file system, with something done before every step that changes it: each is one system call.

A child of `killed_at` dies by SIGKILL before the step of that number, so that every point where a mint can be cut
is tried, and none is left to chance.
"""

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from eukhed.bundles.bundle import BundleFiles
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.store import BundleStore
from eukhed.errors import NotFoundError
from eukhed.host.blocking import BlockingHost, finish
from eukhed.host.files import SystemFile, SystemFiles
from eukhed.host.seam import File
from tests.bundles.machine import NAME


class SteppingFile(SystemFile):
    """A file whose writes come in two halves, with a step before each, and whose flush is one."""

    __slots__ = ("step",)
    step: Callable[[], None]

    def append(self, data: bytes) -> int:
        half = len(data) // 2
        self.step()
        taken = super().append(data[:half]) if half else 0
        self.step()
        return taken + super().append(data[half:])

    def flush(self) -> None:
        self.step()
        super().flush()


class SteppingFiles(SystemFiles):
    """Calls `step` before every change."""

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> SystemFile:
        if create:
            self._step()
        file = super().open(path, write=write, create=create, exclusive=exclusive)
        stepping = SteppingFile(file._descriptor)
        stepping.step = self._step
        file._descriptor = -1  # it is the other's now
        return stepping

    def flush_all(self, files: Sequence[File], directories: Sequence[str]) -> None:
        """One after the other, so that each is a step."""
        for file in files:
            file.flush()
        for directory in directories:
            self.flush_directory(directory)


def _stepping(name: str) -> Any:
    def call(self: SteppingFiles, *given: Any) -> Any:
        self._step()
        return getattr(SystemFiles, name)(self, *given)

    return call


for _name in (
    "flush_directory", "link", "make_directory", "remove_directory", "rename", "rename_no_replace", "set_mode", "unlink",
):  # fmt: skip
    setattr(SteppingFiles, _name, _stepping(_name))


def store_of(directory: str, step: Callable[[], None] | None = None) -> BundleStore:
    files = SystemFiles() if step is None else SteppingFiles(step)
    return BundleStore(BlockingHost(files=files), directory)


def mint_from_head(store: BundleStore, program: str) -> int:
    """A mint from whatever is the head; the version that it made."""
    try:
        parent = store.record(NAME).hash
    except NotFoundError:
        parent = ""
    files = BundleFiles(
        Manifest(NAME, "sorts mail"), program.encode(), {"a": b"ask\n"}, b"seed\n", {"e": b"check"}
    )
    return finish(store.mint(files, parent, "better")).version


def killed_at(directory: str, number: int) -> None:
    """Mint, and die before the step of this number; a mint that has fewer steps ends well."""
    left = number

    def step() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    mint_from_head(store_of(directory, step), f"killed at {number}")
