"""The detach key among what is typed, at any time and in any form a terminal sends it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cli.keys import TWICE_WITHIN_MS, DetachKey, Typed, shown

FORMS = [b"\x1c", b"\x1b[92;5u", b"\x1b[27;5;92~"]


@pytest.mark.parametrize("form", FORMS)
def test_once_detaches_after_a_moment(form: bytes) -> None:
    key = DetachKey()
    assert key.due_ms(0) is None
    assert key.typed(b"abc" + form, 1000) == Typed(b"abc", detach=False)
    assert key.due_ms(1000) == TWICE_WITHIN_MS
    assert key.due_ms(1000 + TWICE_WITHIN_MS - 1) == 1
    assert key.due_ms(1000 + TWICE_WITHIN_MS) == 0
    assert key.due_ms(5000) == 0


@pytest.mark.parametrize("form", FORMS)
def test_twice_sends_one(form: bytes) -> None:
    key = DetachKey()
    assert key.typed(form, 0).data == b""
    assert key.typed(form, TWICE_WITHIN_MS - 1) == Typed(form, detach=False)
    assert key.due_ms(9999) is None


def test_another_key_after_it_detaches_and_is_not_sent() -> None:
    key = DetachKey()
    key.typed(b"\x1c", 0)
    assert key.typed(b"x", 10) == Typed(b"", detach=True)
    assert DetachKey().typed(b"ab\x1ccd", 0) == Typed(b"ab", detach=True)


@given(st.binary().filter(lambda data: b"\x1c" not in data and b"\x1b" not in data))
def test_everything_else_passes_untouched(data: bytes) -> None:
    assert DetachKey().typed(data, 0) == Typed(data, detach=False)


def test_other_keys_and_none() -> None:
    assert DetachKey("ctrl-a").typed(b"\x01\x01", 0).data == b"\x01"
    assert DetachKey("none").typed(b"\x1c\x01", 0) == Typed(b"\x1c\x01", detach=False)
    assert shown("ctrl-\\") == "Ctrl-\\"
    assert shown("ctrl-a") == "Ctrl-A"
    for name in ("", "ctrl-", "ctrl-ab", "a", "ctrl-1"):
        with pytest.raises(ValueError, match="no key"):
            DetachKey(name)
