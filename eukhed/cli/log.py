"""`eukhed log`: what runs wrote, from the disk; with --follow what they write on, and what later ones write."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

from eukhed.cli import disk, finding, pager, transcript
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.controls import Stripper
from eukhed.cli.following import follow
from eukhed.cli.interrupt_law import Chosen
from eukhed.cli.moments import moment_ms
from eukhed.cli.pages import JsonPages, Pages
from eukhed.cli.picture import Bytes
from eukhed.cli.transcript import Part
from eukhed.cli.view import Plan, View
from eukhed.client.attachment import Attachment, Stream
from eukhed.client.client import Client
from eukhed.errors import Corrupt, NoDaemon
from eukhed.storage.listing import SessionRow
from eukhed.storage.plain import words
from eukhed.storage.records import Task
from eukhed.storage.runs import run_row

ON_SIGNAL: Final[Chosen] = "detach"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `log`."""
    parser.add_argument(
        "target", nargs="?", metavar="S|R", help="a session (all its runs), or a run (shop/14, 14)"
    )
    parser.add_argument("--session", metavar="S", help="the session that is meant")
    parser.add_argument(
        "--raw", action="store_true", help="keep control sequences when stdout is no terminal"
    )
    parser.add_argument(
        "-f", "--follow", action="store_true", help="go on with what is written; of S by later runs too"
    )
    parser.add_argument(
        "--since", type=_bound, metavar="T|N",
        help="runs that ran since (2h, 2026-11-30, 10:00), or what comes after entry N",
    )  # fmt: skip
    parser.add_argument(
        "--until", type=_bound, metavar="T|N", help="runs that began by then, or up to entry N"
    )


class _Bound(NamedTuple):
    """An entry's number, or a moment in ms since 1970."""

    entry: int | None
    at: int | None


NO_BOUND: Final = _Bound(None, None)


def _bound(text: str) -> _Bound:
    if text.isdecimal():
        return _Bound(int(text), None)
    return _Bound(None, moment_ms(text, int(time.time() * 1000)))


def run(context: Context, flags: Options) -> int:
    """Print the transcript; of a damaged session what comes before the damage."""
    named = finding.target(flags.target)
    row = disk.find(context.places, finding.wanted(context, named.session, flags.session))
    number = None if named.run is None else disk.task(context.places, row, named.run).id
    damage, tasks = _tasks(context, row)
    asked = _Asked(row, number, tasks, flags.since or NO_BOUND, flags.until or NO_BOUND)
    argv = None if flags.follow else pager.chosen(context)
    if argv is not None:
        _paged(context, asked, argv)
    else:
        keep = flags.raw or is_terminal(1)
        pages = _pages(context, asked, sys.stdout.buffer, keep=keep)
        _print(context, asked, pages)
        if flags.follow and damage is None:
            return _follow(context, asked, pages, keep=keep)
        pages.close()
    if damage is not None:
        raise damage
    return 0


class _Asked(NamedTuple):
    """What is to be printed."""

    row: SessionRow
    run: int | None  # None: all of the session's
    tasks: list[Task]
    since: _Bound
    until: _Bound


def _tasks(context: Context, row: SessionRow) -> tuple[Corrupt | None, list[Task]]:
    try:
        return None, disk.tasks(context.places, row)
    except Corrupt as error:
        return error, []


def _pages(context: Context, asked: _Asked, out: IO[bytes], *, keep: bool) -> Pages:
    kind = JsonPages if context.json else Pages
    pages = kind(out, asked.row.name, keep=keep, titled=asked.run is None)
    for task in asked.tasks:
        pages.title(task.id, words(task.input["argv"]))
    return pages


def _print(context: Context, asked: _Asked, pages: Pages) -> None:
    for part in _bounded(context, asked):
        pages.part(part)
    pages.flush()


def _bounded(context: Context, asked: _Asked) -> Iterator[Part]:
    """The entries between --since and --until."""
    row, since, until = asked.row, asked.since, asked.until
    rows = {task.id: run_row(task, row.id, row.name, 0) for task in asked.tasks}
    left_out = {
        run
        for run, told in rows.items()
        if (since.at is not None and told["ended_at"] is not None and told["ended_at"] < since.at)
        or (until.at is not None and (told["started_at"] or told["submitted_at"]) > until.at)
    }
    for part in transcript.parts(context.places, row, asked.run, since.entry or 0):
        if until.entry is not None and part.entry > until.entry:
            return
        if part.run not in left_out:
            yield part


def _follow(context: Context, asked: _Asked, pages: Pages, *, keep: bool) -> int:
    """Go on from the bytes that were shown, as a client that only looks."""
    if asked.run is None or context.json:
        over = [task.id for task in asked.tasks if task.terminal]  # they were before their output was read
        return follow(context, asked.row, pages, only=asked.run, shown=over)
    pages.close()
    try:
        client = Client(context.places)
    except NoDaemon:
        return 0  # nobody writes on
    with client:
        attachment = Attachment(client, asked.row.id, asked.run, look=True)
        attachment.first(lines=None, after=pages.places(asked.run))
        plan = Plan(
            f"{asked.row.name}/{asked.run}", "", raw=False, typed=False, looks=True, owner=False,
            chosen=ON_SIGNAL, detach_key="none",
        )  # fmt: skip
        View(client, attachment, plan, _Log(keep=keep, quiet=context.loud < 0)).show()
    return 0


class _Log(Bytes):
    """Both streams on stdout, as a log has them."""

    def __init__(self, *, keep: bool, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._keep = keep
        self._strippers: dict[Stream, Stripper] = {"out": Stripper(), "err": Stripper()}

    def output(self, stream: Stream, data: bytes) -> tuple[int, bytes]:
        return 1, data if self._keep else self._strippers[stream].strip(data)


def _paged(context: Context, asked: _Asked, argv: list[str]) -> None:
    """Write it to a person's pager as it is read, however long it is."""
    environ = dict(os.environ)
    environ.setdefault("LESS", "FRX")
    with subprocess.Popen(argv, stdin=subprocess.PIPE, env=environ) as process:
        assert process.stdin is not None
        try:
            pages = _pages(context, asked, process.stdin, keep=True)
            _print(context, asked, pages)
            pages.close()
        except BrokenPipeError:
            return  # it was left before the end
