"""Lines of JSON to commands of the wire, and messages of the wire to lines of JSON. Pure; `rpc` is its caller.

A line in is {id, type, body?, session?, command_id?}; `id` is any text or number, and an absent one wants no
answer. Where the wire has bytes a line has text, or {"base64": ...} for what is not UTF-8 (rulings 13).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from eukhed.errors import EukhedError, Invalid
from eukhed.storage.plain import raw

KEYS: Final = frozenset({"id", "type", "body", "session", "command_id"})
Key = str | int | float | None
Item = dict[str, Any]


class Asked(NamedTuple):
    """A command of a line."""

    id: Key
    type: str
    body: Item
    session: str | None = None
    command_id: str | None = None


def read(line: bytes, fresh: Callable[[], str], defaults: Callable[[str, Item], Item]) -> Asked:
    """Read a line. `fresh` makes a command id, `defaults` the fields of a body that a line may leave out.

    Raises:
        Refusal: it is no command; what is known of its id is in it.
    """
    try:
        item = json.loads(line)
    except ValueError as error:
        raise Refusal(None, f"this is no JSON: {error}") from error
    if not isinstance(item, dict):
        raise Refusal(None, "this is no object of JSON")
    number = item.get("id")
    if isinstance(number, bool) or not isinstance(number, str | int | float | None):
        raise Refusal(None, "id is neither a text nor a number")
    if unknown := sorted(item.keys() - KEYS):
        raise Refusal(number, f"{unknown[0]} is no key of a command; there are {', '.join(sorted(KEYS))}")
    for key in ("type", "session", "command_id"):
        if not isinstance(item.get(key, ""), str):
            raise Refusal(number, f"{key} is no text")
    if not item.get("type"):
        raise Refusal(number, "type is missing")
    body = item.get("body", {})
    if not isinstance(body, dict):
        raise Refusal(number, "body is no object")
    try:
        body = _with_bytes(item["type"], defaults(item["type"], body) | body)
    except Invalid as error:
        raise Refusal(number, error.message) from error
    command_id = item.get("command_id") or (fresh() if item["type"] in DOERS else None)
    return Asked(number, item["type"], body, item.get("session"), command_id)


DOERS: Final = frozenset(
    {"open_session", "run", "reopen"}
)  # they are known by an id; one is made where there is none


class Refusal(Exception):
    """A line that is no command, and whose answer that is."""

    def __init__(self, id: Key, reason: str) -> None:  # noqa: A002 - the key's name on the line
        super().__init__(reason)
        self.id = id
        self.error: Final[EukhedError] = Invalid(reason)


def _with_bytes(kind: str, body: Item) -> Item:
    """The body with bytes where the wire has them."""
    read = _BYTES.get(kind, {})
    return {key: read[key](value) if key in read else _opened(value) for key, value in body.items()}


def _opened(value: Any) -> Any:
    """Bytes that are told as such, wherever they stand."""
    if isinstance(value, dict):
        if set(value) == {"base64"}:
            return raw(value)
        return {key: _opened(inner) for key, inner in value.items()}
    return [_opened(inner) for inner in value] if isinstance(value, list) else value


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else raw(value)


def _words(value: Any) -> list[bytes]:
    if not isinstance(value, list):
        raise Invalid("argv is no list")
    return [_bytes(word) for word in value]


def _variables(value: Any) -> dict[bytes, bytes]:
    if not isinstance(value, dict):
        raise Invalid("env is no object")
    return {_bytes(key): _bytes(inner) for key, inner in value.items()}


_BYTES: Final[Mapping[str, Mapping[str, Callable[[Any], Any]]]] = {
    "run": {"argv": _words, "cwd": _bytes, "env": _variables},
    "input": {"data": _bytes},
}


def hello(said: Mapping[str, Any]) -> Item:
    """The line of a connection that is there."""
    return {"kind": "hello"} | {key: value for key, value in said.items() if key != "kind"}


def answer(asked: Asked, body: Any) -> Item:
    """The line of a command that was done; with the command id, if one was made for it."""
    known = {"command_id": asked.command_id} if asked.command_id is not None else {}
    return {"kind": "response", "id": asked.id, "ok": True} | known | {"body": body}


def failure(number: Key, error: EukhedError) -> Item:
    """The line of one that was not."""
    return {"kind": "response", "id": number, "ok": False, "error": error.as_wire()}


def event(told: Mapping[str, Any]) -> Item:
    """The line of something that happened."""
    keys = ("type", "session", "sequence", "generation", "body")
    return {"kind": "event"} | {key: told[key] for key in keys if told.get(key) is not None}
