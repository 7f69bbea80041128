"""Every interleaving of three processes on one file: two jobs, a crash at every step, runs that outlive their owner.

The search asks the product's laws. A step is what the file system makes one: a look at the file, a locked
change of it, a submission, the end of a run. A process that looked may find the file changed when it takes.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple, TypeVar, cast

import pytest

from eukhed.cron import cron_law, recovery_law, schedule
from eukhed.cron.jobs import Catalog, End, Job, Outcome, Schedule, Status
from eukhed.cron.recovery_law import Owner, Run, Seen
from eukhed.host.seam import Identity
from eukhed.timing import Timing, WallMs
from tests.cron.machine import identity

RULES = Timing().cron
TICK = 60_000
T = TypeVar("T")
ZERO = WallMs(0)


Facts = tuple[
    tuple[str, tuple[int, int], Owner, Run], ...
]  # of each claim worth a verdict: whose it was, and what was seen


class Process(NamedTuple):
    life: int = 1
    tended: tuple[tuple[str, bool], ...] = ()  # the claim, and whether its submission may go out (or has)
    look: Facts = ()


class World(NamedTuple):
    catalog: int  # its number in Catalogs
    now: int
    processes: tuple[Process, ...]
    runs: tuple[tuple[str, str], ...]  # begun ones: id, live or ended
    crashes: int
    wishes: int  # of a user, left


class Catalogs:
    """Each catalog once, by number; and each question to a law once."""

    def __init__(self) -> None:
        self.all: list[Catalog] = []
        self.numbers: dict[Catalog, int] = {}
        self.answers: dict[object, object] = {}

    def number(self, catalog: Catalog) -> int:
        """Without what no law decides by: it would only make equal states look different."""
        jobs = tuple(
            replace(
                job, updated_at=ZERO, last_run_at=None, last_skipped_at=None, last_error=None, run_count=0
            )
            for job in catalog.jobs
        )
        claims = sorted(
            (replace(each, claimed_at=ZERO) for each in catalog.dispatches), key=lambda each: each.id
        )
        catalog = replace(catalog, jobs=jobs, dispatches=tuple(claims))
        if catalog not in self.numbers:
            self.numbers[catalog] = len(self.all)
            self.all.append(catalog)
        return self.numbers[catalog]

    def ask(self, question: tuple[object, ...], answer: Callable[[], T]) -> T:
        if question not in self.answers:
            self.answers[question] = answer()
        return cast("T", self.answers[question])


def next_time(job: Job, after: WallMs) -> WallMs | None:
    return schedule.next_time(job, after, "UTC")


class Search:
    def __init__(self) -> None:
        self.catalogs = Catalogs()
        self.known: dict[World, tuple[World, str] | None] = {}
        self.taken: Counter[str] = Counter()
        self.before: dict[World, list[World]] = {}

    def explore(self, first: World) -> None:
        """Reach every state; the first that is wrong ends the search with the shortest way to it."""
        self.known[first] = None
        queue = deque([first])
        while queue:
            world = queue.popleft()
            for label, after in self.steps(world):
                self.taken[label] += 1
                self.before.setdefault(after, []).append(world)
                if after in self.known:
                    continue
                self.known[after] = (world, label)
                fault = wrong(self.catalogs.all[after.catalog], after)
                assert fault is None, (fault, path(self.known, after))
                queue.append(after)

    def can_reach(self, wanted: Callable[[Catalog], bool]) -> int:
        """From how many states one of the wanted ones can be reached."""
        queue = deque(world for world in self.known if wanted(self.catalogs.all[world.catalog]))
        found = set(queue)
        while queue:
            for world in self.before.get(queue.popleft(), ()):
                if world not in found:
                    found.add(world)
                    queue.append(world)
        return len(found)

    def steps(self, world: World) -> Iterator[tuple[str, World]]:
        for number, process in enumerate(world.processes):
            yield from self.process_steps(world, number, process)
            if world.crashes:
                dies = {name for name, going in process.tended if going and state_of(world, name) is Run.LIVE}
                crashed = with_process(world, number, Process(process.life + 1))
                crashed = crashed._replace(crashes=world.crashes - 1)
                yield "crash", end_runs(crashed, dies)
                if dies:
                    yield "crash, the run goes on", crashed
        for name, state in world.runs:
            if state == "live":
                yield "a run ends", end_runs(world, {name})
        if world.now < 1:
            yield "time", world._replace(now=world.now + 1)
        if world.wishes:
            yield from self.wishes(world)

    def wishes(self, world: World) -> Iterator[tuple[str, World]]:
        left, now = world._replace(wishes=world.wishes - 1), WallMs(world.now * TICK)
        catalog = self.catalogs.all[world.catalog]
        if catalog.jobs[0].status is Status.ACTIVE:
            yield "pause", left._replace(catalog=self.catalogs.number(cron_law.pause(catalog, "once", now)))
        if catalog.jobs[0].status is Status.PAUSED:
            resumed = cron_law.resume(catalog, "once", now, next_time)
            yield "resume", left._replace(catalog=self.catalogs.number(resumed))

    def process_steps(self, world: World, number: int, process: Process) -> Iterator[tuple[str, World]]:
        now, own = WallMs(world.now * TICK), identity(number, process.life)
        if (look := self.look(world, number)) != process.look:
            yield "look", with_process(world, number, process._replace(look=look))
        question = ("take", world.catalog, world.now, number, process.life, process.look)
        after, begun, followed = self.catalogs.ask(question, lambda: self.take(world, process.look, own, now))
        if after != world.catalog or begun or followed:
            tended = (
                *process.tended,
                *((name, False) for name in begun),
                *((name, True) for name in followed),
            )
            taken = Process(process.life, tuple(sorted(tended)))
            yield "take", with_process(world, number, taken)._replace(catalog=after)
        for name, going in process.tended:
            rest = tuple(each for each in process.tended if each[0] != name)
            if not going:
                asked = ("begin", world.catalog, world.now, number, process.life, name)
                after, go = self.catalogs.ask(asked, lambda name=name: self.begin(world, name, own, now))  # type: ignore[misc] # a default binds the name
                kept = tuple(sorted((*rest, (name, True)))) if go else rest
                yield (
                    "begin",
                    with_process(world, number, process._replace(tended=kept))._replace(catalog=after),
                )
            elif state_of(world, name) is Run.NEVER:
                yield "submit", world._replace(runs=tuple(sorted((*world.runs, (name, "live")))))
            elif state_of(world, name) is Run.ENDED:
                asked = ("finish", world.catalog, world.now, number, process.life, name)
                after = self.catalogs.ask(asked, lambda name=name: self.finish(world, name, own, now))  # type: ignore[misc] # a default binds the name
                yield (
                    "finish",
                    with_process(world, number, process._replace(tended=rest))._replace(catalog=after),
                )

    def look(self, world: World, number: int) -> Facts:
        """What a process sees; a claim that is tended, or another's, is kept whatever else is seen of it."""
        process, found = world.processes[number], []
        for claim in self.catalogs.all[world.catalog].dispatches:
            whose = (claim.owner.pid, claim.owner.start)
            mine = whose == (number, process.life)
            alive = not mine and world.processes[whose[0]].life == whose[1]
            if not alive and not any(name == claim.id for name, _ in process.tended):
                found.append((claim.id, whose, Owner.MINE if mine else Owner.DEAD, state_of(world, claim.id)))
        return tuple(found)

    def take(
        self, world: World, look: Facts, own: Identity, now: WallMs
    ) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        catalog = self.catalogs.all[world.catalog]
        seen = {name: Seen(identity(*whose), False, owner, run) for name, whose, owner, run in look}
        catalog, recovered = recovery_law.recover(catalog, seen, own, now, RULES)
        catalog, claimed = cron_law.claim(catalog, now, own, next_time, lambda: "s")
        begun = tuple(claim.id for claim in (*recovered.start, *claimed))
        return self.catalogs.number(catalog), begun, tuple(claim.id for claim in recovered.follow)

    def begin(self, world: World, name: str, own: Identity, now: WallMs) -> tuple[int, bool]:
        catalog, go = cron_law.withdraw(self.catalogs.all[world.catalog], name, own, now, RULES)
        return self.catalogs.number(catalog), go

    def finish(self, world: World, name: str, own: Identity, now: WallMs) -> int:
        catalog = self.catalogs.all[world.catalog]
        return self.catalogs.number(cron_law.finish(catalog, name, own, Outcome(End.RAN), now, RULES))


