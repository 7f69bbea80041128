"""The parser of one command: its own flags beside those that all have, and its help from the table."""

import argparse
import sys
from typing import NoReturn

from eukhed.cli.context import COMMON, DEFAULTS
from eukhed.cli.table import Command
from eukhed.errors import Invalid


class Parser(argparse.ArgumentParser):
    """A parser that raises what it finds wrong, and shows examples first."""

    def __init__(self, command: Command) -> None:
        super().__init__(
            prog=f"eukhed {command.name}",
            usage=None,
            allow_abbrev=False,
            add_help=False,
            formatter_class=_Wide,
        )
        self.command = command

    def error(self, message: str) -> NoReturn:
        name = self.command.name
        _, unknown, words = message.partition("unrecognized arguments: ")
        if unknown and name == "run":
            argv = ["eukhed", "run", "--", *words.split()]
            raise Invalid("what is run stands after `--`", next=[argv, ["eukhed", "run", "--help"]])
        raise Invalid(f"{name}: {message}", next=[["eukhed", *name.split(), "--help"]])

    def format_help(self) -> str:
        """Examples, then the effect, then usage and flags."""
        lines = [f"eukhed {self.command.name}: {self.command.says}", "", "Examples:"]
        lines += [f"  {example}" for example in self.command.examples]
        lines += ["", f"Effect: {effect(self.command)}"]
        if self.command.aliases:
            lines.append(f"Also: {', '.join(f'eukhed {alias}' for alias in self.command.aliases)}")
        return "\n".join(lines) + "\n\n" + super().format_help()


class _Wide(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=100)


def parser_of(command: Command) -> Parser:
    """Return the parser of a command: its module is imported for its flags."""
    full = f"eukhed.cli.{command.module}"
    __import__(full)
    parser = Parser(command)
    module = sys.modules[full]
    if hasattr(module, "options"):
        module.options(parser)
    add_common(parser)
    return parser


def effect(command: Command) -> str:
    """Return what a command does to the world, in a sentence."""
    told = {
        "reads": "reads; nothing changes",
        "changes": "changes what it names",
        "destroys": "destroys what it names",
    }[command.effect]
    if command.starts:
        return f"{told}; may start a daemon"
    return (
        f"{told}; starts no daemon" if command.daemon else f"{told}; works without a daemon, and starts none"
    )


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the flags that all commands have."""
    group = parser.add_argument_group("everywhere")
    for flag in COMMON:
        default = DEFAULTS[flag.key]
        if flag.value is None:
            action = "count" if flag.counts else "store_true"
            group.add_argument(*flag.names, action=action, default=default, help=flag.help)
        else:
            group.add_argument(
                *flag.names, metavar=flag.value, default=default, choices=flag.choices or None, help=flag.help
            )


def duration_ms(text: str) -> int:
    """`90s`, `5m`, `2h`, `3d`, `250ms` or a number of seconds, in milliseconds, for argparse."""
    for unit, factor in (
        ("ms", 1),
        ("s", 1000),
        ("m", 60_000),
        ("h", 3_600_000),
        ("d", 86_400_000),
        ("", 1000),
    ):
        number = text.removesuffix(unit) if unit else text
        if (not unit or text.endswith(unit)) and number.isdecimal():
            return int(number) * factor
    raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 90s, 5m, 2h or 3d")
