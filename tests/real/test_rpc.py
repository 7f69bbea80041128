"""A script that knows only lines of JSON: a run's whole output, over the death of the daemon."""

import json
import signal
import subprocess
from typing import Any

from eukhed.storage.plain import raw
from tests.real.home import Home

LINES = 20_000


class Script:
    """The other end of `eukhed rpc`."""

    def __init__(self, home: Home) -> None:
        self.process = home.start("rpc", stdin=subprocess.PIPE)
        self.events: list[dict[str, Any]] = []
        self.hello = self.line()

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it ended"
        told = json.loads(line)
        assert isinstance(told, dict)
        return told

    def send(self, **item: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(item).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, kind: str, number: Any = None) -> dict[str, Any]:
        """The next line of a kind; events before it are kept."""
        while True:
            told = self.line()
            if told["kind"] == kind and (number is None or told.get("id") == number):
                return told
            if told["kind"] == "event":
                self.events.append(told)

    def ask(self, number: Any, kind: str, **more: Any) -> Any:
        self.send(id=number, type=kind, **more)
        answered = self.until("response", number)
        assert answered["ok"], answered
        return answered["body"]

    def event(self) -> dict[str, Any]:
        return self.events.pop(0) if self.events else self.until("event")

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(20)


def test_a_run_is_followed_over_the_death_of_the_daemon(home: Home) -> None:
    script = Script(home)
    session = script.ask(1, "open_session")["session"]
    count = f"i=0; while [ $i -lt {LINES} ]; do echo line $i; i=$((i+1)); done; printf 'a\\377b'; exit 7"
    started = script.ask("run", "run", session=session, body={"argv": ["sh", "-c", count]})
    number, got, killed = started["run"], "", False
    window = {"window": 65536, "look": True, "exclusive": False}
    script.ask(2, "attach", session=session, body=window | {"run": number, "lines": None})
    while (told := script.event())["type"] != "ended":
        if told["type"] != "output":
            continue
        body = told["body"]
        data = raw(body["data"])
        got += data.decode("latin-1")
        credit = {"attachment": body["attachment"], "bytes": len(data)}
        script.send(type="credit", session=session, body=credit)
        if not killed and len(got) > 50_000:
            killed = True
            home.kill(int(script.hello["pid"]))
            script.hello = script.until("hello")
            script.events.clear()  # they told of the attachment that is gone
            after = {"after": {"out": body["offset"] + len(data), "err": 0}}
            script.ask(3, "attach", session=session, body=window | after | {"run": number})
    assert killed
    assert (told["body"]["state"], told["body"]["exit"]) == ("failed", 7)
    assert got == "".join(f"line {i}\n" for i in range(LINES)) + "a\xffb"
    assert script.ask(4, "wait", session=session, body={"run": number})["exit"] == 7
    assert script.end() == 0
    home.shut_down()


def test_what_is_refused_has_its_answer_and_the_rest_goes_on(home: Home) -> None:
    script = Script(home)
    assert script.process.stdin is not None
    script.process.stdin.write(b'not json\n{"id": 1, "type": "no_such"}\n')
    script.send(id=2, type="run", session="nobody", body={"argv": ["true"]})
    script.send(id=3, type="run", body={"argv": ["true"], "stdin": "handed"})
    answers = {told.get("id"): told["error"]["code"] for told in (script.until("response") for _ in range(4))}
    assert answers == {None: "invalid", 1: "unknown_command", 2: "unknown_session", 3: "invalid"}
    assert script.ask(4, "status")["running"]
    assert script.end() == 0
    home.shut_down()


def test_a_daemon_that_says_goodbye_ends_it(home: Home) -> None:
    script = Script(home)
    home.shut_down()
    assert script.until("closing")["reason"] == "shutdown"
    assert script.process.wait(20) not in {0, -signal.SIGPIPE}
    assert script.process.stderr is not None
    assert b"shut down" in script.process.stderr.read()
