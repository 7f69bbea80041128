"""What a signal, or a stdout that nobody reads, means to a client that shows a run.

Law: shared/laws/interrupt.md. Caller: view.py. Pure: facts in, verdict out.
"""

from enum import Enum
from typing import Final, Literal, NamedTuple

Signal = Literal["INT", "TERM", "HUP", "QUIT", "PIPE"]
Terminal = Literal["run's", "person's", "none"]
Chosen = Literal["ask", "detach", "stop"]


class Verdict(Enum):
    """What view.py does next."""

    DETACH = "detach"  # leave; the run goes on
    STOP = "stop"  # stop the run, and stay to its end
    ASK = "ask"  # detach, stop or continue?


class Facts(NamedTuple):
    """What view.py saw. Only these decide."""

    looks: bool  # attached with -r
    owner: bool  # this client submitted the run
    signal: Signal  # PIPE: nobody reads stdout any more
    terminal: Terminal  # whose: the run has it; a person sits at it, the run has none; or there is none
    chosen: Chosen  # --on-signal
    asking: bool  # the question is open


class Case(NamedTuple):
    """One row of the table; None matches any."""

    label: str
    looks: bool | None
    signals: frozenset[Signal] | None
    chosen: Chosen | None
    asks: bool | None  # a person sits at a terminal that is not the run's
    open: bool | None
    owner: bool | None
    verdict: Verdict

    def matches(self, facts: Facts) -> bool:
        """Whether this row is about these facts."""
        return (
            (self.looks is None or self.looks == facts.looks)
            and (self.signals is None or facts.signal in self.signals)
            and (self.chosen is None or self.chosen == facts.chosen)
            and (self.asks is None or self.asks == (facts.terminal == "person's"))
            and (self.open is None or self.open == facts.asking)
            and (self.owner is None or self.owner == facts.owner)
        )


_QUIT: Final[frozenset[Signal]] = frozenset({"QUIT"})
_HUP: Final[frozenset[Signal]] = frozenset({"HUP"})
_INT: Final[frozenset[Signal]] = frozenset({"INT"})
_ENDS: Final[frozenset[Signal]] = frozenset({"TERM", "PIPE"})
_CHOSEN: Final[frozenset[Signal]] = frozenset({"INT", "TERM", "HUP", "PIPE"})
_DETACH, _STOP, _ASK = Verdict.DETACH, Verdict.STOP, Verdict.ASK

# look: it sends nothing, so it stops nothing.
# key: a terminal's quit key is the detach key.
# told: --on-signal decides.
# closed: a closed lid or window ends no work.
# question: a person can be asked; a second Ctrl-C says it.
# ends: `timeout 60 eukhed run -- make` must stop make, and `eukhed run ... | head` its producer.
# alone: nobody can be asked.
# guest: who only came to look on does not end what another started.
CASES: Final = (
    #     label       looks  signal   chosen    asks   open   owner  verdict
    Case("look",      True,  None,    None,     None,  None,  None,  _DETACH),
    Case("key",       False, _QUIT,   None,     None,  None,  None,  _DETACH),
    Case("detach",    False, _CHOSEN, "detach", None,  None,  None,  _DETACH),
    Case("stop",      False, _CHOSEN, "stop",   None,  None,  None,  _STOP),
    Case("closed",    False, _HUP,    "ask",    None,  None,  None,  _DETACH),
    Case("question",  False, _INT,    "ask",    True,  False, None,  _ASK),
    Case("second",    False, _INT,    "ask",    True,  True,  None,  _STOP),
    Case("ends",      False, _ENDS,   "ask",    None,  None,  True,  _STOP),
    Case("alone",     False, _INT,    "ask",    False, None,  True,  _STOP),
    Case("guest",     False, _ENDS,   "ask",    None,  None,  False, _DETACH),
    Case("guest int", False, _INT,    "ask",    False, None,  False, _DETACH),
)  # fmt: skip


def verdict(facts: Facts) -> Verdict:
    """Return the verdict of the one row that matches."""
    (row,) = (case for case in CASES if case.matches(facts))
    return row.verdict
