"""The commit log against a file system that loses power: acknowledged commits stay, only tried ones appear.

The exhaustive part cuts a small history after every step, in every way that crash_files knows, with every
single fault; the random part does it to longer histories. The last part leaves out each step of the shipped
executors in turn and demands that the same exploration fails: what it explores is the product.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from eukhed.errors import Broken, Corrupt
from eukhed.storage import log, log_law, open_law, opening
from eukhed.storage.storage import Storage
from tests.fakes.crash_files import FLUSH_FAULTS, WRITE_FAULTS, CrashFiles, Images, PowerLoss
from tests.storage.histories import (
    PLACE,
    RUN_OUTPUT,
    Group,
    Operation,
    Operations,
    Outcome,
    World,
    allowed,
    play,
    view,
)

# Three commits with sidecars: a task that ends, a document that gets a delta and then a base, a named file.
ALONE: tuple[Group, ...] = (
    ((("conversation", 1), ("task", 2, "running"), ("create", 3, "current", 1)),),
    ((("entry", 4, "x"), ("delta", 3, 2), ("task", 2, "pending"), ("names", "run-2.out")),),
    ((("task", 2, "over"), ("base", 3, 3), ("entry", 5, "y")),),
)
GROUPED: tuple[Group, ...] = (
    ((("conversation", 1), ("create", 3, "rewindable", 1)), (("task", 2, "running"),)),
    ((("delta", 3, 2),), (("entry", 7, "x"),), (("task", 2, "over"), ("delta", 3, 3))),
    ((("retire", 3),), (("entry", 5, "y"), ("submission", 6, "queued"))),
)
SPREAD: tuple[Group, ...] = (  # a sidecar and a named file whose entries are new after main's
    ((("conversation", 1),),),
    ((("task", 2, "running"), ("names", "run-2.out"), ("entry", 4, "x")),),
    ((("task", 2, "pending"),),),
)
ALIGNED: tuple[Group, ...] = (  # lines of one length, so what a failed group left could pass for later ones
    ((("conversation", 1),),),
    tuple((("entry", number, "x"),) for number in (5, 6, 7, 8)),
    ((("entry", 9, "y"),),),
)
SHORTENED: tuple[Group, ...] = (  # a sidecar that was rewritten, and is appended to afterwards
    ((("conversation", 1), ("create", 3, "current", 1)),),
    ((("base", 3, 2),),),
    ((("delta", 3, 3),),),
)
HISTORIES = {"alone": ALONE, "grouped": GROUPED, "spread": SPREAD, "shortened": SHORTENED, "aligned": ALIGNED}
CUTS = {
    ALONE: 33,
    GROUPED: 20,
    SPREAD: 19,
    SHORTENED: 24,
    ALIGNED: 10,
}  # steps of the history, and one more: counted, so none is lost unseen

CLASSES = {
    "prefix": Images("prefix", "ordered"),
    "zeros": Images("zeros", "ordered"),
    "sectors": Images("sectors", "ordered"),
    "names": Images("prefix", "any"),
    "sectors and names": Images("sectors", "any"),
}


def machine(sector: int = 64) -> CrashFiles:
    """A machine whose /root is durable, and in it a storage's directory that is not."""
    files = CrashFiles(sector=sector)
    files.make_directory("/root")
    files.flush_directory("/")
    files.make_directory(PLACE)
    return files


def shown(files: CrashFiles, *, fsync: bool = True) -> dict[int, tuple[Any, ...]]:
    """What an open of this file system shows; of no directory at all, nothing."""
    if files.stat(PLACE) is None:
        return {}
    storage = Storage.open(files, PLACE, fsync=fsync)
    there = view(storage.records)
    storage.close()
    return there


def run(
    files: CrashFiles,
    groups: tuple[Group, ...],
    *,
    crash_at: int | None = None,
    faults: dict[int, str] | None = None,
    fsync: bool = True,
) -> Outcome:
    """One process, up to its end, its first fatal fault or the loss of power."""
    files.steps, files.trace, files.met = 0, [], []
    files.crash_at, files.faults = None, {}
    outcome = Outcome()
    files.crash_at, files.faults = crash_at, dict(faults or {})
    with suppress(PowerLoss):
        play(files, groups, outcome, fsync=fsync)
    files.crash_at, files.faults = None, {}
    return outcome


