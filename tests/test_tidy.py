"""What the code must look like, checked as a test (as TigerBeetle's src/tidy.zig does)."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAWS = sorted((ROOT / "eukhed").rglob("*_law.py"))
MAY_IMPORT = {
    "__future__",
    "bisect",
    "collections",
    "collections.abc",
    "dataclasses",
    "enum",
    "functools",
    "heapq",
    "itertools",
    "math",
    "operator",
    "typing",
    "semver",
    "eukhed.timing",
    "eukhed.errors",
    "eukhed.build",
    "eukhed.host.seam",  # its vocabulary: identities, facts about files
    "eukhed.cron.jobs",
    "eukhed.storage.records",
    "eukhed.tree.records",
    "eukhed.wire.messages",
}  # and pure vocabulary of the law's own room


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: absolute imports only"
            found.add(node.module or "")
    return found


def noun(law: Path) -> str:
    return law.stem.removesuffix("_law")


@pytest.mark.parametrize("law", LAWS, ids=noun)
def test_law_is_pure(law: Path) -> None:
    """A law imports no IO, no clock, no randomness, and defines nothing async; it may ask a law of its folder."""
    tree = ast.parse(law.read_text())
    own = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in law.parent.glob("*_law.py")}
    assert imports_of(law) <= MAY_IMPORT | own, imports_of(law) - MAY_IMPORT - own
    assert not any(isinstance(n, ast.AsyncFunctionDef | ast.Await | ast.Global) for n in ast.walk(tree))


@pytest.mark.parametrize("law", LAWS, ids=noun)
def test_law_has_its_mirrors(law: Path) -> None:
    """Text, vectors, test and model stand where the law's own path says."""
    room = law.parent.relative_to(ROOT / "eukhed")
    mirrors = [
        f"shared/laws/{noun(law)}.md",
        f"shared/vectors/{noun(law)}.json",
        f"tests/{room}/test_{law.name}",
    ]
    if "\nCASES" not in law.read_text():  # a table is tested whole, and is its own model
        mirrors.append(f"tests/{room}/{noun(law)}_model.py")
    for mirror in mirrors:
        assert (ROOT / mirror).is_file(), mirror


@pytest.mark.parametrize("law", LAWS, ids=noun)
def test_law_sentences_are_tested(law: Path) -> None:
    """Each sentence of a law's text, by its id, stands in its test or its vectors."""
    text = (ROOT / f"shared/laws/{noun(law)}.md").read_text()
    room = law.parent.relative_to(ROOT / "eukhed")
    checked = (ROOT / f"tests/{room}/test_{law.name}").read_text()
    checked += (ROOT / f"shared/vectors/{noun(law)}.json").read_text()
    for sentence in re.findall(r"^- (\w+):", text, re.MULTILINE):
        assert sentence in checked, sentence


@pytest.mark.parametrize("law", LAWS, ids=noun)
def test_law_is_asked_only_from_its_own_room(law: Path) -> None:
    """Whoever asks a law stands in the same folder, or is a law itself."""
    module = ".".join(law.relative_to(ROOT).with_suffix("").parts)
    package, _, name = module.rpartition(".")
    for path in (ROOT / "eukhed").rglob("*.py"):
        if path.parent == law.parent or path.stem.endswith("_law"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert module not in {alias.name for alias in node.names}, path
            elif isinstance(node, ast.ImportFrom):
                assert node.module != module, path
                assert node.module != package or name not in {alias.name for alias in node.names}, path


def test_no_function_over_60_lines() -> None:
    for path in (ROOT / "eukhed").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                assert lines <= 60, f"{path}:{node.lineno} {node.name}: {lines} lines"
