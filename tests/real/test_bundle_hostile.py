"""Programs of bundles that do what they should not: each ends as it has to, within its bounds, and the worker lives."""

import time
from collections.abc import Iterator

import pytest

from tests.real.bundles import Bundles
from tests.real.home import scratch_home

pytestmark = pytest.mark.real

PROGRAMS = {
    "huge": ("const a = []; for (;;) a.push(new Array(1 << 20).fill(1))", "out of memory"),
    "huge-at-once": ("new Uint8Array(10 * 2 ** 30)", "RangeError"),
    "string": ("let s = 'x'; for (;;) s += s", "too long"),
    "deep": ("function f() { return f() + 1 }\nf()", "call stack"),
    "deep-json": ("JSON.parse('['.repeat(1e6))", "call stack"),
    "non-error": ("throw 42", "it threw 42"),
    "null": ("throw null", "it threw null"),
    "hostile": ("throw { get name() { throw 1 }, toString() { throw 2 } }", "cannot be shown"),
    "syntax": ("this is no script (", "SyntaxError"),
    "never": ("function run() { return new Promise(() => {}) }", "nothing settles"),
    "rejects": ("async function run() { throw new Error('later') }", "later"),
    "inline": ("ai('Please summarise this', {})", "UnknownPrompt"),
    "off-list": ("tool('rm', {})", "NotAllowed"),
    "not-there": ("tool('unheard', {})", "NotConfigured"),
    "many-calls": ("for (let n = 0; ; n++) try { log(String(n)) } catch (_) {}", "500 calls"),
    "too-large": ("'x'.repeat(2 << 20)", "too large"),
    "circular": ("const o = {}; o.o = o; o", "circular"),
    "to-json": ("Object.prototype.toJSON = () => { throw 1 }; ({})", "it threw 1"),
}


@pytest.fixture(scope="module")
def bundles() -> Iterator[Bundles]:
    with scratch_home() as home:
        made = Bundles(home)
        made.with_helpers()
        for name, (program, _) in PROGRAMS.items():
            made.mint(name, program, {"ask.md": "x"}, whitelist=["unheard"])
        yield made


@pytest.mark.parametrize("name", PROGRAMS)
def test_ends_incomplete_and_the_worker_lives(bundles: Bundles, name: str) -> None:
    ran = bundles.run(name)
    assert (ran.exit, ran.out) == (2, "")
    assert PROGRAMS[name][1] in ran.err, ran.err
    assert bundles.run("example-words", given={"text": "a"}).exit == 0
    workers = {pid for name, pid in bundles.home.workers().items() if name == "shop"}
    seen = bundles.home.json("ps")
    assert len(workers) == 1
    assert [row["restarts"] for row in seen] == [0]


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("loop", "for (;;) ;"),
        ("loop-caught", "for (;;) try { for (;;) ; } catch (_) {}"),
        ("loop-promise", "const f = () => Promise.resolve().then(f); f()"),
        ("loop-regexp", "/(a+)+$/.test('a'.repeat(50) + 'b')"),
        ("loop-calls", "for (;;) try { recall('') } finally { continue }"),
    ],
)
def test_a_program_that_goes_on_is_ended_by_the_clock(bundles: Bundles, name: str, program: str) -> None:
    bundles.mint(name, program, deadline_floor=10**9)
    began = time.monotonic()
    ran = bundles.run(name)
    assert (ran.exit, ran.out) == (2, "")
    assert "time was over" in ran.err or "500 calls" in ran.err
    assert time.monotonic() - began < 20
    left = [line for line in bundles.home.processes().values() if "_quickjs" in line]
    assert left == []


def test_what_a_program_can_reach(bundles: Bundles) -> None:
    """No file, no network, no clock of its own, and no way to see that it was run again."""
    bundles.mint(
        "reach",
        "[typeof std, typeof os, typeof require, typeof fetch, typeof process, typeof performance, typeof Atomics,"
        " typeof WeakRef, Date.now() === new Date().getTime(), new Date().getTimezoneOffset(), typeof _door]",
    )
    ran = bundles.run("reach")
    assert ran.output == [*["undefined"] * 8, True, 0, "undefined"], ran.err


def test_a_call_after_the_fuel_is_gone_is_not_made(bundles: Bundles) -> None:
    bundles.mint("thirsty", "try { for (;;) ai('ask.md', 1) } catch (_) { log('caught') }", {"ask.md": "x"})
    before = len(bundles.asked())
    ran = bundles.run("thirsty", "--tokens", "25")
    assert ran.exit == 2
    assert "30 tokens, and may use 25" in ran.err
    assert "caught" not in ran.err
    assert len(bundles.asked()) - before == 3
