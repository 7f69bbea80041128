"""The layers law said otherwise: by names of the layers, in the order of the text."""

ORDER = ["built-in", "packaged", "from this project", "yours"]


def first(works: dict[str, bool]) -> str | None:
    return next((called for called in ORDER if works.get(called)), None)


def union(listed: dict[str, list[str]]) -> list[tuple[str, str]]:
    names = sorted({name for names in listed.values() for name in names})
    return [(name, next(called for called in ORDER if name in listed.get(called, []))) for name in names]
