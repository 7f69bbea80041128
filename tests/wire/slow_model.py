"""The slow law, said the slow way: a queue of frames that one client has not taken."""


class Kept:
    """What a server has for one client."""

    def __init__(self, events_bytes: int, all_bytes: int) -> None:
        self.frames: list[int] = []
        self._events, self._all = events_bytes, all_bytes
        self.cut = False

    def put(self, size: int, *, increment: bool) -> str:
        """What becomes of a frame."""
        have = sum(self.frames)
        if have > self._all:
            self.cut = True
            return "cut"
        if increment and have > self._events:
            return "skip"
        self.frames.append(size)
        return "send"


def may_take(under_way: list[str], most: int, *, answered: bool) -> bool:
    """A worker takes what wants no answer, and else fills places until none is left."""
    if not answered:
        return True
    places = most
    for _ in under_way:
        places -= 1
    return places > 0
