"""The detach key among the bytes that are typed. Pure: time is given.

Pressed once it detaches, after a moment in which a second press means the key itself, sent once.
A program may have asked the terminal for other forms of Ctrl-keys (kitty's, xterm's modifyOtherKeys); the
key is known in each.
"""

from typing import Final, NamedTuple

TWICE_WITHIN_MS: Final = 300
DEFAULT_KEY: Final = "ctrl-\\"


class Typed(NamedTuple):
    """What was typed: bytes for the run, and whether the view is to leave."""

    data: bytes
    detach: bool


class DetachKey:
    """One key, pressed once or twice."""

    def __init__(self, name: str = DEFAULT_KEY) -> None:
        r"""Take a key's name: `ctrl-` and one of a-z [ \ ] ^ _, or `none`. ValueError for any other."""
        self._forms = _forms(name)
        self._pressed_ms: int | None = None

    def typed(self, data: bytes, now_ms: int) -> Typed:
        """Take in what was typed at this moment."""
        kept = bytearray()
        place = 0
        while place < len(data):
            form = next((form for form in self._forms if data.startswith(form, place)), None)
            if form is None:
                if self._pressed_ms is not None:
                    return Typed(bytes(kept), detach=True)
                kept.append(data[place])
                place += 1
                continue
            place += len(form)
            if self._pressed_ms is None:
                self._pressed_ms = now_ms
            else:
                self._pressed_ms = None
                kept += form
        return Typed(bytes(kept), detach=self.due_ms(now_ms) == 0)

    def due_ms(self, now_ms: int) -> int | None:
        """Return how long until a single press detaches: 0 now, None when none was pressed."""
        if self._pressed_ms is None:
            return None
        return max(0, self._pressed_ms + TWICE_WITHIN_MS - now_ms)


def shown(name: str) -> str:
    r"""Return the key as it is written for people: `Ctrl-\`."""
    return "Ctrl-" + name[5:].upper() if name.startswith("ctrl-") else name


def _forms(name: str) -> tuple[bytes, ...]:
    if name == "none":
        return ()
    char = name.lower().removeprefix("ctrl-")
    if (
        not name.lower().startswith("ctrl-")
        or len(char) != 1
        or char not in "abcdefghijklmnopqrstuvwxyz[\\]^_"
    ):
        raise ValueError(f"{name!r} is no key; write ctrl-\\ or none")
    code = ord(char)
    return bytes([ord(char.upper()) & 0x1F]), b"\x1b[%d;5u" % code, b"\x1b[27;5;%d~" % code
