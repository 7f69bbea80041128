"""The fork law said otherwise: patterns for names, a timeline of commits for documents."""

import re
from typing import Any

PARTS = [
    ("leave", re.compile(r"\..*|lease|main\.checkpoint(\.new)?|main\.jsonl\..*|.*\.reclaim")),
    ("main", re.compile(r"main\.jsonl")),
    ("sidecar", re.compile(r"(task|doc)-(0|[1-9][0-9]*)\.jsonl")),
    ("output", re.compile(r"run-(0|[1-9][0-9]*)\.(out|err)")),
    ("other", re.compile(r".*", re.DOTALL)),
]


def part(name: str, kind: str) -> str:
    if kind not in ("file", "directory"):
        return "leave"
    if kind == "directory":
        return "leave" if name[:1] == "." else "other"
    return next(what for what, pattern in PARTS if pattern.fullmatch(name))


def alive(document: dict[str, Any], last_seq: int) -> set[int]:
    """The commits after which it is there."""
    end = document["retired_at"] if document["retired_at"] is not None else last_seq + 1
    return set(range(document["created_at"], end))


def taken(
    documents: list[dict[str, Any]], conversation: int, point_seq: int, last_seq: int
) -> list[tuple[int, str]]:
    found = {}
    for live_now in (False, True):
        for document in sorted(documents, key=lambda one: int(one["id"])):
            there = alive(document, last_seq)
            if document["conversation"] != conversation or (last_seq in there) != live_now:
                continue
            moment = point_seq if document["fork"] == "asOf" else last_seq
            if moment in there:
                found[document["kind"], document["key"]] = (document["id"], document["fork"])
    return sorted(found.values())
