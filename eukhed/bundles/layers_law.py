"""Which of several layers answers for a name, and whose its bundle is called.

Law: shared/laws/layers.md. Caller: layers.py. Pure.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final, NamedTuple


class Layer(IntEnum):
    """Where a bundle comes from; the lower one answers first."""

    BUILT_IN = 0
    PACKAGED = 1
    PROJECT = 2
    HOME = 3


_PROVENANCE: Final = {
    Layer.BUILT_IN: "built-in",
    Layer.PACKAGED: "packaged",
    Layer.PROJECT: "from this project",
    Layer.HOME: "yours",
}


class Found(NamedTuple):
    """What a layer has under a name."""

    layer: Layer
    works: bool


def provenance(layer: Layer) -> str:
    """What a bundle of this layer says of where it is from, whatever it claims itself."""
    return _PROVENANCE[layer]


def first(found: Iterable[Found]) -> Layer | None:
    """The layer that answers for a name; None if no layer has a bundle of it that works."""
    return min((one.layer for one in found if one.works), default=None)


def union(listed: Mapping[Layer, Iterable[str]]) -> dict[str, Layer]:
    """Which layer answers for each of the names that the layers list (they list what works), by name."""
    answers: dict[str, Layer] = {}
    for layer in sorted(listed):
        for name in listed[layer]:
            answers.setdefault(name, layer)
    return dict(sorted(answers.items()))
