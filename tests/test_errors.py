"""Every error travels and comes back as what it was."""

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed import errors
from eukhed.errors import EukhedError

CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, EukhedError)]
LEAVES = [kind for kind in CLASSES if "code" in vars(kind)]
DATA = st.dictionaries(
    st.sampled_from(["work", "holder", "path", "pid"]), st.text() | st.integers(), max_size=3
)


def make(kind: type[EukhedError], message: str, **data: Any) -> EukhedError:
    """Corrupt makes its text from its data; all others take the text."""
    if kind is errors.Corrupt:
        return errors.Corrupt("main.jsonl", 3, message)
    return kind(message, **data)


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: str(kind.code))
@given(message=st.text(), data=DATA)
def test_an_error_comes_back_as_what_it_was(
    kind: type[EukhedError], message: str, data: dict[str, Any]
) -> None:
    sent = (
        make(kind, message, next=[["eukhed", "ps"]], **data)
        if kind is not errors.Corrupt
        else make(kind, message)
    )
    told = sent.as_wire()
    back = errors.from_wire(told)
    assert type(back) is kind
    assert (str(back), back.message, back.next, back.data) == (str(sent), sent.message, sent.next, sent.data)
    assert back.as_wire() == told


def test_a_code_of_a_newer_peer_degrades_to_its_message() -> None:
    back = errors.from_wire({"code": "from_tomorrow", "message": "it rains", "where": "here"})
    assert type(back) is EukhedError
    assert (str(back), back.data) == ("it rains", {"where": "here"})
    assert str(errors.from_wire({})) == "unknown error"


def test_codes_are_stable_words_and_no_two_the_same() -> None:
    codes = [kind.code for kind in LEAVES]
    assert len(codes) == len(set(codes))
    assert all(code.replace("_", "").isalpha() and code.islower() for code in codes)
    documented = {"unknown_session", "session_already_active", "session_recovering", "worker_gave_up", "busy"}
    documented |= {"worker_overloaded", "command_result_uncertain", "shutting_down", "not_idle_capable"}
    documented |= {
        "corrupt_storage",
        "rejected",
        "state_error",
        "too_large",
        "protocol_mismatch",
        "permission",
    }
    documented |= {"invalid", "build_changed", "newer_format", "exists", "not_found", "disk_full"}
    assert documented <= set(codes)


def test_absent_data_is_absent() -> None:
    assert errors.Busy("busy", work=["run"], holder=None).as_wire() == {
        "code": "busy",
        "message": "busy",
        "work": ["run"],
    }


def test_exit_statuses_are_documented_ones() -> None:
    assert {kind.exit for kind in CLASSES} == {1, 2, 3, 4, 5}
    assert errors.NoDaemon.exit == 4
    assert errors.Busy.exit == errors.WorkerOverloaded.exit == 3
    assert errors.UnknownSession.exit == errors.NotFound.exit == 5


def test_every_error_has_its_place_in_the_tree() -> None:
    """Each is a request that was refused, something broken here, or a fault of ours: nothing else is raised."""
    for kind in LEAVES:
        if kind is not EukhedError:
            assert issubclass(kind, errors.Refused | errors.Broken | errors.OurFault), kind


def test_no_error_is_made_elsewhere() -> None:
    """A code that no file but errors.py can know would be unknown to `from_wire`; the CLI's never travel."""
    package = Path(errors.__file__).parent
    for path in package.rglob("*.py"):
        if path.name == "errors.py" or path.parent.name == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                assert not bases & {kind.__name__ for kind in CLASSES}, f"{path}: {node.name}"
