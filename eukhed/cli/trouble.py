"""How an error is told: on stderr, as text with what to do next, or as one JSON object."""

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from eukhed.cli.context import talk
from eukhed.cli.render import to_json
from eukhed.cli.table import find
from eukhed.errors import EukhedError, OurFault
from eukhed.paths import Places

# what a command that helps is for, by its verb
LABELS: Final = {
    "sessions": "all", "runs": "all", "ps": "look", "status": "look", "log": "look", "doctor": "look",
    "shutdown": "stop", "stop": "stop", "start": "start", "supervise": "try", "attach": "back", "wait": "wait",
    "reopen": "again", "config": "look", "help": "help", "run": "try",
    "cron": "jobs", "mint": "mint", "lineage": "look", "verify": "look", "list": "all",
}  # fmt: skip


def tell(error: EukhedError, status: int, *, as_json: bool) -> None:
    """Write an error to stderr."""
    if as_json:
        told = error.as_wire()
        told["next"] = [list(argv) for argv in steps(error)]
        told["exit"] = status
        talk(to_json({"error": told}) + "\n")
    else:
        talk("\n".join(as_text(error)) + "\n")


def as_text(error: EukhedError) -> list[str]:
    """Return the lines of an error: what is wrong, what is near, what to do next."""
    lines = [f"eukhed: {error.message}"]
    told: list[tuple[str, str]] = []
    if near := error.data.get("near"):
        told.append(("near", ", ".join(_near(item) for item in near)))
    told += [("busy", work_line(item)) for item in error.data.get("work") or ()]
    told += [(_label(argv), shlex.join(argv)) for argv in steps(error)]
    width = max((len(label) for label, _ in told), default=0)
    return lines + [f"  {label:<{width}}  {text}" for label, text in told]


def steps(error: EukhedError) -> list[Sequence[str]]:
    """Return the commands that help, of those that there are: a daemon may be newer than this table."""
    found: list[Sequence[str]] = []
    for argv in error.next:
        words = [word for word in argv[1:] if not word.startswith("-")]
        pairs = [" ".join(words[at : at + 2]) for at in range(len(words) - 1)]
        if argv[0] != "eukhed" or not words or any(find(word) for word in (*words, *pairs)):
            found.append(argv)
    return found


def work_line(item: Any) -> str:
    """Return one line for a piece of work that keeps a daemon busy."""
    if not isinstance(item, Mapping):
        return str(item)
    where = item.get("address") or item.get("run") or item.get("name") or item.get("session") or ""
    what = item.get("command") or item.get("text") or item.get("what") or ""
    if isinstance(what, list | tuple):
        what = " ".join(
            word.decode(errors="replace") if isinstance(word, bytes) else str(word) for word in what
        )
    return "  ".join(str(part) for part in (where, item.get("kind", ""), what) if part != "")


def keep_bug(error: Exception, at: Places) -> EukhedError:
    """Write a bug's traceback to <root>/logs/cli.log, and return the error that says so."""
    import traceback  # noqa: PLC0415 - five modules, for bugs alone

    text = "".join(traceback.format_exception(error))
    file = os.path.join(at.logs, "cli.log")
    try:
        os.makedirs(at.logs, mode=0o700, exist_ok=True)
        with open(file, "a", opener=_private) as log:
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {shlex.join(sys.argv)}\n{text}\n")
    except OSError as unwritten:
        return OurFault(f"a bug: {_summary(error)} (and {file} cannot be written: {unwritten.strerror})")
    return OurFault(f"a bug: {_summary(error)}; its traceback is in {file}", file=file)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _summary(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _label(argv: Sequence[str]) -> str:
    if "--help" in argv:
        return "help"
    return next((LABELS[word] for word in argv if word in LABELS), "next")


def _near(item: Any) -> str:
    if isinstance(item, Mapping):
        cwd = item.get("cwd")
        return f"{item.get('name')} ({cwd})" if cwd else str(item.get("name"))
    return str(item)
