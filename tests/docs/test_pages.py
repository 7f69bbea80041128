"""Links of the pages lead somewhere; files that architecture.md names are there."""

import re

import pytest

from tests.docs.pages import DOCS, page

ROOT = DOCS.parent
PAGES = [
    *sorted(path.relative_to(ROOT).as_posix() for path in DOCS.glob("*.md")),
    "README.md",
    "CONTRIBUTING.md",
]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    at = ROOT / name
    for target in re.findall(r"\]\(([^)#:]+)\)", at.read_text()):
        assert (at.parent / target).exists(), target


def test_the_index_has_every_page() -> None:
    index = page("README.md")
    assert [path.name for path in DOCS.glob("*.md") if f"]({path.name})" not in index] == ["README.md"]


def test_what_the_architecture_names_is_there() -> None:
    rooms = {path.name for path in (ROOT / "eukhed").iterdir() if path.is_dir()}
    words = set(re.findall(r"`(\w+/\w+)(?:\.py)?`", page("architecture.md")))
    named = {word for word in words if word.partition("/")[0] in rooms}
    assert len(named) > 20
    assert [word for word in sorted(named) if not (ROOT / f"eukhed/{word}.py").exists()] == []
    laws = set(re.findall(r"`(?:\w+/)?(\w+_law)`", page("architecture.md")))
    there = {path.stem for path in (ROOT / "eukhed").rglob("*_law.py")}
    assert laws <= there | {"X_law"}, laws - there
