"""Durable commits: one writer, 256 writers, and the latency of one beside 64; against fdatasync and SQLite.

Rounds alternate (A B A B ...), medians are told. Each commit is a real record, checked and encoded, through
the Committer that a worker uses, in a process that is killed with SIGKILL when it has said its figures; flushes
are counted, and all that was committed is read back. LMDB takes part when its package is there.

    python bench/commits.py [--out FILE] [--rounds N] [--directory DIR]
"""

import argparse
import asyncio
import gc
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import uvloop
from sides import tell

from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFile, SystemFiles
from eukhed.host.off_loop import SystemOffLoop
from eukhed.host.process import SystemProcesses
from eukhed.host.seam import Host
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.committer import Committer
from eukhed.storage.reading import read_records
from eukhed.storage.records import Entry
from eukhed.storage.storage import Storage

try:
    import lmdb
except ImportError:  # it is a peer, not a dependency
    lmdb = None

TEXT = "a line of output of a command, as long as such lines are, with some more words in it\n"


class Counted(SystemFile):
    """A file that counts its flushes."""

    __slots__ = ()
    flushes = 0

    def flush(self) -> None:
        type(self).flushes += 1
        super().flush()


class CountedFiles(SystemFiles):
    """The real file system, with flushes counted."""

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> SystemFile:
        file = super().open(path, write=write, create=create, exclusive=exclusive)
        file.__class__ = Counted
        return file


class Sample(NamedTuple):
    """One round of one contender."""

    per_second: float
    flushes: int = 0
    p50_us: float = 0
    p99_us: float = 0


def host_of(files: SystemFiles) -> Host:
    clock = SystemClock()
    return Host(clock, files, SystemProcesses(clock), SystemOffLoop())


def batch_of(storage: Storage) -> Batch:
    batch = Batch()
    batch.put_entry(
        Entry(id=storage.mint(), conversation_id=1, kind="output", data={"stream": "out", "text": TEXT})
    )
    return batch


def begun(directory: str) -> tuple[Storage, Committer]:
    path = os.path.join(directory, "session")
    os.mkdir(path)
    files = CountedFiles()
    storage = Storage.open(files, path)
    storage.commit(session_batch("s", "bench", "/", 0))
    Counted.flushes = 0
    gc.collect()
    gc.freeze()  # as the forkserver of workers does
    return storage, Committer(storage, host_of(files))


