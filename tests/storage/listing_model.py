"""The listing law said otherwise: each sentence as one comprehension, one name at a time."""

from functools import cmp_to_key
from typing import Any


def encodes(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def candidates(entries: list[tuple[str, str]]) -> set[tuple[str, str, bool]]:
    names = [name for name, _ in entries]
    storages = {(name, name, False) for name, kind in entries if kind == "directory" and name[:1] != "."}
    legacy = {
        (name[:-6], name, True)
        for name, kind in entries
        if kind == "file" and name[-6:] == ".jsonl" and name[:1] != "." and name[:-6] not in names
    }
    return {found for found in storages | legacy if encodes(found[1])}


def newer(one: dict[str, Any], other: dict[str, Any]) -> int:
    if one["modified_ns"] != other["modified_ns"]:
        return -1 if one["modified_ns"] > other["modified_ns"] else 1
    for key in ("id", "place"):
        if one[key] != other[key]:
            return -1 if one[key] < other[key] else 1
    return 0


def rows(facts: list[dict[str, Any]]) -> list[tuple[str, str, str, int, bool, bool, str]]:
    shown = [
        fact for fact in facts if fact["modified_ns"] is not None and fact["head"] and fact["head"]["cwd"]
    ]
    return [
        (
            fact["id"],
            fact["head"]["name"] or fact["id"],
            fact["head"]["cwd"],
            fact["modified_ns"] // 10**6,
            fact["head"]["archived"],
            fact["legacy"],
            fact["head"].get("parent", ""),
        )
        for fact in sorted(shown, key=cmp_to_key(newer))
    ]
