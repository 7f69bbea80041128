"""Every duration, in milliseconds, and the order that they keep.

A `Timing` is built whole. Waits for real I/O are given; what waits for them is computed from them, so
no wait is shorter than what it waits for; the order is asserted for every table that can be built,
scaled ones too (law timeouts_ordered, shared/laws/timeouts.md).

Two clocks are two types: monotonic time decides, wall time is written down.
"""

from dataclasses import dataclass, field, fields
from typing import Final, NewType

MonotonicMs = NewType("MonotonicMs", int)  # since boot, without suspend; never stored
BootMs = NewType("BootMs", int)  # since boot, suspend included; never stored
WallMs = NewType("WallMs", int)  # since 1970; stored, never subtracted from the other two

IO_FLOOR_MS: Final = 500  # no wait for real I/O is scaled below this
NEVER_MS: Final = 10**14  # a window this long never ends; not scaled
SECOND: Final = 1000
MINUTE: Final = 60 * SECOND
DAY: Final = 24 * 60 * MINUTE

# How long to leave the machine alone when it cannot do a thing now. Not rules, so not scaled.
EXIT_POLL_MS: Final = 30 * SECOND  # from one look at a process that no pidfd can be had for to the next
ACCEPT_PAUSE_MS: Final = 100  # after an accept that found no descriptor left
CONNECT_PAUSE_MIN_MS: Final = 1  # while a listener's backlog is full; doubling
CONNECT_PAUSE_MAX_MS: Final = 50
BUNDLE_FLOOR_MS: Final = 15 * MINUTE  # what a run of a bundle has, unless its manifest says otherwise
BUNDLE_STEP_MS: Final = MINUTE  # and more for each so many tokens


@dataclass(frozen=True, slots=True)
class RestartBudget:
    """What the restart law is given: how many failures, in which window, after which pauses."""

    failures_max: int
    window_ms: int
    pause_min_ms: int
    pause_max_ms: int


@dataclass(frozen=True, slots=True)
class RevivalReach:
    """How old a busy stamp may be, and how far in the future."""

    max_age_ms: int
    skew_ms: int


@dataclass(frozen=True, slots=True)
class OrphanWindows:
    """When a worker without a supervisor looks, and when it leaves."""

    first_look_ms: int
    look_ms: int
    exit_ms: int  # without work; twice this with work; at NEVER_MS or more: never


@dataclass(frozen=True, slots=True)
class Backoff:
    """A pause that doubles."""

    min_ms: int
    max_ms: int


@dataclass(frozen=True, slots=True)
class CronRules:
    """What the cron laws are given: how far a failing job is delayed, and when it is stopped."""

    pauses_ms: tuple[int, ...]  # after the first, second, ... failure in a row; the last one repeats
    stop_after: int  # this many failures in a row pause the job (FAILURE_STOP_AFTER)
    interval_min_ms: int  # no job may ask for less


