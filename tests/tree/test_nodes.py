"""Nodes: the index of children through every way that a node can come, move and go."""

from hypothesis import given
from hypothesis import strategies as st

from eukhed.tree.nodes import Nodes
from eukhed.tree.records import Change, Placed
from tests.tree import checks


@given(st.lists(st.tuples(st.integers(1, 6), st.none() | st.integers(0, 5)), max_size=40))
def test_the_index_follows_the_nodes(moves: list[tuple[int, int | None]]) -> None:
    """One child, several, back to one and none: as a look at every node says."""
    nodes, model = Nodes(), dict[int, int]()
    for node, parent in moves:
        after = None if parent is None else Placed(parent, "v")
        nodes.carry_out((Change(node, nodes.get(node), after),))
        if parent is None:
            model.pop(node, None)
        else:
            model[node] = parent
        assert {node for node, _, _ in checks.plain(nodes)} == set(model)
        assert len(nodes) == len(model)
        for above in range(7):
            assert set(nodes.children(above)) == {node for node, parent in model.items() if parent == above}
    for node in list(model):
        nodes.carry_out((Change(node, nodes.get(node), None),))
    assert not nodes._below  # nothing is left behind
