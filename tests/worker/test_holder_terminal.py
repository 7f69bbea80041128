"""A run with a terminal of its own."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from eukhed.worker.holding import Ended, Holder
from tests.worker.holding import adopted, alive, gated, read, run, shell, started, to_end, until

pytestmark = pytest.mark.real


def test_it_is_a_terminal_of_the_planned_size_and_the_command_controls_it(tmp_path: Path) -> None:
    script = "tty; stty size; test -t 0 -a -t 1 -a -t 2 && echo three; echo err >&2; ps -o tpgid=,pgid= -p $$ | awk '{print $1 == $2}'"
    assert to_end(shell(tmp_path, script, tty=True, rows=33, cols=101)).exit == 0
    lines = read(tmp_path / "out").split(b"\r\n")
    assert lines[0].startswith(b"/dev/pts/")
    assert lines[1:] == [b"33 101", b"three", b"err", b"1", b""]
    assert not (tmp_path / "err").exists(), "two streams are one"


def test_all_of_the_output_is_there(tmp_path: Path) -> None:
    ended = to_end(shell(tmp_path, "stty -opost; seq 1 200000", tty=True))
    assert ended.exit == 0
    assert read(tmp_path / "out") == b"".join(b"%d\n" % number for number in range(1, 200001))


def test_input_is_echoed_and_ctrl_c_is_a_signal(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await started(
            shell(tmp_path, "trap 'echo int; exit 5' INT; echo up; while :; do sleep 0.05; done", tty=True)
        )
        await until(lambda: b"up" in read(tmp_path / "out"))
        assert holder.give(b"typed")
        await until(lambda: b"typed" in read(tmp_path / "out"))  # an interrupt drops what is not yet echoed
        assert holder.give(b"\x03")
        return await holder.ended()

    assert run(main).exit == 5
    assert read(tmp_path / "out") == b"up\r\ntyped^Cint\r\n"


def test_the_end_of_input_is_the_terminals_key(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await started(shell(tmp_path, "stty -echo; echo up; cat", tty=True))
        await until(lambda: b"up" in read(tmp_path / "out"))
        assert holder.give(b"whole\nopen", eof=True)
        return await holder.ended()

    assert run(main).exit == 0
    assert read(tmp_path / "out") == b"up\r\nwhole\r\nopen"


def test_resize_and_redraw_signal_the_command(tmp_path: Path) -> None:
    script = "trap 'stty size' WINCH; echo up; while :; do sleep 0.02; done"

    async def main() -> None:
        holder = await started(shell(tmp_path, script, tty=True, rows=24, cols=80))
        await until(lambda: b"up" in read(tmp_path / "out"))
        holder.resize(40, 90)
        await until(lambda: b"40 90" in read(tmp_path / "out"))
        holder.resize(40, 90, redraw=True)
        await until(lambda: read(tmp_path / "out").count(b"40 90") >= 2)
        assert b"39 90" in read(tmp_path / "out")
        await holder.stop(signal.SIGKILL, 0)

    run(main)


def test_a_resize_before_go_is_the_size_at_the_start(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await gated(shell(tmp_path, "stty size", tty=True))
        holder.resize(50, 60)
        await holder.go()
        return await holder.ended()

    run(main)
    assert read(tmp_path / "out") == b"50 60\r\n"


def test_the_terminal_outlives_the_worker(tmp_path: Path) -> None:
    async def main() -> Ended:
        first = await started(shell(tmp_path, "read a; echo got $a; read b; echo got $b; exit 6", tty=True))
        assert first.give(b"one\n")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.ended)
            await until(lambda: b"got one" in read(tmp_path / "out"))
            tasks.cancel_scope.cancel()
        first.close()
        second = await adopted(tmp_path, first.identity)
        assert isinstance(second, Holder)
        assert second.give(b"two\n")
        return await second.ended()

    assert run(main).exit == 6
    assert b"got two" in read(tmp_path / "out")


def test_the_run_ends_with_the_command_though_a_descendant_holds_the_terminal(tmp_path: Path) -> None:
    ended = to_end(shell(tmp_path, "trap '' HUP; setsid sleep 60 & echo $!; exit 4", tty=True))
    assert ended.exit == 4
    pid = int(read(tmp_path / "out"))
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_a_flooding_descendant_does_not_hold_up_the_end(tmp_path: Path) -> None:
    script = "trap '' HUP; setsid yes & echo $! >&3; sleep 0.1; exit 4"
    ended = to_end(shell(tmp_path, f"exec 3>{tmp_path}/pid; {script}", tty=True))
    assert ended.exit == 4
    pid = int(read(tmp_path / "pid"))
    if alive(pid):
        os.kill(pid, signal.SIGKILL)


def test_a_dead_holder_hangs_up_the_terminal(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await started(shell(tmp_path, "echo up; sleep 60", tty=True))
        await until(lambda: b"up" in read(tmp_path / "out"))
        os.kill(holder.identity.pid, signal.SIGKILL)
        return await holder.ended()

    assert run(main).lost == "its holder died before it could say how the command ended"
