"""`eukhed export S`: a session as one file on stdout: to read back, or to read."""

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from eukhed.cli import disk, held, transcript
from eukhed.cli.context import Context, Options
from eukhed.cli.controls import Stripper
from eukhed.cli.render import moment, plain
from eukhed.cli.runs import exit_word
from eukhed.errors import Invalid
from eukhed.host.files import SystemFiles
from eukhed.storage.exporting import export
from eukhed.storage.listing import SessionRow
from eukhed.storage.runs import OUTPUT, run_row

FORMATS: Final = ("jsonl", "md", "text")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `export`."""
    parser.add_argument("session", nargs="?", metavar="S", help="the session; else this directory's")
    parser.add_argument("--session", dest="option", metavar="S", help="the same")
    parser.add_argument(
        "--format", choices=FORMATS, default="jsonl", metavar="FORMAT",
        help="jsonl (whole; `import` reads it back), md or text (a transcript)",
    )  # fmt: skip


def run(context: Context, flags: Options) -> int:
    """Write the session to stdout; beside whoever has it open."""
    row = held.found(context, flags.session, flags.option)
    if context.json and flags.format != "jsonl":
        raise Invalid("--json is the format jsonl", next=[["eukhed", "export", row.name]])
    disk.storage(context.places, row)
    out = sys.stdout.buffer
    match flags.format:
        case "jsonl":
            now_ms = int(time.time() * 1000)
            for line in export(SystemFiles(), context.places.storage(row.id), row.id, now_ms):
                out.write(line + b"\n")
        case "md":
            for text in _markdown(context, row):
                out.write(text.encode(errors="replace"))
        case _:
            for text in _text(context, row):
                out.write(text.encode(errors="replace"))
    out.flush()
    return 0


def _text(context: Context, row: SessionRow) -> Iterator[str]:
    """What was said and written, with a line before each run."""
    for heading, body in _sections(context, row):
        yield f"── {heading} ──\n{_whole(body)}"


def _markdown(context: Context, row: SessionRow) -> Iterator[str]:
    yield f"# {plain(row.name)}\n\n`{plain(row.cwd)}`\n"
    for heading, body in _sections(context, row):
        fence = "`" * max(3, 1 + _longest_ticks(body))
        yield f"\n## {heading}\n" + (f"\n{fence}\n{_whole(body)}{fence}\n" if body else "")


def _longest_ticks(text: str) -> int:
    longest = count = 0
    for letter in text:
        count = count + 1 if letter == "`" else 0
        longest = max(longest, count)
    return longest


class _Section(NamedTuple):
    """A piece of a transcript that belongs together."""

    heading: str
    body: str


def _sections(context: Context, row: SessionRow) -> Iterator[_Section]:
    """The transcript, each run's output under the run; a run that wrote nothing stands where it began."""
    headings = _headings(context, row)
    silent = sorted(headings.keys() - _writers(context, row), reverse=True)
    strippers: dict[tuple[int | None, str | None], Stripper] = {}
    open_ = _Section("", "")
    for part in transcript.parts(context.places, row, None):
        heading, text, joins = headings.get(part.run or 0, part.kind), "", True
        if part.kind == OUTPUT:
            stripper = strippers.setdefault((part.run, part.stream), Stripper())
            text = stripper.strip(part.data).decode(errors="replace")
        elif (note := transcript.note_of(part)) is not None:
            text = f"[{note}]\n"
        elif (words := transcript.text_of(part)) is not None:
            heading, text, joins = part.kind, words + "\n", False
        else:
            continue
        passed = [silent.pop() for number in silent[::-1] if number < part.entry]
        if open_.heading and (passed or not joins or heading != open_.heading):
            yield open_
            open_ = _Section("", "")
        yield from (_Section(headings[number], "") for number in passed)
        open_ = _Section(heading, open_.body + text)
    if open_.heading:
        yield open_
    yield from (_Section(headings[number], "") for number in silent[::-1])


def _headings(context: Context, row: SessionRow) -> dict[int, str]:
    now_ms = int(time.time() * 1000)
    found = {}
    for task in disk.tasks(context.places, row):
        told = run_row(task, row.id, row.name, now_ms)
        words = [told["address"], told["command"], f"{told['state']} {exit_word(told)}".rstrip(" -")]
        found[task.id] = " · ".join(
            [*(plain(word) for word in words), moment(told["started_at"], now_ms, exact=True)]
        )
    return found


def _writers(context: Context, row: SessionRow) -> set[int]:
    """The runs that have entries."""
    known = disk.records(context.places, row).entries.values()
    return {entry.by_task_id for entry in known if entry.by_task_id is not None}


def _whole(body: str) -> str:
    return body if not body or body.endswith("\n") else body + "\n"