def with_process(world: World, number: int, process: Process) -> World:
    return world._replace(processes=(*world.processes[:number], process, *world.processes[number + 1 :]))


def state_of(world: World, run: str) -> Run:
    return next((Run(state) for name, state in world.runs if name == run), Run.NEVER)


def end_runs(world: World, names: set[str]) -> World:
    return world._replace(
        runs=tuple((name, "ended" if name in names else state) for name, state in world.runs)
    )


def wrong(catalog: Catalog, world: World) -> str | None:
    """What no reachable state may show."""
    once, _ = catalog.jobs
    claimed = [claim.job for claim in catalog.dispatches]
    begun = [name for name, _ in world.runs]
    live = [name.split(":")[1] for name, state in world.runs if state == "live"]
    ends = [state for name, state in world.runs if name.startswith("cron:once:")]
    tended = [name for process in world.processes for name, _ in process.tended]
    if len(set(begun)) < len(begun) or len(ends) > 1:
        return "a slot was started twice"
    if len(set(live)) < len(live):
        return "two runs of one job at once"
    if len(set(claimed)) < len(claimed):
        return "two claims of one job"
    if len(set(tended)) < len(tended):
        return "two processes look after one claim"
    if once.status is Status.COMPLETED and ends != ["ended"]:
        return "a one-shot is completed without its run's end"
    if once.status is Status.ACTIVE and once.next_run_at is None and "once" not in claimed:
        return "a one-shot is lost"
    return None


