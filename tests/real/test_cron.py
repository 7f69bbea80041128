"""Scheduled jobs on real processes: they fire once whatever dies, wake who is asleep, and cost nothing while idle.

Rules about seconds and minutes are scaled (EUKHED_TIMING_SCALE): an interval may be one second.
"""

import json
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from eukhed.client.ids import command_id
from eukhed.cron import actions, schedule
from eukhed.cron.jobs import Catalog, Dispatch, Job, request_id
from eukhed.cron.manner import environment_path
from eukhed.cron.store import CronStore
from eukhed.host import system_host
from eukhed.host.files import SystemFiles
from eukhed.host.seam import Identity
from eukhed.paths import Places
from eukhed.storage.reading import read_records
from eukhed.timing import WallMs
from tests.real.home import Home, scratch_home, until

pytestmark = pytest.mark.timeout(180)
QUICK = 0.1  # an interval of one second is allowed
KILLS_S = 60 if os.environ.get("EUKHED_PROFILE") == "long" else 12


@pytest.fixture
def quick() -> Iterator[Home]:
    with scratch_home(QUICK) as one:
        yield one


# what stands on the disk


def places(home: Home) -> Places:
    return Places(str(home.root), str(home.base / "run"), "unused")


def session_of(home: Home, name: str = "shop") -> str:
    return next(str(row["id"]) for row in home.json("sessions") if row["name"] == name)


def store(path: str) -> CronStore:
    return CronStore(system_host(), path, 2000)


def jobs_file(home: Home, name: str = "shop") -> str:
    return places(home).scheduled_jobs(session_of(home, name))


def job(path: str, label: str) -> Job:
    return next(one for one in store(path).read().jobs if one.label == label)


def over(path: str, label: str, within_s: float = 30) -> Job:
    """The job, once it is completed and no claim of it is left."""

    def look() -> Job | None:
        catalog = store(path).read()
        found = next(one for one in catalog.jobs if one.label == label)
        ended = found.status.value == "completed" and not any(c.job == found.id for c in catalog.dispatches)
        return found if ended else None

    found = until(look, within_s, f"job {label} to be over; now {store(path).read()}")
    assert found is not None
    return found


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def requests(home: Home, session: str) -> list[str]:
    """The request id of each submission that a job made."""
    records = read_records(SystemFiles(), places(home).storage(session))
    made = [one.request_id or "" for one in records.submissions.values()]
    return [one for one in made if one.startswith("cron:")]


def change(path: str, edit: Any) -> None:
    anyio.run(store(path).update, lambda catalog: (edit(catalog), None))


def new_job(label: str, words: str, session: str | None, argv: list[str], cwd: Path) -> Job:
    now = WallMs(int(time.time() * 1000))
    when = schedule.parse(words, now, "UTC", 1)
    return actions.new_job(
        command_id(), now, when, cwd=str(cwd), session=session, label=label, argv=argv, local="UTC"
    )


def put_to_sleep(home: Home, name: str) -> None:
    """Close a session's worker; one that is just starting refuses."""
    until(lambda: home.run("stop", name).returncode == 0)


# it fires, and with what


def test_a_job_fires_once_at_its_time_and_not_before(quick: Home) -> None:
    quick.ok("new")
    before = time.time()
    assert (
        quick.ok("cron", "add", "--name", "once", "in 2s", "--", "sh", "-c", "echo $EUKHED_RUN; exit 0")
        == "once\n"
    )
    done = over(jobs_file(quick), "once")
    assert (done.run_count, done.failures, done.last_error, done.next_run_at) == (1, 0, None, None)
    (run,) = quick.json("runs", "--job", "once")
    assert (run["state"], run["label"], run["job"]) == ("done", "once", done.id)
    assert run["started_at"] / 1000 >= before + 2
    assert quick.ok("log", run["address"]) == f"{run['address']}\n"
    assert not Path(environment_path(jobs_file(quick), done.id)).exists(), "it makes no run any more"
    (told,) = quick.json("cron", "list", "--all")
    assert told["lastRun"]["address"] == run["address"]
    quick.shut_down()


