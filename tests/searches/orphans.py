"""Three workers whose supervisor goes and comes back, in every order of looks, time, work and returns.

orphan_law is asked at each look; what is modelled is only how long each has been without a supervisor.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from eukhed.timing import OrphanWindows
from eukhed.worker.orphan_law import Verdict
from tests.searches.search import Found, explore, must

WINDOWS = OrphanWindows(first_look_ms=1, look_ms=1, exit_ms=2)
LONGEST = 2 * WINDOWS.exit_ms + 1
Law = Callable[..., Verdict]


class Worker(NamedTuple):
    lost_for: int = -1  # -1: it has a supervisor
    work: bool = False
    left: str = ""  # how, once it has


class World(NamedTuple):
    supervisor: bool
    workers: tuple[Worker, ...]


def search(law: Law) -> Found:
    def moves(world: World) -> Iterator[tuple[str, World]]:
        yield from _of_all(world)
        for number, worker in enumerate(world.workers):
            if not worker.left:
                for name, after in _of_one(law, world.supervisor, worker):
                    workers = [*world.workers]
                    workers[number] = after
                    yield name, world._replace(workers=tuple(sorted(workers)))

    return explore([World(True, (Worker(),) * 3)], moves, _check)


def _of_all(world: World) -> Iterator[tuple[str, World]]:
    if world.supervisor:
        lost = [one if one.left or one.lost_for >= 0 else one._replace(lost_for=0) for one in world.workers]
        yield "the supervisor dies", World(False, tuple(sorted(lost)))
    else:
        yield "a supervisor comes", world._replace(supervisor=True)
    later = [
        one if one.left or one.lost_for < 0 else one._replace(lost_for=min(one.lost_for + 1, LONGEST))
        for one in world.workers
    ]
    yield "time passes", world._replace(workers=tuple(sorted(later)))


def _of_one(law: Law, supervisor: bool, worker: Worker) -> Iterator[tuple[str, Worker]]:
    yield "work ends" if worker.work else "work begins", worker._replace(work=not worker.work)
    if worker.lost_for < 0:
        return
    if supervisor:
        yield "it is back", worker._replace(lost_for=-1)
        return
    said = law(worker.lost_for, WINDOWS, work=worker.work)
    row = f"{said.value}, {'work' if worker.work else 'idle'}"
    due = WINDOWS.exit_ms * (2 if worker.work else 1)
    if said is Verdict.STAY:
        must(worker.lost_for < due, "orphan_idle_exit_due, orphan_work_exit_due: it stays for ever")
        yield row, worker
        return
    must(worker.lost_for >= due, "orphan_idle_exit_due, orphan_work_exit_due: it left too early")
    must((said is Verdict.LEAVE_BUSY) == worker.work, "orphan_exit_by_work: what it left is not what it says")
    yield row, Worker(left=said.value)


def _check(world: World) -> None:
    for worker in world.workers:
        must(world.supervisor or worker.left or worker.lost_for >= 0, "a loss that nobody noticed")
