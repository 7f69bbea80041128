"""Events are numbered without gaps, and a follower that was cut off gets what it missed, or is told that it cannot."""

from hypothesis import given
from hypothesis import strategies as st

from eukhed.wire import envelope
from eukhed.wire.messages import Event
from eukhed.worker.events import KEPT, Events
from eukhed.worker.uplink import Uplink
from tests.fakes.clock import run
from tests.fakes.life import Life
from tests.fakes.network import FakeChannel, channels


async def heard(channel: FakeChannel, count: int) -> list[tuple[int | None, int | None]]:
    found = []
    for _ in range(count):
        event = envelope.read(await channel.receive())
        assert isinstance(event, Event)
        found.append((event.client, event.sequence))
    return found


@given(st.integers(0, 30), st.integers(-3, 33))
def test_a_follower_gets_what_it_missed(said: int, since: int) -> None:
    async def main() -> None:
        uplink = Uplink()
        near, far = channels(Life("worker"), Life("supervisor"))
        uplink.attach(near)
        events = Events("s", "i", uplink)
        for number in range(said):
            events.emit("tick", {"n": number})
        assert await heard(far, said) == [(None, n) for n in range(1, said + 1)]
        reply = events.follow(9, {"instance": "i", "sequence": since})
        assert reply["unavailable"] == (not 0 <= since <= said)
        if not reply["unavailable"]:
            assert await heard(far, said - since) == [(9, n) for n in range(since + 1, said + 1)]

    run(main)


def test_what_is_not_kept_any_more_is_unavailable() -> None:
    async def main() -> None:
        events = Events("s", "i", Uplink())
        for number in range(KEPT + 1):
            events.emit("tick", {"n": number})
        assert events.follow(9, {"instance": "i", "sequence": 0})["unavailable"]
        assert not events.follow(9, {"instance": "i", "sequence": 1})["unavailable"]
        assert events.follow(9, {"instance": "other", "sequence": KEPT})["unavailable"]
        assert not events.follow(9, None)["unavailable"]

    run(main)
