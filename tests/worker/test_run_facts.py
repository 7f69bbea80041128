"""What a run's body may be: each field that is not of its form is named; what is stored reads back the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import Invalid
from eukhed.worker.run_facts import again, wish

BODY: dict[str, Any] = {
    "argv": [b"sh", b"-c", b"echo \xff"],
    "cwd": b"/tmp/\xfe",
    "env": {b"PATH": b"/bin", b"ODD": b"\xff"},
    "umask": 0o027,
    "limits": [[7, 1024]],
    "nice": 5,
    "tty": True,
    "rows": 50,
    "cols": 132,
    "stdin": "typed",
    "label": "x",
    "window": 65536,
    "timeout_ms": 1000,
}


def test_what_is_stored_reads_back_the_same() -> None:
    asked = wish(BODY, 10_000)
    stored = asked.input(123)
    assert stored["envNames"] == ["ODD", "PATH"]
    assert "/bin" not in repr(stored), "no value of the environment is stored"
    assert again(stored, asked.env, 10_000) == asked._replace(detach=True, window=0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("argv", []),
        ("argv", ["text"]),
        ("argv", [b"a\0b"]),
        ("cwd", b"relative"),
        ("env", {b"": b"x"}),
        ("env", {b"A": b"\0"}),
        ("umask", -1),
        ("limits", [[1]]),
        ("nice", "5"),
        ("tty", 1),
        ("rows", True),
        ("stdin", "tape"),
        ("timeout_ms", -1),
    ],
)
def test_a_field_that_is_not_of_its_form_is_refused(field: str, value: Any) -> None:
    with pytest.raises(Invalid):
        wish(BODY | {field: value}, 10_000)


@pytest.mark.parametrize("field", ["argv", "cwd", "env", "stdin"])
def test_a_field_that_is_missing_is_named(field: str) -> None:
    with pytest.raises(Invalid, match=field):
        wish({key: value for key, value in BODY.items() if key != field}, 10_000)


@given(
    st.dictionaries(
        st.sampled_from([*BODY, "other"]), st.none() | st.integers() | st.binary() | st.lists(st.none())
    )
)
def test_any_body_is_a_wish_or_one_error(body: dict[str, Any]) -> None:
    try:
        asked = wish(BODY | body, 10_000)
    except Invalid:
        return
    assert again(asked.input(0), asked.env, 10_000).argv == asked.argv
