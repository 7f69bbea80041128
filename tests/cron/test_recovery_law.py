"""recovery_law, over every combination of its facts, and what it makes of a catalog."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.cron import cron_law
from eukhed.cron.jobs import Catalog, Dispatch, Job, Schedule, Status
from eukhed.cron.recovery_law import CASES, Facts, Owner, Recovered, Run, Seen, Verdict, recover, verdict
from eukhed.timing import Timing
from tests.cron.machine import at, identity

VECTORS = json.loads(Path("shared/vectors/recovery.json").read_text())
BOTH = (False, True)
ALL_FACTS = [Facts(*each) for each in product(BOTH, BOTH, Owner, Run, BOTH)]
ME, LATE = identity(1), identity(2)
RULES = Timing().cron


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_recovery_decides_everything_once(facts: Facts) -> None:
    assert sum(case.matches(facts) for case in CASES) == 1


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_sentences(facts: Facts) -> None:
    """recovery_claim_owned, recovery_keeps_unread, recovery_ends_with_the_run, recovery_follows_survivors, recovery_never_replays."""
    decided = verdict(facts)
    if facts.owner is Owner.OTHER or not facts.job_read or facts.tended or facts.run is Run.UNKNOWN:
        assert decided is Verdict.KEEP
        return
    assert (decided is Verdict.CLEAR) == (facts.run is Run.ENDED)
    assert (decided is Verdict.FOLLOW) == (facts.run is Run.LIVE)
    assert (decided is Verdict.START) == (facts.run is Run.NEVER and facts.wanted)
    assert (decided is Verdict.WITHDRAW) == (facts.run is Run.NEVER and not facts.wanted)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['law']}: {v['why']}")
def test_vector(vector: dict[str, Any]) -> None:
    facts = vector["facts"] | {"owner": Owner(vector["facts"]["owner"]), "run": Run(vector["facts"]["run"])}
    assert verdict(Facts(**facts)) is Verdict(vector["verdict"])


def claimed(kind: str) -> tuple[Catalog, Dispatch]:
    when = Schedule(kind, "x", 60_000)  # type: ignore[arg-type] # one of two kinds
    job = Job("a", Status.ACTIVE, "s", "/", when, at(), at(), prompt="x", next_run_at=at(60_000))
    claim = Dispatch("cron:a:0", "a", "s", at(), at(), LATE)
    return Catalog((job,), (claim,)), claim


def recovered(kind: str, owner: Owner, run: Run, **more: Any) -> tuple[Catalog, Recovered]:
    catalog, claim = claimed(kind)
    catalog = replace(catalog, **more)
    return recover(catalog, {claim.id: Seen(claim.owner, False, owner, run)}, ME, at(5), RULES)


def test_recovery_ends_with_the_run() -> None:
    """Interrupted: a one-shot is completed, a repeating job has its next slot; neither is a failure."""
    once, nothing = recovered("once", Owner.DEAD, Run.ENDED)
    assert (once.jobs[0].status, once.jobs[0].last_error, once.jobs[0].failures) == (
        Status.COMPLETED,
        "interrupted",
        0,
    )
    many, _ = recovered("interval", Owner.DEAD, Run.ENDED)
    assert (many.jobs[0].status, many.jobs[0].next_run_at, many.jobs[0].failures) == (
        Status.ACTIVE,
        at(60_000),
        0,
    )
    assert (once.dispatches, many.dispatches, nothing) == ((), (), Recovered())


def test_recovery_follows_survivors() -> None:
    catalog, found = recovered("interval", Owner.DEAD, Run.LIVE)
    assert found.start == ()
    assert catalog.dispatches == found.follow == (replace(claimed("interval")[1], owner=ME),)


def test_recovery_never_replays() -> None:
    catalog, found = recovered("once", Owner.DEAD, Run.NEVER)
    assert catalog.dispatches == found.start == (replace(claimed("once")[1], owner=ME),)
    paused = cron_law.pause(claimed("once")[0], "a", at()).jobs
    catalog, found = recovered("once", Owner.DEAD, Run.NEVER, jobs=paused)
    assert (catalog.dispatches, found, catalog.jobs[0].status) == ((), Recovered(), Status.PAUSED)


def test_recovery_keeps_unread() -> None:
    catalog, _ = recovered("once", Owner.DEAD, Run.ENDED, jobs=())
    assert catalog.dispatches == (claimed("once")[1],)


def test_recovery_claim_owned() -> None:
    """Another's stays; so does one that changed hands after it was looked at, and one not looked at."""
    before, claim = claimed("once")
    assert recovered("once", Owner.OTHER, Run.ENDED)[0] == before
    moved = {claim.id: Seen(ME, False, Owner.DEAD, Run.ENDED)}
    assert recover(before, moved, ME, at(), RULES) == (before, Recovered())
    assert recover(before, {}, ME, at(), RULES) == (before, Recovered())
