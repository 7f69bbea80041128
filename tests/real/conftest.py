"""Fixtures of the tests on real processes."""

from collections.abc import Iterator

import pytest

from tests.real.home import Home, scratch_home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here is real."""
    for item in items:
        if "tests/real/" in item.nodeid:
            item.add_marker(pytest.mark.real)


@pytest.fixture
def home() -> Iterator[Home]:
    """A scratch home with its own daemon, gone afterwards."""
    with scratch_home() as one:
        yield one
