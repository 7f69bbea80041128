"""The engine law said otherwise: the sentences of the text as lists of words."""

TO_FALL = {"guarded", "threw", "misformed", "died"}


def ending(happened: str, fallback: bool) -> str:
    if happened == "returned":
        return "finished"
    if happened in TO_FALL:
        return "fallback" if fallback else "incomplete"
    return "incomplete"


def in_turn(kinds: list[str]) -> list[int]:
    free = [at for at, kind in enumerate(kinds) if kind != "judgement"]
    return free + [at for at, kind in enumerate(kinds) if kind == "judgement"]
