"""A breadth-first search over all that can be reached, each state once."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

State = TypeVar("State", bound=Hashable)
Action = TypeVar("Action")


def reach(
    start: State,
    actions: Iterable[Action],
    step: Callable[[State, Action], State | None],
) -> tuple[list[State], int]:
    """All states from `start` on by any actions, nearest first, and how many steps were refused (None)."""
    actions = list(actions)
    found, waiting, refused = {start}, deque([start]), 0
    while waiting:
        state = waiting.popleft()
        for action in actions:
            after = step(state, action)
            if after is None:
                refused += 1
            elif after not in found:
                found.add(after)
                waiting.append(after)
    return sorted(found, key=lambda state: (len(str(state)), str(state))), refused
