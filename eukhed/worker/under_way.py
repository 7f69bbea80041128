"""How many commands of clients this worker has under way, whichever way they came.

Only those whose client is still there count: what one that has left had asked for goes on, and takes no place of
the others. Numbers of clients are a supervisor's own, so its epoch goes with each.
"""

from eukhed.worker.uplink import is_direct

Asker = tuple[int, int]  # epoch, client


class UnderWay:
    """Commands that want an answer, by who asked."""

    def __init__(self) -> None:
        self._counts: dict[Asker, int] = {}

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self._counts.values())

    def began(self, epoch: int, client: int) -> Asker:
        """One more; `ended` takes what is returned."""
        asker = (0 if is_direct(client) else epoch, client)
        self._counts[asker] = self._counts.get(asker, 0) + 1
        return asker

    def ended(self, asker: Asker) -> None:
        """One is over; nothing changes when its client has left."""
        count = self._counts.get(asker, 0) - 1
        if count > 0:
            self._counts[asker] = count
        else:
            self._counts.pop(asker, None)

    def client_gone(self, client: int) -> None:
        """A client has left."""
        self._counts = {asker: count for asker, count in self._counts.items() if asker[1] != client}

    def clear_relayed(self) -> None:
        """All but direct clients have: the supervisor that they came through is gone."""
        self._counts = {asker: count for asker, count in self._counts.items() if is_direct(asker[1])}
