"""The shapes of what a daemon answers: plain maps, with their keys named. A newer daemon may say more."""

from typing import Any, Final, TypedDict

OPEN: Final = frozenset({"queued", "running", "waiting"})  # the states of a run that is not over


class Status(TypedDict):
    """The daemon at a glance (`status`)."""

    running: bool
    pid: int
    version: str
    build: str
    protocol: int
    generation: int
    socket: str
    root: str
    uptime_s: int
    sessions: int
    workers: int
    gave_up: list[str]
    runs: dict[str, int]
    waiting: list[dict[str, Any]]
    next_job: dict[str, Any] | None  # {job, at, session, name}: the scheduled job that is due next
    supervised_by: str
    survives_logout: bool
    config_problems: list[str]
    timing_scale: float


class Worker(TypedDict):
    """One worker process (`ps`)."""

    session: str
    name: str
    worker: str
    pid: int | None
    state: str
    work: list[dict[str, Any]]
    waiting: list[dict[str, Any]]
    restarts: int
    restarts_left: int
    next_try_at: int | None  # wall clock, milliseconds
    last_error: str | None
    uptime_s: int | None
    cpu_s: float | None
    pss_bytes: int | None
    build: str
    adopted: bool
    orphaned: bool
    direct: list[dict[str, Any]]  # clients on channels of their own: {client, pid, owner?}
    owner: str | None  # whose session it is, when a client made it for itself
    owner_here: bool | None


class Session(TypedDict):
    """One session of a list (`sessions`)."""

    id: str
    name: str
    cwd: str
    state: str
    active: bool
    archived: bool
    modified: int  # wall clock, milliseconds
    work: list[dict[str, Any]]


class Found(TypedDict, total=False):
    """The session that is meant; `created` where it was made, `others` where it was preferred to some."""

    session: str
    name: str
    cwd: str
    created: bool
    others: list[str]


class Run(TypedDict, total=False):
    """One run (`runs`, `attach`, `wait`); times are wall clock, milliseconds."""

    run: int
    address: str
    session: str
    name: str
    state: str  # queued, running, waiting, done, failed, stopped, interrupted, lost
    exit: int | None
    signal: int | None
    error: str | None
    stopped_by: str | None
    waiting_for: list[str] | None  # addresses
    command: str
    label: str | None
    again: int | None  # the run that this one repeats
    cwd: str
    tty: bool
    submitted_at: int
    started_at: int | None
    ended_at: int | None
    seconds: float | None
    output_bytes: int | None
    dropped_bytes: int | None
    pid: int | None
