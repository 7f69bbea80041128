"""shared/wire.cddl, asked whether what travelled is what it says."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pycddl  # type: ignore[import-untyped]  # it has no stubs

from eukhed.wire import codec

TEXT = Path("shared/wire.cddl").read_text()
RULES = frozenset(re.findall(r"^([a-z][\w-]*) =", TEXT, re.MULTILINE))


@cache
def _schema(rule: str) -> pycddl.Schema:
    assert rule in RULES, f"{rule} is no rule of wire.cddl"
    return pycddl.Schema(f"start = {rule}\n{TEXT}")


def rule_of(item: Any) -> str | None:
    """The rule of wire.cddl for an envelope: by kind, since this validator errs in large choices."""
    kind = item.get("kind") if isinstance(item, dict) else None
    if kind == "response":
        return "response" if item.get("ok") is True else "failure"
    if kind == "chunk":
        return "chunk-end" if item.get("part") == "end" else "chunk-part"
    return next((rule for rule in ("hello", "command", "event", "closing") if rule == kind), None)


def validate(frame: bytes) -> None:
    """An envelope, and its body where wire.cddl has a rule for it. pycddl.ValidationError when it is none."""
    item = codec.decode(frame)
    kind = rule_of(item)
    if kind is None:
        raise pycddl.ValidationError("an envelope of no kind in wire.cddl")
    validate_as(kind, frame)
    rule = f"{kind}-{item.get('type')}"
    if rule in RULES:
        validate_as(rule, item["body"])


def validate_as(rule: str, item: bytes) -> None:
    """One encoded item against one rule."""
    try:
        _schema(rule).validate_cbor(item)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        # this validator panics on bytes where a certain text must stand
        raise pycddl.ValidationError(f"no {rule}") from error


def is_valid(rule: str | None, item: bytes) -> bool:
    if rule is None:
        return False
    try:
        validate_as(rule, item)
    except pycddl.ValidationError:
        return False
    return True
