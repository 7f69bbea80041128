"""The output law, said the slow way: byte by byte, looking ahead for the line end to cut at."""


def pieces(data: bytes, offset: int, entry_max: int, held_max: int) -> list[tuple[int, int, bool]]:
    told: list[tuple[int, int, bool]] = []
    rest = data
    while rest:
        head = rest[:entry_max]
        if len(rest) > entry_max and b"\n" in head:
            while not head.endswith(b"\n"):
                head = head[:-1]
        told.append((offset, len(head), len(head) <= held_max))
        offset += len(head)
        rest = rest[len(head) :]
    return told
