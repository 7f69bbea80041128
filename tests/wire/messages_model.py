"""The messages law, said the slow way: each kind by itself, as a list of everything that may be wrong."""

from typing import Any


def natural(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def name(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 0


def may_lack(check: Any, item: dict[Any, Any], key: str) -> bool:
    return key not in item or check(item[key])


def names(value: Any) -> bool:
    return isinstance(value, list) and all(name(one) for one in value)


def is_hello(item: dict[Any, Any]) -> bool:
    numbers = all(natural(item.get(k)) for k in ("protocol", "schema", "generation", "pid", "client"))
    words = all(name(item.get(k)) for k in ("version", "build", "root", "instance"))
    start = item.get("start")
    if not isinstance(start, list) or len(start) != 4:
        return False
    identity = natural(start[0]) and natural(start[1]) and name(start[2]) and natural(start[3])
    return numbers and words and identity and names(item.get("capabilities"))


def is_error(error: Any) -> bool:
    if not isinstance(error, dict) or any(not isinstance(key, str) for key in error):
        return False
    told = name(error.get("code")) and isinstance(error.get("message"), str)
    argvs = error.get("next", [])
    return told and isinstance(argvs, list) and all(names(argv) for argv in argvs)


def kind_of(item: Any) -> str | None:
    """Which message an item is; None when it is none."""
    if not isinstance(item, dict):
        return None
    kind, client = item.get("kind"), may_lack(natural, item, "client")
    body, number = isinstance(item.get("body"), bytes), natural(item.get("id"))
    session = may_lack(name, item, "session")
    if kind == "hello" and is_hello(item):
        return "Hello"
    if kind == "command" and number and body and client and session and name(item.get("type")):
        return "Command" if may_lack(name, item, "command_id") else None
    if kind == "response" and item.get("ok") is True and number and body and client:
        return "Response"
    if kind == "response" and item.get("ok") is False and number and client and is_error(item.get("error")):
        return "Failure"
    if kind == "chunk" and number and body and client:
        part = item.get("part")
        whole = part in ("begin", "data") if not isinstance(part, list | dict) else False
        return "Chunk" if whole or (part == "end" and natural(item.get("parts"))) else None
    if kind == "event" and name(item.get("type")) and body and client and session:
        rest = may_lack(natural, item, "sequence") and may_lack(natural, item, "generation")
        return "Event" if rest else None
    if kind == "closing" and item.get("reason") in ["shutdown", "idle", "replaced"]:
        return "Closing"
    return None