def test_an_interval_keeps_its_beat_and_no_slot_comes_twice(quick: Home) -> None:
    quick.ok("new")
    out = quick.base / "out"
    quick.ok("cron", "add", "--name", "tick", "every 1s", "--", "sh", "-c", f"echo x >> {out}")
    until(lambda: len(lines(out)) >= 4)
    quick.ok("cron", "pause", "tick")
    path = jobs_file(quick)
    until(lambda: not store(path).read().dispatches)
    tick = job(path, "tick")
    made = requests(quick, session_of(quick))
    assert len(made) == len(set(made)) == len(lines(out)) == tick.run_count
    slots = [int(one.rpartition(":")[2]) for one in made]
    assert {(slot - tick.created_at) % 1000 for slot in slots} == {0}
    assert tick.next_run_at is None
    quick.shut_down()


def test_a_run_gets_the_base_set_what_was_named_and_files_as_they_are_at_the_fire(quick: Home) -> None:
    quick.ok("new")
    file = quick.base / "vars"
    file.write_text("A=old\nB=old\n")
    quick.env |= {"SECRET": "hush-hush", "OTHER": "not-this"}
    quick.ok(
        "cron", "add", "--name", "env", "--env", "SECRET", "--env", "B=flag", "--env-file", str(file), "in 1s", "--", "env"
    )  # fmt: skip
    path = jobs_file(quick)
    text = Path(path).read_text()
    assert "hush" not in text
    assert "SECRET" in text
    values = Path(environment_path(path, job(path, "env").id))
    assert values.stat().st_mode & 0o777 == 0o600
    file.write_text("A=new\nB=new\n")
    over(path, "env")
    (run,) = quick.json("runs", "--job", "env")
    found = dict(line.partition("=")[::2] for line in quick.ok("log", run["address"]).splitlines())
    assert (found["A"], found["B"], found["SECRET"], found["HOME"]) == (
        "new",
        "flag",
        "hush-hush",
        str(quick.base),
    )
    assert "OTHER" not in found
    assert "hush" not in quick.ok("cron", "list", "--all", "--json") + quick.ok("cron", "show", "env")
    quick.shut_down()


def test_jobs_of_no_session_get_one_for_each_fire(quick: Home) -> None:
    quick.ok("start")
    quick.ok("cron", "add", "--name", "nightly", "every 1s", "--", "pwd")
    until(lambda: len(quick.json("runs", "--job", "nightly")) >= 2)
    quick.ok("cron", "cancel", "nightly")
    runs = quick.json("runs", "--job", "nightly", "--all")
    assert len({run["session"] for run in runs}) == len(runs)
    assert {"nightly", "nightly-2"} <= {run["name"] for run in runs}
    assert quick.ok("log", "nightly").splitlines()[-1] == str(quick.directory)
    until(lambda: not store(places(quick).cron_jobs).read().dispatches)
    quick.shut_down()


def test_a_fire_beside_the_schedule(quick: Home) -> None:
    """`cron run` starts a daemon, fires a paused job too, and leaves the schedule as it is."""
    quick.ok("new")
    quick.ok("cron", "add", "--name", "far", "in 9h", "--", "echo", "hi")
    path = jobs_file(quick)
    due = job(path, "far").next_run_at
    quick.shut_down()
    address = quick.ok("cron", "run", "far").strip()
    assert quick.ok("log", address) == "hi\n"
    until(lambda: job(path, "far").run_count == 1)
    assert (job(path, "far").next_run_at, job(path, "far").status.value) == (due, "active")
    quick.ok("cron", "add", "--new", "--name", "none", "in 9h", "--", "echo", "there")
    assert quick.ok("log", quick.ok("cron", "run", "none").strip()) == "there\n"
    quick.shut_down()


# whoever dies