@dataclass(frozen=True, slots=True)
class Scale:
    """How EUKHED_TIMING_SCALE bends a duration."""

    factor: float = 1.0

    def rule(self, ms: int) -> int:
        """A rule about minutes and days: scaled as it is."""
        return max(1, round(ms * self.factor))

    def io(self, ms: int) -> int:
        """A wait for real I/O: scaled, but not below the floor."""
        return max(min(ms, IO_FLOOR_MS), round(ms * self.factor))


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits for real I/O that everything else is computed from."""

    connect_ms: int = 30 * SECOND  # shared from spawn: the worker's socket answers
    probe_ms: int = 500  # one connect to a socket that ought to answer
    auth_ms: int = 10 * SECOND
    replay_ms: int = 40 * SECOND  # replay without progress
    engine_teardown_ms: int = 16 * SECOND
    session_close_ms: int = 10 * SECOND  # the lease's drain inside
    forced_stop_ms: int = 10 * SECOND
    margin_ms: int = 3 * SECOND
    route_ms: int = 30 * SECOND
    quiesce_answer_ms: int = 5 * SECOND
    quiesce_send_ms: int = 5 * SECOND  # sending stop or release to all
    lock_ms: int = 2 * SECOND
    instance_retry_ms: int = 1 * SECOND  # a look holds the instance lock for a moment
    spawn_ms: int = 10 * SECOND  # the forkserver makes a worker
    worker_look_ms: int = 1 * SECOND  # one look of an orphan at its supervisor's socket


def _scaled_waits(scale: Scale) -> Waits:
    given = Waits()
    return Waits(**{item.name: scale.io(getattr(given, item.name)) for item in fields(Waits)})


@dataclass(frozen=True, slots=True)
class Timing:
    """The table of one process. Computed values are properties: a sum cannot disagree with its parts."""

    scale: float = 1.0
    lost_exit_ms: int = 5 * MINUTE  # WORKER_LOST_EXIT_DEFAULT_MS; a setting, so not yet scaled
    waits: Waits = field(init=False)

    def __post_init__(self) -> None:
        """Build the waits, then hold the whole table to its order."""
        object.__setattr__(self, "waits", _scaled_waits(Scale(self.scale)))
        assert timeouts_ordered(self), f"the timeouts of scale {self.scale} are out of order"

    def _rule(self, ms: int) -> int:
        return Scale(self.scale).rule(ms)

    # stops, from the inside out

    @property
    def stop_grace_ms(self) -> int:
        """A worker that was told to stop has this long before TERM."""
        return self.waits.engine_teardown_ms + self.waits.session_close_ms

    @property
    def drain_ms(self) -> int:
        """The supervisor's whole drain; workers and subtrees stop side by side, depth adds nothing."""
        waits = self.waits
        return waits.route_ms + self.stop_grace_ms + waits.forced_stop_ms + waits.margin_ms

    @property
    def launcher_wait_ms(self) -> int:
        """How long a launcher waits for a supervisor that drains."""
        return self.drain_ms + 2 * self.waits.margin_ms

    @property
    def service_stop_ms(self) -> int:
        """TimeoutStopSec of the unit."""
        return self.launcher_wait_ms + 5 * self.waits.margin_ms

    @property
    def parent_kills_child_ms(self) -> int:
        """A stop that a parent session asks for its child: route, drain, margin."""
        return self.waits.route_ms + self.drain_ms + self.waits.margin_ms

    # restarts

    @property
    def crash_loop_step_ms(self) -> int:
        """The longest time from one failed start to the next."""
        waits = self.waits
        step_ms = waits.connect_ms + waits.auth_ms + waits.replay_ms + self.stop_grace_ms
        return step_ms + waits.forced_stop_ms + self._rule(30 * SECOND)

    @property
    def restart(self) -> RestartBudget:
        """The window holds one step for each failure up to the one that gives up."""
        window_ms = max(self._rule(15 * MINUTE), 6 * self.crash_loop_step_ms)
        return RestartBudget(5, window_ms, self._rule(250), self._rule(30 * SECOND))

    # busy evidence and revival

    @property
    def busy_refresh_ms(self) -> int:
        """A worker with work says so again this often, on the clock that counts suspend."""
        return self._rule(5 * MINUTE)

    @property
    def revival_reach_ms(self) -> int:
        """A boot this soon after the crash revives."""
        return self._rule(25 * MINUTE)

    @property
    def revival(self) -> RevivalReach:
        """Evidence outlives one refresh beyond the reach, and the clocks' skew (REVIVAL_CLOCK_SKEW_MS)."""
        skew_ms = self._rule(60 * SECOND)
        return RevivalReach(self.revival_reach_ms + self.busy_refresh_ms + skew_ms, skew_ms)

    # a lost supervisor, a lost worker, a lost client

    @property
    def client_relaunch_ms(self) -> int:
        """CLIENT_RELAUNCH_WITHIN_MS."""
        return self._rule(MINUTE)

    @property
    def orphan(self) -> OrphanWindows:
        """The exit window holds a client's relaunch and the worker's next look after it."""
        look_ms = self._rule(5 * SECOND)
        if self.lost_exit_ms >= NEVER_MS:
            exit_ms = NEVER_MS
        else:
            floor_ms = self.client_relaunch_ms + look_ms + self.waits.worker_look_ms + 1
            exit_ms = max(self._rule(self.lost_exit_ms), floor_ms) if self.lost_exit_ms else 0
        return OrphanWindows(self._rule(1500), look_ms, exit_ms)

    @property
    def registration(self) -> Backoff:
        """A worker's tries to register; reset after success."""
        return Backoff(self._rule(250), self._rule(30 * SECOND))

    @property
    def tries(self) -> Backoff:
        """From the end of a try that failed to the next one (`run --retry`)."""
        return Backoff(self._rule(250), self._rule(30 * SECOND))

    @property
    def owned_worker_ms(self) -> int:
        """A client-owned session ends this long after its owner's last connection."""
        return self._rule(30 * SECOND)

    @property
    def owned_worker_adopted_ms(self) -> int:
        """The same after an adoption: the owner may still be relaunching."""
        return self.client_relaunch_ms + self.owned_worker_ms

    # idle shutdown

    @property
    def quiesce_hold_ms(self) -> int:
        """QUIESCE_HOLD_MS: a closed gate outlives the answers and the sending of stop or release."""
        held_ms = self.waits.quiesce_answer_ms + self.waits.quiesce_send_ms + 1
        return max(self._rule(15 * SECOND), held_ms)

    @property
    def passivation_ms(self) -> int:
        """An idle worker without client or job due closes after this."""
        return self._rule(30 * MINUTE)

    # scheduled jobs

    @property
    def cron(self) -> CronRules:
        """Pauses of 2, 4, 8, 16, 32, 60, 60 minutes: the eighth failure comes about three hours after the first."""
        pauses_ms = tuple(self._rule(minutes * MINUTE) for minutes in (2, 4, 8, 16, 32, 60, 60))
        return CronRules(pauses_ms, len(pauses_ms) + 1, self._rule(10 * SECOND))

    @property
    def cron_retry(self) -> Backoff:
        """From one try to the next when the jobs file could not be written (a lock, a full disk)."""
        return Backoff(self._rule(SECOND), self._rule(MINUTE))

    @property
    def job_soon_ms(self) -> int:
        """A job that is due this soon keeps its worker from being put to sleep."""
        return self._rule(60 * MINUTE)

    # housekeeping

    @property
    def sweep_every_ms(self) -> int:
        """From one sweep to the next."""
        return self._rule(5 * MINUTE)

    @property
    def sweep_age_ms(self) -> int:
        """A leftover untouched for this long is removed."""
        return self._rule(DAY)

    @property
    def command_results_ms(self) -> int:
        """How long a command's result is kept for a repeat."""
        return self._rule(DAY)


