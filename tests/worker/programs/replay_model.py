"""The replay law said otherwise: as the table of the text, one question after the other."""

from collections.abc import Mapping

Row = tuple[str, str, str]


def verdict(asked: Mapping[int, Row], answered: set[int], number: int, call: Row, repeatable: bool) -> str:
    if number not in asked:
        return "first"
    if asked[number] != call:
        return "differs"
    if number in answered:
        return "stored"
    kind = call[0]
    if kind == "remember":
        return "unless there"
    if kind in {"tool", "fallback"}:
        return "again" if repeatable else "uncertain"
    return "again"


def unrepeated(asked: Mapping[int, Row], made: int) -> int | None:
    for number in sorted(asked):
        if number > made and asked[number][0] != "fallback":
            return number
    return None