def test_a_killed_worker_s_fire_is_followed_to_its_end(quick: Home) -> None:
    quick.ok("new")
    out = quick.base / "out"
    quick.ok(
        "cron",
        "add",
        "--name",
        "long",
        "in 1s",
        "--",
        "sh",
        "-c",
        f"echo began >> {out}; sleep 2; echo end; exit 3",
    )
    until(lambda: lines(out))
    quick.kill(quick.worker())
    done = over(jobs_file(quick), "long")
    assert (lines(out), done.run_count, done.last_error) == (["began"], 1, "exit 3")
    quick.shut_down()


def test_a_killed_supervisor_and_worker_s_fire_is_followed_to_its_end(quick: Home) -> None:
    quick.ok("new")
    path, out = jobs_file(quick), quick.base / "out"
    quick.ok(
        "cron", "add", "--name", "long", "in 1s", "--", "sh", "-c", f"echo began >> {out}; sleep 3; exit 0"
    )
    until(lambda: lines(out))
    worker = quick.worker()
    quick.kill(quick.supervisor())
    quick.kill(worker)
    quick.ok("start")
    done = over(path, "long")
    assert (lines(out), done.run_count, done.last_error) == (["began"], 1, None)
    quick.shut_down()


def dead() -> Identity:
    """A process that is no more."""
    with subprocess.Popen(["sleep", "60"]) as process:
        identity = system_host().processes.identify(process.pid)
        process.kill()
    assert identity is not None
    return identity


def claimed(path: str, made: Job, owner: Identity) -> Dispatch:
    """Write a job whose only time was claimed by this process, as a crash right after the claim leaves it."""
    assert made.next_run_at is not None
    session = made.session or command_id()
    claim = Dispatch(
        request_id(made.id, made.next_run_at), made.id, session, made.next_run_at, made.next_run_at, owner
    )
    begun = replace(made, next_run_at=None)

    def edit(catalog: Catalog) -> Catalog:
        return replace(catalog, jobs=(*catalog.jobs, begun), dispatches=(*catalog.dispatches, claim))

    change(path, edit)
    return claim


def test_a_fire_whose_owner_died_between_claim_and_start_is_made_once(quick: Home) -> None:
    """Its session is asleep, and nothing in it is due: the claim itself wakes it."""
    quick.ok("new")
    session, path, out = session_of(quick), jobs_file(quick), quick.base / "out"
    quick.shut_down()
    made = new_job("cut", "in 1s", session, ["sh", "-c", f"echo x >> {out}"], quick.directory)
    claim = claimed(path, made, dead())
    of_none = new_job("cut-too", "in 1s", None, ["sh", "-c", f"echo y >> {out}"], quick.directory)
    claimed(places(quick).cron_jobs, of_none, dead())
    quick.ok("start")
    assert over(path, "cut").run_count == 1
    assert over(places(quick).cron_jobs, "cut-too").run_count == 1
    assert sorted(lines(out)) == ["x", "y"]
    assert requests(quick, session) == [claim.id]
    quick.shut_down()


def test_a_fire_that_ended_unseen_is_interrupted_and_never_made_again(quick: Home) -> None:
    quick.ok("new")
    session, path, out = session_of(quick), jobs_file(quick), quick.base / "out"
    quick.ok("cron", "add", "--name", "seen", "in 1s", "--", "sh", "-c", f"echo x >> {out}")
    seen = over(path, "seen")
    (request,) = requests(quick, session)
    quick.shut_down()
    at = WallMs(int(request.rpartition(":")[2]))
    again = replace(seen, status=type(seen.status)("active"), updated_at=WallMs(seen.updated_at + 1))
    claim = Dispatch(request, seen.id, session, at, at, dead())
    change(path, lambda catalog: replace(catalog, jobs=(again,), dispatches=(claim,)))
    quick.ok("start")
    done = over(path, "seen")
    assert (done.last_error, done.run_count, lines(out)) == ("interrupted", 1, ["x"])
    quick.shut_down()


