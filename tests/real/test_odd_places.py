"""Directories with names that are no text, or odd text."""

import os
import subprocess
from pathlib import Path

from tests.real.home import EUKHED, Home


def run_in(home: Home, directory: bytes, *args: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*EUKHED, *args], cwd=directory, env=home.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        check=False,
    )  # fmt: skip


def test_a_state_root_with_spaces_and_letters_of_any_kind(home: Home) -> None:
    home.root = home.base / "stäte of 'things' \" ☃"
    home.env["EUKHED_HOME"] = str(home.root)
    assert home.run("run", "--", "cat", data=b"hi\n").stdout == b"hi\n"
    assert home.run("attach").stdout == b"hi\n"
    home.shut_down()


def test_a_directory_that_is_no_utf8_runs_in_a_named_session_and_is_refused_in_words_without(
    home: Home,
) -> None:
    directory = os.fsencode(home.base) + b'/d\xff \n"z'
    Path(os.fsdecode(directory)).mkdir()
    refused = run_in(home, directory, "run", "--", "pwd")
    assert refused.returncode == 125
    assert b"--session" in refused.stderr
    done = run_in(home, directory, "run", "--session", "odd", "--", "pwd")
    assert (done.returncode, done.stdout) == (0, directory + b"\n"), done.stderr
    told = run_in(home, directory, "runs", "odd", "--json")
    assert told.returncode == 0, told.stderr
    home.shut_down()


def test_a_state_root_that_is_no_utf8_is_refused_at_once(home: Home) -> None:
    wrong = dict(home.env, EUKHED_HOME=os.fsdecode(os.fsencode(home.base) + b"/s\xff"))
    done = subprocess.run(
        [*EUKHED, "run", "--", "true"],
        env=wrong,
        cwd=home.directory,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 125
    assert b"UTF-8" in done.stderr
    assert home.processes() == {}
