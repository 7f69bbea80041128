"""The memory law said otherwise: by splitting at headings with one pattern, and taking off what was put on."""

import re

HEADING = re.compile(r"(?m)^## (.*)$")


def escape(text: str) -> str:
    return re.sub(r"(?m)^(?=\\*## )", r"\\", text)


def unescape(text: str) -> str:
    return re.sub(r"(?m)^\\(?=\\*## )", "", text)


def render(text: str, at: str) -> str:
    return "\n## " + at + "\n\n" + escape(text) + "\n"


def parse(text: str) -> list[tuple[str, str]]:
    """(text, at) of each note, in the order of the file."""
    parts = HEADING.split(text)
    bodies = [parts[0], *(part.removeprefix("\n") for part in parts[2::2])]
    bodies = [body.removesuffix("\n") for body in bodies[:-1]] + bodies[
        -1:
    ]  # the end of the line before a heading
    bodies[0] = "\n" + bodies[0]
    notes = []
    for at, body in zip(["", *parts[1::2]], bodies, strict=True):
        inner = unescape(body.removeprefix("\n").removesuffix("\n"))
        if inner.strip():
            notes.append((inner, at.strip()))
    return notes
