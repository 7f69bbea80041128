"""Whether a request that got no answer may be sent again.

Law: shared/laws/retry.md. Caller: client.py. Pure: facts in, verdict out.
"""

from typing import Final, NamedTuple


class Facts(NamedTuple):
    """What became of a request. Only these decide."""

    refused: bool  # it was answered `shutting_down`: provably not taken
    sent: bool  # at least one byte of it was handed to the kernel
    command_id: bool  # it carries an id by which a daemon knows a repeat
    looks: bool  # it changes nothing, whoever takes it


class Case(NamedTuple):
    """One row of the table; None matches either."""

    label: str
    refused: bool | None
    sent: bool | None
    command_id: bool | None
    looks: bool | None
    again: bool

    def matches(self, facts: Facts) -> bool:
        """Whether this row is about these facts."""
        return all(want is None or want == seen for want, seen in zip(self[1:5], facts, strict=True))


# refused: the daemon said that it took nothing; the next one may.
# unsent: no daemon can have seen it whole.
# known: a daemon answers a repeat with the stored result, or says that the outcome is uncertain.
# looked: a look has no effect to double.
# uncertain: it may have been done; doing it twice is worse than telling.
CASES: Final = (
    #     label        refused sent   id     looks  again
    Case("refused",    True,   None,  None,  None,  True),
    Case("unsent",     False,  False, None,  None,  True),
    Case("known",      False,  True,  True,  None,  True),
    Case("looked",     False,  True,  False, True,  True),
    Case("uncertain",  False,  True,  False, False, False),
)  # fmt: skip


def again(facts: Facts) -> bool:
    """Whether to send it once more, with the same command id."""
    (row,) = (case for case in CASES if case.matches(facts))
    return row.again
