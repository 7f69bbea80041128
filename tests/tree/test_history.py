"""A tree built from a real storage's files, against the one that its listener kept."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from eukhed.errors import Corrupt
from eukhed.host.files import SystemFiles
from eukhed.storage.batch import Batch
from eukhed.storage.records import (
    Change,
    Committed,
    Conversation,
    ConversationScope,
    Document,
    Entry,
    Submission,
    Task,
)
from eukhed.storage.storage import Storage
from eukhed.tree import feed
from eukhed.tree.history import commits, read_tree
from eukhed.tree.live import LiveTree
from tests.tree.commits import Grower, by_name, tree_of

FILES = SystemFiles()


def put(batch: Batch, change: Change, seq: int) -> None:
    """A change of the model storage as a put of a real one."""
    match change:
        case Conversation():
            batch.put_conversation(change)
        case Entry():
            batch.put_entry(change)
        case Task():
            batch.put_task(change)
        case Submission():
            batch.put_submission(change)
        case Document():
            if change.created_at == seq:
                fresh = replace(change, created_at=0, retired_at=None)
                if isinstance(change.scope, ConversationScope):
                    fresh = replace(fresh, history="rewindable", fork="current")
                batch.create_document(fresh, {"at": seq})
            elif change.retired_at is None:
                batch.change_document(change.id, value={"at": seq})
            if change.retired_at is not None:
                batch.retire_document(change.id)


def written(path: str, random: Random, length: int) -> tuple[list[Committed], list[Task]]:
    """What a listener heard of a real storage that was written by chance, and its tasks at the end."""
    heard: list[Committed] = []
    Path(path).mkdir()
    storage = Storage.open(FILES, path)
    storage.listen(heard.append)
    for committed in Grower(random).commits(length):
        if committed.changes:
            batch = Batch()
            for change in sorted(committed.changes, key=lambda change: change.id):
                put(batch, change, committed.seq)
            storage.commit(batch)
    tasks = list(storage.records.tasks.values())
    storage.close()
    return heard, tasks


@pytest.mark.parametrize("seed", range(12))
def test_history_equals_live_for_a_real_storage(tmp_path: Path, seed: int) -> None:
    """state_tree_history_equals_live: at the end, and from any commit on with what the listener heard later."""
    heard, tasks = written(str(tmp_path / "storage"), Random(seed), 40)
    live = tree_of(heard)
    seen: Counter[str] = Counter()
    for until in (0, 1, len(heard) // 2, len(heard)):
        tree = LiveTree("w2")
        tree.learn(tasks)
        for committed in commits(FILES, str(tmp_path / "storage"), until):
            assert committed.seq <= until
            tree.take(committed)
        for committed in heard[max(0, until - 3) :]:
            tree.take(committed)
        assert by_name(tree) == by_name(live)
        seen["states were gone"] += tree.cursor < live.cursor
    assert seen["states were gone"] > 0
    assert any(not task.terminal for task in tasks)  # one whose states are in its sidecar


def test_a_tree_read_from_the_disk(tmp_path: Path) -> None:
    """Beside its writer, too; it has no worker."""
    heard, _ = written(str(tmp_path / "storage"), Random(20), 30)
    tree = read_tree(FILES, str(tmp_path / "storage"))
    assert by_name(tree) == by_name(tree_of(heard))
    assert feed.reply(tree)["worker"] is None
    storage = Storage.open(FILES, str(tmp_path / "storage"))
    batch = Batch()
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="note"))
    storage.commit(batch)
    assert len(list(read_tree(FILES, str(tmp_path / "storage")).since(tree.cursor))) == 1
    storage.close()


def test_a_damaged_line_ends_the_history(tmp_path: Path) -> None:
    written(str(tmp_path / "storage"), Random(1), 6)
    log = tmp_path / "storage" / "main.jsonl"
    lines = log.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b'"seq":3', b'"seq":4')
    log.write_bytes(b"\n".join(lines))
    told = commits(FILES, str(tmp_path / "storage"), 99)
    assert [next(told).seq, next(told).seq] == [1, 2]
    with pytest.raises(Corrupt, match=r"main\.jsonl line 3"):
        next(told)
