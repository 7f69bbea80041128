"""What a command is given: the flags that all have, and where things are, what it may say, and to whom."""

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, Protocol

from eukhed.errors import Invalid
from eukhed.paths import Places


class Options(Protocol):
    """What a command's parser made of its arguments (an argparse.Namespace)."""

    def __getattr__(self, name: str) -> Any: ...


class Context(NamedTuple):
    """One invocation of the command line."""

    command: str  # the word that was typed: `kill` is not `stop`
    places: Places
    environ: Mapping[str, str]
    argv: Sequence[str] | None  # after the first `--`; None when there was none
    json: bool
    loud: int  # -1 only errors, 0, 1 more
    colour: bool  # on stdout

    def out(self, text: str) -> None:
        """Print a line of data."""
        sys.stdout.write(text + "\n")

    def say(self, text: str) -> None:
        """Tell a person something, on stderr; not with -q, and not a program that reads JSON."""
        if self.loud >= 0 and not self.json:
            talk(f"eukhed: {text}\n")

    @property
    def person(self) -> bool:
        """Whether somebody reads what is said: a terminal, and neither -q nor --json."""
        return self.loud >= 0 and not self.json and is_terminal(2)

    @property
    def interactive(self) -> bool:
        """Rulings 29: a terminal on stdin and stderr, and no --json."""
        return not self.json and is_terminal(0) and is_terminal(2)


def talk(text: str) -> None:
    """Write to stderr, after what stdout still holds. A stderr that is gone is nobody's trouble."""
    sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.write(2, text.encode(errors="backslashreplace"))


def is_terminal(descriptor: int) -> bool:
    """Whether this descriptor is open, and a terminal."""
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def wants_colour(chosen: str, environ: Mapping[str, str], descriptor: int = 1) -> bool:
    """--color, else EUKHED_COLOR, else NO_COLOR and FORCE_COLOR, else whether it is a terminal."""
    choice = chosen if chosen != "auto" else environ.get("EUKHED_COLOR", "auto")
    if choice in {"always", "never"}:
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return is_terminal(descriptor) and environ.get("TERM") != "dumb"


# flags


class Flag(NamedTuple):
    """A flag that every command has."""

    names: tuple[str, ...]
    value: str | None  # what its value is called; None for a flag that stands alone
    help: str
    choices: tuple[str, ...] = ()
    counts: bool = False

    @property
    def key(self) -> str:
        return self.names[-1].removeprefix("--")


COMMON: Final = (
    Flag(("-h", "--help"), None, "show this help, and change nothing"),
    Flag(("--json",), None, "data as JSON, one record a line; errors too"),
    Flag(("--home",), "DIR", "the state root (EUKHED_HOME)"),
    Flag(("--socket",), "PATH", "the daemon's socket (EUKHED_SOCKET)"),
    Flag(("-q", "--quiet"), None, "only errors on stderr"),
    Flag(("-v", "--verbose"), None, "more, and exact times", counts=True),
    Flag(("--color",), "WHEN", "auto, always or never", choices=("auto", "always", "never")),
)
DEFAULTS: Final[Mapping[str, Any]] = {
    "help": False, "json": False, "home": None, "socket": None, "quiet": False, "verbose": 0, "color": "auto",
}  # fmt: skip


def common(words: Sequence[str]) -> tuple[SimpleNamespace, list[str]]:
    """Read the flags of COMMON that stand first; what they say, and the words from the first other on.

    For what stands before a command, and for a command that has no flags of its own: argparse would
    cost it a tenth of its time. A test holds this equal to argparse.
    """
    said = SimpleNamespace(**DEFAULTS)
    rest = list(words)
    while rest:
        name, equals, value = rest[0].partition("=")
        flag = next((flag for flag in COMMON if name in flag.names), None)
        if flag is None or (equals and flag.value is None):
            break
        rest.pop(0)
        if flag.value is None:
            setattr(said, flag.key, getattr(said, flag.key) + 1 if flag.counts else True)
            continue
        if not equals:
            if not rest or rest[0].startswith("-"):
                raise Invalid(f"argument {name}: expected one argument")
            value = rest.pop(0)
        if flag.choices and value not in flag.choices:
            raise Invalid(f"argument {name}: {value} is none of {', '.join(flag.choices)}")
        setattr(said, flag.key, value)
    return said, rest


def at_dashes(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Split at the first `--`, before any parser sees what belongs to a command of the user's."""
    words = list(arguments)
    if "--" not in words:
        return words, None
    place = words.index("--")
    return words[:place], words[place + 1 :]
