"""What the end of a run means for its job."""

from typing import Any

import pytest

from eukhed.cron.jobs import End, Outcome
from eukhed.cron.outcome import ENDS, outcome_of
from eukhed.storage.runs import STATES


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        ({"state": "done", "exit": 0}, Outcome(End.RAN)),
        ({"state": "failed", "exit": 3}, Outcome(End.FAILED, "exit 3")),
        ({"state": "failed", "exit": 127, "error": "not found: x"}, Outcome(End.FAILED, "not found: x")),
        ({"state": "failed", "signal": 9}, Outcome(End.FAILED, "ended by signal 9 (KILL)")),
        ({"state": "failed", "signal": 60}, Outcome(End.FAILED, "ended by signal 60 (real-time)")),
        ({"state": "lost", "error": "its input is gone"}, Outcome(End.FAILED, "its input is gone")),
        ({"state": "lost"}, Outcome(End.FAILED, "lost")),
        ({"state": "stopped", "stopped_by": "you", "signal": 15}, Outcome(End.STOPPED, "stopped by you")),
        ({"state": "stopped", "stopped_by": "timeout"}, Outcome(End.FAILED, "its time was over")),
        ({"state": "interrupted"}, Outcome(End.INTERRUPTED, "interrupted")),
    ],
    ids=str,
)
def test_only_what_failed_by_itself_is_a_failure(run: dict[str, Any], outcome: Outcome) -> None:
    assert outcome_of(run) == outcome


def test_every_state_in_which_a_run_is_over_has_an_end() -> None:
    assert {"done", *STATES.values()} == ENDS.keys()
