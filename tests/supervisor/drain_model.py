"""An idle shutdown over N workers with gates, every interleaving: the supervisor, the submissions, the clock.

The supervisor asks drain_law, the workers ask gate_law; what is modelled here is only what lies between
them: messages under way, and time that passes for gates but not for a supervisor that is stopped.
"""

from collections.abc import Iterator
from typing import NamedTuple

from eukhed.supervisor.drain_law import AfterStop, Answer, Facts, Verdict, after_stop, verdict
from eukhed.timing import MonotonicMs
from eukhed.worker import gate_law

HOLD_MS = 10
SHUTDOWNS = 2


class Worker(NamedTuple):
    gate: gate_law.State = gate_law.Open()
    work: int = 0  # what it does
    waits: int = 0  # submissions at its gate
    refused: int = 0  # told that they were not taken
    aborted: int = 0  # work that was there when it left
    dead: bool = False


class World(NamedTuple):
    workers: tuple[Worker, ...]
    submissions: int  # still to come
    phase: str = "serving"  # serving, asking, stopping, served_on, ended
    asked: frozenset[int] = frozenset()
    answers: tuple[Answer | None, ...] = ()
    told: int = 0  # how many were told to stop, in order
    reopened: bool = False
    number: int = 1  # of this shutdown; one that came to nothing may be followed by another


Action = tuple[str, int]


def start(workers: int, submissions: int) -> World:
    return World(tuple(Worker() for _ in range(workers)), submissions, answers=(None,) * workers)


def actions(world: World) -> Iterator[Action]:
    for number, worker in enumerate(world.workers):
        if worker.dead:
            continue
        if world.submissions:
            yield ("submit", number)
        if worker.work:
            yield ("work_ends", number)
        if isinstance(worker.gate, gate_law.Closed):
            yield ("deadline", number)
        yield ("dies", number)
        if world.phase == "asking" and number not in world.asked:
            yield ("question", number)
    if world.phase == "serving" or (world.phase == "served_on" and world.number < SHUTDOWNS):
        yield ("shutdown", 0)
    if world.phase == "asking":
        yield ("window_over", 0)
    if world.phase == "stopping":
        yield ("stop_next", 0)


def step(world: World, action: Action) -> World:
    what, number = action
    if what == "shutdown":
        number = world.number + (world.phase == "served_on")
        nobody = (None,) * len(world.workers)
        return world._replace(phase="asking", asked=frozenset(), answers=nobody, told=0, number=number)
    if what == "window_over":
        return _window_over(world)
    if what == "stop_next":
        return _stop_next(world)
    if what == "question":
        return _question(world, number)
    if what == "submit":
        world = world._replace(submissions=world.submissions - 1)
    return _put(world, number, _changed(world.workers[number], what))


def _changed(worker: Worker, what: str) -> Worker:
    if what == "submit":
        return _admitted(worker._replace(waits=worker.waits + 1))
    if what == "work_ends":
        return worker._replace(work=worker.work - 1)
    if what == "deadline":
        return _admitted(worker._replace(gate=gate_law.Open()))
    assert what == "dies"
    return worker._replace(dead=True)


def _question(world: World, number: int) -> World:
    worker = world.workers[number]
    asked = gate_law.Quiesce(world.number, bool(worker.work))
    gate, said = gate_law.decide(worker.gate, asked, MonotonicMs(0), HOLD_MS)
    answers = list(world.answers)
    answers[number] = Answer.QUIESCED if said is gate_law.Verdict.QUIESCED else Answer.BUSY
    world = world._replace(answers=tuple(answers), asked=world.asked | {number})
    return _put(world, number, worker._replace(gate=gate))


def _put(world: World, number: int, worker: Worker) -> World:
    workers = list(world.workers)
    workers[number] = worker
    return world._replace(workers=tuple(workers))


def _admitted(worker: Worker) -> Worker:
    """Each waiting submission asks the gate; a gate that stops refuses it as not taken."""
    for _ in range(worker.waits):
        gate, said = gate_law.decide(worker.gate, gate_law.Admit(), MonotonicMs(0), HOLD_MS)
        worker = worker._replace(gate=gate)
        if said is gate_law.Verdict.ADMITTED:
            worker = worker._replace(work=worker.work + 1, waits=worker.waits - 1)
        elif said is gate_law.Verdict.REFUSED:
            worker = worker._replace(refused=worker.refused + 1, waits=worker.waits - 1)
    return worker


def _window_over(world: World) -> World:
    heard = [
        Answer.SILENT if answer is None or world.workers[number].dead else answer
        for number, answer in enumerate(world.answers)
    ]
    if verdict(Facts(heard, starting=False, scheduled=False)) is Verdict.STOP:
        return world._replace(phase="stopping")
    return _released(world)


def _stop_next(world: World) -> World:
    if world.told == len(world.workers):
        return world._replace(phase="ended")
    worker, number = world.workers[world.told], world.told
    if worker.dead:  # its last answer stands no more: what it left is not known to be idle
        return _released(world)
    gate, said = gate_law.decide(worker.gate, gate_law.Stop(world.number), MonotonicMs(0), HOLD_MS)
    obeyed = said is gate_law.Verdict.STOPPING
    world = world._replace(told=world.told + 1)
    if after_stop(obeyed=obeyed) is AfterStop.SERVE_ON:
        return _released(_put(world, number, worker._replace(gate=gate)))._replace(reopened=True)
    return _put(world, number, _admitted(worker._replace(gate=gate, aborted=worker.work)))


def _released(world: World) -> World:
    for number, worker in enumerate(world.workers):
        gate, _ = gate_law.decide(worker.gate, gate_law.Release(world.number), MonotonicMs(0), HOLD_MS)
        world = _put(world, number, _admitted(worker._replace(gate=gate)))
    return world._replace(phase="served_on")
