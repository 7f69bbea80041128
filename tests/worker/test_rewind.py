"""Rewinds in a whole worker: what they write, what they end, what they refuse, and that they can be rewound."""

from collections.abc import Mapping
from typing import Any

import pytest

from eukhed.errors import Busy, Invalid, StateError
from eukhed.storage import codec
from eukhed.storage.batch import Batch
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import (
    Conversation,
    ConversationScope,
    Document,
    Entry,
    ForkPoint,
    SessionScope,
    Terminal,
)
from eukhed.storage.storage import Storage
from tests.fakes.clock import run
from tests.worker.standing import Machine, Seat, story

ROOT = ConversationScope(conversation_id=1)


class Made:
    """The ids of what `history` committed, and the seq after which each thing stood."""

    def __init__(self) -> None:
        self.plan = self.notes = self.late = self.fixed = self.fork = self.first = 0


def history(made: Made) -> Any:
    """Two rewindable documents, one that keeps no history, a fork, entries between their changes; 50 records."""

    def fill(storage: Storage) -> list[Batch]:
        batches = []

        def commit() -> Batch:
            batches.append(Batch())
            return batches[-1]

        def say(conversation: int = 1) -> int:
            number = storage.mint()
            commit().put_entry(
                Entry(id=number, conversation_id=conversation, kind="note", data={"n": number})
            )
            return number

        def create(kind: str, value: Any, *, rewindable: bool = True) -> int:
            number = storage.mint()
            policies: dict[str, Any] = {
                "history": "rewindable" if rewindable else "latest",
                "fork": "current",
            }
            document = Document(id=number, kind=kind, scope=ROOT, key="k", **policies)
            commit().create_document(document, value)
            return number

        made.first = say()
        made.plan, made.notes = create("plan", {"steps": [1], "z": 1, "a": 2}), create("notes", ["é", None])
        made.fixed = create("fixed", {"v": 1}, rewindable=False)
        made.fork = storage.mint()
        fork = Conversation(id=made.fork, parent=ForkPoint(conversation_id=1, at=made.first))
        commit().put_conversation(fork)
        say()
        for number in range(2, 14):  # from here on it is rewound
            commit().change_document(made.plan, [{"op": "add", "path": "/steps/-", "value": number}])
            say(made.fork if number % 2 else 1)
            if number == 5:
                commit().retire_document(made.notes)
            if number == 7:
                made.late = create("notes", "in the place of the other")
                commit().change_document(made.fixed, value={"v": 2})
            say()
        return batches

    return fill


def live_documents(machine: Machine) -> Mapping[Any, bytes]:
    """The content of each live document of the root conversation, by address, as bytes."""
    records = read_records(machine.files, machine.path)
    found = {one.address: codec.encode(records.contents[one.id]) for one in records.documents.values()}
    return {address: content for address, content in found.items() if address[1] == ROOT}


def said(machine: Machine) -> list[Entry]:
    return [entry for entry in entries(machine.files, machine.path) if entry.kind == "rewind"]


async def cursor_of(seat: Seat, wanted: Any) -> int:
    """The cursor after the record of this name."""
    told = await seat.ask("get_state_tree", {"marks": True})
    return next(int(node["at"]) for node in told["nodes"] if node["of"] == wanted)


async def rewound(seat: Seat, cursor: int, *, yes: bool = True) -> Any:
    return await seat.ask("rewind", {"cursor": cursor, "worker": "i1", "yes": yes, "actor": "a test"})


def test_fifty_records_back_and_forward() -> None:
    """Documents are byte for byte what they were; heads are where they were; no record is gone."""

    async def tell(machine: Machine) -> None:
        made = Made()
        machine.commits(history(made))
        seat = await machine.worker()
        cursor = await cursor_of(seat, ["conversation", made.fork]) + 1  # and the entry after it
        before_documents, before = live_documents(machine), await seat.ask("get_state_tree")
        assert before["cursor"] - cursor >= 39
        told = await seat.ask("get_state_rewind_plan", {"cursor": cursor})
        done = await rewound(seat, cursor)

        documents = live_documents(machine)
        assert documents[("plan", ROOT, "k")] == b'{"steps":[1],"z":1,"a":2}'
        assert documents[("notes", ROOT, "k")] == '["é",null]'.encode()
        assert documents[("fixed", ROOT, "k")] == b'{"v":2}', "its old content is gone"
        kept = await names(seat, done["kept"])
        assert kept == [("document", made.fixed)]
        assert told["kept"] == done["kept"]
        heads = {entry.conversation_id: entry.head for entry in said(machine)}
        last_then = next(entry.id for entry in entries(machine.files, machine.path) if entry.id > made.fork)
        assert heads == {1: last_then, made.fork: made.first}
        assert all(entry.data["cursor"] == cursor and entry.data["by"] == "a test" for entry in said(machine))
        after = await seat.ask("get_state_tree")
        gone = {tuple(node["of"]) for node in before["nodes"]} - {
            tuple(node["of"]) for node in after["nodes"]
        }
        assert gone == {("document", made.late)}, "what was made since; all else stays"
        assert done["now"] == after["cursor"]

        back = await rewound(seat, done["before"])
        assert live_documents(machine) == before_documents
        assert back["kept"] == []

    run(story(tell))


