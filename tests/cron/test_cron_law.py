"""cron_law against its model (three processes on one file, equal bytes), its vectors, and each sentence of its law."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from eukhed.cron import cron_law, document, recovery_law, schedule
from eukhed.cron.jobs import Catalog, Dispatch, End, Job, Outcome, Schedule, Status, request_id
from eukhed.cron.records import time_of
from eukhed.cron.recovery_law import Owner, Run, Seen
from eukhed.cron.store import CronStore
from eukhed.errors import Busy, Exists, Invalid, NotFound
from eukhed.host.seam import Identity
from eukhed.timing import Timing, WallMs
from tests.cron.cron_model import MINUTE, Model
from tests.cron.machine import HandClock, MemoryFiles, at, finished, identity, machine

VECTORS = json.loads(Path("shared/vectors/cron.json").read_text())
RULES = Timing().cron
ME, OTHER = identity(1), identity(2)
SECOND = 1000


def next_time(job: Job, after: WallMs) -> WallMs | None:
    return schedule.next_time(job, after, "UTC")


def a_job(name: str = "a", every: int | None = MINUTE, due: int | None = 0, **more: Any) -> Job:
    kind, words = ("interval", f"every {every}") if every else ("once", "in 1s")
    when = Schedule(kind, words, every or SECOND)  # type: ignore[arg-type] # one of two kinds
    made = Job(name, Status.ACTIVE, "s1", "/tmp", when, at(-SECOND), at(-SECOND), prompt="x")
    return replace(made, next_run_at=None if due is None else at(due), **more)


def claim(catalog: Catalog, now: int = 0, owner: Identity = ME) -> tuple[Catalog, tuple[Dispatch, ...]]:
    return cron_law.claim(catalog, at(now), owner, next_time, lambda: "fresh")


def finish(catalog: Catalog, made: Dispatch, end: End, now: int = 0, error: str | None = None) -> Catalog:
    return cron_law.finish(catalog, made.id, made.owner, Outcome(end, error), at(now), RULES)


def only(catalog: Catalog) -> Job:
    (job,) = catalog.jobs
    return job


# vectors


def read(text: dict[str, Any]) -> Catalog:
    return document.parse(json.dumps(text).encode()).catalog()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['law']}: {v['why']}")
def test_vector(vector: dict[str, Any]) -> None:
    before, call = read(vector["before"]), vector["call"]
    now, owner = time_of(call["now"]), Identity(*call.get("owner", ME))
    assert now is not None
    match call["do"]:
        case "claim":
            after, _ = cron_law.claim(before, now, owner, next_time, lambda: "fresh")
        case "finish":
            outcome = Outcome(End(call["end"]), call.get("error"))
            after = cron_law.finish(before, call["dispatch"], owner, outcome, now, RULES)
        case "resume":
            after = cron_law.resume(before, call["job"], now, next_time)
        case "pause":
            after = cron_law.pause(before, call["job"], now)
        case other:
            raise AssertionError(other)
    assert after == read(vector["after"])


# the sentences


def test_cron_fires_once() -> None:
    """The next time is beyond the claim, and the request id is the slot's."""
    catalog, (made,) = claim(Catalog((a_job(),)), now=5)
    assert made.id == request_id("a", at(0)) == f"cron:a:{at(0)}"
    assert (made.owner, made.session, made.scheduled_for, made.claimed_at) == (ME, "s1", at(0), at(5))
    assert only(catalog).next_run_at == at(MINUTE)
    assert claim(finish(catalog, made, End.RAN), now=5)[1] == ()


@given(st.integers(1, 10**7), st.integers(0, 10**8), st.integers(-(10**8), 10**8))
def test_cron_fires_once_whatever_the_interval(every: int, late: int, step: int) -> None:
    """Two slots of one job never share a request id, even when the clock is set between them."""
    catalog, (first,) = claim(Catalog((a_job(every=every),)), now=late)
    catalog = finish(catalog, first, End.RAN, now=late)
    assert only(catalog).next_run_at is not None
    assert at(late) < (only(catalog).next_run_at or 0) <= at(late + every)
    _, then = claim(catalog, now=late + step)
    assert all(second.scheduled_for > at(late) and second.id != first.id for second in then)


