"""The queue, said the slow way: the others are asked one by one."""

from collections.abc import Mapping, Sequence


def decided(done: Sequence[int], ended: Sequence[int], standing: Mapping[int, str]) -> tuple[object, ...]:
    """("start",), ("wait", runs, place) or ("stop", run)."""
    bad, left, before = 0, list[int](), 0
    for number in range(1, 1 + max([*done, *ended], default=0)):
        stands = standing.get(number, "gone")
        if number in done and stands not in ("waits", "goes", "done") and not bad:
            bad = number
        if (number in done or number in ended) and stands in ("waits", "goes"):
            left.append(number)
            before += stands == "waits"
    if bad:
        return ("stop", bad)
    return ("wait", tuple(left), before + 1) if left else ("start",)
