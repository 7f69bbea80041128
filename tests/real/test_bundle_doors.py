"""What a program of a bundle may ask for: a person, a tool, an endpoint; and what stands before and behind it."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.real.bundles import Bundles
from tests.real.home import scratch_home, until

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def bundles() -> Iterator[Bundles]:
    with scratch_home() as home:
        made = Bundles(home)
        made.with_helpers()
        yield made


def test_a_question_waits_for_a_person_over_a_killed_worker(bundles: Bundles) -> None:
    """The run is `waiting` for whoever looks; the first answer counts, and one that is no option is refused."""
    bundles.mint("asks", "[ask('Which?', {options: ['a', 'b'], default: 'b'}), ask('Who?')]")
    run = bundles.begin("asks", "asking", {})
    home = bundles.home

    def waits(question: str) -> Any:
        return [one for one in home.json("status")["waiting"] if one["question"] == question]

    [told] = until(lambda: waits("Which?"), what="the question")
    assert (told["run"], told["options"], told["default"]) == (run, ["a", "b"], "b")
    assert [one["state"] for one in home.json("runs", "asking")] == ["waiting"]
    home.kill(home.workers()["asking"])
    until(lambda: waits("Which?") and "asking" in home.workers(), what="the same question again")
    refused = home.run("answer", "asking", "c")
    assert (refused.returncode, b"none of: a, b" in refused.stderr) == (2, True), refused.stderr
    home.ok("answer", f"asking/{run}")
    until(lambda: waits("Who?"), what="the next question")
    home.ok("answer", "asking", "it is me")
    assert json.loads(home.ok("wait", f"asking/{run}", "--json"))[0]["state"] == "done"
    said = Path(bundles.storage("asking")) / f"run-{run}.out"
    assert json.loads(said.read_text()) == ["b", "it is me"]
    assert home.run("answer", "asking", "late").returncode == 5


def test_guards_stand_before_the_program(bundles: Bundles) -> None:
    """Those that cost nothing before the judgement; what failed is told in the bundle's own words."""
    field = {"kind": "field", "field": "id", "pattern": "^[0-9]+$", "because": "an id has digits only"}
    judge = {"kind": "judgement", "question": "Is it good?"}
    bundles.mint("guarded", "log('ran'); 1", guards=[judge, field])
    before = len(bundles.asked())
    ran = bundles.run("guarded", given={"id": "x7"})
    assert (ran.exit, len(bundles.asked())) == (2, before)
    assert "an id has digits only" in ran.err
    judged = bundles.run("guarded", given={"id": "77"})
    assert judged.exit == 2
    assert "could not be judged" in judged.err  # whoever answers here knows nothing of a judgement's form
    assert "ran" not in ran.err.splitlines() + judged.err.splitlines()
    assert len(bundles.asked()) == before + 1


def test_the_engine_that_takes_over(bundles: Bundles) -> None:
    """After an error that nobody caught; what it says has to be of the schema too."""
    engine = bundles.place / "engine.py"
    engine.write_text(
        "import json, sys\ntold = json.load(sys.stdin)\nprint(json.dumps({'why': told['reason']}))"
    )
    bundles.configure("[bundle.engines]", f"other = {json.dumps([sys.executable, str(engine)])}")
    output = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}
    bundles.mint("falls", "throw new Error('no idea')", fallback="other", output=output)
    ran = bundles.run("falls")
    assert (ran.exit, ran.output) == (0, {"why": "it threw Error: no idea"}), ran.err
    bundles.mint("falls-nowhere", "({})", fallback="unheard", output=output)
    lost = bundles.run("falls-nowhere")
    assert lost.exit == 2
    assert "not of its schema" in lost.err
    assert "'unheard'" in lost.err
    bundles.with_helpers()


class Endpoint(BaseHTTPRequestHandler):
    """Answers as OpenAI's endpoint does."""

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Authorization"]
        content = json.dumps({"key": key, "path": self.path, "said": told["messages"][1]["content"]})
        answer = {
            "choices": [{"message": {"content": content}}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 4},
        }
        data = json.dumps(answer).encode()
        self.send_response(200 if key else 401)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """It says nothing."""


def test_an_endpoint_answers_prompts(bundles: Bundles) -> None:
    """Its URL and the key are of the environment that the run was asked for in, and of no file."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = bundles.home
    try:
        bundles.configure('ai = { provider = "openai", model = "some" }')
        bundles.mint("endpoint", "ai('ask', 'hello', {schema: {type: 'object'}})", {"ask.md": "repeat"})
        home.env["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
        refused = bundles.run("endpoint")
        assert refused.exit == 2
        assert "answered 401" in refused.err
        home.env["OPENAI_API_KEY"] = "secret-key"
        ran = bundles.run("endpoint")
        wanted = {"key": "Bearer secret-key", "path": "/v1/chat/completions", "said": "hello"}
        assert (ran.exit, ran.output) == (0, wanted), ran.err
    finally:
        server.shutdown()
        server.server_close()
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
            home.env.pop(name, None)
        bundles.with_helpers()


def test_a_stopped_run_leaves_no_process(bundles: Bundles) -> None:
    """And says who stopped it."""
    bundles.mint("stopped", "for (;;) ;")
    run = bundles.begin("stopped", "stopping", {})
    until(lambda: [one for one in bundles.home.json("runs", "stopping") if one["state"] == "running"])
    bundles.home.ok("stop", f"stopping/{run}")
    [row] = bundles.home.json("runs", "stopping")
    assert (row["state"], row["exit"], row["signal"]) == ("stopped", None, 15)
    assert [line for line in bundles.home.processes().values() if "_quickjs" in line] == []
    again = bundles.home.run("rerun", f"stopping/{run}")
    assert again.returncode == 2
    assert b"is a run of a bundle" in again.stderr