def test_cron_coalesces() -> None:
    catalog, (made,) = claim(Catalog((a_job(),)))
    for slot in (1, 2, 3):
        catalog, more = claim(catalog, now=slot * MINUTE)
        assert more == ()
        assert only(catalog).last_skipped_at == at(slot * MINUTE)
    catalog = finish(catalog, made, End.RAN, now=4 * MINUTE - 1)
    catalog, (second,) = claim(catalog, now=24 * 60 * MINUTE)  # a day asleep: one fire
    assert second.scheduled_for == at(4 * MINUTE)
    assert only(catalog).next_run_at == at((24 * 60 + 1) * MINUTE)


def test_a_one_shot_joins_a_users_own_fire() -> None:
    """cron_coalesces: and is completed by its end, not lost."""
    catalog, made = cron_law.fire(Catalog((a_job(every=None, due=5),)), "a", at(0), ME, lambda: "fresh")
    assert made.manual
    catalog, more = claim(catalog, now=6)
    assert more == ()
    assert only(catalog).status is Status.ACTIVE
    assert only(finish(catalog, made, End.RAN, now=7)).status is Status.COMPLETED


def test_cron_once_finished_after_end() -> None:
    catalog, (made,) = claim(Catalog((a_job(every=None),)))
    assert only(catalog).status is Status.ACTIVE
    assert only(catalog).next_run_at is None
    for end in End:
        assert only(finish(catalog, made, end)).status is Status.COMPLETED
    failed = only(finish(catalog, made, End.FAILED, error="exit 1"))
    assert (failed.last_error, failed.failures, failed.next_run_at) == ("exit 1", 0, None)
    paused = cron_law.pause(catalog, "a", at(1))
    assert only(finish(paused, made, End.SKIPPED)).status is Status.PAUSED
    assert only(finish(paused, made, End.RAN)).status is Status.COMPLETED
    cancelled = cron_law.cancel(catalog, "a", at(1))
    assert only(finish(cancelled, made, End.RAN)).status is Status.CANCELLED


def test_a_one_shot_paused_before_it_began_comes_back() -> None:
    """cron_once_finished_after_end: and one whose claim stands gets no second time."""
    catalog, (made,) = claim(Catalog((a_job(every=None),)))
    paused = cron_law.pause(catalog, "a", at(1))
    begun = cron_law.resume(paused, "a", at(2), next_time)
    assert (only(begun).status, only(begun).next_run_at) == (Status.ACTIVE, None)
    withdrawn, go = cron_law.withdraw(paused, made.id, ME, at(2), RULES)
    assert (go, withdrawn.dispatches) == (False, ())
    again = cron_law.resume(withdrawn, "a", at(3), next_time)
    assert only(again).next_run_at == at(0)  # its own time, past: due at once
    _, (second,) = claim(again, now=3)
    assert second.id == made.id


def test_cron_claim_owned() -> None:
    catalog, (made,) = claim(Catalog((a_job(),)))
    stranger = replace(made, owner=OTHER)
    assert finish(catalog, stranger, End.RAN) is catalog
    assert cron_law.finish(catalog, "cron:a:7", ME, Outcome(End.RAN), at(0), RULES) is catalog
    assert cron_law.withdraw(catalog, made.id, OTHER, at(0), RULES) == (catalog, False)
    assert cron_law.withdraw(catalog, made.id, ME, at(0), RULES) == (catalog, True)


def test_cron_backoff_bounded() -> None:
    """Every pause, beside a schedule that is sooner, as soon, and later."""
    pauses = [2, 4, 8, 16, 32, 60, 60]
    for failures, minutes in enumerate(pauses, 1):
        end = minutes * MINUTE
        for scheduled in (1, end - 1, end, end + 1):
            next_at = cron_law.backed_off(at(scheduled), failures, at(0), RULES)
            assert next_at == max(at(scheduled), at(end))
    assert sum(pauses) == 182  # the eighth failure comes about three hours after the first


