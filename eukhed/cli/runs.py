"""`eukhed runs`: the runs, newest first."""

import argparse
import time
from typing import Any, Final

from eukhed.cli import finding
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.render import WIDTH_MAX, coloured, moment, plain, seconds, table, to_json
from eukhed.client.client import Client
from eukhed.errors import NoDaemon

SHOWN: Final = 20
STATES: Final = ("queued", "running", "waiting", "done", "failed", "stopped", "interrupted", "lost")
HEADS: Final = ("RUN", "STATE", "EXIT", "TIME", "STARTED", "COMMAND", "")
# the documented keys of a run (docs/commands.md), in their order
KEYS: Final = (
    "run", "address", "session", "name", "state", "exit", "signal", "error", "stopped_by", "waiting_for", "command",
    "label", "job", "again", "cwd", "tty", "submitted_at", "started_at", "ended_at", "seconds", "output_bytes", "dropped_bytes",
    "pid", "unattended",
)  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `runs`."""
    parser.add_argument("session", nargs="?", metavar="S", help="only of this session")
    parser.add_argument("--session", dest="option", metavar="S", help="the same")
    parser.add_argument("--all", action="store_true", help="not only the newest")
    parser.add_argument("--state", choices=STATES, metavar="STATE", help=", ".join(STATES))
    parser.add_argument("--label", metavar="L", help="only runs with this label")
    parser.add_argument("--job", metavar="JOB", help="only runs that this scheduled job made")
    parser.add_argument("-n", type=int, default=SHOWN, metavar="N", help=f"at most N ({SHOWN})")
    parser.add_argument("--no-header", action="store_true", help="rows alone")


def run(context: Context, flags: Options) -> int:
    """List the runs."""
    try:
        found, total = _asked(context, flags)
    except NoDaemon:
        found, total = _from_disk(context, flags)
    if context.json:
        context.out(to_json([{key: one.get(key) for key in KEYS} for one in found]))
        return 0
    for line in lines(context, found, header=not flags.no_header):
        context.out(line)
    if not found:
        context.say("no runs" if total == 0 else f"none of {total} runs is like that")
    elif len(found) < total:
        context.say(f"{len(found)} of {total}   --all  -n N  --state failed")
    return 0


def _asked(context: Context, flags: Options) -> tuple[list[dict[str, Any]], int]:
    with Client(context.places, relaunch=False) as client:
        body: dict[str, Any] = {"all": flags.all, "n": flags.n}
        if flags.session or flags.option:
            body["session"] = finding.session(client, context, flags.session, flags.option).id
        asked = (("state", flags.state), ("label", flags.label), ("job", _job(context, flags)))
        body |= {key: value for key, value in asked if value is not None}
        answer = client.request("runs", body, looks=True)
        return answer["runs"], answer.get("total", len(answer["runs"]))


def _job(context: Context, flags: Options) -> str | None:
    """The id of the job that is meant; NotFound when there is none."""
    if flags.job is None:
        return None
    from eukhed.cli import jobs  # noqa: PLC0415 - the jobs files are not for the light path

    return jobs.one(context, flags.job, None).job.id


def _from_disk(context: Context, flags: Options) -> tuple[list[dict[str, Any]], int]:
    from eukhed.cli import disk  # noqa: PLC0415 - storage is not for the light path

    named = flags.session or flags.option
    only = disk.find(context.places, named).id if named else None
    asked = {"state": flags.state, "label": flags.label, "job": _job(context, flags)}
    kept = [
        one
        for one in disk.runs(context.places, only)
        if all(value in {None, one[key]} for key, value in asked.items())
    ]
    return (kept if flags.all else kept[: flags.n]), len(kept)


def lines(context: Context, found: list[dict[str, Any]], *, header: bool) -> list[str]:
    """Return the table of these runs."""
    now_ms = int(time.time() * 1000)
    rows = [_row(one, now_ms, exact=context.loud > 0) for one in found]
    width = WIDTH_MAX if is_terminal(1) else None
    drawn = table(HEADS, rows, width=width, right=("EXIT", "TIME"), cut_at="COMMAND") if rows else []
    told = [drawn[0]] if drawn and header else []
    for line, one in zip(drawn[1:], found, strict=True):
        state = one["state"]
        told.append(
            line.replace(state, coloured(state, state, colour=context.colour), 1) if context.colour else line
        )
    return told


def _row(one: dict[str, Any], now_ms: int, *, exact: bool) -> list[str]:
    return [
        str(one["address"]),
        str(one["state"]),
        exit_word(one),
        seconds(one["seconds"]),
        moment(one["started_at"], now_ms, exact=exact),
        plain(str(one["command"])),
        _more(one),
    ]


def exit_word(one: dict[str, Any]) -> str:
    """Return `0`, `TERM`, or `-` while nothing is known."""
    if one.get("exit") is not None:
        return str(one["exit"])
    if one.get("signal") is not None:
        import signal  # noqa: PLC0415 - only where one ended a run

        try:
            return signal.Signals(one["signal"]).name.removeprefix("SIG")
        except ValueError:
            return str(one["signal"])
    return "-"


def _more(one: dict[str, Any]) -> str:
    if one.get("unattended"):
        return "unattended"
    if one.get("waiting_for"):
        return f"after {', '.join(one['waiting_for'])}"
    if one.get("stopped_by") and not one.get("error"):
        return f"by {one['stopped_by']}"
    return plain(str(one["error"])) if one.get("error") else ""
