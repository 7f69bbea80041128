"""Which of several layers answers for a name, and whose its bundle is called.

Law: shared/laws/layers.md. Caller: layers.py. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    """A layer that was looked in for a name, and whether it has a bundle of it that works."""

    layer: Layer
    works: bool


def provenance(layer: Layer) -> str:
    """What a bundle of this layer says of where it is from, whatever it claims itself."""
    return _PROVENANCE[layer]


def following(layers: Iterable[Layer], found: Sequence[Found]) -> Layer | None:
    """The layer to look in next for a name, after these; None once one has it that works, or none is left.

    What works is the answer, and so the first layer that has a bundle that works.
    """
    if any(one.works for one in found):
        return None
    looked = {one.layer for one in found}
    return min((layer for layer in layers if layer not in looked), default=None)


def union(listed: Mapping[Layer, Iterable[str]]) -> dict[str, Layer]:
    """Which layer answers for each of the names that the layers list (they list what works), by name."""
    answers: dict[str, Layer] = {}
    for layer in sorted(listed):
        for name in listed[layer]:
            answers.setdefault(name, layer)
    return dict(sorted(answers.items()))
