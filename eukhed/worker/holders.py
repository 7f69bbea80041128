"""The real holders: processes that are spawned behind a gate, spoken to by packets, and found again.

This file touches processes and sockets by itself, as host/ does: the simulated world replaces it whole.
The packets are those of holder/peers.py.
"""

import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio

from eukhed.errors import Broken, Invalid
from eukhed.host.files import ensure_private_directory
from eukhed.host.seam import Host, Identity, Liveness
from eukhed.worker.holder_program import START, packed
from eukhed.worker.holding import Ended, Holder, HolderPlan, Holders, NotStarted, Started, Stdin
from eukhed.worker.output import Gap
from eukhed.worker.remains import Remains, as_ended
from eukhed.worker.segments import Stream
from eukhed.worker.survivor_law import Verdict

PACKET: Final = 64 << 10
REACH_PAUSE_MS: Final = 20
INPUT_PIECE: Final = 32 << 10
INPUT_WINDOW: Final = 64 << 10  # bytes at the holder that the command has not read
INPUT_HELD: Final = 1 << 20  # and here, before more is refused
INTERPRETER: Final[str] = getattr(sys, "_base_executable", sys.executable)  # outlives the removal of a venv


class SystemHolders:
    """Makes holders as processes of this machine (holding.Holders)."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._children = _Children()

    async def spawn(self, plan: HolderPlan, descriptors: Sequence[int] = ()) -> "SystemHolder":
        """Holds up the loop for 0.2 ms (posix_spawn); the interpreter starts while the caller commits."""
        if (plan.stdin == "handed") != (len(descriptors) == 1):
            raise Invalid("a handed stdin is one descriptor")
        ensure_private_directory(self._host.files, plan.directory)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            pid = self._spawn(plan, theirs.fileno(), list(descriptors))
        except OSError as error:
            ours.close()
            raise Broken(f"cannot start a holder: {INTERPRETER}: {error.strerror}") from error
        finally:
            theirs.close()
        identity = self._host.processes.identify(pid)
        if identity is None:
            ours.close()
            os.waitpid(pid, 0)  # noqa: ASYNC222 - it is dead already
            raise Broken("the holder ended as soon as it was started")
        self._children.add(pid)
        remains = Remains(self._host, plan.directory, identity)
        return SystemHolder(self._host, remains, identity, ours, self._children)

    def _spawn(self, plan: HolderPlan, channel: int, handed: list[int]) -> int:
        own = self._host.processes.own()
        stdin = fcntl.fcntl(handed[0], fcntl.F_DUPFD_CLOEXEC, 3) if handed else -1  # it may be our 0, 1 or 2
        memory = os.memfd_create("holder", os.MFD_CLOEXEC)
        try:
            passed = [channel, memory, *([stdin] if handed else [])]
            facts = _plain(plan) | {
                "channel": channel,
                "stdin_descriptor": stdin,
                "descriptors": [fd for fd in passed if fd != memory],
                "boot": own.boot,
                "namespace": own.namespace,
            }
            _write_whole(memory, packed(facts))
            actions: list[Any] = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
            actions += [(os.POSIX_SPAWN_DUP2, fd, fd) for fd in passed]  # clears close-on-exec
            argv = [INTERPRETER, "-I", "-S", "-c", START, str(memory), plan.directory]
            env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
            return os.posix_spawn(INTERPRETER, argv, env, file_actions=actions, setsid=True, setsigmask=())
        finally:
            os.close(memory)
            if handed:
                os.close(stdin)

    async def adopt(
        self,
        directory: str,
        paths: Mapping[Stream, str],  # noqa: ARG002 - for those whose holders have no directory of their own
        holder: Identity,
        command: Identity | None,
        *,
        tty: bool,  # noqa: ARG002 - as above
    ) -> "SystemHolder | Ended":
        """Needs no answer of the holder, so one that hangs holds up nobody."""
        remains = Remains(self._host, directory, holder, command)
        verdict = remains.verdict()
        if verdict is Verdict.FOLLOW:
            return SystemHolder(self._host, remains, holder, _connect(directory), self._children)
        if verdict is Verdict.OUTLIVED:
            return SystemHolder(self._host, remains, holder, None, self._children)
        return remains.ended(verdict)

    async def reach(self, directory: str, holder: Identity) -> "SystemHolder | None":
        """One whose worker died while it came up has no socket yet."""
        while self._host.processes.liveness(holder) is Liveness.ALIVE:
            if (sock := _connect(directory)) is not None:
                return SystemHolder(
                    self._host, Remains(self._host, directory, holder), holder, sock, self._children
                )
            await self._host.clock.sleep_ms(REACH_PAUSE_MS)
        return None


def _plain(plan: HolderPlan) -> dict[str, Any]:
    return plan._asdict() | {
        "directory": os.fsencode(plan.directory),
        "out": os.fsencode(plan.out),
        "err": None if plan.tty else os.fsencode(plan.err),
        "argv": list(plan.argv),
        "env": dict(plan.env),
        "limits": [list(limit) for limit in plan.limits],
    }


def _write_whole(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _connect(directory: str) -> socket.socket | None:
    """A connection to the holder's socket; None when nobody listens there."""
    try:
        folder = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.setblocking(False)
    try:
        sock.connect(f"/proc/self/fd/{folder}/s")  # however long the directory's path is
    except OSError:
        sock.close()
        return None
    finally:
        os.close(folder)
    return sock


