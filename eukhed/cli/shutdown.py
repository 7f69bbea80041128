"""`eukhed shutdown`: stop the daemon; with work only by --force, which ends the work."""

import argparse
import sys
from typing import Any

from eukhed.cli.context import Context, Options, is_terminal, talk
from eukhed.cli.render import to_json
from eukhed.cli.trouble import work_line
from eukhed.client.client import Client
from eukhed.errors import Busy, ConnectionLost, Invalid, NoDaemon


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `shutdown`."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--if-idle", action="store_true", help="only when there is no work; exits 3 when there is"
    )
    how.add_argument(
        "--force", action="store_true", help="end all work: runs are stopped, with all they started"
    )
    parser.add_argument(
        "--keep-scheduled", action="store_true", help="an active scheduled job counts as work"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--no-input", action="store_true", help="never ask: what would ask is refused")


def run(context: Context, flags: Options) -> int:
    """Stop the daemon. That none runs is no failure: it is what was asked for."""
    try:
        with Client(context.places, relaunch=False) as client:
            if flags.force and not flags.yes:
                _confirm(context, flags, _work(client))
            _stop(context, flags, client)
    except NoDaemon:
        if flags.force and (left := _unattended(context)):
            return _end_unattended(context, flags, left)
        return _told(context, "not_running", "no daemon is running")
    return _told(context, "stopped", "stopped")


def _stop(context: Context, flags: Options, client: Client) -> None:
    mode = "force" if flags.force else "if_idle" if flags.if_idle else "plain"
    body: dict[str, Any] = {"mode": mode, "keep_scheduled": flags.keep_scheduled}
    try:
        _request(client, body)
    except Busy as busy:
        if flags.if_idle or not _may_ask(context, flags):
            raise
        work = list(busy.data.get("work") or ())
        _confirm(context, flags, work)
        _request(client, body | {"mode": "force"})


def _unattended(context: Context) -> list[Any]:
    """Return the runs that go on although no daemon is running."""
    from eukhed.cli import disk, held  # noqa: PLC0415 - what is on the disk matters only here

    found = [item for row in disk.rows(context.places) for item in held.going_on(context, row)]
    return [item for item in found if item["kind"] == "run"]


def _end_unattended(context: Context, flags: Options, left: list[Any]) -> int:
    """End them the only way that writes it down: by a daemon, which ends with them."""
    if not flags.yes:
        _confirm(context, flags, left)
    with Client(context.places, start=True) as client:
        _request(client, {"mode": "force"})
    return _told(context, "stopped", f"no daemon was running; {len(left)} runs that went on were stopped")


def _request(client: Client, body: dict[str, Any]) -> None:
    """Ask, and wait until the daemon is gone: its connection ends with it."""
    client.request("shutdown", body)
    try:
        while True:
            client.pump(None)
    except ConnectionLost:
        return


def _work(client: Client) -> list[Any]:
    workers = client.request("ps", looks=True).get("workers", [])
    return [item for worker in workers for item in worker.get("work", [])]


def _may_ask(context: Context, flags: Options) -> bool:
    return not context.json and not flags.no_input and is_terminal(0) and is_terminal(2)


def _confirm(context: Context, flags: Options, work: list[Any]) -> None:
    """Show what will end, and ask.

    Raises:
        Invalid: nobody can be asked, and --yes was not given.
        Busy: the answer was no.
    """
    if not work:
        return
    if not _may_ask(context, flags):
        raise Invalid(
            "this ends work: --yes says that it may",
            next=[["eukhed", "shutdown", "--force", "--yes"]],
            work=work,
        )
    for item in work:
        talk(f"  {work_line(item)}\n")
    talk("end this work? [y/N] ")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Busy("nothing was stopped", work=work)


def _told(context: Context, result: str, text: str) -> int:
    if context.json:
        context.out(to_json({"result": result}))
    else:
        context.say(text)
    return 0
