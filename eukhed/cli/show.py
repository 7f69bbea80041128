"""`eukhed show R`, `eukhed show S RECORD`: one run or record in full, from the disk.

Values of a run's environment are nowhere but in the run.
"""

import argparse
import json
import time
from typing import Any

from msgspec import to_builtins

from eukhed.cli import disk, finding
from eukhed.cli.context import Context, Options
from eukhed.cli.render import moment, plain, seconds, size, to_json
from eukhed.cli.runs import exit_word
from eukhed.errors import NotFound
from eukhed.host.files import SystemFiles
from eukhed.storage.listing import SessionRow
from eukhed.storage.plain import words
from eukhed.storage.reading import entries
from eukhed.storage.records import Task, Terminal
from eukhed.storage.runs import CHILD, run_row, state_of


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `show`."""
    parser.add_argument(
        "target", nargs="?", metavar="R|S", help="a run (shop/14, 14), or a session; else its last run"
    )
    parser.add_argument(
        "record", nargs="?", type=int, metavar="RECORD", help="a record of session S, by its number"
    )
    parser.add_argument("--session", metavar="S", help="the session that is meant")
    parser.add_argument("--env", action="store_true", help="the names of its environment; never the values")


def run(context: Context, flags: Options) -> int:
    """Print the run, or the record."""
    named = finding.target(flags.target)
    if flags.record is not None and named.session is None:
        named = finding.Target(flags.target, None)  # a session that is called 14
    row = disk.find(context.places, finding.wanted(context, named.session, flags.session))
    if flags.record is not None:
        context.out(_record(context, row, flags.record))
        return 0
    if (child := _child(context, row, named.run)) is not None:
        _show_child(context, row, child)
        return 0
    task = disk.task(context.places, row, named.run)
    told = run_row(task, row.id, row.name, int(time.time() * 1000))
    names = list(task.input.get("envNames", []))
    if context.json:
        context.out(to_json(told | ({"env": names} if flags.env else {})))
        return 0
    if flags.env:
        for name in names:
            context.out(plain(name))
        return 0
    for key, value in _facts(told, task.input):
        context.out(f"{key:<11}{value}")
    return 0


def _child(context: Context, row: SessionRow, number: int | None) -> Task | None:
    """Return the child of this number; None for a run."""
    task = None if number is None else disk.records(context.places, row).tasks.get(number)
    return task if task is not None and task.kind == CHILD else None


def _show_child(context: Context, row: SessionRow, task: Task) -> None:
    memos, result = task.memos or {}, (task.state.result or {}) if isinstance(task.state, Terminal) else {}
    name, run = memos.get("name"), memos.get("run")
    told = {
        "child": f"{row.name}/{task.id}",
        "session": task.input["session"],
        "name": name,
        "run": None if run is None else f"{name}/{run}",
        "command": words(task.input["argv"]),
        "state": state_of(task),
    } | {key: result.get(key) for key in ("exit", "signal", "error")}
    if context.json:
        context.out(to_json(told))
        return
    for key, value in told.items():
        if value is not None:
            context.out(f"{key:<11}{plain(str(value))}")


def _facts(told: dict[str, Any], asked: dict[str, Any]) -> list[tuple[str, str]]:
    now_ms = int(time.time() * 1000)
    facts = [
        ("run", told["address"]), ("command", plain(told["command"])), ("state", told["state"]),
        ("exit", exit_word(told)), ("directory", plain(told["cwd"])), ("label", told["label"]),
        ("terminal", "its own" if told["tty"] else "none"),
        ("submitted", moment(told["submitted_at"], now_ms, exact=True)),
        ("started", moment(told["started_at"], now_ms, exact=True)),
        ("ended", moment(told["ended_at"], now_ms, exact=True)), ("time", seconds(told["seconds"])),
        ("output", size(told["output_bytes"])), ("stopped by", told["stopped_by"]), ("error", told["error"]),
        ("inside", asked.get("inside")), ("variables", f"{len(asked.get('envNames', []))}   names: --env"),
    ]  # fmt: skip
    return [(key, str(value)) for key, value in facts if value not in {None, "-"}]


def _record(context: Context, row: SessionRow, number: int) -> str:
    """A record as JSON, as it is on the disk.

    Raises:
        NotFound: the session has none of this number.
    """
    known = disk.records(context.places, row)
    kind = known.kind_of(number)
    match kind:
        case "entry":
            path = disk.storage(context.places, row)
            record: Any = next(
                entry for entry in entries(SystemFiles(), path, number - 1) if entry.id == number
            )
        case "task":
            record = known.tasks[number]
        case "submission":
            record = known.submissions[number]
        case "conversation":
            record = known.conversations[number]
        case "document":
            record = known.document(number)
        case None:
            raise NotFound(f"session {row.name} has no record {number}", next=[["eukhed", "log", row.name]])
    told: dict[str, Any] = {"session": row.id, "name": row.name, "kind": kind, "record": to_builtins(record)}
    if kind == "document" and number in known.contents:
        told["content"] = known.contents[number]
    return to_json(told) if context.json else json.dumps(told, indent=2, ensure_ascii=False)
