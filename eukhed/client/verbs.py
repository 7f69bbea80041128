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
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from eukhed.client import client as base
from eukhed.client.attachment import Attachment, Ended, Output, Shown
from eukhed.client.ids import command_id
from eukhed.client.results import Found, Run, Session, Status, Worker
from eukhed.errors import ConnectionLost
from eukhed.paths import Places, places

Stdin = Literal["none", "handed", "typed"]


class Client(base.Client):
    """One connection to a daemon, remade when it is lost. Not for two threads at once."""

    def status(self) -> Status:
        return cast("Status", self.request("status", looks=True))

    def workers(self) -> list[Worker]:
        return cast("list[Worker]", self.request("ps", looks=True)["workers"])

    def sessions(self, *, archived: bool = False) -> list[Session]:
        return cast("list[Session]", self.request("sessions", {"all": archived}, looks=True)["sessions"])

    def find_session(self, wanted: str | None = None, *, cwd: str | None = None) -> Found:
        """Find a session by its name, its id, the end of its id; without any by a directory (this one)."""
        return cast("Found", self.request("find_session", _lookup(wanted, cwd), looks=True))

    def open_session(
        self, wanted: str | None = None, *, cwd: str | None = None, create: bool = False
    ) -> Found:
        """Find a session, or make it with `create`; its worker starts."""
        body = _lookup(wanted, cwd) | {"create": create}
        return cast("Found", self.request("open_session", body, command_id=command_id()))

    def runs(
        self,
        session: str | None = None,
        *,
        state: str | None = None,
        label: str | None = None,
        limit: int = 20,
    ) -> list[Run]:
        """List runs of a session (its id) or of all, the newest first."""
        asked = {"session": session, "state": state, "label": label, "n": limit}
        body = {key: value for key, value in asked.items() if value is not None}
        return cast("list[Run]", self.request("runs", body, looks=True)["runs"])

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
        kind: Stdin = "handed" if stdin is not None else "typed" if tty else "none"
        body = {
            "argv": [os.fsencode(word) for word in argv],
            "cwd": os.fsencode(cwd),
            "env": dict(os.environb if env is None else env),
            "tty": tty,
            "stdin": kind,
            "detach": True,
        } | more
        descriptors = () if stdin is None else (stdin,)
        told = self.request("run", body, session=session, command_id=command_id(), descriptors=descriptors)
        return cast("Run", told)

    def watch(self, session: str, run: int, *, lines: int | None = None) -> Iterator[Shown]:
        """Yield what a run writes, each byte once and in order over every loss, and last how it Ended.

        It begins `lines` lines before the end, or at the first byte. Credit for bytes is returned when the
        next are asked for, so a slow consumer holds up nobody and keeps nothing in memory.
        """
        view = Attachment(self, session, run, look=True)
        view.first(lines=lines)
        while True:
            try:
                for shown in self._arrived(view):
                    yield shown
                    if isinstance(shown, Ended):
                        return
                    if isinstance(shown, Output):
                        view.wrote(len(shown.data), shown.attachment, all_out=True)
            except ConnectionLost:
                self.recover()
                view.resume()

    def _arrived(self, view: Attachment) -> list[Shown]:
        while not self.events:
            self.pump(None)
        event = self.events.popleft()
        if event["type"] == "session_lost" and event.get("session") == view.session:
            view.resume()
            return []
        return view.take(event)

    def wait(self, session: str, run: int) -> Run:
        """Return when a run is over, with how."""
        return cast("Run", self.request("wait", {"run": run}, session=session, looks=True))

    def send(self, session: str, run: int, data: bytes, *, eof: bool = False) -> None:
        """Give bytes to a run's terminal."""
        self.request("input", {"run": run, "data": data, "eof": eof}, session=session)

    def stop(
        self, session: str, run: int, *, signal: int | None = None, grace_ms: int | None = None, actor: str
    ) -> Run:
        """End a run with all that it started, and return when it is over. `actor` is told of who did it."""
        asked = {"run": run, "signal": signal, "grace_ms": grace_ms, "actor": actor}
        body = {key: value for key, value in asked.items() if value is not None}
        return cast("Run", self.request("stop_run", body, session=session, looks=True))

    def shutdown(self, mode: Literal["plain", "if_idle", "force"] = "if_idle") -> None:
        """Stop the daemon; Busy, with the work, when there is some and it is not to be forced."""
        self.request("shutdown", {"mode": mode})


def connect(
    at: Places | None = None, *, start: bool = True, interactive: bool = False, relaunch: bool = True
) -> Client:
    """Connect to the daemon of these places (the environment's, unless given), started when none runs."""
    chosen = at or places(os.environ, os.getuid())
    return Client(chosen, start=start, interactive=interactive, relaunch=relaunch)


def _lookup(wanted: str | None, cwd: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {"cwd": cwd or os.getcwd(), "home": os.path.expanduser("~")}
    return body if wanted is None else body | {"wanted": wanted}
