"""lookup.py on real directories: repositories, links, the home directory, misses with near names."""

from pathlib import Path

import pytest

from eukhed.errors import EXIT_NO_SUCH_THING, NotFound, UnknownSession
from eukhed.host.files import SystemFiles
from eukhed.storage.listing_law import SessionRow
from eukhed.storage.lookup import canonical, find, repository_root


def row(number: int, name: str, cwd: Path | str) -> SessionRow:
    return SessionRow(f"0198-{number:04x}", name, str(cwd), 100 - number, archived=False, legacy=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a repository, a worktree, and a repository that is the home itself."""
    (tmp_path / "u" / ".git").mkdir(parents=True)
    (tmp_path / "u" / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "u" / "shop" / "src" / "deep").mkdir(parents=True)
    (tmp_path / "u" / "tree").mkdir()
    (tmp_path / "u" / "tree" / ".git").write_text("gitdir: elsewhere")
    (tmp_path / "u" / "plain" / "below").mkdir(parents=True)
    return tmp_path / "u"


def test_repository_root(home: Path) -> None:
    files = SystemFiles()
    assert repository_root(files, str(home / "shop" / "src" / "deep")) == str(home / "shop")
    assert repository_root(files, str(home / "tree")) == str(home / "tree")
    assert repository_root(files, str(home / "plain" / "below")) == str(home)
    assert repository_root(files, "/") is None


def test_the_nearest_session_of_the_repository(home: Path) -> None:
    rows = [
        row(1, "shop-2", home / "shop"),
        row(2, "shop", home / "shop"),
        row(3, "src", home / "shop" / "src"),
    ]
    files = SystemFiles()
    found = find(files, rows, None, str(home / "shop"), str(home))
    assert (found.session.name, [other.name for other in found.others]) == ("shop-2", ["shop"])
    deep = find(files, rows, None, str(home / "shop" / "src" / "deep"), str(home))
    assert (deep.session.name, deep.others) == ("src", ())


def test_never_the_home_directory_from_below_it(home: Path) -> None:
    rows = [row(1, "home", home)]
    with pytest.raises(UnknownSession) as caught:
        find(SystemFiles(), rows, None, str(home / "plain" / "below"), str(home))
    assert caught.value.data["near"] == []
    assert find(SystemFiles(), rows, None, str(home), str(home)).session.name == "home"


def test_a_link_to_a_directory_is_that_directory(home: Path) -> None:
    (home.parent / "alias").symlink_to(home / "shop")
    rows = [row(1, "shop", canonical(SystemFiles(), str(home / "shop")))]
    found = find(SystemFiles(), rows, None, str(home.parent / "alias" / "src"), str(home))
    assert found.session.name == "shop"


def test_a_miss_tells_near_names(home: Path) -> None:
    rows = [row(1, "shop", home), row(2, "shop-2", home), row(3, "api", home)]
    with pytest.raises(UnknownSession) as caught:
        find(SystemFiles(), rows, "shp", str(home), str(home))
    assert caught.value.data["near"] == ["shop", "shop-2"]
    assert "shop" in caught.value.message
    with pytest.raises(UnknownSession) as caught:
        find(SystemFiles(), rows, "zzz", str(home), str(home))
    assert caught.value.data["near"] == []
    assert caught.value.exit == EXIT_NO_SUCH_THING


def test_an_ambiguous_word_names_all(home: Path) -> None:
    rows = [row(1, "twin", "/a"), row(2, "twin", "/b")]
    with pytest.raises(NotFound) as caught:
        find(SystemFiles(), rows, "twin", str(home), str(home))
    assert caught.value.data["sessions"] == ["0198-0001", "0198-0002"]
    assert caught.value.exit == EXIT_NO_SUCH_THING
    assert find(SystemFiles(), rows, "02", str(home), str(home)).session.id == "0198-0002"