@given(st.lists(st.sampled_from(list(End)), max_size=30), st.integers(1, 3 * 60 * MINUTE))
def test_cron_stops_at_eight(ends: list[End], every: int) -> None:
    """The count follows the ends; at eight the job is paused, with its error, and nothing but a user moves it."""
    catalog, now, streak = Catalog((a_job(every=every),)), 0, 0
    for end in ends:
        job = only(catalog)
        if job.status is Status.PAUSED:
            assert (streak, job.failures, job.last_error, job.next_run_at) == (8, 8, "exit 1", None)
            assert claim(catalog, now=10**12)[1] == ()
            catalog = cron_law.resume(catalog, "a", at(now), next_time)
            assert (only(catalog).failures, only(catalog).next_run_at) == (0, at(now + every))
            streak, job = 0, only(catalog)
        assert job.next_run_at is not None
        now = job.next_run_at - at(0)
        catalog, (made,) = claim(catalog, now=now)
        catalog = finish(catalog, made, end, now=now, error="exit 1")
        streak = streak + 1 if end is End.FAILED else 0 if end is End.RAN else streak
        assert only(catalog).failures == streak
        if end is End.FAILED and streak < 8:
            pause = RULES.pauses_ms[streak - 1]
            assert only(catalog).next_run_at == max(at(now + every), at(now + pause))
        elif streak < 8:
            assert only(catalog).next_run_at == at(now + every)


def test_cron_never_drops() -> None:
    """Here for each function once; over histories in the machine below, for files in test_document."""
    catalog = Catalog((a_job(), a_job("b", every=None), a_job("c", due=None)), unread=frozenset({"z"}))
    ids = [job.id for job in catalog.jobs]
    claimed, made = claim(catalog)
    assert len(made) == 2
    for after in (
        claimed,
        finish(claimed, made[0], End.FAILED),
        cron_law.cancel_all(claimed, at(0)),
        cron_law.pause(claimed, "a", at(0)),
    ):
        assert [job.id for job in after.jobs] == ids
        assert after.unread == catalog.unread


def test_a_fire_beside_the_schedule_moves_nothing() -> None:
    before = Catalog((a_job(due=MINUTE, failures=3),))
    for end in End:
        catalog, made = cron_law.fire(before, "a", at(0), ME, lambda: "fresh")
        after = only(finish(catalog, made, end))
        assert (after.next_run_at, after.failures, after.status) == (at(MINUTE), 3, Status.ACTIVE)
    with pytest.raises(Busy):
        cron_law.fire(catalog, "a", at(0), ME, lambda: "fresh")
    with pytest.raises(NotFound):
        cron_law.fire(cron_law.cancel(before, "a", at(0)), "a", at(0), ME, lambda: "fresh")


def test_a_job_without_session_gets_a_fresh_one() -> None:
    _, (made,) = claim(Catalog((a_job(session=None),)))
    assert made.session == "fresh"


def test_a_job_whose_next_time_is_lost_is_paused_not_fired() -> None:
    broken = replace(a_job(), schedule=Schedule("cron", "0 2 * * *", timezone="Mars/Olympus"))
    catalog, made = claim(Catalog((broken,)))
    assert made == ()
    assert (only(catalog).status, only(catalog).last_error) == (Status.PAUSED, cron_law.NO_NEXT_TIME)
    assert only(catalog).next_run_at is None
    with pytest.raises(Invalid):
        cron_law.resume(catalog, "a", at(0), next_time)


def test_names_are_taken_once() -> None:
    catalog = cron_law.create(Catalog(unread=frozenset({"z"})), a_job(label="nightly"))
    for job in (a_job(), a_job("b", label="nightly"), a_job("z")):
        with pytest.raises(Exists):
            cron_law.create(catalog, job)
    with pytest.raises(Exists):
        cron_law.create(cron_law.pause(catalog, "a", at(0)), a_job("b", label="nightly"))
    free = cron_law.cancel(catalog, "a", at(0))
    assert len(cron_law.create(free, a_job("b", label="nightly")).jobs) == 2


def test_each_change_is_newer_even_when_the_clock_was_set_back() -> None:
    catalog = Catalog((a_job(due=MINUTE),))
    for change in (cron_law.pause, cron_law.cancel):
        assert only(change(catalog, "a", at(-(10**9)))).updated_at == at(-SECOND) + 1


# three processes on one file, against the model, with equal bytes

STEPS = (0, 1, 999, 29_999, 30_000, 30_001, 119_999, 120_000, 120_001, 3_600_000, -3_600_000, 86_400_000)


