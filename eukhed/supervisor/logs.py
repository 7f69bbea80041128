"""What the supervisor writes for people: JSON lines in `<root>/logs`, or lines for journald.

A line holds the time, the level, the logger, the text; never a value of an environment, a token or output.
Under journald (JOURNAL_STREAM) the level is the `<N>` prefix of sd-daemon and the time is the journal's.
"""

import json
import logging
import logging.handlers
from typing import Final, TextIO

LOG_BYTES: Final = 10 * 1000 * 1000
LOG_FILES: Final = 5
PRIORITIES: Final = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6), (logging.NOTSET, 7))
LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class JsonLines(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "at": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "who": record.name,
            "pid": record.process,
            "text": record.getMessage(),
        }
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


class Journal(logging.Formatter):
    """Lines for journald: the priority in front of each."""

    def format(self, record: logging.LogRecord) -> str:
        priority = next(number for level, number in PRIORITIES if record.levelno >= level)
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return "\n".join(f"<{priority}>{line}" for line in text.splitlines())


def to_file(directory: str, level: str) -> None:
    """Log to `supervisor.log` there: five files of ten megabytes at most."""
    handler = logging.handlers.RotatingFileHandler(
        f"{directory}/supervisor.log", maxBytes=LOG_BYTES, backupCount=LOG_FILES - 1, encoding="utf-8"
    )
    handler.setFormatter(JsonLines())
    _start(handler, level)


def to_stream(stream: TextIO, level: str, *, journal: bool) -> None:
    """Log to a terminal, or to the journal."""
    handler = logging.StreamHandler(stream)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(Journal() if journal else plain)
    _start(handler, level)


def _start(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(LEVELS.get(level, logging.INFO))
