"""When a run is to start, and whether again: what a client asks for, and what the run's record holds of it.

queue, after, after_any   other runs that it waits for (queue_law)
once                      a key that only one run at a time may have
retry                     how often a try that failed is made again (tries_law)
again                     the run that this one repeats
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from eukhed.errors import Invalid
from eukhed.worker.queue_law import Asked, Waits
from eukhed.worker.tries_law import Retry

RUNS_MAX: Final = 1000
KEY_MAX: Final = 200
TRIES_MAX: Final = 1_000_000


class Turn(NamedTuple):
    """What a run asks for, but for its command."""

    asked: Asked = Asked()
    once: str | None = None
    retry: Retry | None = None
    again: int | None = None

    def input(self, waits: Waits) -> dict[str, Any]:
        """As the run's record holds it, with what it waits for settled."""
        told: dict[str, Any] = {
            "queue": self.asked.queue,
            "waits": {"done": list(waits.done), "ended": list(waits.ended)} if waits.runs else None,
            "once": self.once,
            "retry": self.retry
            and {"left": self.retry.left, "made": self.retry.made, "on": list(self.retry.on)},
            "again": self.again,
        }
        return {key: value for key, value in told.items() if value}


def turn(body: Mapping[str, Any], *, handed: bool) -> Turn:
    """What the body of a `run` asks for; `handed`: its input can be read only once. Invalid names the field."""
    once = body.get("once")
    if once is not None and not (isinstance(once, str) and 0 < len(once) <= KEY_MAX):
        raise Invalid(f"run: once is a key of 1 to {KEY_MAX} characters", field="once")
    again = body.get("again")
    if again is not None and not _is_run(again):
        raise Invalid("run: again is a run", field="again")
    asked = Asked(body.get("queue") is True, _runs(body, "after"), _runs(body, "after_any"))
    return Turn(asked, once, _retry(body.get("retry"), handed=handed), again)


def recalled(told: Mapping[str, Any]) -> Turn:
    """The same of a record; what it waits for is settled, so only the queue itself can be asked for again."""
    retry = told.get("retry")
    wanted = None if retry is None else Retry(retry["left"], retry["made"], tuple(retry["on"]))
    return Turn(Asked(queue=told.get("queue") is True), told.get("once"), wanted, told.get("again"))


def waits(told: Mapping[str, Any]) -> Waits:
    """What the run of a record waits for."""
    found = told.get("waits") or {}
    return Waits(tuple(found.get("done", ())), tuple(found.get("ended", ())))


def _retry(told: Any, *, handed: bool) -> Retry | None:
    if told is None:
        return None
    count, on = (told.get("count"), told.get("on", ())) if isinstance(told, dict) else (None, ())
    right = isinstance(on, list | tuple) and all(
        isinstance(status, int) and 0 < status < 256 for status in on
    )
    if not isinstance(count, int) or not 0 < count <= TRIES_MAX or not right:
        raise Invalid("run: retry is {count, on: [exit statuses]}", field="retry")
    if handed:
        raise Invalid(
            "an input that is handed over is read once, so the run cannot be tried again", field="retry"
        )
    return Retry(count, 0, tuple(on))


def _runs(body: Mapping[str, Any], name: str) -> tuple[int, ...]:
    told = body.get(name) or ()
    if not isinstance(told, list | tuple) or len(told) > RUNS_MAX or not all(map(_is_run, told)):
        raise Invalid(f"run: {name} is a list of runs", field=name)
    return tuple(told)


def _is_run(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 53
