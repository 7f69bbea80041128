"""Real processes on a real disk: eight that race, and three that are killed over and over."""

import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from eukhed.host.files import SystemFiles
from tests.bundles.machine import NAME, bundle, check_lineage, real_store, run, shelf
from tests.bundles.minter import mint

SECONDS = int(os.environ.get("EUKHED_SECONDS", "6"))


class House:
    """The store's directory, what its processes said, and the processes."""

    def __init__(self, tmp_path: Path) -> None:
        self.directory = str(tmp_path / "subharnesses")
        self.place = f"{self.directory}/{NAME}"
        self.ledger = tmp_path / "ledger"
        self.ledger.touch()
        self.processes: list[BaseProcess] = []
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tests.bundles.minter"])

    def start(self, tag: str, times: int, *, notes: bool = False) -> BaseProcess:
        process = self.context.Process(
            target=mint, args=(self.directory, str(self.ledger), tag, times), kwargs={"notes": notes}
        )
        process.start()
        self.processes.append(process)
        return process

    def said(self, word: str) -> list[list[str]]:
        lines = [line.split() for line in self.ledger.read_text().splitlines()]
        return [line for line in lines if line[0] == word]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    for process in made.processes:
        process.kill()
        process.join()


@pytest.mark.real
def test_mint_linear_of_eight_that_race(house: House) -> None:
    """mint_linear: each answered version is there once, the line has no fork, and refusals are of the known kinds."""
    for number in range(8):
        house.start(f"p{number}", 25)
    for process in house.processes:
        process.join(100)
        assert process.exitcode == 0
    versions = check_lineage(SystemFiles(), house.place)
    made = house.said("made")
    assert sorted((int(number), content) for _, number, content in made) == sorted(
        (number, record.hash) for number, record in versions.items()
    )
    assert shelf(SystemFiles(), house.place).dead == []
    assert sorted(versions) == list(range(1, len(versions) + 1))
    refused = Counter(line[1] for line in house.said("refused"))
    assert refused.keys() <= {"stale_parent", "parent_needed", "mint_busy"}
    assert len(made) + refused.total() == 200
    assert len(made) > 25
    assert refused["stale_parent"] > 0, "nobody raced"


@pytest.mark.real
@pytest.mark.timeout(SECONDS + 110)
def test_mint_linear_under_kill(house: House) -> None:
    """mint_linear, mint_claim_before_bundle, memory_append_only: three that mint, killed at any moment."""
    chance = random.Random(os.environ.get("EUKHED_SEED", "7"))
    files, kills = SystemFiles(), 0
    running = [house.start(f"k{number}", 0, notes=True) for number in range(3)]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        up = {int(line[1]) for line in house.said("up")}
        if not all(process.pid in up for process in running):
            continue
        time.sleep(chance.random() * 0.1)
        victims = [chance.randrange(3)]
        if chance.random() < 0.7:  # one of them is at it: it has a stage
            victims = [0, 1, 2]
            while not shelf(files, house.place).stages and time.monotonic() < end:
                pass
            time.sleep(chance.random() * 0.002)
        for victim in victims:
            running[victim].kill()
        for victim in victims:
            running[victim].join()
            kills += 1
            running[victim] = house.start(f"k{victim}x{kills}", 0, notes=True)
    for process in running:
        process.kill()
        process.join()
    versions = check_lineage(files, house.place)
    for _, number, content in house.said("made"):
        assert versions[int(number)].hash == content
    left = shelf(files, house.place)
    store = real_store(Path(house.directory).parent)
    made = run(store.mint(bundle("the last", memory=b"seed\n"), store.record(NAME).hash, "after all"))
    assert made.version == left.next
    assert shelf(files, house.place).stages == ()
    assert store.verify(NAME) == []
    notes = [note.text for note in store.memory(NAME).notes()]
    assert notes[-1] == "seed"
    assert {line[1] for line in house.said("noted")} <= set(notes)
    assert len(notes) == len(set(notes))
    assert kills > 5
    assert len(versions) > 5
    print(f"{kills} kills, {len(versions)} versions, dead {left.dead}, stages {len(left.stages)}")
