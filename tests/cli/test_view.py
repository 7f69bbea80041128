"""Runs on real terminals and without one, against a scripted daemon: keys, signals, sizes, losses, ends."""

import os
import signal
import subprocess
from typing import Any

import pytest

from eukhed.paths import Places
from tests.cli.scripted import OnTerminal, Programs, ScriptedRun, environment, eukhed
from tests.client.daemon import SESSION, Daemon

KEY = b"\x1c"  # Ctrl-\


@pytest.fixture
def run(daemon: Daemon) -> ScriptedRun:
    return ScriptedRun(daemon)


def on_terminal(at: Places, *words: str, **more: Any) -> OnTerminal:
    return OnTerminal(eukhed(*words), environment(at), **more)


# with a terminal of its own


def test_a_run_gets_our_terminal_raw_and_gives_it_back(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "--", "make", "test", size=(30, 100)) as terminal:
        body, envelope = run.daemon.expect("run")
        assert (body["tty"], body["rows"], body["cols"], body["stdin"]) == (True, 30, 100, "typed")
        assert body["argv"] == [b"make", b"test"]
        assert (envelope["session"], envelope["command_id"][14]) == (SESSION, "7")
        terminal.expect(b"eukhed: run shop/14 \xc2\xb7 Ctrl-\\ detaches\r\n")
        terminal.expect_raw()
        run.output(b"one\r\n\x1b[31mtwo\x1b[0m\r\n")
        terminal.expect(b"\x1b[31mtwo\x1b[0m\r\n")
        terminal.type(b"\x03y\r")
        assert run.daemon.expect("input")[0] == {"run": 14, "data": b"\x03y\r", "eof": False}
        run.end(exit=3, state="failed")
        assert terminal.wait() == 3
        assert terminal.modes() == terminal.before


def test_credit_is_returned_for_every_byte(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "--", "x") as terminal:
        run.daemon.expect("run")
        terminal.expect_raw()
        total = 0
        run.output(b"x" * 300_000)
        while total < 300_000:
            terminal._read(0.05)
            if not run.daemon.seen.empty():
                total += run.daemon.expect("credit")[0]["bytes"]
        assert total == 300_000
        run.end()
        assert terminal.wait() == 0


def test_the_detach_key_once_leaves_and_the_run_goes_on(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "--", "x") as terminal:
        run.daemon.expect("run")
        terminal.expect_raw()
        terminal.type(KEY)
        terminal.expect(b"detached: shop/14 goes on")
        assert terminal.wait() == 0
        assert terminal.modes() == terminal.before
    assert run.stop_asked is None


def test_the_detach_key_twice_sends_one(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "--", "x") as terminal:
        run.daemon.expect("run")
        terminal.expect_raw()
        terminal.type(KEY + KEY + b"a")
        assert run.daemon.expect("input")[0]["data"] == KEY + b"a"
        run.end()
        assert terminal.wait() == 0


