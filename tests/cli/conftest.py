"""Places of a daemon that nobody else has, a scripted one there, and command lines that find it."""

import tempfile
from collections.abc import Iterator

import pytest

from eukhed.paths import Places
from tests.cli.scripted import Programs
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


@pytest.fixture
def programs(at: Places) -> Iterator[Programs]:
    started = Programs(at)
    yield started
    started.close()
