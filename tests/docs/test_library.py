"""Every Python block of docs/library.md is a whole program: it runs, in an empty directory, on a real daemon."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import blocks
from tests.real.home import Home, scratch_home

pytestmark = pytest.mark.real
BLOCKS = blocks("library.md", "python")


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with scratch_home() as one:
        yield one


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_runs(home: Home, tmp_path: Path, number: int) -> None:
    words = [sys.executable, "-W", "error", "-c", BLOCKS[number]]
    env = home.env | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    for claimed in claims(BLOCKS[number]):
        assert claimed in done.stdout, (claimed, done.stdout)


def claims(code: str) -> list[str]:
    """What a block says that it prints, behind the print: up to a comma or colon that words follow."""
    lines = [line for line in code.splitlines() if "print(" in line and "  # " in line]
    said = [re.split(r"[:,] (?=[a-z])", line.rpartition("  # ")[2])[0] for line in lines]
    return [one for one in said if " are " not in one]


def test_there_are_blocks_of_each() -> None:
    assert [claims(block) for block in BLOCKS if claims(block)] == [
        ["failed 3"],
        ["2", "[{'text': 'hello'}]"],
        ["['a', 'b']", "(1, 2)"],
    ]
    for name in ("connect()", "connect_async()", "Storage.open", "Journal()", "CronStore(", "BundleStore("):
        assert any(name in block for block in BLOCKS), name


@pytest.fixture(scope="module", autouse=True)
def _ended(home: Home) -> Iterator[None]:
    yield
    home.run("shutdown", "--force", "--yes")
