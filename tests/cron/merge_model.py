"""The merge, said the slow way: for each id, what a reader who saw both lists would believe."""


def merge(
    stored: list[tuple[str, int, str]], written: list[tuple[str, int, str]]
) -> dict[str, tuple[int, str]]:
    """Id to (time of change, content); of equal times the later writing counts."""
    believed: dict[str, tuple[int, str]] = {}
    for name, changed, content in [*stored, *written]:
        if name not in believed or changed >= believed[name][0]:
            believed[name] = (changed, content)
    return believed
