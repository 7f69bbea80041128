"""Open a storage of a million commits, without and with a checkpoint; against json.loads of each line and SQLite.

Rounds alternate, medians are told; each contender runs in a process of its own, whose memory is told too.
"Live state" is what the records take when they are made by a checkpoint alone.

    python bench/open.py [--out FILE] [--rounds N] [--commits N] [--directory DIR]
"""

import argparse
import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from sides import tell

from eukhed.host.files import SystemFiles
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.reading import read
from eukhed.storage.records import Entry, Running, Task, Terminal
from eukhed.storage.storage import Storage

TEXT = "a line of output of a command, as long as such lines are, with some more words in it\n"
GROUP = 2000


def make(path: str, commits: int) -> None:
    """Runs of a hundred output entries each, as a worker writes them, without flushes."""
    os.mkdir(path)
    storage = Storage.open(SystemFiles(), path, fsync=False)
    storage.commit(session_batch("s", "bench", "/", 0))
    task = 0
    for start in range(0, commits, GROUP):
        group = storage.group()
        for number in range(start, min(start + GROUP, commits)):
            batch = Batch()
            if number % 100 == 0:
                task = storage.mint()
                batch.put_task(
                    Task(
                        id=task, conversation_id=1, kind="command", state=Running(), input={"argv": ["make"]}
                    )
                )
            elif number % 100 == 99:
                state = Terminal(outcome="completed", result={"exit": 0})
                batch.put_task(
                    Task(id=task, conversation_id=1, kind="command", state=state, input={"argv": ["make"]})
                )
            else:
                data = {"stream": "out", "text": TEXT}
                entry_id = storage.mint()
                batch.put_entry(
                    Entry(id=entry_id, conversation_id=1, kind="output", by_task_id=task, data=data)
                )
            storage.add(group, batch)
        storage.write(group)
        storage.show(group)
    storage.close()
    for name in os.listdir(path):  # what an open with flushes would have removed
        if name.startswith("task-"):
            os.unlink(os.path.join(path, name))


def fill_sqlite(path: str, commits: int) -> None:
    base = sqlite3.connect(path)
    base.execute("create table entry(id integer primary key, conversation integer, kind text, data text)")
    data = json.dumps({"stream": "out", "text": TEXT})
    base.executemany(
        "insert into entry values(?, 1, 'output', ?)", ((number, data) for number in range(commits))
    )
    base.commit()
    base.close()


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def contender(name: str, place: str) -> None:
    """One measurement, in this process."""
    path = os.path.join(place, "session")
    kept: Any = None
    before_bytes = resident_bytes()
    before = time.perf_counter()
    if name == "json":
        with open(os.path.join(path, "main.jsonl"), "rb") as file:
            for line in file:
                json.loads(line)
    elif name == "sqlite":
        base = sqlite3.connect(os.path.join(place, "base.db"))
        for row in base.execute("select * from entry"):
            kept = row
    else:
        kept = read(SystemFiles(), path, use_checkpoint=name == "checkpoint")
    took = time.perf_counter() - before
    count = len(kept.records.entries) if name in {"open", "checkpoint"} else 0
    print(json.dumps({"seconds": took, "bytes": resident_bytes() - before_bytes, "entries": count}))


def run(name: str, place: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--contender", name, "--directory", place], capture_output=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(place: str, commits: int, rounds: int) -> dict[str, Any]:
    path = os.path.join(place, "session")
    make(path, commits)
    storage = Storage.open(SystemFiles(), path)
    assert storage.checkpoint()()
    storage.close()
    fill_sqlite(os.path.join(place, "base.db"), commits)
    names = ("json", "open", "checkpoint", "sqlite")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            found[name].append(run(name, place))
    seconds = {name: statistics.median(one["seconds"] for one in found[name]) for name in names}
    sizes = {name: statistics.median(one["bytes"] for one in found[name]) for name in ("open", "checkpoint")}
    assert found["open"][0]["entries"] == found["checkpoint"][0]["entries"]
    return {
        "commits": commits,
        "log_megabytes": os.path.getsize(os.path.join(path, "main.jsonl")) // 1_000_000,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "ratio_to_json": round(seconds["open"] / seconds["json"], 2),
        "ratio_to_json_with_checkpoint": round(seconds["checkpoint"] / seconds["json"], 3),
        "ratio_to_sqlite": round(seconds["open"] / seconds["sqlite"], 2),
        "megabytes": {name: round(value / 1e6, 1) for name, value in sizes.items()},
        "memory_to_live_state": round(sizes["open"] / sizes["checkpoint"], 2),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--commits", type=int, default=1_000_000)
    arguments.add_argument("--directory", default=None)
    arguments.add_argument("--contender")
    given = arguments.parse_args()
    if given.contender:
        contender(given.contender, given.directory)
        return
    place = tempfile.mkdtemp(dir=given.directory)
    try:
        found = measure(place, given.commits, given.rounds)
    finally:
        shutil.rmtree(place)
    tell(found, given.out)


if __name__ == "__main__":
    main()
