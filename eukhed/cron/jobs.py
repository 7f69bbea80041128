"""The words of the cron store: a job, its schedule, the claim of one fire, all of a file.

Pure records. How they look on the disk is document.py's; what may become of them is cron_law's.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from eukhed.host.seam import Identity
from eukhed.timing import WallMs

More = tuple[tuple[str, str], ...]  # members of a record that this version gives no meaning: key, JSON text


class Status(Enum):
    """What a user, or the end of a run, made of a job."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


Kind = Literal["once", "interval", "cron"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a job fires. `expression` is what the user wrote."""

    kind: Kind
    expression: str
    interval_ms: int | None = None  # of an interval; of `in 20m`, from the job's making
    timezone: str | None = None  # of a cron pattern; None is the zone of the machine that reads it
    more: More = ()


@dataclass(frozen=True, slots=True)
class Job:
    """An entry of the cron store. It runs `argv`, or sends `prompt`; one of the two is given."""

    id: str
    status: Status
    session: str | None  # None: in the global file; each fire makes a session in `cwd`
    cwd: str
    schedule: Schedule
    created_at: WallMs
    updated_at: WallMs  # grows with every change, whatever the clock does
    label: str | None = None
    prompt: str | None = None
    argv: tuple[str, ...] | None = None
    next_run_at: WallMs | None = None
    last_run_at: WallMs | None = None
    last_skipped_at: WallMs | None = None
    last_error: str | None = None
    run_count: int = 0
    failures: int = 0  # in a row
    more: More = ()


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The claim of one fire: it names its owner and its run.

    The run is the submission `id` of `session`: a repeat after a crash is the same submission.
    """

    id: str  # cron:<job>:<scheduled_for, ms since 1970>
    job: str
    session: str
    claimed_at: WallMs
    scheduled_for: WallMs
    owner: Identity
    manual: bool = False  # asked for by a user, beside the schedule
    more: More = ()


@dataclass(frozen=True, slots=True)
class Catalog:
    """What could be read of one jobs file."""

    jobs: tuple[Job, ...] = ()
    dispatches: tuple[Dispatch, ...] = ()
    unread: frozenset[str] = frozenset()  # ids of jobs that stand in the file and could not be read

    def job(self, wanted: str) -> Job | None:
        """The job of that id."""
        return next((job for job in self.jobs if job.id == wanted), None)

    def dispatch(self, wanted: str) -> Dispatch | None:
        """The claim of that id."""
        return next((claim for claim in self.dispatches if claim.id == wanted), None)


class End(Enum):
    """How a fire ended."""

    RAN = "ran"
    FAILED = "failed"  # its run ended failed, lost or incomplete, or could not start
    STOPPED = "stopped"  # by a user
    SKIPPED = "skipped"  # withdrawn, or no longer wanted: nothing ran
    INTERRUPTED = "interrupted"  # its run ended and nobody saw how


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a fire ended, and what to show for it."""

    end: End
    error: str | None = None


def request_id(job: str, scheduled_for: WallMs) -> str:
    """The request id of a fire, the same for every try of it."""
    return f"cron:{job}:{scheduled_for}"
