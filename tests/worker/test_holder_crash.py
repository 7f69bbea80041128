"""Whoever is killed, and when: a command has started once or never, and the next worker learns how it ended."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from eukhed.host import system_host
from eukhed.host.seam import Identity
from eukhed.worker.holding import Ended, Holder
from tests.worker.holding import adopted, alive, gated, read, run, shell, started, until

pytestmark = pytest.mark.real

# A worker, as small as it can be: it says the holder's identity once it is "durable", then goes.
WORKER = """
import json, sys, anyio
from eukhed.host import system_host
from eukhed.worker.holders import SystemHolders
from tests.worker.holding import shell

async def main():
    wanted = shell(__import__("pathlib").Path(sys.argv[1]), sys.argv[2], stdin="typed")
    holder = await SystemHolders(system_host()).spawn(wanted)
    print(json.dumps(holder.identity), flush=True)
    await holder.go()
    print("went", flush=True)
    await holder.ended()

anyio.run(main)
"""


def worker(directory: Path, script: str, *wrapper: str) -> "subprocess.Popen[bytes]":
    argv = [*wrapper, sys.executable, "-c", WORKER, str(directory), script]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def identity(line: bytes) -> Identity:
    return Identity(*json.loads(line))


async def final(directory: Path, holder: Identity) -> Ended:
    """What the next worker learns in the end."""
    found = await adopted(directory, holder)
    return await found.ended() if isinstance(found, Holder) else found


def test_a_killed_worker_does_not_end_the_command_and_the_next_one_drives_it(tmp_path: Path) -> None:
    first = worker(tmp_path, "echo up; read line; echo $line; exit 7")
    assert first.stdout
    holder = identity(first.stdout.readline())
    assert first.stdout.readline() == b"went\n"
    first.kill()
    first.wait()
    first.stdout.close()

    async def main() -> Ended:
        found = await adopted(tmp_path, holder)
        assert isinstance(found, Holder)
        assert found.give(b"hello\n")
        return await found.ended()

    assert run(main).exit == 7
    assert read(tmp_path / "out") == b"up\nhello\n"


def test_an_end_that_no_worker_saw_is_known(tmp_path: Path) -> None:
    first = worker(tmp_path, "exit 9")
    assert first.stdout
    holder = identity(first.stdout.readline())
    first.stdout.readline()
    first.kill()
    first.wait()
    first.stdout.close()

    async def main() -> Ended:
        await system_host().processes.gone(holder)
        found = await adopted(tmp_path, holder)
        assert isinstance(found, Ended)
        return found

    assert run(main).exit == 9


@pytest.mark.parametrize("call", ["posix_spawn", "send", "between"])
def test_a_worker_killed_around_go_starts_the_command_once_or_never(tmp_path: Path, call: str) -> None:
    """Killed before its go was sent: never. The status says so, or how the command ended."""
    script = "echo started; exit 3"
    first = worker(tmp_path, script)
    assert first.stdout
    holder = identity(first.stdout.readline())
    if call == "send":
        first.stdout.readline()
    first.kill()
    first.wait()
    first.stdout.close()
    ended = run(lambda: final(tmp_path, holder))
    _once_or_never(tmp_path, ended)


def _once_or_never(directory: Path, ended: Ended) -> bool:
    out = read(directory / "out") if (directory / "out").exists() else b""
    if ended.lost is not None:
        assert out == b""
        return False
    assert (ended.exit, out) == (3, b"started\n")
    return True


def window(directory: Path) -> list[tuple[str, int]]:
    """The system calls of a worker from its spawn to its go: each as a name and its how-manieth of that name."""
    directory.mkdir()
    log = directory / "calls"
    with worker(directory, "true", "strace", "-qq", "-o", str(log)) as first:
        assert first.stdout
        first.stdout.read()
    assert first.returncode == 0
    lines = log.read_text(errors="replace").splitlines()
    begin = next(at for at, line in enumerate(lines) if "SOCK_SEQPACKET" in line)
    end = next(at for at, line in enumerate(lines) if line.startswith("sendto(") and '"g"' in line)
    counts: Counter[str] = Counter()
    found = []
    for at, line in enumerate(lines[: end + 2]):
        name = line.partition("(")[0]
        counts[name] += 1
        if at >= begin and name.isidentifier():
            found.append((name, counts[name]))
    return found


def killed_at(directory: Path, name: str, count: int) -> bool | None:
    """Whether the command started, of a worker that is killed at this call; None when no identity was told."""
    directory.mkdir()
    inject = f"--inject={name}:signal=KILL:when={count}"
    with worker(directory, "echo started; exit 3", "strace", "-qq", "-o", "/dev/null", inject) as first:
        assert first.stdout
        told = first.stdout.readline()
    if told:
        holder = identity(told)
        return _once_or_never(directory, run(lambda: final(directory, holder)))
    out = directory / "out"
    assert not out.exists() or read(out) == b"", "an identity that was never recorded: never started"
    return None


@pytest.mark.skipif(not os.path.exists("/usr/bin/strace"), reason="strace kills at a system call")
@pytest.mark.parametrize(
    "calls_max",
    [
        pytest.param(8, id="some"),
        pytest.param(1000, id="every", marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
)
def test_a_worker_killed_at_a_system_call_between_spawn_and_go(tmp_path: Path, calls_max: int) -> None:
    """0 or 1 starts, and how it ended is known: at every call of the window, or at some spread over it."""
    calls = window(tmp_path / "window")
    chosen = calls if len(calls) <= calls_max else calls[:: len(calls) // calls_max]
    outcomes = Counter(killed_at(tmp_path / f"{number}", *call) for number, call in enumerate(chosen))
    assert outcomes[None] + outcomes[False] > 0, "some were killed before go"


@pytest.mark.parametrize("delay_ms", [0, 1, 3, 6, 10, 15, 20, 30, 50])
def test_a_holder_killed_at_any_moment(tmp_path: Path, delay_ms: int) -> None:
    """Started once and named, or never; and the run ends as what is known of it."""

    async def main() -> tuple[Ended, bool]:
        holder = await gated(shell(tmp_path, "echo started; sleep 0.2; echo over"))
        holder._send(b"g")
        await anyio.sleep(delay_ms / 1000)
        os.kill(holder.identity.pid, signal.SIGKILL)
        ended = await holder.ended()
        return ended, (tmp_path / "run/command").exists()

    ended, named = run(main)
    out = read(tmp_path / "out") if (tmp_path / "out").exists() else b""
    if ended.lost is None:
        assert (ended.exit, out) == (0, b"started\nover\n")
    elif named:
        assert out in {b"", b"started\nover\n"}, (
            "a command that began goes on to its end before the run is lost"
        )
    else:
        assert out == b""
        assert ended.lost == "its holder was gone before the command was started"


def test_a_command_that_outlives_its_holder_runs_on_and_can_be_stopped(tmp_path: Path) -> None:
    async def main() -> tuple[Ended, int]:
        holder = await started(shell(tmp_path, "echo $$; exec sleep 60"))
        await until(lambda: read(tmp_path / "out").endswith(b"\n"))
        pid = int(read(tmp_path / "out"))
        command = system_host().processes.identify(pid)
        os.kill(holder.identity.pid, signal.SIGKILL)
        await system_host().processes.gone(holder.identity)
        found = await adopted(tmp_path, holder.identity, command)
        assert isinstance(found, Holder), "not over while the command lives"
        assert not found.give(b"input")
        assert alive(pid)
        await found.stop(signal.SIGTERM, 1000)
        return await found.ended(), pid

    ended, pid = run(main)
    assert not alive(pid)
    assert ended.lost == "its holder died before it could say how the command ended"


def test_a_recycled_pid_is_not_signalled(tmp_path: Path) -> None:
    """The record names a pid that another process has by now: lost at once, and that process lives on."""

    async def main() -> Ended:
        holder = await started(shell(tmp_path, "exec sleep 60"))
        os.kill(holder.identity.pid, signal.SIGKILL)
        await system_host().processes.gone(holder.identity)
        facts = json.loads(read(tmp_path / "run/command"))
        os.kill(facts["pid"], signal.SIGKILL)
        await until(lambda: not alive(facts["pid"]))
        innocent = system_host().processes.own()
        (tmp_path / "run/command").write_text(json.dumps(facts | {"pid": innocent.pid}))
        found = await adopted(tmp_path, holder.identity)
        assert isinstance(found, Ended)
        return found

    assert run(main).lost is not None


def test_after_a_reboot_a_run_is_interrupted(tmp_path: Path) -> None:
    async def main() -> Ended:
        holder = await started(shell(tmp_path, "echo $$; sleep 60"))
        found = await adopted(tmp_path, holder.identity._replace(boot="another"))
        await holder.stop(signal.SIGKILL, 0)
        os.unlink(tmp_path / "run/status") if (tmp_path / "run/status").exists() else None
        assert isinstance(found, Ended)
        return found

    ended = run(main)
    assert ended.interrupted


def test_two_workers_at_once_the_newest_drives_both_hear(tmp_path: Path) -> None:
    async def main() -> tuple[Ended, Ended]:
        old = await started(shell(tmp_path, "read line; echo $line", stdin="typed"))
        new = await adopted(tmp_path, old.identity)
        assert isinstance(new, Holder)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(new.ended)
            await new._until(lambda: new._started is not None)  # it was accepted
            old.give(b"old\n")
            new.give(b"new\n")
        return await old.ended(), await new.ended()

    assert [ended.exit for ended in run(main)] == [0, 0]
    assert read(tmp_path / "out") == b"new\n"
