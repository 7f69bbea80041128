"""The four ways to end. Asks drain_law; the workers leave through their keepers.

An end is decided here once. While an idle shutdown asks, no worker is started; what came meanwhile waits, and
goes on when the shutdown comes to nothing. While the supervisor ends it still listens, and says so.
"""

import itertools
from typing import TYPE_CHECKING, Any, Literal

import anyio

from eukhed.errors import Busy, EukhedError
from eukhed.supervisor import survivors
from eukhed.supervisor.drain_law import (
    WAYS,
    AfterStop,
    Answer,
    Cause,
    Facts,
    Verdict,
    Way,
    after_stop,
    verdict,
)
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.routing_law import Phase
from eukhed.supervisor.stopping import Mode, StopOrder

if TYPE_CHECKING:
    from eukhed.supervisor.lifecycle import Keeper

Reason = Literal["shutdown", "idle", "replaced"]


class Drain:
    """Whether and how this supervisor ends."""

    def __init__(self) -> None:
        self.ends = False  # nothing is taken any more
        self.at_once = anyio.Event()
        self.over = anyio.Event()  # workers are gone, or left; the process may end
        self.reason: Reason = "shutdown"
        self._numbers = itertools.count(1)
        self._turn = anyio.Semaphore(1)

    async def end(self, house: House, cause: Cause, actor: str, *, keep_scheduled: bool = False) -> None:
        """End the supervisor in the way that belongs to the cause; returns when the workers are gone.

        Raises:
            Busy: there is work, and the way was to end only without; everything goes on.
        """
        if cause is Cause.SECOND_SIGNAL:
            self.at_once.set()
            return
        async with self._turn:
            if self.over.is_set():
                return
            LOG.info("asked to end: %s, by %s", cause.value, actor)
            self.reason = _reason(cause, actor)  # an earlier end may have come to nothing, for another one
            match WAYS[cause]:
                case Way.QUIESCE:
                    await self._by_quiesce(house, actor, keep_scheduled=keep_scheduled)
                case Way.END_WORK:
                    await self._all(house, "force", actor)
                case Way.AS_LOST | Way.AS_LOST_AT_ONCE:
                    await self._all(house, "lost", actor)
            self.over.set()

    async def one_if_idle(self, house: House, keeper: "Keeper", actor: str) -> None:
        """Close one session's worker, only if it is idle; it is gone then. Busy when it is not, or cannot be asked."""
        async with self._turn:
            number = next(self._numbers)
            answers = await self._ask(house, [keeper], number)
            facts = Facts(list(answers.values()), starting=keeper.link is None, scheduled=False)
            order = None if verdict(facts) is Verdict.RELEASE else await _stop_idle(keeper, number, actor)
            if order is None or order.outcome != "stopped":
                if keeper.link is not None:
                    keeper.link.tell("release", {"quiesce": number})
                raise Busy(f"session {keeper.route.name} has work", work=_work([keeper]))
        await order.settled.wait()  # whoever asked may open the storage then

    async def _all(self, house: House, mode: Mode, actor: str) -> None:
        """All workers leave, side by side."""
        self._close(house)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._no_longer_than_asked, tasks)
            with house.host.clock.limit(house.settings.timing.drain_ms) as limit:
                async with anyio.create_task_group() as stops:
                    for keeper in list(house.keepers.values()):
                        stops.start_soon(_stop, keeper, mode, actor)
                if mode == "force":
                    await survivors.end_all(house, actor)
            if limit.cancelled_caught:
                LOG.error("some workers did not leave in time")
            tasks.cancel_scope.cancel()

    async def _no_longer_than_asked(self, tasks: anyio.abc.TaskGroup) -> None:
        await self.at_once.wait()
        tasks.cancel_scope.cancel()

    def _close(self, house: House) -> None:
        self.ends = True
        house.jobs.stop()
        house.launches.release()  # whoever waits to start is told that the supervisor ends
        house.settings.herald.stopping()

    async def _by_quiesce(self, house: House, actor: str, *, keep_scheduled: bool) -> None:
        house.launches.hold()
        number = next(self._numbers)
        try:
            asked = [keeper for keeper in house.keepers.values() if keeper.route.phase is not Phase.FAILED]
            answers = await self._ask(house, asked, number)
            if keep_scheduled:
                await house.jobs.look_now(house)
            scheduled = keep_scheduled and bool(house.jobs.scheduled(house))
            starting = any(keeper.link is None for keeper in asked if keeper in house.keepers.values())
            if verdict(Facts(list(answers.values()), starting, scheduled)) is Verdict.RELEASE:
                raise Busy("there is work", work=_work(asked), next=[["eukhed", "shutdown", "--force"]])
            for keeper in asked:
                order = await _stop_idle(keeper, number, actor)
                if after_stop(obeyed=order.outcome == "stopped") is AfterStop.SERVE_ON:
                    raise Busy("work began meanwhile", work=_work(asked))
        except Busy:
            for keeper in house.keepers.values():
                if keeper.link is not None:
                    keeper.link.tell("release", {"quiesce": number})
            raise
        else:
            self._close(house)
            await self._all(house, "lost", actor)
        finally:
            house.launches.release()

    async def _ask(self, house: House, asked: "list[Keeper]", number: int) -> "dict[Keeper, Answer]":
        """Ask all at once; whoever has not answered when the window is over was silent."""
        answers: dict[Keeper, Answer] = dict.fromkeys(asked, Answer.SILENT)
        async with anyio.create_task_group() as questions:
            for keeper in asked:
                questions.start_soon(_question, house, keeper, number, answers)
        return answers


def _reason(cause: Cause, actor: str) -> Reason:
    """What clients are told at the end."""
    if WAYS[cause] is not Way.QUIESCE:
        return "shutdown"
    if actor.startswith("launcher"):
        return "replaced"
    return "idle" if cause is Cause.IF_IDLE else "shutdown"


async def _question(house: House, keeper: "Keeper", number: int, answers: "dict[Keeper, Answer]") -> None:
    if keeper.link is None:
        return
    try:
        told_ = await keeper.link.ask(
            "quiesce", {"quiesce": number}, house.settings.timing.waits.quiesce_answer_ms
        )
    except (EukhedError, TimeoutError) as error:
        LOG.info("session %s did not say whether it is idle: %s", keeper.route.name, told(error))
        if house.keepers.get(keeper.record.session) is not keeper:
            answers[keeper] = Answer.ENDED
        return
    answers[keeper] = Answer.QUIESCED if told_.get("idle") is True else Answer.BUSY


async def _stop(keeper: "Keeper", mode: Mode, actor: str) -> None:
    order = StopOrder(mode, actor)
    keeper.stop(order)
    await order.settled.wait()
    if order.error is not None:
        LOG.error("session %s was not stopped: %s", keeper.route.name, order.error.message)


async def _stop_idle(keeper: "Keeper", number: int, actor: str) -> StopOrder:
    """Return when the worker obeys or not (`outcome`); its exit, which settles the order, comes later."""
    order = StopOrder("idle", actor, number)
    keeper.stop(order)
    await order.obeyed.wait()
    return order


def _work(keepers: "list[Keeper]") -> list[dict[str, Any]]:
    """What is going on, for whoever was refused."""
    return [
        {"session": keeper.record.session, "name": keeper.route.name} | dict(item)
        for keeper in keepers
        for item in keeper.work
    ]
