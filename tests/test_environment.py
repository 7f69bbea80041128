"""What a run may get of an environment: base and private names, words, files of variables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed import environment
from eukhed.errors import Invalid

OWN = {
    b"PATH": b"/bin",
    b"LC_ALL": b"C",
    b"SECRET": b"s",
    b"EUKHED_RUN": b"x",
    b"LISTEN_FDS": b"1",
    b"NOTIFY_SOCKET": b"/n",
}


def test_private_names_go_and_the_base_set_stays() -> None:
    assert environment.public(OWN, base_only=False).keys() == {b"PATH", b"LC_ALL", b"SECRET"}
    assert environment.public(OWN, base_only=True).keys() == {b"PATH", b"LC_ALL"}


def test_words_set_a_value_or_keep_the_own_one() -> None:
    assert environment.given(OWN, [b"A=b=c", b"SECRET", b"E="]) == {b"A": b"b=c", b"SECRET": b"s", b"E": b""}
    for word in (b"=x", b"NOT_THERE"):
        with pytest.raises(Invalid, match="--env"):
            environment.given(OWN, [word])


def test_a_file_has_comments_exports_and_quotes() -> None:
    text = b"# no\n\nexport A=1\nB='two words'\nC=\"q\"\n D = x=y \nE='\n"
    assert environment.of_file(text, "f") == {
        b"A": b"1",
        b"B": b"two words",
        b"C": b"q",
        b"D": b"x=y",
        b"E": b"'",
    }
    with pytest.raises(Invalid, match="f, line 2"):
        environment.of_file(b"A=1\nB\n", "f")


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        found = environment.of_file(data, "f")
    except Invalid:
        return
    assert all(name and b"=" not in name for name in found)
