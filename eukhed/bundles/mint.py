"""One mint under the lock, step by step: it asks mint_law for the order, and does the steps.

Whoever drives it calls `advance` until `step` is None. A step that fails ends the mint: what it wrote under its
hidden name is cleared away and the error raised.
"""

import errno
import os
from contextlib import suppress
from typing import Any, Final, NoReturn

from eukhed.bundles import disk, mint_law, reading
from eukhed.bundles.bundle import Prepared, digests_of
from eukhed.bundles.disk import Notice
from eukhed.bundles.layout_law import (
    NO_VERSION,
    directory_name,
    record_name,
    stage_name,
    staged_number,
)
from eukhed.bundles.mint_law import Asked, Claim, Outcome, Refusal, Shelf, Step, Unchanged
from eukhed.bundles.reading import EVALS, PROMPTS, Limits
from eukhed.bundles.records import Version, encode_version
from eukhed.errors import EukhedError, ExistsError, ParentNeededError, StaleParentError, WhyNeededError
from eukhed.host.seam import Files, Stat
from eukhed.timing import WallMs

RECORD: Final = "record.json"  # in the stage
BUNDLE: Final = "bundle"


class Minting:
    """A mint that holds the lock of `directory`, or (`locked` False) one where the file system has none.

    Args:
        files: the file system.
        directory: of the name; it exists.
        prepared: what to write.
        parent: the hash of the version that it started from, or empty.
        why: one line, trimmed.
        at: now.
        locked: whether no other mint can be at work here.
        limits: what is too large to be read.
        notice: told in one line what could not be swept.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        prepared: Prepared,
        *,
        parent: str,
        why: str,
        at: WallMs,
        locked: bool,
        limits: Limits,
        notice: Notice,
    ) -> None:
        self._files = files
        self._directory = directory
        self._prepared = prepared
        self._asked = Asked(prepared.hash, parent, why)
        self._at = at
        self._locked = locked
        self._limits = limits
        self._notice = notice
        self._token = disk.fresh_token()
        self._claim: Claim | None = None
        self._shelf: Shelf | None = None
        self._swept: frozenset[int] | None = None
        self._record: Version | None = None
        self.step: Step | None = Step.LOOK

    def run(self) -> Version:
        """All steps; the version that was made, or the head that has this content already.

        Raises:
            ParentNeededError, StaleParentError, WhyNeededError: refused; nothing was written, no number spent.
            ExistsError: another has the number, or took this mint over.
            BrokenBundle: the head's record cannot be read.
            OSError: as the system says. Before the claim nothing is there; after it the number is spent.
        """
        while self.step is not None:
            self.advance()
        return self.result

    @property
    def result(self) -> Version:
        assert self.step is None
        assert self._record is not None
        return self._record

    def advance(self) -> None:
        """Do the next step."""
        step = self.step
        assert step is not None
        try:
            self._do(step)
        except OSError as error:
            self._fail(step, error)
        except EukhedError:
            self.step = None
            if step in mint_law.PLAN:
                self._clear()
            raise

    def _do(self, step: Step) -> None:
        if step is Step.LOOK:
            self._look()
        elif step is Step.SWEEP:
            self._sweep()
            self.step = Step.LOOK
        else:
            {
                Step.STAGE: self._stage,
                Step.CLAIM: self._link,
                Step.FLUSH_CLAIM: self._flush,
                Step.MOVE: self._move,
                Step.FLUSH_MOVE: self._flush,
                Step.CLEAR: self._clear,
            }[step]()
            self.step = mint_law.step_after(step, mint_law.PLAN)

    def _fail(self, step: Step, error: OSError) -> NoReturn:
        self.step = None
        if step in mint_law.PLAN:
            self._clear()
        if mint_law.settle(step, error.errno, taken=errno.EEXIST, gone=errno.ENOENT) is Outcome.LOST:
            number = self._claimed.number
            raise ExistsError(
                f"version {number} of {self._prepared.name} went to another mint: load the head and mint from it",
                version=number,
            ) from error
        raise error

    @property
    def _claimed(self) -> Claim:
        assert self._claim is not None
        return self._claim

    @property
    def _hidden(self) -> str:
        return os.path.join(self._directory, stage_name(self._claimed.number, self._token))

    # deciding

    def _look(self) -> None:
        shelf = self._shelf = reading.shelf_of(self._files, self._directory)
        head = None
        if shelf.head is not None:
            head = reading.read_record(self._files, self._directory, shelf.head, self._limits)
        verdict = mint_law.decide(shelf, head.hash if head else "", self._asked)
        if isinstance(verdict, Refusal):
            self._refuse(verdict, head)
        if isinstance(verdict, Unchanged):
            self._record, self.step = head, None
            return
        self._claim = verdict
        self.step = mint_law.step_after_look(verdict, shelf, self._swept, locked=self._locked)

    def _refuse(self, refusal: Refusal, head: Version | None) -> NoReturn:
        name = self._prepared.name
        data: dict[str, Any] = {"head": head.hash, "head_version": head.version} if head else {}
        if head is None:
            raise StaleParentError(
                f"{name} has no versions yet, so none that has {self._asked.parent}", **data
            )
        at_head = f"its head is version {head.version}, {head.hash}"
        if refusal is Refusal.PARENT_NEEDED:
            raise ParentNeededError(
                f"{name} has versions: say which one this was made from; {at_head}", **data
            )
        if refusal is Refusal.WHY_NEEDED:
            raise WhyNeededError(f"{name}: say in one line what changed; {at_head}", **data)
        raise StaleParentError(f"{name} has moved on: {at_head}, not {self._asked.parent}", **data)

    # sweeping

    def _sweep(self) -> None:
        """First out of everybody's reach, then away: a mint that still works there finds nothing."""
        claim, shelf = self._claimed, self._shelf
        assert shelf is not None
        for name in shelf.stages:
            if mint_law.may_sweep(name, claim, locked=self._locked) and not self._is_version(name):
                self._take_away(name, needed=mint_law.must_go(name, claim))
        self._swept = claim.over

    def _take_away(self, name: str, *, needed: bool) -> None:
        """The bundle first, by its own name: its maker moves that very entry, and one of the two finds it gone.

        To move the directory above it is not enough. A move that is under way has found that directory already,
        and takes the bundle out of it wherever it is by now, half removed.
        """
        path = os.path.join(self._directory, name)
        found = self._files.stat(path)
        parts = [path] if found is None or found.kind != "directory" else [os.path.join(path, BUNDLE), path]
        for part in parts:
            aside = os.path.join(self._directory, stage_name(NO_VERSION, disk.fresh_token()))
            try:
                self._files.rename(part, aside)
            except FileNotFoundError:
                continue  # it came to its place, or another swept it
            except OSError as error:
                if needed:
                    raise
                self._notice(f"{path} is left from a mint and cannot be removed: {error.strerror}")
                return
            try:
                disk.remove_tree(self._files, aside)
            except OSError as error:
                self._notice(f"{aside} is left from a mint and cannot be removed: {error.strerror}")

    def _is_version(self, name: str) -> bool:
        """A disk without a journal can keep a renamed directory under both names: what is a version stays."""
        number = staged_number(name)
        if not number:
            return False
        ours = self._files.stat(os.path.join(self._directory, name, BUNDLE))
        theirs = self._files.stat(os.path.join(self._directory, directory_name(number)))
        return ours is not None and theirs is not None and _inode(ours) == _inode(theirs)

    # writing

    def _stage(self) -> None:
        files, hidden, claim = self._files, self._hidden, self._claimed
        bundle = os.path.join(hidden, BUNDLE)
        self._record = Version(
            version=claim.number,
            hash=self._prepared.hash,
            at=self._at,
            parent=claim.parent,
            parent_version=claim.parent_version,
            why=self._asked.why,
            files=digests_of(self._prepared.files),
        )
        folders = [os.path.join(bundle, EVALS)]  # there from the first version on, be it empty
        if any(path.startswith(f"{PROMPTS}/") for path in self._prepared.files):
            folders.append(os.path.join(bundle, PROMPTS))
        contents = {os.path.join(hidden, RECORD): encode_version(self._record)}
        contents |= {os.path.join(bundle, path): data for path, data in self._prepared.files.items()}
        above = []
        if claim.parent_version == 0:  # whoever made the directories may have died before they were durable
            above = [os.path.dirname(self._directory), os.path.dirname(os.path.dirname(self._directory))]
        files.make_directory(hidden)
        for folder in (bundle, *folders):
            disk.make_directory(files, folder)
        disk.write_files(files, contents, [*folders, bundle, *above])

    def _link(self) -> None:
        path = os.path.join(self._directory, record_name(self._claimed.number))
        self._files.link(os.path.join(self._hidden, RECORD), path)

    def _move(self) -> None:
        path = os.path.join(self._directory, directory_name(self._claimed.number))
        self._files.rename_no_replace(os.path.join(self._hidden, BUNDLE), path)

    def _flush(self) -> None:
        self._files.flush_directory(self._directory)

    def _clear(self) -> None:
        """What stays is swept by a later mint."""
        with suppress(OSError):
            disk.remove_tree(self._files, self._hidden)


def _inode(found: Stat) -> tuple[int, int]:
    return found.device, found.inode
