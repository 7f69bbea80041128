"""One attempt at a run of a bundle: from its guards to what the program came to.

A worker that dies leaves an attempt; the next one makes another, from the journal: the program is run from its
beginning, calls that were answered get their stored answers, and it goes on where the journal ends. What can
stop a program stops it here, by not answering it and ending its process: no program can catch that.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar, cast, get_args

from eukhed.bundles.manifest import Guard
from eukhed.host.seam import Host
from eukhed.worker.programs import doors, engine_law, fuel_law, replay_law, values
from eukhed.worker.programs.calls import MOST, Answer, Began, Fault
from eukhed.worker.programs.doors import Means
from eukhed.worker.programs.engine_law import Happened
from eukhed.worker.programs.fuel_law import Fuel, Used
from eukhed.worker.programs.inside.prelude import PRELUDE
from eukhed.worker.programs.journal import Journal
from eukhed.worker.programs.outlet import Outlet
from eukhed.worker.programs.programs import Program
from eukhed.worker.programs.questions import Question, Questions
from eukhed.worker.programs.replay_law import Call, CallName, Verdict
from eukhed.worker.programs.values import BadValue

T = TypeVar("T")

MEMORY: Final = 256 << 20  # bytes that a program may hold
STACK: Final = 1 << 20
ADDRESS_SPACE: Final = 768 << 20  # of its process, the interpreter included
CPU_SLACK_S: Final = 60
OF_PROGRAM: Final = frozenset(get_args(CallName)) - {"judgement", "fallback"}
WORDS: Final = {
    "calls": "it made {calls} calls, which is all that a run may make",
    "tokens": "it used {used} tokens, and may use {tokens}",
    "time": "its time was over",
}


class Outcome(NamedTuple):
    """What an attempt came to."""

    happened: Happened
    output: str | None = None  # JSON
    why: str = ""  # in a person's words, unless it returned


class _Stop(Exception):
    def __init__(self, happened: Happened, why: str) -> None:
        super().__init__(why)
        self.outcome = Outcome(happened, None, why)


class Attempt:
    """One attempt. `given` is the run's input."""

    def __init__(
        self,
        host: Host,
        journal: Journal,
        means: Means,
        questions: Questions,
        outlet: Outlet,
        fuel: Fuel,
        given: str,
    ) -> None:
        self._host = host
        self._journal = journal
        self._means = means
        self._questions = questions
        self._outlet = outlet
        self._fuel = fuel
        self._given = given
        self._made = 0  # calls of this attempt
        self._elapsed_ms = (
            journal.elapsed_ms
        )  # of the calls that were answered before it, and of what it did itself

    @property
    def has_fallback(self) -> bool:
        """Whether the manifest names an engine that takes over."""
        return bool(self._means.bundle.manifest.fallback)

    async def run(self) -> Outcome:
        """Go through it. Cancelled, it leaves no process behind, and the journal as it is.

        Raises:
            EukhedError: the program could not be started.
        """
        try:
            await self._guard()
            output = await self._program()
            schema = self._means.bundle.manifest.output
            fault = None
            if schema is not None:
                fault = await self._means.programs.checked(schema, [json.loads(output)])
        except _Stop as stop:
            return stop.outcome
        if fault is not None:
            return Outcome(Happened.MISFORMED, None, f"its output is not of its schema: {fault}")
        return Outcome(Happened.RETURNED, output)

    async def fall_back(self, reason: str) -> Outcome:
        """Let the engine that the manifest names take over, after what the attempt came to."""
        means = self._means
        name = means.bundle.manifest.fallback
        calls = self._journal.asked.items()
        self._made = max((number for number, call in calls if call.name != "fallback"), default=0)
        helper = means.settings.engines.get(name)
        call = Call("fallback", name, reason)
        why = f"{reason}; and {name}, which takes over: "
        try:
            answer = await self._call(
                call,
                lambda _: doors.fallback(means, name, json.loads(self._given), reason),
                repeatable=helper is not None and helper.repeatable,
            )
            if answer.error is not None:
                return Outcome(Happened.THREW, None, why + answer.error.message)
            output = answer.output or "null"
            schema = means.bundle.manifest.output
            if schema is not None and (fault := await means.programs.checked(schema, [json.loads(output)])):
                return Outcome(Happened.MISFORMED, None, f"{why}its output is not of the schema: {fault}")
        except _Stop as stop:
            return stop.outcome
        return Outcome(Happened.RETURNED, output)

    # guards

    async def _guard(self) -> None:
        guards = self._means.bundle.manifest.guards
        first = self._journal.began is None
        for at in engine_law.in_turn([guard.kind for guard in guards]):
            guard = guards[at]
            if guard.kind == "judgement":
                await self._begin()
                why = await self._judged(guard)
            else:
                why = await self._free(guard) if first else None  # they held when the run began
            if why is not None:
                raise _Stop(Happened.GUARDED, guard.because or why)
        await self._begin()

    async def _begin(self) -> None:
        if self._journal.began is None:
            first, second, third, fourth = (secrets.randbits(32) for _ in range(4))
            await self._journal.begin(Began(self._host.clock.wall_ms(), (first, second, third, fourth)))

    async def _free(self, guard: Guard) -> str | None:
        means = self._means
        match guard.kind:
            case "file":
                path = guard.file if guard.file.startswith("/") else f"{means.cwd}/{guard.file}"
                there = await self._host.off_loop(lambda: self._host.files.stat(path))
                return None if there is not None else f"there is no {guard.file} in {means.cwd}"
            case "tool":
                return None if guard.tool in means.settings.tools else f"there is no tool {guard.tool!r}"
            case _:
                given = json.loads(self._given)
                value = given.get(guard.field) if isinstance(given, dict) else None
                if value is None:
                    return f"the input has no {guard.field}"
                text = value if isinstance(value, str) else json.dumps(value)
                fault = await means.programs.checked({"type": "string", "pattern": guard.pattern}, [text])
                return None if fault is None else f"{guard.field} of the input does not match {guard.pattern}"

    async def _judged(self, guard: Guard) -> str | None:
        call = Call("judgement", "", guard.question)
        given = json.loads(self._given)
        answer = await self._call(call, lambda _: doors.judgement(self._means, guard.question, given))
        if answer.error is not None:
            return f"whether it may run could not be judged: {answer.error.message}"
        told = json.loads(answer.output or "null")
        return None if told["pass"] else str(told.get("because") or guard.question)

    # the program

    async def _program(self) -> str:
        """Run it; its output."""
        began = self._journal.began
        assert began is not None
        plan = {
            "program": self._means.bundle.program, "input": self._given, "now": began.at, "seed": list(began.seed),
            "prelude": PRELUDE, "memory": MEMORY, "stack": STACK, "address_space": ADDRESS_SPACE,
            "cpu_s": fuel_law.deadline_ms(self._fuel, 0) // 1000 + CPU_SLACK_S, "most": MOST,
            "parent": self._host.processes.own().pid,
        }  # fmt: skip
        async with self._means.programs.program(plan) as program:
            while True:
                told = await self._within(program.receive)
                if told is None:
                    raise _Stop(Happened.DIED, "its process ended without a word")
                if "call" not in told:
                    return self._returned(told)
                await self._serve(program, told)

    def _returned(self, told: Mapping[str, Any]) -> str:
        left = replay_law.unrepeated(self._journal.asked, self._made)
        if left is not None:
            raise _Stop(Happened.DIFFERED, _differs(left))
        match told.get("state"):
            case "finished" if isinstance(told.get("output"), str):
                return str(told["output"])
            case "pending":
                raise _Stop(Happened.PENDING, "it returned a promise that nothing settles")
            case _:
                error = told.get("error")
                error = error if isinstance(error, dict) else {}
                name, message = str(error.get("name") or ""), str(error.get("message"))
                raise _Stop(Happened.THREW, f"it threw {name}: {message}" if name else f"it threw {message}")

    async def _serve(self, program: Program, told: Mapping[str, Any]) -> None:
        name, text = str(told.get("call")), str(told.get("told"))
        if name not in OF_PROGRAM:
            raise _Stop(Happened.DIED, "its process spoke out of turn")
        try:
            parts = values.read(text, "the program")
        except BadValue as error:
            raise _Stop(Happened.THREW, str(error)) from error
        if not isinstance(parts, dict):
            raise _Stop(Happened.DIED, "its process spoke out of turn")
        ref = str(parts.get("ref") or parts.get("name") or "")
        helper = self._means.settings.tools.get(ref)
        call = Call(cast("CallName", name), ref, text)
        answer = await self._call(
            call,
            lambda again: self._make(call, parts, again=again),
            repeatable=helper is not None and helper.repeatable,
        )
        told_back: dict[str, Any] = {}
        if answer.error is not None:
            told_back["error"] = answer.error._asdict()
        elif answer.output is not None:
            told_back["output"] = answer.output
        await program.answer(told_back)

    async def _make(self, call: Call, parts: Mapping[str, Any], *, again: bool) -> Answer:
        means, number = self._means, self._made
        match call.name:
            case "ai":
                return await doors.ai(means, parts)
            case "tool":
                return await doors.tool(means, parts)
            case "remember":
                return await doors.remember(means, parts, self._journal.asked_at[number] if again else None)
            case "recall":
                return await doors.recall(means, parts)
            case "ask":
                options = parts.get("options")
                choices = tuple(options) if isinstance(options, list) else ()
                question = Question(number, str(parts.get("question")), choices, parts.get("default"))
                return Answer(json.dumps(await self._questions.put(question)))
            case _:
                return Answer()  # a log is made by the commit of its answer

    # calls

    async def _call(
        self, call: Call, make: Callable[[bool], Awaitable[Answer]], *, repeatable: bool = False
    ) -> Answer:
        """Make the next call, or have its stored answer.

        Raises:
            _Stop: there is no fuel for it, or it is not the call that the journal has.
        """
        journal, number = self._journal, self._made + 1
        verdict = replay_law.verdict(journal.asked, journal.answers, number, call, repeatable=repeatable)
        if verdict is Verdict.DIFFERS:
            raise _Stop(Happened.DIFFERED, _differs(number))
        if verdict is Verdict.STORED:
            self._made = number
            return journal.answers[number]
        if verdict is Verdict.FIRST:
            self._afford()
            await journal.ask(number, call)
        self._made = number
        if verdict is Verdict.UNCERTAIN:
            what = f"{call.ref} may have been started before the crash, and must not be started twice"
            answer = Answer(error=Fault("uncertain", what))
        else:
            answer = await self._timed(call, lambda: make(verdict is not Verdict.FIRST))
        await self._keep(number, call, answer)
        return answer

    async def _timed(self, call: Call, make: Callable[[], Awaitable[Answer]]) -> Answer:
        """Make a call within what is left of the run's time; a person has all the time that they want."""
        began_ms = self._host.clock.monotonic_ms()
        answer = await (make() if call.name == "ask" else self._within(make))
        return answer._replace(elapsed_ms=self._host.clock.monotonic_ms() - began_ms)

    async def _keep(self, number: int, call: Call, answer: Answer) -> None:
        if call.name == "log":
            told = await self._outlet.write("err", str(json.loads(call.told).get("text")) + "\n")
            await self._journal.answer(number, answer, told, self._outlet.name("err"))
            self._outlet.grown("err", told)
        else:
            await self._journal.answer(number, answer)
        if call.name == "ask":
            self._questions.settle()

    # fuel

    def _used(self) -> Used:
        return Used(self._made, self._journal.spend.tokens, self._elapsed_ms)

    def _afford(self) -> None:
        used = self._used()
        gone = fuel_law.ran_out(self._fuel, used)
        if gone is not None:
            words = WORDS[gone].format(calls=self._fuel.calls, tokens=self._fuel.tokens, used=used.tokens)
            raise _Stop(Happened.RAN_OUT, words)

    async def _within(self, what: Callable[[], Awaitable[T]]) -> T:
        """Do it within what is left of the run's time, and count it."""
        clock = self._host.clock
        began_ms = clock.monotonic_ms()
        done = False
        with clock.limit(fuel_law.left_ms(self._fuel, self._used())):
            found = await what()
            done = True
        self._elapsed_ms += clock.monotonic_ms() - began_ms
        if not done:
            raise _Stop(Happened.RAN_OUT, WORDS["time"])
        return found


def _differs(number: int) -> str:
    return f"the program did not repeat itself at call {number}"
