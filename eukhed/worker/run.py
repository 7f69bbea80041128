"""One command run that is not over: from its submission to the durable word of how it ended.

A run may wait for others before it starts (queue.py); its holder, when it has one, waits with it and keeps
what the run was handed. The order is the law (command_once): the submission is durable before anything is made of it; the holder's
identity is durable before the holder is told to go, so a run that has one was perhaps started and is never
started again, and one that has none never was. The end is told to clients after it is durable and after the
run has left the work set.
"""

import logging
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio

from eukhed.errors import DiskFull, EukhedError
from eukhed.host.seam import Identity
from eukhed.storage.records import Outcome
from eukhed.worker import joined, run_environment, run_facts, tries, turn_facts
from eukhed.worker.bench import Bench
from eukhed.worker.holding import Ended, Holder, NotStarted, Started
from eukhed.worker.output import Gap, gaps_within
from eukhed.worker.patience import Patience
from eukhed.worker.queue_law import Waits
from eukhed.worker.run_facts import Wish
from eukhed.worker.run_plan import plan_of
from eukhed.worker.segments import STREAMS, Segments, Stream
from eukhed.worker.shown import Shown
from eukhed.worker.transcript import Told, Transcript
from eukhed.worker.waiting import Waiting
from eukhed.worker.work import Item, WorkKind

EARLY_MAX: Final = 64  # pieces of input for a run whose holder is being found
LOG: Final = logging.getLogger("eukhed.worker.run")


