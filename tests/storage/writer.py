"""A process that commits to a storage and says what was acknowledged; for tests that hurt it.

    python -m tests.storage.writer <directory> <commits> [<largest file in bytes>]

Commit N makes entry N's text, sets a document's `n` to N (a whole value each tenth time), and keeps a task
going that ends at each fifth. Output: `acked N`, `failed N`, `poisoned N`, a line each, unbuffered.
"""

import os
import resource
import sys

from eukhed.errors import Broken, DiskFull, Poisoned
from eukhed.host.files import SystemFiles
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.live import Records
from eukhed.storage.records import Entry, Running, Task, Terminal
from eukhed.storage.storage import Storage

DOCUMENT = 2


def say(word: str, number: int) -> None:
    os.write(1, f"{word} {number}\n".encode())


def count(records: Records) -> int:
    """How many commits a storage holds, by its document; and that all the rest agrees."""
    if not records.documents:
        return 0
    number = int(records.contents[DOCUMENT].get("n", 0))
    assert len(records.entries) == number, (len(records.entries), number)
    live = [task for task in records.tasks.values() if not task.terminal]
    assert len(live) == (1 if number % 5 else 0), (number, live)
    assert len(records.tasks) == -(-number // 5)
    return number


def batch_for(storage: Storage, number: int) -> Batch:
    batch = Batch()
    batch.put_entry(
        Entry(id=storage.mint(), conversation_id=1, kind="note", data={"n": number, "x": "y" * 50})
    )
    if number % 10 == 0:
        batch.change_document(DOCUMENT, value={"n": number})
    else:
        batch.change_document(DOCUMENT, [{"op": "add", "path": "/n", "value": number}])
    live = [task.id for task in storage.records.tasks.values() if not task.terminal]
    task_id = live[0] if live else storage.mint()
    state = Terminal(outcome="completed") if number % 5 == 0 else Running()
    batch.put_task(Task(id=task_id, conversation_id=1, kind="work", state=state, input={"n": number}))
    return batch


def main(path: str, commits: int, largest: int) -> None:
    storage = Storage.open(SystemFiles(), path)
    say("opened", storage.records.seq)
    if largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
    number = count(storage.records)
    for _ in range(commits):
        try:
            if not storage.records.documents:
                storage.commit(session_batch("s", "writer", "/", 0))
                say("begun", 0)
                continue
            storage.commit(batch_for(storage, number + 1))
        except Poisoned:
            say("poisoned", number + 1)
            return
        except (DiskFull, Broken):
            say("failed", number + 1)
            continue
        number += 1
        say("acked", number)
    storage.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
