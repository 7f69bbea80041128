"""What happens to a world, and when: each fault names an effect, counted over the whole history.

An effect is one act of a process that another could notice: a look at or change of a file, a frame, a signal.
Between two effects of a process nothing outside can tell whether it still lives, so a cut before each effect
is a cut at every await.
"""

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Literal, NamedTuple

What = Literal["cut", "term", "power", "clock", "suspend", "full"]
ANY = "any"


class Fault(NamedTuple):
    """Before the `at`-th effect of processes of the kind `of`, this happens."""

    at: int
    of: str = ANY  # supervisor, worker, client, machine (what holders and commands write), or any
    what: What = "cut"
    whom: tuple[str, ...] = ()  # the kinds of processes that are cut; the acting one when empty
    ms: int = 0  # of a clock step (either way), a suspend, a full disk

    def __str__(self) -> str:
        return ":".join((self.of, str(self.at), self.what, "+".join(self.whom), str(self.ms)))

    @classmethod
    def read(cls, text: str) -> "Fault":
        """The way back of `str`."""
        of, at, what, whom, ms = (*text.split(":"), "", "")[:5]
        return cls(int(at), of, what, tuple(whom.split("+")) if whom else (), int(ms or 0))  # type: ignore[arg-type]  # a wrong word meets no case


class Faults:
    """Those of one history."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._due: dict[tuple[str, int], list[Fault]] = {}
        for fault in faults:
            self._due.setdefault((fault.of, fault.at), []).append(fault)
        self.effects: Counter[str] = Counter()
        self.met: list[Fault] = []

    def count(self, kind: str) -> list[Fault]:
        """Count one effect; what happens before it."""
        due: list[Fault] = []
        for of in (kind, ANY):
            self.effects[of] += 1
            due += self._due.pop((of, self.effects[of]), ())
        self.met += due
        return due

    def stop(self) -> None:
        """Nothing happens any more."""
        self._due.clear()


def drawn(random: Random, effects: int) -> list[Fault]:
    """Some faults for a history of about so many effects."""
    faults: list[Fault] = []
    for _ in range(random.choice((1, 1, 2, 2, 3, 4))):
        at = random.randrange(1, effects)
        kind = random.choices(
            ("cut", "pair", "term", "power", "clock", "suspend", "full"), (8, 3, 1, 2, 1, 1, 1)
        )[0]
        match kind:
            case "cut":
                faults.append(Fault(at, whom=(random.choice(("worker", "supervisor", "client")),)))
            case "pair":
                pair = random.choice((("worker", "supervisor"), ("worker", "supervisor", "client")))
                faults.append(Fault(at, whom=pair))
            case "term" | "power":
                faults.append(Fault(at, what=kind))
            case "clock":
                ms = random.choice((-3_600_000, -1000, 1000, 3_600_000, 3 * 86_400_000))
                faults.append(Fault(at, what="clock", ms=ms))
            case "full":
                faults.append(Fault(at, what="full", ms=random.choice((1, 2000, 60_000))))
            case _:
                faults.append(Fault(at, what="suspend", ms=random.choice((1000, 600_000, 3 * 3_600_000))))
    return faults
