"""One run of a bundle that is not over: from its submission to the durable word of how it ended.

To views, lists and queues it is a run like any other: its lines are its standard error, its output is its standard
output, its exit is 0 when it finished and 2 when it is incomplete.
"""

import json
import logging
import signal
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
from msgspec.structs import replace

from eukhed.bundles.reading import Limits
from eukhed.bundles.records import RunNote
from eukhed.config import Bundles
from eukhed.errors import Broken, DiskFull, EukhedError
from eukhed.storage.batch import Batch
from eukhed.storage.records import Outcome as TaskOutcome
from eukhed.storage.records import Running, Task, Terminal
from eukhed.storage.runs import BUNDLE
from eukhed.worker import run_environment, tries
from eukhed.worker.bench import Bench
from eukhed.worker.output import Gap
from eukhed.worker.patience import Patience
from eukhed.worker.programs import engine_law, pinned
from eukhed.worker.programs.attempt import Attempt, Outcome
from eukhed.worker.programs.doors import Means
from eukhed.worker.programs.engine_law import Ending, Happened
from eukhed.worker.programs.journal import Journal
from eukhed.worker.programs.outlet import Outlet
from eukhed.worker.programs.programs import Programs
from eukhed.worker.programs.questions import Questions
from eukhed.worker.programs.wish import Wish, cwd_of, fuel_of, pin_of
from eukhed.worker.segments import STREAMS, Segments, Stream
from eukhed.worker.shown import Shown

INCOMPLETE: Final = 2
LOG: Final = logging.getLogger("eukhed.worker.bundles")


