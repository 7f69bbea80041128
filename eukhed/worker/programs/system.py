"""The real processes of the bundle engine.

A program runs in a process of its own, made from text in our memory: it has one channel, limits on its memory and its
processor time, nothing else that is open, and no way to open anything; it ends with us. A helper is a process
that is given JSON and says JSON: the user's own tools, whoever answers prompts, and what checks schemas, which is too
large for a worker. Nobody waits for any of them without being able to end them.

This file touches processes by itself, as host/ does.
"""

import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import anyio
from anyio.abc import ByteReceiveStream, Process

from eukhed import config
from eukhed.errors import Broken, ConnectionLost
from eukhed.host.seam import Host
from eukhed.wire.network import Channel
from eukhed.wire.sockets import SocketNetwork
from eukhed.worker.holders import INTERPRETER
from eukhed.worker.programs.programs import Program, Told

ERR_KEPT: Final = 4096
REST_MS: Final = 1000  # for what a helper that has ended left in its pipe, if another process holds it open
PIECE: Final = 64 * 1024


def _text(name: str) -> str:
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside")
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def _place(module: str) -> str | None:
    """Where a module lies, without importing it."""
    spec = importlib.util.find_spec(module)
    return None if spec is None else spec.origin


# when this module is imported, which the preload does before any fork
MAIN: Final = _text("main.py")
OPENAI: Final = _text("openai.py")
CHECK: Final = _text("check.py")
ENGINE: Final = _place("_quickjs")
SCHEMAS: Final = _place("jsonschema_rs")


class SystemPrograms:
    """Programs and helpers as processes of this machine (programs.Programs)."""

    def __init__(self, host: Host, network: SocketNetwork, config_path: str) -> None:
        self._host = host
        self._network = network
        self._config_path = config_path

    @contextlib.asynccontextmanager
    async def program(self, plan: Mapping[str, Any]) -> AsyncIterator[Program]:
        """Run a program for the body; whatever it does then, it is ended."""
        if ENGINE is None:
            raise Broken("the JavaScript engine is not installed: pip install quickjs-ng")
        ours, theirs = socket.socketpair()
        try:
            pid = _spawn(theirs.fileno())
        except OSError as error:
            ours.close()
            raise Broken(f"cannot start a program: {INTERPRETER}: {error.strerror}") from error
        finally:
            theirs.close()
        try:
            channel = await self._network.adopt(ours)
            try:
                await channel.send(json.dumps(plan).encode())
                yield _SystemProgram(channel)
            finally:
                channel.close()
        finally:
            os.kill(pid, signal.SIGKILL)  # it is ours, and was not waited for: the pid is still its own
            with anyio.CancelScope(shield=True):
                await self._host.off_loop(lambda: os.waitpid(pid, 0))

    async def helped(
        self, argv: Sequence[str], data: bytes, env: Mapping[bytes, bytes], cwd: str, most: int
    ) -> Told:
        """Start a helper of the user's."""
        return await _helped(list(argv), data, env, cwd, most)

    async def openai(self, data: bytes, env: Mapping[bytes, bytes], most: int) -> Told:
        """Ask an endpoint."""
        return await _helped([INTERPRETER, "-I", "-S", "-c", OPENAI], data, env, "/", most)

    async def checked(self, schema: Any, instances: Sequence[Any]) -> str | None:
        """Ask the library of schemas, in a process of its own."""
        if SCHEMAS is None:
            raise Broken("jsonschema-rs is not installed")
        site = os.path.dirname(os.path.dirname(SCHEMAS))
        argv = [INTERPRETER, "-I", "-S", "-c", CHECK, site]
        data = json.dumps({"schema": schema, "instances": list(instances)}).encode()
        told = await _helped(argv, data, {}, "/", PIECE)
        if told.exit:
            raise Broken(f"a schema could not be checked: {told.err.decode(errors='replace').strip()}")
        fault: str | None = json.loads(told.out)
        return fault

    async def settings(self) -> config.Bundles:
        """Read the user's file, which may have changed since this worker began."""

        def read() -> config.Bundles:
            try:
                with open(self._config_path, encoding="utf-8", errors="replace") as file:
                    found = config.parse(file.read(), self._config_path)
            except OSError:
                return config.Bundles()
            return config.Bundles(
                found.ai, found.tools, found.engines, found.bundle_file_bytes, found.bundle_files
            )

        return await self._host.off_loop(read)


class _SystemProgram:
    """programs.Program over its channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def receive(self) -> Mapping[str, Any] | None:
        """What is no message of a program ends it as its death does."""
        try:
            told = json.loads(await self._channel.receive())
        except (ConnectionLost, Broken, ValueError, RecursionError):
            return None
        return told if isinstance(told, dict) else None

    async def answer(self, told: Mapping[str, Any]) -> None:
        """A program that is gone hears nothing; that is told by `receive`."""
        with contextlib.suppress(ConnectionLost):
            await self._channel.send(json.dumps(told).encode())


def _spawn(channel: int) -> int:
    """Holds up the loop for 0.2 ms; only who was started from this thread ends with this process."""
    actions: list[Any] = [(os.POSIX_SPAWN_DUP2, channel, 0)]
    actions += [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)]
    argv = [INTERPRETER, "-I", "-S", "-c", MAIN, str(ENGINE)]
    return os.posix_spawn(INTERPRETER, argv, _bare(), file_actions=actions, setsid=True, setsigmask=())


def _bare() -> dict[str, str]:
    """What the interpreter needs to start, and the one time zone that is the same everywhere."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return kept | {"TZ": "UTC"}


async def _helped(argv: list[str], data: bytes, env: Mapping[bytes, bytes], cwd: str, most: int) -> Told:
    out, err = _Kept(most), _Kept(ERR_KEPT, last=True)
    try:
        process = await anyio.open_process(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={os.fsdecode(key): os.fsdecode(value) for key, value in env.items()}, cwd=cwd,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise Broken(f"{argv[0]} cannot be started: {error.strerror}") from error
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_feed, process, data)
            tasks.start_soon(_collect, process.stderr, err, tasks.cancel_scope)
            tasks.start_soon(_collect, process.stdout, out, tasks.cancel_scope)
            await process.wait()
            tasks.cancel_scope.deadline = anyio.current_time() + REST_MS / 1000
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)  # its leader was not waited for: the number is its own
        with anyio.CancelScope(shield=True):
            await process.aclose()
    code = process.returncode or 0
    return Told(bytes(out.data), bytes(err.data), code if code >= 0 else 128 - code, out.full)


class _Kept:
    """Bytes up to a bound: the first, or the last."""

    def __init__(self, most: int, *, last: bool = False) -> None:
        self.data = bytearray()
        self.full = False
        self._most = most
        self._last = last

    def take(self, piece: bytes) -> None:
        self.data += piece
        if len(self.data) > self._most:
            self.full = not self._last
            start, end = (0, len(self.data) - self._most) if self._last else (self._most, len(self.data))
            del self.data[start:end]


async def _collect(stream: ByteReceiveStream, kept: _Kept, scope: anyio.CancelScope) -> None:
    async for piece in stream:
        kept.take(piece)
        if kept.full:
            scope.cancel()
            return


async def _feed(process: Process, data: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.send(data)
    await process.stdin.aclose()
