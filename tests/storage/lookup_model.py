"""The lookup law said otherwise: sets of matches over path components."""

from eukhed.storage.listing_law import SessionRow


def components(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def word(rows: list[SessionRow], wanted: str) -> tuple[str, list[str]]:
    if wanted == "":
        return "missing", []
    whole = [row.id for row in rows if row.id == wanted]
    live = [row.id for row in rows if row.name == wanted and row.archived is False]
    dead = [row.id for row in rows if row.name == wanted]
    ends = [row.id for row in rows if row.id[-len(wanted) :] == wanted]
    for matches in (whole, live, dead, ends):
        if matches:
            return ("found" if len(matches) == 1 else "ambiguous"), matches
    return "missing", []


def directory(rows: list[SessionRow], cwd: str, repository: str | None, home: str) -> list[str]:
    """The ids at the directory that decides, the one used last first; empty: there is none."""
    here, top, house = components(cwd), components(repository or cwd), components(home)
    if here[: len(top)] != top:
        top = here
    for length in range(len(here), len(top) - 1, -1):
        path = here[:length]
        if path != here and house[:length] == path:
            continue  # the home directory, or one that holds it
        ids = [row.id for row in rows if components(row.cwd) == path and not (row.archived or row.parent)]
        if ids:
            return ids
    return []


def name(rows: list[SessionRow], cwd: str) -> str:
    last = (components(cwd) or ("session",))[-1]
    base = "".join(letter if letter.isprintable() else "_" for letter in last)
    taken = [row.name for row in rows] + [row.id for row in rows]
    return next(
        name
        for name in [base, *(f"{base}-{number}" for number in range(2, len(taken) + 3))]
        if name not in taken
    )


def usable(name: str) -> bool:
    """Strike out what a name may not be, one by one."""
    if not name or name[:1] in {"-", "."} or name[:1] == " " or name[-1:] == " ":
        return False
    if set(name) & {"/"} or any(not letter.isprintable() for letter in name):
        return False
    return any(not letter.isdecimal() for letter in name)
