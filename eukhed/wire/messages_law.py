"""Which message an item is.

Law: shared/laws/messages.md. Caller: envelope.py. Pure: an item in, one message or BadFrame out.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from eukhed.errors import BadFrame
from eukhed.wire.messages import Chunk, Closing, Command, Event, Failure, Hello, Message, Response

NUMBER_MAX: Final = 2**53 - 1


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= NUMBER_MAX


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_bytes(value: Any) -> bool:
    return isinstance(value, bytes)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(text) for text in value)


def _is_identity(value: Any) -> bool:
    """[pid, start, boot, namespace], as host.seam.Identity."""
    if not isinstance(value, list) or len(value) != 4:
        return False
    pid, start, boot, namespace = value
    return _is_number(pid) and _is_number(start) and _is_text(boot) and _is_number(namespace)


def _is_error(value: Any) -> bool:
    """{code, message, next?, ...}: further keys are the data of the error."""
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        return False
    following = value.get("next", [])
    argvs = isinstance(following, list) and all(_is_texts(argv) for argv in following)
    return _is_text(value.get("code")) and isinstance(value.get("message"), str) and argvs


def _is_one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


class Field(NamedTuple):
    """One key of an envelope: what may stand there, and whether it must."""

    name: str
    accepts: Callable[[Any], bool]
    required: bool = True


class Kind(NamedTuple):
    """One kind of envelope: what is made of it, and its keys but `kind` and `ok`."""

    make: Callable[..., Message]
    fields: tuple[Field, ...]


_CLIENT: Final = Field("client", _is_number, required=False)
_SESSION: Final = Field("session", _is_text, required=False)
_ID: Final = Field("id", _is_number)
_BODY: Final = Field("body", _is_bytes)

HELLO: Final = Kind(
    Hello,
    (
        *(Field(name, _is_number) for name in ("protocol", "schema", "generation", "pid", "client")),
        *(Field(name, _is_text) for name in ("version", "build", "root", "instance")),
        Field("start", _is_identity),
        Field("capabilities", _is_texts),
    ),
)
COMMAND: Final = Kind(
    Command,
    (_ID, Field("type", _is_text), _BODY, _SESSION, Field("command_id", _is_text, required=False), _CLIENT),
)
RESPONSE: Final = Kind(Response, (_ID, _BODY, _CLIENT))
FAILURE: Final = Kind(Failure, (_ID, Field("error", _is_error), _CLIENT))
CHUNK: Final = Kind(Chunk, (_ID, Field("part", _is_one_of("begin", "data")), _BODY, _CLIENT))
CHUNK_END: Final = Kind(
    Chunk, (_ID, Field("part", _is_one_of("end")), _BODY, Field("parts", _is_number), _CLIENT)
)
EVENT: Final = Kind(
    Event,
    (
        Field("type", _is_text),
        _BODY,
        _SESSION,
        _CLIENT,
        Field("sequence", _is_number, required=False),
        Field("generation", _is_number, required=False),
    ),
)
CLOSING: Final = Kind(Closing, (Field("reason", _is_one_of("shutdown", "idle", "replaced")),))

_KINDS: Final = {"hello": HELLO, "command": COMMAND, "event": EVENT, "closing": CLOSING}


def verdict(item: Any) -> Message:
    """The one message that this item is; BadFrame, naming the key, when it is none. Other keys are ignored."""
    if not isinstance(item, dict):
        raise BadFrame("an envelope that is no map")
    kind = _kind(item)
    values: dict[str, Any] = {}
    for field in kind.fields:
        if field.name not in item:
            if field.required:
                raise BadFrame(f"a {item['kind']} without {field.name}")
            continue
        if not field.accepts(item[field.name]):
            raise BadFrame(f"a {item['kind']} with a bad {field.name}")
        values[field.name] = item[field.name]
    return kind.make(**values)


def _kind(item: dict[Any, Any]) -> Kind:
    kind = item.get("kind")
    if kind == "response":
        ok = item.get("ok")
        if not isinstance(ok, bool):
            raise BadFrame("a response that is neither ok nor not")
        return RESPONSE if ok else FAILURE
    if kind == "chunk":
        return CHUNK_END if item.get("part") == "end" else CHUNK
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise BadFrame("an envelope of no known kind")
    return found
