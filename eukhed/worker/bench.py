"""What every run of a worker is made with."""

from collections.abc import Mapping
from typing import NamedTuple

from eukhed.host.seam import Host
from eukhed.paths import Places
from eukhed.timing import Backoff
from eukhed.worker.busy import BusyJournal
from eukhed.worker.events import Events
from eukhed.worker.holding import Holders
from eukhed.worker.programs.programs import Programs
from eukhed.worker.queue import Queue
from eukhed.worker.session import Session
from eukhed.worker.work import Work


class Bench(NamedTuple):
    """The tools that runs share."""

    host: Host
    session: Session
    holders: Holders
    work: Work
    busy: BusyJournal
    events: Events
    places: Places
    cap_bytes: int
    grace_ms: int
    environ: Mapping[bytes, bytes]  # given back to every run: EUKHED_HOME, _RUNTIME_DIR, _SOCKET
    queue: Queue
    tries: Backoff
    programs: Programs | None = None  # without them no bundle is run

    def run_directory(self, number: int) -> str:
        """Where a run's holder keeps its socket and status."""
        return self.places.run_directory(self.session.id, number)
