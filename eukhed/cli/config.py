"""`eukhed config`: settings and where each comes from; nothing is written."""

import argparse
from collections.abc import Mapping
from typing import Any, Final

from eukhed.cli.context import Context, Options
from eukhed.cli.render import table, to_json
from eukhed.cli.settings import KEYS, Setting, settings
from eukhed.errors import NotFound
from eukhed.paths import config_file

KIB: Final = 1024
MIB: Final = 1024 * KIB


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `config`."""
    parser.add_argument("what", nargs="?", choices=("list", "get", "path", "check"), default="list", metavar="WHAT",
                        help="list, get KEY, path, check")  # fmt: skip
    parser.add_argument("key", nargs="?", metavar="KEY", help="of `get`: " + ", ".join(KEYS))


def run(context: Context, flags: Options) -> int:
    """Print what was asked for; `check` exits 1 when something is wrong."""
    if flags.what == "path":
        context.out(to_json(config_file(context.environ)) if context.json else config_file(context.environ))
        return 0
    held, problems = settings(context.environ)
    if flags.what == "check":
        context.out(to_json(problems)) if context.json else [context.out(line) for line in problems]
        if not problems:
            context.say("nothing is wrong")
        return 1 if problems else 0
    shown = held if flags.what == "list" else [_named(held, flags.key)]
    if context.json:
        context.out(
            to_json([{"key": one.key, "value": _json(one.value), "origin": one.origin} for one in shown])
        )
    elif flags.what == "get":
        context.out(_text(shown[0]))
    else:
        rows = [(one.key, _text(one), one.origin) for one in shown]
        for line in table(("KEY", "VALUE", "FROM"), rows, width=None):
            context.out(line)
    return 0


def _named(held: list[Setting], key: str | None) -> Setting:
    found = next((one for one in held if one.key == key), None)
    if found is None:
        from difflib import get_close_matches  # noqa: PLC0415 - only on the error path

        raise NotFound(
            f"no setting is named {key!r}",
            near=get_close_matches(key or "", KEYS, 3),
            next=[["eukhed", "config"]],
        )
    return found


def _text(one: Setting) -> str:
    value: Any = one.value
    if one.key == "bundle.ai":
        return " ".join(word for word in (value.provider, value.model, *value.argv) if word)
    if one.key in {"bundle.tools", "bundle.engines"}:
        return "; ".join(f"{name} = {' '.join(helper.argv)}" for name, helper in value.items()) or "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if one.key in {"output.cap", "bundle.max_file"}:
        return (
            f"{value // MIB} MiB"
            if value % MIB == 0
            else f"{value // KIB} KiB"
            if value % KIB == 0
            else str(value)
        )
    if one.key in {"run.grace", "daemon.lost_exit"}:
        return f"{value / 1000:g}s"
    return str(value)


def _json(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, Mapping):
        return {name: helper._asdict() for name, helper in value.items()}
    return value
