"""Histories of a storage as plain data: what is committed, what must be there after it.

An operation is a tuple; `batch_of` makes the storage's batch of some, `World` is an independent model of what
the storage holds after them. Ids are given, so that the model mints nothing.
"""

from dataclasses import dataclass, field
from typing import Any

from eukhed.errors import Broken, DiskFull, Poisoned, Rejected
from eukhed.host.seam import Files
from eukhed.storage.batch import Batch
from eukhed.storage.live import Records
from eukhed.storage.records import (
    Conversation,
    ConversationScope,
    Document,
    Entry,
    Pending,
    Running,
    SessionScope,
    Submission,
    Task,
    TaskState,
    Terminal,
)
from eukhed.storage.storage import Storage

Operation = tuple[Any, ...]
Operations = tuple[Operation, ...]  # one batch
Group = tuple[Operations, ...]  # batches that are committed together
STATES: dict[str, TaskState] = {
    "pending": Pending(),
    "running": Running(),
    "over": Terminal(outcome="completed"),
}
PLACE = "/root/session"
RUN_OUTPUT = b"output of a run\n"


def batch_of(operations: Operations) -> Batch:
    batch = Batch()
    for operation in operations:
        match operation:
            case ("conversation", number):
                batch.put_conversation(Conversation(id=number))
            case ("entry", number, text):
                batch.put_entry(Entry(id=number, conversation_id=1, kind="note", data={"text": text}))
            case ("task", number, state):
                task = Task(
                    id=number, conversation_id=1, kind="work", state=STATES[state], input={"n": number}
                )
                batch.put_task(task)
            case ("submission", number, status):
                put = Submission(
                    id=number, conversation_id=1, type="input", status=status, request_id=f"r{number}"
                )
                batch.put_submission(put)
            case ("create", number, "rewindable", value):
                scope = ConversationScope(conversation_id=1)
                document = Document(
                    id=number, kind="d", key=str(number), scope=scope, history="rewindable", fork="asOf"
                )
                batch.create_document(document, {"n": value})
            case ("create", number, "current", value):
                document = Document(id=number, kind="d", key=str(number), scope=SessionScope())
                batch.create_document(document, {"n": value})
            case ("delta", number, value):
                batch.change_document(number, [{"op": "replace", "path": "/n", "value": value}])
            case ("base", number, value):
                batch.change_document(number, value={"n": value})
            case ("retire", number):
                batch.retire_document(number)
            case ("names", name):
                batch.files.append(name)
            case _:
                raise AssertionError(operation)
    return batch


class World:
    """What is there, said the plain way."""

    def __init__(self) -> None:
        self.there: dict[int, tuple[Any, ...]] = {}

    def take(self, operations: Operations) -> "World":
        after = World()
        after.there = dict(self.there)
        for operation in operations:
            match operation:
                case ("create", number, policy, value):
                    after.there[number] = ("document", policy, value)
                case ("delta" | "base", number, value):
                    after.there[number] = ("document", after.there[number][1], value)
                case ("retire", number):
                    after.there[number] = ("retired",)
                case ("names", _):
                    pass
                case ("conversation", number):
                    after.there[number] = ("conversation",)
                case ("entry", number, _):
                    after.there[number] = ("entry",)
                case (kind, number, state):
                    after.there[number] = (kind, state)
        return after


def view(records: Records) -> dict[int, tuple[Any, ...]]:
    """The same of a storage."""
    there: dict[int, tuple[Any, ...]] = dict.fromkeys(records.conversations, ("conversation",))
    there |= dict.fromkeys(records.entries, ("entry",))
    names = {type(state): name for name, state in STATES.items()}
    there |= {number: ("task", names[type(task.state)]) for number, task in records.tasks.items()}
    there |= {number: ("submission", one.status) for number, one in records.submissions.items()}
    for number, document in records.documents.items():
        policy = "rewindable" if document.rewindable else "current"
        there[number] = ("document", policy, records.contents[number]["n"])
    there |= dict.fromkeys(records.retired, ("retired",))
    return there


@dataclass
class Outcome:
    """What one process did, noted as it goes: the power may go in the middle."""

    acked: list[Group] = field(default_factory=list)  # in order
    last: Group = ()  # the group tried last, while it is not acknowledged
    shown: list[dict[int, tuple[Any, ...]]] = field(default_factory=list)  # at the open, after each commit
    poisoned: bool = False
    failed: int = 0  # groups that were undone
    rejected: int = 0


def allowed(before: World, outcome: Outcome) -> list[dict[int, tuple[Any, ...]]]:
    """What may be there after a crash: all that is acknowledged, then any prefix of what was tried last."""
    world = before
    for group in outcome.acked:
        for operations in group:
            world = world.take(operations)
    found = [world.there]
    for operations in outcome.last:
        world = world.take(operations)
        found.append(world.there)
    return found


def write_named(files: Files, group: Group) -> None:
    """Somebody else wrote the files that the group names."""
    for operation in (operation for operations in group for operation in operations):
        if operation[0] == "names":
            file = files.open(f"{PLACE}/{operation[1]}", write=True, create=True)
            file.append(RUN_OUTPUT)
            file.close()


def play(files: Files, groups: tuple[Group, ...], outcome: Outcome, *, fsync: bool = True) -> None:
    """Open the storage and commit each group."""
    try:
        storage = Storage.open(files, PLACE, fsync=fsync)
    except Broken:
        return
    outcome.shown.append(view(storage.records))
    for committed in groups:
        write_named(files, committed)
        group = storage.group()
        try:
            for operations in committed:
                storage.add(group, batch_of(operations))
        except Rejected:
            outcome.rejected += 1  # it builds on one that failed
            continue
        outcome.last = committed
        try:
            storage.write(group)
        except Poisoned:
            outcome.poisoned = True
            return
        except (DiskFull, Broken):
            outcome.failed += 1
            assert view(storage.records) == outcome.shown[-1], "a failed write changed what is shown"
            continue
        storage.show(group)
        outcome.acked.append(committed)
        outcome.last = ()
        outcome.shown.append(view(storage.records))
        storage.reclaim(group)
    storage.close()