@pytest.mark.long
def test_kills_at_any_moment_make_no_fire_twice_and_lose_no_job(quick: Home) -> None:
    """Worker and supervisor are killed again and again while a job fires each second."""
    quick.ok("new")
    session, path, out = session_of(quick), jobs_file(quick), quick.base / "out"
    quick.ok("cron", "add", "--name", "tick", "every 1s", "--", "sh", "-c", f"echo $EUKHED_RUN >> {out}")
    dice, ends, kills = random.Random(7), time.monotonic() + KILLS_S, 0
    pause = threading.Event()
    while time.monotonic() < ends:
        pause.wait(dice.uniform(0.05, 0.9))  # the moment is the test
        victims = [*quick.workers().values(), *([quick.supervisor()] if dice.random() < 0.3 else [])]
        for victim in victims:
            quick.kill(victim)
            kills += 1
        quick.ok("start")
    assert kills >= KILLS_S / 3
    until(lambda: len(lines(out)) > 1 and quick.workers())
    quick.ok("cron", "pause", "tick")
    until(lambda: not store(path).read().dispatches)
    made, ran = requests(quick, session), lines(out)
    assert len(made) == len(set(made)), "one slot, one submission"
    assert len(ran) == len(set(ran)), "one run, one execution"
    assert len(ran) <= len(made)
    assert job(path, "tick").failures == 0
    quick.shut_down()


# who is asleep, archived, or gone


def test_an_asleep_session_is_woken_for_its_job(quick: Home) -> None:
    quick.ok("new")
    put_to_sleep(quick, "shop")
    path = jobs_file(quick)
    quick.ok("cron", "add", "--name", "wake", "shop", "in 2s", "--", "echo", "awake")
    assert quick.workers() == {}
    assert quick.json("status")["next_job"]["job"] == "wake"
    assert over(path, "wake").run_count == 1
    assert "shop" in quick.workers()
    quick.shut_down()


def test_a_job_that_came_due_while_no_daemon_ran_fires_once(quick: Home) -> None:
    quick.ok("new")
    path, out = jobs_file(quick), quick.base / "out"
    quick.ok("cron", "add", "--name", "missed", "every 1s", "--", "sh", "-c", f"echo x >> {out}")
    quick.shut_down()
    seen = len(lines(out))
    slept = threading.Event()
    slept.wait(2.5)  # two slots pass with nobody there: they are one
    quick.ok("start")
    until(lambda: len(lines(out)) > seen)
    quick.ok("cron", "pause", "missed")
    until(lambda: not store(path).read().dispatches)
    slots = [int(one.rpartition(":")[2]) for one in requests(quick, session_of(quick))]
    assert len(slots) == len(set(slots)) == len(lines(out))
    assert max(after - before for before, after in pairwise(slots)) >= 2000 if seen else True
    quick.shut_down()


def test_a_deleted_session_s_jobs_are_cancelled(quick: Home) -> None:
    quick.ok("new")
    session, path, out = session_of(quick), jobs_file(quick), quick.base / "out"
    quick.ok("cron", "add", "--name", "orphan", "in 2s", "--", "sh", "-c", f"echo x >> {out}")
    put_to_sleep(quick, "shop")
    shutil.rmtree(places(quick).storage(session))
    until(lambda: job(path, "orphan").status.value == "cancelled")
    assert lines(out) == []
    quick.shut_down()


# who writes the file


def test_a_job_that_another_process_writes_is_armed_within_a_second(quick: Home) -> None:
    """For a session that is awake, one that is asleep, one that has no file yet, and for none."""
    quick.ok("new", "awake")
    asleep, other = quick.base / "asleep", quick.base / "other"
    asleep.mkdir()
    other.mkdir()
    for name, where in (("asleep", asleep), ("other", other)):
        quick.ok("new", name, cwd=where)
        put_to_sleep(quick, name)
    out = quick.base / "out"
    for name in ("awake", "asleep", "other", ""):
        session = session_of(quick, name) if name else None
        path = places(quick).scheduled_jobs(session) if session else places(quick).cron_jobs
        label = name or "none"
        made = new_job(
            label, "in 1s", session, ["sh", "-c", f"echo {label} $(date +%s%N) >> {out}"], quick.base
        )
        anyio.run(actions.create, store(path), made)
        over(path, label)
        assert made.next_run_at is not None
        told, at = lines(out)[-1].split()
        assert told == label
        assert 0 <= int(at) / 1e6 - made.next_run_at < 2000, "armed late"
    quick.shut_down()


