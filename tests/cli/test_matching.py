"""Lines of output against a regular expression, in whatever pieces they come."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cli.matching import LINE_MAX, Lines, pattern_of
from eukhed.errors import Invalid

TEXT = b"one\r\n\x1b[31mready\x1b[0m on 80\nlast"


@given(st.lists(st.integers(0, len(TEXT)), max_size=4))
def test_a_line_matches_in_whatever_pieces_it_comes(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(TEXT)]
    for wanted, found in (
        (r"^ready on 80$", True),
        (r"^last$", True),
        (r"one.*ready", False),
        (r"31m", False),
    ):
        lines = Lines(re.compile(wanted))
        seen = [lines.take(TEXT[start:end]) for start, end in pairwise(places)]
        assert any(seen) == found


def test_a_line_without_an_end_is_not_kept_whole() -> None:
    lines = Lines(re.compile("x$"))
    assert not any(lines.take(b"a" * LINE_MAX) for _ in range(3))
    assert lines.take(b"x")


def test_what_is_no_expression_is_said() -> None:
    with pytest.raises(Invalid, match="no regular expression"):
        pattern_of("(")
