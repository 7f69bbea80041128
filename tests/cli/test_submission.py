"""What a run gets: environment, directory, mask, limits; and what is refused."""

import argparse
import os
import resource
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cli import run, submission
from eukhed.errors import Invalid, Refused

OWN = {
    b"PATH": b"/bin", b"LC_ALL": b"C", b"XDG_DATA_HOME": b"/x", b"TERM": b"xterm", b"SECRET": b"s\xff", b"EUKHED_HOME": b"/h",
    b"EUKHED_RUN": b"shop/3", b"NOTIFY_SOCKET": b"/n", b"LISTEN_FDS": b"1", b"LISTEN_PID": b"2", b"WATCHDOG_USEC": b"3",
    b"JOURNAL_STREAM": b"4", b"NOTIFY_ME": b"kept",
}  # fmt: skip


def made(**flags: Any) -> dict[bytes, bytes]:
    return submission.environment_of(
        OWN, clean=flags.get("clean", False), files=flags.get("files", ()), given=flags.get("given", ())
    )


def test_what_is_ours_or_a_service_manager_s_is_taken_out() -> None:
    assert made() == {
        key: OWN[key] for key in (b"PATH", b"LC_ALL", b"XDG_DATA_HOME", b"TERM", b"SECRET", b"NOTIFY_ME")
    }


def test_clean_keeps_the_base_set_and_what_is_named() -> None:
    kept = made(clean=True, given=["SECRET", "A=b=c", "EMPTY="])
    assert kept == {
        b"PATH": b"/bin", b"LC_ALL": b"C", b"XDG_DATA_HOME": b"/x", b"TERM": b"xterm", b"SECRET": b"s\xff", b"A": b"b=c",
        b"EMPTY": b"",
    }  # fmt: skip


@pytest.mark.parametrize("word", ["=x", "NOT_THERE"])
def test_a_variable_that_cannot_be_given(word: str) -> None:
    with pytest.raises(Invalid, match="--env"):
        made(given=[word])


def test_files_come_before_flags_and_the_later_one_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"# comment\n\nexport A=1\nB='two words'\nC=\"q\"\n")
    second.write_bytes(b"A = 2\nD=\xff\n")
    kept = made(files=[str(first), str(second)], given=["B=flag"])
    assert (kept[b"A"], kept[b"B"], kept[b"C"], kept[b"D"]) == (b"2", b"flag", b"q", b"\xff")


@pytest.mark.parametrize("text", ["NAME\n", "=x\n", "A=1\nB\n"])
def test_a_file_that_is_none_names_the_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "env"
    file.write_text(text)
    with pytest.raises(Invalid, match=rf"line {text.count(chr(10))}"):
        made(files=[str(file)])
    with pytest.raises(Invalid, match="No such file"):
        made(files=[str(tmp_path / "nowhere")])


@given(st.dictionaries(st.binary(min_size=1, max_size=12), st.binary(max_size=12), max_size=8))
def test_nothing_is_invented_and_nothing_private_kept(own: dict[bytes, bytes]) -> None:
    kept = submission.environment_of(own, clean=False, files=(), given=())
    assert kept.items() <= own.items()
    assert not any(name.startswith((b"EUKHED_", b"LISTEN_", b"WATCHDOG_")) for name in kept)


def test_a_directory_that_is_gone_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert submission.directory(None) == os.fsencode(gone)
    gone.rmdir()
    with pytest.raises(Refused, match="is gone"):
        submission.directory(None)
    with pytest.raises(Refused, match="no directory"):
        submission.directory(str(tmp_path / "never"))


def test_the_mask_is_read_and_left() -> None:
    before = os.umask(0o027)
    try:
        assert submission.mask() == 0o027
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_limits_are_all_of_them_once() -> None:
    limits = submission.limits()
    assert [resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)[0]] in limits
    assert len({number for number, _ in limits}) == len(limits) >= 12


def test_the_body_of_a_run_is_what_its_flags_say(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    run.options(parser)
    plain = submission.body(["make", "\udcff"], parser.parse_args([]), {b"A": b"1", b"EUKHED_RUN": b"shop/3"})
    assert plain["argv"] == [b"make", b"\xff"]
    assert plain["env"] == {b"A": b"1"}
    assert (plain["inside"], plain["survive"], plain["detach"]) == ("shop/3", True, False)
    assert {"label", "timeout_ms", "grace_ms"}.isdisjoint(plain)
    words = ["--cwd", str(tmp_path), "--umask", "077", "--nice", "5", "--label", "x", "--timeout", "5m", "--grace", "0s",
             "--no-survive", "-d"]  # fmt: skip
    told = submission.body(["x"], parser.parse_args(words), {b"PWD": b"/old"})
    assert (told["cwd"], told["env"]) == (os.fsencode(tmp_path), {b"PWD": os.fsencode(tmp_path)})
    assert (told["umask"], told["nice"], told["label"]) == (0o077, 5, "x")
    assert (told["timeout_ms"], told["grace_ms"], told["survive"], told["detach"]) == (
        300_000,
        0,
        False,
        True,
    )
