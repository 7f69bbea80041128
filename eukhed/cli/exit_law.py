"""The exit status of a command that shows a run: the run's own, with our trouble kept out of its way.

Law: shared/laws/exit.md. Callers: entry.py, run.py, attach.py, wait.py. Pure.
"""

from typing import Final

TIMED_OUT: Final = 124
OUR_TROUBLE: Final = 125
SIGNALLED: Final = 128
AS_RUNS: Final = frozenset(
    {"run", "attach", "wait", "rerun", "bash", "spawn"}
)  # they exit with a run's status
FAILED: Final = 1
USAGE: Final = 2
OF_BUNDLES: Final = "bundle run"  # whose 2 says that a run is incomplete
TOLD_BEFORE: Final = frozenset({2, 4, 5})  # usage, no daemon, no such thing: said before a run was touched


def of_end(code: int | None, signal: int | None, *, timed_out: bool) -> int:
    """Return the status for a run that ended with this exit status, or by this signal, or neither (lost)."""
    if timed_out:
        return TIMED_OUT
    if code is not None:
        return code & 0xFF
    if signal is not None:
        return (SIGNALLED + signal) & 0xFF
    return OUR_TROUBLE


def of_trouble(command: str, status: int) -> int:
    """Return the status for an error whose own is `status`, told by this command."""
    if command == OF_BUNDLES:
        return status if status in TOLD_BEFORE - {USAGE} else FAILED
    if command not in AS_RUNS or status in TOLD_BEFORE:
        return status
    return OUR_TROUBLE
