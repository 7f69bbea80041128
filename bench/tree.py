"""The state tree on 100,000 nodes against a dict of the same nodes, and the cost of a record as the tree grows.

    python bench/tree.py [--json FILE] [--svg docs/tree.svg]

Peers, in turns in one run: `dict` (copied for a snapshot) and, where it is installed, `immutables.Map`.
A snapshot of the tree is made and then read: one node, and `whole`, all nodes as a dict of their own (which
costs what `dict` pays for its copy).

Times are medians of all rounds.
"""

import argparse
import gc
import importlib
import importlib.util
import json
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import plot

from eukhed.tree.journal import Journal
from eukhed.tree.records import Del, Placed, Put

NODES = 100_000
ROUNDS = 5
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LABELS = {
    "put_us": "Put, one record",
    "delete_us": "Del of one node",
    "snapshot_us": "snapshot, 1,000 records back",
    "plan_us": "rewind plan, 1,000 records back",
}
TARGETS = {"put_us": 10.0, "snapshot_1000_back_ms": 5.0, "memory_ratio": 3.0}
SHAPES: dict[str, Callable[[int], int]] = {
    "conversations": lambda node: 0 if node <= 1000 else node % 1000 + 1,  # a thousand, the rest below them
    "flat": lambda _: 0,
    "chain": lambda node: node - 1,
}


def puts(shape: str, nodes: int) -> Iterator[Put]:
    """Nodes with values of their own, of about the size of an entry's."""
    parent_of = SHAPES[shape]
    return (
        Put(node, parent_of(node), b'{"kind":"output","conversation":%d}' % node)
        for node in range(1, nodes + 1)
    )


def grown(shape: str, nodes: int) -> Journal:
    journal = Journal()
    for put in puts(shape, nodes):
        journal.take(put)
    return journal


def timed(call: Callable[[], Any]) -> float:
    """Microseconds of one call."""
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) / 1000


def memory_of(make: Callable[[], Any]) -> int:
    """Bytes that stay allocated while what `make` made is held."""
    gc.collect()
    tracemalloc.start()
    held = make()
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del held
    return used


