"""How a tree is drawn: grouped by run, the ended folded and counted, nothing lost with --full."""

from typing import Any

import pytest

from eukhed.cli.rewind_plan import lines
from eukhed.cli.state_rows import ENDED, Row, drawn, label, top


class Tree:
    """Nodes as a worker tells them."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.add("conversation", 1, {"id": 1})

    def add(self, kind: str, record: int, value: dict[str, Any]) -> dict[str, Any]:
        number = len(self.nodes) + 1
        parent = 0 if kind == "conversation" else 1
        node = {"id": number, "parent": parent, "value": value, "of": [kind, record], "at": number}
        self.nodes.append(node)
        return node

    def run(self, record: int, *, over: bool) -> None:
        told = {"argv": ["make", "t\x1b[31mest"], "cwd": "/", "tty": False, "submittedAt": 1}
        state = {"status": "terminal", "outcome": "completed", "result": {"exit": 0, "endedAt": 5000}}
        self.add(
            "task",
            record,
            {
                "id": record, "conversationId": 1, "kind": "command", "input": told, "version": 1, "background": True,
                "abortRequested": False, "state": state if over else {"status": "running"}, "memos": {"startedAt": 1000},
            },
        )  # fmt: skip
        for entry in (record + 1, record + 2):
            self.add("entry", entry, {"kind": "output", "conversation": 1, "task": record})
        status = "done" if over else "placed"
        self.add("submission", record + 3, {"id": record + 3, "status": status, "task": record})

    def row(self, *, full: bool, worker: str | None = "w") -> Row:
        return top("shop", {"worker": worker, "cursor": len(self.nodes), "nodes": self.nodes}, full=full)


def texts(row: Row) -> list[str]:
    return [row.text, *(text for below in row.below for text in texts(below))]


@pytest.mark.parametrize("ended", [0, 1, ENDED, ENDED + 3])
def test_ended_runs_are_folded_and_counted(ended: int) -> None:
    tree = Tree()
    for number in range(ended):
        tree.run(10 * (number + 1), over=True)
    tree.run(1000, over=False)
    shown = texts(tree.row(full=False))
    runs = [text for text in shown if text.startswith("run ")]
    assert len(runs) == min(ended, ENDED) + 1
    assert runs[-1].startswith("run 1000  running  make t")
    folded = 4 * max(0, ended - ENDED) + min(
        ended, ENDED
    )  # older runs whole, and the submissions of the others
    assert (f"({folded} ended nodes folded: --full)" in shown[-1]) == (folded > 0)
    assert shown[-1].endswith(f"eukhed rewind-plan shop {len(tree.nodes) - 1}")


def test_full_shows_every_node_once() -> None:
    tree = Tree()
    for number in range(ENDED + 4):
        tree.run(10 * (number + 1), over=True)
    tree.add("document", 900, {"kind": "plan", "key": "k", "scope": {"kind": "task", "taskId": 10}})
    tree.add("entry", 901, {"kind": "note", "conversation": 1})
    shown = texts(tree.row(full=True))
    assert all(sum(text.startswith(label(node)) for text in shown) == 1 for node in tree.nodes)
    assert len(shown) == len(tree.nodes) + 2


def test_each_row_ends_in_its_cursor_and_drives_no_terminal() -> None:
    tree = Tree()
    tree.run(3, over=True)
    text = drawn(tree.row(full=False), width=None, colour=False)
    assert "\x1b" not in text
    for line in text.splitlines()[1:-1]:
        assert line.rpartition("  @")[2].isdecimal(), line
    narrow = drawn(tree.row(full=False), width=30, colour=True)
    assert "\x1b[31m" not in narrow, "the colour of the command's own"
    assert "read from the disk" in drawn(tree.row(full=False, worker=None), width=None, colour=False)


def test_a_plan_names_what_ends_first_and_counts_entries() -> None:
    tree = Tree()
    tree.run(3, over=True)
    tree.run(10, over=False)
    ids = [node["id"] for node in tree.nodes]
    told = {"stops": ids, "starts": [], "restores": [77], "kept": [], "ends": [10], "nodes": tree.nodes}
    stops, starts, restores, kept = lines(told)
    assert stops.startswith("stops     run 10 running make")
    assert "4 entries output" in stops
    assert (starts, restores, kept) == ("starts    -", "restores  and more", "kept      -")
