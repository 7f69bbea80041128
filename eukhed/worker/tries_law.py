"""Whether a try that ended is made again, and after which pause.

Law: shared/laws/tries.md. Caller: tries.py. Pure: facts in, verdict out.
"""

from typing import NamedTuple

from eukhed.timing import Backoff

TIMED_OUT = 124
SIGNALLED = 128


class Retry(NamedTuple):
    """What was asked for, as it stands at one try."""

    left: int  # tries that may still follow it
    made: int  # tries before it
    on: tuple[int, ...] = ()  # exit statuses that are tried again; none: all that are no success


class End(NamedTuple):
    """How a try ended."""

    failed: bool  # by itself: not done, not stopped, and how it ended is known
    timed_out: bool  # stopped by its own timeout
    exit: int | None
    signal: int | None


def status_of(end: End) -> int | None:
    """The status that a try counts as; None when nobody knows it."""
    if end.timed_out:
        return TIMED_OUT
    if end.exit is not None:
        return end.exit
    return None if end.signal is None else SIGNALLED + end.signal


def pause_ms(retry: Retry, end: End, backoff: Backoff) -> int | None:
    """How long after its end the next try begins; None when there is none."""
    if retry.left <= 0 or not (end.failed or end.timed_out):
        return None
    if retry.on and status_of(end) not in retry.on:
        return None
    return min(backoff.max_ms, backoff.min_ms << min(retry.made, 32))


def following(retry: Retry) -> Retry:
    """The same at the next try."""
    return Retry(retry.left - 1, retry.made + 1, retry.on)
