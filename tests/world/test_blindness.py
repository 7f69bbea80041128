"""The world is not blind: each of these faults, planted in the product, breaks a history."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from eukhed.storage import log_law
from eukhed.storage.batch import Batch
from eukhed.storage.lease import Lease
from eukhed.storage.log import Log
from eukhed.worker.holding import Holder
from eukhed.worker.run import LiveRun
from eukhed.worker.session import Session
from tests.world.faults import Fault
from tests.world.history import tell
from tests.world.invariants import Broken
from tests.world.people import Person
from tests.world.world import World

SEED = 1


def go_before_it_is_written_down(patch: pytest.MonkeyPatch) -> None:
    usual = LiveRun._start

    async def start(self: LiveRun) -> Any:
        assert isinstance(self._holder, Holder)
        await self._holder.go()
        return await usual(self)

    patch.setattr(LiveRun, "_start", start)


def forget_what_came_between_workers(patch: pytest.MonkeyPatch) -> None:
    async def nothing(self: LiveRun, ended: Any) -> None: ...

    patch.setattr(LiveRun, "_enter_rest", nothing)


def forget_what_was_submitted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Session, "submitted", lambda self, command: None)


def name_files_that_are_not_flushed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Batch, "files", property(lambda self: [], lambda self, names: None), raising=False)


def acknowledge_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    usual = Log.do

    def do(self: Log, step: Any, work: Any) -> None:
        if not isinstance(step, log_law.FlushMain):
            usual(self, step, work)

    patch.setattr(Log, "do", do)


def let_go_of_the_lease(patch: pytest.MonkeyPatch) -> None:
    usual = Lease.take.__func__  # type: ignore[attr-defined]  # a class method

    def take(cls: Any, *arguments: Any, **more: Any) -> Lease:
        lease: Lease = usual(cls, *arguments, **more)
        lease.release()
        return lease

    patch.setattr(Lease, "take", classmethod(take))


def person(does: str) -> Callable[[World], Sequence[Person]]:
    return lambda world: [Person(world, "ann", does=does)]


def ats(does: str, of: str, what: str) -> Iterator[Fault]:
    """Every effect of the plain history, coarsely first."""
    count = tell(SEED, (), person(does)).effects[of]
    for step in (7, 1):
        for at in range(1, count + 1, step):
            yield Fault(at, of, what)  # type: ignore[arg-type]  # the words of this file


def tell_all(does: str, faults: list[Fault]) -> None:
    for fault in faults:
        tell(SEED, [fault], person(does))


PLANTED = [
    (go_before_it_is_written_down, "blink", "worker", "cut", "started 2 times"),
    (forget_what_came_between_workers, "blink", "worker", "cut", "bytes"),
    (forget_what_was_submitted, "blink", "client", "cut", "gave up"),
    (name_files_that_are_not_flushed, "count", "worker", "power", "left out|not what was printed"),
    (acknowledge_before_the_flush, "blink", "worker", "power", "no end was told|was told of"),
    (let_go_of_the_lease, "blink", "client", "cut", "without its lease"),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("plant", "does", "of", "what", "says"), PLANTED, ids=[plant[0].__name__ for plant in PLANTED]
)
def test_a_planted_fault_is_seen(
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
    does: str,
    of: str,
    what: str,
    says: str,
) -> None:
    """What is seen is the planted fault: its own words are in what is told."""
    faults = list(ats(does, of, what))
    plant(monkeypatch)
    with pytest.raises(Broken, match=says):
        tell_all(does, faults)
