"""The layout law said otherwise: names by patterns, the encoding by its decoder."""

import re

NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")
PART = re.compile(r"(?!\.{1,2}\Z)[^/\\\x00-\x1f\x7f-\x9f\ud800-\udfff]+\Z")
DIRECTORY = re.compile(r"v([1-9][0-9]*)\Z", re.ASCII)
RECORD = re.compile(r"v([1-9][0-9]*)\.json\Z", re.ASCII)
STAGE = re.compile(r"\.mint-([1-9][0-9]*)-", re.ASCII)


def is_name(name: str) -> bool:
    return NAME.match(name) is not None


def is_part(name: str) -> bool:
    return PART.match(name) is not None and len(name.encode()) <= 255


def number(pattern: re.Pattern[str], name: str) -> int | None:
    found = pattern.match(name)
    return int(found[1]) if found else None


def staged(name: str) -> int | None:
    return (number(STAGE, name) or 0) if name.startswith(".mint-") else None


def decode(data: bytes) -> list[tuple[bytes, bytes]]:
    """The pairs that some bytes were made of; ValueError if of none."""
    pairs = []
    while data:
        path, data = _part(data)
        content, data = _part(data)
        pairs.append((path, content))
    return pairs


def _part(data: bytes) -> tuple[bytes, bytes]:
    digits, _, rest = data.partition(b":")
    size = int(digits)
    if len(rest) <= size or rest[size : size + 1] != b"\n":
        raise ValueError(data)
    return rest[:size], rest[size + 1 :]
