"""The table, the flags, the help: what every command has, and what is said of what is none."""

import argparse
import json
import shlex
from itertools import product
from types import SimpleNamespace
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cli import main
from eukhed.cli.context import COMMON, DEFAULTS, at_dashes, common, wants_colour
from eukhed.cli.helping import TOPICS
from eukhed.cli.options import add_common, duration_ms, parser_of
from eukhed.cli.table import COMMANDS, FAMILIES, GROUPS, Command, find
from eukhed.errors import Invalid


def test_names_and_aliases_are_one_each() -> None:
    words = [word for command in COMMANDS for word in (command.name, *command.aliases)]
    assert len(words) == len(set(words))
    assert all(find(word) is not None for word in words)
    assert find("stat") is None, "no prefix is guessed"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_the_same_flags_and_its_effect_in_its_help(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.group in GROUPS
    assert main([*command.name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert text.index("Examples:") < text.index("Effect: ") < text.index("usage:")
    assert all(flag in text for flag in ("--json", "--home", "--socket"))
    for example in command.examples:
        words, _ = at_dashes(
            shlex.split(example.partition("   ")[0].partition("eukhed ")[2].partition(" >")[0])
        )
        parser_of(command).parse_args(words[len(command.name.split()) :])


@pytest.mark.parametrize("topic", TOPICS)
def test_topics(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", topic]) == 0
    assert capsys.readouterr().out.splitlines() == list(TOPICS[topic])


def test_help_anywhere_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["-h"], ["--help"], ["help"], ["--json", "--help"]):
        assert main(words) == 0
        assert "Run and look" in capsys.readouterr().out


def test_a_family_shows_its_commands_and_flags_may_stand_anywhere(capsys: pytest.CaptureFixture[str]) -> None:
    families = {command.name.partition(" ")[0] for command in COMMANDS if " " in command.name}
    assert families == FAMILIES.keys()
    for family in FAMILIES:
        names = [command.name for command in COMMANDS if command.name.partition(" ")[0] == family]
        for words in ([family], [family, "--help"], ["help", family], ["--json", family, "-h"]):
            assert main(words) == 0
            shown = capsys.readouterr().out
            assert all(name in shown for name in names)
    assert main(["help", "cron", "add"]) == main(["cron", "--json", "add", "--help"]) == 0
    assert capsys.readouterr().out.count("eukhed cron add:") == 2
    assert find("cron") is None
    assert find("add") is None


def test_a_wrong_second_word_gets_the_near_one(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["cron", "ad"]) == 2
    err = capfd.readouterr().err
    assert "there is no command 'cron ad'" in err
    assert "eukhed cron add --help" in err


def test_a_wrong_word_gets_the_near_one(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["attahc"]) == 2
    assert capfd.readouterr().err.splitlines()[:2] == [
        "eukhed: there is no command 'attahc'",
        "  near  attach",
    ]
    assert main(["--json", "attahc"]) == 2
    told = json.loads(capfd.readouterr().err)["error"]
    assert (told["code"], told["exit"], told["near"]) == ("invalid", 2, ["attach"])
    assert told["next"] == [["eukhed", "attach", "--help"], ["eukhed", "--help"]]


@pytest.mark.parametrize(
    "words",
    [["status", "--nonsense"], ["status", "--jso"], ["--nonsense"], ["--home"], ["runs", "--state", "odd"],
     ["status", "--", "x"], ["run"], ["run", "make"], ["send"], ["stop", "-s", "NOSUCH", "x/1"]],
    ids=" ".join,
)  # fmt: skip
def test_usage_is_2_and_says_what_helps(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    err = capfd.readouterr().err
    assert err.startswith("eukhed: ")
    assert "Traceback" not in err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("eukhed ")


WORDS = st.sampled_from(
    [name for flag in COMMON for name in flag.names]
    + [
        "--home=/a",
        "--socket=",
        "--color=never",
        "--json=x",
        "--color",
        "never",
        "auto",
        "/a",
        "x",
        "--",
        "-",
        "-x",
    ]
)


@given(st.lists(WORDS, max_size=6))
def test_flags_read_by_hand_are_what_argparse_reads(words: list[str]) -> None:
    """Where both accept all the words, they say the same; what one refuses the other does too."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_common(parser)
    parser.error = _refuse  # type: ignore[method-assign]  # argparse would exit
    try:
        read: SimpleNamespace | None = SimpleNamespace(**vars(parser.parse_args(words)))
    except (Invalid, argparse.ArgumentError):
        read = None
    try:
        said, rest = common(words)
    except Invalid:
        assert read is None
        return
    if rest:
        assert read is None or "--" in words
    else:
        assert said == read


def _refuse(message: str) -> NoReturn:
    raise Invalid(message)


def test_defaults_are_all_flags() -> None:
    assert set(DEFAULTS) == {flag.key for flag in COMMON}


def test_argv_is_split_at_the_first_dashes() -> None:
    assert at_dashes(["run", "-d", "--", "a", "--", "b"]) == (["run", "-d"], ["a", "--", "b"])
    assert at_dashes(["run", "--"]) == (["run"], [])
    assert at_dashes(["run"]) == (["run"], None)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 90_000), ("5m", 300_000), ("2h", 7_200_000), ("3d", 259_200_000), ("250ms", 250), ("7", 7000)],
)
def test_durations(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "s", "-1s", "1.5h", "5 m", "5w"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        duration_ms(text)


def test_colour_is_asked_for_in_this_order() -> None:
    off = -1  # no terminal
    assert wants_colour("always", {"NO_COLOR": "1"}, off)
    assert not wants_colour("never", {"FORCE_COLOR": "1"}, off)
    assert not wants_colour("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, off)
    assert wants_colour("auto", {"FORCE_COLOR": "1"}, off)
    assert wants_colour("auto", {"EUKHED_COLOR": "always", "NO_COLOR": "1"}, off)
    for environ, chosen in product(({}, {"EUKHED_COLOR": "never"}), ("auto", "never")):
        assert not wants_colour(chosen, environ, off)
