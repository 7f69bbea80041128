"""The user's config.toml: read, never written; a daemon starts whatever it says.

Only what this version has a use for is here. A bad value is reported and its default is used.
"""

import tomllib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from eukhed.timing import MINUTE

MIB = 1024 * 1024


class Helper(NamedTuple):
    """A program of the user's that bundles may use: JSON on its stdin, JSON on its stdout."""

    argv: tuple[str, ...]
    repeatable: bool = False  # started twice for one call, it does what once would have done


class Ai(NamedTuple):
    """Who answers a bundle's prompts."""

    provider: str = "none"  # none, command, openai
    argv: tuple[str, ...] = ()
    model: str = ""
    base_url_env: str = "OPENAI_BASE_URL"  # names of variables; no secret stands in a file
    key_env: str = "OPENAI_API_KEY"


class Bundles(NamedTuple):
    """What the bundle engine may use."""

    ai: Ai = Ai()
    tools: Mapping[str, Helper] = MappingProxyType({})
    engines: Mapping[str, Helper] = MappingProxyType({})  # those that take over, by the name of a `fallback`
    file_bytes: int = 4 * MIB
    files: int = 256


class Config(NamedTuple):
    """Settings after defaults, and what was wrong with the file, one line each."""

    output_cap_bytes: int = 1024 * MIB
    grace_ms: int = 10_000
    lost_exit_ms: int = 5 * MINUTE
    unsafe_filesystem: bool = False
    tty: str = "auto"
    on_signal: str = "ask"
    detach_key: str = "ctrl-\\"
    bundle_file_bytes: int = 4 * MIB  # the largest file of a bundle
    bundle_files: int = 256
    ai: Ai = Ai()
    tools: Mapping[str, Helper] = MappingProxyType({})
    engines: Mapping[str, Helper] = MappingProxyType({})
    problems: tuple[str, ...] = ()


def parse(text: str, path: str) -> Config:
    """The settings in a config file's text; what cannot be used is told in `problems`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Config(problems=(f"{path}: {error}",))
    problems: list[str] = []
    output = _section(table, "output", path, problems)
    run = _section(table, "run", path, problems)
    daemon = _section(table, "daemon", path, problems)
    bundle = _section(table, "bundle", path, problems)
    default = Config()
    return Config(
        _value(output, "output.cap", _cap, default.output_cap_bytes, path, problems),
        _value(run, "run.grace", duration_ms, default.grace_ms, path, problems),
        _value(daemon, "daemon.lost_exit", duration_ms, default.lost_exit_ms, path, problems),
        _value(daemon, "daemon.unsafe_filesystem", _truth, default.unsafe_filesystem, path, problems),
        _value(run, "run.tty", _one_of("auto", "always", "never"), default.tty, path, problems),
        _value(run, "run.on_signal", _one_of("ask", "detach", "stop"), default.on_signal, path, problems),
        _value(run, "run.detach_key", _key, default.detach_key, path, problems),
        _value(bundle, "bundle.max_file", _size, default.bundle_file_bytes, path, problems),
        _value(bundle, "bundle.max_files", _count, default.bundle_files, path, problems),
        _value(bundle, "bundle.ai", _ai, default.ai, path, problems),
        _value(bundle, "bundle.tools", _helpers, default.tools, path, problems),
        _value(bundle, "bundle.engines", _helpers, default.engines, path, problems),
        tuple(problems),
    )


def duration_ms(value: Any) -> int:
    """`90s`, `5m`, `2h`, `3d`, `250ms`, or a number of seconds, in milliseconds; ValueError for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value * 1000
    if isinstance(value, str):
        for unit, factor in (("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)):
            number = value.strip().removesuffix(unit).strip()
            if value.strip().endswith(unit) and number.isdecimal():
                return int(number) * factor
    raise ValueError(f"{value!r} is no duration; write 90s, 5m, 2h or 3d")


def _size(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, str):
        for unit, factor in (("GiB", 1024 * MIB), ("MiB", MIB), ("KiB", 1024)):
            number = value.strip().removesuffix(unit).strip()
            if value.strip().endswith(unit) and number.isdecimal() and int(number) > 0:
                return int(number) * factor
    raise ValueError(f"{value!r} is no size; write 64 MiB or 1 GiB")


def _count(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise ValueError(f"{value!r} is no number from 1")


def _cap(value: Any) -> int:
    size = _size(value)
    if size < MIB:
        raise ValueError(f"{value!r} is less than 1 MiB, the first part of an output that is always kept")
    return size


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"{value!r} is neither true nor false")


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise ValueError(f"{value!r} is none of {', '.join(words)}")

    return read


def _key(value: Any) -> str:
    if value == "none":
        return "none"
    name = value.lower() if isinstance(value, str) else ""
    if name.startswith("ctrl-") and len(name) == 6 and name[5] in "abcdefghijklmnopqrstuvwxyz[\\]^_":
        return name
    raise ValueError(f"{value!r} is no key; write ctrl-\\ or none")


def _ai(value: Any) -> Ai:
    value = _table(value)
    known = {"provider", "command", "model", "base_url_env", "key_env"}
    if unknown := sorted(value.keys() - known):
        raise ValueError(f"it has no {unknown[0]}; it has {', '.join(sorted(known))}")
    provider = value.get("provider", "none")
    if provider not in {"none", "command", "openai"}:
        raise ValueError(f"{provider!r} is no provider; write none, command or openai")
    if provider == "command" and "command" not in value:
        raise ValueError("command needs a command")
    argv = _argv(value["command"]) if "command" in value else ()
    words = {key: value[key] for key in ("model", "base_url_env", "key_env") if key in value}
    if not all(isinstance(word, str) and word for word in words.values()):
        raise ValueError("model, base_url_env and key_env are strings")
    if provider == "openai" and "model" not in words:
        raise ValueError("openai needs a model")
    return Ai(provider, argv, **words)


def _helpers(value: Any) -> Mapping[str, Helper]:
    return MappingProxyType({name: _helper(name, told) for name, told in _table(value).items()})


def _table(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError(f"{value!r} is no table")


def _helper(name: str, told: Any) -> Helper:
    if isinstance(told, list):
        return Helper(_argv(told))
    if not isinstance(told, dict) or told.keys() - {"command", "repeatable"} or "command" not in told:
        raise ValueError(f'{name} is no program; write {name} = ["program", "argument"]')
    return Helper(_argv(told["command"]), _truth(told.get("repeatable", False)))


def _argv(value: Any) -> tuple[str, ...]:
    if (
        isinstance(value, list)
        and value
        and all(isinstance(w, str) and "\0" not in w for w in value)
        and value[0]
    ):
        return tuple(value)
    raise ValueError(f'{value!r} is no command; write ["program", "argument"]')


def _section(table: Mapping[str, Any], name: str, path: str, problems: list[str]) -> Mapping[str, Any]:
    section = table.get(name, {})
    if isinstance(section, dict):
        return section
    problems.append(f"{path}: [{name}] is no table")
    return {}


def _value(
    section: Mapping[str, Any], key: str, read: Any, default: Any, path: str, problems: list[str]
) -> Any:
    name = key.rpartition(".")[2]
    if name not in section:
        return default
    try:
        return read(section[name])
    except ValueError as error:
        problems.append(f"{path}: {key}: {error}")
        return default
