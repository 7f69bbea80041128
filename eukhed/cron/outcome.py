"""What the end of a run means for the job that made it (docs/cron.md, "What happens at a fire").

A failure is a run that ended failed or lost, or that its own time limit stopped. One that a user stopped, or
a reboot interrupted, says nothing of the job.
"""

import signal
from collections.abc import Mapping
from typing import Any, Final

from eukhed.cron.jobs import End, Outcome

ENDS: Final = {
    "done": End.RAN,
    "failed": End.FAILED,
    "lost": End.FAILED,
    "stopped": End.STOPPED,
    "interrupted": End.INTERRUPTED,
}
BY_TIMEOUT: Final = "timeout"


def outcome_of(run: Mapping[str, Any]) -> Outcome:
    """The outcome of a run that is over, from its row (`state`, `exit`, `signal`, `error`, `stopped_by`)."""
    end = ENDS[run["state"]]
    if end is End.STOPPED and run.get("stopped_by") == BY_TIMEOUT:
        return Outcome(End.FAILED, "its time was over")
    if end is End.RAN:
        return Outcome(end)
    return Outcome(end, _reason(run))


def _reason(run: Mapping[str, Any]) -> str:
    if run.get("error"):
        return str(run["error"])
    if run.get("stopped_by"):
        return f"stopped by {run['stopped_by']}"
    if run.get("signal") is not None:
        return f"ended by signal {run['signal']} ({_signal_name(run['signal'])})"
    if run.get("exit") is not None:
        return f"exit {run['exit']}"
    return str(run["state"])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return "real-time"
