"""What the tests of the bundle store share: small bundles, a store on a real or a failing disk, what stands on it."""

import inspect
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

import anyio

from eukhed.bundles import reading
from eukhed.bundles.bundle import BundleFiles, hash_of
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.mint_law import Shelf, read_shelf
from eukhed.bundles.reading import Limits
from eukhed.bundles.records import Version
from eukhed.bundles.store import BundleStore
from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFiles
from eukhed.host.off_loop import SystemOffLoop
from eukhed.host.process import SystemProcesses
from eukhed.host.seam import Clock, Files, Host, Processes
from eukhed.timing import BootMs, MonotonicMs, WallMs

T = TypeVar("T")
NAME = "triage"
NOON = 1_772_366_400_000  # 2026-03-01T12:00:00Z


def bundle(program: str = "one", **parts: Any) -> BundleFiles:
    """A small bundle; what differs is its program."""
    return BundleFiles(parts.pop("manifest", Manifest(NAME, "sorts mail")), program.encode(), **parts)


def system_host(files: Files | None = None) -> Host:
    clock = SystemClock()
    return Host(clock, files or SystemFiles(), SystemProcesses(clock), SystemOffLoop())


class StillClock:
    """Time that moves only by the waits for a lock."""

    def __init__(self) -> None:
        self.us = 0

    def monotonic_ms(self) -> MonotonicMs:
        return MonotonicMs(self.us // 1000)

    def boot_ms(self) -> BootMs:
        return BootMs(self.us // 1000)

    def wall_ms(self) -> WallMs:
        return WallMs(NOON + self.us // 1000)

    async def sleep_us(self, us: int) -> None:
        self.us += us

    async def sleep_ms(self, ms: int) -> None:
        self.us += ms * 1000


async def inline(call: Any) -> Any:
    return call()


def still_host(files: Any, clock: Any = None) -> Host:
    """A machine in memory: nothing waits."""
    return Host(cast("Clock", clock or StillClock()), cast("Files", files), cast("Processes", None), inline)


def run(call: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine on the real machine."""

    async def main() -> T:
        return await call

    return anyio.run(main)


def finished(call: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that has nothing to wait for."""
    try:
        call.send(None)
    except StopIteration as stop:
        return cast("T", stop.value)
    assert inspect.iscoroutine(call)
    call.close()
    raise AssertionError("it waited")


class Listener:
    """A notice that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)


def real_store(directory: Any, **given: Any) -> BundleStore:
    return BundleStore(system_host(), os.path.join(directory, "subharnesses"), **given)


def shelf(files: Any, place: str) -> Shelf:
    return read_shelf(files.scan(place)) if files.stat(place) is not None else read_shelf(())


def standing(files: Any, place: str) -> dict[int, Version]:
    """The complete versions of a directory; each must hold what its record says."""
    found = {}
    for number in shelf(files, place).complete:
        record = reading.read_record(files, place, number, Limits())
        read = reading.read_files(files, reading.version_directory(place, number), Limits())
        assert hash_of(read) == record.hash, f"version {number} is torn"
        found[number] = record
    return found


def check_lineage(files: Any, place: str) -> dict[int, Version]:
    """mint_linear and mint_claim_before_bundle of what stands here; the complete versions."""
    seen = shelf(files, place)
    assert seen.directories <= seen.records, (
        f"a bundle without a claim: {sorted(seen.directories - seen.records)}"
    )
    versions = standing(files, place)
    before = 0
    for number in sorted(versions):
        record = versions[number]
        assert record.parent_version == before, (
            f"version {number} is of {record.parent_version}, not of {before}"
        )
        assert record.parent == (versions[before].hash if before else "")
        before = number
    return versions


def tree(path: str) -> dict[str, bytes | None]:
    """Everything under a directory of the real disk: files by content, directories as None."""
    found: dict[str, bytes | None] = {}
    for folder, folders, names in os.walk(path):
        for name in folders:
            found[os.path.relpath(os.path.join(folder, name), path)] = None
        for name in names:
            full = Path(folder, name)
            content = os.readlink(full).encode() if full.is_symlink() else full.read_bytes()
            found[os.path.relpath(full, path)] = content
    return found
