"""Which bytes of an output event are new to a view, whatever was repeated or left out.

Law: shared/laws/place.md. Caller: attachment.py. Pure: each stream of a run is one count of bytes.
"""

from typing import NamedTuple


class Taken(NamedTuple):
    """What to do with an event's bytes."""

    place: int  # the stream's next byte afterwards
    skip: int  # this many of its bytes were shown before
    missing: int  # this many bytes before it never came


def take(place: int, offset: int, length: int) -> Taken:
    """Take `length` bytes that begin at `offset`, by a view whose next byte is `place`."""
    assert place >= 0
    assert offset >= 0
    assert length >= 0
    end = offset + length
    if end <= place:
        return Taken(place, length, 0)
    return Taken(end, max(0, place - offset), max(0, offset - place))
