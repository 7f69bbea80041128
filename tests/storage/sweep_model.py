"""The sweep law said otherwise: a tree of directories, and the set of what must be gone afterwards."""

from typing import Any

from tests.storage import staging_model


def meeting(name: str, kind: str, siblings: set[str]) -> str:
    read = staging_model.read(name)
    if read is None:
        return "enter" if kind == "directory" else "keep"
    if read[3]:  # a lock
        if kind == "file":
            return "keep" if name[: -len(".lock")] in siblings else "orphan_lock"
        return "enter" if kind == "directory" else "keep"
    return "leftover" if kind == "directory" else "keep"


def judgement(lock: str, times_ns: list[int | None], now_ns: int, limit_ns: int) -> str:
    if not times_ns or any(at is None or at > now_ns for at in times_ns):
        return "unsure"
    if any(at is not None and at > now_ns - limit_ns for at in times_ns):
        return "young"
    return {"held": "live", "free": "remove", "absent": "remove", "unknown": "unsure"}[lock]


def reached(tree: dict[str, Any]) -> set[tuple[str, ...]]:
    """The paths that are judged in a tree of {name: dict | kind}; a dict is a directory."""
    found: set[tuple[str, ...]] = set()
    if "main.jsonl" in tree:
        return found
    for name, below in tree.items():
        kind = "directory" if isinstance(below, dict) else below
        what = meeting(name, kind, set(tree))
        if what in ("leftover", "orphan_lock"):
            found.add((name,))
        elif what == "enter":
            found |= {(name, *path) for path in reached(below)}
    return found
