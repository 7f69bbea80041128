"""A person's pager: for what is longer than a screen, on a terminal, and never for what goes on growing."""

import os
import shlex
import subprocess
from collections.abc import Sequence

from eukhed.cli.context import Context, is_terminal
from eukhed.cli.render import WIDTH_MAX
from eukhed.cli.terminal import window


def chosen(context: Context) -> list[str] | None:
    """The argv of EUKHED_PAGER, else PAGER; None without a terminal or a pager."""
    if context.json or not (is_terminal(0) and is_terminal(1)):
        return None
    words = context.environ.get("EUKHED_PAGER") or context.environ.get("PAGER") or ""
    return shlex.split(words) or None


def show(text: str, argv: Sequence[str]) -> None:
    """Show a text in the pager; that it is left before the end is no failure."""
    environ = dict(os.environ)
    environ.setdefault("LESS", "FRX")
    subprocess.run(argv, input=text.encode(errors="replace"), env=environ, check=False)


def width() -> int | None:
    """The columns of a line on the terminal that stdout is; None when it is none: nothing is cut."""
    if not is_terminal(1):
        return None
    size = window(1)
    return min(WIDTH_MAX, size[1]) if size is not None and size[1] else WIDTH_MAX
