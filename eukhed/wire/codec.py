"""Items to bytes and back: the one file that knows cbor2.

Encoding is deterministic (RFC 8949, 4.2): one item has one form. Decoding takes what a peer may send and
nothing else: one item and no byte more, definite lengths, each key once, no tag, no depth beyond
DEPTH_MAX. Keys are text; the names of an environment, which the system has as bytes, are byte strings.

An item is made of None, bool, int within 64 bits, float, str, bytes, list, and dict.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import cbor2

from eukhed.errors import BadFrame, Invalid

DEPTH_MAX: Final = 128
_LIST: Final = 4  # major types
_MAP: Final = 5


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


def joined_list(items: Sequence[bytes]) -> bytes:
    """The encoded list of items that are encoded already, so that a large one is made bit by bit."""
    return _head(_LIST, len(items)) + b"".join(items)


def joined_map(fields: Mapping[str, bytes]) -> bytes:
    """The encoded map of fields whose values are encoded already."""
    told = sorted((encode(name), value) for name, value in fields.items())
    return _head(_MAP, len(told)) + b"".join(name + value for name, value in told)


def _head(major: int, count: int) -> bytes:
    """What stands before a list or map of so many (RFC 8949, 3)."""
    if count < 24:
        return bytes([major << 5 | count])
    size = 1 if count < 1 << 8 else 2 if count < 1 << 16 else 4
    return bytes([major << 5 | 23 + size.bit_length()]) + count.to_bytes(size, "big")


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
