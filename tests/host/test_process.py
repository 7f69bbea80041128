"""Processes by identity: real children, and the fake beside them."""

import errno
import os
import signal
import subprocess
from collections.abc import Iterator

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import Permission
from eukhed.host import process
from eukhed.host.clock import SystemClock
from eukhed.host.process import SystemProcesses, parse_stat
from eukhed.host.seam import Identity, Liveness, Processes
from eukhed.timing import EXIT_POLL_MS
from tests.fakes.clock import VirtualClock, run
from tests.fakes.processes import ProcessTable

BOUND_S = 20


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "100"]) as started:
        yield started
        started.kill()


@pytest.fixture
def processes() -> SystemProcesses:
    return SystemProcesses(SystemClock())


def identity_of(processes: Processes, pid: int) -> Identity:
    found = processes.identify(pid)
    assert found is not None
    return found


@given(st.text(), st.sampled_from("RSDZTtXI"), st.integers(0, 2**63))
def test_a_name_hides_nothing(name: str, state: str, start: int) -> None:
    """Whatever a process calls itself, state and start time are those after the last parenthesis."""
    fields = " ".join([state, *(["7"] * 18), str(start), *(["0"] * 30)])
    assert parse_stat(f"12 ({name}) {fields}\n") == (state, start)


def test_own_identity(processes: SystemProcesses) -> None:
    own = processes.own()
    assert own == processes.identify(os.getpid())
    assert processes.liveness(own) is Liveness.ALIVE


def test_another_start_boot_or_namespace(
    processes: SystemProcesses, child: "subprocess.Popen[bytes]"
) -> None:
    """A recycled pid and another boot are dead; another namespace is unobservable; none of them is signalled."""
    real = identity_of(processes, child.pid)
    assert processes.liveness(real) is Liveness.ALIVE
    recycled, rebooted = real._replace(start=real.start - 1), real._replace(boot="another")
    elsewhere = real._replace(namespace=1)
    assert processes.liveness(recycled) is Liveness.DEAD
    assert processes.liveness(rebooted) is Liveness.DEAD
    assert processes.liveness(elsewhere) is Liveness.UNOBSERVABLE
    assert not any(processes.signal(one, signal.SIGKILL) for one in (recycled, rebooted, elsewhere))
    assert processes.signal(real, 0)
    assert child.poll() is None


def test_a_zombie_is_dead(processes: SystemProcesses, child: "subprocess.Popen[bytes]") -> None:
    real = identity_of(processes, child.pid)

    async def main() -> None:
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                group.start_soon(processes.gone, real)
                await checkpoint()
                assert processes.signal(real, signal.SIGKILL)

    anyio.run(main)
    os.kill(child.pid, 0)  # the zombie has the pid still
    assert processes.liveness(real) is Liveness.DEAD
    assert processes.identify(child.pid) is None
    assert not processes.signal(real, signal.SIGKILL)


def test_gone_returns_at_once_for_the_dead(processes: SystemProcesses) -> None:
    own = processes.own()

    async def main() -> None:
        with anyio.fail_after(BOUND_S):
            await processes.gone(own._replace(boot="another"))
            await processes.gone(own._replace(start=own.start + 1))
            await processes.gone(own._replace(pid=2**22 + 1))

    anyio.run(main)


def test_gone_is_cancelled_without_leaving_a_descriptor(processes: SystemProcesses) -> None:
    async def main() -> None:
        before = len(os.listdir("/proc/self/fd"))
        with anyio.move_on_after(0.01):
            await processes.gone(processes.own())
        assert len(os.listdir("/proc/self/fd")) == before

    anyio.run(main)


def test_without_pidfds_it_looks_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pidfd: nothing is signalled, and an exit is noticed at the next look."""

    def none(pid: int, flags: int = 0) -> int:
        raise OSError(errno.ENOSYS, "no pidfds")

    monkeypatch.setattr(os, "pidfd_open", none)
    with subprocess.Popen(["sleep", "100"]) as started:

        async def main() -> None:
            clock = VirtualClock()
            processes = SystemProcesses(clock)
            real = identity_of(processes, started.pid)
            assert not processes.signal(real, signal.SIGKILL)
            at_ms = clock.monotonic_ms()
            async with anyio.create_task_group() as group:
                group.start_soon(processes.gone, real)
                await clock.sleep_ms(EXIT_POLL_MS + EXIT_POLL_MS // 2)
                started.kill()
                started.wait()
            assert clock.monotonic_ms() == at_ms + 2 * EXIT_POLL_MS

        run(main)


def test_a_full_descriptor_table_is_no_death(
    processes: SystemProcesses, child: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    real = identity_of(processes, child.pid)

    def full(path: str, **_how: object) -> None:
        raise OSError(errno.EMFILE, "too many open files", path)

    monkeypatch.setattr(process, "open", full, raising=False)
    assert processes.liveness(real) is Liveness.UNOBSERVABLE
    assert not processes.signal(real, signal.SIGKILL)


def test_a_hidden_proc_is_unobservable(
    processes: SystemProcesses, child: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A /proc that does not show a pid which is taken (hidepid)."""
    real = identity_of(processes, child.pid)

    def hidden(path: str, **_how: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "no such file", path)

    monkeypatch.setattr(process, "open", hidden, raising=False)
    assert processes.liveness(real) is Liveness.UNOBSERVABLE
    assert processes.liveness(real._replace(pid=2**22 + 1)) is Liveness.DEAD


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_users_process_may_not_be_signalled(child: "subprocess.Popen[bytes]") -> None:
    real = identity_of(SystemProcesses(SystemClock()), child.pid)
    stranger = os.fork()
    if stranger == 0:
        os.setuid(65534)
        try:
            SystemProcesses(SystemClock()).signal(real, signal.SIGKILL)
        except Permission:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(stranger, 0)[1] == 0
    assert child.poll() is None


def test_the_fake_agrees_with_real_processes(processes: SystemProcesses) -> None:
    """One story told to both: started, seen, mistaken for others, signalled, waited for, dead."""
    table = ProcessTable()
    watcher, _life = table.start("watcher")

    async def story(subject: Processes, real: Identity) -> list[object]:
        told: list[object] = [subject.liveness(real), subject.identify(real.pid) == real]
        told += [subject.liveness(real._replace(start=1)), subject.liveness(real._replace(boot="other"))]
        told += [subject.liveness(real._replace(namespace=1)), subject.signal(real._replace(start=1), 15)]
        told += [subject.signal(real._replace(namespace=1), 15), subject.signal(real, 0)]
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                group.start_soon(subject.gone, real)
                await checkpoint()
                told.append(subject.signal(real, signal.SIGTERM))
            await subject.gone(real)
        return [*told, subject.liveness(real), subject.identify(real.pid), subject.signal(real, 15)]

    async def fake() -> list[object]:
        identity, _ = table.start("sleep")
        return await story(table.seen_by(watcher), identity)

    with subprocess.Popen(["sleep", "100"]) as started:
        assert run(fake) == anyio.run(story, processes, identity_of(processes, started.pid))
