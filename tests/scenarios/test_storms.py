"""Scenarios 1 to 9: what a boot brings back, and what it leaves."""

import json
import os
import signal
import time
from typing import Any

import anyio

from eukhed.supervisor.records import Record, replace_whole
from eukhed.timing import SECOND, WallMs
from tests.fakes.clock import START_WALL_MS
from tests.real.home import Home, gone, until
from tests.scenarios.scene import (
    HOUR_MS,
    alive,
    command,
    crash,
    evidence,
    hasty,
    logged,
    now_ms,
    record,
    records,
    stamp,
    stored,
    supervisors,
)
from tests.supervisor.simulated import BUILD, World, simulate

BOOT_OF_MANY = 500


def asleep_after_boot(home: Home, why: str) -> None:
    """The next daemon leaves the one busy session alone, says why, and changes nothing of it."""
    before = stored(home)
    home.ok("start")
    until(lambda: f"is not revived: {why}" in logged(home), what="the boot to decide")
    assert home.json("ps") == []
    assert stored(home) == before
    (run,) = home.json("runs")
    assert (run["state"], run["unattended"]) == ("running", True)


def test_01_a_boot_hours_after_a_crash_relaunches_nothing_old(home: Home) -> None:
    work = command(home)
    crash(home)
    stamp(home, now_ms() - 3 * HOUR_MS)
    asleep_after_boot(home, "stale")
    home.kill(home.supervisor())
    home.ok("start")
    assert home.json("ps") == [], "nor does the one after it"
    assert alive(work.pid)
    home.shut_down()
    gone(work.pid)


def test_02_a_session_that_was_given_up_stays_so_over_every_boot(home: Home) -> None:
    hasty(home, "0.1")
    home.ok("run", "--", "true")
    kills, dead = 0, 0

    def next_worker() -> dict[str, Any]:
        (row,) = home.json("ps")
        return row if row["state"] == "gave up" or row["pid"] not in {None, dead} else {}

    while (row := until(next_worker, what="the next worker, or the last word"))["state"] != "gave up":
        dead, kills = row["pid"], kills + 1
        home.kill(dead)
        assert kills <= 6
    assert row["restarts"] == 6
    assert evidence(home)[-1]["operation"] == "worker_gave_up"
    assert evidence(home)[-1]["busy"] is False
    for _ in range(2):
        (before,) = (path.read_bytes() for path in records(home))
        home.kill(home.supervisor())
        home.ok("start")
        until(lambda: home.json("ps")[0]["state"] == "gave up", what="the boot to know it")
        assert (home.json("ps")[0]["pid"], record(home)["lifecycle"]) == (None, "failed")
        assert [path.read_bytes() for path in records(home)] == [before]
    home.ok("reopen", "shop")
    assert home.ok("run", "-T", "--", "echo", "again") == "again\n"
    home.shut_down()


def test_03_a_session_that_was_stopped_on_purpose_stays_stopped(home: Home) -> None:
    work = command(home)
    home.ok("stop", "shop", "--force", "--yes")
    gone(work.pid)
    assert records(home) == {}, "nothing is left that a boot could take for work"
    assert "its worker failed" not in logged(home), "and nobody takes the stop for a failure"
    home.kill(home.supervisor())
    home.ok("start")
    assert home.json("ps") == []
    (run,) = home.json("runs")
    assert run["state"] == "stopped"
    home.shut_down()


def test_04_a_stamp_in_the_far_future_is_no_evidence(home: Home) -> None:
    work = command(home)
    crash(home)
    stamp(home, now_ms() + 24 * HOUR_MS)
    asleep_after_boot(home, "future")
    assert evidence(home)[-1]["busy"], "it is left for a boot whose clock agrees with it"
    assert alive(work.pid)
    home.ok("run", "-T", "--", "true")
    worker = home.worker()
    assert len(records(home)) == 1, "who opens it takes up what was left"
    home.kill(home.supervisor())
    home.ok("start")
    until(lambda: home.workers() == {"shop": worker}, what="its worker to be adopted")
    home.shut_down()
    assert records(home) == {}, "what was ended is for no later boot to bring back"


