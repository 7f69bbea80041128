"""`eukhed rpc`: the wire as lines of JSON, for scripts and other languages.

A line on stdin is a command, a line on stdout is a message of the daemon: rpc_lines has their shapes. When a
daemon is lost it is brought back, as for any client; a second hello says that what was attached is to be
attached again. A command whose outcome nobody knows is answered so, and not sent again (laws/retry.md).
"""

import os
import select
from collections import deque
from typing import Any, Final

from eukhed.cli import rpc_lines, submission
from eukhed.cli.context import Context, Options
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.render import to_json
from eukhed.cli.rpc_lines import Asked, Item
from eukhed.client import retry
from eukhed.client.client import Client
from eukhed.client.ids import command_id
from eukhed.environment import public
from eukhed.errors import BadFrame, ConnectionLost, EukhedError, Invalid
from eukhed.wire.messages import FRAME_MAX

LINE_MAX: Final = 2 * FRAME_MAX  # base64 is longer than bytes
READ_BYTES: Final = 256 * 1024
BATCH: Final = 64  # lines that are written at once; then stdin is looked at
UNSENT_MAX: Final = 1024 * 1024  # what waits for a daemon; then stdin is not read


def run(context: Context, _flags: Options) -> int:
    """Bridge until stdin has ended and all is answered; exit 0."""
    with Client(context.places, start=True, interactive=False) as client:
        tell_of_launch(context, client)
        Bridge(client).cross()
    return 0


class Bridge:
    """One client, the commands under way, and the two streams."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asked: dict[int, Asked] = {}
        self._unread = bytearray()
        self._ended = False  # stdin

    def cross(self) -> None:
        """Pass commands one way and messages the other. ConnectionLost when no daemon comes back."""
        self._write([rpc_lines.hello(self._client.hello)])
        while not (self._ended and not self._asked):
            try:
                self._wait()
                self._hear()
            except (ConnectionLost, BadFrame) as error:
                self._come_back(error)

    def _wait(self) -> None:
        """Until one of the streams has something; commands are read on the way."""
        poll = select.poll()
        full = self._client.unsent_bytes > UNSENT_MAX
        poll.register(self._client, select.POLLIN | (select.POLLOUT if self._client.unsent_bytes else 0))
        if not self._ended and not full:
            poll.register(0, select.POLLIN)
        ready = dict(poll.poll(0 if self._client.holds else None))
        if 0 in ready:
            self._read()
        if self._client.unsent_bytes:
            self._client.flush()

    def _read(self) -> None:
        data = os.read(0, READ_BYTES)
        self._ended = not data
        self._unread += data or b"\n" * bool(self._unread)
        *lines, rest = self._unread.split(b"\n")
        self._unread = bytearray(rest)
        if len(self._unread) > LINE_MAX:
            raise Invalid(f"a line has more than {LINE_MAX} bytes")
        for line in filter(None, map(bytes.strip, map(bytes, lines))):
            self._take(line)

    def _take(self, line: bytes) -> None:
        """Send the command of a line, or say at once why it is none."""
        try:
            asked = rpc_lines.read(line, command_id, defaults)
            if asked.body.get("stdin") == "handed":
                raise rpc_lines.Refusal(
                    asked.id, "stdin cannot be handed over here: `none`, or `typed` with a tty"
                )
            if asked.id is None:
                self._client.tell(asked.type, asked.body, session=asked.session)
            else:
                self._send(asked)
        except rpc_lines.Refusal as refusal:
            self._write([rpc_lines.failure(refusal.id, refusal.error)])

    def _send(self, asked: Asked) -> None:
        try:
            number = self._client.ask(
                asked.type, asked.body, session=asked.session, command_id=asked.command_id
            )
        except Invalid as error:  # it has no form on the wire
            raise rpc_lines.Refusal(asked.id, error.message) from error
        self._asked[number] = asked

    def _hear(self) -> None:
        """Take in what is here, and write it down in its order: events of a command before its answer."""
        lines: list[Item] = []
        while len(lines) < BATCH and self._client.pump(0):
            lines += map(rpc_lines.event, _drained(self._client.events))
            lines += [self._answer(number) for number in [n for n in self._asked if self._client.answered(n)]]
        self._write(lines)

    def _answer(self, number: int) -> Item:
        asked = self._asked.pop(number)
        try:
            return rpc_lines.answer(asked, self._client.taken(number))
        except (ConnectionLost, BadFrame):
            raise
        except EukhedError as error:
            return rpc_lines.failure(asked.id, error)

    def _come_back(self, error: ConnectionLost | BadFrame) -> None:
        """Find a daemon again; what may be sent again is, what may not is answered."""
        lost = error if isinstance(error, ConnectionLost) else ConnectionLost(error.message)
        left, self._asked = list(self._asked.values()), {}
        try:
            self._client.recover()
        finally:
            if self._client.closing is not None:
                self._write([{"kind": "closing", "reason": self._client.closing}])
            known = [
                one
                for one in left
                if retry.again(lost, sent=True, known=one.command_id is not None, looks=False)
            ]
            self._write([rpc_lines.failure(one.id, lost) for one in left if one not in known])
        self._write([rpc_lines.hello(self._client.hello)])
        for one in known:
            self._send(one)

    def _write(self, lines: list[Item]) -> None:
        data = memoryview("".join(to_json(line) + "\n" for line in lines).encode())
        while data:
            data = data[os.write(1, data) :]


def _drained(events: deque[Any]) -> list[Any]:
    taken = list(events)
    events.clear()
    return taken


def defaults(kind: str, body: Item) -> Item:
    """What a body has where its line does not say: this process's own, as for every command line."""
    if kind in {"find_session", "open_session"}:
        own = {"cwd": os.getcwd(), "home": os.path.expanduser("~")}
        return own if kind == "find_session" else own | {"create": True}
    if kind != "run":
        return {}
    return {
        "cwd": submission.directory(None),
        "env": public(os.environb, base_only=False),
        "umask": submission.mask(),
        "limits": submission.limits(),
        "nice": submission.niceness(),
        "tty": False,
        "stdin": "typed" if body.get("tty") is True else "none",
        "survive": True,
        "detach": True,
    }
