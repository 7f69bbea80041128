"""Three sessions over what a supervisor left, in every order: looks, acts on them, deaths, crashes, late supervisors.

adoption_law says what follows a look, revival_law what a dead worker left, lifecycle_law what an end means;
the worker's own check of token and generation is the product's. What was seen and what is done about it are two
steps, so everything may happen between them.
"""

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from types import SimpleNamespace
from typing import NamedTuple, cast

from eukhed.errors import Permission
from eukhed.supervisor import lifecycle_law, revival_law
from eukhed.supervisor.adoption_law import Facts, Verdict
from eukhed.timing import RevivalReach, WallMs
from eukhed.worker.desk import Desk
from eukhed.worker.listener import _admit
from tests.searches.search import Found, explore, must

Law = Callable[[Facts], Verdict]
GENERATIONS = 3  # one before, and two that boot
NOW, REACH = WallMs(1000), RevivalReach(max_age_ms=100, skew_ms=10)


class Session(NamedTuple):
    process: str  # live, mute, dead
    same: bool  # it runs this build
    told: bool  # its record says that it was told to stop
    work: bool  # as its evidence says
    stage: str = "left"  # left, seen, adopted, launching, retired
    seen: str = ""  # the verdict of a look that nothing was done about yet
    answered: bool = False  # at that look
    obeys: int = 1
    aborted: bool = False


class World(NamedTuple):
    generation: int
    sessions: tuple[Session, ...]


KINDS = (
    Session("live", same=True, told=False, work=True),
    Session("live", same=False, told=False, work=True),
    Session("mute", same=True, told=False, work=True),
    Session("live", same=True, told=True, work=False),
    Session("dead", same=True, told=False, work=True),
    Session("dead", same=True, told=False, work=False),
)


def search(law: Law, workers: int = 3) -> Found:
    def moves(world: World) -> Iterator[tuple[str, World]]:
        if world.generation < GENERATIONS:
            yield "the supervisor dies", _next_boot(world)
        for number, session in enumerate(world.sessions):
            for name, after in _steps(law, world.generation, session):
                sessions = [*world.sessions]
                sessions[number] = after
                yield name, world._replace(sessions=tuple(sorted(sessions)))

    firsts = [World(2, tuple(sorted(kinds))) for kinds in combinations_with_replacement(KINDS, workers)]
    return explore(firsts, moves, _check)


def _next_boot(world: World) -> World:
    """Every stage is looked at anew; what is retired has no record."""
    left = [
        one if one.stage == "retired" else one._replace(stage="left", seen="", answered=False)
        for one in world.sessions
    ]
    return World(world.generation + 1, tuple(sorted(left)))


def _steps(law: Law, generation: int, one: Session) -> Iterator[tuple[str, Session]]:
    if one.process == "live":
        yield from _of_the_worker(generation, one)
    if one.process == "mute":
        yield "it wakes", one._replace(process="live")
    match one.stage:
        case "left":
            yield _look(law, one)
        case "seen":
            yield _act(generation, one)
        case "adopted" if one.process == "dead":
            yield _judged(one)
        case "launching":
            must(one.process == "dead", "one_worker_per_session: a second one beside it")
            fresh = Session("live", same=True, told=False, work=one.work, stage="adopted", obeys=generation)
            yield "it is launched", fresh


def _of_the_worker(generation: int, one: Session) -> Iterator[tuple[str, Session]]:
    yield "it dies", one._replace(process="dead")
    must(one.stage != "retired", "25: a worker without a record holds its session")
    for late in range(1, generation):
        desk = SimpleNamespace(spec=SimpleNamespace(token="t"), generation=one.obeys)
        try:
            _admit(cast("Desk", desk), {"token": "t", "generation": late})
        except Permission:
            yield "an obsolete supervisor is refused", one
        else:
            must(one.stage != "adopted" or desk.generation >= generation, "an obsolete supervisor commands")
            yield "an earlier supervisor reaches it", one._replace(obeys=desk.generation)


def _look(law: Law, one: Session) -> tuple[str, Session]:
    alive, answers = one.process != "dead", one.process == "live"
    said = law(Facts(one.told, alive, answers, one.same and answers))
    row = (
        f"{said.value} of {'told ' if one.told else ''}{one.process}{'' if one.same else ' of another build'}"
    )
    return row, one._replace(stage="seen", seen=said.value, answered=answers)


def _act(generation: int, one: Session) -> tuple[str, Session]:
    done = one._replace(seen="", answered=False)
    match Verdict(one.seen):
        case Verdict.ADOPT:
            must(one.same and not one.told, "adopt_same_build")
            must(one.answered, "adopt_same_build: it did not answer")
            return "adopts", done._replace(stage="adopted", obeys=generation)
        case Verdict.ASK_REVIVAL:
            must(not one.answered, "adopt_never_kills_work: a living one is taken for dead")
            must(one.process == "dead", "one_worker_per_session: a living one is taken for dead")
            return _revived(done)
        case Verdict.FINISH_STOP:
            must(one.told, "nobody told it to stop")
            return "finishes its stop", done._replace(process="dead", stage="retired", work=False)
        case Verdict.STOP:
            must(not one.answered and not one.told, "adopt_never_kills_work: by a signal")
            must(one.process != "dead" or one.answered is False, "it is dead already")
            return "stops the mute one", done._replace(process="dead", stage="launching")
        case Verdict.LEAVE_AS_LOST:
            must(one.answered and not one.same and not one.told, "it leaves though it is ours")
            return "sees it off", done._replace(process="dead", stage="launching")


def _revived(one: Session) -> tuple[str, Session]:
    facts = revival_law.Facts(one.work, gave_up=False, archived=False, lease_held=False, stamp=NOW)
    if revival_law.verdict(facts, NOW, REACH) is revival_law.Verdict.REVIVE:
        return "revives", one._replace(stage="launching")
    return "lets it sleep", one._replace(stage="retired")


def _judged(one: Session) -> tuple[str, Session]:
    facts = lifecycle_law.Facts(
        record_ours=True, stop_asked=False, as_lost=False, leaving=False, said_goodbye=False
    )
    must(lifecycle_law.verdict(facts) is lifecycle_law.Verdict.FAILURE, "its end is nobody's")
    return "starts again", one._replace(stage="launching")


def _check(world: World) -> None:
    for one in world.sessions:
        must(one.obeys <= world.generation, "it obeys a supervisor that is still to come")
        must(one.stage != "retired" or one.process == "dead", "17: the record went before the process")
        must(one.stage != "retired" or not one.work, "work that somebody could resume is forgotten")
