r"""Notes as lines of a markdown file, and back.

Law: shared/laws/memory.md. Caller: memory.py. Pure: the time of a note is an argument.

    \n## <RFC 3339 UTC>\n\n<note>\n

The newline in front puts the heading on a line of its own whatever the file ends with. A line of a note that
would read as a heading, or as one that was escaped, gets a backslash in front, which reading takes off.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

HEADING: Final = "## "
ESCAPE: Final = "\\"


class Note(NamedTuple):
    """One thing that was remembered. `at` is what stands in its heading; empty for text before the first."""

    text: str
    at: str


def is_blank(text: str) -> bool:
    """Whether there is nothing to remember."""
    return text.strip() == ""


def render(note: Note) -> str:
    """What is appended to the file."""
    assert "\n" not in note.at, note.at
    body = "\n".join(_escaped(line) for line in note.text.split("\n"))
    return f"\n{HEADING}{note.at}\n\n{body}\n"


def parse(text: str) -> list[Note]:
    """The notes of a file, in its order; those of nothing but space are left out."""
    notes: list[Note] = []
    at, body = "", [""]  # as if a heading had been followed by its empty line
    for line in text.split("\n"):
        if line.startswith(HEADING):
            _add(notes, at, body)
            at, body = line.removeprefix(HEADING).strip(), []
        else:
            body.append(line)
    _add(notes, at, body)
    return notes


def recall(notes: Iterable[Note], query: str) -> list[Note]:
    """The notes whose text has the query in it, whatever the case; the last one first. A blank query is all."""
    wanted = query.strip().casefold()
    return [note for note in reversed(list(notes)) if wanted in note.text.casefold()]


def _add(notes: list[Note], at: str, body: list[str]) -> None:
    """Take off what `render` put around the text: an empty line before, and one after."""
    start = 1 if body[:1] == [""] else 0
    end = len(body) - 1 if body[start:] and body[-1] == "" else len(body)
    text = "\n".join(_unescaped(line) for line in body[start:end])
    if not is_blank(text):
        notes.append(Note(text, at))


def _is_heading(line: str) -> bool:
    """Whether a line is a heading under however many escapes."""
    return line.lstrip(ESCAPE).startswith(HEADING)


def _escaped(line: str) -> str:
    return ESCAPE + line if _is_heading(line) else line


def _unescaped(line: str) -> str:
    """Of a line in a note's body, where no line is a heading without an escape."""
    return line[1:] if _is_heading(line) else line
