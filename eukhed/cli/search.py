"""`eukhed search TEXT`: where it stands in the transcripts, the newest first."""

import argparse
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from eukhed.cli import disk, held, transcript
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.controls import Stripper
from eukhed.cli.moments import moment_ms
from eukhed.cli.render import WIDTH_MAX, cut, plain, to_json
from eukhed.errors import EukhedError, Invalid
from eukhed.storage.listing import SessionRow
from eukhed.storage.records import Task
from eukhed.storage.runs import OUTPUT, RUNS, run_row

LINE_MAX: Final = 64 * 1024  # of a line without an end, as progress bars write them


class Hit(NamedTuple):
    """One line that has the text."""

    at: int | None  # wall time of its run's start; of what is no run's, when the session was used
    row: SessionRow
    run: int | None
    entry: int | None  # None: the run's own command line
    stream: str | None
    text: str


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `search`."""
    parser.add_argument("text", metavar="TEXT", help="what is looked for, letter by letter")
    parser.add_argument("sessions", nargs="*", metavar="S", help="in these sessions; else in all")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="capitals count as small letters")
    parser.add_argument(
        "--since", type=_moment, metavar="T", help="runs that ran since: 2h, 2026-11-30, 10:00"
    )


def _moment(text: str) -> int:
    return moment_ms(text, int(time.time() * 1000))


def run(context: Context, flags: Options) -> int:
    """Print each line; exit 1 when there is none, as grep does."""
    if not flags.text:
        raise Invalid("search needs a text", next=[["eukhed", "search", "--help"]])
    rows = [held.found(context, name) for name in flags.sessions] or disk.rows(context.places)
    hits: list[Hit] = []
    for row in rows:
        if row.legacy or (flags.since is not None and row.modified_ms < flags.since):
            continue
        try:
            hits += _hits(context, flags, row)
        except (EukhedError, OSError) as error:
            if flags.sessions:
                raise
            context.say(f"session {row.name} cannot be read: {error}      eukhed doctor --session {row.id}")
    hits.sort(key=lambda hit: (hit.at or 0, hit.entry or 0), reverse=True)
    for hit in hits:
        context.out(to_json(_told(hit)) if context.json else _line(hit))
    return 0 if hits else 1


def _told(hit: Hit) -> dict[str, Any]:
    address = f"{hit.row.name}/{hit.run}" if hit.run is not None else None
    return {
        "session": hit.row.id, "name": hit.row.name, "run": hit.run, "address": address, "entry": hit.entry,
        "stream": hit.stream, "at": hit.at, "text": hit.text,
    }  # fmt: skip


def _line(hit: Hit) -> str:
    where = f"{hit.row.name}/{hit.run}" if hit.run is not None else hit.row.name
    entry = f"#{hit.entry}" if hit.entry is not None else "$"
    text = f"{plain(where)}  {entry}  {plain(hit.text.strip())}"
    return cut(text, WIDTH_MAX) if is_terminal(1) else text


def _hits(context: Context, flags: Options, row: SessionRow) -> Iterator[Hit]:
    needle = flags.text.casefold() if flags.ignore_case else flags.text
    starts: dict[int, int | None] = {}
    for task in disk.tasks(context.places, row):
        told = run_row(task, row.id, row.name, 0)
        if flags.since is not None and _over_before(task, told, flags.since):
            continue
        starts[task.id] = told["started_at"] or told["submitted_at"]
        if _has(told["command"], needle, fold=flags.ignore_case):
            yield Hit(starts[task.id], row, task.id, None, None, told["command"])
    for run, entry, stream, text in _texts(context, row):
        if run is not None and run not in starts:
            continue
        at = row.modified_ms if run is None else starts[run]
        for line in text.splitlines():
            if _has(line, needle, fold=flags.ignore_case):
                yield Hit(at, row, run, entry, stream, line)


def _over_before(task: Task, told: dict[str, Any], since_ms: int) -> bool:
    assert task.kind in RUNS
    return told["ended_at"] is not None and told["ended_at"] < since_ms


def _has(text: str, needle: str, *, fold: bool) -> bool:
    return needle in (text.casefold() if fold else text)


class _Open(NamedTuple):
    """The beginning of a line whose end is in a later entry."""

    entry: int
    text: bytes


def _texts(context: Context, row: SessionRow) -> Iterator[tuple[int | None, int, str | None, str]]:
    """Whole lines of what was written and said: run, entry (where they begin), stream, text."""
    open_: dict[tuple[int | None, str | None], _Open] = {}
    strippers: dict[tuple[int | None, str | None], Stripper] = {}
    for part in transcript.parts(context.places, row, None):
        key = (part.run, part.stream)
        if part.kind != OUTPUT:
            words = transcript.text_of(part)
            if words is not None:
                yield part.run, part.entry, None, words
            continue
        data = strippers.setdefault(key, Stripper()).strip(part.data)
        begun = open_.pop(key, _Open(part.entry, b""))
        head, newline, rest = data.partition(b"\n")
        line = begun.text + head
        if not newline and len(line) < LINE_MAX:
            open_[key] = _Open(begun.entry, line)
            continue
        yield part.run, begun.entry, part.stream, line.decode(errors="replace")
        whole, _, last = rest.rpartition(b"\n")
        if whole:
            yield part.run, part.entry, part.stream, whole.decode(errors="replace")
        if last:
            open_[key] = _Open(part.entry, last)
    for (run, stream), begun in open_.items():
        yield run, begun.entry, stream, begun.text.decode(errors="replace")
