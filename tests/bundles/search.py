"""Every interleaving of a few mints, step by step, with a crash of any at any step; and what a power loss leaves.

The writers are the product's own (`Minting`), on a disk in memory. A state is the disk with where each writer
is; each state's visible disk is checked, and each disk that losing the power there can leave: any subset of the names
that are not flushed. On each of those a later mint must go well.
"""

import copy
from collections import Counter, deque
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

from eukhed.bundles import disk
from eukhed.bundles.bundle import prepare
from eukhed.bundles.mint import Minting
from eukhed.bundles.mint_law import Step
from eukhed.bundles.reading import Limits
from eukhed.bundles.records import Version
from eukhed.errors import EukhedError
from eukhed.timing import WallMs
from tests.bundles.machine import NOON, bundle, check_lineage, shelf
from tests.fakes.crash_files import CrashFiles, Folder, Naming, Node

PLACE = "/root/subharnesses/triage"


def machine() -> CrashFiles:
    files = CrashFiles()
    files.make_directory("/root")
    files.flush_directory("/")
    disk.make_directories(files, PLACE)
    return files


def copied(files: CrashFiles) -> CrashFiles:
    twin = CrashFiles(sector=files.sector)
    twin._now_ns = files._now_ns
    twin.naming = list(files.naming)
    for number, node in files.nodes.items():
        if isinstance(node, Folder):
            twin.nodes[number] = Folder(dict(node.cache), dict(node.durable))
        else:
            twin.nodes[number] = Node(
                node.durable, bytearray(node.cache), list(node.pending), mtime_ns=node.mtime_ns
            )
    return twin


def minting(files: CrashFiles, program: str, parent: str, *, locked: bool) -> Minting:
    prepared = prepare(bundle(program), Limits(), None)
    return Minting(
        files,
        PLACE,
        prepared,
        parent=parent,
        why="it is better" if parent else "",
        at=WallMs(NOON),
        locked=locked,
        limits=Limits(),
        notice=print,
    )


def first(files: CrashFiles) -> Version:
    return minting(files, "the first", "", locked=True).run()


class Writer(NamedTuple):
    """One process: how it mints, and how far it is."""

    program: str
    locked: bool
    parent: str | None  # None: the head at the time that it starts, as one that loads first
    state: str = "waiting"  # waiting, minting, done, refused, lost, dead
    at: Minting | None = None
    made: int = 0

    @property
    def live(self) -> bool:
        return self.state in {"waiting", "minting"}


class State(NamedTuple):
    files: CrashFiles
    writers: tuple[Writer, ...]


def successors(state: State) -> Iterator[tuple[str, State]]:
    held = any(one.locked and one.state == "minting" for one in state.writers)
    for index, writer in enumerate(state.writers):
        if not writer.live:
            continue
        if writer.state == "minting":
            yield "crash", _with(state, index, writer._replace(state="dead", at=None))
        if writer.state == "minting" or not (writer.locked and held):
            yield "step", _advanced(state, index)


def _with(state: State, index: int, writer: Writer) -> State:
    return State(state.files, (*state.writers[:index], writer, *state.writers[index + 1 :]))


def _advanced(state: State, index: int) -> State:
    files = copied(state.files)
    writer = state.writers[index]
    if writer.at is None:
        parent = head_of(files) if writer.parent is None else writer.parent
        at = minting(files, writer.program, parent, locked=writer.locked)
        at._token = f"w{index}"
    else:
        at = copy.copy(writer.at)
        at._files = files
    try:
        at.advance()
    except EukhedError as error:
        kind = "lost" if error.code == "exists" else "refused"
        assert not any(name.endswith(f"-w{index}") for name in shelf(files, PLACE).stages), "a stage was left"
        return _with(State(files, state.writers), index, writer._replace(state=kind, at=None))
    if at.step is None:
        made = at.result.version
        return _with(State(files, state.writers), index, writer._replace(state="done", at=None, made=made))
    return _with(State(files, state.writers), index, writer._replace(state="minting", at=at))


def head_of(files: CrashFiles) -> str:
    versions = check_lineage(files, PLACE)
    return versions[max(versions)].hash if versions else ""


