"""The gate, said the slow way: the whole history is read again for each question."""

Event = tuple[int, str, int, bool]  # at, what, number, busy


def verdicts(events: list[Event], hold_ms: int) -> list[str]:
    return [_verdict(events[: i + 1], hold_ms) for i in range(len(events))]


def _verdict(history: list[Event], hold_ms: int) -> str:
    *before, (at, what, number, busy) = history
    if _left(before, hold_ms):
        return {"admit": "refused", "quiesce": "quiesced", "release": "released"}.get(what, "stopping")
    holder = _holder(before, at, hold_ms)
    if what == "leave":
        return "stopping"
    if what == "admit":
        return "admitted" if holder is None else "wait"
    if what == "quiesce":
        return "busy" if busy else "quiesced"
    if what == "release":
        return "released"
    return "stopping" if holder == number else "reopened"


def _left(history: list[Event], hold_ms: int) -> bool:
    return any(
        what == "leave" or (what == "stop" and _holder(history[:i], at, hold_ms) == number)
        for i, (at, what, number, _) in enumerate(history)
    )


def _holder(history: list[Event], now: int, hold_ms: int) -> int | None:
    """Who holds the gate closed now: the last quiesce, if idle, young, and not released since."""
    last = max((i for i, event in enumerate(history) if event[1] == "quiesce"), default=None)
    if last is None:
        return None
    at, _, number, busy = history[last]
    released = any(what == "release" and n == number and t < at + hold_ms for t, what, n, _ in history[last:])
    return None if busy or released or now >= at + hold_ms else number
