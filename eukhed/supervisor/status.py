"""What is told of the supervisor and its workers: `status` and `ps`, with the keys that scripts rely on."""

from typing import TYPE_CHECKING, Any

from eukhed.build import PROTOCOL
from eukhed.host.seam import Files
from eukhed.supervisor.house import House
from eukhed.supervisor.routing_law import Phase
from eukhed.wire.messages import Command

if TYPE_CHECKING:
    from eukhed.supervisor.lifecycle import Keeper

SETTLED = {
    Phase.UNDECIDED: "recovering",
    Phase.STARTING: "starting",
    Phase.PAUSED: "restarting",
    Phase.STOPPING: "stopping",
    Phase.FAILED: "gave up",
}
TICKS_PER_SECOND = 100  # USER_HZ of every Linux that Python runs on


async def status(house: House, _command: Command, _body: dict[str, Any]) -> dict[str, Any]:
    """The daemon at a glance."""
    settings = house.settings
    rows = await house.looks.rows(house)
    keepers = list(house.keepers.values())
    files, own = house.host.files, house.own.pid
    used = await house.host.off_loop(lambda: {"cpu_s": cpu_s(files, own), "pss_bytes": pss_bytes(files, own)})
    return used | {
        "running": True,
        "pid": house.own.pid,
        "version": settings.version,
        "build": settings.build,
        "protocol": PROTOCOL,
        "generation": house.generation,
        "socket": settings.places.socket,
        "root": settings.places.root,
        "uptime_s": (house.host.clock.monotonic_ms() - house.began) // 1000,
        "sessions": len(rows),
        "workers": sum(keeper.route.phase is Phase.READY for keeper in keepers),
        "gave_up": [keeper.route.name for keeper in keepers if keeper.route.phase is Phase.FAILED],
        "runs": {
            state: sum(_is(item, state) for keeper in keepers for item in keeper.work)
            for state in ("running", "queued")
        },
        "waiting": [_named(keeper, item) for keeper in keepers for item in keeper.asks],
        "next_job": min(house.jobs.scheduled(house), key=lambda job: job["at"], default=None),
        "supervised_by": settings.supervised_by,
        "survives_logout": settings.survives_logout,
        "config_problems": list(settings.config_problems),
        "timing_scale": settings.timing.scale,
        "clients": len(house.clients),
        "counts": house.counts.told(),
    }


async def ps(house: House, _command: Command, _body: dict[str, Any]) -> dict[str, Any]:
    """One row for each worker, what waits first."""
    makers = [_Row(house, keeper) for keeper in house.keepers.values()]
    rows = await house.host.off_loop(lambda: [make() for make in makers])
    rows.sort(key=lambda row: (not row["waiting"], not row["work"], row["name"]))
    return {"workers": rows}


class _Row:
    """One row, made beside the loop: it reads /proc."""

    def __init__(self, house: House, keeper: "Keeper") -> None:
        self._files = house.host.files
        self._budget = house.settings.timing.restart
        self._now = house.host.clock.monotonic_ms()
        self._keeper = keeper

    def __call__(self) -> dict[str, Any]:
        keeper = self._keeper
        record, failures = keeper.record, len(keeper.failures.at)
        here = keeper.route.phase is Phase.READY and record.identity is not None
        pid = record.identity.pid if here and record.identity else None
        return {
            "session": record.session,
            "name": keeper.route.name,
            "worker": record.worker,
            "pid": pid,
            "state": state_of(keeper),
            "work": list(keeper.work),
            "waiting": list(keeper.asks),
            "direct": list(keeper.direct),
            "owner": record.owner,
            "owner_here": None if keeper.owned is None else keeper.owned.here,
            "restarts": failures,
            "restarts_left": max(0, self._budget.failures_max - failures),
            "next_try_at": keeper.next_try_at,
            "last_error": record.last_error,
            "uptime_s": (self._now - keeper.since) // 1000 if here else None,
            "cpu_s": cpu_s(self._files, pid),
            "pss_bytes": pss_bytes(self._files, pid),
            "build": record.build,
            "adopted": keeper.adopted,
            "orphaned": False,  # whoever answers has it: an orphan is in nobody's list
        }


def state_of(keeper: "Keeper") -> str:
    """A worker's state in one word or two."""
    if keeper.route.phase is not Phase.READY:
        return SETTLED[keeper.route.phase]
    return "waiting" if keeper.asks else "busy" if keeper.work else "idle"


def cpu_s(files: Files, pid: int | None) -> float | None:
    """Seconds of processor time of a process; None when it cannot be told."""
    fields = _proc(files, pid, "stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND if len(fields) > 12 else None


def pss_bytes(files: Files, pid: int | None) -> int | None:
    """A process's share of memory; None when it cannot be told."""
    for line in _proc(files, pid, "smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return None


def _proc(files: Files, pid: int | None, name: str) -> str:
    if pid is None:
        return ""
    try:
        file = files.open(f"/proc/{pid}/{name}")
        try:
            return file.read(0, 1 << 16).decode(errors="replace")
        finally:
            file.close()
    except OSError:
        return ""  # it ended meanwhile


def _is(item: Any, state: str) -> bool:
    return (
        isinstance(item, dict)
        and item.get("kind") in {"running": {"run", "bash"}, "queued": {"input"}}[state]
    )


def _named(keeper: "Keeper", item: Any) -> dict[str, Any]:
    known = dict(item) if isinstance(item, dict) else {"question": str(item)}
    return {"session": keeper.record.session, "name": keeper.route.name} | known
