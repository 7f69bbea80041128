"""Random histories of a storage over several processes, each ended by a kill or a loss of power at any step."""

import os
from collections import Counter
from contextlib import suppress
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eukhed.errors import Broken
from tests.fakes.crash_files import FLUSH_FAULTS, WRITE_FAULTS, CrashFiles, Images, PowerLoss
from tests.storage.histories import PLACE, Group, Operation, Operations, Outcome, World, allowed, play
from tests.storage.test_crash import machine, reopened, shown

HISTORIES = {"ci": 120, "long": 500}.get(os.environ.get("EUKHED_PROFILE", "dev"), 40)
DATA = ("prefix", "zeros", "sectors")
NAMES = ("ordered", "any")


@st.composite
def operation(draw: st.DrawFn, there: dict[int, tuple[Any, ...]], touched: set[int]) -> Operation | None:
    """One that the storage takes, on a record that is there or on a new one."""
    fresh = max(there, default=1) + draw(st.integers(1, 2))
    free = {number: seen for number, seen in there.items() if number not in touched}
    tasks = [number for number, seen in free.items() if seen[0] == "task" and seen[1] != "over"]
    documents = [number for number, seen in free.items() if seen[0] == "document"]
    queued = [number for number, seen in free.items() if seen == ("submission", "queued")]
    kinds = ["entry", "task", "create", "submission"]
    kinds += ["state"] * 3 * bool(tasks) + ["content", "content", "retire"] * bool(documents)
    kinds += ["status"] * bool(queued)
    match draw(st.sampled_from(kinds)):
        case "entry":
            return ("entry", fresh, draw(st.text(max_size=30)))
        case "task":
            return ("task", fresh, draw(st.sampled_from(["pending", "running", "over"])))
        case "create":
            return ("create", fresh, draw(st.sampled_from(["rewindable", "current"])), 0)
        case "submission":
            return ("submission", fresh, "queued")
        case "state":
            return (
                "task",
                draw(st.sampled_from(tasks)),
                draw(st.sampled_from(["pending", "running", "over"])),
            )
        case "content":
            return (
                draw(st.sampled_from(["delta", "base"])),
                draw(st.sampled_from(documents)),
                draw(st.integers(0, 99)),
            )
        case "retire":
            return ("retire", draw(st.sampled_from(documents)))
        case "status":
            return ("submission", draw(st.sampled_from(queued)), "done")
    raise AssertionError


@st.composite
def groups(draw: st.DrawFn, there: dict[int, tuple[Any, ...]]) -> tuple[Group, ...]:
    """Some groups of batches that follow one another on what is there."""
    world = World()
    world.there = dict(there)
    found: list[Group] = []
    for _ in range(draw(st.integers(1, 4))):
        batches: list[Operations] = []
        for _ in range(draw(st.integers(1, 3))):
            batch: list[Operation] = []
            if 1 not in world.there:
                batch.append(("conversation", 1))
            touched: set[int] = set()
            for _ in range(draw(st.integers(0, 3))):
                after = world.take(tuple(batch)).there
                if (one := draw(operation(after, touched))) is not None:
                    batch.append(one)
                    touched.add(one[1])
            world = world.take(tuple(batch))
            batches.append(tuple(batch))
        found.append(tuple(batches))
    return tuple(found)


FAULT_KINDS = (*WRITE_FAULTS, *FLUSH_FAULTS[:-1])


def one_process(data: st.DataObject, files: CrashFiles, there: dict[int, tuple[Any, ...]]) -> Outcome:
    """A process works on what is there until it is done, fails, or the end comes, at any step of its life."""
    work = data.draw(groups(there))
    rehearsal = deepcopy(files)
    rehearsal.steps = 0
    play(rehearsal, work, Outcome())
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, rehearsal.steps - 1))
        files.faults = {at: data.draw(st.sampled_from(FAULT_KINDS))}
    if data.draw(st.booleans()):
        files.crash_at = data.draw(st.integers(0, rehearsal.steps))
    outcome = Outcome()
    with suppress(PowerLoss, Broken):
        play(files, work, outcome)
    return outcome


SEEN: Counter[str] = Counter()


@settings(max_examples=HISTORIES)
@given(st.data())
def test_random_histories(data: st.DataObject) -> None:
    """log_ack_durable, log_only_commits, log_shown_durable over the lives of up to three processes."""
    files = machine(data.draw(st.sampled_from([16, 64, 256])))
    there: dict[int, tuple[Any, ...]] = {}
    for _ in range(data.draw(st.integers(1, 3))):
        outcome = one_process(data, files, there)
        world = World()
        world.there = there
        may = allowed(world, outcome)
        files.after_kill()
        if data.draw(st.booleans()):
            there = reopened(files)
            assert there in may, (there, may)
            may = [there]
            SEEN["kills"] += 1
        images = Images(
            data.draw(st.sampled_from(DATA)),
            data.draw(st.sampled_from(NAMES)),
            at_most=24,
            seed=data.draw(st.integers(0, 99)),
        )
        left = list(files.after_power_loss(images))
        for image in left:
            found = shown(image)
            assert found in may, (found, may)
            SEEN["images"] += 1
            SEEN["beyond"] += found != may[0]
        files = left[data.draw(st.integers(0, len(left) - 1))]
        if files.stat(PLACE) is None:
            files.make_directory(PLACE)
        there = shown(files)
        files.after_kill()
        SEEN["acked"] += len(outcome.acked)
        SEEN["poisoned"] += outcome.poisoned
        SEEN["undone"] += outcome.failed


def test_the_histories_were_no_idle_ones() -> None:
    """Each case that matters was met."""
    assert SEEN["images"] > HISTORIES
    assert SEEN["acked"] > HISTORIES / 2
    for case in ("kills", "poisoned", "undone", "beyond"):
        assert SEEN[case] > 0 or HISTORIES < 100, case
