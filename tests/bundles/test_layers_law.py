"""layers_law: all combinations of four layers that have, lack or broke a bundle."""

import json
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.bundles.layers_law import Found, Layer, following, provenance, union
from tests.bundles import layers_model

VECTORS = json.loads(Path("shared/vectors/layers.json").read_text())
CALLED = {provenance(layer): layer for layer in Layer}


def answer(has: dict[Layer, bool]) -> str | None:
    """Who answers when layers are looked in as the law says."""
    found: list[Found] = []
    while (layer := following(has, found)) is not None:
        assert layer not in {one.layer for one in found}
        found.append(Found(layer, has[layer]))
    assert sum(one.works for one in found) <= 1
    return next((provenance(one.layer) for one in found if one.works), None)


def test_layers_first_wins() -> None:
    """layers_first_wins: in whatever order they are given."""
    answered = 0
    for works in product([None, False, True], repeat=4):
        has = {layer: one for layer, one in zip(Layer, works, strict=True) if one is not None}
        wanted = layers_model.first({provenance(layer): one for layer, one in has.items()})
        for order in permutations(has):
            assert answer({layer: has[layer] for layer in order}) == wanted
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
    assert answer({CALLED[called]: works for called, works in vector["found"].items()}) == vector["answers"]
