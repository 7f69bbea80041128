"""Settings: value and origin, the repository's file before the user's, near keys, problems with their lines."""

import json
from pathlib import Path

import pytest

from eukhed.cli import main
from eukhed.cli.settings import KEYS, settings


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, dict[str, str]]:
    repository = tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    (repository / ".eukhed").mkdir()
    (repository / "deep").mkdir()
    monkeypatch.chdir(repository / "deep")
    own = tmp_path / "config.toml"
    monkeypatch.setenv("EUKHED_CONFIG", str(own))
    return own, repository / ".eukhed" / "config.toml", {"EUKHED_CONFIG": str(own)}


def test_without_a_file_all_is_default(files: tuple[Path, Path, dict[str, str]]) -> None:
    held, problems = settings(files[2])
    assert [one.key for one in held] == list(KEYS)
    assert {one.origin for one in held} == {"default"}
    assert problems == []


def test_the_repository_s_file_wins_where_it_may(files: tuple[Path, Path, dict[str, str]]) -> None:
    own, repository, environ = files
    own.write_text('[run]\ngrace = "3s"\ntty = "never"\n')
    repository.write_text('[daemon]\nlost_exit = "1m"\n[run]\n\ntty = "always"\n')
    held, problems = settings(environ)
    found = {one.key: (one.value, one.origin) for one in held}
    assert found["run.grace"] == (3000, f"{own}:2")
    assert found["run.tty"] == ("always", f"{repository}:5")
    assert found["daemon.lost_exit"] == (300_000, "default")
    assert problems == [f"{repository}:2: daemon.lost_exit is for the user's own file"]


def test_problems_are_told_and_the_default_used(
    files: tuple[Path, Path, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text('[run]\ngrase = "3s"\ntty = "perhaps"\n')
    assert main(["config", "check"]) == 1
    out = capsys.readouterr().out
    assert f"{files[0]}:2: no setting is named run.grase; near: run.grace" in out
    assert "run.tty: 'perhaps' is none of auto, always, never" in out
    assert main(["config", "get", "run.tty"]) == 0
    assert capsys.readouterr().out == "auto\n"


def test_a_cap_holds_the_first_mib(
    files: tuple[Path, Path, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text('[output]\ncap = "1023 KiB"\n')
    assert main(["config", "check"]) == 1
    assert "output.cap: '1023 KiB' is less than 1 MiB" in capsys.readouterr().out
    assert main(["config", "get", "output.cap"]) == 0
    assert capsys.readouterr().out == "1024 MiB\n"


def test_json_and_unknown_keys(
    files: tuple[Path, Path, dict[str, str]], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "--json"]) == 0
    assert {one["key"] for one in json.loads(capfd.readouterr().out)} == set(KEYS)
    assert main(["config", "get", "run.grase"]) == 5
    assert "run.grace" in capfd.readouterr().err
    assert main(["config", "path"]) == 0
    assert capfd.readouterr().out.strip() == str(files[0])
    assert main(["config", "check"]) == 0


def test_a_file_that_is_no_toml_is_a_problem_not_a_failure(
    files: tuple[Path, Path, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text("[run\n")
    assert main(["config", "check"]) == 1
    assert main(["config"]) == 0