def steps_of(groups: tuple[Group, ...], faults: dict[int, str] | None = None) -> int:
    files = machine()
    run(files, groups, faults=faults)
    return files.steps


def check_image(
    image: CrashFiles, may: list[dict[int, tuple[Any, ...]]], seen: Counter[str], why: Any
) -> None:
    """One thing that the crash left: it opens, to one of what may be there; and it works on."""
    there = shown(image)
    assert there in may, (why, there, may)
    seen["images"] += 1
    seen["more than acknowledged"] += there != may[0]
    torn = image.stat(PLACE) and any(".torn-" in entry.name for entry in image.scan(PLACE))
    seen["torn tails"] += bool(torn)
    if 4 in may[0]:  # the commit that names the file is acknowledged
        seen["named files"] += 1
        assert image.open(f"{PLACE}/run-2.out").read(0, 100) == RUN_OUTPUT, why
    if there and (seen["images"] % 5 == 0 or len(more(there)) == 1):
        work_on(image, there, why)
        seen["worked on"] += 1


def work_on(image: CrashFiles, there: dict[int, tuple[Any, ...]], why: Any) -> None:
    """One more commit, and a second crash that loses all that is not flushed."""
    later = tuple(more(there))
    outcome = Outcome()
    play(image, ((later,),), outcome)
    assert outcome.acked == [(later,)], why
    world = World()
    world.there = there
    (after,) = image.after_power_loss(Images("none", "none"))
    assert shown(after) == world.take(later).there, why


def more(there: dict[int, tuple[Any, ...]]) -> Operations:
    """A batch that touches every sidecar there is, and makes one more; where there is none, one like the last."""
    if all(seen[0] in {"conversation", "entry"} for seen in there.values()):
        return (("entry", 2, "z"),)
    touched: list[Operation] = [
        ("task", number, "running")
        for number, seen in there.items()
        if seen[0] == "task" and seen[1] != "over"
    ]
    touched += [("delta", number, 70) for number, seen in there.items() if seen[0] == "document"]
    return (("entry", 90, "z"), ("create", 91, "current", 7), *touched)


def explore_cuts(groups: tuple[Group, ...], images: Images, sector: int = 64) -> Counter[str]:
    """Power loss after every step; nothing else goes wrong."""
    seen: Counter[str] = Counter()
    for crash_at in range(steps_of(groups) + 1):
        files = machine(sector)
        outcome = run(files, groups, crash_at=crash_at)
        seen["cuts"] += 1
        may = allowed(World(), outcome)
        for image in files.after_power_loss(images):
            check_image(image, may, seen, (crash_at, files.trace[-2:]))
    return seen


def explore_kills(
    groups: tuple[Group, ...], images: Images, faults: dict[int, str] | None = None
) -> Counter[str]:
    """The process dies after a step; the next one opens; during that open, or after it, the power goes."""
    seen: Counter[str] = Counter()
    for killed_at in range(steps_of(groups, faults) + 1):
        files = machine()
        outcome = run(files, groups, crash_at=killed_at, faults=faults)
        may = allowed(World(), outcome)
        steps = steps_of_reopen(groups, killed_at, faults)
        for crash_at in range(steps + 1):
            files = machine()
            run(files, groups, crash_at=killed_at, faults=faults)
            files.after_kill()
            files.crash_at = crash_at
            try:
                there = shown(files)
            except PowerLoss:
                there = None
            files.crash_at = None
            if there is not None:
                assert there in may, (killed_at, there, may)
                seen["shown"] += 1
            for image in files.after_power_loss(images):
                left = shown(image)
                expected = may if there is None else [there]
                assert left in expected, (killed_at, crash_at, left, expected)
                seen["images"] += 1
    return seen


def steps_of_reopen(groups: tuple[Group, ...], killed_at: int, faults: dict[int, str] | None) -> int:
    files = machine()
    run(files, groups, crash_at=killed_at, faults=faults)
    files.after_kill()
    shown(files)
    return files.steps