def path(known: dict[World, tuple[World, str] | None], world: World) -> list[str]:
    labels: list[str] = []
    while (before := known[world]) is not None:
        world, label = before
        labels.append(label)
    return labels[::-1]


def searched(processes: int, crashes: int, wishes: int) -> Search:
    once = Schedule("once", "in 0s", 0)
    every = Schedule("interval", "every 60s", TICK)
    jobs = [
        Job(name, Status.ACTIVE, "s", "/", when, ZERO, ZERO, prompt="x", next_run_at=ZERO)
        for name, when in (("once", once), ("many", every))
    ]
    search = Search()
    catalog = search.catalogs.number(Catalog(tuple(jobs)))
    search.explore(World(catalog, 0, (Process(),) * processes, (), crashes, wishes))
    return search


def check(processes: int, crashes: int, wishes: int, states: int) -> None:
    search = searched(processes, crashes, wishes)
    assert len(search.known) == states
    steps = {
        "look",
        "take",
        "begin",
        "submit",
        "a run ends",
        "finish",
        "crash",
        "crash, the run goes on",
        "time",
    }
    assert set(search.taken) == steps | ({"pause"} if wishes else set()) | (
        {"resume"} if wishes > 1 else set()
    )
    over = (Status.COMPLETED,) if not wishes else (Status.COMPLETED, Status.PAUSED)
    assert (
        search.can_reach(lambda catalog: catalog.jobs[0].status in over) == states
    )  # no state is a dead end


@pytest.mark.parametrize(
    ("processes", "crashes", "wishes", "states"), [(3, 1, 0, 37_089), (2, 2, 0, 26_726), (2, 1, 1, 10_792)]
)
def test_every_interleaving(processes: int, crashes: int, wishes: int, states: int) -> None:
    """cron_fires_once, cron_once_finished_after_end, cron_claim_owned, recovery_*: in every reachable state."""
    check(processes, crashes, wishes, states)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("processes", "crashes", "wishes", "states"), [(3, 2, 0, 496_983), (2, 2, 2, 115_660), (3, 1, 1, 78_358)]
)
def test_every_interleaving_of_more(processes: int, crashes: int, wishes: int, states: int) -> None:
    check(processes, crashes, wishes, states)
