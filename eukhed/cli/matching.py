"""`eukhed wait R --match REGEX`: until a line of a run's output matches."""

import re
from typing import Final

from eukhed.cli.controls import Stripper
from eukhed.client.attachment import Ended, Output
from eukhed.client.client import Client
from eukhed.client.following import follow
from eukhed.client.streams import RunStream
from eukhed.errors import Invalid

LINE_MAX: Final = 1024 * 1024  # of a line that does not end, the last so many bytes are looked at


def pattern_of(text: str) -> re.Pattern[str]:
    """Read a regular expression, as Python has them."""
    try:
        return re.compile(text)
    except re.error as error:
        raise Invalid(f"--match: {text!r} is no regular expression: {error}") from error


def until_match(
    client: Client, session: str, run: int, wanted: re.Pattern[str], ends: float | None
) -> Ended | None:
    """Return None once a line matches, also one that has no end yet; or how the run ended before that.

    Raises:
        TimeoutError: `ends` has come.
    """
    lines = {"out": Lines(wanted), "err": Lines(wanted)}
    for item in follow(client, RunStream(client, session, run, None, None), ends):
        if isinstance(item, Output) and lines[item.stream].take(item.data):
            return None
        if isinstance(item, Ended):
            return item
    raise AssertionError("a run's output ends with its end")


class Lines:
    """One stream as lines, without what moves a cursor."""

    def __init__(self, wanted: re.Pattern[str]) -> None:
        self._wanted = wanted
        self._stripper = Stripper()
        self._open = b""

    def take(self, data: bytes) -> bool:
        """Take more of it; whether a line matches now."""
        lines = (self._open + self._stripper.strip(data)).split(b"\n")
        self._open = lines[-1][-LINE_MAX:]
        return any(self._wanted.search(line.rstrip(b"\r").decode(errors="replace")) for line in lines)