def tree_round(journal: Journal) -> dict[str, float]:
    """One turn of the tree: a thousand puts one by one, then the reads, then a thousand small deletes."""
    top = journal.cursor * 2 + NODES
    value = b'{"kind":"output","conversation":1,"task":7}'
    records = [Put(top + at, 1 + at % 1000, value) for at in range(1000)]
    put = [timed(partial(journal.take, record)) for record in records]
    back = journal.cursor - 1000
    snapshot_us = timed(lambda: journal.snapshot(back))
    whole_us = timed(lambda: journal.snapshot(back).placed())
    one_us = timed(lambda: journal.snapshot(back).get(NODES // 2))
    plan_us = timed(lambda: journal.plan(back))
    delete = [timed(partial(journal.take, Del(record.id))) for record in records]
    return {
        "put_us": statistics.median(put),
        "put_p99_us": sorted(put)[990],
        "delete_us": statistics.median(delete),
        "snapshot_1000_back_ms": snapshot_us / 1000,
        "snapshot_1000_back_whole_ms": whole_us / 1000,
        "snapshot_1000_back_one_node_ms": one_us / 1000,
        "plan_1000_back_ms": plan_us / 1000,
    }


def dict_round(nodes: dict[int, tuple[int, Hashable]]) -> dict[str, float]:
    """The same of a dict that is copied for its snapshot and compared node by node for its plan."""
    earlier: dict[int, tuple[int, Hashable]] = {}

    def copy() -> None:
        nonlocal earlier
        earlier = dict(nodes)

    copy_us = timed(copy)
    top = NODES * 2
    put = [timed(partial(nodes.__setitem__, top + at, (1, b"v"))) for at in range(1000)]
    plan_us = timed(
        lambda: [node for node in nodes.keys() | earlier.keys() if nodes.get(node) != earlier.get(node)]
    )
    delete = [timed(partial(nodes.pop, top + at)) for at in range(1000)]
    return {
        "put_us": statistics.median(put),
        "delete_us": statistics.median(delete),
        "snapshot_ms": copy_us / 1000,
        "plan_1000_back_ms": plan_us / 1000,
    }


def immutables_round(nodes: Any) -> dict[str, float]:
    """The same of a persistent map: a snapshot is the map itself, a plan looks at every node."""
    earlier, top = nodes, NODES * 2

    def put_one(node: int) -> None:
        nonlocal nodes
        nodes = nodes.set(node, (1, b"v"))

    put = [timed(partial(put_one, top + at)) for at in range(1000)]
    plan_us = timed(lambda: [node for node, held in nodes.items() if earlier.get(node) != held])
    return {"put_us": statistics.median(put), "snapshot_ms": 0.0, "plan_1000_back_ms": plan_us / 1000}


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(statistics.median(one[name] for one in rounds), 3) for name in rounds[0]}


def in_turns() -> dict[str, Any]:
    """A B A B: each peer as often as the tree, in the same run."""
    journal = grown("conversations", NODES)
    plain = of_tuples("conversations")
    installed = importlib.util.find_spec("immutables") is not None
    persistent = importlib.import_module("immutables").Map(plain) if installed else None
    rounds: dict[str, list[dict[str, float]]] = {"tree": [], "dict": [], "immutables": []}
    for _ in range(ROUNDS):
        rounds["tree"].append(tree_round(journal))
        rounds["dict"].append(dict_round(plain))
        if persistent is not None:
            rounds["immutables"].append(immutables_round(persistent))
    return {peer: medians(told) for peer, told in rounds.items() if told}


def of_tuples(shape: str) -> dict[int, tuple[int, Hashable]]:
    return {put.id: (put.parent, put.value) for put in puts(shape, NODES)}


def of_structs(shape: str) -> dict[int, Placed]:
    return {put.id: Placed(put.parent, put.value) for put in puts(shape, NODES)}


def memory() -> dict[str, Any]:
    """The tree with its whole journal, over a dict of the nodes it ends with."""
    told: dict[str, Any] = {}
    for shape in SHAPES:
        tree = memory_of(partial(grown, shape, NODES))
        plain = memory_of(partial(of_tuples, shape))
        peer = memory_of(partial(of_structs, shape))
        told[shape] = {
            "tree_mb": round(tree / 1e6, 1),
            "dict_of_tuples_mb": round(plain / 1e6, 1),
            "dict_of_structs_mb": round(peer / 1e6, 1),
            "ratio": round(tree / plain, 2),
        }
    held = grown("conversations", NODES)
    snapshots = memory_of(lambda: [held.snapshot(cursor) for cursor in range(NODES - 10_000, NODES, 100)])
    return told | {"100_snapshots_mb": round(snapshots / 1e6, 1)}


def growth() -> dict[int, dict[str, float]]:
    """Microseconds of a record over a whole build, and of what reads a thousand records back, by number of nodes."""
    told = {}
    for nodes in SIZES:
        records = list(puts("conversations", nodes))
        journal = Journal()
        start = time.perf_counter()
        for record in records:
            journal.take(record)
        built_us = (time.perf_counter() - start) / nodes * 1e6
        rounds = medians([tree_round(journal) for _ in range(ROUNDS)])
        told[nodes] = {
            "put_us": round(built_us, 3),
            "delete_us": rounds["delete_us"],
            "snapshot_us": rounds["snapshot_1000_back_ms"] * 1000,
            "plan_us": rounds["plan_1000_back_ms"] * 1000,
        }
        del records, journal
    return told


def main() -> None:
    """Run all, judge by the targets, write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", help="write the result to this file, too")
    parser.add_argument("--svg", help="draw the time of each operation by the number of nodes into this file")
    given = parser.parse_args()
    by_nodes = growth()
    if given.svg:
        Path(given.svg).write_text(plot.drawn(LABELS, by_nodes), encoding="utf-8")
    peers, used = in_turns(), memory()
    reached = {
        "put_us": peers["tree"]["put_us"],
        "snapshot_1000_back_ms": peers["tree"]["snapshot_1000_back_whole_ms"],
        "memory_ratio": max(used[shape]["ratio"] for shape in SHAPES),
    }
    result = {
        "what": f"state tree of {NODES} nodes",
        "python": platform.python_version(),
        "peers": peers,
        "memory": used,
        "us_by_nodes": by_nodes,
        "goals": TARGETS,
        "reached": {name: {"is": is_, "ok": is_ <= TARGETS[name]} for name, is_ in reached.items()},
    }
    print(json.dumps(result, indent=1))
    if given.json:
        Path(given.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
