"""`top` and `metrics` beside real work."""

import json

from tests.cli.scripted import OnTerminal
from tests.real.home import EUKHED, Home, until


def test_a_worker_that_dies_is_counted(home: Home) -> None:
    home.ok("run", "-d", "--", "sleep", "1000")
    samples = {one["name"]: one for one in home.json("metrics")}

    def total(name: str) -> float:
        return float({one["name"]: one for one in home.json("metrics")}[name]["samples"][0]["value"])

    assert total("eukhed_worker_starts") == 1
    assert total("eukhed_worker_failures") == 0
    assert samples["eukhed_runs"]["type"] == "gauge"
    home.kill(home.worker())
    until(lambda: total("eukhed_worker_starts") == 2, what="a second start")
    assert total("eukhed_worker_failures") == 1
    home.kill(home.supervisor())
    home.ok("start")
    until(lambda: total("eukhed_worker_adoptions") == 1, what="the adoption")
    assert total("eukhed_worker_starts") == 0, "each daemon counts its own"
    assert b"# TYPE eukhed_worker_starts_total counter" in home.run("metrics").stdout
    home.shut_down()
    assert home.run("metrics").returncode == 4


def test_top_on_a_terminal_is_drawn_again_and_leaves_it_as_it_was(home: Home) -> None:
    address = home.ok("run", "-d", "--", "sleep", "1000").strip()
    with OnTerminal(
        [*EUKHED, "top", "-d", "100ms"], home.env | {"TERM": "xterm"}, size=(20, 100), cwd=str(home.directory)
    ) as top:
        top.expect(address.encode())
        second = home.ok("run", "-d", "--", "sleep", "2000").strip()
        top.expect(second.encode())
        top.type(b"q")
        assert top.wait() == 0
        assert top.modes() == top.before
        assert top.rest().endswith(b"\x1b[?1049l") or b"\x1b[?1049l" in top.rest(), "the screen is given back"
    seen = [json.loads(line) for line in home.ok("top", "--json", "-n", "2", "-d", "10ms").splitlines()]
    assert [len(one["runs"]) for one in seen] == [2, 2]
    assert seen[0]["status"]["running"]
    assert address in home.ok("top")
    home.shut_down()


def test_ctrl_c_leaves_top(home: Home) -> None:
    with OnTerminal([*EUKHED, "top"], home.env | {"TERM": "xterm"}, cwd=str(home.directory)) as top:
        top.expect(b"running")
        top.type(b"\x03")
        assert top.wait() == 0
        assert top.modes() == top.before
    home.shut_down()
