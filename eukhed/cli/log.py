"""`eukhed log`: what runs wrote, from the disk; with --follow what they write on."""

import argparse
import os
import shlex
import subprocess
import sys
from typing import IO, Any, Final, NamedTuple

from eukhed.cli import disk, finding, transcript
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.controls import Stripper
from eukhed.cli.interrupt_law import Chosen
from eukhed.cli.picture import Bytes
from eukhed.cli.render import plain, to_json
from eukhed.cli.view import Plan, View
from eukhed.client.attachment import Attachment, Stream
from eukhed.client.client import Client
from eukhed.errors import NoDaemon
from eukhed.storage.listing import SessionRow
from eukhed.storage.plain import words
from eukhed.storage.runs import OUTPUT

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
        "-f", "--follow", action="store_true", help="go on with what the run writes; its last one for S"
    )


class _Shown(NamedTuple):
    """Up to where a run was shown."""

    run: int | None
    after: dict[Stream, int]


def run(context: Context, flags: Options) -> int:
    """Print the transcript."""
    named = finding.target(flags.target)
    row = disk.find(context.places, finding.wanted(context, named.session, flags.session))
    number = named.run
    if number is not None or flags.follow:
        number = disk.task(context.places, row, number).id
    if context.json:
        _as_json(context, row, number)
        return 0
    keep = flags.raw or is_terminal(1)
    pager = None if flags.follow else _pager(context)
    if pager is None:
        shown = _print(context, row, number, sys.stdout.buffer, keep=keep)
    else:
        shown = _paged(context, row, number, pager)
    if flags.follow:
        return _follow(context, row, shown, keep=keep)
    return 0


def _print(context: Context, row: SessionRow, number: int | None, out: IO[bytes], *, keep: bool) -> _Shown:
    after: dict[Stream, int] = {"out": 0, "err": 0}
    strippers: dict[tuple[int | None, str | None], Stripper] = {}
    titles = (
        {one.id: words(one.input["argv"]) for one in disk.tasks(context.places, row)}
        if number is None
        else {}
    )
    last: int | None = number
    for part in transcript.parts(context.places, row, number):
        if part.run != last and number is None and part.run in titles:
            last = part.run
            out.write(f"── {row.name}/{part.run} · {plain(titles[part.run])} ──\n".encode())
        if part.stream is not None:
            after[part.stream] = max(after[part.stream], part.offset + part.length)
        if part.kind == OUTPUT:
            stripper = strippers.setdefault((part.run, part.stream), Stripper())
            out.write(part.data if keep else stripper.strip(part.data))
        elif (note := transcript.note_of(part)) is not None:
            out.write(f"── {note} ──\n".encode())
    for stripper in strippers.values():
        out.write(stripper.rest())
    out.flush()
    return _Shown(number, after)


def _as_json(context: Context, row: SessionRow, number: int | None) -> None:
    """One entry a line; bytes that are no text are base64."""
    for part in transcript.parts(context.places, row, number):
        told: dict[str, Any] = {"entry": part.entry, "run": part.run, "kind": part.kind}
        if part.kind == OUTPUT:
            try:
                told |= {"stream": part.stream, "offset": part.offset, "text": part.data.decode()}
            except UnicodeDecodeError:
                told |= {"stream": part.stream, "offset": part.offset} | _base64(part.data)
        else:
            told["data"] = part.told
        context.out(to_json(told))


def _base64(data: bytes) -> dict[str, str]:
    from base64 import b64encode  # noqa: PLC0415 - rare

    return {"base64": b64encode(data).decode()}


def _follow(context: Context, row: SessionRow, shown: _Shown, *, keep: bool) -> int:
    """Go on from the bytes that were shown, as a client that only looks."""
    assert shown.run is not None
    try:
        client = Client(context.places)
    except NoDaemon:
        return 0  # nobody writes on
    with client:
        attachment = Attachment(client, row.id, shown.run, look=True)
        attachment.first(lines=None, after=shown.after)
        plan = Plan(
            f"{row.name}/{shown.run}", "", raw=False, typed=False, looks=True, owner=False, chosen=ON_SIGNAL,
            detach_key="none",
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


def _pager(context: Context) -> list[str] | None:
    if not (is_terminal(0) and is_terminal(1)):
        return None
    chosen = context.environ.get("EUKHED_PAGER") or context.environ.get("PAGER") or ""
    return shlex.split(chosen) or None


def _paged(context: Context, row: SessionRow, number: int | None, argv: list[str]) -> _Shown:
    environ = dict(os.environ)
    environ.setdefault("LESS", "FRX")
    with subprocess.Popen(argv, stdin=subprocess.PIPE, env=environ) as pager:
        assert pager.stdin is not None
        try:
            return _print(context, row, number, pager.stdin, keep=True)
        except BrokenPipeError:  # it was left before the end
            return _Shown(number, {"out": 0, "err": 0})
