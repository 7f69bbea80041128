"""Settings and where each comes from: flag, environment, the repository's file, the user's file, default.

Nothing here writes a file. A file that is not there costs nothing: tomllib is imported only for one that is.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from eukhed.cli.context import Context, Options
from eukhed.cli.interrupt_law import Chosen as OnSignal
from eukhed.paths import config_file

# key: the field of config.Config; whether a repository may set it
KEYS: Final = {
    "run.tty": "tty",
    "run.on_signal": "on_signal",
    "run.detach_key": "detach_key",
    "run.grace": "grace_ms",
    "output.cap": "output_cap_bytes",
    "daemon.lost_exit": "lost_exit_ms",
    "daemon.unsafe_filesystem": "unsafe_filesystem",
    "bundle.max_file": "bundle_file_bytes",
    "bundle.max_files": "bundle_files",
    "bundle.ai": "ai",
    "bundle.tools": "tools",
    "bundle.engines": "engines",
}
OF_REPOSITORY: Final = ("run", "output")  # the sections that a repository's file may set; never commands
DEFAULTS: Final = {"run.tty": "auto", "run.on_signal": "ask", "run.detach_key": "ctrl-\\"}


class Setting(NamedTuple):
    """One setting as it holds here."""

    key: str
    value: Any  # durations in milliseconds, sizes in bytes
    origin: str  # "default", or `FILE:LINE`


class Chosen(NamedTuple):
    """What `run` and `attach` need."""

    tty: str
    on_signal: OnSignal
    detach_key: str


def chosen(context: Context, flags: Options) -> Chosen:
    """Return the settings of a view, a flag before a file before the default."""
    found: dict[str, Any] = {**DEFAULTS, **of_files(context.environ)}
    return Chosen(found["run.tty"], flags.on_signal or found["run.on_signal"], found["run.detach_key"])


def of_files(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return every setting by its key; none when there is no file."""
    if not any(os.path.exists(file) for file, _ in files(environ)):
        return {}
    return {setting.key: setting.value for setting in settings(environ)[0]}


def files(environ: Mapping[str, str]) -> list[tuple[str, bool]]:
    """Return the files that are read, the weaker first, and whether each is a repository's."""
    found = [(config_file(environ), False)]
    if (root := repository()) is not None:
        found.append((os.path.join(root, ".eukhed", "config.toml"), True))
    return found


def settings(environ: Mapping[str, str]) -> tuple[list[Setting], list[str]]:
    """Return every setting with its origin, and what is wrong with the files, one line each."""
    from eukhed.config import Config, parse  # noqa: PLC0415 - tomllib only where there is a file to read

    default = Config()
    held = {key: Setting(key, getattr(default, field), "default") for key, field in KEYS.items()}
    problems: list[str] = []
    for path, of_repository in files(environ):
        text = _read(path, problems)
        if text is None:
            continue
        parsed = parse(text, path)
        problems += parsed.problems + tuple(_unknown(text, path))
        for key, field in KEYS.items():
            section, _, name = key.partition(".")
            line = _line_of(text, section, name)
            value = getattr(parsed, field)
            if line is None or any(f"{key}:" in problem for problem in parsed.problems):
                continue
            if of_repository and section not in OF_REPOSITORY:
                problems.append(f"{path}:{line}: {key} is for the user's own file")
                continue
            held[key] = Setting(key, value, f"{path}:{line}")
    return list(held.values()), problems


def _read(path: str, problems: list[str]) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path}: cannot be read: {error}")
        return None


def _unknown(text: str, path: str) -> list[str]:
    """Return a line for each key that no setting has, with the near one."""
    import tomllib  # noqa: PLC0415 - only where there is a file to read
    from difflib import get_close_matches  # noqa: PLC0415 - only where a key is unknown

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return []  # config.parse has told it
    found = []
    for section, content in table.items():
        names = content if isinstance(content, dict) else {"": None}
        for name in names:
            key = f"{section}.{name}".rstrip(".")
            if key in KEYS:
                continue
            near = get_close_matches(key, KEYS, 1)
            line = _line_of(text, section, name) or 1
            found.append(f"{path}:{line}: no setting is named {key}" + (f"; near: {near[0]}" if near else ""))
    return found


def _line_of(text: str, section: str, name: str) -> int | None:
    """Return the line that sets a key, as `[section]` or dotted; None when none does."""
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"\s*\[([^\]]+)\]", line):
            inside = found[1].strip()
        full = name if inside == section else f"{section}.{name}" if not inside else None
        if full is not None and re.match(rf"\s*{re.escape(full)}\s*=", line):
            return number
    return None


def repository() -> str | None:
    """Return the root of the repository that this directory is in; None outside of one, or at home."""
    try:
        at = os.getcwd()
    except FileNotFoundError:
        return None
    home = os.path.expanduser("~")
    while at not in {home, "/"}:
        if os.path.exists(os.path.join(at, ".git")):
            return at
        at = os.path.dirname(at)
    return None
