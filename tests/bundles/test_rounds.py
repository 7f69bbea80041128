"""Many real processes at once: rounds of mints from one head, and notes."""

import multiprocessing
import os
import re
from collections import Counter
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from eukhed.host.files import SystemFiles
from tests.bundles.machine import NAME, check_lineage, shelf
from tests.bundles.rounds import note, take_part, text_of
from tests.bundles.stepping import mint_from_head, store_of

LONG = os.environ.get("EUKHED_PROFILE") == "long"
PROCESSES = 24
ROUNDS = 100 if LONG else 25
WRITERS = 8
NOTES = 1000 if LONG else 125


class Crowd:
    """Processes that are gone when the test is over."""

    def __init__(self) -> None:
        self.context: ForkServerContext = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tests.bundles.rounds"])
        self.processes: list[BaseProcess] = []

    def start(self, target: Any, *args: Any, **more: Any) -> None:
        process = self.context.Process(target=target, args=args, kwargs=more)
        process.start()
        self.processes.append(process)

    def join(self) -> None:
        for process in self.processes:
            process.join(100)
            assert process.exitcode == 0


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    made = Crowd()
    yield made
    for process in made.processes:
        process.kill()
        process.join()


@pytest.mark.real
@pytest.mark.parametrize("locks", [True, False])
def test_mint_linear_of_24_that_mint_from_one_head(crowd: Crowd, tmp_path: Path, locks: bool) -> None:
    """mint_linear: in each round one wins, the others are refused, and no two versions have one parent."""
    directory, ledger = str(tmp_path / "store"), tmp_path / "ledger"
    ledger.touch()
    mint_from_head(store_of(directory), "first")
    barrier = crowd.context.Barrier(PROCESSES)
    for number in range(PROCESSES):
        crowd.start(take_part, directory, str(ledger), number, ROUNDS, barrier, locks=locks)
    crowd.join()
    said = [line.split() for line in ledger.read_text().splitlines()]
    assert len(said) == PROCESSES * ROUNDS
    made = {int(line[0]): int(line[2]) for line in said if line[1] == "made"}
    refused = Counter(line[1] for line in said if line[1] != "made")
    assert sorted(made) == list(range(ROUNDS)), "a round had no winner"
    assert refused.total() == (PROCESSES - 1) * ROUNDS, "a round had two winners"
    assert refused.keys() <= {"stale_parent", "exists", "mint_busy"}
    versions = check_lineage(SystemFiles(), f"{directory}/{NAME}")
    assert sorted(versions) == [1, *(made[turn] for turn in range(ROUNDS))]
    assert all(versions[number].why == f"round {turn}" for turn, number in made.items())
    assert len({one.parent_version for one in versions.values()}) == len(versions)
    assert store_of(directory).verify(NAME) == []
    dead = shelf(SystemFiles(), f"{directory}/{NAME}").dead
    if locks:
        assert (dead, max(versions)) == ([], ROUNDS + 1)
    else:
        assert refused["exists"] > 0, "nobody met another's claim"
    print(locks, dict(refused), len(dead))


@pytest.mark.real
def test_memory_append_only_of_8_that_write_at_once(crowd: Crowd, tmp_path: Path) -> None:
    """memory_append_only, memory_round_trip: all notes are there, each whole, and each writer's in its order."""
    directory = str(tmp_path / "store")
    mint_from_head(store_of(directory), "first")
    for number in range(WRITERS):
        crowd.start(note, directory, number, NOTES)
    crowd.join()
    memory = store_of(directory).memory(NAME)
    texts = [one.text for one in reversed(memory.notes())]
    assert texts.pop(0) == "seed"
    assert len(texts) == WRITERS * NOTES
    for number in range(WRITERS):
        mine = [text for text in texts if re.match(rf"{number}\.", text)]
        assert mine == [text_of(number, turn) for turn in range(NOTES)]
