"""The passivation law, said the slow way."""


def verdict(
    ready: bool, work: bool, watched: bool, due: int | None, idle: int, idle_limit: int, due_limit: int
) -> str:
    if not ready:
        return "stay"
    if work or watched:
        return "stay"
    if due is not None and not due > due_limit:
        return "stay"
    return "stay" if idle < idle_limit else "close"
