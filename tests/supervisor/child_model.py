"""child_law as a table, and a world of it: a parent's record, a child's storage, crashes and deletions."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

TABLE = {
    ("pending", False): "make",
    ("pending", True): "mark",
    ("made", False): "lost",
    ("made", True): "run",
    ("begun", False): "lost",
    ("begun", True): "follow",
    ("settled", False): "nothing",
    ("settled", True): "nothing",
}


class World(NamedTuple):
    """All that is durable, and what happened so far."""

    standing: str = "pending"
    there: bool = False
    submitted: bool = False  # the child's storage has the run of this request id
    ended: bool = False  # and how it ended
    starts: int = 0
    told: int = 0
    deleted: bool = False


def after(world: World, ask: Callable[[str, bool], str]) -> Iterator[World]:
    """What the world may be next: each durable effect is a state of its own, so a crash may come between any two."""
    match ask(world.standing, world.there):
        case "make":
            yield world._replace(there=True)
        case "mark":
            yield world._replace(standing="made")
        case "run" if not world.submitted:
            yield world._replace(submitted=True, starts=world.starts + 1)
        case "run":
            yield world._replace(standing="begun")
        case "follow" if not world.ended:
            yield world._replace(ended=True)
        case "follow" | "lost":
            yield world._replace(standing="settled", told=world.told + 1)
    if world.there and not world.deleted:  # somebody deletes the child, with its run
        yield world._replace(there=False, submitted=False, ended=False, deleted=True)


def reached(ask: Callable[[str, bool], str]) -> set[World]:
    """Every state that can come about."""
    found, left = {World()}, [World()]
    while left:
        for world in after(left.pop(), ask):
            if world.starts <= 2 and world not in found:
                found.add(world)
                left.append(world)
    return found
