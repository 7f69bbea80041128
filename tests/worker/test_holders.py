"""Real holders and real commands: how they start, what they get, how they end."""

import os
import signal
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from eukhed.errors import Broken, Invalid
from eukhed.host import system_host
from eukhed.worker import holder_program, holders
from eukhed.worker.holders import SystemHolders
from eukhed.worker.holding import Ended, Holder, NotStarted, Started
from tests.worker.holding import (
    adopted,
    alive,
    gated,
    open_descriptors,
    plan,
    read,
    run,
    shell,
    started,
    to_end,
    until,
)

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("script", "status", "number"),
    [
        ("exit 0", 0, None),
        ("exit 7", 7, None),
        ("kill -9 $$", None, 9),
        ("kill -TERM $$", None, 15),
        ("exit 143", 143, None),
    ],
)
def test_the_status_tells_exit_and_signal_apart(
    tmp_path: Path, script: str, status: int | None, number: int | None
) -> None:
    ended = to_end(shell(tmp_path, f"echo out; echo err >&2; {script}"))
    assert (ended.exit, ended.signal, ended.lost, ended.error) == (status, number, None, None)
    assert ended.sizes == {"out": 4, "err": 4}
    assert (read(tmp_path / "out"), read(tmp_path / "err")) == (b"out\n", b"err\n")
    assert sorted(os.listdir(tmp_path / "run")) == ["command", "status"], "no socket and no half-written file"
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("argv", "status", "message"),
    [
        ([b"no-such-program"], 127, "no-such-program: not found"),
        ([b"/no/such"], 127, "/no/such: No such file or directory"),
        ([b"/etc/passwd"], 126, "/etc/passwd: Permission denied"),
        ([b"/"], 126, "/: Permission denied"),
        ([b"./bad-interpreter"], 126, "./bad-interpreter: its interpreter is missing"),
        ([b"sh", b"a\0b"], 126, "sh: no valid arguments (a NUL byte, or a variable named with =)"),
        ([b""], 127, ": not found"),
        ([b"true"] + [b"x" * 100_000] * 40, 126, "true: Argument list too long"),
    ],
)
def test_a_command_that_cannot_be_executed_says_why(
    tmp_path: Path, argv: list[bytes], status: int, message: str
) -> None:
    script = tmp_path / "bad-interpreter"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)

    async def main() -> tuple[Started | NotStarted, Ended]:
        holder = await gated(plan(tmp_path, argv, cwd=os.fsencode(tmp_path)))
        return await holder.go(), await holder.ended()

    told, ended = run(main)
    assert isinstance(told, NotStarted)
    assert (told.exit, told.message) == (status, message)
    assert (ended.exit, ended.error, ended.lost) == (status, message, None)


def test_a_script_without_an_interpreter_line_is_run_by_sh(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$0 $1"')
    script.chmod(0o755)
    assert to_end(plan(tmp_path, [b"./script", b"one"], cwd=os.fsencode(tmp_path))).exit == 0
    assert read(tmp_path / "out") == b"./script one\n"


def test_a_directory_that_is_gone_is_an_error(tmp_path: Path) -> None:
    ended = to_end(shell(tmp_path, "true", cwd=b"/no/such/place"))
    assert (ended.exit, ended.error) == (126, "directory /no/such/place: No such file or directory")


def test_arguments_and_environment_are_bytes(tmp_path: Path) -> None:
    env = {b"PATH": b"/usr/bin:/bin", b"ODD": b"\xff\xfe", b"\xe9": b"a=b\nc"}
    argv = [b"sh", b"-c", b'printf "%s" "$1"', b"sh", b"\xff\n\x80"]
    assert to_end(plan(tmp_path, argv, env=env)).exit == 0
    assert read(tmp_path / "out") == b"\xff\n\x80"
    (tmp_path / "again").mkdir()
    assert to_end(plan(tmp_path / "again", [b"env", b"-0"], env=env)).exit == 0
    got = set(read(tmp_path / "again/out").split(b"\0")) - {b""}
    assert got == {b"=".join(pair) for pair in env.items()}


def test_a_command_gets_what_was_planned_and_nothing_of_ours(tmp_path: Path) -> None:
    """The same words as without a holder: directory, umask, limits, nice, signals, descriptors."""
    inherited, other = os.pipe()
    os.set_inheritable(inherited, True)  # a descriptor that the worker leaks
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    script = (
        "pwd; umask; ulimit -n; ulimit -c; nice; grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd"
    )
    try:
        wanted = shell(
            tmp_path, script, cwd=os.fsencode(tmp_path), umask=0o027, limits=[(7, 333), (4, -1)], nice=3
        )
        assert to_end(wanted).exit == 0
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})
        os.close(inherited)
        os.close(other)
    lines = read(tmp_path / "out").decode().split("\n")
    assert lines[:3] == [str(tmp_path), "0027", "333"]
    assert lines[4] == "3"
    signals = [
        int(line.split()[1], 16) & ~(0b11 << 31) for line in lines[5:7]
    ]  # 32 and 33 are the C library's
    assert signals == [0, 0]
    assert lines[7:] == ["0", "1", "2", "3", ""], "0, 1, 2, and what ls itself opened"
    assert read(tmp_path / "err") == b""


