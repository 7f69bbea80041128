"""What may be named how in the bundle store, which number a name says, and the bytes that a hash covers.

Law: shared/laws/layout.md. Callers: bundle.py, reading.py, store.py, mint.py; mint_law.py reads numbers.
Pure. Stricter about names than the format asks for: every name becomes one component of a path.

    <store>/<name>/v<N>.json         the record of version N
    <store>/<name>/v<N>/             its files: manifest.json, program.js, prompts/*.md, memory.md, evals/*
    <store>/<name>/.mint-<N>-<hex>   what is being made: version N, or (0) something else
"""

from collections.abc import Mapping
from typing import Final

NAME_BYTES_MAX: Final = 64
PART_BYTES_MAX: Final = 255
PROMPT_SUFFIX: Final = ".md"
RECORD_SUFFIX: Final = ".json"
STAGE_PREFIX: Final = ".mint-"
NO_VERSION: Final = 0  # the number of a stage that is no version's

_LOWER: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
_DIGITS: Final = frozenset("0123456789")
_NAME: Final = _LOWER | _DIGITS | frozenset("-_")


def is_name(name: str) -> bool:
    """Whether a bundle may have this name: at most 64 bytes, a letter, then letters, digits, - and _."""
    return name[:1] in _LOWER and len(name) <= NAME_BYTES_MAX and _NAME.issuperset(name)


def is_part(name: str) -> bool:
    """Whether a prompt or an eval may have this name: one component of a path, of text that can be printed."""
    if name in {"", ".", ".."} or any(_is_odd(letter) for letter in name):
        return False
    return len(name.encode()) <= PART_BYTES_MAX


def _is_odd(letter: str) -> bool:
    """Separators, control characters (C0, DEL, C1), and what UTF-8 has no bytes for."""
    return letter in "/\\" or letter < " " or "\x7f" <= letter <= "\x9f" or "\ud800" <= letter <= "\udfff"


def prompt_file(name: str) -> str:
    """The file name of a prompt: trimmed, with the suffix that it may have come without."""
    bare = name.strip()
    return bare if bare == "" or bare.endswith(PROMPT_SUFFIX) else bare + PROMPT_SUFFIX


def record_name(number: int) -> str:
    """The name of the record of a version."""
    return f"{directory_name(number)}{RECORD_SUFFIX}"


def directory_name(number: int) -> str:
    """The name of the directory of a version."""
    assert number >= 1, number
    return f"v{number}"


def recorded_number(name: str) -> int | None:
    """The version that a record's name says; None for any other name (v0.json, v01.json, v+1.json, ...)."""
    return directory_number(name.removesuffix(RECORD_SUFFIX)) if name.endswith(RECORD_SUFFIX) else None


def directory_number(name: str) -> int | None:
    """The version that a directory's name says; None for any other name."""
    return _number(name[1:]) if name[:1] == "v" else None


def stage_name(number: int, token: str) -> str:
    """Where version `number` is made, or (NO_VERSION) anything else that is not yet in its place."""
    assert token.isalnum(), token
    return f"{STAGE_PREFIX}{number}-{token}"


def staged_number(name: str) -> int | None:
    """The version that is made there; NO_VERSION for a stage of anything else; None for what is no stage."""
    if not name.startswith(STAGE_PREFIX):
        return None
    digits, dash, _ = name.removeprefix(STAGE_PREFIX).partition("-")
    return (_number(digits) if dash else None) or NO_VERSION


def _number(digits: str) -> int | None:
    """A number as it is written without leading zeros, from 1."""
    return int(digits) if digits != "" and digits[0] != "0" and _DIGITS.issuperset(digits) else None


def encode(files: Mapping[str, bytes]) -> bytes:
    r"""The bytes that the hash of a version is taken of (law hash_injective_layout).

    For each file, by the bytes of its path: `<len(path)>:<path>\n<len(data)>:<data>\n`, lengths in bytes.
    The lengths say where each part ends, so that no two sets of files give the same bytes.
    """
    parts: list[bytes] = []
    for path, data in sorted((path.encode(), data) for path, data in files.items()):
        parts += [b"%d:" % len(path), path, b"\n%d:" % len(data), data, b"\n"]
    return b"".join(parts)
