"""A run on this terminal: its output, what is typed, signals, and the way back after a loss.

One loop waits for whatever comes first and does one thing about it. Nothing in it blocks, so a pager that
does not read, a daemon that is gone, and a worker that restarts all leave the keys alive.
"""

import contextlib
import errno
import os
import select
import signal
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from eukhed.cli.actor import actor
from eukhed.cli.interrupt_law import Chosen, Facts, Verdict, verdict
from eukhed.cli.interrupt_law import Terminal as Whose
from eukhed.cli.outlet import Outlet
from eukhed.cli.picture import Picture
from eukhed.cli.question import Question
from eukhed.cli.signals import Early, Signals
from eukhed.cli.terminal import Modes, Terminal, window
from eukhed.cli.typed import TypedInput
from eukhed.client.attachment import Attachment, Detached, Dropped, Ended, Notice, Output, Shown
from eukhed.client.client import Client
from eukhed.errors import ConnectionLost, EukhedError, SessionRecovering

HANDLED: Final = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGWINCH, signal.SIGCONT,
)  # fmt: skip
BURST: Final = 64  # pieces that are written between two looks at the keys
STEP_MS: Final = 50  # between two looks at a daemon that is gone
SAY_AFTER_MS: Final = 1_000  # a wait that is longer is told


class Plan(NamedTuple):
    """How a run is shown."""

    address: str
    title: str  # its command, for the question
    raw: bool  # the run has a terminal of its own, and this is its picture
    typed: bool  # stdin is read for it
    looks: bool
    owner: bool
    chosen: Chosen
    detach_key: str
    grace_ms: int | None = None


class Left(NamedTuple):
    """The view was left, and the run goes on."""

    by_us: bool  # not by another client


