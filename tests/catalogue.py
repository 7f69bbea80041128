"""The catalogue of laws, made of their texts, homes and checks: `python -m tests.catalogue` writes it.

It is package data (eukhed/cli/laws.json), so that `eukhed laws` needs neither this repository nor its tests;
tests/test_laws.py holds it equal to what this file finds.
"""

import ast
import json
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
CATALOGUE = ROOT / "eukhed" / "cli" / "laws.json"
SENTENCE = re.compile(r"^- (\w+): (.+?)(?=^- |^\S|\Z)", re.MULTILINE | re.DOTALL)
HOME = re.compile(r"^Home: (\S+?)\.?$", re.MULTILINE)


@cache
def tests() -> tuple[tuple[str, str], ...]:
    """Each test function: its address, and the words in which it may name a law."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                words = f"{node.name} {ast.get_docstring(node) or ''}"
                found.append((f"{path.relative_to(ROOT)}::{node.name}", words))
            elif isinstance(node, ast.ClassDef):
                found.append((f"{path.relative_to(ROOT)}::{node.name}", ast.get_docstring(node) or ""))
    return tuple(found)


def home_of(text: str, noun: str) -> str:
    """The file that decides the laws of a text: its namesake, or the one that the text names."""
    laws = sorted((ROOT / "eukhed").rglob(f"{noun}_law.py"))
    if laws:
        return str(laws[0].relative_to(ROOT))
    named = HOME.search(text)
    return named.group(1) if named else ""


def checks_of(law: str, noun: str) -> list[str]:
    """The tests that name a law, and its vectors."""
    word = re.compile(rf"\b(test_)?{law}\b")
    checks = [address for address, words in tests() if word.search(words)]
    vectors = ROOT / "shared" / "vectors" / f"{noun}.json"
    if vectors.is_file() and f'"{law}"' in vectors.read_text():
        checks.append(str(vectors.relative_to(ROOT)))
    return checks


def build() -> list[dict[str, object]]:
    """Every law: id, statement, home, checks."""
    rows: list[dict[str, object]] = []
    for path in sorted((ROOT / "shared" / "laws").glob("*.md")):
        text = path.read_text()
        for law, says in SENTENCE.findall(text):
            row = {"id": law, "says": " ".join(says.split()), "home": home_of(text, path.stem)}
            rows.append(row | {"checks": checks_of(law, path.stem)})
    return rows


def text() -> str:
    """The catalogue as it is in the package, one law a line."""
    rows = ",\n".join(" " + json.dumps(law, ensure_ascii=False) for law in build())
    return f"[\n{rows}\n]\n"


if __name__ == "__main__":
    CATALOGUE.write_text(text())