# failures


def test_a_failing_job_backs_off_and_is_paused_at_the_eighth() -> None:
    """The pauses in between are hours, or their bounds for real I/O too short: tests/cron has them on virtual time."""
    with scratch_home(0.02) as home:  # a pause of two minutes is 2.4 s
        until(lambda: home.run("start").returncode == 0)  # who starts it waits for half a second only
        home.ok("new")
        path, out = jobs_file(home), home.base / "out"
        home.ok("cron", "add", "--name", "bad", "every 1s", "--", "sh", "-c", f"date +%s%N >> {out}; exit 3")
        until(lambda: job(path, "bad").failures == 3)
        first, second, third = (int(line) / 1e6 for line in lines(out))
        assert second - first >= 2400
        assert third - second >= 4800
        due = WallMs(int(time.time() * 1000))
        seventh = replace(job(path, "bad"), failures=7, next_run_at=due, updated_at=due)
        change(path, lambda catalog: replace(catalog, jobs=(seventh,)))
        until(lambda: job(path, "bad").status.value == "paused")
        bad = job(path, "bad")
        assert (bad.failures, bad.last_error, bad.next_run_at, bad.run_count) == (8, "exit 3", None, 4)
        listed = home.ok("cron", "list")
        assert "paused, failures=8, exit 3" in listed
        assert "eukhed cron resume bad" in listed
        home.ok("cron", "resume", "bad")
        until(lambda: job(path, "bad").failures == 1)
        home.ok("cron", "cancel", "bad")
        home.shut_down()


def test_a_directory_that_is_gone_is_a_failure_never_another_directory(quick: Home) -> None:
    quick.ok("new")
    where = quick.base / "where"
    where.mkdir()
    quick.ok("cron", "add", "--name", "lost", "--cwd", str(where), "in 1s", "--", "pwd")
    where.rmdir()
    done = over(jobs_file(quick), "lost")
    assert "where" in str(done.last_error) or "No such file" in str(done.last_error), done.last_error
    quick.shut_down()


# what it costs, and what keeps a daemon


def switches(pid: int) -> int:
    """How often the threads of a process went to sleep or were woken."""
    told = [entry.read_text() for entry in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(line.split()[1]) for text in told for line in text.splitlines() if "ctxt_switches" in line)


def test_a_thousand_jobs_that_are_not_due_wake_nobody(home: Home) -> None:
    home.ok("new")
    session = session_of(home)
    other = home.base / "other"
    other.mkdir()
    home.ok("new", "other", cwd=other)
    put_to_sleep(home, "other")
    for path, of in (
        (places(home).scheduled_jobs(session), session),
        (jobs_file(home, "other"), session_of(home, "other")),
        (places(home).cron_jobs, None),
    ):
        many = tuple(new_job(f"j{n}", "in 30 days", of, ["true"], home.directory) for n in range(1000))
        change(path, lambda catalog, many=many: replace(catalog, jobs=many))
    pids = [home.supervisor(), home.workers()["shop"]]
    until(lambda: (home.json("status")["next_job"] or {}).get("job"), what="the jobs to be known")
    window = threading.Event()
    quiet: list[int] = []
    for _ in range(4):  # what came before may still settle
        window.wait(1)
        before = [switches(pid) for pid in pids]
        window.wait(10)
        quiet = [switches(pid) - was for pid, was in zip(pids, before, strict=True)]
        if not any(quiet):
            break
    assert quiet == [0, 0], quiet
    home.shut_down()


