"""`eukhed service install|uninstall|status`: the daemon as a unit of the user's systemd.

The units are data of the package (units/). An install puts the path of this eukhed and the places of this
environment into them. A daemon that runs already is left alone: the unit takes over at its next start.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

from eukhed.cli.asking import add, confirm
from eukhed.cli.context import Context, Options
from eukhed.cli.render import home_path, to_json
from eukhed.client.connection import daemon_runs
from eukhed.errors import Refused

SERVICE: Final = "eukhed.service"
ON_DEMAND: Final = ("eukhed.socket", "eukhed-idle.timer", "eukhed-idle.service")
ALL: Final = (SERVICE, *ON_DEMAND)
PLACES: Final = ("EUKHED_HOME", "EUKHED_RUNTIME_DIR", "EUKHED_CONFIG", "EUKHED_SOCKET", "EUKHED_LOG")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `service`."""
    parser.add_argument("action", choices=("install", "uninstall", "status"), metavar="ACTION",
                        help="install, uninstall or status")  # fmt: skip
    parser.add_argument(
        "--on-demand",
        action="store_true",
        help="of install: started by the first connection, ended when idle",
    )
    add(parser)


def run(context: Context, flags: Options) -> int:
    """Do it, by systemctl.

    Raises:
        Refused: there is no systemd of this user's, or it refuses.
    """
    match flags.action:
        case "install":
            return _install(context, flags)
        case "uninstall":
            return _uninstall(context, flags)
        case _:
            return _status(context)


def _install(context: Context, flags: Options) -> int:
    names = ALL if flags.on_demand else (SERVICE,)
    units = {name: unit(name, context, program()) for name in names}
    if flags.dry_run:
        for name, text in units.items():
            context.out(f"# {os.path.join(directory(context.environ), name)}\n{text}")
        return 0
    changed = [name for name in names if _read(context, name) not in {None, units[name]}]
    if changed:
        again = ["eukhed", "service", "install", *(["--on-demand"] if flags.on_demand else []), "--yes"]
        confirm(context, flags, "replace what was changed there", changed, again)
    os.makedirs(directory(context.environ), exist_ok=True)
    for name, text in units.items():
        path = os.path.join(directory(context.environ), name)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(f"{path}.new", path)
    _systemctl("daemon-reload")
    here = daemon_runs(context.places)
    enabled = ("eukhed.socket", "eukhed-idle.timer") if flags.on_demand else (SERVICE,)
    _systemctl("enable", *([] if here else ["--now"]), *enabled)
    if here:
        context.say(
            "a daemon runs already: the unit takes over at its next start      eukhed shutdown --if-idle"
        )
    return _told(context, f"installed in {_shown(context)}")


def _uninstall(context: Context, flags: Options) -> int:
    there = [name for name in ALL if _read(context, name) is not None]
    if flags.dry_run or not there:
        return _told(context, f"would remove {', '.join(there)}" if there else "nothing is installed")
    confirm(context, flags, "remove these units", there, ["eukhed", "service", "uninstall", "--yes"])
    _systemctl("disable", *(name for name in there if name != "eukhed-idle.service"))
    for name in there:
        os.unlink(os.path.join(directory(context.environ), name))
    _systemctl("daemon-reload")
    if daemon_runs(context.places):
        context.say("the daemon goes on until it is stopped      eukhed shutdown --if-idle")
    return _told(context, "removed")


def _status(context: Context) -> int:
    facts = _facts(context)
    if context.json:
        context.out(to_json(facts))
        return 0
    for name, one in facts["units"].items():
        if one["installed"]:
            state = f"{one['enabled']}, {one['active']}"
            context.out(
                f"{name:<22}{state}{'' if one['current'] else '   not as this eukhed would write it'}"
            )
        else:
            context.out(f"{name:<22}not installed")
    return 0


def _told(context: Context, text: str) -> int:
    if context.json:
        context.out(to_json(_facts(context)))
    else:
        context.say(text)
    return 0


def _facts(context: Context) -> dict[str, Any]:
    """What is installed, and what systemd says of it."""
    units = {}
    for name in ALL:
        text = _read(context, name)
        units[name] = {
            "installed": text is not None,
            "current": text == unit(name, context, program()),
            "enabled": _asked("is-enabled", name) if text is not None else None,
            "active": _asked("is-active", name) if text is not None else None,
        }
    return {"directory": directory(context.environ), "units": units}


def unit(name: str, context: Context, argv: list[str]) -> str:
    """Return a unit as it is written here: its program, its places, its socket."""
    with open(os.path.join(os.path.dirname(__file__), "units", name), encoding="utf-8") as file:
        text = file.read()
    words = " ".join(_quoted(word.replace("$", "$$")) for word in argv)
    text = text.replace("ExecStart=%h/.local/bin/eukhed", f"ExecStart={words}")
    text = text.replace("%t/eukhed/ROOT-KEY/daemon.sock", context.places.socket.replace("%", "%%"))
    chosen = [_quoted(f"{key}={context.environ[key]}") for key in PLACES if context.environ.get(key)]
    return text.replace("[Service]\n", "[Service]\n" + "".join(f"Environment={one}\n" for one in chosen))


def program() -> list[str]:
    """Return the argv of this eukhed."""
    here = os.path.abspath(sys.argv[0])
    if os.path.basename(here) == "eukhed" and os.access(here, os.X_OK):
        return [here]
    return [sys.executable, "-m", "eukhed"]


def _quoted(word: str) -> str:
    """Return a word as a unit file has it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"' if any(letter in escaped for letter in " \t'\"\\;") else escaped


def directory(environ: Mapping[str, str]) -> str:
    """Return where a user's units are."""
    base = environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
    return os.path.join(base, "systemd", "user")


def _shown(context: Context) -> str:
    return home_path(directory(context.environ), os.path.expanduser("~"))


def _read(context: Context, name: str) -> str | None:
    try:
        with open(os.path.join(directory(context.environ), name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _systemctl(*words: str) -> None:
    if shutil.which("systemctl") is None:
        raise Refused("there is no systemctl here; run `eukhed supervise` under what starts your services")
    done = subprocess.run(["systemctl", "--user", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[:1] or [f"exit {done.returncode}"]
        raise Refused(f"systemctl --user {' '.join(words)}: {said[0]}")


def _asked(question: str, name: str) -> str:
    """Return systemd's word; `unknown` where there is none to ask."""
    if shutil.which("systemctl") is None:
        return "unknown"
    done = subprocess.run(
        ["systemctl", "--user", question, name], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"
