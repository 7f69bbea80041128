"""command_once: every interleaving of three commands, cut between any two steps."""

from eukhed.client import retry_law
from eukhed.supervisor import commands_law
from eukhed.worker import survivor_law
from tests.searches import starts
from tests.searches.search import differs, mutants

STATES = 160_108
ROWS = (
    "the supervisor dies",
    "the worker dies",
    "sent again",
    "it is begun anew",
    "ended",
    "follow",
    "outlived",
    "never_started",
    "lost",
    "go",
    "answered",
)
UNREACHED = {"interrupted becomes " + other.value for other in survivor_law.Verdict}  # nothing reboots here


def test_every_interleaving() -> None:
    found = starts.search(survivor_law.verdict)
    assert found.states == STATES
    for row in ROWS:
        assert found.rows[row] > 100, (row, found.rows)


def test_each_mutant_is_seen() -> None:
    sound = starts.search(survivor_law.verdict, workers=1)
    blind = {
        name
        for name, law in mutants(survivor_law.verdict, survivor_law.Verdict)
        if not differs(lambda law=law: starts.search(law, workers=1), sound)  # type: ignore[misc]  # mypy: bound default
    }
    assert blind <= UNREACHED, blind
    never = lambda facts: not retry_law.again(facts)
    assert differs(lambda: starts.search(survivor_law.verdict, never, workers=1), sound)


def test_a_supervisor_s_own_command_takes_effect_once() -> None:
    """Its journal is cut between any two of: begun, the effect, done; three repeats of one id, and each mutant of the law."""
    sound = _own(commands_law.verdict)
    assert sound == {(1, "stored"), (1, "uncertain"), (0, "uncertain"), (1, "run"), (0, "nothing")}
    for name, law in mutants(commands_law.verdict, commands_law.Verdict):
        assert _own(law) != sound, name


def _own(law: object) -> set[tuple[int, str]]:
    """How often it took effect and what was said last, over every way to be cut three times."""
    found = {(0, "nothing")}
    work = [((0, commands_law.Known.NOTHING), 3, "nothing")]
    while work:
        (effects, known), left, _ = work.pop()
        if not left:
            continue
        said = law(known, 0, 1)  # type: ignore[operator]  # the law or a mutant of it
        if said is not commands_law.Verdict.RUN:
            found.add((effects, said.value))
            work.append(((effects, known), left - 1, said.value))
            continue
        for cut in ("before", "begun", "done", "told"):
            after = (effects + (cut in {"done", "told"}), known)
            if cut != "before":
                after = (after[0], commands_law.Known.BEGUN)
            if cut == "told":
                after = (after[0], commands_law.Known.DONE)
                found.add((after[0], "run"))
            work.append((after, left - 1, cut))
    return found
