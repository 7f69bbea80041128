"""What an argument means: a session, a run, both or neither."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cli.finding import Target, target, wanted
from tests.cli.test_logout import context
from tests.client.daemon import places_in


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        (None, Target(None, None)),
        ("shop", Target("shop", None)),
        ("shop/14", Target("shop", 14)),
        ("14", Target(None, 14)),
        ("/14", Target(None, 14)),
        ("a/b/14", Target("a/b", 14)),
        ("shop/", Target("shop/", None)),
        ("shop/x", Target("shop/x", None)),
        ("shop/-1", Target("shop/-1", None)),
    ],
)
def test_targets(word: str | None, meant: Target) -> None:
    assert target(word) == meant


@given(st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True), st.integers(0, 10**9))
def test_an_address_is_read_back(name: str, number: int) -> None:
    assert target(f"{name}/{number}") == Target(name, number)


def test_the_nearest_name_wins() -> None:
    here = context(places_in("/x"), environ={"EUKHED_SESSION": "of-the-run"})
    assert wanted(here, "argument", "option") == "argument"
    assert wanted(here, None, "option") == "option"
    assert wanted(here, None, None) == "of-the-run"
    assert wanted(context(places_in("/x")), None, None) is None
