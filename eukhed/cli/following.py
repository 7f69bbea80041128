"""`eukhed log S --follow`: what all runs of a session write, those too that begin later, as one stream.

Each run is an attachment of its own that goes on from the bytes that were shown. The session's events tell
of new runs; whenever they may have missed one (a worker or a daemon was lost), the disk is looked at again.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from eukhed.cli import disk
from eukhed.cli.context import Context
from eukhed.cli.pages import Pages
from eukhed.cli.render import plain
from eukhed.client.attachment import Attachment, Detached, Dropped, Ended, Notice, Output, Shown
from eukhed.client.client import Client
from eukhed.errors import ConnectionLost, EukhedError, NoDaemon
from eukhed.storage.listing import SessionRow

NEWS: Final = frozenset({"run_submitted", "run_started", "run_ended"})
MISSED: Final = frozenset({"session_lost", "lost"})


class Following:
    """Shows a session until it is closed, or the person who looks has seen enough."""

    def __init__(
        self, context: Context, row: SessionRow, pages: Pages, only: int | None, shown: Iterable[int]
    ) -> None:
        """`only`: one run of the session, which ends it; `shown`: runs that are shown to their end."""
        self._only = only
        self._context = context
        self._row = row
        self._pages = pages
        self._over = set(shown)  # runs of which nothing more comes
        self._views: dict[int, Attachment] = {}

    def show(self, client: Client) -> None:
        """Show what comes.

        Raises:
            EukhedError: the session was given up, or the daemon is gone and does not come back.
        """
        while True:
            try:
                self._begin(client)
                while self._turn(client):
                    pass
            except ConnectionLost:
                client.recover()
            except _OverError:
                return

    def _begin(self, client: Client) -> None:
        """Follow the session, and each run that is not shown to its end."""
        self._views.clear()
        answer = client.request("follow_session", session=self._row.id, looks=True)
        numbers = {int(one["run"]) for one in answer.get("runs", ())}
        numbers |= {task.id for task in disk.tasks(self._context.places, self._row)}
        for number in sorted(numbers):
            self._view(client, number)

    def _view(self, client: Client, number: int) -> None:
        if number in self._over or number in self._views or self._only not in {None, number}:
            return
        view = self._views[number] = Attachment(client, self._row.id, number, look=True)
        told = view.first(lines=None, after=self._pages.places(number))
        self._pages.title(number, str(told.get("command", "")))

    def _turn(self, client: Client) -> bool:
        """Do all that came, and wait for something; False to begin anew."""
        again = False
        while client.events:
            event = client.events.popleft()
            if event.get("session") != self._row.id:
                continue
            kind, body = event["type"], event["body"]
            if kind in NEWS:
                self._view(client, int(body["run"]))
            elif kind == "session_gave_up":
                name = self._row.name
                raise EukhedError(
                    f"session {name} was given up: {body.get('reason')}", next=[["eukhed", "reopen", name]]
                )
            elif kind == "session_closed":
                raise _OverError
            again = again or kind in MISSED
            for number, shown in list(self._shown(event)):
                self._take(number, shown)
        self._pages.flush()
        if self._only is not None and self._only in self._over:
            raise _OverError
        if again:
            return False
        client.pump(None)
        return True

    def _shown(self, event: Mapping[str, Any]) -> Iterator[tuple[int, Shown]]:
        for number, view in list(self._views.items()):
            for shown in view.take(event):
                yield number, shown

    def _take(self, number: int, shown: Shown) -> None:
        match shown:
            case Output(stream, data, attachment):
                self._pages.output(number, stream, data)
                self._views[number].wrote(len(data), attachment, all_out=True)
            case Dropped(stream, count):
                self._pages.dropped(number, stream, count)
            case Notice(text):
                self._pages.note(number, text)
            case Ended():
                self._over.add(number)
                self._pages.end(number)
                how = f"{shown.state}, exit {shown.exit}" if shown.exit is not None else shown.state
                self._context.say(f"{plain(self._row.name)}/{number} is over: {how}")
                del self._views[number]
            case Detached():
                del self._views[number]


class _OverError(Exception):
    """Nothing more comes."""


def follow(context: Context, row: SessionRow, pages: Pages, *, only: int | None, shown: Iterable[int]) -> int:
    """Go on from what is shown, as a client that only looks; Ctrl-C ends it, and the end of a run that is alone."""
    try:
        client = Client(context.places)
    except NoDaemon:
        return 0  # nobody writes on
    with client:
        try:
            Following(context, row, pages, only, shown).show(client)
        except KeyboardInterrupt:
            return 0
    if only is None:
        context.say(f"session {row.name} was closed")
    return 0