class LiveBundle(Shown):
    """One run, and the task that lives it."""

    def __init__(self, bench: Bench, number: int) -> None:
        super().__init__(bench, number)
        self.queued = False
        self._patience = Patience(bench.host.clock, number, self.notices)
        self._journal = Journal(bench.session, number, self._patience)
        self._questions = Questions(bench.work, number, f"{bench.session.name}/{number}")
        self._stopped_by: tuple[str, str] | None = None
        self._scope = anyio.CancelScope()

    # what others ask

    def dropped(self, stream: Stream, start: int, end: int) -> list[Gap]:  # noqa: ARG002 - nothing is dropped
        """Nothing of it is."""
        return []

    async def begun(self) -> None:
        """Return when it was begun."""
        await self._begun.wait()

    def give(self, data: bytes, *, eof: bool, refused: Callable[[], None]) -> None:  # noqa: ARG002 - it has no stdin
        """It reads no input but the one that it was submitted with."""
        if data:
            refused()

    def resize(self, rows: int, cols: int, *, redraw: bool = False) -> None:
        """It has no terminal."""

    @property
    def asks(self) -> bool:
        """Whether it waits for a person."""
        return self._questions.open is not None

    async def answer(self, number: int | None, text: str | None) -> Any:
        """Answer the question that it asks (Questions.answer)."""
        return await self._questions.answer(number, text)

    async def stop(self, actor: str, number: int | None, grace_ms: int | None) -> None:  # noqa: ARG002 - nothing of it needs grace
        """End it, and what it started; who did it is written with its end."""
        if self._stopped_by is None:
            self._stopped_by = (actor, signal.Signals(number or signal.SIGTERM).name)
            self._scope.cancel()

    def waits_told(self) -> dict[str, Any]:
        """It waits for no other run."""
        return {}

    def let_go(self) -> None:
        """The worker leaves; the next one goes on from the journal."""

    # its life

    async def submit(self, command: str, wish: Wish) -> None:
        """Make the run durable. Its environment is kept beside it, for its tools, until it is over."""
        bench, directory = self._bench, self._bench.run_directory(self.id)
        try:
            await bench.host.off_loop(lambda: run_environment.keep(bench.host.files, directory, wish.env))
        except OSError as error:
            raise DiskFull(f"{directory} could not be written: {error.strerror}", path=directory) from error
        try:
            await self._session.submit(self.id, command, wish.input(bench.host.clock.wall_ms()), kind=BUNDLE)
        except EukhedError:
            await tries.forget(bench, self.id)
            raise
        bench.events.emit("run_submitted", self.told())

    async def recall(self) -> None:
        """Learn what an earlier worker left; before anybody looks at this run."""
        self.segments = Segments(await self._session.entered(self.id))
        await self._journal.recall()
        if self._journal.began is not None:
            at_ms = self._bench.host.clock.wall_ms()
            text = "the worker of this session was replaced; the bundle goes on from its journal"
            await self._patience.until_done(lambda: self._session.restored(self.id, text, at_ms))
            self.notices.append({"id": 0, "text": text, "at": at_ms})

    async def live(self) -> None:
        """Go through the run's whole life, from wherever it stands."""
        await self._bench.busy.believed()
        await self._patience.until_done(self._start)
        self._begun.set()
        self._bench.events.emit("run_started", self.told())
        outcome = None
        with self._scope:
            outcome = await self._worked()
        await self._end(outcome)

    async def _start(self) -> None:
        task = self._session.known(self.id)
        memos = task.memos or {}
        batch = Batch()
        started = memos.get("startedAt", self._bench.host.clock.wall_ms())
        batch.put_task(replace(task, state=Running(), memos={**memos, "startedAt": started}))
        await self._session.commit(batch)

    async def _worked(self) -> Outcome:
        """What it came to."""
        told, programs = self._session.known(self.id).input, self._bench.programs
        assert programs is not None
        try:
            settings = await programs.settings()
            attempt = await self._attempt(told, programs, settings)
            fell = next((c.told for c in self._journal.asked.values() if c.name == "fallback"), None)
            if fell is not None:
                return await attempt.fall_back(fell)
            outcome = await attempt.run()
            if engine_law.ending(outcome.happened, fallback=attempt.has_fallback) is Ending.FALLBACK:
                return await attempt.fall_back(outcome.why)
        except EukhedError as error:
            happened = Happened.CHANGED if isinstance(error, Broken) else Happened.DIED
            return Outcome(happened, None, error.message)
        return outcome

    async def _attempt(self, told: Mapping[str, Any], programs: Programs, settings: Bundles) -> Attempt:
        host, pin = self._bench.host, pin_of(told)
        bundle = await host.off_loop(
            lambda: pinned.load(host, pin, Limits(settings.file_bytes, settings.files))
        )
        directory = self._bench.run_directory(self.id)
        env = await host.off_loop(lambda: run_environment.read(host.files, directory))
        if env is None:
            raise Broken("its environment is gone")
        means = Means(
            programs, settings, bundle, pinned.store_of(host, pin).memory(pin.name), env, cwd_of(told)
        )
        outlet = Outlet(host, self._session, self.id, self.segments)
        fuel = fuel_of(told, bundle.manifest)
        return Attempt(host, self._journal, means, self._questions, outlet, fuel, told["given"])

    async def _end(self, outcome: Outcome | None) -> None:
        await self._note(outcome)
        await self._patience.until_done(lambda: self._commit_end(outcome))
        self.segments.end()
        await tries.forget(self._bench, self.id)
        self._bench.work.remove("run", self.id)
        self._begun.set()
        self._over.set()
        self._bench.events.emit("run_ended", self.told())

    async def _note(self, outcome: Outcome | None) -> None:
        """The store's note on the last run; a store that cannot be written keeps the one before."""
        host, task = self._bench.host, self._session.known(self.id)
        pin = pin_of(task.input)
        why = "it was stopped" if outcome is None else outcome.why
        finished = outcome is not None and outcome.happened is Happened.RETURNED
        cost = self._journal.spend.micro_usd / 1_000_000
        note = RunNote(host.clock.wall_ms(), pin.version, finished, why, cost)
        try:
            await host.off_loop(lambda: pinned.store_of(host, pin).record_run(pin.name, note))
        except EukhedError as error:
            LOG.warning("the note on run %s could not be kept: %s", self.id, error.message)

    async def _commit_end(self, outcome: Outcome | None) -> None:
        """One commit: the output, and how it ended."""
        batch, task = Batch(), self._session.known(self.id)
        told = []
        if outcome is not None and outcome.output is not None:
            text = json.dumps(json.loads(outcome.output), ensure_ascii=False, indent=2) + "\n"
            outlet = Outlet(self._bench.host, self._session, self.id, self.segments)
            told = await outlet.write("out", text)
            batch.files = [outlet.name("out")]
        self._session.put_entries(batch, self.id, told)
        sizes = dict(self.segments.sizes)
        for _, data in told:
            sizes[data["stream"]] = max(sizes[data["stream"]], data["offset"] + data["length"])
        batch.put_task(self._ended(task, outcome, sizes))
        self._session.put_done(batch, self.id)
        await self._session.commit(batch)
        for stream in STREAMS:
            self.segments.grow(stream, sizes[stream])

    def _ended(self, task: Task, outcome: Outcome | None, sizes: Mapping[Stream, int]) -> Task:
        spend = self._journal.spend
        result: dict[str, Any] = {
            "endedAt": self._bench.host.clock.wall_ms(),
            "outputBytes": dict(sizes),
            "calls": len(self._journal.asked),
            "spend": {
                "tokensIn": spend.tokens_in,
                "tokensOut": spend.tokens_out,
                "microUsd": spend.micro_usd,
            },
        }
        memos = {key: memo for key, memo in (task.memos or {}).items() if key != "question"}
        state: TaskOutcome
        if outcome is None:
            assert self._stopped_by is not None
            state, result["signal"] = "aborted", int(signal.Signals[self._stopped_by[1]])
            memos["stop"] = {"by": self._stopped_by[0], "how": self._stopped_by[1]}
        elif outcome.happened is Happened.RETURNED:
            state, result["exit"] = "completed", 0
        else:
            state, result["exit"], result["error"] = "failed", INCOMPLETE, f"incomplete: {outcome.why}"
            result["incomplete"] = outcome.happened.value
        return replace(task, state=Terminal(outcome=state, result=result), memos=memos)
