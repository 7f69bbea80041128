"""The walk of docs/bundles.md: what it says to type is typed, and prints what it says."""

import re
import subprocess
import sys

from tests.docs.pages import blocks
from tests.real.home import Home

WHEN = re.compile(r"\d+ [A-Z][a-z][a-z] (?:\d{4} )?\d\d:\d\d +")


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
        said = [WHEN.sub("", line) for line in done.stdout.splitlines()]
        shown = [WHEN.sub("", line) for block in blocks("bundles.md", "text") for line in block.splitlines()]
        assert said[: len(shown)] == shown
        assert said[len(shown) :] == ["Ada prefers good evening"]
        assert "greeting: 3 versions, all as minted" in done.stderr
    finally:
        home.close()
