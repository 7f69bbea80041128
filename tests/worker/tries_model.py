"""Tries, said the slow way: the pause is doubled step by step."""

from collections.abc import Sequence


def pause_ms(
    left: int,
    made: int,
    on: Sequence[int],
    end: tuple[bool, bool, int | None, int | None],
    low: int,
    high: int,
) -> int | None:
    failed, timed_out, exit_status, signal = end
    if left < 1:
        return None
    if not failed and not timed_out:
        return None
    status = (
        124 if timed_out else exit_status if exit_status is not None else 128 + signal if signal else None
    )
    if len(on) and status not in list(on):
        return None
    pause = low
    for _ in range(made):
        pause = min(high, pause * 2)
    return min(high, pause)
