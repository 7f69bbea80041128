"""`eukhed metrics`: what `status` and `ps` tell, as Prometheus text, for the textfile collector of a node exporter.

The library is loaded by this command alone: it costs 9 MB and 74 ms, which a daemon would carry for weeks and a
scrape pays once a minute.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.client.client import Client

ANSWER_MS: Final = 30_000
COUNTS: Final = {
    "commands": "commands that clients asked for",
    "connections": "connections that clients made",
    "worker_starts": "workers that were started and became ready",
    "worker_adoptions": "live workers of an earlier daemon that were taken over",
    "worker_failures": "ends and starts of workers that counted against a restart budget",
    "sessions_given_up": "sessions that were given up",
}
STATES: Final = (
    "idle", "busy", "waiting", "starting", "recovering", "restarting", "stopping", "gave up",
)  # fmt: skip


def run(context: Context, _flags: Options) -> int:
    """Print the metrics; exit 4 without a daemon."""
    with Client(context.places, relaunch=False) as client:
        status = client.request("status", looks=True, wait_ms=ANSWER_MS)
        workers = client.request("ps", looks=True, wait_ms=ANSWER_MS)["workers"]
    if context.json:
        context.out(to_json([_sample(metric) for metric in families(status, workers)]))
    else:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Told(status, workers))
        context.out(generate_latest(registry).decode().rstrip("\n"))
    return 0


class _Told(Collector):
    """What a daemon told, as the library reads it."""

    def __init__(self, status: Mapping[str, Any], workers: list[Any]) -> None:
        self._status, self._workers = status, workers

    def collect(self) -> Iterator[Metric]:
        yield from families(self._status, self._workers)


def families(status: Mapping[str, Any], workers: list[Any]) -> Iterator[Metric]:
    """Return the metrics; what a daemon does not tell has none."""
    known = {key: str(status[key]) for key in ("version", "build", "protocol", "generation") if key in status}
    yield InfoMetricFamily("eukhed_daemon", "which daemon answers", value=known)
    yield _gauge("eukhed_uptime_seconds", "since the daemon began", status.get("uptime_s"))
    yield _gauge("eukhed_sessions", "sessions on the disk", status.get("sessions"))
    yield _gauge("eukhed_waiting", "questions that a person has to answer", len(status.get("waiting") or ()))
    yield _gauge("eukhed_clients", "clients that are connected", status.get("clients"))
    yield _gauge("eukhed_daemon_pss_bytes", "memory of the daemon itself", status.get("pss_bytes"))
    yield _counter("eukhed_daemon_cpu_seconds", "processor time of the daemon itself", status.get("cpu_s"))
    runs = GaugeMetricFamily("eukhed_runs", "runs that are not over", labels=("state",))
    for state, number in (status.get("runs") or {}).items():
        runs.add_metric((state,), number)
    yield runs
    for name, says in COUNTS.items():
        yield _counter(f"eukhed_{name}", says, (status.get("counts") or {}).get(name))
    yield from _of_workers(workers)


def _of_workers(workers: list[Any]) -> Iterator[Metric]:
    states = GaugeMetricFamily("eukhed_workers", "sessions that have a worker, or should", labels=("state",))
    for state in STATES:
        states.add_metric((state,), sum(one.get("state") == state for one in workers))
    yield states
    memory = GaugeMetricFamily("eukhed_worker_pss_bytes", "memory of a worker", labels=("session",))
    cpu = CounterMetricFamily("eukhed_worker_cpu_seconds", "processor time of a worker", labels=("session",))
    left = GaugeMetricFamily("eukhed_worker_restarts_left", "before it is given up", labels=("session",))
    for one in workers:
        for family, key in ((memory, "pss_bytes"), (cpu, "cpu_s"), (left, "restarts_left")):
            if one.get(key) is not None:
                family.add_metric((str(one["name"]),), one[key])
    yield memory
    yield cpu
    yield left


def _gauge(name: str, says: str, value: float | None) -> Metric:
    family = GaugeMetricFamily(name, says)
    if value is not None:
        family.add_metric((), value)
    return family


def _counter(name: str, says: str, value: float | None) -> Metric:
    family = CounterMetricFamily(name, says)
    if value is not None:
        family.add_metric((), value)
    return family


def _sample(metric: Metric) -> dict[str, Any]:
    told = [
        {"name": sample.name, "labels": sample.labels, "value": sample.value} for sample in metric.samples
    ]
    return {"name": metric.name, "type": metric.type, "help": metric.documentation, "samples": told}
