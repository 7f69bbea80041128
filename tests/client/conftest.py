"""Places of a daemon that nobody else has, and a scripted one there."""

import tempfile
from collections.abc import Iterator

import pytest

from eukhed.paths import Places
from tests.client.daemon import Daemon, places_in


@pytest.fixture
def at() -> Iterator[Places]:
    """Places below a short directory: a socket's path has a limit."""
    with tempfile.TemporaryDirectory(prefix="eu-") as directory:
        yield places_in(directory)


@pytest.fixture
def daemon(at: Places) -> Iterator[Daemon]:
    with Daemon(at) as scripted:
        yield scripted
