"""Lines for files and for the journal."""

import json
import logging

from eukhed.supervisor.logs import Journal, JsonLines


def record(level: int, text: str) -> logging.LogRecord:
    return logging.LogRecord("eukhed.supervisor", level, "x.py", 1, text, (), None)


def test_a_line_is_one_object() -> None:
    told = json.loads(JsonLines().format(record(logging.WARNING, "two\nlines")))
    assert (told["level"], told["who"], told["text"]) == ("warning", "eukhed.supervisor", "two\nlines")


def test_each_line_for_the_journal_has_its_priority() -> None:
    assert Journal().format(record(logging.ERROR, "a\nb")) == "<3>a\n<3>b"
    assert Journal().format(record(logging.WARNING, "a")) == "<4>a"
    assert Journal().format(record(logging.INFO, "a")) == "<6>a"
    assert Journal().format(record(logging.DEBUG, "a")) == "<7>a"
