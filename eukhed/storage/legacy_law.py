"""What becomes of a legacy session file: which rows are entries, which are left, and what is wrong with one.

Law: shared/laws/legacy.md. Caller: legacy.py. Pure: decoded lines in, a plan out.

Three versions were written. Version 1 rows have no ids: their order is the branch. In versions 2 and 3
each row names its parent and the last one is the leaf; the two differ only in the name of one role.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

VERSIONS: Final = (1, 2, 3)
ROLES: Final = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool_result",
    "bashExecution": "bash",
    "custom": "custom",
    "hookMessage": "custom",  # its name before version 3
}
OTHER_ROLE: Final = "message"
TYPES: Final = {
    "message": OTHER_ROLE,  # its role says more
    "custom_message": "custom",
    "custom": "custom_state",
    "compaction": "compaction",
    "branch_summary": "branch_summary",
    "model_change": "model_change",
    "thinking_level_change": "thinking_level_change",
}


class Header(NamedTuple):
    """The first line of a legacy file."""

    version: int
    id: str
    cwd: str
    timestamp: str


class Bad(NamedTuple):
    """A complete line that cannot be what it must be: the file is refused."""

    reason: str


class Row(NamedTuple):
    """One later line: what decides."""

    type: str
    id: str | None = None  # None: it is in no tree
    parent: str | None = None  # None: it is a root
    role: str | None = None
    kept: str | int | None = (
        None  # of a compaction: the first row that stays, by id, or by line from 0 (version 1)
    )


class Item(NamedTuple):
    """A row that becomes an entry."""

    row: int
    kind: str
    head: int | None = None  # of a compaction: which item its context begins with


class Plan(NamedTuple):
    """The entries in their order, and every row that is none, counted by type."""

    items: tuple[Item, ...]
    skipped: Mapping[str, int]
    severed: (
        str | None
    )  # a parent that the branch names and the file lacks, or has below it: the branch begins there


def read_header(line: Any) -> Header | Bad:
    """The header, if the first line is one."""
    if not isinstance(line, dict) or line.get("type") != "session":
        return Bad("the first line is no session header")
    version = line.get("version", 1)
    if isinstance(version, bool) or version not in VERSIONS:
        return Bad(f"session version {version!r} is not one of {VERSIONS}")
    cwd = line.get("cwd")
    if not isinstance(cwd, str) or not cwd:
        return Bad("the session header has no cwd")
    texts = [text if isinstance(text := line.get(key), str) else "" for key in ("id", "timestamp")]
    return Header(int(version), texts[0], cwd, texts[1])


def read_row(line: Any, version: int) -> Row | Bad:
    """What decides of a later line."""
    if not isinstance(line, dict):
        return Bad("not an object")
    kind, message = line.get("type"), line.get("message")
    if not isinstance(kind, str):
        return Bad("a row without a type")
    if kind == "message" and not isinstance(message, dict):
        return Bad("a message row without a message")
    role = message.get("role") if isinstance(message, dict) else None
    row = Row(kind, role=role if isinstance(role, str) else None)
    return _linear(line, row) if version == 1 else _linked(line, row)


def _linear(line: Mapping[str, Any], row: Row) -> Row:
    kept = line.get("firstKeptEntryIndex")
    return row._replace(kept=kept if type(kept) is int else None)


def _linked(line: Mapping[str, Any], row: Row) -> Row | Bad:
    identity, parent, kept = line.get("id"), line.get("parentId"), line.get("firstKeptEntryId")
    if not isinstance(identity, str) and row.type in TYPES:
        return Bad(f"a {row.type} row without an id")
    if parent is not None and not isinstance(parent, str):
        return Bad("a parentId that is no id")
    identity = identity if isinstance(identity, str) else None
    return row._replace(id=identity, parent=parent, kept=kept if isinstance(kept, str) else None)


def branch(rows: Sequence[Row], version: int) -> tuple[tuple[int, ...], str | None]:
    """The rows from the root to the leaf, and the parent that ended the walk before a root did.

    A row of the same id as an earlier one stands in its place. A parent that is missing, or that was met
    already, ends the walk: what is below it is still the branch.
    """
    if version == 1:
        return tuple(range(len(rows))), None
    place = {row.id: index for index, row in enumerate(rows) if row.id is not None}
    path: list[int] = []
    met: set[int] = set()
    severed = None
    at = next((index for index in reversed(range(len(rows))) if rows[index].id is not None), None)
    while at is not None:
        path.append(at)
        met.add(at)
        above = rows[at].parent
        at = None if above is None else place.get(above)
        if at is None or at in met:
            severed, at = above, None  # a root has no parent, and severs nothing
    return tuple(reversed(path)), severed


def plan(rows: Sequence[Row], version: int) -> Plan:
    """What becomes of every row of a file."""
    path, severed = branch(rows, version)
    chosen = [at for at in path if rows[at].type in TYPES]
    items: list[Item] = []
    for at in chosen:
        row = rows[at]
        kind = ROLES.get(row.role or "", OTHER_ROLE) if row.type == "message" else TYPES[row.type]
        head = _head(rows, path, chosen, len(items), version) if row.type == "compaction" else None
        items.append(Item(at, kind, head))
    imported = set(chosen)
    skipped = Counter(row.type for at, row in enumerate(rows) if at not in imported)
    return Plan(tuple(items), dict(skipped), severed)


def _head(rows: Sequence[Row], path: Sequence[int], chosen: Sequence[int], item: int, version: int) -> int:
    """Which item a compaction's context begins with: the first at or after the row it keeps, or itself."""
    kept = rows[chosen[item]].kept
    if version == 1:  # lines count the header
        steps = [step for step, at in enumerate(path) if kept == at + 1]
    else:
        steps = [step for step, at in enumerate(path) if rows[at].id == kept]
    if not steps:
        return item
    begin = {at: step for step, at in enumerate(path)}
    return next(number for number in range(item + 1) if number == item or begin[chosen[number]] >= steps[0])
