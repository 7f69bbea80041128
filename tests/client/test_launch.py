"""What a launcher says, and what becomes of one that says nothing."""

import subprocess
import sys

import pytest

from eukhed.client.launch import launched
from eukhed.errors import Broken, ProtocolMismatch


def saying(text: str, status: int = 0, err: str = "") -> "subprocess.Popen[bytes]":
    script = f"import sys; sys.stdout.write({text!r}); sys.stderr.write({err!r}); sys.exit({status})"
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_its_last_line_counts() -> None:
    told = launched(saying('noise\n{"result": "started", "pid": 7, "version": "0.1.0", "later": 1}\n'))
    assert (told["result"], told["pid"]) == ("started", 7)


def test_its_error_is_raised_as_itself() -> None:
    text = '{"error": {"code": "protocol_mismatch", "message": "too old", "next": [["eukhed", "shutdown"]]}}'
    with pytest.raises(ProtocolMismatch, match="too old") as told:
        launched(saying(text, 1))
    assert told.value.next == (("eukhed", "shutdown"),)


@pytest.mark.parametrize(("text", "status", "err"), [("", 1, "no space left\n"), ("", 0, ""), ("[1]", 0, "")])
def test_one_that_says_nothing_has_failed(text: str, status: int, err: str) -> None:
    with pytest.raises(Broken, match=err.strip() or "it said nothing"):
        launched(saying(text, status, err))
