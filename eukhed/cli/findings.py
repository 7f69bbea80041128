"""What `doctor` found: what is so, since when, what it costs, and the command that changes it."""

import shlex
import time
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from eukhed.cli.render import moment

State = Literal["ok", "warning", "broken"]
MARKS: Final[dict[State, str]] = {"ok": "✓", "warning": "!", "broken": "✗"}
COLOURS: Final[dict[State, str]] = {"ok": "32", "warning": "33", "broken": "31"}


class Finding(NamedTuple):
    """One thing that was looked at."""

    state: State
    subject: str
    what: str
    since: int | None = None  # wall time, ms
    costs: str | None = None
    fix: tuple[str, ...] | None = None  # argv
    look: tuple[str, ...] | None = None
    advice: str | None = None  # where no one command helps

    def told(self) -> dict[str, Any]:
        """The finding for --json."""
        return self._asdict() | {
            "fix": None if self.fix is None else list(self.fix),
            "look": None if self.look is None else list(self.look),
        }


def lines(found: Sequence[Finding], *, colour: bool) -> list[str]:
    """Return the findings as lines, in their order."""
    width = max((len(one.subject) for one in found), default=0) + 2
    now_ms = int(time.time() * 1000)
    drawn = []
    for one in found:
        mark = f"\x1b[{COLOURS[one.state]}m{MARKS[one.state]}\x1b[0m" if colour else MARKS[one.state]
        since = f" (since {moment(one.since, now_ms)})" if one.since is not None else ""
        drawn.append(f"{mark} {one.subject:<{width}}{one.what}{since}")
        blank = " " * (width + 2)
        if one.costs is not None:
            drawn.append(f"{blank}{one.costs}")
        steps = [
            f"{name}: {shlex.join(argv)}"
            for name, argv in (("look", one.look), ("fix", one.fix))
            if argv is not None
        ]
        steps += [one.advice] if one.advice is not None else []
        if steps:
            drawn.append(blank + "      ".join(steps))
    return drawn


def verdict(found: Sequence[Finding]) -> str:
    """Return the last line."""
    broken = sum(one.state == "broken" for one in found)
    warnings = sum(one.state == "warning" for one in found)
    if not broken and not warnings:
        return "nothing is wrong"
    return f"{broken} broken, {warnings} warning{'s' if warnings != 1 else ''}"
