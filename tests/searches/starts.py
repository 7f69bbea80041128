"""Three sessions with a command each, from its submission to its start; everything may die between any two steps.

A command is submitted, then a holder waits behind its gate, then the commit names the holder, then it is told to go.
What the next worker does about it is survivor_law's to say, and whether the client sends it again is retry_law's.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from eukhed.client import retry_law
from eukhed.worker.survivor_law import Facts, Seen, Verdict
from tests.searches.search import Found, explore, must

Law = Callable[[Facts], Verdict]
Again = Callable[[retry_law.Facts], bool]


class Session(NamedTuple):
    client: str = "sends"  # sends, waits, answered, gave up
    worker: bool = True
    found: bool = True  # this worker has looked at what was left
    submitted: bool = False  # durable: the id, and a run that is pending
    named: bool = False  # durable: the holder's identity
    holder: str = ""  # "", waits, told, dead
    command: str = ""  # "", runs, over
    status: bool = False  # the holder's last word, on the disk
    starts: int = 0
    ended: str = ""  # durable: what became of it


class World(NamedTuple):
    supervisor: bool
    sessions: tuple[Session, ...]


def search(law: Law, again: Again = retry_law.again, workers: int = 3) -> Found:
    def moves(world: World) -> Iterator[tuple[str, World]]:
        if world.supervisor:
            lost = [_lost(again, one) for one in world.sessions]
            yield "the supervisor dies", World(False, tuple(sorted(lost)))
        else:
            yield "a supervisor comes", world._replace(supervisor=True)
        for number, one in enumerate(world.sessions):
            for name, after in _steps(law, again, world.supervisor, one):
                sessions = [*world.sessions]
                sessions[number] = after
                yield name, world._replace(sessions=tuple(sorted(sessions)))

    return explore([World(True, (Session(),) * workers)], moves, _check)


def _lost(again: Again, one: Session) -> Session:
    """Its connection ends: a client that waits for an answer sends it again, if it may."""
    if one.client != "waits":
        return one
    sent = retry_law.Facts(refused=False, sent=True, command_id=True, looks=False)
    return one._replace(client="sends" if again(sent) else "gave up")


def _steps(law: Law, again: Again, supervisor: bool, one: Session) -> Iterator[tuple[str, Session]]:
    yield from _of_the_command(one)
    if not one.worker:
        if supervisor:
            yield "the next worker", one._replace(worker=True, found=False)
        return
    yield "the worker dies", _worker_dies(again, one)
    if not one.found:
        yield _found(law, one)
        return
    if supervisor and one.client == "sends":
        yield ("sent again" if one.submitted else "sent"), one._replace(client="waits", submitted=True)
    if supervisor and one.client == "waits" and (one.starts or one.ended):
        yield "answered", one._replace(client="answered")
    if one.submitted and not one.ended:
        yield from _of_the_run(one)


def _of_the_run(one: Session) -> Iterator[tuple[str, Session]]:
    if not one.holder and not one.named:
        yield "a holder waits", one._replace(holder="waits")
    if one.holder == "waits" and not one.named:
        yield "the commit names it", one._replace(named=True)
    if one.holder == "waits" and one.named:
        yield "go", one._replace(holder="told", command="runs", starts=one.starts + 1)
    if one.holder == "dead" and one.command != "runs":
        yield "its end is told", one._replace(ended="done" if one.status else "lost")


def _of_the_command(one: Session) -> Iterator[tuple[str, Session]]:
    if one.holder == "told" and one.command == "runs":
        yield "the command ends", one._replace(command="over", status=True, holder="dead")
        yield "the holder is killed", one._replace(holder="dead")
    if one.holder == "dead" and one.command == "runs":
        yield "the command ends alone", one._replace(command="over")


def _worker_dies(again: Again, one: Session) -> Session:
    """A holder that was not told to go ends with its channel; one that was goes on."""
    dead = "dead" if one.holder == "waits" else one.holder
    return _lost(again, one)._replace(worker=False, holder=dead)


def _found(law: Law, one: Session) -> tuple[str, Session]:
    """What a new worker does about a run that is not over; one without an identity was never started."""
    ready = one._replace(found=True)
    if not one.submitted or one.ended:
        return "nothing was left", ready
    if not one.named:
        must(one.starts == 0, "a command was started that nobody named")
        return "it is begun anew", ready._replace(holder="")
    alive = {"told": Seen.ALIVE, "dead": Seen.DEAD, "waits": Seen.ALIVE, "": Seen.DEAD}[one.holder]
    runs = Seen.ALIVE if one.command == "runs" else Seen.DEAD
    facts = Facts(one.status, rebooted=False, holder=alive, named=one.starts > 0, command=runs)
    said = law(facts)
    return said.value, _settled(said, one, ready)


def _settled(said: Verdict, one: Session, ready: Session) -> Session:
    match said:
        case Verdict.ENDED:
            must(one.status, "it is called ended, and nobody knows how")
            return ready._replace(ended="done")
        case Verdict.FOLLOW:
            must(one.holder == "told", "a holder that is dead is followed")
            return ready
        case Verdict.OUTLIVED:
            must(one.command == "runs" and one.holder == "dead", "it does not outlive its holder")
            return ready
        case Verdict.NEVER_STARTED:
            must(one.starts == 0, "what ran is called never started")
            return ready._replace(ended="lost")
        case Verdict.LOST:
            must(one.starts > 0 and one.command != "runs" and not one.status, "what is known is called lost")
            return ready._replace(ended="lost")
        case Verdict.INTERRUPTED:
            must(False, "nothing rebooted")
            return ready


def _check(world: World) -> None:
    for one in world.sessions:
        must(one.starts <= 1, "command_once: it was started twice")
        must(one.client != "answered" or one.starts or one.ended, "command_once: answered, and not done")
        must(one.ended != "done" or one.starts, "command_once: done, and never started")
        must(one.client != "gave up", "a command with an id is not given up")