class Process:
    def __init__(self, number: int, files: MemoryFiles, clock: HandClock) -> None:
        self.number, self.files, self.clock, self.lives = number, files, clock, 0
        self.begin()

    def begin(self) -> None:
        self.lives += 1
        self.me = identity(self.number, self.lives)
        self.store = CronStore(machine(self.files, self.clock, self.me), "/root/cron-jobs.json", 2000)
        self.tended: list[str] = []


class ThreeProcesses(RuleBasedStateMachine):
    """The product's store and laws beside the model; after each step the file is the model's, byte for byte."""

    seen: ClassVar[Counter[str]] = Counter()

    @initialize()
    def start(self) -> None:
        self.files, self.clock, self.model = MemoryFiles(), HandClock(), Model()
        self.processes = [Process(number, self.files, self.clock) for number in range(3)]
        self.dead: list[Identity] = []
        self.runs: dict[str, str] = {}  # the truth about each run
        self.starts: Counter[str] = Counter()
        self.touched = False

    @property
    def now(self) -> int:
        return self.clock.wall

    def update(self, process: Process, change: Any) -> Any:
        self.touched = True
        return finished(process.store.update(change))

    @rule(
        number=st.integers(0, 2),
        every=st.sampled_from([None, 30_000, 120_000]),
        once_in=st.sampled_from([1000, 60_000]),
    )
    @precondition(lambda self: len(self.model.jobs) < 4)
    def create(self, number: int, every: int | None, once_in: int) -> None:
        name, now = f"job{len(self.model.jobs)}", WallMs(self.now)
        words = f"every {every // 1000}s" if every else f"in {once_in // 1000}s"
        when = schedule.parse(words, now, "UTC", RULES.interval_min_ms)
        job = Job(name, Status.ACTIVE, "s1", "/home/u/my dir", when, now, now, prompt="tick ✓")
        job = replace(job, next_run_at=next_time(job, now))
        self.update(self.processes[number], lambda catalog: (cron_law.create(catalog, job), None))
        self.model.create(name, "s1", self.now, every, once_in)

    @rule(step=st.sampled_from(STEPS))
    def pass_time(self, step: int) -> None:
        self.clock.advance(step)

    @rule(number=st.integers(0, 2), step=st.sampled_from([0, 30_000, 120_000]))
    @precondition(lambda self: self.model.jobs)
    def claim(self, number: int, step: int) -> None:
        self.clock.advance(step)
        process, now = self.processes[number], WallMs(self.now)
        made = self.update(
            process, lambda catalog: cron_law.claim(catalog, now, process.me, next_time, lambda: "fresh")
        )
        assert [each.id for each in made] == self.model.claim(list(process.me), self.now)
        self.tend(process, made)

    def tend(self, process: Process, made: Any) -> None:
        for each in made:
            process.tended.append(each.id)
            self.runs.setdefault(each.id, "never")
        self.seen["claims"] += len(made)

    @rule(number=st.integers(0, 2), data=st.data())
    @precondition(lambda self: self.model.jobs)
    def fire(self, number: int, data: st.DataObject) -> None:
        process, now = self.processes[number], WallMs(self.now)
        free = [
            job["id"]
            for job in self.model.jobs
            if job["status"] in ("active", "paused")
            and self.model.claim_of(job["id"]) is None
            and f"cron:{job['id']}:{self.now}" not in self.runs
        ]
        if free:
            name = data.draw(st.sampled_from(free))
            made = self.update(
                process, lambda catalog: cron_law.fire(catalog, name, now, process.me, lambda: "s")
            )
            assert made.id == self.model.fire(name, list(process.me), self.now)
            self.tend(process, [made])

    def errands(self, *, begun: bool) -> list[tuple[Process, str]]:
        """Who looks after which claim, begun or not."""
        pairs = [(process, name) for process in self.processes for name in process.tended]
        return [(process, name) for process, name in pairs if (self.runs[name] != "never") == begun]

    @rule(data=st.data())
    @precondition(lambda self: self.errands(begun=False))
    def begin_run(self, data: st.DataObject) -> None:
        process, name = data.draw(st.sampled_from(self.errands(begun=False)))
        now = WallMs(self.now)
        go = self.update(process, lambda catalog: cron_law.withdraw(catalog, name, process.me, now, RULES))
        (held,) = [each for each in self.model.claims if each["id"] == name]
        assert go == self.model.may_fire(held)
        if go:
            self.runs[name] = "live"
            self.starts[name] += 1
        else:
            self.model.finish(name, list(process.me), "skipped", None, self.now)
            process.tended.remove(name)
            del self.runs[name]  # nothing was submitted by that id
            self.seen["withdrawn"] += 1

    @rule(end=st.sampled_from(list(End)[:4]), data=st.data())
    @precondition(lambda self: self.errands(begun=True))
    def end_run(self, end: End, data: st.DataObject) -> None:
        process, name = data.draw(st.sampled_from(self.errands(begun=True)))
        now = WallMs(self.now)
        outcome = Outcome(end, "exit 1" if end is End.FAILED else None)
        self.runs[name] = "ended"
        self.update(
            process,
            lambda catalog: (cron_law.finish(catalog, name, process.me, outcome, now, RULES), None),
        )
        self.model.finish(name, list(process.me), end.value, outcome.error, self.now)
        process.tended.remove(name)
        self.seen["finishes"] += 1

    @rule(number=st.integers(0, 2))
    def recover(self, number: int) -> None:
        process, now = self.processes[number], WallMs(self.now)
        seen = {}
        for each in process.store.read().dispatches:
            owner = (
                Owner.MINE
                if each.owner == process.me
                else Owner.DEAD
                if each.owner in self.dead
                else Owner.OTHER
            )
            tended = each.id in process.tended
            seen[each.id] = Seen(each.owner, tended, owner, Run(self.runs[each.id]))
            self.seen[f"saw {owner.value} {self.runs[each.id]}"] += not tended
        recovered = self.update(
            process, lambda catalog: recovery_law.recover(catalog, seen, process.me, now, RULES)
        )
        dead = [list(each) for each in self.dead]
        self.model.recover(list(process.me), self.now, dead, process.tended, self.runs)
        process.tended += [each.id for each in (*recovered.start, *recovered.follow)]
        left = {each["id"] for each in self.model.claims}
        for name in [name for name, state in self.runs.items() if state == "never" and name not in left]:
            del self.runs[name]

    @rule(number=st.integers(0, 2), survive=st.booleans())
    def crash(self, number: int, survive: bool) -> None:
        process = self.processes[number]
        for name in process.tended:
            if self.runs[name] == "live" and not survive:
                self.runs[name] = "ended"
        self.dead.append(process.me)
        process.begin()

    @rule(survivor=st.integers(0, 5))
    def a_run_ends_alone(self, survivor: int) -> None:
        live = [name for name, state in self.runs.items() if state == "live"]
        if survivor < len(live):
            self.runs[live[survivor]] = "ended"

    @rule(
        number=st.integers(0, 2), which=st.integers(0, 3), wish=st.sampled_from(["pause", "resume", "cancel"])
    )
    def user(self, number: int, which: int, wish: str) -> None:
        now, names = WallMs(self.now), [job["id"] for job in self.model.jobs]
        if which >= len(names) or self.model.job(names[which])["status"] in ("completed", "cancelled"):
            return
        name = names[which]
        extra = (next_time,) if wish == "resume" else ()
        self.update(
            self.processes[number],
            lambda catalog: (getattr(cron_law, wish)(catalog, name, now, *extra), None),
        )
        getattr(self.model, wish)(name, self.now)

    @invariant()
    def the_file_is_the_models(self) -> None:
        if getattr(self, "model", None) and self.model.jobs:
            assert self.files.data["/root/cron-jobs.json"].decode() == self.model.render()

    @invariant()
    def cron_fires_once(self) -> None:
        if hasattr(self, "starts"):
            assert all(count <= 1 for count in self.starts.values())


