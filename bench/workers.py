"""A hundred workers, one process and one storage each, committing one at a time; against one worker.

Each commit is flushed by itself, so what is measured is how far the file system shares the work of flushes
among files. It runs in the given directory and, when it is root and may mount, on an ext4 with a journal in a
file that it makes. Turns alternate, medians are told; every worker is killed with SIGKILL and its storage read back.
"Without zeros" is the same log when nothing is put behind its lines beforehand (padding_law).

    python bench/workers.py [--out FILE] [--rounds N] [--workers N] [--directory DIR]
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvloop
from commits import CountedFiles, batch_of, host_of
from sides import tell

from eukhed.storage.batch import session_batch
from eukhed.storage.committer import Committer
from eukhed.storage.reading import read_records
from eukhed.storage.storage import Storage

SECONDS = 1.0


class Unpadded(CountedFiles):
    """A file system of a type for which padding is off."""

    def filesystem(self, path: str) -> str:  # noqa: ARG002 - the name is the protocol's
        return "unknown"


def work(path: str, files: CountedFiles, ready: int, begin: int) -> None:
    """One worker: begin with the others, commit for a while, say how often, wait to be killed."""

    async def run() -> int:
        os.mkdir(path)
        storage = Storage.open(files, path)
        storage.commit(session_batch("s", "bench", "/", 0))
        committer = Committer(storage, host_of(files))
        os.write(ready, b"r")
        os.read(begin, 1)
        count, end = 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            await committer.commit(batch_of(storage))
            count += 1
        return count

    done = uvloop.run(run())
    with open(f"{path}.count", "w", encoding="ascii") as file:
        file.write(str(done))
    os.write(ready, b"d")
    signal.pause()


def commits_per_second(place: str, workers: int, files: CountedFiles) -> float:
    ready_read, ready = os.pipe()
    begin_read, begin = os.pipe()
    directory = tempfile.mkdtemp(dir=place)
    children = []
    for number in range(workers):
        child = os.fork()
        if child == 0:
            os.close(begin)
            try:
                work(f"{directory}/{number}", files, ready, begin_read)
            finally:
                os._exit(1)
        children.append(child)
    os.close(begin_read)
    _hear(ready_read, workers)
    os.close(begin)  # the end of this pipe is the start of all
    _hear(ready_read, workers)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(ready_read)
    os.close(ready)
    total = 0
    for number in range(workers):
        with open(f"{directory}/{number}.count", encoding="ascii") as file:
            count = int(file.read())
        assert len(read_records(files, f"{directory}/{number}").entries) == count, "not all was read back"
        total += count
    shutil.rmtree(directory)
    return total / SECONDS


def _hear(descriptor: int, count: int) -> None:
    while count:
        said = os.read(descriptor, count)
        assert said, "a worker ended"
        count -= len(said)


async def imported() -> None:
    """Import what a first hop to a thread imports."""
    await host_of(CountedFiles()).off_loop(list)


@contextmanager
def journaled(place: str) -> Iterator[str | None]:
    """An ext4 with a journal, in a file; None where that cannot be had."""
    image, mount = os.path.join(place, "image"), os.path.join(place, "mount")
    os.mkdir(mount)
    with open(image, "wb") as file:
        file.truncate(2 << 30)
    made = os.geteuid() == 0 and all(
        subprocess.run(argv, capture_output=True, check=False).returncode == 0
        for argv in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, mount])
    )
    try:
        yield mount if made else None
    finally:
        if made:
            subprocess.run(["umount", mount], check=True)


def measure(place: str, workers: int, rounds: int) -> dict[str, Any]:
    kinds = {"": CountedFiles(), "_without_zeros": Unpadded()}
    uvloop.run(imported())  # by the parent, as the forkserver of workers does it
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for kind, files in kinds.items():
            for count in (1, workers):
                found.setdefault(f"{count}{kind}", []).append(commits_per_second(place, count, files))
    rates = {name: round(statistics.median(each)) for name, each in found.items()}
    return {
        "commits_per_second": rates,
        "ratio": round(rates[str(workers)] / rates["1"], 1),
        "ratio_without_zeros": round(rates[f"{workers}_without_zeros"] / rates["1_without_zeros"], 1),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--workers", type=int, default=100)
    arguments.add_argument("--directory", default=None)
    given = arguments.parse_args()
    place = tempfile.mkdtemp(dir=given.directory)
    found: dict[str, Any] = {"workers": given.workers}
    try:
        found["here"] = {"filesystem": CountedFiles().filesystem(place)}
        found["here"] |= measure(place, given.workers, given.rounds)
        with journaled(place) as mount:
            if mount is not None:
                found["ext4_with_a_journal"] = measure(mount, given.workers, given.rounds)
    finally:
        shutil.rmtree(place)
    tell(found, given.out)


if __name__ == "__main__":
    main()
