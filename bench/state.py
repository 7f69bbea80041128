"""Commits of a session while its tree is built from the log: how long one takes, alone and meanwhile.

    python bench/state.py [--commits N] [--json FILE]

The session is made in a scratch directory with N commits of one entry. A commit then comes every 5 ms, as a
worker makes them: before the tree, while it is built, and when it follows. Times are of all commits in a round.
"""

import argparse
import json
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import uvloop

from eukhed.host import system_host
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.committer import Committer
from eukhed.storage.records import Entry
from eukhed.storage.staging import create_session
from eukhed.storage.storage import Storage
from eukhed.tree import history
from eukhed.tree.builder import Builder
from eukhed.worker.quiet import Quiet

PAUSE_S = 0.005
ALONE = 300  # commits
GROUP = 100


def one(storage: Storage) -> Batch:
    batch = Batch()
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="note", data={"text": "x" * 60}))
    return batch


def filled(directory: str, commits: int) -> str:
    """A session's storage with so many commits."""
    files = system_host().files
    path = create_session(files, directory, "s", session_batch("s", "bench", "/", 1))
    storage = Storage.open(files, path, fsync=False)
    for _ in range(commits // GROUP):
        group = storage.group()
        for _ in range(GROUP):
            storage.add(group, one(storage))
        storage.write(group)
        storage.show(group)
    storage.close()
    return path


async def measured(path: str) -> dict[str, Any]:
    plain = system_host()
    quiet = Quiet(plain.clock, plain.off_loop)
    quiet.opened()
    host = plain._replace(off_loop=quiet)
    storage = Storage.open(host.files, path)
    committer, builder = Committer(storage, host), Builder("bench")

    async def series(over: Callable[[int], bool]) -> dict[str, float]:
        took: list[float] = []
        while not over(len(took)):
            start = time.perf_counter()
            await committer.commit(one(storage))
            took.append((time.perf_counter() - start) * 1000)
            await anyio.sleep(PAUSE_S)
        took.sort()
        return {
            "commits": len(took),
            "median_ms": round(statistics.median(took), 2),
            "p99_ms": round(took[int(len(took) * 0.99)], 2),
        }

    async def keep(until: int) -> None:
        log = history.commits(host.files, path, until)
        async with aclosing(builder.run(list(storage.records.tasks.values()), log, quiet.aside)) as happened:
            async for _ in happened:
                pass

    built = False

    async def read() -> None:
        nonlocal built
        await builder.read()
        built = True

    result: dict[str, Any] = {"alone": await series(lambda count: count >= ALONE)}
    async with anyio.create_task_group() as tasks:
        storage.listen(builder.heard)
        tasks.start_soon(keep, storage.records.seq)
        tasks.start_soon(read)
        start = time.perf_counter()
        result["building"] = await series(lambda _count: built)
        result["build_s"] = round(time.perf_counter() - start, 2)
        result["following"] = await series(lambda count: count >= ALONE)
        tasks.cancel_scope.cancel()
    storage.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--commits", type=int, default=200_000)
    parser.add_argument("--json")
    options = parser.parse_args()
    directory = tempfile.mkdtemp()
    try:
        path = filled(directory, options.commits)
        found = anyio.run(measured, path, backend_options={"loop_factory": uvloop.new_event_loop})
    finally:
        shutil.rmtree(directory)
    found |= {"log_commits": options.commits, "python": platform.python_version()}
    print(json.dumps(found, indent=1))
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
