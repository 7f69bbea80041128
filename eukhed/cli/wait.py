"""`eukhed wait`: until runs are over; exit as they did."""

import argparse
import time
from typing import Any, Final

from eukhed.cli import exit_law, finding
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.client.client import Client
from eukhed.client.results import OPEN
from eukhed.errors import ConnectionLost, Invalid, SessionRecovering

BY_TIMEOUT: Final = "timeout"
STATES: Final = ("running", "done", "failed", "stopped", "interrupted", "lost")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `wait`."""
    parser.add_argument("runs", nargs="*", metavar="R", help="runs; without any, the last of the session")
    parser.add_argument("--session", metavar="S", help="all runs of this session that are not over")
    parser.add_argument("--all", action="store_true", help="all runs that are not over, of all sessions")
    parser.add_argument("--any", action="store_true", help="until one of them is over")
    parser.add_argument(
        "--for", dest="state", choices=STATES, metavar="STATE",
        help=f"until they are {', '.join(STATES[:-1])} or {STATES[-1]}; not 0 if they cannot be any more",
    )  # fmt: skip
    parser.add_argument("--match", metavar="REGEX", help="until a line of one run's output matches")
    parser.add_argument("--timeout", type=_duration, metavar="D", help="at most 90s, 5m, 2h; then exit 124")


def _duration(text: str) -> int:
    from eukhed.cli.options import duration_ms  # noqa: PLC0415 - loaded by now: this is a parser's type

    return duration_ms(text)


def run(context: Context, flags: Options) -> int:
    """Wait; exit with the status of the first that failed, in the order in which they were named."""
    ends = None if flags.timeout is None else time.monotonic() + flags.timeout / 1000
    with Client(context.places) as client:
        wanted = _wanted(client, context, flags)
        if flags.match is not None:
            return _match(context, flags, client, wanted, ends)
        waiting = _Waiting(client, wanted, any_of_them=flags.any, state=flags.state)
        if context.loud > 0:
            context.say(f"waits for {', '.join(found.address for found in wanted) or 'nothing'}")
        over = waiting.until(ends)
    records = [over[found.address] for found in wanted if found.address in over]
    if context.json:
        context.out(to_json(records))
    if len(over) < (1 if flags.any and wanted else len(wanted)):
        context.say(
            f"not over in time: {', '.join(one.address for one in wanted if one.address not in over)}"
        )
        return exit_law.TIMED_OUT
    statuses = [_status(record, flags.state) for record in records]
    return min(statuses) if flags.any and flags.state else next((status for status in statuses if status), 0)


def _status(record: dict[str, Any], state: str | None) -> int:
    """Return 0 for a run that is what was waited for, else its status, but never 0."""
    if state is None:
        return of_record(record)
    if record["state"] == state or (state == "running" and record.get("started_at") is not None):
        return 0
    return of_record(record) or 1


def _match(
    context: Context, flags: Options, client: Client, wanted: list[finding.Found], ends: float | None
) -> int:
    from eukhed.cli import matching  # noqa: PLC0415 - it needs `re`, which nothing else here does

    if len(wanted) != 1 or flags.state is not None:
        raise Invalid("--match looks at the output of one run", next=[["eukhed", "wait", "--help"]])
    found = wanted[0]
    assert found.run is not None
    pattern = matching.pattern_of(flags.match)
    try:
        ended = matching.until_match(client, found.session.id, found.run, pattern, ends)
    except TimeoutError:
        context.say(f"no line of {found.address} matched in time")
        return exit_law.TIMED_OUT
    if context.json:
        context.out(to_json({"address": found.address, "matched": ended is None}))
    if ended is None:
        return 0
    context.say(f"{found.address} is {ended.state}, and no line matched")
    return of_record(ended._asdict()) or 1


def of_record(record: dict[str, Any]) -> int:
    """Return the exit status that a run's record stands for."""
    timed_out = record.get("stopped_by") == BY_TIMEOUT
    return exit_law.of_end(record.get("exit"), record.get("signal"), timed_out=timed_out)


def _wanted(client: Client, context: Context, flags: Options) -> list[finding.Found]:
    if flags.runs:
        return [finding.some_run(client, context, word, flags.session) for word in flags.runs]
    if not flags.all and not flags.session:
        return [finding.some_run(client, context, None)]
    body: dict[str, Any] = {"all": True}
    if flags.session:
        body["session"] = finding.session(client, context, flags.session).id
    listed = client.request("runs", body, looks=True)["runs"]
    return [
        finding.Found(finding.Session(one["session"], one["name"]), one["run"])
        for one in reversed(listed)
        if one["state"] in OPEN
    ]


class _Waiting:
    """Some runs that are waited for over one connection, whatever becomes of it."""

    def __init__(
        self, client: Client, wanted: list[finding.Found], *, any_of_them: bool, state: str | None
    ) -> None:
        self._client = client
        self._state = state
        self._more = {"for": "running"} if state == "running" else {}
        self._any = any_of_them
        self._over: dict[str, dict[str, Any]] = {}
        self._asked: dict[int, finding.Found] = {}
        self._ask(wanted)

    def until(self, ends: float | None) -> dict[str, dict[str, Any]]:
        """Return the records of the runs that are over, by address."""
        while self._asked and not (self._any and self._enough()):
            left_ms = None if ends is None else int((ends - time.monotonic()) * 1000)
            if left_ms is not None and left_ms <= 0:
                break
            try:
                self._client.flush()
                self._client.pump(left_ms)
            except ConnectionLost:
                self._again(ends)
                continue
            self._client.events.clear()
            self._take()
        return self._over

    def _enough(self) -> bool:
        """Whether one is what any of them was to be."""
        records = self._over.values()
        return any(self._state is None or not _status(record, self._state) for record in records)

    def _ask(self, wanted: list[finding.Found]) -> None:
        for found in wanted:
            self._asked[
                self._client.ask("wait", {"run": found.run} | self._more, session=found.session.id)
            ] = found

    def _take(self) -> None:
        for number in [number for number in self._asked if self._client.answered(number)]:
            found = self._asked.pop(number)
            try:
                self._over[found.address] = self._client.taken(number)
            except SessionRecovering:  # its worker was lost: the next one knows the run too
                time.sleep(0.05)
                self._ask([found])

    def _again(self, ends: float | None) -> None:
        self._client.lost()
        while not self._client.recover_step():
            if ends is not None and time.monotonic() >= ends:
                self._asked.clear()
                return
            time.sleep(0.05)
        unfinished, self._asked = list(self._asked.values()), {}
        self._ask(unfinished)
