"""messages_law against its model, its vectors, shared/wire.cddl, and each sentence of its law."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from eukhed.errors import BadFrame
from eukhed.wire import codec, envelope, messages_law
from eukhed.wire.messages import Chunk, Closing, Command, Event, Failure, Hello, Message, Response
from tests.wire import messages_model, schema

VECTORS = json.loads(Path("shared/vectors/messages.json").read_text())
NATURAL = st.sampled_from([0, 1, 2**53 - 2, 2**53 - 1]) | st.integers(0, 2**53 - 1)
NAME = st.text(min_size=1, max_size=10)
BODY = st.binary(max_size=20)
MAYBE = st.none()
START = st.tuples(NATURAL, NATURAL, NAME, NATURAL).map(list)
ERROR = st.fixed_dictionaries(
    {"code": NAME, "message": st.text()},
    optional={"next": st.lists(st.lists(NAME, max_size=3), max_size=2), "work": st.lists(st.text())},
)
MESSAGES = st.one_of(
    st.builds(
        Hello, NATURAL, NATURAL, NAME, NAME, NATURAL, NATURAL, START, st.lists(NAME), NATURAL, NAME, NAME
    ),
    st.builds(Command, NATURAL, NAME, BODY, MAYBE | NAME, MAYBE | NAME, MAYBE | NATURAL),
    st.builds(Response, NATURAL, BODY, MAYBE | NATURAL),
    st.builds(Failure, NATURAL, ERROR, MAYBE | NATURAL),
    st.builds(Chunk, NATURAL, st.sampled_from(["begin", "data"]), BODY, MAYBE, MAYBE | NATURAL),
    st.builds(Chunk, NATURAL, st.just("end"), BODY, NATURAL, MAYBE | NATURAL),
    st.builds(Event, NAME, BODY, MAYBE | NAME, MAYBE | NATURAL, MAYBE | NATURAL, MAYBE | NATURAL),
    st.builds(Closing, st.sampled_from(["shutdown", "idle", "replaced"])),
)
ODD: list[Any] = [None, True, False, -1, 0, 1, 2**53, 1.0, "", "x", b"", b"x", [], [""], ["x"], [[]], {}]
ODD += [[1, 2, "b", 3], [1, 2, "b"], {"code": "x"}, {"code": "x", "message": ""}]
ODD += [{"code": "x", "message": "", b"k": 1}, {"code": "x", "message": "", "next": [["a"], "b"]}]
ODD += ["hello", "command", "response", "chunk", "event", "closing", "begin", "end", "shutdown"]
KEYS = ["kind", "ok", "id", "type", "body", "session", "command_id", "client", "error", "part", "parts"]
KEYS += ["sequence", "generation", "reason", "protocol", "schema", "version", "build", "pid", "start"]
KEYS += ["capabilities", "root", "instance"]


PLAIN = [odd for odd in ODD if odd is None or isinstance(odd, int | float | str)]


@st.composite
def items(draw: st.DrawFn, odd: list[Any] = ODD) -> Any:
    """The item of a message, with up to two keys dropped or given something odd; or something odd alone."""
    item: Any = draw(MESSAGES).to_item()
    for _ in range(draw(st.integers(0, 2))):
        key = draw(st.sampled_from(sorted(item)) | st.sampled_from(KEYS) if item else st.sampled_from(KEYS))
        if draw(st.booleans()):
            item.pop(key, None)
        else:
            item[key] = draw(st.sampled_from(odd))
    return draw(st.sampled_from([item] * 9 + [draw(st.sampled_from(odd))]))


def kind_of(item: Any) -> str | None:
    try:
        return type(messages_law.verdict(item)).__name__
    except BadFrame:
        return None


@given(items())
def test_messages_total(item: Any) -> None:
    """messages_total: exactly one message or one error, as the model says, whatever the item."""
    found = kind_of(item)
    event(str(found))
    assert found == messages_model.kind_of(item)


@given(items())
def test_messages_total_gives_no_default(item: Any) -> None:
    """messages_total: whatever a message says stood in the item."""
    try:
        message = messages_law.verdict(item)
    except BadFrame:
        return
    told = message.to_item()
    assert {key: item[key] for key in told} == told


@given(items())
def test_messages_are_of_the_schema(item: Any) -> None:
    """messages_total: no item is taken that shared/wire.cddl does not describe."""
    if kind_of(item) is not None:
        schema.validate_as(schema.rule_of(item) or "", codec.encode(item))


@given(items(PLAIN))
def test_messages_are_exactly_the_schemas(item: Any) -> None:
    """messages_total: and every item that it describes is taken.

    With plain values in the wrong places only: of bytes, lists and maps where a number or a text must stand
    this validator takes some.
    """
    encoded = codec.encode(item)
    assert schema.is_valid(schema.rule_of(item), encoded) == (kind_of(item) is not None)


@given(MESSAGES)
def test_messages_round_trip(message: Message) -> None:
    """messages_round_trip: written and read, the same; no null stands for what is absent."""
    item = envelope.write(message)
    assert envelope.read(item) == message
    assert None not in codec.decode(item).values()
    schema.validate(item)


@given(MESSAGES, st.dictionaries(st.text(min_size=14), NATURAL | st.text(), max_size=3))
def test_messages_ignore_unknown(message: Message, more: dict[str, Any]) -> None:
    """messages_ignore_unknown: the keys of a newer peer change nothing."""
    assert messages_law.verdict(message.to_item() | more) == message
    schema.validate(codec.encode(message.to_item() | more))


@pytest.mark.parametrize("key", KEYS)
@given(message=MESSAGES)
def test_messages_total_for_each_missing_key(key: str, message: Message) -> None:
    """messages_total: without one of its keys an item is what the model says, and never the same message."""
    item = message.to_item()
    if key in item:
        del item[key]
        assert kind_of(item) == messages_model.kind_of(item)
        if kind_of(item) is not None:
            assert messages_law.verdict(item) != message


def vector_item(item: Any) -> Any:
    """JSON has no bytes: {"hex": ...} stands for them."""
    if isinstance(item, dict):
        if item.keys() == {"hex"}:
            return bytes.fromhex(item["hex"])
        return {key: vector_item(value) for key, value in item.items()}
    return item


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: json.dumps(vector["item"])[:60])
def test_vector(vector: dict[str, Any]) -> None:
    item = vector_item(vector["item"])
    assert kind_of(item) == vector["message"]
    assert schema.is_valid(schema.rule_of(item), codec.encode(item)) == (vector["message"] is not None)


@given(st.binary(max_size=50))
def test_any_bytes_are_a_message_or_a_bad_frame(data: bytes) -> None:
    with suppress(BadFrame):
        envelope.read(data)
