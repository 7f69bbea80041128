"""rewind_law on every short life of documents at two addresses, and on long ones by chance; its vectors."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage.records import Address, ConversationScope
from eukhed.worker.rewind_law import NOTHING, Earlier, Head, Held, Rewinding, Said, plan
from tests.worker import rewind_model
from tests.worker.rewind_model import Doc

VECTORS = json.loads(Path("shared/vectors/rewind.json").read_text())
SCOPE = ConversationScope(conversation_id=1)
EVENTS = ("make a", "make b", "make fixed a", "change a", "change b", "retire a", "retire b")


class Life:
    """Documents as a storage keeps them: contents by commit, at most one live one at an address."""

    def __init__(self) -> None:
        self.commit = 0
        self.minted = 0
        self.docs: dict[int, Doc] = {}
        self.contents: dict[tuple[int, int], Any] = {}
        self.changed: dict[int, int] = {}
        self.places: dict[int, Any] = {}

    def at(self, address: Any) -> int | None:
        return next((number for number, doc in self.docs.items() if doc.address == address), None)

    def make(self, address: Any, content: Any, *, rewindable: bool) -> None:
        assert self.at(address) is None, "rewind_one_at_an_address"
        self.minted += 1
        self.docs[self.minted] = Doc(address, content, rewindable)
        self.places[self.minted] = address
        self._holds(self.minted, content)

    def change(self, number: int, content: Any) -> None:
        self.docs[number] = self.docs[number]._replace(content=content)
        self._holds(number, content)

    def _holds(self, number: int, content: Any) -> None:
        self.contents[number, self.commit] = content
        self.changed[number] = self.commit

    def event(self, event: str) -> bool:
        """One commit; whether it can be."""
        verb, *_, address = event.split(" ")
        there = self.at(place(address))
        if (verb == "make") != (there is None):
            return False
        self.commit += 1
        if verb == "make":
            self.make(place(address), self.commit, rewindable="fixed" not in event)
        elif there is not None and verb == "change":
            self.change(there, self.commit)
        elif there is not None:
            del self.docs[there]
        return True

    def held(self) -> list[Held]:
        return [Held(n, self.places[n], self.changed[n], doc.rewindable) for n, doc in self.docs.items()]

    def write(self, rewinding: Rewinding) -> None:
        """Do what the law says, as one commit."""
        self.commit += 1
        remade = [(self.places[earlier.document], self.contents[earlier]) for earlier in rewinding.remake]
        for number in rewinding.retire:
            assert self.docs.pop(number).rewindable
        for earlier in rewinding.restore:
            assert self.docs[earlier.document].rewindable
            self.change(earlier.document, self.contents[earlier])
        for address, content in remade:
            self.make(address, content, rewindable=True)

    def snapshot(self) -> tuple[dict[int, Doc], list[Held]]:
        return dict(self.docs), self.held()


def place(name: str) -> Address:
    return ("note", SCOPE, name)


def there(docs: Iterable[Doc]) -> dict[Any, Any]:
    return {doc.address: doc.content for doc in docs}


def check(events: Iterable[str], cut: int, seen: Counter[str]) -> None:
    """One life, rewound from its end to after `cut` of its events, and that rewound again."""
    life = Life()
    then = life.snapshot()
    done = 0
    for event in events:
        done += life.event(event)
        if done == cut:
            then = life.snapshot()
        now = life.snapshot()
    rewinding = plan(then[1], now[1], [], differs=True)
    assert set(rewinding.kept) == rewind_model.kept(then[0], now[0])
    assert list(rewinding.kept) == sorted(set(rewinding.kept))
    life.write(rewinding)
    after = there(life.docs.values())
    assert after == rewind_model.contents_after(then[0], now[0])
    if then == now:
        assert rewinding == NOTHING, "rewind_still"
    back = plan(now[1], life.held(), [], differs=True)
    life.write(back)
    assert there(life.docs.values()) == there(now[0].values()), "rewind_undone"
    for name in ("restore", "remake", "retire", "kept"):
        seen[name] += bool(getattr(rewinding, name))
    seen["blocked"] += any((then[0] | now[0])[number].rewindable for number in rewinding.kept)


def lives(length: int) -> Iterator[tuple[str, ...]]:
    """Every sequence of so many events that can be."""

    def longer(events: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if len(events) == length:
            yield events
            return
        for event in EVENTS:
            life = Life()
            if all(life.event(one) for one in (*events, event)):
                yield from longer((*events, event))

    return longer(())


def test_every_short_life() -> None:
    """rewind_restores, rewind_retires, rewind_remakes, rewind_keeps, rewind_one_at_an_address, rewind_still, rewind_undone."""
    seen: Counter[str] = Counter()
    found = list(lives(6))
    for events in found:
        for cut in range(7):
            check(events, cut, seen)
    assert len(found) == 1625
    assert all(seen[name] > 100 for name in ("restore", "remake", "retire", "kept", "blocked")), seen


@given(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=40), st.integers(0, 40))
def test_any_life(events: list[str], cut: int) -> None:
    """The same for lives of any length."""
    check(events, cut, Counter())


NUMBER = st.none() | st.integers(1, 50)


@given(st.lists(st.builds(Said, st.integers(1, 9), NUMBER, NUMBER), unique_by=lambda said: said.conversation))
def test_rewind_heads(said: list[Said]) -> None:
    """rewind_heads: one entry for each conversation; rewind_still: none when nothing differs."""
    heads = plan([], [], said, differs=True).heads
    assert [head.conversation for head in heads] == sorted(one.conversation for one in said)
    wanted = {one.conversation: rewind_model.head(one.last, one.origin) for one in said}
    assert all(head.head == wanted[head.conversation] for head in heads)
    assert plan([], [], said, differs=False) == NOTHING


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    def held(rows: list[list[Any]]) -> list[Held]:
        return [Held(number, place(name), commit, kept) for number, name, commit, kept in rows]

    said = [Said(*row) for row in vector["said"]]
    found = plan(held(vector["then"]), held(vector["now"]), said, differs=vector.get("differs", True))
    assert found == Rewinding(
        tuple(Head(*row) for row in vector["heads"]),
        tuple(Earlier(*row) for row in vector["restore"]),
        tuple(Earlier(*row) for row in vector["remake"]),
        tuple(vector["retire"]),
        tuple(vector["kept"]),
    )
