"""All attachments of a worker: who looks at which run. Those that came through a supervisor go with it."""

from collections.abc import Mapping

from anyio.abc import TaskGroup

from eukhed.errors import NotFound
from eukhed.host.seam import Host
from eukhed.worker.attachments import Attachment
from eukhed.worker.runs import Run
from eukhed.worker.segments import Stream
from eukhed.worker.uplink import Uplink, is_direct


class Viewers:
    """Attachments by number."""

    def __init__(self, host: Host, uplink: Uplink, session: str, tasks: TaskGroup) -> None:
        self._host = host
        self._uplink = uplink
        self._session = session
        self._tasks = tasks
        self._open: dict[int, Attachment] = {}
        self._last = 0

    def open(
        self,
        run: Run,
        client: int,
        after: Mapping[Stream, int],
        window: int,
        *,
        look: bool = False,
        tty: str = "",
    ) -> Attachment:
        """A new viewer of a run; it begins to send once the loop turns, so after the answer of its command."""
        self._last += 1
        attachment = Attachment(
            self._host,
            self._uplink,
            self._session,
            run,
            number=self._last,
            client=client,
            after=after,
            window=window,
            look=look,
            tty=tty,
        )
        self._open[attachment.number] = attachment
        run.viewers += 1
        self._tasks.start_soon(self._show, attachment)
        return attachment

    def of(self, number: int, client: int) -> Attachment:
        """The attachment of that number, if it is this client's.

        Raises:
            NotFound: it is over, or another's.
        """
        attachment = self._open.get(number)
        if attachment is None or attachment.client != client:
            raise NotFound(f"there is no attachment {number} of this client")
        return attachment

    def others(self, run: Run, client: int) -> list[Attachment]:
        """Who else looks at this run."""
        return [one for one in self._open.values() if one.run is run and one.client != client]

    def close(self, attachment: Attachment) -> None:
        """End it; the run goes on. The viewer is told, as the last thing that it hears of it."""
        attachment.detach()

    def client_gone(self, client: int) -> None:
        """End all of a client that is gone."""
        for attachment in tuple(self._open.values()):
            if attachment.client == client:
                attachment.scope.cancel()

    def clear_relayed(self) -> None:
        """End all but those of direct clients: the supervisor that they came through is gone."""
        for attachment in tuple(self._open.values()):
            if not is_direct(attachment.client):
                attachment.scope.cancel()

    async def _show(self, attachment: Attachment) -> None:
        try:
            await attachment.show()
        finally:
            attachment.run.viewers -= 1
            del self._open[attachment.number]
