"""What destroys asks once, on a terminal alone; --yes answers, and nothing else does."""

import os
import subprocess
from pathlib import Path

import pytest

from eukhed.host.files import SystemFiles
from eukhed.paths import Places
from eukhed.storage.batch import session_batch
from eukhed.storage.staging import create_session
from tests.cli.scripted import OnTerminal, environment, eukhed

SESSION = "0197a000-0000-7000-8000-000000000001"


@pytest.fixture
def shop(at: Places) -> Path:
    """A session that sleeps, and no daemon."""
    for path in (at.root, at.sessions):
        os.makedirs(path, mode=0o700, exist_ok=True)
    return Path(
        create_session(SystemFiles(), at.sessions, SESSION, session_batch(SESSION, "shop", "/src/shop", 1))
    )


def ask(at: Places, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        eukhed(*words), env=environment(at), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=30,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "status", "gone"),
    [(b"y\r", 0, True), (b"yes\r", 0, True), (b"n\r", 3, False), (b"\r", 3, False), (b"\x04", 3, False)],
    ids=["y", "yes", "n", "enter", "end"],
)
def test_a_person_is_asked_once(shop: Path, at: Places, answer: bytes, status: int, gone: bool) -> None:
    with OnTerminal(eukhed("delete", "shop"), environment(at)) as terminal:
        before = terminal.expect(b"delete shop for good? [y/N] ")
        assert b"shop  /src/shop  no runs, " in before
        terminal.type(answer)
        assert terminal.wait() == status
        assert b"[y/N]" not in terminal.rest()
    assert shop.exists() is not gone


def test_nobody_to_ask_is_a_refusal_that_says_what_would_do_it(shop: Path, at: Places) -> None:
    done = ask(at, "delete", "shop")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == "eukhed: delete shop for good? --yes says that it may be done"
    assert done.stderr.splitlines()[-1] == "  next  eukhed delete shop --yes"
    assert shop.exists()
    with OnTerminal(eukhed("delete", "shop", "--no-input"), environment(at)) as terminal:
        assert terminal.wait() == 2
    assert shop.exists()
    assert ask(at, "delete", "shop", "--yes").returncode == 0
    assert not shop.exists()


def test_what_changes_and_destroys_nothing_does_not_ask(shop: Path, at: Places) -> None:
    assert ask(at, "archive", "shop").returncode == 0
    assert ask(at, "unarchive", "shop").returncode == 0
    assert ask(at, "rename", "shop", "store").returncode == 0
    assert ask(at, "export", "store").stdout.count("\n") == 4
    assert ask(at, "delete", "store", "--dry-run").stdout.startswith("store  /src/shop  no runs, ")
    assert shop.exists()
