"""`eukhed status`: what the daemon does, in a few lines. Exit 4 when none runs."""

import os
import time
from typing import Any, Final

from eukhed.cli.context import Context, Options
from eukhed.cli.render import coloured, cut, home_path, plain, seconds, size, to_json
from eukhed.client.client import Client
from eukhed.errors import EXIT_NO_DAEMON, NoDaemon

ANSWER_MS: Final = 30_000  # the supervisor answers by itself; a slower one is stuck
HEAD: Final = 12


def run(context: Context, _flags: Options) -> int:
    """Print the daemon's state."""
    try:
        with Client(context.places, relaunch=False) as client:
            told = client.request("status", looks=True, wait_ms=ANSWER_MS)
    except NoDaemon:
        return _not_running(context)
    told = {"running": True} | told
    if context.json:
        context.out(to_json(told))
    else:
        for line in lines(context, told):
            context.out(line)
    return 0


def lines(context: Context, told: dict[str, Any]) -> list[str]:
    """Return the lines of a daemon that runs."""
    by = "systemd user unit" if told.get("supervised_by") == "systemd" else "started by hand"
    ends = "survives logout" if told.get("survives_logout") else "ends at logout"
    dot = coloured("●", "running", colour=context.colour)
    build = f"(build {str(told.get('build'))[:6]})"
    up = seconds(told.get("uptime_s"))
    found = [
        f"{dot} running     eukhed {told.get('version')} {build} · pid {told.get('pid')} · up {up} · {by}, {ends}"
    ]
    found += [_row("waiting", cut(plain(_waiting(item)), 80)) for item in told.get("waiting") or []]
    found.append(_row("runs", _runs_line(told.get("runs") or {})))
    found.append(_row("sessions", _sessions_line(told)))
    if isinstance(job := told.get("next_job"), dict):
        left = max(0, int(job["at"]) - int(time.time() * 1000)) / 1000
        found.append(_row("next job", f"{plain(str(job['job']))} in {seconds(left)}"))
    found += [_row("config", plain(str(problem))) for problem in told.get("config_problems") or []]
    if told.get("timing_scale") not in {None, 1}:
        found.append(_row("timing", f"scaled by {told['timing_scale']}: for trying the rules, not for work"))
    if told.get("pss_bytes") is not None:
        root = home_path(context.places.root, os.path.expanduser("~"))
        found.append(_row("memory", f"{size(told['pss_bytes'])} of the daemon itself · state in {root}"))
    return found


def _row(name: str, text: str) -> str:
    return f"  {name:<{HEAD - 2}}  {text}"


def _waiting(item: Any) -> str:
    if not isinstance(item, dict):
        return str(item)
    where = item.get("address") or item.get("name") or item.get("session") or ""
    return f"{where} {item.get('text') or item.get('question') or item.get('kind') or ''}".strip()


def _runs_line(runs: dict[str, int]) -> str:
    queued = runs.get("queued")
    return f"{runs.get('running', 0)} running" + (f", {queued} queued" if queued else "")


def _sessions_line(told: dict[str, Any]) -> str:
    sessions, workers = told.get("sessions"), told.get("workers")
    gave_up = told.get("gave_up")
    line = f"{sessions}, {workers} active"
    return f"{line} · {len(gave_up)} gave up: {', '.join(gave_up)}" if gave_up else line


def _not_running(context: Context) -> int:
    if context.json:
        context.out(to_json({"running": False, "root": context.places.root, "socket": context.places.socket}))
        return EXIT_NO_DAEMON
    count = _on_disk(context.places.sessions)
    context.out(f"○ not running   {count} session{'' if count == 1 else 's'} on disk")
    context.out("  eukhed start brings it back; any eukhed run does too")
    return EXIT_NO_DAEMON


def _on_disk(directory: str) -> int:
    try:
        return sum(not name.startswith(".") for name in os.listdir(directory))
    except FileNotFoundError:
        return 0
