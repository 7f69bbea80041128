"""Processes by identity, signalled and watched through pidfds (seam.Processes).

A pid alone names nothing: it is reused, it stays for as long as a zombie stays, and in another pid
namespace it is another process. So the pidfd is opened first, then the identity is read, and only a
pidfd whose process was the right one after it was opened is waited for or signalled.
"""

import os
import signal
from typing import Final, NamedTuple

import anyio

from eukhed.errors import Permission
from eukhed.host.seam import Clock, Identity, Liveness
from eukhed.timing import EXIT_POLL_MS

_DEAD_STATES: Final = frozenset("ZXx")


class _Seen(NamedTuple):
    """What /proc/<pid>/stat says."""

    state: str
    start: int


def parse_stat(text: str) -> tuple[str, int]:
    """State and start time of a /proc/<pid>/stat; the name in it may hold spaces and parentheses."""
    fields = text[text.rindex(")") + 2 :].split()
    return fields[0], int(fields[19])  # fields 3 and 22, counted from 1


class SystemProcesses:
    """The processes of this machine, as far as /proc and the pid namespace show them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            self._boot = file.read().strip()

    def own(self) -> Identity:
        seen = self._look(os.getpid())
        assert seen is not None, "/proc does not show this process"
        return Identity(os.getpid(), seen.start, self._boot, _namespace())

    def identify(self, pid: int) -> Identity | None:
        """The identity under which this process is known here: its namespace is the one that `pid` counts in.

        OSError when /proc does not let us look.
        """
        seen = self._look(pid)
        if seen is None or seen.state in _DEAD_STATES:
            return None
        return Identity(pid, seen.start, self._boot, _namespace())

    def liveness(self, identity: Identity) -> Liveness:
        if identity.boot != self._boot:
            return Liveness.DEAD
        if identity.namespace != _namespace():
            return Liveness.UNOBSERVABLE
        try:
            seen = self._look(identity.pid)
        except OSError:
            return Liveness.UNOBSERVABLE  # no descriptor left, or no right to look: it may well live
        if seen is None:
            return Liveness.UNOBSERVABLE if _exists(identity.pid) else Liveness.DEAD
        if seen.start != identity.start or seen.state in _DEAD_STATES:
            return Liveness.DEAD
        return Liveness.ALIVE

    def signal(self, identity: Identity, number: int) -> bool:
        """Signal exactly this process. Permission when the system does not let us; without pidfds never."""
        descriptor = _open_pidfd(identity.pid)
        if descriptor is None:
            return False
        try:
            if self.liveness(identity) is not Liveness.ALIVE:
                return False
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
        except PermissionError as error:
            raise Permission(f"process {identity.pid} may not be signalled", pid=identity.pid) from error
        finally:
            os.close(descriptor)
        return True

    async def gone(self, identity: Identity) -> None:
        """Wait on a pidfd; a process without one that we can open, or not to be told apart, is looked at in turns."""
        while True:
            descriptor = _open_pidfd(identity.pid)
            try:
                found = self.liveness(identity)
                if found is Liveness.DEAD:
                    return
                if found is Liveness.ALIVE and descriptor is not None:
                    await anyio.wait_readable(descriptor)
                    return
            finally:
                if descriptor is not None:
                    os.close(descriptor)
            await self._clock.sleep_ms(EXIT_POLL_MS)

    def _look(self, pid: int) -> _Seen | None:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                return _Seen(*parse_stat(file.read()))
        except (FileNotFoundError, ProcessLookupError):
            return None


def _namespace() -> int:
    """The pid namespace that our pids count in."""
    return os.stat("/proc/self/ns/pid").st_ino


def _exists(pid: int) -> bool:
    """Whether a pid that /proc does not show us is taken all the same."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _open_pidfd(pid: int) -> int | None:
    """None when there is no such process, no descriptor left, or this kernel has no pidfds."""
    if pid <= 0:
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