def faults_of(groups: tuple[Group, ...]) -> Iterator[dict[int, str]]:
    """Every single fault: each kind at each step that it can meet."""
    files = machine()
    run(files, groups)
    trace = files.trace[-files.steps :]
    for number, step in enumerate(trace):
        if step == "append run-2.out":
            continue  # not ours
        if step.startswith(("append", "write")):
            yield from ({number: fault} for fault in WRITE_FAULTS)
        elif step.startswith("truncate"):
            yield {number: "EIO"}
        elif step.startswith("flush"):
            # Nobody can do anything about a flush that lies, but that it costs no more than what it covers:
            # so only main's lie here, and not before a sidecar is reclaimed on its word.
            reclaims = "".join(trace[number + 1 : number + 2]).startswith(
                ("unlink", "create doc-3.jsonl.reclaim")
            )
            lies = step == "flush main.jsonl" and not reclaims
            yield from ({number: fault} for fault in FLUSH_FAULTS if fault != "late" or lies)


def explore_faults(groups: tuple[Group, ...], images: Images) -> Counter[str]:
    """Every single fault; then power loss at the end; and kill, reopen, power loss."""
    seen: Counter[str] = Counter()
    for faults in faults_of(groups):
        files = machine()
        outcome = run(files, groups, faults=faults)
        seen["met"] += bool(files.met)
        seen["poisoned"] += outcome.poisoned
        seen["undone"] += outcome.failed
        (kind,) = faults.values()
        may = allowed(World(), outcome)
        if kind == "late":
            may += [there for there in outcome.shown if there not in may]  # what the lie covered can be gone
        for image in files.after_power_loss(images):
            check_image(image, may, seen, faults)
        files = machine()
        outcome = run(files, groups, faults=faults)
        files.after_kill()
        there = reopened(files)
        assert there in may, (faults, there, may)
        for image in files.after_power_loss(images):
            assert shown(image) == there, faults
            seen["shown"] += 1
    return seen


def reopened(files: CrashFiles) -> dict[int, tuple[Any, ...]]:
    """What the next process shows. An open that meets the error of an earlier flush fails; the next one does not."""
    try:
        return shown(files)
    except Broken:
        return shown(files)


