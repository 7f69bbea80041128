"""JSON cut into the texts of its parts, so that a part can be kept exactly as somebody wrote it."""

import json
import re
from typing import Any, Final

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DECODER: Final = json.JSONDecoder()


class NotThisShape(ValueError):
    """The text is not JSON, or not of the shape asked for."""


def json_text(value: Any) -> str:
    """A value on one line; as it is read, escaped only where UTF-8 has no bytes for it."""
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if _SURROGATE.search(text) else text


def only_value(text: str) -> str:
    """The text of the one value of a document."""
    (whole,) = _pieces(f"[{text}]", 0)
    return whole


def members(text: str) -> list[tuple[str, str]]:
    """The keys of an object and the text of each value."""
    if not text.startswith("{"):
        raise NotThisShape("not an object")
    pieces = _pieces(text, 0)
    return [(str(json.loads(key)), value) for key, value in zip(pieces[::2], pieces[1::2], strict=True)]


def elements(text: str) -> list[str]:
    """The text of each value of an array."""
    if not text.startswith("["):
        raise NotThisShape("not an array")
    return _pieces(text, 0)


def _pieces(text: str, start: int) -> list[str]:
    """The texts of the values (and keys) of the array or object at `start`, which must be all of the text."""
    closing, separators = ("}", (":", ",")) if text[start] == "{" else ("]", (",",))
    pieces: list[str] = []
    at = _skip(text, start + 1)
    if text[at : at + 1] != closing:
        while True:
            value, end = _DECODER.raw_decode(text, at)
            if closing == "}" and len(pieces) % 2 == 0 and not isinstance(value, str):
                raise NotThisShape(f"a key is no string at {at}")
            pieces.append(text[at:end])
            at = _skip(text, end)
            if text[at : at + 1] == closing and (closing == "]" or len(pieces) % 2 == 0):
                break
            if text[at : at + 1] != separators[(len(pieces) - 1) % len(separators)]:
                raise NotThisShape(f"neither a separator nor an end at {at}")
            at = _skip(text, at + 1)
    if _skip(text, at + 1) != len(text):
        raise NotThisShape(f"something after the end at {at}")
    return pieces


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()