def test_a_limit_never_goes_above_the_hard_one(tmp_path: Path) -> None:
    assert to_end(shell(tmp_path, "ulimit -n; ulimit -Hn", limits=[(7, 1 << 40)])).exit == 0
    soft, hard = read(tmp_path / "out").split()
    assert soft == hard


def test_nothing_starts_before_go_and_a_closed_channel_ends_it(tmp_path: Path) -> None:
    async def main() -> None:
        holder = await gated(shell(tmp_path, "echo started"))
        await until((tmp_path / "run/s").exists)  # it is up, behind its gate
        holder.close()
        await holder._host.processes.gone(holder.identity)
        ended = await adopted(tmp_path, holder.identity)
        assert isinstance(ended, Ended)
        assert ended.lost == "its holder was gone before the command was started"

    run(main)
    assert read(tmp_path / "out") == b""
    assert not (tmp_path / "run/command").exists()


def test_the_program_needs_no_file_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another interpreter than the one that compiled it makes it from its text; ours from the compiled form."""
    monkeypatch.setitem(holder_program.PROGRAM, "python", "another")
    monkeypatch.setitem(holder_program.PROGRAM, "code", b"")
    assert to_end(shell(tmp_path, "exit 3")).exit == 3
    monkeypatch.undo()
    monkeypatch.setitem(holder_program.PROGRAM, "texts", [])
    (tmp_path / "again").mkdir()
    assert to_end(shell(tmp_path / "again", "exit 4")).exit == 4


def test_a_missing_interpreter_is_a_typed_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "INTERPRETER", "/no/such/python")
    before = open_descriptors()

    async def main() -> None:
        with pytest.raises(Broken, match="/no/such/python"):
            await SystemHolders(system_host()).spawn(shell(tmp_path, "true"))

    run(main)
    assert open_descriptors() == before


def test_a_handed_stdin_is_one_descriptor(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(Invalid):
            await SystemHolders(system_host()).spawn(shell(tmp_path, "true", stdin="handed"))

    run(main)


def test_handed_stdin_is_read_to_its_end(tmp_path: Path) -> None:
    with open(tmp_path / "given", "wb") as file:
        file.truncate(1 << 30)  # a GiB that costs no disk
    with open(tmp_path / "given", "rb") as file:
        assert to_end(shell(tmp_path, "wc -c", stdin="handed"), [file.fileno()]).exit == 0
    assert read(tmp_path / "out").strip() == b"%d" % (1 << 30)


def test_a_handed_pipe_is_not_kept_by_the_holder(tmp_path: Path) -> None:
    """The writer of a pipe gets EPIPE when the command has closed it: nobody else holds the reading end."""
    out, into = os.pipe()

    async def main() -> None:
        holder = await started(shell(tmp_path, "exec <&-; echo closed; sleep 60", stdin="handed"), [out])
        os.close(out)
        await until(lambda: read(tmp_path / "out") == b"closed\n")
        await until(lambda: not readable_by_anyone(into))
        await holder.stop(signal.SIGKILL, 0)
        holder.close()

    run(main)
    os.close(into)


def readable_by_anyone(pipe: int) -> bool:
    try:
        return os.write(pipe, b"x") == 1
    except BrokenPipeError:
        return False


def test_without_stdin_the_command_reads_its_end(tmp_path: Path) -> None:
    assert to_end(shell(tmp_path, "cat; echo end")).exit == 0
    assert read(tmp_path / "out") == b"end\n"


def test_typed_input_in_order_then_its_end(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await started(shell(tmp_path, "cat", stdin="typed"))
        for number in range(100):
            assert holder.give(b"%d\n" % number * 1000, eof=number == 99)
        assert not holder.give(b"after the end")
        return await holder.ended()

    assert run(main).exit == 0
    assert read(tmp_path / "out") == b"".join(b"%d\n" % number * 1000 for number in range(100))


def test_what_is_typed_before_the_command_runs_is_its_input(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await gated(shell(tmp_path, "cat", stdin="typed"))
        assert holder.give(b"early\n", eof=True)
        assert isinstance(await holder.go(), Started)
        return await holder.ended()

    assert run(main).exit == 0
    assert read(tmp_path / "out") == b"early\n"


def test_input_that_nobody_reads_is_bounded_then_goes_on(tmp_path: Path) -> None:
    async def main() -> tuple[int, Ended]:
        holder = await started(
            shell(tmp_path, "read line < fifo; wc -c", stdin="typed", cwd=os.fsencode(tmp_path))
        )
        taken = 0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(holder.ended)
            while holder.give(b"x" * 10_000):
                taken += 10_000
                await anyio.lowlevel.checkpoint()
            assert taken <= 2 << 20
            (tmp_path / "fifo").write_text("go\n")  # now it reads
            await until(lambda: holder.give(b"", eof=True))
        return taken, await holder.ended()

    os.mkfifo(tmp_path / "fifo")
    taken, ended = run(main)
    assert ended.exit == 0
    assert read(tmp_path / "out").strip() == b"%d" % taken


def test_a_command_that_closes_its_input_is_not_waited_for(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await started(shell(tmp_path, "exec <&-; echo closed; sleep 0.3; exit 5", stdin="typed"))
        await until(lambda: read(tmp_path / "out") == b"closed\n")
        for _ in range(50):
            holder.give(b"x" * 10_000)
            await anyio.lowlevel.checkpoint()
        return await holder.ended()

    assert run(main).exit == 5


def test_a_grandchild_that_holds_the_output_does_not_hold_up_the_end(tmp_path: Path) -> None:
    ended = to_end(shell(tmp_path, "sleep 60 & echo $!; exit 6"))
    assert ended.exit == 6
    pid = int(read(tmp_path / "out"))
    assert alive(pid), "only a stop ends descendants"
    os.kill(pid, signal.SIGKILL)


def test_stop_ends_every_descendant(tmp_path: Path) -> None:
    """A group of its own, a session of its own, an orphan, one that ignores TERM, one that is stopped."""
    script = """
        trap '' TERM
        setsid sh -c 'echo $$; sleep 60' &
        (setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &)
        sh -c 'echo $$; kill -STOP $$; sleep 60' &
        echo $$
        while :; do sleep 1; done
    """

    async def main() -> tuple[list[int], Ended]:
        holder = await started(shell(tmp_path, script))
        await until(lambda: len(read(tmp_path / "out").split()) == 4)
        pids = [int(word) for word in read(tmp_path / "out").split()]
        assert all(alive(pid) for pid in pids)
        assert await holder.stop(signal.SIGTERM, 300) == 0
        assert not any(alive(pid) for pid in pids), "when stop returns, none is left"
        ended = await holder.ended()
        await holder._host.processes.gone(holder.identity)
        return pids, ended

    _, ended = run(main)
    assert ended.signal == signal.SIGKILL


def test_stop_by_term_is_enough_for_a_command_that_obeys(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await started(
            shell(tmp_path, "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.05; done")
        )
        await until(lambda: read(tmp_path / "out") == b"up\n")
        await holder.stop(signal.SIGTERM, 60_000)
        return await holder.ended()

    assert run(main).exit == 9
    assert read(tmp_path / "out") == b"up\nbye\n"


def test_a_stop_goes_on_when_the_worker_lets_go(tmp_path: Path) -> None:
    """The command ends at once, a descendant does not; the run is told as ended, and stop still waits for all."""
    script = "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & sleep 60"

    async def main() -> Ended:
        holder = await started(shell(tmp_path, script))
        await until(lambda: read(tmp_path / "out").endswith(b"\n"))
        pid = int(read(tmp_path / "out"))
        async with anyio.create_task_group() as tasks:

            async def stop() -> None:
                await holder.stop(signal.SIGTERM, 300)
                assert not alive(pid)

            tasks.start_soon(stop)
            ended = await holder.ended()
            assert alive(pid)
            holder.close()
        return ended

    assert run(main).signal == signal.SIGTERM


def test_a_holder_that_was_stopped_itself_still_stops(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await started(shell(tmp_path, "sleep 60"))
        os.kill(holder.identity.pid, signal.SIGSTOP)
        await holder.stop(signal.SIGTERM, 60_000)
        return await holder.ended()

    assert run(main).signal == signal.SIGTERM


def test_signals_to_the_holder_do_not_end_the_run(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await started(shell(tmp_path, "echo up; read line; exit 8", stdin="typed"))
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGPIPE):
            os.kill(holder.identity.pid, number)
        holder.give(b"line\n")
        return await holder.ended()

    assert run(main).exit == 8


def test_without_survive_the_command_ends_with_its_worker(tmp_path: Path) -> None:
    async def main() -> None:
        holder = await started(
            shell(tmp_path, "setsid sleep 60 & echo $!; sleep 60", survive=False, grace_ms=100)
        )
        await until(lambda: read(tmp_path / "out").endswith(b"\n"))
        holder.close()
        await holder._host.processes.gone(holder.identity)

    run(main)
    assert not alive(int(read(tmp_path / "out")))
    assert b'"signal": 15' in read(tmp_path / "run/status")


def test_a_path_longer_than_a_sockets_address(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)

    async def main() -> Ended:
        holder = await started(shell(deep, "read line; exit 4", stdin="typed"))
        found = await adopted(deep, holder.identity)
        assert isinstance(found, Holder)
        assert found.give(b"line\n")
        return await found.ended()

    assert run(main).exit == 4


def alive_or_zombie(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def test_nothing_is_left_in_the_worker(tmp_path: Path) -> None:
    """After many runs: no descriptor, no child."""

    async def main() -> set[str]:
        all_of = SystemHolders(system_host())
        before = open_descriptors()
        for number in range(10):
            wanted = shell(tmp_path, f"exit {number}")._replace(directory=f"{tmp_path}/run-{number}")
            holder = await all_of.spawn(wanted)
            await holder.go()
            assert (await holder.ended()).exit == number
            await holder._host.processes.gone(holder.identity)
            holder.close()
            assert not alive_or_zombie(holder.identity.pid), "it was buried"
        return open_descriptors() - before

    assert run(main) == set()


def test_a_holder_that_cannot_work_says_why(tmp_path: Path) -> None:
    """The storage is gone between the submission and the start."""

    async def main() -> tuple[Started | NotStarted, Ended]:
        holder = await gated(shell(tmp_path, "true", out=f"{tmp_path}/no/such/out"))
        return await holder.go(), await holder.ended()

    told, ended = run(main)
    assert isinstance(told, NotStarted)
    assert told.exit == 125
    assert "No such file or directory" in told.message
    assert ended.lost
    assert "FileNotFoundError" in ended.lost


def test_a_closed_input_does_not_keep_the_holder_busy(tmp_path: Path) -> None:
    async def main() -> float:
        holder = await started(shell(tmp_path, "exec <&-; echo closed; sleep 0.5", stdin="typed"))
        await until(lambda: read(tmp_path / "out") == b"closed\n")
        await anyio.sleep(0.4)
        stat = read(f"/proc/{holder.identity.pid}/stat")
        ticks = sum(int(field) for field in stat.rpartition(b")")[2].split()[11:13])
        await holder.ended()
        return ticks / os.sysconf("SC_CLK_TCK")

    assert run(main) < 0.2
