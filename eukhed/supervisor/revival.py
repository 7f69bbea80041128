"""Whether a dead worker's session starts again: reads its evidence, asks revival_law, says why not.

The recovery journal is the worker's; here it is read, and settled when the supervisor gives up.
"""

import json
from dataclasses import replace
from typing import Any, NamedTuple

from eukhed.errors import EukhedError
from eukhed.host.seam import Files
from eukhed.storage import lease
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.records import Record, append_line, read_whole
from eukhed.supervisor.revival_law import Facts, Verdict, verdict
from eukhed.timing import WallMs


class Evidence(NamedTuple):
    """The latest record of a session in a recovery journal."""

    busy: bool
    recorded_at: WallMs | None
    operation: str = ""


NONE = Evidence(busy=False, recorded_at=None)


async def ask(house: House, record: Record) -> Verdict:
    """Decide about the session of this dead worker; a refusal is one line in the log and nothing else."""
    facts = await house.host.off_loop(lambda: _facts(house, record))
    if facts.busy:
        rows = await house.looks.rows(house)
        archived = any(row.archived for row in rows if row.id == record.session)
        facts = replace(facts, archived=archived)
    answer = verdict(facts, house.host.clock.wall_ms(), house.settings.timing.revival)
    if answer is not Verdict.REVIVE:
        LOG.info("session %s is not revived: %s", record.session, answer.value)
    return answer


async def settle(house: House, record: Record, operation: str) -> None:
    """Write that this worker's session is not busy any more, whatever its evidence said."""
    now = house.host.clock.wall_ms()
    line = {"session": record.session, "busy": False, "operation": operation, "recordedAt": now}
    try:
        await house.host.off_loop(lambda: _append(house.host.files, record.journal, line))
    except OSError as error:
        LOG.warning("%s cannot be settled: %s", record.journal, error.strerror)


def latest(text: bytes, session: str) -> Evidence:
    """The last line about a session that can be read; those that cannot are skipped."""
    found = NONE
    for line in text.split(b"\n"):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if not isinstance(told, dict) or told.get("session") != session:
            continue
        stamp = told.get("recordedAt")
        at = WallMs(stamp) if isinstance(stamp, int) and not isinstance(stamp, bool) else None
        found = Evidence(told.get("busy") is True, at, str(told.get("operation", "")))
    return found


def _facts(house: House, record: Record) -> Facts:
    files = house.host.files
    try:
        text = read_whole(files, record.journal) or b""
    except OSError as error:
        LOG.warning("%s cannot be read, so it is no evidence: %s", record.journal, error.strerror)
        text = b""
    evidence = latest(text, record.session)
    kept = files.stat(house.settings.places.storage(record.session)) is not None  # else it was deleted
    return Facts(
        busy=evidence.busy and kept,
        gave_up=record.lifecycle == "failed",
        archived=False,  # read only if it matters
        lease_held=evidence.busy and _lease_held(house, record.session),
        stamp=evidence.recorded_at,
    )


def _lease_held(house: House, session: str) -> bool:
    """Whether a live process holds the session; what cannot be read holds nothing."""
    try:
        path = house.settings.places.storage(session)
        return lease.holder(house.host.files, path, house.host.processes) is not None
    except EukhedError as error:
        LOG.warning("the lease of session %s cannot be read: %s", session, told(error))
        return False


def _append(files: Files, path: str, line: dict[str, Any]) -> None:
    file = files.open(path, write=True, create=True)
    try:
        append_line(file, json.dumps(line, separators=(",", ":")).encode() + b"\n")
    finally:
        file.close()