class _Children:
    """The holders that this process started: each is buried once it is dead, at the next occasion."""

    def __init__(self) -> None:
        self._pids: set[int] = set()

    def add(self, pid: int) -> None:
        self.bury()
        self._pids.add(pid)

    def bury(self) -> None:
        for pid in tuple(self._pids):
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG) == (0, 0):
                    continue
            self._pids.discard(pid)


class SystemHolder:
    """One holder process. Whoever waits for something of it reads its packets, one task at a time."""

    def __init__(
        self,
        host: Host,
        remains: Remains,
        identity: Identity,
        sock: socket.socket | None,
        children: "_Children",
    ) -> None:
        self.identity = identity
        self._host = host
        self._remains = remains
        self._sock = sock
        self._children = children
        self._started: Started | NotStarted | None = None
        self._ended: Ended | None = None
        self._stays = False
        self._stopping = False
        self._left = 0  # after a stop
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._under_way = 0
        self._eof = False
        self._reading = False
        self._changed = anyio.Event()
        if sock is not None:
            sock.setblocking(False)

    async def go(self) -> Started | NotStarted:
        self._send(b"g")
        await self._until(lambda: self._started is not None or self._ended is not None)
        if self._started is not None:
            return self._started
        if command := self._remains.command():
            return Started(command)  # and `ended` tells that it is lost
        why = self._remains.trouble() or "no reason is known"
        return NotStarted(0, f"its holder died before the command began: {why}", 125)

    async def stay(self) -> None:
        self._send(b"q")
        await self._until(lambda: self._stays or self._sock is None)

    def dismiss(self) -> None:
        self._send(b"x")
        self.close()

    def give(self, data: bytes, *, eof: bool = False) -> bool:
        if self._sock is None or self._ended is not None or self._eof:
            return False
        if self._held_bytes and self._held_bytes + len(data) > INPUT_HELD:
            return False
        self._held.extend(data[at : at + INPUT_PIECE] for at in range(0, len(data), INPUT_PIECE))
        self._held_bytes += len(data)
        self._eof = eof
        self._pass_on()
        return True

    def _pass_on(self) -> None:
        """Send what the holder has room for; the end of the input after the last of it."""
        while self._held and self._under_way + len(self._held[0]) <= INPUT_WINDOW:
            if not self._send(b"i" + self._held[0]):
                return
            piece = self._held.popleft()
            self._held_bytes -= len(piece)
            self._under_way += len(piece)
        if self._eof and not self._held:
            self._send(b"z")

    def resize(self, rows: int, cols: int, *, redraw: bool = False) -> None:
        self._send(b"%c%d %d" % (b"r" if redraw else b"w", rows, cols))

    async def stop(self, number: int, grace_ms: int) -> int:
        self._stopping = True
        self._host.processes.signal(
            self.identity, signal.SIGCONT
        )  # a holder that was stopped could not stop anything
        if not self._send(b"k%d %d" % (number, grace_ms)):
            await self._stop_alone(number, grace_ms)
            return 0
        await self._until(lambda: not self._stopping or self._sock is None)
        if self._stopping:  # we let go of it meanwhile: it leaves when none is left
            await self._host.processes.gone(self.identity)
        return self._left

    async def _stop_alone(self, number: int, grace_ms: int) -> None:
        """The holder is dead: only the command itself can be told apart, so only that is signalled."""
        processes, command = self._host.processes, self._remains.command()
        if command is None or not processes.signal(command, number):
            return
        with self._host.clock.limit(grace_ms) as limit:
            await processes.gone(command)
        if limit.cancelled_caught and processes.signal(command, signal.SIGKILL):
            await processes.gone(command)

    async def ended(self) -> Ended:
        await self._until(lambda: self._ended is not None)
        assert self._ended is not None
        return self._ended

    def look(self) -> None:
        self._send(b"l")

    def dropped(self) -> list[Gap]:
        return self._remains.dropped()

    def close(self) -> None:
        sock, self._sock = self._sock, None
        if sock is not None:
            anyio.notify_closing(sock)
            sock.close()
        self._children.bury()

    def _send(self, packet: bytes) -> bool:
        """Whether it was handed over; False when the holder is gone, or does not read."""
        try:
            return self._sock is not None and self._sock.send(packet) == len(packet)
        except OSError:
            return False

    async def _until(self, true: Callable[[], bool]) -> None:
        """Wait for something that packets tell: read them, or let another task that waits do so."""
        while not true():
            if self._reading:
                await self._changed.wait()
                continue
            self._reading = True
            try:
                await self._read()
            finally:
                self._reading = False
                changed, self._changed = self._changed, anyio.Event()
                changed.set()

    async def _read(self) -> None:
        sock = self._sock
        if sock is None:
            await self._bury()
            return
        try:
            await anyio.wait_readable(sock)
            packet = sock.recv(PACKET)
        except BlockingIOError:
            return
        except (OSError, anyio.ClosedResourceError):
            packet = b""
        if packet:
            self._take_in(packet)
        else:
            self.close()

    def _take_in(self, packet: bytes) -> None:
        kind, body = packet[:1], packet[1:]
        if kind == b"s":
            self._started = self._remains.started(json.loads(body))
        elif kind == b"f":
            told = json.loads(body)
            self._started = NotStarted(told["errno"], told["error"], told["exit"])
        elif kind == b"t":
            self._under_way -= int(body)
            self._pass_on()
        elif kind == b"q":
            self._stays = True
        elif kind == b"e":
            self._ended = as_ended(json.loads(body))
        elif kind == b"k":
            self._stopping, self._left = False, int(body)

    async def _bury(self) -> None:
        """The holder is gone, or cannot be reached: wait for the ends that are left to wait for."""
        processes = self._host.processes
        if processes.liveness(self.identity) is not Liveness.UNOBSERVABLE:
            await processes.gone(self.identity)
        verdict = self._remains.verdict()
        if verdict is Verdict.OUTLIVED and (command := self._remains.command()):
            await processes.gone(command)
            verdict = self._remains.verdict()
        self._ended = self._ended or self._remains.ended(verdict)


__all__ = [
    "Ended",
    "Holder",
    "HolderPlan",
    "Holders",
    "NotStarted",
    "Started",
    "Stdin",
    "SystemHolder",
    "SystemHolders",
]