def test_three_processes_write_what_the_model_writes() -> None:
    """And the interesting histories occurred."""
    ThreeProcesses.seen.clear()
    run_state_machine_as_test(
        ThreeProcesses, settings=settings(max_examples=max(200, settings().max_examples))
    )
    seen = ThreeProcesses.seen
    assert seen["claims"] > 10, seen
    assert seen["finishes"] > 3, seen
    assert any(seen[f"saw dead {state}"] for state in ("live", "ended", "never")), seen


def test_the_earliest_of_the_active_is_what_is_slept_to() -> None:
    jobs = (
        a_job("a", due=7),
        a_job("b", due=5),
        a_job("c", due=None),
        a_job("d", due=1, status=Status.PAUSED),
    )
    assert cron_law.earliest(Catalog(jobs)) == at(5)
    assert cron_law.earliest(Catalog(jobs[2:])) is None


def test_claims_come_in_the_order_of_their_times() -> None:
    _, made = claim(Catalog((a_job("c", due=-1), a_job("b", due=-2), a_job("a", due=-1))))
    assert [each.job for each in made] == ["b", "a", "c"]


def test_only_a_known_claim_of_a_known_job_is_wanted() -> None:
    catalog, (made,) = claim(Catalog((a_job(),)))
    assert cron_law.is_wanted(catalog, made)
    assert not cron_law.is_wanted(replace(catalog, jobs=()), made)
    assert not cron_law.is_wanted(replace(catalog, dispatches=()), made)
    for status, scheduled, by_hand in (
        (Status.ACTIVE, True, True),
        (Status.PAUSED, False, True),
        (Status.COMPLETED, False, False),
        (Status.CANCELLED, False, False),
    ):
        other = replace(catalog, jobs=(replace(only(catalog), status=status),))
        assert cron_law.is_wanted(other, made) == scheduled
        assert cron_law.is_wanted(other, replace(made, manual=True)) == by_hand