def test_a_new_size_is_passed_on(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "--", "x") as terminal:
        run.daemon.expect("run")
        terminal.expect_raw()
        terminal.resize(50, 132)
        assert run.daemon.expect("resize")[0] == {"run": 14, "rows": 50, "cols": 132}
        run.end()
        assert terminal.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_signals_leave_the_terminal_as_it_was(run: ScriptedRun, at: Places, number: signal.Signals) -> None:
    with on_terminal(at, "run", "--on-signal=detach", "--", "x") as terminal:
        run.daemon.expect("run")
        terminal.expect_raw()
        run.output(b"\x1b[?1049h\x1b[?25l\x1b[?2004h")
        terminal.expect(b"\x1b[?2004h")
        terminal.process.send_signal(number)
        assert terminal.wait() == 0
        assert terminal.modes() == terminal.before
        seen = terminal.seen
        assert all(undone in seen for undone in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l"))


def test_a_bug_in_a_view_leaves_the_terminal_as_it_was(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "--", "x") as terminal:
        run.daemon.expect("run")
        terminal.expect_raw()
        assert run.peer is not None
        run.peer.event("output", {"attachment": 1, "stream": "out"}, SESSION)  # no offset: not of its form
        terminal.expect(b"cli.log")
        assert terminal.wait() == 125
        assert terminal.modes() == terminal.before
        assert b"Traceback" not in terminal.seen
    with open(f"{at.logs}/cli.log") as log:
        assert "KeyError" in log.read()


def test_a_terminal_that_hangs_up_detaches(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "--", "x") as terminal:
        run.daemon.expect("run")
        terminal.expect_raw()
        terminal.hang_up()
        assert terminal.process.wait(10) == 0
    assert run.stop_asked is None
    asked = [run.daemon.seen.get_nowait()[0] for _ in range(run.daemon.seen.qsize())]
    assert "input" not in asked, "nobody typed an end of the input"


def test_a_stop_from_outside_and_back_takes_the_terminal_again(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "--", "x") as terminal:
        run.daemon.expect("run")
        terminal.expect_raw()
        terminal.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
        subprocess.run(["stty", "sane"], stdin=terminal.slave, check=True)
        assert not terminal.is_raw
        terminal.process.send_signal(signal.SIGCONT)
        terminal.expect_raw()
        assert run.daemon.expect("resize")[0]["run"] == 14
        run.end()
        assert terminal.wait() == 0


# with a person, without a terminal of its own


def asked(run: ScriptedRun, terminal: OnTerminal) -> None:
    run.daemon.expect("run")
    run.output(b"working\n")
    terminal.expect(b"working")
    terminal.type(b"\x03")
    terminal.expect(b"shop/14 is running (make test, ")
    terminal.expect(b"[d]etach   [s]top   [c]ontinue     Ctrl-C again stops")


@pytest.mark.parametrize("key", [b"d", b"\r"])
def test_ctrl_c_asks_and_detaches(run: ScriptedRun, at: Places, key: bytes) -> None:
    with on_terminal(at, "run", "-T", "--", "make", "test") as terminal:
        asked(run, terminal)
        terminal.type(key)
        terminal.expect(
            b"detached: shop/14 goes on      back: eukhed attach shop/14      wait: eukhed wait shop/14"
        )
        assert terminal.wait() == 0
        assert terminal.modes() == terminal.before
    assert run.stop_asked is None


@pytest.mark.parametrize("key", [b"s", b"\x03"])
def test_ctrl_c_asks_and_stops(run: ScriptedRun, at: Places, key: bytes) -> None:
    with on_terminal(at, "run", "-T", "--", "make", "test") as terminal:
        asked(run, terminal)
        terminal.type(key)
        body, _ = run.daemon.expect("stop_run")
        assert body["run"] == 14
        assert body["actor"].startswith("you on pts/")
        run.end(state="stopped", signal=15, exit=None, stopped_by=body["actor"])
        assert terminal.wait() == 143
        assert terminal.modes() == terminal.before
        assert b"signal 15 (TERM)" in terminal.seen


def test_output_waits_while_the_question_is_open(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "-T", "--", "make", "test") as terminal:
        asked(run, terminal)
        run.output(b"more\n")
        terminal.type(b"c")
        before = terminal.expect(b"more")
        assert before.index(b"\n") < before.index(b"more")
        run.end()
        assert terminal.wait() == 0


def test_typed_lines_and_their_end_go_to_the_run(run: ScriptedRun, at: Places) -> None:
    with on_terminal(at, "run", "-T", "--", "cat") as terminal:
        assert run.daemon.expect("run")[0]["stdin"] == "typed"
        run.output(b"ready\n")
        terminal.expect(b"ready")
        terminal.type(b"hello\r")
        assert run.daemon.expect("input")[0] == {"run": 14, "data": b"hello\n", "eof": False}
        terminal.type(b"\x04")
        assert run.daemon.expect("input")[0] == {"run": 14, "data": b"", "eof": True}
        run.end()
        assert terminal.wait() == 0


# without any terminal


def test_the_two_streams_stay_two_and_stdin_is_handed_over(run: ScriptedRun, programs: Programs) -> None:
    read, write = os.pipe()
    process = programs.start("run", "--", "x", stdin=read)
    os.close(read)
    body, _ = run.daemon.expect("run")
    assert (body["tty"], body["stdin"]) == (False, "handed")
    message, descriptors = run.daemon.handed.get(timeout=10)
    assert list(message) == ["command_id"]
    os.write(write, b"through the pipe")
    assert os.read(descriptors[0], 100) == b"through the pipe"
    run.output(b"out")
    run.output(b"err", "err")
    run.output(b"put")
    run.end(exit=9, state="failed")
    assert process.communicate(timeout=20) == (b"output", b"err")
    assert process.returncode == 9
    os.close(write)
    os.close(descriptors[0])


def test_a_closed_stdin_is_none(run: ScriptedRun, programs: Programs) -> None:
    process = programs.start("run", "--", "x", stdin=None, preexec_fn=lambda: os.close(0))
    assert run.daemon.expect("run")[0]["stdin"] == "none"
    run.end()
    process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_without_a_terminal_stops_the_run(
    run: ScriptedRun, programs: Programs, number: signal.Signals
) -> None:
    process = programs.start("run", "--", "x")
    run.daemon.expect("run")
    run.output(b"begun")
    assert process.stdout is not None
    assert process.stdout.read(5) == b"begun"
    process.send_signal(number)
    body, _ = run.daemon.expect("stop_run")
    assert body["actor"] == f"you, process {process.pid}"
    process.send_signal(number)  # again: at once
    body, _ = run.daemon.expect("stop_run")
    assert (body["signal"], body["grace_ms"]) == (9, 0)
    run.end(state="stopped", signal=9, exit=None)
    out, err = process.communicate(timeout=20)
    assert (out, process.returncode) == (b"", 137)
    assert b"signal 9 (KILL)" in err


def test_a_hangup_without_a_terminal_detaches(run: ScriptedRun, programs: Programs) -> None:
    process = programs.start("run", "--", "x")
    run.daemon.expect("run")
    run.output(b"begun")
    assert process.stdout is not None
    process.stdout.read(5)
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert b"detached: shop/14 goes on" in err


def test_nohup_is_kept(run: ScriptedRun, programs: Programs) -> None:
    process = programs.start(
        "run", "--", "x", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    run.daemon.expect("run")
    run.output(b"begun")
    assert process.stdout is not None
    process.stdout.read(5)
    process.send_signal(signal.SIGHUP)
    run.output(b" and done")
    run.end()
    assert process.communicate(timeout=20)[0] == b" and done"
    assert process.returncode == 0


def test_a_stdout_that_nobody_reads_stops_the_run(run: ScriptedRun, programs: Programs) -> None:
    process = programs.start("run", "--", "yes")
    run.daemon.expect("run")
    assert process.stdout is not None
    process.stdout.close()
    run.output(b"y\n")
    run.daemon.expect("stop_run")
    run.output(b"y\n" * 1000)  # what still comes is dropped, and its credit returned
    run.end(state="stopped", signal=15, exit=None)
    assert process.wait(20) == 143


def test_a_stdout_that_nobody_reads_detaches_when_told_so(run: ScriptedRun, programs: Programs) -> None:
    process = programs.start("run", "--on-signal", "detach", "--", "yes")
    run.daemon.expect("run")
    assert process.stdout is not None
    process.stdout.close()
    run.output(b"y\n")
    assert process.wait(20) == 0
    assert run.stop_asked is None


def test_a_pager_that_does_not_read_holds_up_nothing_but_output(run: ScriptedRun, programs: Programs) -> None:
    process = programs.start("run", "--", "yes")
    run.daemon.expect("run")
    for _ in range(8):
        run.output(b"y\n" * 32 * 1024)
    process.send_signal(signal.SIGTERM)  # the view is alive, with a full pipe before it
    run.daemon.expect("stop_run")
    run.end(state="stopped", signal=15, exit=None)
    out, _ = process.communicate(timeout=20)
    assert (len(out), process.returncode) == (8 * 64 * 1024, 143)


# ends


@pytest.mark.parametrize(
    ("how", "status", "told"),
    [
        ({"state": "done", "exit": 0}, 0, b""),
        ({"state": "failed", "exit": 200}, 200, b""),
        ({"state": "failed", "exit": 127, "error": "no such program: mkae"}, 127, b"no such program: mkae"),
        ({"state": "failed", "signal": 11}, 139, b"signal 11 (SEGV)"),
        ({"state": "stopped", "signal": 15, "stopped_by": "timeout"}, 124, b"its time was over"),
        ({"state": "lost", "error": "its holder died"}, 125, b"its holder died"),
        ({"state": "interrupted"}, 125, b"is interrupted"),
    ],
)
def test_the_exit_status_is_the_run_s(
    run: ScriptedRun, programs: Programs, how: dict[str, Any], status: int, told: bytes
) -> None:
    process = programs.start("run", "--", "x")
    run.daemon.expect("run")
    run.tell("ended", run=14, **how)
    _, err = process.communicate(timeout=20)
    assert process.returncode == status
    assert told in err
    assert bool(err) == bool(told)