class View:
    """Shows one run until it ends, or is left."""

    def __init__(self, client: Client, attachment: Attachment, plan: Plan, picture: Picture) -> None:
        self._client = client
        self._attachment = attachment
        self._plan = plan
        self._picture = picture
        self._outlet = Outlet()
        self._modes = Modes()
        self._typed = TypedInput(
            attachment,
            reads=plan.typed,
            looks=plan.looks,
            detach_key=plan.detach_key if plan.raw else "none",
        )
        self._terminal = Terminal(0) if plan.raw or os.isatty(0) else None
        self._question: Question | None = None
        self._stops = 0
        self._stop_asked: int | None = None
        self._lost_at: float | None = None
        self._again_at: float | None = None
        self._told_wait = False
        self._outcome: Ended | Left | None = None
        self._started = time.monotonic()

    def show(self, early: Early | None = None) -> Ended | Left:
        """Show the run; the terminal is restored whatever happens. `early`: signals that came before.

        Raises:
            ConnectionLost: the daemon is gone and does not come back.
            EukhedError: the daemon no longer shows this run (its session was given up, deleted).
        """
        with Signals(HANDLED) as signals:
            try:
                for number in early.taken() if early is not None else ():
                    self._signalled(number)
                if self._plan.raw and self._terminal is not None:
                    self._terminal.raw()
                while not (self._outcome is not None and self._outlet.waits_for is None):
                    if isinstance(self._outcome, Left):
                        break  # what was not written yet is for the next view
                    self._turn(signals)
                return self._outcome
            finally:
                self._leave_terminal()

    def _leave_terminal(self) -> None:
        if self._plan.raw and not isinstance(self._outcome, Ended) and (undone := self._modes.undo()):
            with contextlib.suppress(OSError):
                os.write(1, undone)
        if self._terminal is not None:
            self._terminal.close()
        if self._question is not None:
            self._question.close()

    @property
    def _over(self) -> bool:
        """Whether the run has ended, and only what it wrote is left to be shown."""
        return isinstance(self._outcome, Ended)

    # one turn

    def _turn(self, signals: Signals) -> None:
        ready = self._polled(signals)
        try:
            self._hear(signals, ready)
            if self._client.connected and not self._over:
                self._serve(ready)
        except ConnectionLost:
            self._client.hear_out()
            self._take_events()
            if self._outcome is None:
                self._cut(lost_daemon=True)
        if not self._client.connected:
            self._recover()

    def _hear(self, signals: Signals, ready: set[int]) -> None:
        """Do what a person wants, then what their terminal takes."""
        if signals.fileno() in ready:
            for number in signals.taken():
                self._signalled(number)
        if self._question is not None and self._question.fileno() in ready:
            self._answer()
        elif 0 in ready:
            self._read_typed()
        if self._typed.due_ms() == 0:
            self._outcome = Left(by_us=True)
        waits_for = self._outlet.waits_for
        if waits_for is not None and waits_for in ready:
            for _ in range(BURST):
                self._write()
                if not self._outlet.ready():
                    break

    def _polled(self, signals: Signals) -> set[int]:
        poll = select.poll()
        poll.register(signals.fileno(), select.POLLIN)
        if self._client.connected and not self._over:
            unsent = select.POLLOUT if self._client.unsent_bytes else 0
            poll.register(self._client.fileno(), select.POLLIN | unsent)
        if self._question is not None:
            poll.register(self._question.fileno(), select.POLLIN)
        elif self._typed.readable:
            poll.register(0, select.POLLIN)
        waits_for = self._outlet.waits_for
        if waits_for is not None and self._question is None:
            poll.register(waits_for, select.POLLOUT)
        return {descriptor for descriptor, _ in poll.poll(self._wait_ms())}

    def _wait_ms(self) -> int | None:
        waits = [self._typed.due_ms()]
        if self._lost_at is not None or self._again_at is not None:
            waits.append(STEP_MS)
        if self._client.holds or (self._outcome is not None and self._outlet.waits_for is None):
            waits.append(0)
        return min((wait for wait in waits if wait is not None), default=None)

    # the daemon

    def _recover(self) -> None:
        if self._client.recover_step():
            self._ask_again()
        self._tell_wait("the daemon is gone; waiting for it to be back")

    def _serve(self, ready: set[int]) -> None:
        self._client.flush()
        self._take_arrived()
        if self._client.fileno() in ready or self._client.holds:
            while self._client.pump():
                self._take_arrived()
        if self._lost_at is None:
            self._typed.send(self._client)
            self._send_stop()

    def _take_arrived(self) -> None:
        """Answers before events: what an attachment is sent comes right behind the answer that opens it."""
        if self._lost_at is not None:
            self._resume()
        self._take_events()

    def _take_events(self) -> None:
        while self._client.events:
            event = self._client.events.popleft()
            if event.get("session") == self._attachment.session and event["type"].startswith("session_"):
                self._session_event(event["type"], event["body"])
            if self._is_start(event) and (said := self._picture.started(event["body"])):
                self._outlet.put(1, said)
            for shown in self._attachment.take(event):
                self._show(shown)

    def _is_start(self, event: Mapping[str, Any]) -> bool:
        ours = event.get("session") == self._attachment.session and event["type"] == "run_started"
        return bool(ours and event["body"]["run"] == self._attachment.run)

    def _session_event(self, kind: str, body: dict[str, object]) -> None:
        if kind == "session_lost":
            self._cut(lost_daemon=False)
            self._ask_again()
        elif kind == "session_gave_up":
            raise EukhedError(
                f"the session of {self._plan.address} was given up: {body.get('reason')}",
                next=[["eukhed", "reopen", self._plan.address.rpartition("/")[0]]],
            )

    def _cut(self, *, lost_daemon: bool) -> None:
        self._attachment.cut()
        self._typed.cut()
        self._stop_asked = None
        if self._lost_at is None:
            self._lost_at, self._told_wait = time.monotonic(), False
        if lost_daemon and self._client.connected:
            self._client.lost()

    def _ask_again(self) -> None:
        self._again_at = None
        self._attachment.ask_again(window(1, 0) if self._plan.raw else None)

    def _resume(self) -> None:
        if self._again_at is not None and time.monotonic() >= self._again_at:
            self._ask_again()
        try:
            if not self._attachment.resumed():
                self._tell_wait("waiting for the session's worker to be back")
                return
        except SessionRecovering:
            self._again_at = time.monotonic() + STEP_MS / 1000
            return
        assert self._lost_at is not None
        if self._told_wait:
            self._note(f"back after {time.monotonic() - self._lost_at:.1f} s; the command was not touched")
        self._lost_at = None

    def _tell_wait(self, text: str) -> None:
        if self._lost_at is None or self._told_wait:
            return
        if (time.monotonic() - self._lost_at) * 1000 >= SAY_AFTER_MS:
            self._told_wait = True
            self._note(text)

    # what comes

    def _show(self, shown: Shown) -> None:
        match shown:
            case Output(stream, data, attachment):
                descriptor, picture = self._picture.output(stream, data)
                self._outlet.put(descriptor, picture, len(data), attachment)
            case Dropped(stream, count):
                self._note(
                    f"{count:,} bytes of {'stdout' if stream == 'out' else 'stderr'} are no longer kept"
                )
            case Notice(text):
                self._note(text)
            case Ended():
                self._close_question()
                self._outcome = shown
            case Detached():
                self._outcome = Left(by_us=False)

    def _note(self, text: str) -> None:
        line = self._picture.note(text, raw=self._plan.raw)
        if line and not (self._plan.raw and self._modes.full_screen):
            self._outlet.put(2, line)

    def _write(self) -> None:
        waits_for = self._outlet.waits_for
        if self._plan.raw and waits_for == 1:
            self._modes.watch(self._outlet.next_piece())
        try:
            wrote = self._outlet.write()
        except OSError as error:
            self._unwritten(waits_for or 1, error)
            return
        if wrote.credit:
            idle = self._outlet.waits_for is None
            self._attachment.wrote(wrote.credit, wrote.attachment, all_out=idle)

    def _unwritten(self, descriptor: int, error: OSError) -> None:
        for dropped in self._outlet.drop(descriptor):
            self._attachment.wrote(dropped.credit, dropped.attachment, all_out=True)
        if descriptor != 1:
            return  # the talk is lost, the data is not
        if error.errno == errno.EPIPE:
            self._meant("PIPE")
        elif error.errno == errno.EIO:  # the terminal hung up
            self._meant("HUP")
        else:
            raise EukhedError(
                f"stdout cannot be written: {error.strerror}; {self._plan.address} goes on",
                next=[["eukhed", "attach", self._plan.address]],
            )

    def _read_typed(self) -> None:
        match self._typed.read():
            case "detach":
                self._outcome = Left(by_us=True)
            case "hangup":
                self._meant("HUP")

    # signals

    def _signalled(self, number: signal.Signals) -> None:
        match number:
            case signal.SIGWINCH:
                self._resize()
            case signal.SIGCONT:
                if self._plan.raw and self._terminal is not None:
                    self._terminal.raw()
                    self._resize()
            case signal.SIGINT:
                self._meant("INT")
            case signal.SIGTERM:
                self._meant("TERM")
            case signal.SIGHUP:
                self._meant("HUP")
            case signal.SIGQUIT:
                self._meant("QUIT")

    def _meant(self, name: str) -> None:
        plan = self._plan
        whose: Whose = "run's" if plan.raw else "person's" if os.isatty(2) else "none"
        facts = Facts(plan.looks, plan.owner, name, whose, plan.chosen, self._question is not None)  # type: ignore[arg-type]  # the literals of its callers
        match verdict(facts):
            case Verdict.DETACH:
                self._outcome = self._outcome or Left(by_us=True)
            case Verdict.STOP:
                self._stop()
            case Verdict.ASK:
                self._ask()

    def _resize(self) -> None:
        size = window(1, 0)
        if self._plan.raw and not self._plan.looks and size is not None and self._attachment.live:
            body = {"run": self._attachment.run, "rows": size[0], "cols": size[1]}
            self._client.tell("resize", body, session=self._attachment.session)

    def _ask(self) -> None:
        seconds = int(time.monotonic() - self._started)
        self._question = Question.open(self._plan.address, self._plan.title, seconds)
        if self._question is None:  # nobody can answer
            self._stop()

    def _answer(self) -> None:
        assert self._question is not None
        answer = self._question.answer()
        if answer is None:
            return
        self._close_question()
        if answer == "detach":
            self._outcome = self._outcome or Left(by_us=True)
        elif answer == "stop":
            self._stop()

    def _close_question(self) -> None:
        if self._question is not None:
            self._question.close()
            self._question = None

    def _stop(self) -> None:
        """Stop the run in order; again: at once; and again: leave."""
        self._close_question()
        self._stops += 1
        self._stop_asked = None
        if self._stops > 2:
            self._outcome = self._outcome or Left(by_us=True)
        self._send_stop()

    def _send_stop(self) -> None:
        if not self._stops or self._stop_asked is not None or self._lost_at is not None:
            return
        body: dict[str, object] = {"run": self._attachment.run, "actor": actor()}
        if self._plan.grace_ms is not None:
            body["grace_ms"] = self._plan.grace_ms
        if self._stops > 1:
            body |= {"signal": int(signal.SIGKILL), "grace_ms": 0}
        self._stop_asked = self._client.ask("stop_run", body, session=self._attachment.session)