def timeouts_ordered(timing: Timing) -> bool:
    """Whether each timeout is at least the sum of those that it waits for (law timeouts_ordered)."""
    waits, restart = timing.waits, timing.restart
    orphan, hold_ms = timing.orphan, timing.quiesce_hold_ms
    never = timing.lost_exit_ms >= NEVER_MS or timing.lost_exit_ms == 0
    return (
        restart.window_ms >= (restart.failures_max + 1) * timing.crash_loop_step_ms
        and timing.stop_grace_ms >= waits.engine_teardown_ms + waits.session_close_ms
        and timing.drain_ms >= waits.route_ms + timing.stop_grace_ms + waits.forced_stop_ms
        and timing.launcher_wait_ms > timing.drain_ms
        and timing.service_stop_ms > timing.launcher_wait_ms
        and timing.parent_kills_child_ms >= waits.route_ms + timing.drain_ms
        and timing.revival.max_age_ms
        >= timing.revival_reach_ms + timing.busy_refresh_ms + timing.revival.skew_ms
        and (never or orphan.exit_ms > timing.client_relaunch_ms + orphan.look_ms + waits.worker_look_ms)
        and hold_ms > waits.quiesce_answer_ms + waits.quiesce_send_ms
        and timing.owned_worker_adopted_ms >= timing.client_relaunch_ms + timing.owned_worker_ms
    )


DEFAULT: Final = Timing()  # asserted when this module is imported
