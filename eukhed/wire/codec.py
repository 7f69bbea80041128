"""Items to bytes and back: the one file that knows cbor2.

Encoding is deterministic (RFC 8949, 4.2): one item has one form. Decoding takes what a peer may send and
nothing else: one item and no byte more, definite lengths, each key once, no tag, no depth beyond
DEPTH_MAX. Keys are text; the names of an environment, which the system has as bytes, are byte strings.

An item is made of None, bool, int within 64 bits, float, str, bytes, list, and dict.
"""

import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

import cbor2

from eukhed.errors import BadFrame, Invalid

DEPTH_MAX: Final = 128


class _EveryTag(Mapping[int, Any]):
    """For the decoder: each tag there is, refused before what it holds is looked at."""

    def __getitem__(self, tag: int) -> Any:
        return _refuse

    def __iter__(self) -> Iterator[int]:
        return iter((0,))

    def __len__(self) -> int:
        return 1


def _refuse(*_seen: object) -> Any:
    raise ValueError("a tag")


_TAGS: Final = _EveryTag()


def encode(item: object) -> bytes:
    """Encode one item deterministically. Invalid for what has no form on the wire."""
    try:
        return cbor2.dumps(item, canonical=True)
    except (cbor2.CBOREncodeError, UnicodeError, RecursionError) as error:
        raise Invalid(f"this cannot be sent: {error}") from error


def decode(data: bytes) -> Any:
    """Decode exactly one item. BadFrame for anything else."""
    source = io.BytesIO(data)
    try:
        item = cbor2.CBORDecoder(
            source,
            semantic_decoders=_TAGS,
            max_depth=DEPTH_MAX,
            allow_indefinite=False,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
        ).decode()
    except (cbor2.CBORDecodeError, UnicodeError, RecursionError, MemoryError, OverflowError) as error:
        raise BadFrame(f"no item: {error}") from error
    rest = len(data) - source.tell()
    if rest:
        raise BadFrame(f"{rest} bytes after the item")
    return item
