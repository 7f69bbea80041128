"""The mint law said otherwise: names by patterns, the decision as one sentence after the other."""

import re
from collections.abc import Iterable
from typing import NamedTuple

ANYTHING = re.compile(r"v([1-9][0-9]*)(\.json)?\Z", re.ASCII)


class Made(NamedTuple):
    number: int
    parent_version: int
    over: set[int]


def look(entries: Iterable[tuple[str, str]]) -> tuple[list[int], list[int], int]:
    """Complete versions, dead claims, the next number."""
    there = dict(entries)
    numbers = {int(found[1]) for name in there if (found := ANYTHING.match(name))}
    claimed = {number for number in numbers if there.get(f"v{number}.json") == "file"}
    complete = {number for number in claimed if there.get(f"v{number}") == "directory"}
    return sorted(complete), sorted(claimed - complete), max(numbers, default=0) + 1


def decided(
    complete: list[int], dead: list[int], following: int, head: str, content: str, parent: str, why: str
) -> str | int | Made:
    """A reason, the number of the head that has this content, or what is made."""
    number = complete[-1] if complete else 0
    reasons = [
        (bool(complete) and not parent, "parent_needed"),
        (not complete and bool(parent), "no_versions"),
        (bool(complete) and parent != head, "stale_parent"),
        (bool(parent) and not why, "why_needed"),
    ]
    for holds, reason in reasons:
        if holds:
            return reason
    if complete and content == head:
        return number
    return Made(following, number, {claim for claim in dead if number < claim < following})


def pauses(bound_us: int) -> list[int]:
    """All the pauses of a wait that takes no time in between."""
    taken: list[int] = []
    for pause in [100, 200, 400, 800] + [1000] * (bound_us // 1000 + 1):
        if sum(taken) // 1000 * 1000 + pause > bound_us:
            break
        taken.append(pause)
    return taken
