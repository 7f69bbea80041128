"""The library for who must not block: Client's verbs, each to be awaited.

    from eukhed.client import connect_async

    async with connect_async() as client:
        session = await client.open_session(cwd="/src/shop", create=True)
        run = await client.run(session["session"], ["make", "test"], cwd="/src/shop")
        async with client.watch(session["session"], run["run"]) as shown:
            async for one in shown:
                ...

Verbs, arguments and errors are those of verbs.Client, which says more of each. Any number of tasks may use one
client at once; a cancelled verb leaves nothing open at the daemon, and what it had asked for may have been done.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from eukhed.client import questions
from eukhed.client.async_client import AsyncBase
from eukhed.client.async_following import Following, Listener
from eukhed.client.attachment import Shown, Stream
from eukhed.client.ids import command_id
from eukhed.client.questions import Item, Mode
from eukhed.client.results import OPEN, Found, Run, Session, Status, Worker
from eukhed.client.streams import Happened, RunStream, SessionStream, Snapshot
from eukhed.client.tree_stream import TreeStream
from eukhed.client.whereabouts import whereabouts
from eukhed.paths import Places, places


class AsyncClient(AsyncBase):
    """A connection to one daemon, remade when it is lost. Use it inside `async with`, from any task there."""

    async def status(self) -> Status:
        return await self.put(questions.status())

    async def workers(self) -> list[Worker]:
        return await self.put(questions.workers())

    async def sessions(self, *, archived: bool = False) -> list[Session]:
        return await self.put(questions.sessions(archived=archived))

    async def find_session(self, wanted: str | None = None, *, cwd: str | None = None) -> Found:
        """Find a session by its name, its id, the end of its id; without any by a directory (this one)."""
        return await self.put(questions.find_session(wanted, cwd))

    async def open_session(
        self, wanted: str | None = None, *, cwd: str | None = None, create: bool = False
    ) -> Found:
        """Find a session, or make it with `create`; its worker starts."""
        return await self.put(questions.open_session(wanted, cwd, create=create))

    async def create(self, name: str | None = None, *, cwd: str | None = None, owned: bool = False) -> Found:
        """Make a session of this name, or named after its directory (this one); Exists when the name is taken.

        With `owned` it is this client's: while the client, or another that says `client_here` with its `owner`, is
        connected it stays; else its worker leaves after half a minute, and its runs are stopped. The session itself
        stays listed, and is nobody's then.
        """
        if owned:
            await self.client_here(self.owner or command_id())
        return await self.put(questions.create(name, cwd, self.owner if owned else None))

    async def client_here(self, owner: str) -> None:
        """Say that this client is the owner of that name, on this connection and every later one."""
        self.owner = owner
        await self.put(questions.client_here(owner))

    async def runs(
        self,
        session: str | None = None,
        *,
        state: str | None = None,
        label: str | None = None,
        limit: int = 20,
    ) -> list[Run]:
        """List runs of a session (its id) or of all, the newest first."""
        return await self.put(questions.runs(session, state, label, limit))

    async def run(
        self,
        session: str,
        argv: Sequence[str | bytes],
        *,
        cwd: str | bytes,
        env: Mapping[bytes, bytes] | None = None,
        tty: bool = False,
        stdin: int | None = None,
        **more: Any,
    ) -> Run:
        """Start a command, and return once it was executed or could not be (`exit` 126 or 127)."""
        return await self.put(questions.run(session, argv, cwd, env, stdin, more, tty=tty))

    async def record(self, session: str, run: int) -> Run:
        """Return a run as it stands."""
        return await self.put(questions.record(session, run))

    def watch(
        self,
        session: str,
        run: int,
        *,
        lines: int | None = None,
        after: Mapping[Stream, int] | None = None,
    ) -> Following[Shown]:
        """Yield what a run writes, each byte once and in order over every loss, and last how it Ended.

        It begins `lines` lines before the end, or after these bytes of each stream, or at the first byte. Credit
        for bytes is returned when the next are asked for, so a slow consumer holds up nobody and keeps nothing in
        memory.
        """
        listener = Listener(self, session)
        return Following(self, listener, RunStream(listener, session, run, lines, after))

    def follow(self, session: str, *, after: Snapshot | None = None) -> Following[Snapshot | Happened]:
        """Yield a session's events by their numbers, each once over every loss, for ever.

        A Snapshot comes first, unless what came `after` one is still known; and again where events were missed.
        """
        return Following(self, Listener(self, session), SessionStream(session, after))

    async def wait(self, session: str, run: int) -> Run:
        """Return when a run is over, with how."""
        async with self.follow(session) as events:  # not `wait`: it would take one of a client's few places
            async for event in events:
                if isinstance(event, Snapshot):
                    record = await self.record(session, run)
                    if record["state"] not in OPEN:
                        return record
                elif event.type == "run_ended" and event.body["run"] == run:
                    return cast("Run", event.body)
        raise AssertionError  # a session's events have no end

    async def send(self, session: str, run: int, data: bytes, *, eof: bool = False) -> None:
        """Give bytes to a run's terminal."""
        await self.put(questions.send(session, run, data, eof=eof))

    async def stop(
        self, session: str, run: int, *, signal: int | None = None, grace_ms: int | None = None, actor: str
    ) -> Run:
        """End a run with all that it started, and return when it is over. `actor` is told of who did it."""
        return await self.put(questions.stop(session, run, signal, grace_ms, actor))

    async def state(self, session: str, *, at: int | None = None, marks: bool = False) -> Item:
        """Return the session's tree, now or at a cursor: {worker, cursor, nodes} (docs/tree.md)."""
        return await self.put(questions.state(session, at, marks=marks))

    async def state_since(self, session: str, since: int, *, worker: str | None = None) -> Item:
        """Return what was recorded after a cursor: {worker, cursor, since, records}."""
        return await self.put(questions.state_since(session, since, worker))

    def follow_state(self, session: str, *, marks: bool = False) -> Following[Item]:
        """Yield the whole tree, then {worker, from, cursor, records} for each change, over every loss, for ever."""
        listener = Listener(self, session, subscribes=True)
        return Following(self, listener, TreeStream(listener, session, marks=marks))

    async def rewind_plan(self, session: str, cursor: int, *, worker: str | None = None) -> Item:
        """Return what a rewind would do: {worker, cursor, now, stops, starts, restores, kept, ends, nodes}."""
        return await self.put(questions.rewind_plan(session, cursor, worker))

    async def rewind(self, session: str, cursor: int, worker: str, *, actor: str, yes: bool = False) -> Item:
        """Rewind to a cursor of this worker; Busy when that would end runs and not `yes`.

        When the answer is lost it is not sent again: the tree says whether it was done.
        """
        return await self.put(questions.rewind(session, cursor, worker, actor, yes=yes))

    async def shutdown(self, mode: Mode = "if_idle") -> None:
        """Stop the daemon; Busy, with the work, when there is some and it is not to be forced."""
        await self.put(questions.shutdown(mode))


def connect_async(
    at: Places | None = None, *, start: bool = True, interactive: bool = False, relaunch: bool = True
) -> AsyncClient:
    """Make a client of the daemon of these places (the environment's, unless given), started when none runs.

    `async with` connects it.
    """
    chosen = at or whereabouts(places(os.environ, os.getuid()), os.environ)
    return AsyncClient(chosen, start=start, interactive=interactive, relaunch=relaunch)
