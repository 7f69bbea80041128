"""The bridge over a daemon that dies: what may be sent again is, with the same id; what may not is answered."""

import json
import subprocess
from typing import Any

from eukhed.paths import Places
from tests.cli.scripted import Programs
from tests.client.daemon import SESSION, Daemon


def line(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    assert isinstance(told, dict)
    return told


def test_what_was_under_way_when_the_daemon_died(at: Places, programs: Programs) -> None:
    with Daemon(at) as first:
        first.handlers |= {"wait": lambda *_: None, "run": lambda *_: None}  # never answered
        process = programs.start("rpc", stdin=subprocess.PIPE)
        assert process.stdin is not None
        assert line(process)["kind"] == "hello"
        for item in (
            {"id": "w", "type": "wait", "session": SESSION, "body": {"run": 3}},
            {"id": "r", "type": "run", "session": SESSION, "body": {"argv": ["true"]}},
        ):
            process.stdin.write(json.dumps(item).encode() + b"\n")
        process.stdin.flush()
        first.expect("wait")
        _, sent = first.expect("run")
        first.die()
    second = Daemon(at, generation=2)
    second.handlers["run"] = lambda *_: {"run": 14}
    with second:
        lost, hello, answered = (line(process) for _ in range(3))
        _, again = second.expect("run")
        assert again["command_id"] == sent["command_id"]
        assert (lost["id"], lost["ok"], lost["error"]["code"]) == ("w", False, "connection_lost")
        assert (hello["kind"], hello["generation"]) == ("hello", 2)
        assert (answered["id"], answered["ok"], answered["body"]) == ("r", True, {"run": 14})
        assert answered["command_id"] == sent["command_id"]
        process.stdin.close()
        process.stdin = None
        assert process.wait(20) == 0
    assert second.seen.empty(), "nothing else was sent again"
