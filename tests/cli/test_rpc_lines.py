"""Lines of JSON as commands of the wire: each comes out as it was meant, or is refused with its id."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cli.rpc_lines import Asked, Refusal, answer, event, failure, hello, read
from eukhed.errors import Invalid
from eukhed.wire import codec


def taken(line: Any) -> Asked:
    return read(
        json.dumps(line).encode(), lambda: "fresh", lambda kind, _: {"tty": False} if kind == "run" else {}
    )


def told(data: bytes) -> Any:
    """Bytes as a script tells them."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


@given(
    st.lists(st.binary(max_size=8), max_size=4),
    st.dictionaries(st.text(min_size=1, max_size=4), st.binary(max_size=8), max_size=3),
    st.one_of(st.text(), st.integers(-(2**53), 2**53), st.none()),
)
def test_bytes_arrive_as_they_were(argv: list[bytes], env: dict[str, bytes], number: Any) -> None:
    body = {
        "argv": list(map(told, argv)),
        "env": {key: told(value) for key, value in env.items()},
        "label": "x",
    }
    asked = taken({"id": number, "type": "run", "body": body, "session": "s"})
    wanted = {
        "tty": False,
        "argv": argv,
        "env": {key.encode(): value for key, value in env.items()},
        "label": "x",
    }
    assert asked == Asked(number, "run", wanted, "s", "fresh")
    assert codec.decode(codec.encode(asked.body)) == asked.body


def test_bytes_are_found_wherever_they_stand() -> None:
    asked = taken({"id": 1, "type": "later", "body": {"a": [{"b": {"base64": "/w=="}}], "c": "text"}})
    assert asked.body == {"a": [{"b": b"\xff"}], "c": "text"}
    assert asked.command_id is None


def test_a_command_id_that_is_given_stays() -> None:
    assert taken({"id": 1, "type": "run", "command_id": "mine"}).command_id == "mine"
    assert taken({"id": 1, "type": "wait"}).command_id is None


@pytest.mark.parametrize(
    ("line", "number", "reason"),
    [
        (b"{", None, "no JSON"),
        (b"\xff", None, "no JSON"),
        (b"[]", None, "no object"),
        (b'{"id": true, "type": "x"}', None, "neither a text nor a number"),
        (b'{"id": [], "type": "x"}', None, "neither a text nor a number"),
        (b'{"id": 7}', 7, "type is missing"),
        (b'{"id": 7, "type": 1}', 7, "type is no text"),
        (b'{"id": 7, "type": "x", "session": 1}', 7, "session is no text"),
        (b'{"id": 7, "type": "x", "body": []}', 7, "body is no object"),
        (b'{"id": "q", "type": "x", "Body": {}}', "q", "Body is no key"),
        (b'{"id": 7, "type": "run", "body": {"argv": "ls"}}', 7, "argv is no list"),
        (b'{"id": 7, "type": "run", "body": {"argv": [1]}}', 7, "neither text nor base64"),
        (b'{"id": 7, "type": "run", "body": {"env": []}}', 7, "env is no object"),
        (b'{"id": 7, "type": "input", "body": {"data": {"base64": "?"}}}', 7, "bad base64"),
    ],
)  # fmt: skip
def test_what_is_no_command_is_refused(line: bytes, number: Any, reason: str) -> None:
    with pytest.raises(Refusal, match=reason) as refused:
        read(line, lambda: "fresh", lambda _kind, _body: {})
    assert refused.value.id == number
    assert refused.value.error.code == "invalid"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_any_json_is_a_command_or_refused(line: Any) -> None:
    with pytest.raises(Refusal):
        taken(line)


def test_what_goes_out() -> None:
    assert hello({"kind": "hello", "pid": 1}) == {"kind": "hello", "pid": 1}
    asked = Asked("a", "run", {}, "s", "c")
    assert answer(asked, {"run": 1}) == {
        "kind": "response", "id": "a", "ok": True, "command_id": "c", "body": {"run": 1},
    }  # fmt: skip
    assert "command_id" not in answer(asked._replace(command_id=None), {})
    assert failure(3, Invalid("no"))["error"] == {"code": "invalid", "message": "no"}
    told_of = {"kind": "event", "type": "output", "client": 4, "session": None, "body": {"data": b"x"}}
    assert event(told_of) == {"kind": "event", "type": "output", "body": {"data": b"x"}}
