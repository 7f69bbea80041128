"""A running supervisor for the tests that need one."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.supervisor.harness import Daemon, daemon


@pytest.fixture
def place() -> Iterator[Daemon]:
    """A state root without a supervisor; what a test left running ends with it."""
    with tempfile.TemporaryDirectory(prefix="e") as directory, daemon(Path(directory)) as made:
        yield made


@pytest.fixture
def hasty() -> Iterator[Daemon]:
    """A running supervisor whose waits are the shortest there are, for tests that wait them out."""
    with tempfile.TemporaryDirectory(prefix="e") as directory, daemon(Path(directory), "0.01") as made:
        assert made.start() == "ready\n"
        yield made


@pytest.fixture
def running(place: Daemon) -> Daemon:
    """A supervisor that said that it is ready."""
    assert place.start() == "ready\n"
    return place