def test_what_the_record_tells_of_each_end() -> None:
    before, (made,) = claim(Catalog((a_job(last_error="old", last_run_at=at(-9), run_count=2),)))
    told = {end: only(finish(before, made, end, now=7, error="why")) for end in End}
    seen = {
        end: (job.last_error, job.last_run_at, job.last_skipped_at, job.run_count)
        for end, job in told.items()
    }
    assert seen == {
        End.RAN: (None, at(7), None, 3),
        End.FAILED: ("why", at(7), None, 3),
        End.STOPPED: ("why", at(7), None, 3),
        End.SKIPPED: ("why", at(-9), at(7), 2),
        End.INTERRUPTED: ("why", at(-9), None, 2),
    }
    bare = {end: only(finish(before, made, end)).last_error for end in End}
    assert list(bare.values()) == [None, "failed", "stopped", "old", "interrupted"]


def test_a_completed_one_shot_has_no_time_left() -> None:
    catalog, (made,) = claim(Catalog((a_job(every=None),)))
    odd = replace(
        catalog, jobs=(replace(only(catalog), next_run_at=at(9)),)
    )  # as another writer may leave it
    assert only(finish(odd, made, End.RAN)).next_run_at is None


def test_a_users_wish_that_is_so_already_changes_nothing() -> None:
    active = Catalog((a_job(),))
    paused = cron_law.pause(active, "a", at(1))
    cancelled = cron_law.cancel(active, "a", at(1))
    completed = Catalog((a_job(status=Status.COMPLETED, due=None),))
    assert cron_law.resume(active, "a", at(2), next_time) is active
    assert cron_law.pause(paused, "a", at(2)) is paused
    assert cron_law.cancel(cancelled, "a", at(2)) is cancelled
    assert cron_law.cancel(completed, "a", at(2)) is completed
    assert (only(paused).next_run_at, only(cancelled).next_run_at) == (None, None)


def test_a_resume_looks_at_its_own_claim_only() -> None:
    """A one-shot that another job's fire stands beside has not begun; a time left by another writer is not kept."""
    other, _ = claim(Catalog((a_job("b"),)))
    once = a_job(every=None, due=None, status=Status.PAUSED)
    catalog = cron_law.resume(replace(other, jobs=(once, *other.jobs)), "a", at(5), next_time)
    assert catalog.jobs[0].next_run_at == at(0)
    left = Catalog((a_job(due=10**9, status=Status.PAUSED),))
    assert only(cron_law.resume(left, "a", at(5), next_time)).next_run_at == at(5 + MINUTE)


def test_a_users_fire_goes_to_the_jobs_session() -> None:
    _, made = cron_law.fire(Catalog((a_job(),)), "a", at(0), ME, lambda: "fresh")
    assert made.session == "s1"
    _, made = cron_law.fire(Catalog((a_job(session=None),)), "a", at(0), ME, lambda: "fresh")
    assert made.session == "fresh"
