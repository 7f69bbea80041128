"""Brings a client back to a daemon that it lost: one short step at a time, so that its terminal stays alive.

relaunch_law decides each step; this reads the facts and does what it is told.
"""

import os
import subprocess
import time
from collections.abc import Mapping
from typing import Any, Final

from eukhed.build import digest
from eukhed.client.connection import Connection, daemon_runs
from eukhed.client.launch import abandon, launched, start_launcher
from eukhed.client.relaunch_law import Facts, Verdict, verdict
from eukhed.errors import ConnectionLost, EukhedError, NoDaemon
from eukhed.paths import Places
from eukhed.timing import Timing

STEP_MS: Final = 50  # how long a client that waits looks elsewhere between two steps
LAUNCH_AGAIN_MS: Final = 5_000  # after a launch that failed
HELLO_MS: Final = 2_000  # of one step; a daemon that is slower is tried again


class Recovery:
    """The way back of one client. `step` until it gives a connection, or raises ConnectionLost."""

    def __init__(self, places: Places, hello: Mapping[str, Any], closing: str | None) -> None:
        self._places = places
        self._closing = closing
        self._lost_at = time.monotonic()
        self._within_ms = Timing(float(os.environ.get("EUKHED_TIMING_SCALE") or 1)).client_relaunch_ms
        self._build = str(hello.get("build"))
        self._own_build = self._build == digest()
        self._launcher: subprocess.Popen[bytes] | None = None
        self._launch_failed_at: float | None = None
        self._reason = "the daemon is gone"

    def step(self) -> Connection | None:
        """Look once, and do what the law says."""
        if not self.look():
            return None
        try:
            return Connection(self._places, HELLO_MS)
        except (ConnectionLost, NoDaemon) as error:
            self.failed(error)
            return None

    def look(self) -> bool:
        """Whether there is a daemon to connect to now. ConnectionLost when none will be."""
        self._reap()
        seen = verdict(self._facts())
        if seen is Verdict.LEAVE:
            raise self._parting()
        if seen is Verdict.LAUNCH:
            self._launcher = start_launcher(self._places, interactive=False)
        return seen is Verdict.CONNECT

    def failed(self, error: ConnectionLost | NoDaemon) -> None:
        """There was one, and it did not say hello: it starts, or it ends. The next look tells."""
        self._reason = error.message

    def leave(self) -> None:
        """Nobody waits for it any more."""
        if self._launcher is not None:
            abandon(self._launcher)

    def _facts(self) -> Facts:
        failed_at = self._launch_failed_at
        failed_lately = failed_at is not None and _since_ms(failed_at) < LAUNCH_AGAIN_MS
        return Facts(
            ended=self._closing in {"shutdown", "idle"},
            replaced=self._closing == "replaced",
            lost_for_ms=_since_ms(self._lost_at),
            within_ms=self._within_ms,
            listens=daemon_runs(self._places),
            own_build=self._own_build,
            launching=self._launcher is not None or failed_lately,
        )

    def _reap(self) -> None:
        if self._launcher is None or self._launcher.poll() is None:
            return
        launcher, self._launcher = self._launcher, None
        try:
            launched(launcher)
        except EukhedError as error:
            self._reason = error.message
            self._launch_failed_at = time.monotonic()

    def _parting(self) -> ConnectionLost:
        start = [["eukhed", "start"]]
        if self._closing == "shutdown":
            return ConnectionLost("the daemon was shut down", next=start)
        if self._closing == "idle":
            return ConnectionLost("the daemon was idle, and left", next=start)
        if not self._own_build:
            theirs = (
                f"the daemon is gone; it was another build ({self._build}), which this client does not start"
            )
            return ConnectionLost(theirs, next=start)
        return ConnectionLost(self._reason, next=start)


def _since_ms(moment: float) -> int:
    return int((time.monotonic() - moment) * 1000)