async def names(seat: Seat, nodes: list[int]) -> list[tuple[str, int]]:
    told = (await seat.ask("get_state_tree"))["nodes"]
    return [tuple(node["of"]) for node in told if node["id"] in nodes]


def test_it_is_one_commit() -> None:
    async def tell(machine: Machine) -> None:
        made = Made()
        machine.commits(history(made))
        seat = await machine.worker()
        await seat.ask("subscribe_state_tree")
        seq = read_records(machine.files, machine.path).seq
        done = await rewound(seat, await cursor_of(seat, ["conversation", made.fork]))
        assert done["commit"] == seq + 1 == read_records(machine.files, machine.path).seq
        update = await seat.event("state_tree_update")
        assert (update["from"], update["cursor"]) == (done["before"], done["now"])

    run(story(tell))


def test_runs_that_were_not_there_are_ended_first_and_only_with_leave() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        early = await seat.run("sleep")
        cursor = (await seat.ask("get_state_tree"))["cursor"]
        late = await seat.run("sleep")
        told = await seat.ask("get_state_rewind_plan", {"cursor": cursor, "worker": "i1"})
        assert told["ends"] == [late]
        assert {tuple(node["of"]) for node in told["nodes"]} >= {("task", late)}
        with pytest.raises(Busy) as refused:
            await rewound(seat, cursor, yes=False)
        assert [item["id"] for item in refused.value.data["work"]] == [late]
        assert not said(machine)
        done = await rewound(seat, cursor)
        assert done["stopped"] == [late]
        assert (await seat.ask("run_record", {"run": early}))["state"] == "running"
        record = await seat.ask("run_record", {"run": late})
        assert (record["state"], record["stopped_by"]) == ("stopped", "rewind")
        tasks = read_records(machine.files, machine.path).tasks
        assert isinstance(tasks[late].state, Terminal)
        log = [entry.id for entry in entries(machine.files, machine.path)]
        assert log[-1] == said(machine)[-1].id, "the commit is after the end of the work"
        again = await rewound(seat, done["before"], yes=False)
        assert again["stopped"] == [], "it ends nothing, and starts nothing"
        assert (await seat.ask("run_record", {"run": late}))["state"] == "stopped"
        assert len(machine.holders.starts) == 2

    run(story(tell))


def test_what_is_refused_changes_nothing() -> None:
    async def tell(machine: Machine) -> None:
        made = Made()
        machine.commits(history(made))
        seat = await machine.worker()
        now = (await seat.ask("get_state_tree"))["cursor"]
        with pytest.raises(StateError) as refused:
            await seat.ask("rewind", {"cursor": 4, "worker": "i0", "yes": True})
        assert "i0" in refused.value.message
        assert "i1" in refused.value.message
        for command in ("rewind", "get_state_rewind_plan"):
            with pytest.raises(StateError, match=str(now)):
                await seat.ask(command, {"cursor": now + 1, "worker": "i1", "yes": True})
        for bad in ({"cursor": 4}, {"worker": "i1"}, {"cursor": "4", "worker": "i1"}):
            with pytest.raises(Invalid):
                await seat.ask("rewind", bad)
        done = await rewound(seat, now)
        assert done["commit"] is None, "there is nothing between now and now"
        assert (await seat.ask("get_state_tree"))["cursor"] == now

    run(story(tell))


def test_to_the_beginning_and_back() -> None:
    """The empty tree has no entry to go on from: each conversation begins at the rewind's own entry."""

    async def tell(machine: Machine) -> None:
        made = Made()
        machine.commits(history(made))
        seat = await machine.worker()
        before = live_documents(machine)
        done = await rewound(seat, 0)
        assert all(entry.head == entry.id for entry in said(machine))
        assert set(live_documents(machine)) == {("fixed", ROOT, "k")}
        records = read_records(machine.files, machine.path)
        assert any(document.scope == SessionScope() for document in records.documents.values())
        await rewound(seat, done["before"])
        assert live_documents(machine) == before

    run(story(tell))


def test_two_at_once_are_one_after_the_other_or_refused() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        cursor = (await seat.ask("get_state_tree"))["cursor"]
        await seat.run("sleep")
        asked = [
            seat.send("rewind", {"cursor": cursor, "worker": "i1", "yes": True}, client=client)
            for client in (1, 2)
        ]
        ended = []
        for one in asked:
            try:
                ended.append((await seat.answer(one))["commit"] is not None)
            except Busy:
                ended.append(False)
        assert sorted(ended) == [False, True]

    run(story(tell))
