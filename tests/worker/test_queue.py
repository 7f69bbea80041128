"""Runs that wait, in a whole worker on virtual time; and the worker cut before each of its effects."""

from typing import Any

import anyio
import pytest

from eukhed.errors import ConnectionLost, Invalid, NotFound
from tests.fakes.clock import run
from tests.fakes.holders import Console
from tests.fakes.life import Life
from tests.worker import standing
from tests.worker.standing import Machine, Seat, story

PAUSES_MS = [250, 500, 1000, 2000, 4000]


async def _fails(console: Console) -> int:
    await console.write("out", b"no\n")
    return 1


async def _reads(console: Console) -> int:
    while data := await console.read():
        await console.write("out", data)
    return 0


async def _stays(console: Console) -> int:
    await console.sleep_ms(3000)
    return 0


@pytest.fixture(autouse=True)
def behaviours(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {b"fail": _fails, b"read": _reads, b"stay": _stays}
    monkeypatch.setattr(standing, "BEHAVIOURS", standing.BEHAVIOURS | more)


def body(name: str, does: str = "stay", **more: Any) -> dict[str, Any]:
    """`name` is this run's alone."""
    return {
        "argv": [name.encode(), does.encode()], "cwd": b"/", "env": {b"A": b"1"}, "umask": 18, "limits": [], "nice": 0,
        "tty": False, "stdin": "none", "survive": True, "detach": True,
    } | more  # fmt: skip


def command(name: str) -> str:
    return f"01900000-0000-7000-8000-{int.from_bytes(name.encode()):012d}"


async def submit(seat: Seat, name: str, does: str = "stay", **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = await seat.ask("run", body(name, does, **more), command_id=command(name))
    return told


async def over(seat: Seat, *runs: dict[str, Any]) -> list[str]:
    asked = [seat.send("wait", {"run": one["run"]}) for one in runs]
    return [(await seat.answer(one))["state"] for one in asked]


def starts(machine: Machine) -> list[str]:
    return [argv[0].decode() for argv in machine.holders.starts]


def test_the_queue_goes_in_order_and_says_so() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        a = await submit(seat, "a")
        b = await submit(seat, "b", queue=True)
        c = await submit(seat, "c", "print", queue=True)
        d = await submit(seat, "d", after=[b["run"]])
        assert "waits" not in a
        assert (b["state"], b["waits"]["place"], b["waiting_for"]) == ("queued", 1, [a["address"]])
        assert (c["waits"]["place"], c["waiting_for"]) == (2, [a["address"], b["address"]])
        assert [one["command"] for one in c["waits"]["for"]] == ["a stay", "b stay"]
        work = {item["run"]: item["kind"] for item in seat.told("work", 0)[-1]["work"]}
        assert work == {a["run"]: "run", b["run"]: "input", c["run"]: "input", d["run"]: "input"}
        assert machine.holders.gated() == 0
        began = machine.clock.monotonic_ms()
        assert await over(seat, a, b, c, d) == ["done", "done", "failed", "done"]
        assert starts(machine) in (["a", "b", "c", "d"], ["a", "b", "d", "c"])
        assert 9000 <= machine.clock.monotonic_ms() - began < 9500
        assert seat.told("work", 0)[-1]["work"] == []

    run(story(tell))


def test_a_failure_goes_down_the_chain() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        a = await submit(seat, "a", "print")
        b = await submit(seat, "b", after=[a["run"]])
        c = await submit(seat, "c", after=[b["run"]])
        d = await submit(seat, "d", after_any=[b["run"]])
        assert await over(seat, a, b, c, d) == ["failed", "stopped", "stopped", "done"]
        told = await seat.ask("run_record", {"run": c["run"]})
        assert (told["error"], told["stopped_by"]) == (f"{b['address']} failed", "the queue")
        late = await submit(seat, "e", after=[a["run"]])
        assert (late["state"], late["error"]) == ("stopped", f"{a['address']} failed")
        with pytest.raises(NotFound, match="no run 99"):
            await submit(seat, "f", after=[99])
        assert starts(machine) == ["a", "d"]

    run(story(tell))


@pytest.mark.parametrize("how", ["withdraw", "stop_run"])
def test_taken_back(how: str) -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        a = await submit(seat, "a")
        b = await submit(seat, "b", "read", queue=True, stdin="typed")
        c = await submit(seat, "c", queue=True)
        told = await seat.ask(how, {"run": b["run"], "actor": "you"})
        assert (told["state"], told["stopped_by"]) == ("stopped", "you")
        assert told["error"] == ("withdrawn" if how == "withdraw" else None)
        assert await over(seat, a, c) == ["done", "done"]
        assert starts(machine) == ["a", "c"]
        for one, state in ((a, "done"), (b, "stopped")):
            with pytest.raises(Invalid, match=f"does not wait, it is {state}"):
                await seat.ask("withdraw", {"run": one["run"], "actor": "you"})

    run(story(tell))


def test_a_key_is_one_run_s() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        asked = [seat.send("run", body(name, once="k"), command_id=command(name)) for name in "abc"]
        told = [await seat.answer(one) for one in asked]
        assert len({one["run"] for one in told}) == 1
        assert [one.get("once") for one in told].count("k") == 2
        seat.life.cut()
        seat = await machine.worker()
        again = await submit(seat, "d", once="k")
        assert (again["run"], again["once"]) == (told[0]["run"], "k")
        await over(seat, told[0])
        assert (await submit(seat, "e", once="k"))["run"] != told[0]["run"]
        assert len(starts(machine)) == 2

    run(story(tell))


def test_tries_double_their_pause_and_hold_their_key() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        first = last = await submit(seat, "a", "fail", retry={"count": 5}, once="k", label="l")
        pauses = []
        while (told := (await seat.ask("next_try", {"run": last["run"]}))["next"]) is not None:
            before = await seat.ask("run_record", {"run": last["run"]})
            await over(seat, told)
            after = await seat.ask("run_record", {"run": told["run"]})
            assert (after["again"], after["label"]) == (before["run"], "l")
            pauses.append(after["started_at"] - before["ended_at"])
            last = after
        assert pauses == PAUSES_MS
        assert (await submit(seat, "b", once="k")).get("once") is None, "the key is free after the last try"
        assert starts(machine) == ["a"] * 6 + ["b"]
        assert first["run"] != last["run"]

    run(story(tell))


def test_a_pause_holds_the_key_and_no_place() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        a = await submit(seat, "a", "fail", retry={"count": 1}, once="k")
        await over(seat, a)
        assert seat.told("work", 0)[-1]["work"][0]["kind"] == "admitted"
        b = await submit(seat, "b", queue=True)
        assert b["state"] == "running"
        assert (await submit(seat, "c", once="k"))["run"] == a["run"]
        told = (await seat.ask("next_try", {"run": a["run"]}))["next"]
        assert await over(seat, told, b) == ["failed", "done"]
        assert starts(machine) == ["a", "b", "a"]

    run(story(tell))


def test_a_queue_is_left_and_taken_up_and_ended_by_force() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        a = await submit(seat, "a", "sleep")
        b = await submit(seat, "b", "read", queue=True, stdin="typed")
        c = await submit(seat, "c", queue=True)
        d = await submit(seat, "d", "fail", retry={"count": 9})
        await over(seat, d)
        await seat.ask("leave", {"mode": "lost", "actor": "x"}, client=0)
        while seat.life.alive:
            await machine.clock.sleep_ms(100)
        seat = await machine.worker()
        states = {one["run"]: one["state"] for one in (await seat.ask("runs"))["runs"]}
        assert states == {a["run"]: "running", b["run"]: "queued", c["run"]: "queued"}
        await seat.ask("leave", {"mode": "force", "actor": "me"}, client=0)
        while seat.life.alive:
            await machine.clock.sleep_ms(100)
        seat = await machine.worker()
        assert (await seat.ask("runs"))["runs"] == []
        ended = [await seat.ask("run_record", {"run": one["run"]}) for one in (a, b, c)]
        assert [(one["state"], one["stopped_by"]) for one in ended] == [("stopped", "me")] * 3
        await machine.clock.sleep_ms(60_000)
        assert starts(machine).count("d") == 1, "a pause ends by force too"

    run(story(tell))


NAMES = "abcd"
LONG_MS = 1_200_000  # virtual: the machine begins at 1,000,000, and a history takes 9 seconds


async def see_through(machine: Machine, count: int) -> tuple[int, dict[str, str], list[str]]:
    """Four runs that queue, the worker cut before its effect of this number: effects, ends, errors."""
    effects, done = 0, False
    told: dict[str, Any] = {}

    def on_effect(life: Life) -> None:
        nonlocal effects, done
        if life.name == "worker":
            effects += 1
            if effects == count and not done:
                done = True
                life.cut()

    start, scopes = machine.table.start, [anyio.CancelScope()]

    async def worker() -> Seat:
        """A worker that is ready; another one if it died on the way."""
        while True:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                return await machine.worker()

    def started(name: str, **more: Any) -> Any:
        identity, life = start(name, **more)
        life.on_effect = on_effect
        life.at_end(scopes[-1].cancel)
        return identity, life

    machine.table.start = started  # type: ignore[method-assign] # every process from here on is watched
    while len(told) < len(NAMES):
        seat = await worker()
        try:
            for name in NAMES:
                if name not in told:
                    more = {"stdin": "typed"} if name == "c" else {}
                    asked = body(name, "read" if name == "c" else "stay", queue=True, **more)
                    told[name] = await within(machine, seat, "run", asked, command(name))
                    if name == "c":
                        seat.send("input", {"run": told[name]["run"], "data": b"in", "eof": True})
        except ConnectionLost:
            continue
    ends: dict[str, str] = {}
    errors = []
    while len(ends) < len(NAMES):
        if not seat.life.alive:
            seat = await worker()
        try:
            if "c" not in ends:
                seat.send("input", {"run": told["c"]["run"], "data": b"in", "eof": True})
            for name in NAMES:
                found = await within(machine, seat, "wait", {"run": told[name]["run"]})
                ends[name] = found["state"]
                errors.append(found["error"])
        except ConnectionLost:
            continue
    return effects, ends, errors


async def within(machine: Machine, seat: Seat, kind: str, asked: Any, name: str | None = None) -> Any:
    """Ask; ConnectionLost when the worker dies over it. Input that nobody took yet is given again."""
    more: dict[str, Any] = {} if name is None else {"command_id": name}
    sent = seat.send(kind, asked, **more)
    while sent not in seat.answers:
        if not seat.life.alive:
            raise ConnectionLost("the worker died")
        for refused in seat.told("input_refused"):
            seat.send("input", {"run": refused["run"], "data": b"in", "eof": True})
        seat.events.clear()
        assert machine.clock.monotonic_ms() < LONG_MS, f"{kind} {asked} is never answered"
        await machine.clock.sleep_ms(50)
    return await seat.answer(sent)


def cut_at(count: int) -> tuple[int, dict[str, str], list[str], list[str]]:
    found: list[Any] = []

    async def tell(machine: Machine) -> None:
        found.extend(await see_through(machine, count))
        found.append(starts(machine))

    run(story(tell))
    return found[0], found[1], found[2], found[3]


@pytest.mark.parametrize("every", [17, pytest.param(1, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_a_worker_that_is_cut_anywhere_keeps_the_queue(every: int) -> None:
    """queue_starts_in_turn, over a cut of the worker before each of its effects (some of them, in short).

    Each run starts once at most and in its turn; one that did not start is told lost by its holder.
    """
    effects, ends, _, began = cut_at(0)
    assert (list(ends.values()), began) == (["done"] * 4, list(NAMES))
    assert effects > 100
    kept, counts = 0, range(1, effects + 1, every)
    for count in counts:
        _, ends, errors, began = cut_at(count)
        assert began == sorted(set(began)), (count, began)
        for name, state in ends.items():
            if state != "done":
                assert (state, name in began) == ("lost", False), (count, ends, errors, began)
        kept += list(ends.values()) == ["done"] * 4
    assert kept > len(counts) * 0.8
