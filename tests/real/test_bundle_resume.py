"""A worker that is killed at each row of a run's journal: the next one goes on, and makes no answered call again.

Laws: run_replay_exact, replay_stored, replay_asked_again, replay_uncertain.
"""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eukhed.storage.records import Terminal
from tests.real.bundles import Bundles
from tests.real.home import scratch_home, until

pytestmark = pytest.mark.real

# twelve calls; it goes round for a while after the one that the input names
PROGRAM = """
function run(input) {
  const said = []
  for (let n = 1; n <= 12; n++) {
    if (n === 4) remember("note of " + input.key)
    else if (n === 8) said.push(recall("note of " + input.key).map((note) => note.text))
    else if (n === 10) log("line of " + input.key)
    else said.push(ai("ask", [input.key, n]).said)
    if (n === input.rest) for (let i = 0; i < 3e7; i++);
  }
  return {said, chance: Math.random() < 2, now: Date.now() > 0}
}
"""
PROMPTS = [n for n in range(1, 13) if n not in {4, 8, 10}]


@pytest.fixture(scope="module")
def bundles() -> Iterator[Bundles]:
    with scratch_home() as home:
        made = Bundles(home)
        made.with_helpers()
        made.mint("twelve", PROGRAM, {"ask.md": "say it again"})
        yield made


def ended(bundles: Bundles, storage: str, run: int) -> Terminal:
    def look() -> Terminal | None:
        state = bundles.task(storage, run).state
        return state if isinstance(state, Terminal) else None

    found = until(look, what=f"run {run} to end")
    assert found is not None
    return found


def whole(bundles: Bundles, key: str, storage: str, run: int) -> None:
    """The run is as it would have been without any death."""
    end = ended(bundles, storage, run)
    assert end.outcome == "completed", end
    told = json.loads((Path(storage) / f"run-{run}.out").read_text())
    said = [[key, n] for n in PROMPTS if n < 8] + [[f"note of {key}"]] + [[key, n] for n in PROMPTS if n > 8]
    assert told == {"said": said, "chance": True, "now": True}
    assert (Path(storage) / f"run-{run}.err").read_text() == f"line of {key}\n"
    result: Any = end.result
    assert (result["calls"], result["spend"]) == (12, {"tokensIn": 63, "tokensOut": 27, "microUsd": 4500})
    rows = [(row["seq"], row["row"]) for row in bundles.rows(storage, run)]
    wanted = [(0, "began")]
    for n in range(1, 13):
        wanted += [(n, "asked"), (n, "answered")]
    assert rows == wanted


def times(bundles: Bundles, key: str) -> dict[int, int]:
    """How often each question of a run was put."""
    return dict(Counter(n for one, n in bundles.asked() if one == key))


@pytest.mark.parametrize("at", PROMPTS)
def test_killed_after_it_asked(bundles: Bundles, at: int) -> None:
    """run_replay_exact: what was in flight is asked again, and nothing else."""
    key = f"asked{at}"
    bundles.kill_at([key, at])
    run = bundles.begin("twelve", key, {"key": key})
    storage = bundles.storage(key)
    whole(bundles, key, storage, run)
    assert times(bundles, key) == {n: 2 if n == at else 1 for n in PROMPTS}


@pytest.mark.parametrize("at", range(1, 13))
def test_killed_after_it_was_answered(bundles: Bundles, at: int) -> None:
    """run_replay_exact: nothing is asked again; a note is remembered once."""
    key = f"answered{at}"
    run = bundles.begin("twelve", key, {"key": key, "rest": at})
    storage, worker = bundles.storage(key), bundles.home.workers()[key]
    until(lambda: len(bundles.rows(storage, run)) >= 1 + 2 * at, what=f"the answer of call {at}")
    os.kill(worker, signal.SIGKILL)
    assert len(bundles.rows(storage, run)) == 1 + 2 * at, "the program went on before it was killed"
    whole(bundles, key, storage, run)
    assert times(bundles, key) == dict.fromkeys(PROMPTS, 1)
    notes = json.loads(bundles.home.ok("bundle", "recall", "twelve", f"note of {key}", "--json"))
    assert len([one for one in notes if one["text"] == f"note of {key}"]) == 1


@pytest.mark.parametrize(("tool", "says", "starts"), [("once", "uncertain", 1), ("often", "made", 2)])
def test_killed_while_a_tool_was_at_work(bundles: Bundles, tool: str, says: str, starts: int) -> None:
    """replay_uncertain: a tool is not started twice, unless its owner says that it may be."""
    program = f"try {{ tool('{tool}', 1); 'made' }} catch (error) {{ error.name }}"
    bundles.mint(f"tool-{tool}", program, whitelist=["once", "often"])
    before = bundles.started()
    (bundles.place / "kill-tool").touch()
    ran = bundles.run(f"tool-{tool}", "--session", tool)
    assert (ran.exit, ran.output) == (0, says), ran.err
    assert bundles.started() - before == starts


def test_a_bundle_that_changed_on_the_disk_is_not_run(bundles: Bundles) -> None:
    bundles.mint("edited", "1")
    place = bundles.home.root / "subharnesses" / "edited" / "v1" / "program.js"
    place.chmod(0o644)
    place.write_text("2")
    ran = bundles.run("edited")
    assert ran.exit == 1
    assert "not those that were minted" in ran.err