class LiveRun(Shown):
    """One run, and the task that lives it."""

    def __init__(self, bench: Bench, number: int, wish: Wish | None) -> None:
        super().__init__(bench, number)
        self._wish = wish
        self._holder: Holder | None = None
        self._early: list[tuple[bytes, bool]] = []
        self._gaps: Sequence[Gap] = ()  # of one that ended while nobody followed it
        self._stopped_by: tuple[str, str] | None = None  # who, and by which signal
        self._waiting = Waiting(bench, number)
        self._patience = Patience(bench.host.clock, number, self.notices)

    @property
    def queued(self) -> bool:
        """Whether it waits for others."""
        return self._waiting.queued

    # what others ask

    def dropped(self, stream: Stream, start: int, end: int) -> list[Gap]:
        """What the cap took of these bytes."""
        return gaps_within(self._all_dropped(), stream, start, end)

    def _all_dropped(self) -> Sequence[Gap]:
        return self._gaps if self._holder is None else self._holder.dropped()

    def look(self) -> None:
        """Let the holder look at its cap now."""
        if self._holder is not None:
            self._holder.look()

    async def begun(self) -> None:
        """Return when the command was executed, or will not be; at once while the run waits for others."""
        if not self.queued:
            await self._begun.wait()

    async def started(self) -> None:
        """Return when the command was executed, or will not be, however long the run waits for others."""
        await self._begun.wait()

    def give(self, data: bytes, *, eof: bool, refused: Callable[[], None]) -> None:
        """Bytes for the command's input, in order; `refused` when it does not read and no more is held."""
        holder = self._holder or self._waiting.holder
        if holder is None and not self._over.is_set() and len(self._early) < EARLY_MAX:
            self._early.append((data, eof))  # an earlier worker's holder is still being found
        elif holder is None or not holder.give(data, eof=eof):
            refused()

    def resize(self, rows: int, cols: int, *, redraw: bool = False) -> None:
        """The terminal has this size from now on; with `redraw` a full-screen program draws itself again."""
        if (holder := self._holder or self._waiting.holder) is not None:
            holder.resize(rows, cols, redraw=redraw)

    async def stop(self, actor: str, number: int | None, grace_ms: int | None) -> None:
        """End the command and all that it started; who did it is durable before the command is told.

        But for a full disk: a command that fills it has to end all the same, and who did it is written later.
        """
        chosen = int(signal.SIGTERM) if number is None else number
        if self.queued:
            self.call_off(actor, run_facts.signal_name(chosen), None)
            return
        await self._begun.wait()
        if self._holder is None or self._over.is_set():
            return
        if self._stopped_by is None:
            self._stopped_by = (actor, run_facts.signal_name(chosen))
            try:
                await self._session.asked_to_stop(self.id, *self._stopped_by)
            except DiskFull as error:
                LOG.error("run %s is stopped before that is written: %s", self.id, error)
        await self._holder.stop(chosen, self._bench.grace_ms if grace_ms is None else grace_ms)

    def call_off(self, actor: str, how: str, reason: str | None) -> None:
        """A run that waits for others never starts, and ends as stopped by this one."""
        self._waiting.call_off(actor, how, reason)

    def waits_told(self) -> dict[str, Any]:
        """What it waits for, for a person."""
        return self._waiting.told()

    def let_go(self) -> None:
        """The worker leaves; the holder and its command go on without it."""
        if (holder := self._holder or self._waiting.holder) is not None:
            holder.close()

    # its life

    def line_up(self, waits: Waits) -> WorkKind:
        """What a run that is made now waits for; the kind of work that it is by that."""
        line = self._wish is not None and self._wish.line is not None
        return "input" if self._waiting.begin(waits) else "bash" if line else "run"

    async def submit(self, command: str, descriptors: tuple[int, ...]) -> None:
        """Make the holder, which gets the descriptors, and make the run durable.

        A run that waits, and keeps nothing that only a process can keep, gets its holder when it starts.
        """
        assert self._wish is not None
        bench, directory = self._bench, self._bench.run_directory(self.id)
        wish, env, queued = self._wish, self._wish.env, self.queued
        try:
            await bench.host.off_loop(lambda: run_environment.keep(bench.host.files, directory, env))
        except OSError as error:
            raise DiskFull(f"{directory} could not be written: {error.strerror}", path=directory) from error
        holder = None
        if not queued or wish.stdin != "none":
            holder = self._holder = await bench.holders.spawn(plan_of(bench, self.id, wish), descriptors)
        keeper = holder.identity if holder is not None and queued else None
        try:
            told = wish.input(bench.host.clock.wall_ms(), self._waiting.waits)
            await self._session.submit(self.id, command, told, keeper)
        except EukhedError:
            self.let_go()  # nothing was started: the holder ends at its gate
            await tries.forget(bench, self.id)
            raise
        if queued:
            if holder is not None:
                await holder.stay()
            await bench.busy.believed()  # a run that is known to be queued is taken up whatever dies
        bench.events.emit("run_submitted", self.told())

    async def recall(self) -> None:
        """Learn how far an earlier worker came with the output; before anybody looks at this run."""
        self.segments = Segments(await self._session.entered(self.id))
        self._waiting.recall(self._session.known(self.id))

    async def live(self) -> None:
        """Go through the run's whole life, from wherever it stands."""
        try:
            ended = await self._start_or_find()
            if ended is None:
                ended = await self._follow()
            elif not ended.interrupted and "holder" in (self._session.known(self.id).memos or {}):
                # what a reboot left beyond the entries may never have reached the disk
                await self._enter_rest(ended)
            await self._finish(ended)
        finally:
            self.let_go()

    async def _start_or_find(self) -> Ended | None:
        task = self._session.known(self.id)
        memos = task.memos or {}
        if "holder" in memos:
            return await self._find(memos)
        if (waits := turn_facts.waits(task.input)).runs:
            self._waiting.holder = self._holder
            ended = await self._waiting.turn(task, waits)
            self._holder, self._stopped_by = self._waiting.holder, self._waiting.stopped_by
            if ended is not None:
                return ended
        if self._holder is None:
            lost = await self._make_again(task.input)
            if lost is not None:
                return lost
        return await self._start()

    async def _make_again(self, told: Mapping[str, Any]) -> Ended | None:
        """A run that was stored and never started gets a new holder; or how it ended, if it cannot."""
        bench, directory = self._bench, self._bench.run_directory(self.id)
        if told["stdin"] == "handed":
            return Ended(lost="its input is gone", at_ms=bench.host.clock.wall_ms())
        env = await bench.host.off_loop(lambda: run_environment.read(bench.host.files, directory))
        if env is None:
            return Ended(lost="its environment is gone", at_ms=bench.host.clock.wall_ms())
        self._wish = run_facts.again(told, env, bench.grace_ms)
        self._hold(await bench.holders.spawn(plan_of(bench, self.id, self._wish)))
        return None

    async def _start(self) -> Ended | None:
        """Behind the gate until the holder's identity is durable, then go (law command_once)."""
        holder, bench = self._holder, self._bench
        assert holder is not None
        await bench.busy.believed()
        await self._patience.until_done(lambda: self._session.held(self.id, holder.identity))
        return await self._go(holder)

    async def _go(self, holder: Holder) -> Ended | None:
        """Start the command; or why it could not be."""
        bench = self._bench
        started = await holder.go()
        await self._forget_environment()
        match started:
            case NotStarted(message=message, exit=status):
                return Ended(exit=status, error=message, at_ms=bench.host.clock.wall_ms())
            case Started(command=command, notes=notes):
                at_ms = bench.host.clock.wall_ms()
                self.notices += [{"id": 0, "text": note, "at": at_ms} for note in notes]
                await self._patience.until_done(lambda: self._session.executed(self.id, command, at_ms))
        bench.events.emit("run_started", self.told())
        return None

    async def _find(self, memos: Mapping[str, Any]) -> Ended | None:
        """Take up what an earlier worker left."""
        bench = self._bench
        directory, told = bench.run_directory(self.id), self._session.known(self.id).input
        paths = {stream: self.output_path(stream) for stream in STREAMS}
        command = Identity(*memos["command"]) if "command" in memos else None
        holder = Identity(*memos["holder"])
        found = await bench.holders.adopt(directory, paths, holder, command, tty=told["tty"])
        if isinstance(found, Ended):
            return found
        self._hold(found)
        if "keeper" in memos and command is None:  # whether it was told to start is known to it alone
            return await self._go(found)
        await self._forget_environment()
        at_ms = bench.host.clock.wall_ms()
        text = "the worker of this session was replaced; the command was not touched"
        await self._patience.until_done(lambda: self._notice(text, at_ms))
        return None

    def _hold(self, holder: Holder) -> None:
        """This is the holder; what was typed while there was none is its input."""
        self._holder = holder
        for data, eof in self._early:
            holder.give(data, eof=eof)
        self._early.clear()

    async def _forget_environment(self) -> None:
        """It was started, and cannot be again by itself; but for another try."""
        if turn_facts.recalled(self._session.known(self.id).input).retry is None:
            await tries.forget(self._bench, self.id)

    async def _notice(self, text: str, at_ms: int) -> None:
        number = await self._session.restored(self.id, text, at_ms)
        self.notices.append({"id": number, "text": text, "at": at_ms})

    async def _follow(self) -> Ended:
        """Follow the output into entries until the command has ended and all of it is entered."""
        holder = self._holder
        assert holder is not None
        self._begun.set()
        transcript = Transcript(self._bench, self, tty=self._session.known(self.id).input["tty"])
        async with anyio.create_task_group() as tasks:
            async with anyio.create_task_group() as beside:
                beside.start_soon(transcript.watch)
                beside.start_soon(self._expire)
                tasks.start_soon(transcript.enter)
                ended = await holder.ended()
                beside.cancel_scope.cancel()
            transcript.end(ended.sizes)  # the entries of all that came are made before the run ends
        return ended

    async def _enter_rest(self, ended: Ended) -> None:
        """What came while nobody followed, of a run that ended meanwhile."""
        self._gaps = ended.dropped
        transcript = Transcript(self._bench, self, tty=self._session.known(self.id).input["tty"])
        transcript.end(ended.sizes)
        await transcript.enter()

    async def write_down(self, told: list[Told]) -> None:
        """Commit the entries of some output."""
        await self._patience.until_done(lambda: self._session.output(self.id, told))

    async def _expire(self) -> None:
        """A run with a timeout is stopped when it has passed, counted from its start, over worker changes."""
        task = self._session.known(self.id)
        timeout_ms = task.input.get("timeoutMs")
        if timeout_ms is None:
            return
        started = (task.memos or {}).get("startedAt", self._bench.host.clock.wall_ms())
        spent_ms = max(0, self._bench.host.clock.wall_ms() - started)
        await self._bench.host.clock.sleep_ms(max(0, timeout_ms - spent_ms))
        await self.stop("timeout", None, None)

    async def _finish(self, ended: Ended) -> None:
        if self._stopped_by is not None and "stop" not in (self._session.known(self.id).memos or {}):
            who, how = self._stopped_by
            await self._patience.until_done(lambda: self._session.asked_to_stop(self.id, who, how))
        outcome, result = self._result(ended)
        told = self._session.known(self.id).input
        said = None if "line" not in told else await joined.said(self._bench.host, self, told["line"], result)
        await self._patience.until_done(lambda: self._session.ended(self.id, outcome, result, said))
        self.segments.end()
        task = self._session.known(self.id)
        if tries.due_ms(task, self._bench.tries) is not None:
            self._bench.work.add(Item("admitted", self.id, self._session.title(task)))
        self._bench.work.remove(run_facts.kind_of(told), self.id)
        self._begun.set()
        self._over.set()
        self._bench.events.emit("run_ended", self.told())

    def _result(self, ended: Ended) -> tuple[Outcome, dict[str, Any]]:
        told: dict[str, Any] = {
            "exit": ended.exit,
            "signal": ended.signal,
            "error": ended.error or ended.lost,
            "endedAt": ended.at_ms,
            "outputBytes": dict(self.segments.sizes),
        }
        if gaps := self._all_dropped():
            told["dropped"] = [list(gap) for gap in gaps]
            told["droppedBytes"] = {s: sum(g.end - g.start for g in gaps if g.stream == s) for s in STREAMS}
        result = {key: value for key, value in told.items() if value is not None}
        stopped = (self._session.known(self.id).memos or {}).get("stop")
        outcome: Outcome
        if ended.interrupted:
            outcome = "orphaned"
        elif ended.lost is not None:
            outcome = "faulted"
        elif stopped:
            outcome = "aborted"
        else:
            outcome = "completed" if ended.exit == 0 else "failed"
        return outcome, result
