"""Owned sessions, said the slow way: the whole history is read again for each question."""

Event = tuple[int, str]  # at, what


def verdicts(events: list[Event], gone_ms: int, adopted_ms: int) -> list[str]:
    """What each look is told, and "stay" for what is no look."""
    return [_verdict(events[: i + 1], gone_ms, adopted_ms) for i in range(len(events))]


def _verdict(history: list[Event], gone_ms: int, adopted_ms: int) -> str:
    _, what = history[-1]
    if what == "look":
        return "leave" if _due(history, gone_ms, adopted_ms) else "stay"
    if what == "last":
        looks = [
            i
            for i, (_, one) in enumerate(history)
            if one == "look" and _due(history[: i + 1], gone_ms, adopted_ms)
        ]
        since = history[looks[-1] :] if looks else []
        back = any(one in {"came", "adopted"} for _, one in since)
        return "leave" if since and not back else "stay"
    return "stay"


def _due(history: list[Event], gone_ms: int, adopted_ms: int) -> bool:
    """Whether the time is up at the end of this history: counted from what sent the owner away."""
    here, begun, grace = False, 0, adopted_ms
    for at, what in history:
        if what == "came":
            here = True
        elif what == "went" and here:
            here, begun, grace = False, at, gone_ms
        elif what == "adopted":
            here, begun, grace = False, at, adopted_ms
    return not here and history[-1][0] - begun >= grace
