"""Opening, said the slow way: over every byte of a file, and over a list of everything that must be durable."""

from eukhed.storage import log_law, open_law

Line = tuple[int, bool, int]  # length with its newline, valid, acked


def kept(lines: list[Line], torn: int) -> int | None:
    """How many bytes an open keeps of these lines and a torn tail; None: it refuses."""
    del torn  # never kept
    starts = [sum(length for length, _, _ in lines[:number]) for number in range(len(lines))]
    for number, (_, valid, _) in enumerate(lines):
        if valid:
            continue
        for _, later_valid, acked in lines[number + 1 :]:
            if later_valid and acked > starts[number]:
                return None
        return starts[number]
    return sum(length for length, _, _ in lines)


def facts(lines: list[Line], torn: int) -> open_law.Tail:
    """What an open sees of them."""
    whole = sum(length for length, _, _ in lines)
    start, bad, reach = 0, -1, -1
    for length, valid, acked in lines:
        if not valid and bad < 0:
            bad = start
        elif valid and bad >= 0:
            reach = max(reach, acked)
        start += length
    return open_law.Tail(whole + torn, whole - 1, bad, reach)


def before_show(found: open_law.Found) -> list[object]:
    """Steps that must all have been done when the records are shown, whatever their order."""
    must: list[object] = []
    if found.main_size > found.main_keep:
        if found.main_torn:
            must.append(open_law.KeepAside(found.main_keep))
        must.append(log_law.CutBack(log_law.MAIN, found.main_keep))
    must += [log_law.CutBack(name, keep) for name, size, keep in found.sidecars if size > keep]
    if found.fsync:
        must.append(open_law.FlushParent())
        if found.main_size >= 0:
            must += [log_law.FlushMain(), log_law.FlushDirectory()]
            must += [log_law.FlushFile(name) for name, _, _ in found.sidecars]
    return must
