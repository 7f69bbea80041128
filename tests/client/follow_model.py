"""The follow law said the slow way: by the sets of records that the client has and the update carries."""


def verdict(own: tuple[str, int], update: tuple[str, int, int, int]) -> list[object]:
    """What becomes of an update."""
    worker, start, cursor, count = update
    if start < 0 or cursor < start or count != len(range(start, cursor)):
        return ["bad_frame"]
    if worker != own[0]:
        return ["lost"]
    has = set(range(own[1]))
    carried = list(range(start, cursor))
    if set(range(cursor)) <= has:
        return ["skip"]
    if set(range(cursor)) <= has | set(carried):
        return ["apply", sum(record in has for record in carried), cursor]
    return ["lost"]
