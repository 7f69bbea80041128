"""layers_law: all combinations of four layers that have, lack or broke a bundle."""

import json
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.bundles.layers_law import Found, Layer, first, provenance, union
from tests.bundles import layers_model

VECTORS = json.loads(Path("shared/vectors/layers.json").read_text())
CALLED = {provenance(layer): layer for layer in Layer}


def test_layers_first_wins() -> None:
    """layers_first_wins: in whatever order they are found."""
    answered = 0
    for has in product([None, False, True], repeat=4):
        found = [Found(layer, works) for layer, works in zip(Layer, has, strict=True) if works is not None]
        wanted = layers_model.first({provenance(one.layer): one.works for one in found})
        for order in permutations(found):
            answer = first(order)
            assert (None if answer is None else provenance(answer)) == wanted
        answered += wanted is not None
    assert answered == 65  # of 81, those where one works


def test_layers_first_wins_says_whose_it_is() -> None:
    """layers_first_wins: one word for each layer, in the order of the layers."""
    assert [provenance(layer) for layer in sorted(Layer)] == layers_model.ORDER


NAMES = st.lists(st.sampled_from("abcd"), max_size=4)


@given(st.dictionaries(st.sampled_from(list(Layer)), NAMES))
def test_layers_union(listed: dict[Layer, list[str]]) -> None:
    """layers_union."""
    wanted = layers_model.union({provenance(layer): names for layer, names in listed.items()})
    assert [(name, provenance(layer)) for name, layer in union(listed).items()] == wanted


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["why"])
def test_vector(vector: dict[str, Any]) -> None:
    found = [Found(CALLED[called], works) for called, works in vector["found"].items()]
    answer = first(found)
    assert (None if answer is None else provenance(answer)) == vector["answers"]
