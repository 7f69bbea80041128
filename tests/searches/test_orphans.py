"""orphan_never_aborts_resumable, orphan_idle_exit_due, orphan_work_exit_due, orphan_exit_by_work: every interleaving of three."""

from functools import partial

from eukhed.timing import OrphanWindows
from eukhed.worker import orphan_law
from tests.searches import orphans
from tests.searches.search import differs, mutants

STATES = 1376


def test_every_interleaving() -> None:
    found = orphans.search(orphan_law.verdict)
    assert found.states == STATES
    for row in (
        "stay, idle",
        "stay, work",
        "leave_idle, idle",
        "leave_busy, work",
        "it is back",
        "a supervisor comes",
    ):
        assert found.rows[row] > 100, (row, found.rows)
    assert not found.rows["leave_idle, work"] + found.rows["leave_busy, idle"]


def test_each_mutant_is_seen() -> None:
    sound = orphans.search(orphan_law.verdict)
    seen = [
        name
        for name, law in mutants(orphan_law.verdict, orphan_law.Verdict)
        if differs(partial(orphans.search, law), sound)
    ]
    assert len(seen) == 6


def test_a_window_that_is_one_off_is_seen() -> None:
    sound = orphans.search(orphan_law.verdict)
    for off in (-1, 1):

        def mutant(ms: int, windows: OrphanWindows, *, work: bool, off: int = off) -> orphan_law.Verdict:
            return orphan_law.verdict(ms + off, windows, work=work)

        assert differs(partial(orphans.search, mutant), sound)
