"""
Whether a checkpoint may stand for the head of the log, and when a new one is due.

Law: shared/laws/checkpoint.md. Caller: checkpoint.py. Pure: facts in, verdict out.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

DUE_BYTES: Final = 4 * 1024 * 1024  # of log since the last one
DUE_SHARE: Final = 2  # so many bytes of log for each byte of the last one


class Verdict(Enum):
    """What an open does with a checkpoint."""

    USE = "use"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Facts:
    """What was seen of an undamaged checkpoint and of the log beside it."""

    ours: bool  # of this machine's byte order
    offset: int  # up to where it speaks of the log
    log_bytes: int
    same_head: bool  # the log's first bytes are those that it was made from
    same_tail: bool  # so are the last ones before the offset


def verdict(facts: Facts) -> Verdict:
    """Use it exactly when the log has only grown since, as far as can be seen without reading it all."""
    agrees = facts.same_head and facts.same_tail and 0 < facts.offset <= facts.log_bytes
    return Verdict.USE if facts.ours and agrees else Verdict.IGNORE


def due(grown_bytes: int, last_bytes: int) -> bool:
    """Whether the log has grown enough since the last checkpoint, which was this large: a share of the log's cost."""
    return grown_bytes >= max(DUE_BYTES, DUE_SHARE * last_bytes)
