"""A view of one run: its output each byte once and in order, whatever dies between.

An attachment lives on one connection and one worker. When either is lost it is made again, from the bytes
that this view has (place_law), so nothing is shown twice and nothing is left out. What a view may be sent
ahead of what it has written out is its window of credit.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol

from eukhed.client.client import Client
from eukhed.client.place_law import take

WINDOW: Final = 1024 * 1024  # bytes on the way to one view
CREDIT_AT: Final = WINDOW // 8  # returned in pieces of this size, or when there is nothing left to write

Stream = Literal["out", "err"]


class Output(NamedTuple):
    """Bytes to show."""

    stream: Stream
    data: bytes
    attachment: int  # whose credit they are


class Dropped(NamedTuple):
    """Bytes that are no longer kept, or never came."""

    stream: Stream
    bytes: int


class Notice(NamedTuple):
    """Something that happened to the run or its worker."""

    text: str


class Ended(NamedTuple):
    """The run is over; the last thing that an attachment says."""

    state: str
    exit: int | None = None
    signal: int | None = None
    error: str | None = None
    stopped_by: str | None = None


class Detached(NamedTuple):
    """Another client detached this view; the run goes on."""


Shown = Output | Dropped | Notice | Ended | Detached


class Teller(Protocol):
    """Says what has no answer, as Client.tell."""

    def tell(self, kind: str, body: Mapping[str, Any], *, session: str | None = None) -> None: ...


class View:
    """One run as one client sees it: which bytes it has, and what it owes for them. It asks nothing itself."""

    def __init__(
        self, teller: Teller, session: str, run: int, *, look: bool = False, tty: str | None = None
    ) -> None:
        """Make a view that is not open yet; `tty` is the name that others see of it."""
        self._tty = tty
        self._teller = teller
        self.session = session
        self.run = run
        self._look = look
        self._places: dict[Stream, int] = {"out": 0, "err": 0}
        self._number: int | None = None
        self._owed = 0  # written out, and not yet returned as credit
        self._size: tuple[int, int] | None = None

    @property
    def live(self) -> bool:
        """Whether a worker sends for it now."""
        return self._number is not None

    def opened(self, number: int) -> None:
        """It is open since the run was made: from the first byte."""
        self._number = number

    def attaching(
        self, lines: int | None, after: Mapping[Stream, int] | None = None, *, exclusive: bool = False
    ) -> dict[str, Any]:
        """What asks for it the first time: `lines` before the end (None: the first byte), or after these bytes."""
        body = self._body() | {"lines": lines, "exclusive": exclusive}
        return body if after is None else body | {"after": dict(after)}

    def began(self, answer: Mapping[str, Any]) -> None:
        """It was attached the first time."""
        begin = answer.get("from") or {}
        self._places = {"out": int(begin.get("out", 0)), "err": int(begin.get("err", 0))}
        self.opened(answer["attachment"])

    def resuming(self) -> dict[str, Any]:
        """What asks for it anew, after the bytes that it has."""
        return self._body() | {"after": dict(self._places)}

    def cut(self) -> None:
        """Forget the attachment: its connection or its worker is gone."""
        self._number = None
        self._owed = 0

    def leave(self) -> None:
        """End the attachment, if there is one; the run goes on."""
        if self._number is not None:
            self._teller.tell("detach_client", {"attachment": self._number}, session=self.session)
            self.cut()

    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"run": self.run, "window": WINDOW, "look": self._look, "exclusive": False}
        if self._tty is not None:
            body["client_tty"] = self._tty
        if self._size is not None:
            body["rows"], body["cols"] = self._size
        return body

    # what comes

    def take(self, event: Mapping[str, Any]) -> list[Shown]:
        """Return what an event of the client has for this view; nothing if it is not for it."""
        body = event["body"]
        if self._number is None or body.get("attachment") != self._number:
            return []
        if event.get("session", self.session) != self.session:
            return []  # numbers are a worker's own
        match event["type"]:
            case "output":
                return self._output(body["stream"], body["offset"], body["data"])
            case "dropped":
                return self._dropped(body["stream"], body["offset"], body["bytes"])
            case "notice":
                return [Notice(body["text"])]
            case "ended":
                self._number = None
                told = {key: body[key] for key in Ended._fields if body.get(key) is not None}
                return [Ended(**told)]
            case "detached":
                self._number = None
                return [Detached()]
        return []

    def _output(self, stream: Stream, offset: int, data: bytes) -> list[Shown]:
        assert self._number is not None
        taken = take(self._places[stream], offset, len(data))
        self._places[stream] = taken.place
        shown: list[Shown] = [Dropped(stream, taken.missing)] if taken.missing else []
        if taken.skip:
            self.wrote(taken.skip, self._number, all_out=True)
        if taken.skip < len(data):
            shown.append(Output(stream, data[taken.skip :], self._number))
        return shown

    def _dropped(self, stream: Stream, offset: int, count: int) -> list[Shown]:
        taken = take(self._places[stream], offset, count)
        self._places[stream] = taken.place
        fresh = taken.missing + count - taken.skip
        return [Dropped(stream, fresh)] if fresh else []

    def wrote(self, count: int, attachment: int, *, all_out: bool) -> None:
        """Count bytes of an attachment as written out, and return credit for them."""
        if attachment != self._number:
            return  # of an attachment that was cut: the next one has a window of its own
        self._owed += count
        if self._owed and (all_out or self._owed >= CREDIT_AT):
            self._teller.tell(
                "credit", {"attachment": self._number, "bytes": self._owed}, session=self.session
            )
            self._owed = 0


class Attachment(View):
    """A view over a client that blocks, or that is asked and looked at in turns."""

    def __init__(
        self, client: Client, session: str, run: int, *, look: bool = False, tty: str | None = None
    ) -> None:
        """As a view."""
        super().__init__(client, session, run, look=look, tty=tty)
        self._client = client
        self._asked: int | None = None

    def first(
        self,
        *,
        lines: int | None,
        after: Mapping[Stream, int] | None = None,
        exclusive: bool = False,
        size: tuple[int, int] | None = None,
    ) -> dict[str, Any]:
        """Attach, and return the daemon's answer: the run's record, `from`, `others`, `earlier_lines`.

        Args:
            lines: begin this many lines before the end; None at the first byte.
            after: begin after these bytes of each stream instead.
            exclusive: detach the other clients first.
            size: rows and columns of this view's terminal.
        """
        self._size = size
        body = self.attaching(lines, after, exclusive=exclusive)
        answer: dict[str, Any] = self._client.request("attach", body, session=self.session, looks=True)
        self.began(answer)
        return answer

    def cut(self) -> None:
        """Forget the attachment: its connection or its worker is gone."""
        super().cut()
        self._asked = None

    def ask_again(self, size: tuple[int, int] | None = None) -> None:
        """Ask for it anew, after the bytes that this view has; `resumed` tells when it is there."""
        self._size = size
        self._asked = self._client.ask("attach", self.resuming(), session=self.session)

    def resumed(self) -> bool | None:
        """None while the answer is awaited or was never asked for; True when it is there; its error is raised."""
        if self._asked is None or not self._client.answered(self._asked):
            return None
        asked, self._asked = self._asked, None
        self.opened(self._client.taken(asked)["attachment"])
        return True

    @property
    def asking(self) -> bool:
        return self._asked is not None
