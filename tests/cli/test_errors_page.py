"""docs/errors.md has every code there is, with its exit status."""

import re
from pathlib import Path

from eukhed.cli.demo import Broke
from eukhed.cli.trouble import as_text, steps
from eukhed.errors import EukhedError, Invalid

ROW = re.compile(r"^\| `(\w+)` \| (\d) \|", re.MULTILINE)


def kinds(root: type[EukhedError]) -> list[type[EukhedError]]:
    return [root, *(kind for below in root.__subclasses__() for kind in kinds(below))]


def test_every_code_is_on_the_page_with_its_status() -> None:
    rows = ROW.findall(Path("docs/errors.md").read_text())
    told = {code: int(status) for code, status in rows}
    assert len(told) == len(rows), "a code stands twice"
    of_the_package = [kind for kind in kinds(EukhedError) if kind.__module__.startswith("eukhed.")]
    assert Broke in of_the_package
    assert told == {kind.code: kind.exit for kind in of_the_package}


def test_what_helps_is_labelled_and_exists() -> None:
    error = Invalid(
        "no",
        next=[
            ["eukhed", "--socket", "/x y", "ps"],
            ["eukhed", "no-such"],
            ["loginctl", "enable-linger"],
            ["eukhed", "run", "--help"],
        ],
        near=["shop"],
    )
    assert as_text(error) == [
        "eukhed: no", "  near  shop", "  look  eukhed --socket '/x y' ps", "  next  loginctl enable-linger", "  help  eukhed run --help",
    ]  # fmt: skip
    assert len(steps(error)) == 3
