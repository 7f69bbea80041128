"""Fixtures of the scenarios: everything that has a home is real."""

from collections.abc import Iterator

import pytest

from tests.real.home import Home, scratch_home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A home means real processes; what runs on virtual time has none."""
    for item in items:
        if "tests/scenarios/" in item.nodeid and "home" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.real)


@pytest.fixture
def home() -> Iterator[Home]:
    """A scratch home with its own daemon, gone afterwards."""
    with scratch_home() as one:
        yield one