def ours(directory: str, writers: int, commits: int) -> Sample:
    """In a process of its own, which dies without a close."""
    argv = [sys.executable, __file__, "--directory", directory, "--contender", f"{writers} {commits}"]
    done = subprocess.run(argv, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    sample = Sample(*json.loads(done.stdout))
    found = len(read_records(SystemFiles(), os.path.join(directory, "session")).entries)
    assert found == commits // writers * writers, "not all was read back"
    return sample


def contender(directory: str, writers: int, commits: int) -> None:
    async def run() -> Sample:
        storage, committer = begun(directory)

        async def writer() -> None:
            for _ in range(commits // writers):
                await committer.commit(batch_of(storage))

        before = time.perf_counter()
        await asyncio.gather(*(writer() for _ in range(writers)))
        took = time.perf_counter() - before
        return Sample(commits // writers * writers / took, Counted.flushes)

    print(json.dumps(uvloop.run(run())), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def floor(directory: str, commits: int) -> Sample:
    """write + fdatasync of the bytes that one commit writes."""
    line = b'{"format":1,"type":"commit","seq":1000,"acked":200000,"writes":[{"type":"entry","value":' + (
        b'{"id":1000,"conversationId":1,"kind":"output","data":{"stream":"out","text":"'
        + TEXT.encode()
        + b'"}}}],'
    )
    line += b'"crc":"00000000"}\n'
    descriptor = os.open(os.path.join(directory, "floor"), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    before = time.perf_counter()
    for _ in range(commits):
        os.write(descriptor, line)
        os.fdatasync(descriptor)
    took = time.perf_counter() - before
    os.close(descriptor)
    return Sample(commits / took, commits)


def sqlite(directory: str, commits: int) -> Sample:
    """One transaction each, WAL, synchronous=FULL."""
    base = sqlite3.connect(os.path.join(directory, "base.db"), isolation_level=None)
    base.execute("pragma journal_mode=wal")
    base.execute("pragma synchronous=full")
    base.execute("create table entry(id integer primary key, conversation integer, kind text, data text)")
    data = json.dumps({"stream": "out", "text": TEXT})
    before = time.perf_counter()
    for number in range(commits):
        base.execute("begin immediate")
        base.execute("insert into entry values(?, 1, 'output', ?)", (number, data))
        base.execute("commit")
    took = time.perf_counter() - before
    base.close()
    return Sample(commits / took, commits)


def lmdb_sync(directory: str, commits: int) -> Sample:
    """One transaction each, flushed."""
    base = lmdb.open(os.path.join(directory, "base"), map_size=1 << 28)
    data = json.dumps({"conversation": 1, "kind": "output", "data": {"stream": "out", "text": TEXT}}).encode()
    before = time.perf_counter()
    for number in range(commits):
        with base.begin(write=True) as transaction:
            transaction.put(number.to_bytes(8, "big"), data)
    took = time.perf_counter() - before
    base.close()
    return Sample(commits / took, commits)


def latency(directory: str, pause_s: float) -> Sample:
    """One commit after another, timed, beside 64 writers; `pause_s` between two commits of each of these."""

    async def run() -> Sample:
        storage, committer = begun(directory)
        over = False

        async def other(number: int) -> None:
            await asyncio.sleep(pause_s * number / 64)
            while not over:
                await committer.commit(batch_of(storage))
                if pause_s:
                    await asyncio.sleep(pause_s)

        others = [asyncio.ensure_future(other(number)) for number in range(64)]
        took: list[float] = []
        for _ in range(1500 if not pause_s else 400):
            before = time.perf_counter()
            await committer.commit(batch_of(storage))
            took.append((time.perf_counter() - before) * 1e6)
            if pause_s:
                await asyncio.sleep(0.002)
        over = True
        await asyncio.gather(*others)
        storage.close()
        took.sort()
        return Sample(0, 0, statistics.median(took), took[int(len(took) * 0.99)])

    return uvloop.run(run())


def one_flush(directory: str) -> Sample:
    sample = floor(directory, 1000)
    return Sample(0, 0, 1e6 / sample.per_second)


def alternate(
    place: str, rounds: int, contenders: dict[str, Callable[[str], Sample]]
) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            directory = tempfile.mkdtemp(dir=place)
            found[name].append(contender(directory))
            shutil.rmtree(directory)
    return found


def median(samples: list[Sample], field: str) -> float:
    return float(statistics.median(getattr(sample, field) for sample in samples))


def measure(place: str, rounds: int) -> dict[str, Any]:
    one = alternate(
        place,
        rounds,
        {
            "ours": lambda d: ours(d, 1, 2000),
            "floor": lambda d: floor(d, 2000),
            "sqlite": lambda d: sqlite(d, 2000),
        },
    )
    crowded: dict[str, Callable[[str], Sample]] = {
        "ours": lambda d: ours(d, 256, 256 * 150),
        "sqlite": lambda d: sqlite(d, 3000),
    }
    if lmdb is not None:
        crowded["lmdb"] = lambda d: lmdb_sync(d, 2000)
    many = alternate(place, rounds, crowded)
    late = alternate(
        place,
        rounds,
        {"fast": lambda d: latency(d, 0), "steady": lambda d: latency(d, 0.01), "flush": one_flush},
    )
    flush_us = median(late["flush"], "p50_us")
    rates = {name: round(median(samples, "per_second")) for name, samples in one.items()}
    crowd = {name: round(median(samples, "per_second")) for name, samples in many.items()}
    return {
        "one_writer": rates
        | {
            "ratio_to_floor": round(rates["ours"] / rates["floor"], 2),
            "ratio_to_sqlite": round(rates["ours"] / rates["sqlite"], 2),
        },
        "writers_256": crowd
        | {
            "ratio_to_sqlite": round(crowd["ours"] / crowd["sqlite"], 1),
            "commits_per_flush": round(256 * 150 / median(many["ours"], "flushes")),
        },
        "latency": {
            "flush_us": round(flush_us),
            "p99_beside_64_us": round(median(late["fast"], "p99_us")),
            "p99_beside_64_ratio": round(median(late["fast"], "p99_us") / flush_us, 1),
            "p99_beside_64_at_100_a_second_us": round(median(late["steady"], "p99_us")),
            "p99_beside_64_at_100_a_second_ratio": round(median(late["steady"], "p99_us") / flush_us, 1),
        },
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--directory", default=None)
    arguments.add_argument("--contender", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.contender:
        writers, commits = given.contender.split()
        contender(given.directory, int(writers), int(commits))
        return
    place = tempfile.mkdtemp(dir=given.directory)
    try:
        found = measure(place, given.rounds)
    finally:
        shutil.rmtree(place)
    tell(found, given.out)


if __name__ == "__main__":
    main()
