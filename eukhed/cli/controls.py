"""Takes control sequences out of output that is not for a terminal, across the pieces in which it comes."""

import re
from typing import Final

# CSI, OSC and other strings up to their end, two-byte escapes, and control characters but tab and newline
_SEQUENCE: Final = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]"
    rb"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"
    rb"|\x1b[ -/]*[0-~]"
    rb"|\r(?=\n)"
    rb"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)
_UNFINISHED: Final = re.compile(rb"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?|\r)\Z")
HELD_MAX: Final = 4096  # an escape that is longer is none


class Stripper:
    """One stream of output."""

    def __init__(self) -> None:
        self._held = b""

    def strip(self, data: bytes) -> bytes:
        """Return the text of the next piece; the beginning of a sequence that it cut waits for its rest.

        A carriage return alone (a progress bar that redraws itself) is a new line.
        """
        data = self._held + data
        self._held = b""
        cut = _UNFINISHED.search(data[-HELD_MAX:])
        if cut is not None:
            place = len(data) - len(data[-HELD_MAX:]) + cut.start()
            data, self._held = data[:place], data[place:]
        return _SEQUENCE.sub(b"", data).replace(b"\r", b"\n").replace(b"\x1b", b"")

    def rest(self) -> bytes:
        """Return what still waits at the end."""
        held, self._held = self._held, b""
        return b"\n" if held == b"\r" else b""
