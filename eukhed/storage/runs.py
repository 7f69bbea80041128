"""Runs as a storage's records tell them: rows for lists, and the order of a run's output.

A run is a task of kind "command" or "bundle". Its output lies in files beside the log; entries of kind "output" name
the bytes and give the order across its two streams (docs/storage-format.md).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from eukhed.host.seam import Files
from eukhed.storage.plain import words
from eukhed.storage.reading import entries
from eukhed.storage.records import Entry, Outcome, Pending, Task, Terminal

COMMAND: Final = "command"
CHILD: Final = (
    "child"  # a task: a session that a spawn made, until its command is over; and the entry that says so
)
BUNDLE: Final = "bundle"
RUNS: Final = frozenset({COMMAND, BUNDLE})  # the kinds of task that are runs
OUTPUT: Final = "output"  # data: {stream, offset, length, text | base64 | crc}
DROPPED: Final = "dropped"  # data: {stream, offset, length}: the cap took these bytes
BASH: Final = "bash"  # data: {line, exit | signal | error, cut}: a shell line is over; its messages say it
QUESTION: Final = "question"  # the memo of a run that waits for a person: the number of the call that asks
RESTORED: Final = "restored"  # data: {text, at}: another worker took the run up

Stream = Literal["out", "err"]
OUTCOMES: Final[dict[str, Outcome]] = {
    "done": "completed",
    "failed": "failed",
    "stopped": "aborted",
    "interrupted": "orphaned",
    "lost": "faulted",
}
STATES: Final = {outcome: state for state, outcome in OUTCOMES.items()}


class Span(NamedTuple):
    """Bytes [start, end) of one stream, as an entry names them."""

    stream: Stream
    start: int
    end: int


def output_name(task: int, stream: Stream) -> str:
    """The file of a run's stream, within its storage."""
    return f"run-{task}.{stream}"


def state_of(task: Task) -> str:
    """The run's state, as `runs` shows it."""
    state = task.state
    if isinstance(state, Pending):
        return "queued"
    if not isinstance(state, Terminal):
        return "waiting" if QUESTION in (task.memos or {}) else "running"
    return STATES[state.outcome]


def waiting_for(task: Task, tasks: Mapping[int, Task] | None = None) -> list[int]:
    """The runs that a run which has not started still waits for; `tasks`: what is known of them."""
    if not isinstance(task.state, Pending):
        return []
    told = task.input.get("waits") or {}
    named = sorted({*told.get("done", ()), *told.get("ended", ())})
    return [n for n in named if tasks is None or (n in tasks and not tasks[n].terminal)]


def run_row(
    task: Task, session: str, name: str, now_ms: int, tasks: Mapping[int, Task] | None = None
) -> dict[str, Any]:
    """One run for a list or a view; absent facts are None, so that the keys are always the same.

    `tasks` are the session's, for what a run waits for.
    """
    told, memos = task.input, task.memos or {}
    result = task.state.result or {} if isinstance(task.state, Terminal) else {}
    started, ended = memos.get("startedAt"), result.get("endedAt")
    until = ended if ended is not None else now_ms
    sizes, dropped = result.get("outputBytes", {}), result.get("droppedBytes", {})
    stop = memos.get("stop")
    return {
        "run": task.id,
        "address": f"{name}/{task.id}",
        "session": session,
        "name": name,
        "state": state_of(task),
        "exit": result.get("exit"),
        "signal": result.get("signal"),
        "error": result.get("error"),
        "stopped_by": stop["by"] if stop and isinstance(task.state, Terminal) else None,
        "waiting_for": [f"{name}/{number}" for number in waiting_for(task, tasks)] or None,
        "command": words(told["argv"]),
        "label": told.get("label"),
        "job": told.get("job"),
        "again": told.get("again"),
        "cwd": words([told["cwd"]]),
        "tty": told["tty"],
        "submitted_at": told["submittedAt"],
        "started_at": started,
        "ended_at": ended,
        "seconds": None if started is None else max(0, until - started) / 1000,
        "output_bytes": sum(sizes.values()) if result else None,
        "dropped_bytes": sum(dropped.values()) if result else None,
        "pid": memos["command"][0] if "command" in memos and not result else None,
    }


def spans(files: Files, path: str, task: int) -> Iterator[Span]:
    """The bytes that a run's entries name, in order."""
    for entry in entries(files, path):
        if entry.by_task_id == task and entry.kind in {OUTPUT, DROPPED}:
            yield span_of(entry)


def span_of(entry: Entry) -> Span:
    """The bytes that one output entry names."""
    data = entry.data
    return Span(data["stream"], data["offset"], data["offset"] + data["length"])


def entered_sizes(files: Files, path: str, task: int) -> dict[Stream, int]:
    """Up to where a run's entries reach, by stream."""
    sizes: dict[Stream, int] = {"out": 0, "err": 0}
    for span in spans(files, path, task):
        sizes[span.stream] = max(sizes[span.stream], span.end)
    return sizes
