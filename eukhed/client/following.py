"""Reads a stream with the client that blocks, over every loss."""

import time
from collections.abc import Generator
from typing import TypeVar

from eukhed.client.client import Client
from eukhed.client.connection import Event
from eukhed.client.streams import Followed
from eukhed.errors import ConnectionLost

T = TypeVar("T")


def follow(client: Client, stream: Followed[T], ends: float | None = None) -> Generator[T, None, None]:
    """Yield what comes, for ever or to its end. What an item cost is returned when the next is asked for.

    Events of the client that are not the stream's are passed over: it is one consumer's at a time.

    Raises:
        EukhedError: what was answered when it was asked for.
        ConnectionLost: no daemon comes back.
        TimeoutError: nothing came before `ends` (of time.monotonic).
    """
    try:
        while True:
            question = stream.question()
            direct = client.direct_for(question)
            answer = client.put(question)
            before = [event for event in client.events if event.get("session") == stream.session]
            client.events.clear()
            items: list[T] | None = stream.begun(answer, before)
            while items is not None:
                for item in items:
                    yield item
                    stream.used(item)
                    if stream.ends(item):
                        return
                items = None if stream.behind else _more(client, stream, direct, ends)
    finally:
        stream.leave()


def _more(client: Client, stream: Followed[T], direct: str | None, ends: float | None) -> list[T] | None:
    try:
        while not client.events:
            left_ms = None if ends is None else int((ends - time.monotonic()) * 1000)
            if left_ms is not None and left_ms <= 0:
                raise TimeoutError
            client.pump(left_ms, direct)
    except ConnectionLost:
        client.recover()
        stream.cut()
        return None
    event: Event = client.events.popleft()
    if event.get("session", stream.session) != stream.session:
        return []
    return stream.take(event)
