"""Three mints that race, with a crash of any of them after any step, and the loss of power in each state.

All states are visited and counted (search.py); with locks, without, and mixed. The last tests leave something out of
the product and demand that the same search fails.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from eukhed.bundles import disk, mint_law
from eukhed.bundles.mint_law import PLAN, Claim, Step
from eukhed.errors import BrokenBundle, ExistsError
from tests.bundles.search import PLACE, Explored, Writer, explore, first, machine, minting
from tests.fakes.crash_files import CrashFile, CrashFiles, Folder


def race(locks: tuple[bool, bool, bool], *, begun: Callable[[CrashFiles], str] | None = None) -> Explored:
    """Two mints from the first version, and one from whatever is the head when it starts."""
    files = machine()
    parent = first(files).hash if begun is None else begun(files)
    programs = zip("ABC", locks, strict=True)
    writers = [Writer(program, locked, None if program == "C" else parent) for program, locked in programs]
    return explore(files, tuple(writers))


def test_mint_linear_with_locks() -> None:
    """mint_linear, mint_claim_before_bundle, mint_immutable."""
    found = race((True, True, True))
    assert (found.states, found.images) == (1026, 315)
    assert found.seen["ends with 2 made"] == 6  # the third came after the first was done
    assert found.seen["dead in an image"] > 200
    assert found.seen["crash"] > 500


def test_mint_linear_without_locks() -> None:
    """mint_linear, mint_steps_over_dead: the link, and what is swept before it, are enough."""
    found = race((False, False, False))
    assert (found.states, found.images) == (21710, 716)
    assert found.seen["lost"] > 1000
    assert found.seen["ends with 2 made"] == 56


def test_mint_linear_where_one_has_no_lock() -> None:
    """mint_linear: one that cannot lock beside two that can, and that sweep its stage away."""
    found = race((False, True, True))
    assert (found.states, found.images) == (8167, 480)
    assert found.seen["lost"] > 500


@pytest.mark.long
def test_mint_linear_where_two_have_no_lock() -> None:
    """mint_linear."""
    assert race((False, False, True)).states == 25842


def nothing_yet(files: CrashFiles) -> str:
    return ""


def after_a_dead_one(files: CrashFiles) -> str:
    """Version 1; version 2 was claimed and its writer killed before the move."""
    made = first(files)
    cut = minting(files, "cut", made.hash, locked=True)
    cut._token = "cut"
    while cut.step is not Step.MOVE:
        cut.advance()
    return made.hash


@pytest.mark.parametrize(("begun", "states"), [(nothing_yet, 1026), (after_a_dead_one, 1003)])
def test_mint_linear_from_other_beginnings(begun: Callable[[CrashFiles], str], states: int) -> None:
    """mint_linear: three that make the first version, and three that step over a dead one, with locks."""
    found = race((True, True, True), begun=begun)
    assert found.states == states
    assert found.seen["done"] > 0
    assert found.seen["ends with 2 made"] > 0


# what it would not forgive


def unplanned(monkeypatch: pytest.MonkeyPatch, step: Step) -> None:
    monkeypatch.setattr(mint_law, "PLAN", tuple(one for one in PLAN if one is not step))


def test_without_the_middle_flush_a_bundle_outlives_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """mint_claim_before_bundle: it hangs on the flush between link and rename."""
    unplanned(monkeypatch, Step.FLUSH_CLAIM)
    with pytest.raises(AssertionError, match="a bundle without a claim"):
        race((True, True, True))


def test_without_the_last_flush_an_answered_version_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    unplanned(monkeypatch, Step.FLUSH_MOVE)
    with pytest.raises(AssertionError, match="did not survive"):
        race((True, True, True))


def test_a_move_before_the_claim_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    order = (Step.STAGE, Step.MOVE, Step.FLUSH_CLAIM, Step.CLAIM, Step.FLUSH_MOVE, Step.CLEAR)
    monkeypatch.setattr(mint_law, "PLAN", order)
    with pytest.raises(AssertionError, match="a bundle without a claim"):
        race((True, True, True))


def test_files_that_are_not_flushed_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun(files: CrashFiles) -> str:
        made = first(files)
        monkeypatch.setattr(CrashFile, "flush", lambda _: None)
        return made.hash

    with pytest.raises((AssertionError, BrokenBundle)):
        race((True, True, True), begun=begun)


@pytest.mark.parametrize("folder", ["bundle", "evals"])
def test_directories_that_are_not_flushed_are_found(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    flush = CrashFiles.flush_directory

    def begun(files: CrashFiles) -> str:
        made = first(files)
        monkeypatch.setattr(
            CrashFiles,
            "flush_directory",
            lambda self, path: None if os.path.basename(path) == folder else flush(self, path),
        )
        return made.hash

    if folder == "evals":  # an empty one has no names to lose: the search must not mind
        assert race((True, True, True), begun=begun).states > 1000
        return
    with pytest.raises((AssertionError, BrokenBundle)):
        race((True, True, True), begun=begun)


def test_without_sweeping_what_is_stepped_over_the_line_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """mint_steps_over_dead: a claim in flight that is taken for dead comes alive beside its sibling."""
    decide = mint_law.decide

    def careless(*given: Any) -> Any:
        verdict = decide(*given)
        return verdict._replace(over=frozenset()) if isinstance(verdict, Claim) else verdict

    monkeypatch.setattr(mint_law, "decide", careless)
    with pytest.raises(AssertionError, match=r"version \d is of \d, not of \d"):
        race((False, False, False))


def test_numbers_counted_from_complete_versions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """mint_number_is_new: a dead number is not free; who takes it for free never comes past it."""
    monkeypatch.setattr(mint_law.Shelf, "next", property(lambda self: 1 + (self.head or 0)))
    with pytest.raises(ExistsError):
        race((True, True, True), begun=after_a_dead_one)


def test_a_stage_is_first_moved_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that only removes, file by file, lets its owner move a half-empty bundle to its place."""
    files = machine()
    parent = first(files).hash
    slow = minting(files, "slow", parent, locked=False)
    while slow.step is not Step.MOVE:
        slow.advance()
    removed: list[str] = []
    remove = CrashFiles.unlink

    def unlink(self: CrashFiles, path: str) -> None:
        remove(self, path)
        removed.append(path)
        if len(removed) == 1:  # in the middle of the sweep the owner goes on
            with pytest.raises(ExistsError):
                slow.advance()

    monkeypatch.setattr(CrashFiles, "unlink", unlink)
    made = minting(files, "fast", parent, locked=True).run()
    assert removed
    assert made.version == 3
    assert files.stat(f"{PLACE}/v2") is None


def test_a_version_that_a_crash_left_under_two_names_is_not_swept() -> None:
    """A disk without a journal may keep both names of a renamed directory; the hidden one is the version's own."""
    files = machine()
    one = minting(files, "one", "", locked=True)
    one._token = "both"
    while one.step is not Step.CLEAR:
        one.advance()
    hidden, bundle = files._number(f"{PLACE}/.mint-1-both"), files._number(f"{PLACE}/v1")
    folder = files.nodes[hidden]
    assert isinstance(folder, Folder)
    folder.cache["bundle"] = bundle
    assert one._record is not None
    made = minting(files, "two", one._record.hash, locked=True).run()
    assert made.version == 2
    assert files.stat(f"{PLACE}/v1/program.js") is not None
    assert disk.read_file(files, f"{PLACE}/v1/program.js") == b"one"
