"""A process that takes part in rounds: in each, all that take part mint from the one head that all have read."""

import errno
import os
from multiprocessing.synchronize import Barrier
from typing import Any

from eukhed.bundles.bundle import BundleFiles
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.store import BundleStore
from eukhed.errors import EukhedError
from eukhed.host.blocking import BlockingHost, finish
from eukhed.host.files import SystemFile, SystemFiles
from tests.bundles.machine import NAME
from tests.bundles.stepping import store_of


class Unlockable(SystemFile):
    """A file on a file system that has no locks."""

    __slots__ = ()

    def lock(self, *, exclusive: bool) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


class UnlockableFiles(SystemFiles):
    """Such a file system."""

    def open(self, path: str, **given: Any) -> SystemFile:
        file = super().open(path, **given)
        file.__class__ = Unlockable
        return file


def take_part(
    directory: str, ledger: str, number: int, rounds: int, barrier: Barrier, *, locks: bool
) -> None:
    """Each line of the ledger is one write: `<round> made <version>`, or `<round> <code of the error>`."""
    store = BundleStore(BlockingHost(files=SystemFiles() if locks else UnlockableFiles()), directory)
    out = os.open(ledger, os.O_WRONLY | os.O_APPEND)
    for turn in range(rounds):
        head = store.record(NAME).hash
        files = BundleFiles(Manifest(NAME, "sorts mail"), f"{turn} by {number}".encode(), {"a": b"ask"})
        barrier.wait(60)
        try:
            told = f"made {finish(store.mint(files, head, f'round {turn}')).version}"
        except EukhedError as error:
            told = error.code
        os.write(out, f"{turn} {told}\n".encode())
        barrier.wait(60)


def note(directory: str, number: int, notes: int) -> None:
    """Remember so many things, each of them two lines that look like a heading."""
    memory = store_of(directory).memory(NAME)
    for turn in range(notes):
        finish(memory.remember(text_of(number, turn)))


def text_of(number: int, turn: int) -> str:
    return f"{number}.{turn} " + "x" * (turn % 97) + f"\n## 2026-01-01T00:00:00Z\n\\## {turn}\n"
