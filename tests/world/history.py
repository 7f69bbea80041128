"""One history: people on a machine, faults, and every invariant at its end."""

import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import anyio

from tests.fakes.clock import run
from tests.world import invariants
from tests.world.client import Client
from tests.world.commands import SCRIPTS
from tests.world.faults import Fault, drawn
from tests.world.people import Person, nothing
from tests.world.world import Complaints, World

EFFECTS = 2500  # of a usual history
SUPERVISORS_MAX = 3
LASTS_S = 6 * 3600  # of virtual time; a history that is not over by then is stuck
People = Callable[[World], Sequence[Person]]


class Told(NamedTuple):
    """What a history was."""

    trace: list[str]
    seen: Counter[str]
    effects: Counter[str]
    met: list[Fault]


def one(world: World) -> list[Person]:
    """One person, one short run."""
    return [Person(world, "ann", does="blink")]


def drawn_crowd(world: World) -> list[Person]:
    """One to three people; "ann too" works in the directory of ann, so in her session."""
    random = world.random
    names = random.choice((("ann",), ("ann", "bob"), ("ann", "ann too"), ("ann", "bob", "ann too")))
    return [
        Person(
            world,
            name,
            does=random.choice(tuple(SCRIPTS)),
            window=(window := random.choice((16, 256, 4096, 1 << 20))),
            slow_ms=random.choice((0, 0, 5, 400 if window > 16 else 5)),
            begins_ms=random.choice((0, 0, 30, 2000)),
            stops_ms=random.choice((None, None, None, 0, 500, 100_000)),
        )
        for name in names
    ]


def tell_drawn(seed: int) -> "Told":
    """A history that is all of the seed's choosing."""
    random = Random(seed ^ 0x5EED)
    faults, power_at_end = drawn(random, EFFECTS), random.random() < 0.2
    idlers = random.choice((0, 0, 0, 3, 20))
    return tell(seed, faults, drawn_crowd, power_at_end=power_at_end, idlers=idlers)


def tell(
    seed: int,
    faults: Sequence[Fault] = (),
    people: People = one,
    *,
    power_at_end: bool = False,
    idlers: int = 0,
) -> Told:
    """Live one history, and hold it to the invariants. Somebody asks `idlers` times for an idle shutdown.

    Raises:
        Broken: one does not hold; with the seed and the whole history.
    """
    worlds: list[World] = []

    async def main() -> list[str]:
        async with anyio.create_task_group() as tasks:
            world = World(seed, faults, tasks)
            worlds.append(world)
            with _listening(world):
                try:
                    with anyio.fail_after(LASTS_S):
                        wrong = await _lived(world, people, power_at_end=power_at_end, idlers=idlers)
                except (TimeoutError, AssertionError) as error:
                    wrong = [f"the history did not end well: {error!r}"]
                tasks.cancel_scope.cancel()
        return wrong + world.bugs

    wrong = run(main, seed)
    (world,) = worlds
    if wrong:
        told = "\n".join(
            [*world.trace, "", *wrong, f"seed {seed}, faults {list(faults)}, effects {world.faults.effects}"]
        )
        raise invariants.Broken(told)
    world.seen["adopted holder"] += world.holders.adopted
    return Told(world.trace, world.seen, world.faults.effects, world.faults.met)


@contextlib.contextmanager
def _listening(world: World) -> Iterator[None]:
    log, handler = logging.getLogger("eukhed"), Complaints(world)
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]


async def _lived(world: World, people: People, *, power_at_end: bool, idlers: int) -> list[str]:
    crowd = people(world)
    async with anyio.create_task_group() as lives:
        for person in crowd:
            lives.start_soon(person.want)
            if person.stops_ms is not None:
                lives.start_soon(person.want_stop)
        if idlers:
            kay = Person(world, "kay", begins_ms=world.random.choice((0, 100, 1000)))
            lives.start_soon(kay.want_idle, idlers)
    world.faults.stop()
    world.full_until_ms = 0
    world.say("the faults are over")
    if power_at_end:
        world.lose_power()
    wrong: list[str] = []
    for person in crowd:
        wrong += invariants.faults_of(world, person)
        if person.ended is not None:
            wrong += await _look_again(world, person)
    wrong += await _shut_down(world, crowd[0])
    return wrong


async def _look_again(world: World, person: Person) -> list[str]:
    """Another client sees the same run from its first byte."""
    wrong: list[str] = []
    shown = nothing()
    seen: dict[str, Any] = {}

    async def look(client: Client) -> None:
        assert person.session is not None
        assert person.run is not None
        gaps: list[Any] = []
        seen.update(await client.see(person.session, person.run, shown, gaps))
        wrong.extend(f"{person.name}: left out at the second look: {gap}" for gap in gaps)

    again = Person(world, person.name, person.does, shown=shown, ended=person.ended)
    if (error := await again.use(look)) is not None:
        return [f"{person.name} cannot look again: {error!r}"]
    wrong += invariants.told_again(person, seen)
    return wrong + [f"{person.name}, second look: {text}" for text in invariants.output_once_in_order(again)]


async def _shut_down(world: World, person: Person) -> list[str]:
    async def ask(client: Client) -> None:
        await client.request("shutdown", {"mode": "force", "actor": "a test"})

    wrong: list[str] = []
    for _ in range(SUPERVISORS_MAX):  # one that waited for the lock of another may come after that
        error = await person.use(ask)
        wrong += [] if error is None else [f"the shutdown failed: {error!r}"]
        await world.clock.sleep_ms(world.timing.drain_ms)
        if not any(world.table.life(one).name == "supervisor" for one in world.table.living()):
            break
    return wrong + invariants.leftovers(world)
