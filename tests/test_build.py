"""The digest: of exactly the source files, the same everywhere, another for any change."""

import hashlib
import os
import re
import shutil
from pathlib import Path

import pytest

from eukhed import build


def tree(folder: Path, files: dict[str, bytes]) -> str:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return str(folder)


FILES = {"a.py": b"x = 1\n", "b/c.py": b"", "b/__init__.py": b"y"}


def test_the_digest_is_as_described(tmp_path: Path) -> None:
    sha = hashlib.sha256()
    for name in ("a.py", "b/__init__.py", "b/c.py"):
        data = FILES[name]
        sha.update(b"%d:%s\n%d:%s\n" % (len(name), name.encode(), len(data), data))
    assert build.digest(tree(tmp_path, FILES)) == sha.hexdigest()[:12]


@pytest.mark.parametrize(
    "change",
    [
        {"a.py": b"x = 2\n"},
        {"d.py": b""},
        {"b/c.py": b"\n"},
        {"b/a.py": b""},
        {"a.py": b"x = 1\n4:b/c.py\n0:"},
    ],
)
def test_any_change_changes_it(change: dict[str, bytes], tmp_path: Path) -> None:
    before = build.digest(tree(tmp_path / "before", FILES))
    assert build.digest(tree(tmp_path / "after", FILES | change)) != before


def test_a_file_that_moves_changes_it(tmp_path: Path) -> None:
    before = build.digest(tree(tmp_path, FILES))
    os.rename(tmp_path / "a.py", tmp_path / "z.py")
    assert build.digest(str(tmp_path)) != before


def test_caches_and_other_files_do_not(tmp_path: Path) -> None:
    before = build.digest(tree(tmp_path, FILES))
    tree(tmp_path, {"__pycache__/a.py": b"no", "b/__pycache__/c.cpython-311.pyc": b"no", "notes.txt": b"no"})
    os.utime(tmp_path / "a.py", (0, 0))
    assert build.digest(str(tmp_path)) == before


def test_a_copy_elsewhere_is_the_same_build(tmp_path: Path) -> None:
    shutil.copytree(
        build.package_directory(), tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert build.digest(str(tmp_path / "copy")) == build.digest(build.package_directory())


def test_the_version_is_of_its_form() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(-(dev|rc)\.\d+)?", build.VERSION)
    project = Path("pyproject.toml").read_text()
    assert f'\nversion = "{build.VERSION}"\n' in project or "-" in build.VERSION
    assert build.PROTOCOL >= 1
    assert build.SCHEMA >= 1