def test_05_the_next_supervisor_watches_the_worker_that_lives_not_one_from_before(home: Home) -> None:
    work = command(home)
    before = home.worker()
    home.kill(before)
    worker = until(
        lambda: home.workers().get("shop") not in {None, before} and home.worker(), what="the next"
    )
    for _ in range(2):
        home.kill(home.supervisor())
        home.ok("start")
        until(lambda: home.json("ps")[0]["adopted"], what="the worker to be adopted")
        (row,) = home.json("ps")
        assert (row["pid"], row["restarts"], row["state"]) == (worker, 0, "busy")
    assert alive(work.pid)
    said = logged(home).count("its worker failed")
    assert said == 1, "one exit was a failure, and only one"
    home.shut_down()


def test_07_a_run_that_is_older_than_the_evidence_may_be_is_revived(home: Home) -> None:
    """Evidence is refreshed while the run lasts: at this scale it may be 2.3 s old, and the run is older."""
    hasty(home, "0.0012")
    work = command(home)
    first = evidence(home)[0]["recordedAt"]
    until(lambda: evidence(home)[-1]["recordedAt"] > first + 2_300, what="the run to be older than that")
    worker = home.worker()
    crash(home)
    stamp(
        home, max(evidence(home)[-1]["recordedAt"], now_ms() - 1_000)
    )  # however long this machine takes to boot
    home.ok("start")
    until(lambda: home.workers().get("shop") not in {None, worker}, what="the session to be revived")
    assert "is not revived" not in logged(home)
    until(lambda: not home.json("runs")[0]["unattended"], what="its run to be followed")
    assert alive(work.pid)
    home.shut_down()


def leave_busy(world: World, session: str) -> None:
    """A worker that died as it worked, a moment ago."""
    identity, life = world.table.start("before")
    life.cut()
    worker, places = session, world.places
    left = Record(
        worker, session, "instance", "token", places.worker_socket(worker),
        places.worker_descriptors_socket(worker), places.recovery_journal(worker), places.socket, BUILD,
        WallMs(START_WALL_MS), WallMs(START_WALL_MS), "ready", identity,
    )  # fmt: skip
    line = {"session": session, "busy": True, "operation": "run", "recordedAt": START_WALL_MS}
    for path in ("/root/workers", places.workers):
        if world.files.stat(path) is None:
            world.files.make_directory(path)
    replace_whole(world.files, places.worker_record(worker), left.to_text().encode())
    replace_whole(world.files, places.recovery_journal(worker), json.dumps(line).encode())


def test_08_a_boot_of_500_sessions_greets_its_first_client_at_once() -> None:
    """On virtual time: each launch takes a second, a few are under way at once, and a client does not wait."""
    world = World()
    under_way, most = 0, 0
    spawn = world.spawn

    async def slow_spawn(spec: object) -> object:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await world.clock.sleep_ms(SECOND)
        under_way -= 1
        return await spawn(spec)  # type: ignore[arg-type]  # a spec, passed on

    world.spawn = slow_spawn  # type: ignore[method-assign,assignment]  # the machine is slow
    sessions = [world.session(number) for number in range(BOOT_OF_MANY)]
    for session in sessions:
        leave_busy(world, session)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            began = world.clock.monotonic_ms()
            await world.supervise(tasks)
            talk = await world.talk()
            status = await talk.ask("status")
            assert world.clock.monotonic_ms() - began <= SECOND
            assert status["running"]
            rows = (await talk.ask("ps"))["workers"]
            assert len(rows) == BOOT_OF_MANY, "those that are not decided are listed"
            while sum(len(world.lives[session]) for session in sessions) < BOOT_OF_MANY:
                await world.clock.sleep_ms(SECOND)
                await talk.ask("status")
            tasks.cancel_scope.cancel()
        world.signals.close()
        world.unheard.close()

    simulate(main)
    assert most > 1, "they were started side by side"


def test_09_one_wedged_worker_holds_up_nobody_else(home: Home) -> None:
    work = command(home)
    wedged = home.worker()
    os.kill(wedged, signal.SIGSTOP)
    home.kill(home.supervisor())
    began = time.monotonic()
    home.ok("start")
    other = home.base / "other"
    other.mkdir()
    assert home.ok("run", "-T", "--", "echo", "served", cwd=other) == "served\n"
    assert time.monotonic() - began < 15, "half of what the wedged one has to answer"
    assert home.json("runs", "--all")[-1]["state"] == "running"
    os.kill(wedged, signal.SIGCONT)
    until(lambda: home.workers().get("shop") == wedged, what="the late one to be adopted")
    assert (len(supervisors(home)), alive(work.pid)) == (1, True)
    home.shut_down()
