"""The metrics are what the daemon told, in the form that a scraper reads."""

from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from eukhed.cli.metrics import COUNTS, STATES, _Told, families
from eukhed.supervisor.counts import Counts
from eukhed.supervisor.status import SETTLED
from tests.client.daemon import STATUS


def worker(name: str, state: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "restarts_left": 5} | more


def scraped(status: dict[str, Any], workers: list[Any]) -> dict[tuple[str, str], float]:
    """Each sample by its name and its one label."""
    registry = CollectorRegistry()
    registry.register(_Told(status, workers))
    text = generate_latest(registry).decode()
    return {
        (sample.name, "".join(sample.labels.values()) if len(sample.labels) < 2 else ""): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_was_told_is_scraped() -> None:
    counts = {name: number for number, name in enumerate(COUNTS, 1)}
    told = STATUS | {
        "counts": counts,
        "clients": 2,
        "cpu_s": 1.5,
        "pss_bytes": 1024,
        "waiting": [{"question": "?"}],
    }
    hostile = 'a "b"\n\\c'
    seen = scraped(
        told,
        [worker("api", "busy", cpu_s=3.25, pss_bytes=7), worker(hostile, "gave up"), worker("x", "busy")],
    )
    assert seen["eukhed_sessions", ""] == STATUS["sessions"]
    assert seen["eukhed_waiting", ""] == 1
    assert seen["eukhed_runs", "running"] == 3
    assert seen["eukhed_workers", "busy"] == 2
    assert seen["eukhed_workers", "gave up"] == 1
    assert seen["eukhed_workers", "idle"] == 0
    assert seen["eukhed_worker_cpu_seconds_total", "api"] == 3.25
    assert seen["eukhed_worker_restarts_left", hostile] == 5
    assert ("eukhed_worker_pss_bytes", hostile) not in seen, "what is not known is no zero"
    assert {name: seen[f"eukhed_{name}_total", ""] for name in COUNTS} == counts


def test_an_older_daemon_that_tells_less_has_less() -> None:
    seen = scraped({"running": True, "pid": 1}, [])
    assert ("eukhed_uptime_seconds", "") not in seen
    assert ("eukhed_commands_total", "") not in seen


def test_every_count_and_state_of_the_daemon_has_its_metric() -> None:
    assert set(COUNTS) == set(Counts().told())
    assert set(STATES) >= set(SETTLED.values()) | {"idle", "busy", "waiting"}
    assert len({metric.name for metric in families(STATUS, [])}) == len(list(families(STATUS, [])))