def test_an_active_job_keeps_the_daemon_if_that_was_asked(quick: Home) -> None:
    quick.ok("new")
    put_to_sleep(quick, "shop")
    assert quick.run("shutdown", "--if-idle", "--keep-scheduled").returncode == 0
    quick.ok("cron", "add", "--name", "far", "shop", "in 9h", "--", "true")
    assert quick.run("shutdown", "--if-idle", "--keep-scheduled").returncode == 3
    quick.ok("cron", "cancel", "far")
    until(lambda: quick.run("shutdown", "--if-idle", "--keep-scheduled").returncode == 0)
    gone_all = until(lambda: not quick.processes())
    assert gone_all


# what needs no daemon


def test_lists_pauses_and_cancels_need_no_daemon(quick: Home) -> None:
    quick.ok("new")
    quick.ok("cron", "add", "--name", "a", "every 9h", "--", "true")
    quick.ok("cron", "add", "--name", "b", "@daily", "--timezone", "Europe/Berlin", "--", "true")
    quick.shut_down()
    assert quick.ok("cron", "pause", "a") == ""
    listed = quick.ok("cron", "list", "--no-header").splitlines()
    assert [line.split()[0] for line in listed] == ["b", "a"]
    assert "Europe/Berlin" in listed[0]
    assert "paused" in listed[1]
    shown = quick.ok("cron", "show", "b")
    assert "command    true" in shown
    quick.ok("cron", "cancel", "b")
    assert {one["label"]: one["status"] for one in quick.json("cron", "list", "--all")} == {
        "a": "paused",
        "b": "cancelled",
    }
    assert len(quick.ok("cron", "next", "0 2 * * *", "-n", "3").splitlines()) == 3
    assert quick.processes() == {}, "nobody started a daemon"
    assert quick.ok("cron", "resume", "a") == ""
    assert quick.supervisor() > 0
    quick.shut_down()


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["add", "every 1s"], 2, "after `--`"),
        (["add", "--", "true"], 2, "when?"),
        (["add", "never", "--", "true"], 2, "a schedule is like"),
        (["add", "every 10ms", "--", "true"], 2, "not a duration"),
        (["add", "nowhere", "every 1m", "--", "true"], 5, "nowhere"),
        (["add", "--prompt", "hello", "every 1s"], 2, "take no text"),
        (["add", "--env", "NOT_THERE", "in 1s", "--", "true"], 2, "no such variable"),
        (["add", "--env-file", "/nowhere", "in 1s", "--", "true"], 2, "No such file"),
        (["run", "nothing"], 5, "there is no job"),
        (["show", "nothing"], 5, "there is no job"),
        (["lst"], 2, "there is no command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)  # fmt: skip
def test_what_is_refused_changes_nothing_and_starts_nobody(
    home: Home, words: list[str], status: int, says: str
) -> None:
    done = home.run("cron", *words)
    assert done.returncode == status, done
    assert says in done.stderr.decode(), done
    assert home.processes() == {}
    assert not Path(places(home).cron_jobs).exists()


def test_two_jobs_of_one_name_are_told_apart_by_their_sessions(quick: Home) -> None:
    quick.ok("new")
    other = quick.base / "other"
    other.mkdir()
    quick.ok("new", "other", cwd=other)
    quick.ok("cron", "add", "--name", "x", "shop", "in 9h", "--", "true")
    assert quick.run("cron", "add", "--name", "x", "shop", "in 9h", "--", "true").returncode == 1
    quick.ok("cron", "add", "--name", "x", "other", "in 9h", "--", "true")
    assert quick.run("cron", "pause", "x").returncode == 5
    quick.ok("cron", "pause", "x", "--session", "other")
    assert job(jobs_file(quick), "x").status.value == "active"
    assert job(jobs_file(quick, "other"), "x").status.value == "paused"
    assert json.loads(Path(jobs_file(quick)).read_text())["jobs"][0]["run"]["envNames"]
    quick.shut_down()
