"""A session's tree as rows for a person: grouped by run, the ended folded; each row ends in its cursor.

The tree's own parents are conversations only (rulings 57): what a run wrote hangs below the run here because
its entries name it.
"""

import io
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from eukhed.cli.render import plain, seconds
from eukhed.storage.plain import words
from eukhed.storage.records import Task
from eukhed.storage.runs import CHILD, RUNS, run_row, state_of

ENDED: Final = 5  # ended runs, and entries of no run, that are shown one by one
UNCUT: Final = 1 << 20  # columns where nothing is cut
STYLES: Final = {
    "running": "cyan", "queued": "blue", "failed": "red", "lost": "red", "stopped": "yellow", "interrupted": "yellow",
}  # fmt: skip

Node = Mapping[str, Any]


class Row(NamedTuple):
    """One row, and those below it."""

    text: str
    below: tuple["Row", ...] = ()
    style: str = ""


def top(name: str, reply: Mapping[str, Any], *, full: bool) -> Row:
    """The rows of a whole tree; the last one says what was folded."""
    worker, cursor = reply["worker"], reply["cursor"]
    from_whom = f"worker {worker}" if worker is not None else "read from the disk"
    branch = _Branch(reply["nodes"], full=full)
    below = branch.below(0)
    notes = [f"({branch.folded:,} ended nodes folded: --full)"] if branch.folded else []
    if worker is not None and cursor > 0:
        notes.append(f"one step back: eukhed rewind-plan {name} {cursor - 1}")
    if notes:
        below += (Row("      ".join(notes), style="dim"),)
    return Row(f"{name} · {from_whom} · cursor {cursor} · {time.strftime('%H:%M:%S')}", below, "bold")


def drawn(row: Row, *, width: int | None, colour: bool) -> str:
    """The rows as lines of a drawn tree."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or UNCUT,
        color_system="standard" if colour else None,
        force_terminal=colour,
        highlight=False,
        legacy_windows=False,
    )
    console.print(_tree(row), soft_wrap=False)
    return out.getvalue()


def _tree(row: Row) -> Tree:
    text = Text(plain(row.text), style=row.style, no_wrap=True, overflow="ellipsis")
    tree = Tree(text, guide_style="dim")
    tree.children = [_tree(below) for below in row.below]
    return tree


def label(node: Node) -> str:
    """One node in words."""
    kind, record = node["of"]
    value = node["value"]
    match kind:
        case "conversation":
            return f"conversation {record}{_origin(value)}"
        case "task":
            return _task(record, value)
        case "submission":
            return f"submission {record}  {value['status']}"
        case "document":
            key = f" {value['key']}" if value.get("key") else ""
            return f"document {record}  {value['kind']}{key}  {value['scope']['kind']}"
    return f"entry {record}  {value['kind']}"


def _origin(value: Mapping[str, Any]) -> str:
    if owner := value.get("owner"):
        return f"  of run {owner['taskId']}"
    if source := value.get("parent"):
        return f"  forked from {source['conversationId']} at {source['at']}"
    return ""


def _task(record: int, value: Mapping[str, Any]) -> str:
    if value["kind"] == CHILD:
        task = msgspec.convert(value, Task)
        return f"child {record}  {state_of(task)}  {(task.memos or {}).get('name', '')}  {words(task.input['argv'])}"
    if value["kind"] not in RUNS:
        return f"task {record}  {value['kind']}  {value['state']['status']}"
    row = run_row(msgspec.convert(value, Task), "", "", int(time.time() * 1000))
    took = f"  {seconds(row['seconds'])}" if row["seconds"] is not None else ""
    return f"run {record}  {row['state']}  {row['command']}{took}"


def _style(node: Node) -> str:
    if node["of"][0] != "task" or node["value"]["kind"] not in RUNS:
        return ""
    return STYLES.get(_task(0, node["value"]).split("  ")[1], "")


class _Branch:
    """Goes through the nodes of one tree, once."""

    def __init__(self, nodes: Iterable[Node], *, full: bool) -> None:
        self.folded = 0
        self._full = full
        self._below: dict[int, list[Node]] = {}
        for node in nodes:
            self._below.setdefault(node["parent"], []).append(node)

    def below(self, parent: int) -> tuple[Row, ...]:
        """The rows of what hangs below a node: what is of a run stands below that run."""
        nodes = self._below.get(parent, [])
        tasks = {node["of"][1]: node for node in nodes if node["of"][0] == "task"}
        of_run: dict[int, list[Node]] = {task: [] for task in tasks}
        loose: list[Node] = []
        for node in nodes:
            if node["of"][0] == "task":
                continue
            of_run.get(_run_of(node), loose).append(node)
        rows = [*self._runs(tasks, of_run), *self._loose(loose)]
        rows.sort(key=lambda pair: pair[0])
        return tuple(row for _, row in rows)

    def _runs(
        self, tasks: Mapping[int, Node], of_run: Mapping[int, Sequence[Node]]
    ) -> Iterable[tuple[int, Row]]:
        ended = [task for task, node in tasks.items() if node["value"]["state"]["status"] == "terminal"]
        shown = set(tasks) - set(() if self._full else ended[:-ENDED])
        for task, node in tasks.items():
            if task in shown:
                yield node["id"], Row(_marked(label(node), node), self._of_run(of_run[task]), _style(node))
            else:
                self.folded += 1 + len(of_run[task])

    def _of_run(self, nodes: Sequence[Node]) -> tuple[Row, ...]:
        if self._full:
            return tuple(self._row(node) for node in nodes)
        entries: dict[str, list[Node]] = {}
        rows = []
        for node in nodes:
            if node["of"][0] == "entry":
                entries.setdefault(node["value"]["kind"], []).append(node)
            elif _over(node):
                self.folded += 1
            else:
                rows.append(self._row(node))
        told = []
        for kind, group in entries.items():
            count = f"  {len(group)} entries" if len(group) > 1 else ""
            told.append(Row(_marked(f"{kind}{count}", group[-1])))
        return (*told, *rows)

    def _loose(self, nodes: Sequence[Node]) -> Iterable[tuple[int, Row]]:
        entries = [node for node in nodes if node["of"][0] == "entry"]
        hidden = set() if self._full else {node["id"] for node in entries[:-ENDED]}
        for node in nodes:
            if node["id"] in hidden or (_over(node) and not self._full):
                self.folded += 1
            else:
                yield node["id"], self._row(node)

    def _row(self, node: Node) -> Row:
        return Row(_marked(label(node), node), self.below(node["id"]))


def _run_of(node: Node) -> int:
    """The task that a node names; 0 for none."""
    value = node["value"]
    scope = value.get("scope")
    found = scope.get("taskId") if scope is not None else value.get("task")
    return found if isinstance(found, int) else 0


def _over(node: Node) -> bool:
    return node["of"][0] == "submission" and node["value"]["status"] in {"done", "unanswered"}


def _marked(text: str, node: Node) -> str:
    return f"{text}  @{node['at']}" if "at" in node else text
