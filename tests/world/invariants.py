"""What holds in every history. Law: shared/laws/world.md.

`Leases` looks at every step; the rest is held against what people were told and saw.
"""

import asyncio
import posixpath
from typing import TYPE_CHECKING, Any

from tests.fakes.life import Life

if TYPE_CHECKING:
    from tests.world.people import Person
    from tests.world.world import World


ITS_OWN = ("done", "failed")  # the states of a command that ended by itself


class Broken(AssertionError):
    """An invariant does not hold. Carries the history."""


class Leases:
    """one_worker_per_session: whoever changes a storage holds its lease, and nobody else alive does."""

    def __init__(self, sessions: str) -> None:
        self._sessions = sessions
        self._holders: dict[str, Life] = {}
        self.changes = 0

    def told(self, life: Life, what: str, path: str) -> None:
        """life_files.Told."""
        folder, name = posixpath.split(path)
        if posixpath.dirname(folder) != self._sessions or posixpath.basename(folder).startswith("."):
            return
        if name == "lease":
            self._lease(life, what, folder)
        elif what in {"change", "write"} and not name.startswith("run-"):
            self.changes += 1
            if self._holders.get(folder) is not life:
                raise Broken(f"{life.name} {life.pid} changed {path} without its lease")

    def _lease(self, life: Life, what: str, folder: str) -> None:
        holder = self._holders.get(folder)
        if what == "lock":
            if holder is not None and holder.alive and holder is not life:
                raise Broken(f"{life.name} {life.pid} took the lease of {folder} beside {holder.pid}")
            self._holders[folder] = life
        elif what == "unlock" and holder is life:
            del self._holders[folder]


def faults_of(world: "World", person: "Person") -> list[str]:
    """What is wrong with what a person was told and saw."""
    wrong = list(person.wrongs)
    starts = world.starts.count(person.argv) + world.starts.count(tuple(person.argv))
    wrong += command_once(world, person, starts)
    wrong += output_once_in_order(person)
    return [f"{person.name}: {text}" for text in wrong]


def command_once(world: "World", person: "Person", starts: int) -> list[str]:
    """Started at most once, and its end is told truly."""
    if starts > 1:
        return [f"the command was started {starts} times"]
    ended = person.ended
    if ended is None:
        return ["no end was told"]
    state = ended["state"]
    if state == "stopped" and person.asked_to_stop:
        return []
    if state in ITS_OWN and ended.get("exit") == person.script.exit and starts == 1:
        return []
    if state == "interrupted" and world.seen["power loss"]:
        return []
    if state == "lost" and starts == 0 and (world.seen["cut worker"] or world.seen["power loss"]):
        return []  # it had a holder, so it is never started again (rulings 6)
    return [f"it ended as {ended}, after {starts} starts"]


def output_once_in_order(person: "Person") -> list[str]:
    """Each byte once and in order; all of it, when the command ended by itself."""
    wrong = []
    for stream, printed in person.script.printed().items():
        seen = bytes(person.shown[stream])
        whole = person.ended is not None and person.ended["state"] in ITS_OWN
        if not printed.startswith(seen):
            wrong.append(f"{stream} is not what was printed: {seen[-60:]!r} at {len(seen)}")
        elif whole and seen != printed:
            wrong.append(f"{stream} ends after {len(seen)} of {len(printed)} bytes")
    if person.gaps:
        wrong.append(f"bytes were left out: {person.gaps}")
    return wrong


def leftovers(world: "World") -> list[str]:
    """After the shutdown nothing is alive, nothing listens, and no task of a process is left."""
    wrong = [
        f"{world.table.life(identity).name} {identity.pid} is left"
        for identity in world.table.living()
        if world.table.life(identity) is not world.machine_life
    ]
    own = asyncio.current_task()
    wrong += [f"{task.get_name()} is left" for task in asyncio.all_tasks() if task is not own]
    wrong += [f"{path} still listens" for path, backlog in world.hub.names.items() if backlog.listens]
    return wrong


def told_again(person: "Person", record: dict[str, Any]) -> list[str]:
    """told_is_durable: what was told of an end stays so."""
    told = {key: record[key] for key in ("state", "exit", "signal", "error") if record.get(key) is not None}
    return [] if told == person.ended else [f"{person.name} was told {person.ended}, and later {told}"]
