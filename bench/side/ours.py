"""This product behind the verbs of a peer. A worker is a session's; its command is beside it, and outlives it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import anyio
import uvloop

from eukhed import build, paths
from eukhed.client import AsyncClient, connect, connect_async
from eukhed.errors import EukhedError, SessionRecovering
from side import seen

EUKHED = [sys.executable, "-m", "eukhed"]
CLIENTS = 4  # of a hundred commands at once, each connection carries 64


class Ours:
    """A daemon with a scratch state root."""

    name = "eukhed"
    version = build.VERSION

    def __init__(self) -> None:
        self.base = tempfile.mkdtemp(prefix="ek")
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = keep | {
            "HOME": self.base,
            "EUKHED_HOME": f"{self.base}/state",
            "EUKHED_RUNTIME_DIR": f"{self.base}/run",
            "TMPDIR": self.base,
        }
        self.places = paths.places(self.env, os.getuid())
        self.sessions: list[str] = []

    def command(self, *words: str) -> str:
        done = subprocess.run([*EUKHED, *words], env=self.env, cwd=self.base, capture_output=True, check=True)
        return done.stdout.decode()

    def start(self) -> None:
        self.command("start")

    def open(self, count: int) -> None:
        """Make or open so many sessions, all at once; return when the worker of each has answered."""
        self.sessions = anyio.run(self._open, count, backend_options={"loop_factory": uvloop.new_event_loop})

    async def _open(self, count: int) -> list[str]:
        ids = [""] * count
        async with contextlib.AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(connect_async(self.places, start=False))
                for _ in range(CLIENTS)
            ]

            async def one(number: int) -> None:
                client = clients[number % CLIENTS]
                found = await client.open_session(f"s{number}", cwd=self.base, create=True)
                ids[number] = found["session"]
                await answered(client, found["session"])

            async with anyio.create_task_group() as tasks:
                for number in range(count):
                    tasks.start_soon(one, number)
        return ids

    def reach(self) -> None:
        """Return when the worker of each session has answered."""
        anyio.run(self._reach, backend_options={"loop_factory": uvloop.new_event_loop})

    async def _reach(self) -> None:
        async with connect_async(self.places, start=False) as client, anyio.create_task_group() as tasks:
            for session in self.sessions:
                tasks.start_soon(answered, client, session)

    def run(self, session: str, argv: list[str]) -> Any:
        with connect(self.places, start=False) as client:
            return client.run(session, argv, cwd=self.base)

    def workers(self) -> dict[str, int]:
        """The worker's pid of each session that has one."""
        with connect(self.places, start=False) as client:
            return {row["session"]: row["pid"] for row in client.workers() if row["pid"]}

    def state(self, session: str) -> dict[str, Any]:
        with connect(self.places, start=False) as client:
            (row,) = [row for row in client.workers() if row["session"] == session]
            return dict(row)

    def restarts(self, kills: int) -> list[float]:
        """Kill so many workers, one after the other; seconds to the first answer of the next one of each."""
        return anyio.run(self._restarts, kills, backend_options={"loop_factory": uvloop.new_event_loop})

    async def _restarts(self, kills: int) -> list[float]:
        took = []
        async with connect_async(self.places, start=False) as client:
            for row in (await client.workers())[:kills]:
                began = time.perf_counter()
                os.kill(row["pid"], signal.SIGKILL)
                seen.until(lambda pid=row["pid"]: not seen.alive(pid), 5)
                await answered(client, row["session"])
                took.append(time.perf_counter() - began)
        return took

    def pid(self) -> int:
        with connect(self.places, start=False) as client:
            return int(client.status()["pid"])

    def close(self) -> None:
        """End all of it, and remove it."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.command("shutdown", "--force", "--yes")
        shutil.rmtree(self.base, ignore_errors=True)


async def answered(client: AsyncClient, session: str) -> None:
    """Return when the session's worker has answered, be it that it has no run."""
    while True:
        try:
            await client.request("run_record", {}, session=session, looks=True)
        except SessionRecovering:
            continue  # the one before died as it was asked
        except EukhedError as error:
            if error.code != "not_found":
                raise
        return