def key_of(state: State) -> Any:
    """What tells two states apart: hidden names by whose they are, records and bundles by their bytes."""
    folder = _folder(state.files)
    names = tuple(
        sorted(
            (name, _content(state.files, number)) for name, number in folder.cache.items() if _telling(name)
        )
    )
    durable = tuple(sorted(name for name in folder.durable if _telling(name)))
    pending = tuple((change.name, change.number > 0) for change in _pending(state.files))
    writers = tuple(
        (one.state, one.made, one.at and (one.at.step, one.at._claim, one.at._swept)) for one in state.writers
    )
    return names, durable, pending, writers


def _folder(files: CrashFiles) -> Folder:
    folder = files.nodes[files._number(PLACE)]
    assert isinstance(folder, Folder)
    return folder


def _telling(name: str) -> bool:
    return name.startswith("v") or (name.startswith(".mint-") and not name.startswith(".mint-0-"))


def _content(files: CrashFiles, number: int) -> Any:
    node = files.nodes[number]
    if isinstance(node, Node):
        return bytes(node.cache)
    return tuple(sorted((name, _content(files, inner)) for name, inner in node.cache.items()))


def _pending(files: CrashFiles) -> list[Naming]:
    """The unflushed names of versions and records, and of bundles in their stages."""
    return [change for change in files.naming if change.name.startswith("v")]


def images(files: CrashFiles) -> Iterator[CrashFiles]:
    """What a power loss can leave: any subset of the names that tell, with all of the others or none."""
    telling = _pending(files)
    others = [change for change in files.naming if not change.name.startswith("v")]
    data = {number: node.durable for number, node in files.nodes.items() if isinstance(node, Node)}
    for count in range(len(telling) + 1):
        for chosen in combinations(telling, count):
            for rest in ([], others) if others else ([],):
                yield files._image([*rest, *chosen], data)


class Explored(NamedTuple):
    states: int
    images: int
    seen: Counter[str]


def explore(files: CrashFiles, writers: tuple[Writer, ...]) -> Explored:
    """Breadth first, all states; each checked."""
    start = State(files, writers)
    found = {key_of(start)}
    queue = deque([start])
    known: set[Any] = set()
    seen: Counter[str] = Counter()
    while queue:
        state = queue.popleft()
        _check(state, known, seen)
        for what, then in successors(state):
            seen[what] += 1
            _check_records_stay(state.files, then.files)
            if (key := key_of(then)) not in found:
                found.add(key)
                queue.append(then)
    return Explored(len(found), len(known), seen)


def _check(state: State, known: set[Any], seen: Counter[str]) -> None:
    versions = check_lineage(state.files, PLACE)
    acked = [(one.made, one.program) for one in state.writers if one.state == "done"]
    for number, _ in acked:
        assert number in versions, f"version {number} was answered and is not there"
    if not any(one.live for one in state.writers):
        seen["ends"] += 1
        seen[f"ends with {len(acked)} made"] += 1
        for one in state.writers:
            seen[one.state] += 1
    for image in images(state.files):
        folder = _folder(image)
        names = {name: _content(image, number) for name, number in folder.cache.items() if _telling(name)}
        key = (tuple(sorted(names.items())), tuple(acked))
        if key in known:
            continue
        known.add(key)
        _check_image(image, [number for number, _ in acked], seen)


def _check_image(image: CrashFiles, acked: list[int], seen: Counter[str]) -> None:
    """The invariants hold of it, and a later mint goes well, under a number that nothing had."""
    before = shelf(image, PLACE)
    versions = check_lineage(image, PLACE)
    for number in acked:
        assert number in versions, f"version {number} was answered and did not survive"
    seen["dead in an image"] += bool(before.dead)
    made = minting(image, "after the crash", head_of(image), locked=True).run()
    assert made.version == before.next
    after = check_lineage(image, PLACE)
    assert after.keys() == {*versions, made.version}
    assert shelf(image, PLACE).dead == before.dead, "a dead version came alive, or its number was used"


def _check_records_stay(before: CrashFiles, after: CrashFiles) -> None:
    """mint_immutable of claims: no record is replaced or removed; nor is a complete version's directory."""
    old, new = _folder(before).cache, _folder(after).cache
    for name, number in old.items():
        if name.startswith("v"):
            assert new.get(name) == number, f"{name} changed"


STEPS = tuple(Step)
