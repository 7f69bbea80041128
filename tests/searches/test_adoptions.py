"""adopt_same_build, adopt_never_kills_work, one_worker_per_session: every interleaving of three sessions at a boot."""

from eukhed.supervisor import adoption_law
from tests.searches import adoptions
from tests.searches.search import differs, mutants

STATES = 23_660
ROWS = (
    "adopt of live",
    "leave_as_lost of live of another build",
    "stop of mute",
    "finish_stop of told live",
    "finish_stop of told dead",
    "ask_revival of dead",
    "revives",
    "lets it sleep",
    "starts again",
    "it is launched",
    "it wakes",
    "the supervisor dies",
    "an obsolete supervisor is refused",
    "an earlier supervisor reaches it",
)


def test_every_interleaving() -> None:
    found = adoptions.search(adoption_law.verdict)
    assert found.states == STATES
    for row in ROWS:
        assert found.rows[row] > 100, (row, found.rows)


def test_each_mutant_is_seen() -> None:
    sound = adoptions.search(adoption_law.verdict, 2)
    blind = [
        name
        for name, law in mutants(adoption_law.verdict, adoption_law.Verdict)
        if not differs(lambda law=law: adoptions.search(law, 2), sound)  # type: ignore[misc]  # mypy: bound default
    ]
    assert blind == []
