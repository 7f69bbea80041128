"""What a run may get of an environment: what is private to a process, what is base, files of variables.

Pure; names and values are bytes.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from eukhed.errors import Invalid

PRIVATE_BEGINNINGS: Final = (b"EUKHED_", b"LISTEN_", b"WATCHDOG_")
PRIVATE: Final = frozenset({b"NOTIFY_SOCKET", b"JOURNAL_STREAM"})
BASE: Final = frozenset({b"PATH", b"HOME", b"USER", b"LOGNAME", b"SHELL", b"LANG", b"TZ", b"TERM"})
BASE_BEGINNINGS: Final = (b"LC_", b"XDG_")

Environment = dict[bytes, bytes]


def is_private(name: bytes) -> bool:
    """Whether a service manager or another eukhed gave it to this process for itself."""
    return name.startswith(PRIVATE_BEGINNINGS) or name in PRIVATE


def is_base(name: bytes) -> bool:
    """Whether it is of the set that every program needs."""
    return name in BASE or name.startswith(BASE_BEGINNINGS)


def public(own: Mapping[bytes, bytes], *, base_only: bool) -> Environment:
    """What a run gets of this environment when nothing else is said."""
    return {
        name: value
        for name, value in own.items()
        if not is_private(name) and (not base_only or is_base(name))
    }


def given(own: Mapping[bytes, bytes], words: Iterable[bytes]) -> Environment:
    """Read words like `K=V`, or `K` for this environment's own value.

    Raises:
        Invalid: a name that is empty, or that this environment has not.
    """
    found: Environment = {}
    for word in words:
        name, equals, value = word.partition(b"=")
        shown = word.decode(errors="replace")
        if not name:
            raise Invalid(f"--env {shown}: no name before the =")
        if not equals and name not in own:
            raise Invalid(f"--env {shown}: there is no such variable here; write {shown}=VALUE")
        found[name] = value if equals else own[name]
    return found


def of_file(data: bytes, path: str) -> Environment:
    """Read `NAME=VALUE` lines, `#` before a comment; `export ` and one pair of quotes are taken off.

    Raises:
        Invalid: a line that is none; `path` is named.
    """
    found: Environment = {}
    for number, line in enumerate(data.splitlines(), 1):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        name, equals, value = text.removeprefix(b"export ").partition(b"=")
        if not equals or not name.strip():
            raise Invalid(f"--env-file {path}, line {number}: no NAME=VALUE")
        found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: bytes) -> bytes:
    if len(value) >= 2 and value[:1] == value[-1:] and value[:1] in {b"'", b'"'}:
        return value[1:-1]
    return value
