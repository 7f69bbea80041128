"""Breadth first over all that can be reached, each state once; what was done is counted by name."""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple, TypeVar

State = TypeVar("State", bound=Hashable)
V = TypeVar("V", bound=Enum)


class Broken(AssertionError):
    """A state that must not be."""


class Found(NamedTuple):
    """How many states there are, and how often each kind of step led to one."""

    states: int
    rows: Counter[str]


def explore(
    firsts: Iterable[State],
    moves: Callable[[State], Iterator[tuple[str, State]]],
    check: Callable[[State], None],
) -> Found:
    """All states from the first ones on. `check` raises for one that must not be."""
    queue = deque(dict.fromkeys(firsts))
    seen, rows = set(queue), Counter[str]()
    for state in queue:
        check(state)
    while queue:
        for name, after in moves(queue.popleft()):
            rows[name] += 1
            if after not in seen:
                check(after)
                seen.add(after)
                queue.append(after)
    return Found(len(seen), rows)


def must(holds: object, what: str) -> None:
    """An invariant of a state or a step."""
    if not holds:
        raise Broken(what)


def mutants(law: Callable[..., V], verdicts: type[V]) -> Iterator[tuple[str, Callable[..., V]]]:
    """A law with one verdict exchanged for another, for every pair."""
    for old in verdicts:
        for new in verdicts:
            if old is not new:
                yield f"{old.value} becomes {new.value}", _exchanged(law, old, new)


def _exchanged(law: Callable[..., V], old: V, new: V) -> Callable[..., V]:
    def mutant(*facts: Any, **more: Any) -> V:
        said = law(*facts, **more)
        return new if said is old else said

    return mutant


def differs(found: Callable[[], Found], sound: Found) -> bool:
    """Whether a mutant is seen: by a state that must not be, or by what is reached."""
    try:
        return found() != sound
    except Broken:
        return True
