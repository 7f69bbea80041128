"""What dies under a view: its daemon, its worker, both; every byte is shown once, in order."""

import subprocess

import pytest

from eukhed.paths import Places
from tests.cli.scripted import Programs, ScriptedRun
from tests.client.daemon import SESSION, Daemon


def test_a_daemon_that_comes_back_is_found_and_no_byte_is_doubled(at: Places, programs: Programs) -> None:
    with Daemon(at) as first:
        run = ScriptedRun(first)
        process = programs.start("run", "--", "x")
        first.expect("run")
        run.output(b"one ")
        assert process.stdout is not None
        assert process.stdout.read(4) == b"one "
        run.output(b"two ")
        assert process.stdout.read(4) == b"two "
        first.die()
    second = Daemon(at)
    again = ScriptedRun(second)
    again.kept["out"] = b"one two three "
    again.offsets["out"] = len(again.kept["out"])
    with second:
        body, envelope = second.expect("attach")
        assert (body["after"], envelope["session"]) == ({"out": 8, "err": 0}, SESSION)
        again.output(b"four")
        again.end()
        assert process.communicate(timeout=20) == (b"three four", b"")
        assert process.returncode == 0


def test_what_a_worker_repeats_after_its_restart_is_shown_once(at: Places, programs: Programs) -> None:
    with Daemon(at) as daemon:
        run = ScriptedRun(daemon)
        process = programs.start("run", "--", "x")
        daemon.expect("run")
        run.output(b"0123456789")
        assert process.stdout is not None
        assert process.stdout.read(10) == b"0123456789"
        assert run.peer is not None
        run.peer.event("session_lost", {"reason": "signal 9", "at": 1}, SESSION)
        body, _ = daemon.expect("attach")
        assert body["after"] == {"out": 10, "err": 0}
        run._send("out", 5, b"56789abc")
        run._send("out", 0, b"0123")
        run.offsets["out"] = 13
        run.output(b"def")
        run.end()
        assert process.communicate(timeout=20)[0] == b"abcdef"


def test_a_gap_is_told(at: Places, programs: Programs) -> None:
    with Daemon(at) as daemon:
        run = ScriptedRun(daemon)
        process = programs.start("run", "--", "x")
        daemon.expect("run")
        run.output(b"head")
        run.tell("dropped", stream="out", offset=4, bytes=1_000_000)
        run.offsets["out"] += 1_000_000
        run.output(b"tail")
        run.end()
        out, err = process.communicate(timeout=20)
        assert out == b"headtail"
        assert "1,000,000 bytes of stdout are no longer kept" in err.decode()


@pytest.mark.parametrize("reason", ["shutdown", "idle"])
def test_a_client_that_was_told_goodbye_leaves(at: Places, programs: Programs, reason: str) -> None:
    with Daemon(at) as daemon:
        run = ScriptedRun(daemon)
        process = programs.start("run", "--", "x")
        daemon.expect("run")
        assert run.peer is not None
        run.peer.send({"kind": "closing", "reason": reason})
        daemon.die()
        _, err = process.communicate(timeout=20)
        assert process.returncode == 125
        assert b"shut down" in err or b"idle" in err


def test_a_session_that_is_given_up_ends_the_view_with_what_helps(at: Places, programs: Programs) -> None:
    with Daemon(at) as daemon:
        run = ScriptedRun(daemon)
        process = programs.start("run", "--", "x")
        daemon.expect("run")
        assert run.peer is not None
        run.peer.event("session_lost", {"reason": "exit 1", "at": 1}, SESSION)
        run.peer.event("session_gave_up", {"reason": "exit 1: disk quota exceeded", "at": 1}, SESSION)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 125
        assert b"disk quota exceeded" in err
        assert b"eukhed reopen shop" in err


def test_a_run_that_was_sent_to_a_dying_daemon_is_sent_again_with_its_id(
    at: Places, programs: Programs
) -> None:
    with Daemon(at) as first:
        ScriptedRun(first)
        first.handlers["run"] = lambda _peer, _command, _body: None  # taken, and never answered
        process = programs.start("run", "--", "x", stdin=subprocess.PIPE)
        _, before = first.expect("run")
        first.die()
    second = Daemon(at)
    run = ScriptedRun(second)
    with second:
        _, after = second.expect("run")
        assert after["command_id"] == before["command_id"]
        message, _ = second.handed.get(timeout=10)
        assert message == {"command_id": before["command_id"]}
        assert second.expect("attach")[0]["run"] == 14
        run.output(b"once")
        run.end()
        assert process.communicate(timeout=20)[0] == b"once"
        assert process.returncode == 0


def test_the_end_of_a_run_is_heard_though_its_daemon_goes_with_it(at: Places, programs: Programs) -> None:
    """`shutdown --force`: the run ends, the daemon says goodbye, and our credit is written to nobody."""
    with Daemon(at) as daemon:
        run = ScriptedRun(daemon)
        process = programs.start("run", "--", "x")
        daemon.expect("run")
        assert run.peer is not None
        run.output(b"last words")
        run.end(state="stopped", signal=15, exit=None, stopped_by="shutdown")
        run.peer.send({"kind": "closing", "reason": "shutdown"})
        daemon.die()
        out, err = process.communicate(timeout=20)
        assert (out, process.returncode) == (b"last words", 143)
        assert b"signal 15 (TERM)" in err
