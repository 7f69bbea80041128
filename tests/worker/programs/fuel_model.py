"""The fuel law said otherwise: step by step, as the text counts."""

Numbers = tuple[int, ...]


def left_ms(fuel: Numbers, used: Numbers) -> int:
    _, _, floor, step, per = fuel
    _, tokens, elapsed = used
    may, counted = floor, 0
    while per and counted + per <= tokens:
        counted += per
        may += step
    return may - elapsed if elapsed < may else 0


def ran_out(fuel: Numbers, used: Numbers) -> str | None:
    gone = {
        "calls": not used[0] < fuel[0],
        "tokens": fuel[1] != 0 and not used[1] < fuel[1],
        "time": left_ms(fuel, used) < 1,
    }
    return next((what for what, is_gone in gone.items() if is_gone), None)
