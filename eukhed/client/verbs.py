"""The library: the verbs of the command line as methods, with typed results and typed errors.

    from eukhed.client import connect

    with connect() as client:
        session = client.open_session(cwd="/src/shop", create=True)
        run = client.run(session["session"], ["make", "test"], cwd="/src/shop")
        for shown in client.watch(session["session"], run["run"]):
            ...

Every method raises the EukhedError that the daemon answers, and ConnectionLost when the daemon is gone and
does not come back. A lost daemon is brought back as the command line does it, unless `relaunch` is false.
"""

import os
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from eukhed.client import client as base
from eukhed.client import questions
from eukhed.client.attachment import Shown, Stream
from eukhed.client.following import follow
from eukhed.client.ids import command_id
from eukhed.client.questions import Item, Mode
from eukhed.client.results import Found, Run, Session, Status, Worker
from eukhed.client.streams import Happened, RunStream, SessionStream, Snapshot
from eukhed.client.whereabouts import whereabouts
from eukhed.paths import Places, places


class Client(base.Client):
    """One connection to a daemon, remade when it is lost. Not for two threads at once."""

    def status(self) -> Status:
        return self.put(questions.status())

    def workers(self) -> list[Worker]:
        return self.put(questions.workers())

    def sessions(self, *, archived: bool = False) -> list[Session]:
        return self.put(questions.sessions(archived=archived))

    def find_session(self, wanted: str | None = None, *, cwd: str | None = None) -> Found:
        """Find a session by its name, its id, the end of its id; without any by a directory (this one)."""
        return self.put(questions.find_session(wanted, cwd))

    def open_session(
        self, wanted: str | None = None, *, cwd: str | None = None, create: bool = False
    ) -> Found:
        """Find a session, or make it with `create`; its worker starts."""
        return self.put(questions.open_session(wanted, cwd, create=create))

    def create(self, name: str | None = None, *, cwd: str | None = None, owned: bool = False) -> Found:
        """Make a session of this name, or named after its directory (this one); Exists when the name is taken.

        With `owned` it is this client's: while the client, or another that says `client_here` with its `owner`, is
        connected it stays; else its worker leaves after half a minute, and its runs are stopped. The session itself
        stays listed, and is nobody's then.
        """
        if owned:
            self.client_here(self.owner or command_id())
        return self.put(questions.create(name, cwd, self.owner if owned else None))

    def client_here(self, owner: str) -> None:
        """Say that this client is the owner of that name, on this connection and every later one."""
        self.owner = owner
        self.put(questions.client_here(owner))

    def runs(
        self,
        session: str | None = None,
        *,
        state: str | None = None,
        label: str | None = None,
        limit: int = 20,
    ) -> list[Run]:
        """List runs of a session (its id) or of all, the newest first."""
        return self.put(questions.runs(session, state, label, limit))

    def run(
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
        """Start a command, and return once it was executed or could not be (`exit` 126 or 127).

        Args:
            session: its id.
            argv: the program and its arguments.
            cwd: an absolute directory.
            env: its environment; this process's unless given.
            tty: with a terminal of its own.
            stdin: a descriptor to hand over; without one the command reads end-of-file, or its terminal.
            more: label, timeout_ms, grace_ms, umask, nice, limits, survive, rows, cols (docs/wire.md).
        """
        return self.put(questions.run(session, argv, cwd, env, stdin, more, tty=tty))

    def record(self, session: str, run: int) -> Run:
        """Return a run as it stands."""
        return self.put(questions.record(session, run))

    def watch(
        self,
        session: str,
        run: int,
        *,
        lines: int | None = None,
        after: Mapping[Stream, int] | None = None,
    ) -> Generator[Shown, None, None]:
        """Yield what a run writes, each byte once and in order over every loss, and last how it Ended.

        It begins `lines` lines before the end, or after these bytes of each stream, or at the first byte. Credit
        for bytes is returned when the next are asked for, so a slow consumer holds up nobody and keeps nothing in
        memory.
        """
        return follow(self, RunStream(self, session, run, lines, after))

    def follow(
        self, session: str, *, after: Snapshot | None = None
    ) -> Generator[Snapshot | Happened, None, None]:
        """Yield a session's events by their numbers, each once over every loss, for ever.

        A Snapshot comes first, unless what came `after` one is still known; and again where events were missed.
        """
        return follow(self, SessionStream(session, after))

    def wait(self, session: str, run: int) -> Run:
        """Return when a run is over, with how."""
        return self.put(questions.wait(session, run))

    def send(self, session: str, run: int, data: bytes, *, eof: bool = False) -> None:
        """Give bytes to a run's terminal."""
        self.put(questions.send(session, run, data, eof=eof))

    def stop(
        self, session: str, run: int, *, signal: int | None = None, grace_ms: int | None = None, actor: str
    ) -> Run:
        """End a run with all that it started, and return when it is over. `actor` is told of who did it."""
        return self.put(questions.stop(session, run, signal, grace_ms, actor))

    def state(self, session: str, *, at: int | None = None, marks: bool = False) -> Item:
        """Return the session's tree, now or at a cursor: {worker, cursor, nodes} (docs/tree.md)."""
        return self.put(questions.state(session, at, marks=marks))

    def state_since(self, session: str, since: int, *, worker: str | None = None) -> Item:
        """Return what was recorded after a cursor: {worker, cursor, since, records}."""
        return self.put(questions.state_since(session, since, worker))

    def follow_state(self, session: str, *, marks: bool = False) -> Generator[Item, None, None]:
        """Yield the whole tree, then {worker, from, cursor, records} for each change, over every loss, for ever."""
        from eukhed.client.tree_stream import TreeStream  # noqa: PLC0415 - only who follows a tree holds one

        return follow(self, TreeStream(self, session, marks=marks))

    def rewind_plan(self, session: str, cursor: int, *, worker: str | None = None) -> Item:
        """Return what a rewind would do: {worker, cursor, now, stops, starts, restores, kept, ends, nodes}."""
        return self.put(questions.rewind_plan(session, cursor, worker))

    def rewind(self, session: str, cursor: int, worker: str, *, actor: str, yes: bool = False) -> Item:
        """Rewind to a cursor of this worker; Busy when that would end runs and not `yes`.

        When the answer is lost it is not sent again: the tree says whether it was done.
        """
        return self.put(questions.rewind(session, cursor, worker, actor, yes=yes))

    def shutdown(self, mode: Mode = "if_idle") -> None:
        """Stop the daemon; Busy, with the work, when there is some and it is not to be forced."""
        self.put(questions.shutdown(mode))


def connect(
    at: Places | None = None, *, start: bool = True, interactive: bool = False, relaunch: bool = True
) -> Client:
    """Connect to the daemon of these places (the environment's, unless given), started when none runs."""
    chosen = at or whereabouts(places(os.environ, os.getuid()), os.environ)
    return Client(chosen, start=start, interactive=interactive, relaunch=relaunch)