@pytest.mark.parametrize("groups", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("images", CLASSES.values(), ids=CLASSES)
def test_power_loss_after_every_step(groups: tuple[Group, ...], images: Images) -> None:
    """log_ack_durable, log_only_commits, log_group_is_serial."""
    seen = explore_cuts(groups, images)
    assert seen["cuts"] == CUTS[groups]
    assert seen["images"] > 90
    assert seen["worked on"] > 10
    assert seen["more than acknowledged"] > 0
    assert seen["torn tails"] > 0 or images.data != "prefix"


@pytest.mark.parametrize("sector", [32, 256])
def test_power_loss_with_other_sectors(sector: int) -> None:
    assert explore_cuts(GROUPED, CLASSES["sectors"], sector)["images"] > 100


@pytest.mark.parametrize("groups", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("kind", ["prefix", "sectors and names"])
def test_kill_reopen_power_loss(groups: tuple[Group, ...], kind: str) -> None:
    """log_shown_durable, with the power going in the middle of the recovery too."""
    images = CLASSES[kind]._replace(at_most=60)
    seen = explore_kills(groups, images)
    assert seen["shown"] > 9
    assert seen["images"] > 100


@pytest.mark.parametrize("groups", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("kind", ["prefix", "sectors"])
def test_every_single_fault(groups: tuple[Group, ...], kind: str) -> None:
    """log_poison, log_enospc: nothing acknowledged is lost, the log works on after a failed write."""
    seen = explore_faults(groups, CLASSES[kind]._replace(at_most=40))
    assert seen["met"] > 40
    assert seen["poisoned"] > 15
    assert seen["undone"] > 15
    assert seen["images"] > 60


def explore_unflushed(groups: tuple[Group, ...], images: Images) -> Counter[str]:
    """A process that flushes nothing dies; the next one flushes, shows, and then the power goes."""
    seen: Counter[str] = Counter()
    files = machine()
    run(files, groups, fsync=False)
    for killed_at in range(files.steps + 1):
        files = machine()
        outcome = run(files, groups, crash_at=killed_at, fsync=False)
        files.after_kill()
        there = shown(files)
        assert there in allowed(World(), outcome), killed_at
        for image in files.after_power_loss(images):
            assert shown(image) == there, killed_at
            seen["images"] += 1
    return seen


@pytest.mark.parametrize("groups", HISTORIES.values(), ids=HISTORIES)
def test_an_open_with_flushes_after_a_process_without(groups: tuple[Group, ...]) -> None:
    """log_shown_durable does not depend on what the process before flushed."""
    assert explore_unflushed(groups, CLASSES["sectors and names"]._replace(at_most=40))["images"] > 4


# leaving out one step of the shipped executors

_do_commit, _do_open = log.Log.do, opening.do


def is_sidecar(step: Any) -> bool:
    return isinstance(step, log_law.FlushFile | log_law.CutBack) and step.name.startswith(("task", "doc"))


COMMIT_STEPS = {
    "flush of a sidecar": lambda step, before: isinstance(step, log_law.FlushFile) and is_sidecar(step),
    "flush of a named file": lambda step, before: (
        isinstance(step, log_law.FlushFile) and not is_sidecar(step)
    ),
    "flush of the directory before the marker": lambda step, before: (
        isinstance(step, log_law.FlushDirectory) and not isinstance(before, log_law.FlushMain)
    ),
    "flush of main": lambda step, before: isinstance(step, log_law.FlushMain),
    "flush of the directory after main": lambda step, before: (
        isinstance(step, log_law.FlushDirectory) and isinstance(before, log_law.FlushMain)
    ),
    "undo on main": lambda step, before: isinstance(step, log_law.CutBack) and not is_sidecar(step),
    "undo on a sidecar": lambda step, before: isinstance(step, log_law.CutBack) and is_sidecar(step),
}
OPEN_STEPS = {
    "cut of main": lambda step: isinstance(step, log_law.CutBack) and not is_sidecar(step),
    "cut of a sidecar": lambda step: isinstance(step, log_law.CutBack) and is_sidecar(step),
    "rewrite": lambda step: isinstance(step, open_law.Rewrite),
    "flush of a sidecar": lambda step: isinstance(step, log_law.FlushFile),
    "flush of main": lambda step: isinstance(step, log_law.FlushMain),
    "flush of the directory": lambda step: isinstance(step, log_law.FlushDirectory),
    "flush of the parent": lambda step: isinstance(step, open_law.FlushParent),
}


def explore_all() -> None:
    """The exploration, smaller, in the order in which it finds most."""
    few = Images("prefix", "any", at_most=40)
    for groups in (SPREAD, ALONE, SHORTENED, GROUPED, ALIGNED):
        explore_cuts(groups, few)
        explore_cuts(groups, few._replace(data="sectors"))
        explore_faults(groups, few)
        explore_kills(groups, few._replace(at_most=8))
        explore_unflushed(groups, few)


@pytest.mark.parametrize("left_out", COMMIT_STEPS.values(), ids=COMMIT_STEPS)
def test_the_exploration_misses_no_step_of_a_commit(left_out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """log_commit_plan: without any one of its steps, a crash is found that loses something."""
    without_a_step(left_out, monkeypatch)


def without_a_step(left_out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    skipped = Counter[str]()
    before: list[Any] = [None]

    def do(self: log.Log, step: Any, work: Any) -> None:
        skip = left_out(step, before[0])
        before[0] = step
        skipped["steps"] += skip
        if not skip:
            _do_commit(self, step, work)

    monkeypatch.setattr(log.Log, "do", do)
    with pytest.raises((AssertionError, Corrupt)):
        explore_all()
    assert skipped["steps"] > 0


@pytest.mark.parametrize("left_out", OPEN_STEPS.values(), ids=OPEN_STEPS)
def test_the_exploration_misses_no_step_of_an_open(left_out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """log_open_plan: the same for an open."""
    skipped = Counter[str]()

    def do(files: Any, path: str, step: Any) -> None:
        skip = left_out(step)
        skipped["steps"] += skip
        if not skip:
            _do_open(files, path, step)

    monkeypatch.setattr(opening, "do", do)
    with pytest.raises((AssertionError, Corrupt)):
        explore_all()
    assert skipped["steps"] > 0


def test_the_exploration_finds_nothing_in_the_whole_plan() -> None:
    """What the two tests above rely on."""
    explore_all()
