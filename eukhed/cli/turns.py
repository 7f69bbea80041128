"""When a run starts, and whether again: the flags for it, and what a person is told of a run that waits."""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eukhed.cli import finding
from eukhed.cli.actor import actor
from eukhed.cli.context import Context, Options
from eukhed.cli.picture import event
from eukhed.cli.render import cut, plain, seconds
from eukhed.client.client import Client
from eukhed.errors import Invalid

TITLE_COLUMNS = 40
NAMED_MAX = 5  # runs that are named of those that one waits for


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of what may start later, or again."""
    parser.add_argument(
        "--queue", action="store_true", help="after all earlier runs of the session have ended"
    )
    parser.add_argument(
        "--after", metavar="R[,R]", type=words, action="extend", default=[],
        help="after these are done; it never starts if one of them fails",
    )  # fmt: skip
    parser.add_argument(
        "--after-any", metavar="R[,R]", type=words, action="extend", default=[], help="after these have ended"
    )
    parser.add_argument(
        "--once", metavar="KEY", help="only if no run of the session with this key is queued or running"
    )
    parser.add_argument(
        "--retry",
        metavar="N[:on=1,2]",
        type=retry,
        help="try up to N times more when it fails (with these statuses)",
    )


def words(text: str) -> list[str]:
    """Read `R,R`."""
    found = [word.strip() for word in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of runs; write 14 or 14,15")
    return found


def retry(text: str) -> dict[str, Any]:
    """Read `3` or `3:on=1,2`."""
    count, colon, rest = text.partition(":")
    statuses = rest.removeprefix("on=").split(",") if rest.startswith("on=") else []
    if (
        not count.isdecimal()
        or int(count) < 1
        or (colon and not (statuses and all(one.isdecimal() and 0 < int(one) < 256 for one in statuses)))
    ):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tries; write 3 or 3:on=1,2")
    return {"count": int(count), "on": [int(one) for one in statuses]}


def body(client: Client, context: Context, flags: Options, session: finding.Session) -> dict[str, Any]:
    """Return what the flags add to the body of a `run`."""
    told: dict[str, Any] = {
        "queue": flags.queue or None,
        "after": _runs(client, context, flags.after, session) or None,
        "after_any": _runs(client, context, flags.after_any, session) or None,
        "once": flags.once,
        "retry": flags.retry,
    }
    return {key: value for key, value in told.items() if value is not None}


def _runs(client: Client, context: Context, named: list[str], session: finding.Session) -> list[int]:
    found = [finding.some_run(client, context, word, session.id) for word in named]
    for one in found:
        if one.session.id != session.id:
            raise Invalid(
                f"a run of {session.name} waits for runs of {session.name}; {one.address} is none",
                next=[["eukhed", "wait", one.address]],
            )
    return [one.run for one in found if one.run is not None]


def tell(context: Context, answer: dict[str, Any]) -> bool:
    """Say what a run waits for, and its place; whether it waits."""
    waits = answer.get("waits")
    if not waits:
        return False
    if context.json:
        sys.stdout.buffer.write(
            event(
                "waiting",
                **{key: answer.get(key) for key in ("run", "session", "address", "waiting_for")},
                place=waits["place"],
            )
        )
        sys.stdout.flush()
    else:
        context.say(line(answer["address"], waits))
    return True


def line(address: str, waits: dict[str, Any]) -> str:
    """`shop/16 waits for shop/14 (make test, 41s) and shop/15 (./train.sh, queued); place 2`."""
    named = [
        f"{one['address']} ({cut(plain(str(one['command'])), TITLE_COLUMNS)}, "
        f"{'queued' if one['seconds'] is None else seconds(one['seconds'])})"
        for one in waits["for"]
    ]
    if len(named) > NAMED_MAX:
        named[NAMED_MAX - 1 :] = [f"{len(named) - NAMED_MAX + 1} others"]
    listed = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else "".join(named)
    return f"{address} waits for {listed}; place {waits['place']}"


def next_try(
    client: Client, context: Context, session: str, answer: dict[str, Any], *, detach: bool
) -> dict[str, Any] | None:
    """Wait for the next try of a run that ended; None when there is none. INT and TERM take it back."""
    try:
        with _interruptible():
            told: dict[str, Any] | None = client.request(
                "next_try", {"run": answer["run"]}, session=session, looks=True
            )["next"]
    except KeyboardInterrupt:
        if detach:
            context.say(f"detached: {answer['address']} is tried again")
            return None
        with Client(context.places) as other:  # what this one asked is not answered
            other.request("stop_run", {"run": answer["run"], "actor": actor()}, session=session, looks=True)
        context.say(f"{answer['address']} is not tried again")
        return None
    if told is not None:
        context.say(f"{answer['address']} failed: tried again as {told['address']}")
    return told


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let TERM mean what INT means."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
