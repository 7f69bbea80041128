"""A state root without a daemon, for the tests that launch one."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.supervisor.harness import Daemon, daemon


@pytest.fixture
def place() -> Iterator[Daemon]:
    """What a test left running ends with it."""
    with tempfile.TemporaryDirectory(prefix="e") as directory, daemon(Path(directory)) as made:
        yield made
