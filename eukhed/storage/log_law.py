"""
The commit log: the steps of a commit and their order, and what a failure does.

Law: shared/laws/log.md. Caller: log.py, which does the steps. Pure: facts in, steps out.

A commit is a walk: `decide(state, event)` answers each event with the next step. Its group is one or more
batches; all their sidecar records go out first, then all their markers in one append, then the
acknowledgement, so the markers are the commit point of them all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

MAIN: Final = "main.jsonl"

# steps


@dataclass(frozen=True, slots=True)
class AppendRecords:
    """All of the group's records for this sidecar, in one append; the file is made when it is absent."""

    name: str


@dataclass(frozen=True, slots=True)
class FlushFile:
    """A sidecar, or another file that a batch names."""

    name: str


@dataclass(frozen=True, slots=True)
class FlushDirectory:
    """The storage's own directory: the names in it."""


@dataclass(frozen=True, slots=True)
class Pad:
    """Zeros behind the end of main.jsonl, for the lines to come; as many as there is room for."""

    zeros: int


@dataclass(frozen=True, slots=True)
class AppendMarkers:
    """All of the group's lines of main.jsonl, in one write, where the acknowledged ones end."""


@dataclass(frozen=True, slots=True)
class FlushMain:
    """main.jsonl: after this the commits are durable."""


@dataclass(frozen=True, slots=True)
class CutBack:
    """Truncate to what was acknowledged; a file that is not there is as good as cut."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Tell each batch of the group that it is committed. The group is over."""


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Tell each batch of the group that it failed and that nothing of it is left. The group is over."""


@dataclass(frozen=True, slots=True)
class Poison:
    """Nothing more is acknowledged or read by this process. The group is over, its outcome unknown."""


Step = (
    AppendRecords
    | FlushFile
    | FlushDirectory
    | Pad
    | AppendMarkers
    | FlushMain
    | CutBack
    | Acknowledge
    | GiveBack
    | Poison
)

# events


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A sidecar that the group appends to, and its size before."""

    name: str
    size: int


class Begin(NamedTuple):
    """A group waits to be committed."""

    marker_bytes: int
    sidecars: tuple[Sidecar, ...] = ()
    files: tuple[str, ...] = ()  # other files that its batches name
    zeros: int = 0  # to be put behind main.jsonl (padding_law)


@dataclass(frozen=True, slots=True)
class Done:
    """The step that was asked for is done."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The step that was asked for failed, whatever the errno."""


Event = Begin | Done | Failed


@dataclass(frozen=True, slots=True)
class Refused:
    """The event cannot be, as things stand; the state is kept."""

    reason: str


# the walk


class State(NamedTuple):
    """Where the walk is. `todo` begins with the step that was asked for last."""

    fsync: bool
    end: int  # of main.jsonl: what is acknowledged
    durable: frozenset[str] = frozenset()  # names whose entry in the directory is known to be on the disk
    group: Begin | None = None
    todo: tuple[Step, ...] = ()
    poisoned: bool = False


def decide(state: State, event: Event) -> tuple[State, Step | Refused]:
    """Take one event in, say what is next."""
    if isinstance(event, Done) and state.todo:
        return _done(state)
    if state.poisoned:
        return state, Refused("poisoned")
    if isinstance(event, Begin):
        if state.group is not None:
            return state, Refused("a group is in progress")
        if fault := _fault(event):
            return state, Refused(fault)
        todo = _planned(state, event)
        return State(state.fsync, state.end, state.durable, event, todo), todo[0]
    if state.group is None:
        return state, Refused("no step was asked for")
    return _failed(state)


def renamed(state: State, name: str) -> State:
    """Another file has this name now: until the directory is flushed, a crash can bring the old one back."""
    return state._replace(durable=state.durable - {name})


def _fault(group: Begin) -> str | None:
    if group.marker_bytes <= 0:
        return "a group has a marker"
    if group.zeros < 0:
        return "no file is padded with less than nothing"
    if not group.sidecars and not group.files:
        return None
    names = _names(group)
    if len(set(names)) < len(names) or MAIN in names:
        return "a group names each file once"
    if any(sidecar.size < 0 for sidecar in group.sidecars):
        return "no file is shorter than nothing"
    return None


def _names(group: Begin) -> tuple[str, ...]:
    """The files that its markers rely on."""
    return (*(sidecar.name for sidecar in group.sidecars), *group.files)


def _planned(state: State, group: Begin) -> tuple[Step, ...]:
    main_new = MAIN not in state.durable
    if not (main_new or group.sidecars or group.files):
        plan = _USUAL if state.fsync else _UNFLUSHED
    else:
        names = _names(group)
        new = state.fsync and not state.durable.issuperset(names)
        touched = names[: len(group.sidecars)]
        plan = _plan(touched, names, fsync=state.fsync, new=new, main_new=main_new)
    if not group.zeros:
        return plan
    at = plan.index(AppendMarkers())
    return (*plan[:at], Pad(group.zeros), *plan[at:])


@lru_cache(maxsize=256)
def _plan(
    touched: tuple[str, ...], names: tuple[str, ...], *, fsync: bool, new: bool, main_new: bool
) -> tuple[Step, ...]:
    """Everything that a marker relies on is durable before the marker is written."""
    steps: list[Step] = [AppendRecords(name) for name in touched]
    if fsync:
        steps += [FlushFile(name) for name in names]
        if new:
            steps.append(FlushDirectory())
    steps.append(AppendMarkers())
    if fsync:
        steps.append(FlushMain())
        if main_new:
            steps.append(FlushDirectory())
    return (*steps, Acknowledge())


_USUAL: Final = _plan((), (), fsync=True, new=False, main_new=False)  # ready: most groups have markers only
_UNFLUSHED: Final = _plan((), (), fsync=False, new=False, main_new=False)


def _done(state: State) -> tuple[State, Step]:
    """Note what the finished step has made sure, and go on."""
    fsync, end, durable, group, todo, _ = state
    assert group is not None
    if isinstance(todo[0], FlushDirectory):
        durable |= set(_names(group))
        if AppendMarkers() not in todo:
            durable |= {MAIN}
    step, todo = todo[1], todo[1:]
    if isinstance(step, Acknowledge):
        return State(fsync, end + group.marker_bytes, durable), step
    if isinstance(step, GiveBack):
        return State(fsync, end, durable), step
    return State(fsync, end, durable, group, todo), step


def _failed(state: State) -> tuple[State, Step]:
    """A failed append is undone; a failed flush cannot be, whatever a second one would say."""
    if isinstance(state.todo[0], Pad):
        return _done(state)  # nothing relies on it
    if isinstance(state.todo[0], AppendRecords | AppendMarkers):
        undo: tuple[Step, ...] = (*_undo(state), GiveBack())
        return state._replace(todo=undo), undo[0]
    return State(state.fsync, state.end, state.durable, poisoned=True), Poison()


def _undo(state: State) -> Iterator[CutBack]:
    """Cut back every file whose append was begun, main first: no marker outlives its records."""
    assert state.group is not None
    if isinstance(state.todo[0], AppendMarkers):
        yield CutBack(MAIN, state.end)
    waiting = {step.name for step in state.todo[1:] if isinstance(step, AppendRecords)}
    for sidecar in state.group.sidecars:
        if sidecar.name not in waiting:
            yield CutBack(sidecar.name, sidecar.size)
