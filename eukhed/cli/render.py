"""Columns, colour, times and JSON: what a list looks like, without a library that costs more than the list."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

WIDTH_MAX: Final = 100  # columns of a line on a terminal
GAP: Final = "  "
STATE_COLOURS: Final = {
    "waiting": "35", "running": "36", "busy": "36", "failed": "31", "gave up": "31", "lost": "31",
    "interrupted": "33", "stopped": "33", "queued": "34", "adopted": "36",
}  # fmt: skip


# JSON. The standard library's needs five modules more, and the light path is counted (interface 24).

_ESCAPES: Final = {chr(code): f"\\u{code:04x}" for code in range(32)} | {
    '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t",
}  # fmt: skip
_ESCAPING: Final = str.maketrans(_ESCAPES)


def to_json(item: Any) -> str:
    """Return JSON of maps, sequences, texts, bytes, numbers, true, false and null, on one line.

    Bytes are text where they are UTF-8, else {"base64": ...}. Text that cannot be encoded (a lone
    surrogate) is escaped. The inverse, by any reader of JSON, gives equal values.
    """
    if item is None:
        return "null"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return '"' + _encodable(item.translate(_ESCAPING)) + '"'
    if isinstance(item, int):
        return str(int(item))
    if isinstance(item, float):
        return repr(item) if item - item == 0 else "null"  # no number of JSON is infinite
    if isinstance(item, bytes):
        return to_json(readable(item))
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{to_json(str(key))}: {to_json(value)}" for key, value in item.items()) + "}"
    return "[" + ", ".join(to_json(value) for value in item) + "]"


def readable(data: bytes) -> str | dict[str, str]:
    """Return bytes as JSON can hold them (rulings 13)."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        from binascii import b2a_base64  # noqa: PLC0415 - rare, and a module of the light path's count

        return {"base64": b2a_base64(data, newline=False).decode()}


def _encodable(text: str) -> str:
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)


# columns


def width_of(text: str) -> int:
    """Return how many columns a terminal gives a text."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    import unicodedata  # noqa: PLC0415 - most output is ASCII, and the light path's modules are counted

    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def plain(text: str) -> str:
    """Return text without control characters: what a command is called must not drive the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)


def cut(text: str, columns: int) -> str:
    """Return a text in at most this many columns, its end cut off with a …."""
    if width_of(text) <= columns:
        return text
    kept, used = [], 0
    for char in text:
        used += _columns(char)
        if used > columns - 1:
            break
        kept.append(char)
    return "".join(kept) + "…"


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    width: int | None,
    right: Sequence[str] = (),
    cut_at: str = "",
) -> list[str]:
    """Return the lines of a table.

    Args:
        heads: the columns' names; empty names have no heading.
        rows: as many cells each.
        width: at most this many columns, by cutting the column `cut_at`; None cuts nothing.
        right: the names of the columns that are aligned at their right.
        cut_at: the column that gives way.
    """
    cells = [list(heads), *(list(row) for row in rows)]
    widths = [max(width_of(row[column]) for row in cells) for column in range(len(heads))]
    if width is not None and cut_at:
        place = list(heads).index(cut_at)
        spare = width - sum(widths) - len(GAP) * (len(widths) - 1)
        widths[place] = max(8, widths[place] + min(0, spare))
    return [_line(row, widths, [head in right for head in heads]) for row in cells]


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = []
    for text, width, to_right in zip(row, widths, right, strict=True):
        shown = cut(text, width)
        blank = " " * (width - width_of(shown))
        parts.append(blank + shown if to_right else shown + blank)
    return GAP.join(parts).rstrip()


def coloured(text: str, state: str, *, colour: bool) -> str:
    """Return a text in the colour of a state; the word is there without it."""
    code = STATE_COLOURS.get(state)
    return f"\x1b[{code}m{text}\x1b[0m" if colour and code else text


# times and sizes


def seconds(count: float | None) -> str:
    """Return a span as `3s`, `2m 14s`, `4h 02m`, `3d 4h`; `-` for None."""
    if count is None:
        return "-"
    whole = int(count)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s" if whole % 60 else f"{whole // 60}m"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d {whole % 86400 // 3600}h"


def moment(wall_ms: int | None, now_ms: int, *, exact: bool = False) -> str:
    """Return a moment in local time: `17:51`, `yesterday`, `Mon`, `3 Nov`, `3 Nov 2024`; whole with `exact`."""
    if wall_ms is None:
        return "-"
    then, now = time.localtime(wall_ms / 1000), time.localtime(now_ms / 1000)
    if exact:
        return time.strftime("%Y-%m-%d %H:%M:%S", then)
    days = _day(now) - _day(then)
    if days == 0:
        return time.strftime("%H:%M", then)
    if days == 1:
        return "yesterday"
    if 1 < days < 7:
        return time.strftime("%a", then)
    day = f"{then.tm_mday} {time.strftime('%b', then)}"
    return day if then.tm_year == now.tm_year else f"{day} {then.tm_year}"


def ago(wall_ms: int | None, now_ms: int) -> str:
    """Return how long a moment is past: `now`, `2m ago`, `1h ago`, then as `moment`."""
    if wall_ms is None:
        return "-"
    past = (now_ms - wall_ms) / 1000
    if past < 60:
        return "now"
    if past < 3600:
        return f"{int(past // 60)}m ago"
    return f"{int(past // 3600)}h ago" if past < 86400 else moment(wall_ms, now_ms)


def _day(at: time.struct_time) -> int:
    return int(time.mktime((at.tm_year, at.tm_mon, at.tm_mday, 12, 0, 0, 0, 0, -1)) // 86400)


def size(count: float | None) -> str:
    """Return bytes as `48 MB`, `2.1 GB`; `-` for None."""
    if count is None:
        return "-"
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            return f"{value:.1f} {unit}" if value < 10 and unit != "B" else f"{value:.0f} {unit}"
        value /= 1000
    raise AssertionError("a terabyte takes any size")


def home_path(path: str, home: str) -> str:
    """Return a path with ~ for the home directory."""
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path
