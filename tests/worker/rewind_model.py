"""The rewind law, said by its result: which content stands at which address afterwards, and who is told as kept."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple


class Doc(NamedTuple):
    """A live document: what it holds is named by who made it last."""

    address: Hashable
    content: Hashable
    rewindable: bool


Docs = Mapping[int, Doc]


def contents_after(then: Docs, now: Docs) -> dict[Hashable, Hashable]:
    """By address. What cannot be rewound stays as it is now and where it is; the rest is as it was."""
    result = {doc.address: doc.content for doc in then.values() if doc.rewindable}
    return result | {doc.address: doc.content for doc in now.values() if not doc.rewindable}


def kept(then: Docs, now: Docs) -> set[int]:
    stubborn = {
        number for number in then.keys() | now.keys() if not (now.get(number) or then[number]).rewindable
    }
    told = {number for number in stubborn if then.get(number) != now.get(number)}
    places = {now[number].address for number in stubborn if number in now}
    return told | {number for number in then.keys() - now.keys() if then[number].address in places}


def head(last: int | None, origin: int | None) -> int | None:
    for candidate in (last, origin):
        if candidate is not None:
            return candidate
    return None
