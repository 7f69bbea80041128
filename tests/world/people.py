"""People: they want something, ask again after every loss, and remember what they were told.

What is here is outside of the machine: no crash takes it back. So it is what the invariants are held against.
"""

from dataclasses import dataclass, field
from typing import Any

from eukhed.errors import (
    CommandResultUncertain,
    DiskFull,
    EukhedError,
    NotFound,
    UnknownSession,
    WorkerGaveUp,
)
from eukhed.supervisor.ids import uuid7
from eukhed.worker.segments import Stream
from tests.fakes.life import CutOff
from tests.world.client import Client
from tests.world.commands import SCRIPTS, Script
from tests.world.world import HOME, World

TRIES_MAX = 25
PAUSE_MS = 200
ROOM_MS = 10_000  # somebody makes room on the disk


def nothing() -> dict[Stream, bytearray]:
    """No byte of either stream."""
    return {"out": bytearray(), "err": bytearray()}


@dataclass
class Person:
    """One who wants a command to be run in a directory of theirs, and sees it through."""

    world: World
    name: str
    does: str = "count"
    window: int = 4096
    slow_ms: int = 0
    begins_ms: int = 0
    stops_ms: int | None = None  # after the run began
    asked_to_stop: bool = False
    reopens: bool = False  # the session was given up
    pause_ms: int = PAUSE_MS
    opening: str = ""  # command ids: the same one whenever it is asked again
    command: str = ""
    session: str | None = None  # once it was answered
    run: int | None = None
    shown: dict[Stream, bytearray] = field(default_factory=nothing)
    gaps: list[tuple[Stream, int, int]] = field(default_factory=list)
    ended: dict[str, Any] | None = None
    wrongs: list[str] = field(default_factory=list)  # what no crash allows

    @property
    def script(self) -> Script:
        return SCRIPTS[self.does]

    @property
    def argv(self) -> list[bytes]:
        """The first word is this run's alone, the last one says what it does."""
        return [b"run of " + self.name.encode(), self.does.encode()]

    async def want(self) -> None:
        """Go on until the run is over."""
        await self.world.clock.sleep_ms(self.begins_ms)
        self.opening, self.command = self._id(), self._id()
        for _ in range(TRIES_MAX):
            error = await self.use(self._see_through)
            if self.ended is not None:
                return
            self._hear(error)
            await self.world.clock.sleep_ms(self.pause_ms)
            self.pause_ms = PAUSE_MS
        self.wrongs.append(f"{self.name} gave up after {TRIES_MAX} clients")

    async def want_stop(self) -> None:
        """Stop the run some time after it began, from another terminal, as often as it takes."""
        assert self.stops_ms is not None
        while self.run is None and self.ended is None and not self.wrongs:
            await self.world.clock.sleep_ms(PAUSE_MS)
        await self.world.clock.sleep_ms(self.stops_ms)

        async def ask(client: Client) -> None:
            self.asked_to_stop = True
            await client.request("stop_run", {"run": self.run, "actor": self.name}, session=self.session)

        while self.ended is None and not self.wrongs:
            self._hear(await self.use(ask))
            await self.world.clock.sleep_ms(PAUSE_MS)

    async def want_idle(self, tries: int) -> None:
        """Ask the daemon to go if it has no work, some times; it may refuse, and may not end anything."""
        await self.world.clock.sleep_ms(self.begins_ms)

        async def ask(client: Client) -> None:
            await client.request("shutdown", {"mode": "if_idle", "actor": self.name})
            self.world.seen["idle shutdown"] += 1

        for _ in range(tries):
            self._hear(await self.use(ask))
            await self.world.clock.sleep_ms(self.world.random.choice((0, 20, 400)))

    async def use(self, what: Any) -> BaseException | None:
        """Start a client process for something; what it ended by."""
        identity, life = self.world.table.start("client")
        host = self.world.host(identity, life)
        client = Client(self.world, host, life, window=self.window, slow_ms=self.slow_ms)

        async def body() -> None:
            await client.connect()
            await what(client)

        return await self.world.live(life, body)

    async def _see_through(self, client: Client) -> None:
        if self.reopens:
            self.reopens, self.pause_ms = False, ROOM_MS
            await client.request("reopen", session=self.session)
        if self.session is None:
            told = await client.request("open_session", self._place(), command_id=self.opening)
            self.session = told["session"]
            self.world.say(f"{self.name} has session {self.session}")
        if self.run is None:
            told = await client.run(self._body(), self.session, self.command)
            self.run = told["run"]
            self.world.say(f"{self.name} has run {self.run}")
        ended = await client.see(self.session, self.run, self.shown, self.gaps)
        self.world.say(f"{self.name} was told of the end: {ended}")
        self.ended = {key: ended[key] for key in ("state", "exit", "signal", "error") if key in ended}

    def _hear(self, error: BaseException | None) -> None:
        match error:
            case None | CutOff():
                pass
            case CommandResultUncertain():
                self.opening = self._id()  # a person asks anew; a session that was made is found
            case UnknownSession() | NotFound():
                self.wrongs.append(f"{self.name} was told of {self.session}/{self.run}, and now: {error}")
            case WorkerGaveUp():
                self.world.seen["gave up"] += 1
                self.reopens = True
            case DiskFull():
                self.world.seen["refused: disk_full"] += 1
                self.opening, self.pause_ms = self._id(), ROOM_MS  # the same id is answered the same
            case EukhedError():
                self.world.seen[f"refused: {error.code}"] += 1

    def _id(self) -> str:
        return uuid7(self.world.clock.wall_ms(), self.world.random.randbytes(10))

    def _place(self) -> dict[str, Any]:
        return {"cwd": f"{HOME}/work/{self.name.partition(' ')[0]}", "home": HOME, "create": True}

    def _body(self) -> dict[str, Any]:
        return {"argv": self.argv, "cwd": HOME.encode(), "env": {b"A": b"1"}, "umask": 0o22, "stdin": "none"}
