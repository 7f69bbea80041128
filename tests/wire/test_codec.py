"""Items to bytes and back: strict, deterministic, total."""

import math
from contextlib import suppress
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import BadFrame, Invalid
from eukhed.wire import codec

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)
ITEMS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types: 1, 1.0 and True are three items."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


@given(ITEMS)
def test_round_trip(item: Any) -> None:
    assert same(codec.decode(codec.encode(item)), item)


@given(st.dictionaries(st.text(), ITEMS, min_size=2, max_size=6))
def test_encoding_is_deterministic(item: dict[str, Any]) -> None:
    """The order in which a map was made leaves no trace; encoding what was decoded gives the same bytes."""
    encoded = codec.encode(item)
    assert codec.encode(dict(reversed(item.items()))) == encoded
    assert codec.encode(codec.decode(encoded)) == encoded
    keys = [codec.encode(key) for key in codec.decode(encoded)]
    assert keys == sorted(keys)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_item_or_a_bad_frame(data: bytes) -> None:
    with suppress(BadFrame):
        codec.decode(data)


@given(ITEMS, st.data())
def test_mutated_bytes_are_an_item_or_a_bad_frame(item: Any, data: st.DataObject) -> None:
    """Cut short it is never an item; with more after it neither; with a byte changed, one or the other."""
    encoded = bytearray(codec.encode(item))
    with pytest.raises(BadFrame):
        codec.decode(bytes(encoded[: data.draw(st.integers(0, len(encoded) - 1))]))
    with pytest.raises(BadFrame):
        codec.decode(bytes(encoded + data.draw(st.binary(min_size=1, max_size=5))))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    with suppress(BadFrame):
        codec.decode(bytes(encoded))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("", "nothing"),
        ("0101", "two items"),
        ("9f01ff", "an array without a length"),
        ("bf616101ff", "a map without a length"),
        ("5f4161ff", "bytes without a length"),
        ("7f6161ff", "text without a length"),
        ("a10102", "a number as a key"),
        ("a1f602", "null as a key"),
        ("a18002", "an array as a key"),
        ("a2616101616102", "a key twice"),
        ("ff", "a break"),
        ("1c", "a reserved length"),
        ("61ff", "text that is not UTF-8"),
        ("c074323031332d30332d32315432303a30343a30305a", "a date"),
        ("c249010000000000000000", "a large number"),
        ("d81c81d81d00", "a list that holds itself"),
        ("d90100826161d81900", "a reference to a string"),
        ("d823612a", "a pattern"),
        ("d9100001", "a tag of somebody else"),
        ("9bffffffffffffffff", "an array of 2^64 items"),
        ("5b00ffffffffffffff", "a string of 2^56 bytes"),
        ("ba7fffffff", "a map of 2^31 keys"),
    ],
)
def test_what_is_refused(data: str, why: str) -> None:
    with pytest.raises(BadFrame):
        codec.decode(bytes.fromhex(data))


def nested(depth: int) -> bytes:
    return b"\x81" * depth + b"\x01"


def test_depth_is_bounded() -> None:
    assert codec.decode(nested(codec.DEPTH_MAX))
    for depth in (codec.DEPTH_MAX + 1, 1_000_000):
        with pytest.raises(BadFrame):
            codec.decode(nested(depth))
        with pytest.raises(BadFrame):
            codec.decode(b"\xa1\x61a" * depth + b"\x01")


def test_an_environment_keeps_its_bytes() -> None:
    environment = {b"PATH": b"/bin", b"\xff\xfe": b"\x80"}
    assert codec.decode(codec.encode({"env": environment})) == {"env": environment}


def test_what_has_no_form_is_refused() -> None:
    for item in (object(), {"a": object()}, "\udc80", {"\udc80": 1}, {1, 2, object()}):
        with pytest.raises(Invalid):
            codec.encode(item)


def test_floats_are_as_short_as_they_can_be() -> None:
    assert codec.encode(1.5) == bytes.fromhex("f93e00")
    assert codec.encode(1.1) == bytes.fromhex("fb3ff199999999999a")
    assert math.isnan(codec.decode(codec.encode(math.nan)))


def test_no_tag_has_a_meaning() -> None:
    """Whatever tags the library knows, or learns: none is looked into."""
    for tag in [*range(300), 1004, 43000, 55799, 2**32]:
        with pytest.raises(BadFrame, match="tag"):
            codec.decode(cbor2.dumps(cbor2.CBORTag(tag, 1)))


@given(st.lists(ITEMS, max_size=4), st.sampled_from([0, 23, 24, 255, 256, 65535, 65536]))
def test_what_is_joined_is_what_is_encoded_whole(items: list[Any], more: int) -> None:
    listed = items + [0] * more
    joined = codec.joined_list([codec.encode(item) for item in listed])
    assert joined == codec.encode(listed)
    fields = {f"{'k' * (number % 30)}{number}": item for number, item in enumerate(listed[:300])}
    assert codec.joined_map({name: codec.encode(item) for name, item in fields.items()}) == codec.encode(
        fields
    )
