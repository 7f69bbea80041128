"""The walk of docs/bundles.md: what it says to type is typed, and prints what it says."""

import re
import subprocess
import sys

import pytest

from tests.docs.pages import blocks
from tests.real.home import Home

WHEN = re.compile(r"\d+ [A-Z][a-z][a-z] (?:\d{4} )?\d\d:\d\d")


def lines(text: str) -> list[str]:
    """Without times, and with one blank for many: columns are as wide as the times in them."""
    return [" ".join(WHEN.sub("", line).split()) for line in text.splitlines()]


@pytest.mark.real
def test_the_walk_prints_what_the_page_says() -> None:
    home = Home()
    try:
        script = f'eukhed() {{ "{sys.executable}" -m eukhed "$@"; }}\nset -e\n' + "".join(
            blocks("bundles.md", "sh")
        )
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=home.directory,
            env=home.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done
        said = lines(done.stdout)
        shown = lines("".join(blocks("bundles.md", "text")))
        assert said[: len(shown)] == shown
        assert said[len(shown) :] == ["Ada prefers good evening"]
        assert "greeting: 3 versions, all as minted" in done.stderr
    finally:
        home.close()
