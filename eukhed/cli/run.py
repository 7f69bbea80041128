"""`eukhed run -- CMD ...`: a durable run, shown here."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, Final

from eukhed.cli import exit_law, finding, submission, turns
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.keys import shown
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.options import duration_ms
from eukhed.cli.picture import Bytes, Lines, Picture, event
from eukhed.cli.settings import Chosen, chosen
from eukhed.cli.signals import Early
from eukhed.cli.terminal import name_of, window
from eukhed.cli.view import Left, Plan, View
from eukhed.client.attachment import WINDOW, Attachment, Ended
from eukhed.client.client import Client
from eukhed.client.ids import command_id
from eukhed.errors import Invalid

TAKES_COMMAND: Final = True
ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BY_TIMEOUT: Final = "timeout"  # what a run that was stopped by --timeout says of who did it


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `run`."""
    parser.usage = "eukhed run [flags] -- COMMAND [ARGUMENT ...]"
    view_options(parser)
    parser.add_argument("--session", metavar="S", help="in this session; it is made when there is none")
    turns.options(parser)
    command_options(parser)


def view_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of how a run is shown."""
    tty = parser.add_mutually_exclusive_group()
    tty.add_argument("-t", "--tty", action="store_true", default=None, help="with a terminal of its own")
    tty.add_argument(
        "-T", "--no-tty", dest="tty", action="store_false", help="without: two streams, that stay two"
    )
    parser.add_argument(
        "-d", "--detach", action="store_true", help="print the address once it runs or is queued, and leave"
    )
    parser.add_argument(
        "--on-signal", choices=("ask", "detach", "stop"), help="what INT, TERM and HUP mean here"
    )


def command_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of what is run, and in which surroundings."""
    parser.add_argument("--label", metavar="TEXT", help="a word to find it by")
    parser.add_argument(
        "--env", metavar="K[=V]", action="append", default=[], help="set a variable, or keep it"
    )
    parser.add_argument(
        "--env-file", metavar="FILE", action="append", default=[], help="variables from a file"
    )
    parser.add_argument("--clean-env", action="store_true", help="only PATH, HOME, USER, LANG and their like")
    parser.add_argument("--cwd", metavar="DIR", help="start it there")
    parser.add_argument("--nice", metavar="N", type=int, help="its niceness, -20 to 19")
    parser.add_argument("--umask", metavar="M", type=octal, help="its umask, in octal")
    parser.add_argument("--no-survive", action="store_true", help="end it if the session's worker dies")
    parser.add_argument(
        "--timeout", metavar="D", type=duration_ms, help="stop it after 90s, 5m, 2h; exit 124"
    )
    parser.add_argument("--grace", metavar="D", type=duration_ms, help="between TERM and KILL (10s)")


def octal(text: str) -> int:
    """Read a umask."""
    value = int(text, 8)
    if not 0 <= value <= 0o777:
        raise argparse.ArgumentTypeError(f"{text} is no umask")
    return value


def run(context: Context, flags: Options) -> int:
    """Run the command, show it, exit as it did."""
    if not context.argv:
        raise Invalid("run needs a command after `--`", next=[["eukhed", "run", "--", "make", "test"]])
    body = submission.body(context.argv, flags, os.environb)
    with Client(context.places, start=True, interactive=context.interactive) as client:
        session = finding.session(client, context, option=flags.session, create=True)
        tell_of_launch(context, client)
        body |= turns.body(client, context, flags, session)
        return begin(context, flags, client, session, context.argv, body)


def begin(
    context: Context,
    flags: Options,
    client: Client,
    session: finding.Session,
    argv: Sequence[str],
    body: dict[str, Any],
    *,
    as_child: bool = False,
) -> int:
    """Submit a run, with this process's input and terminal, and show it and its further tries.

    With `as_child` it is one of a child session that is made for it.
    """
    settings = chosen(context, flags)
    tty = _tty(flags, settings, as_json=context.json)
    body |= {"tty": tty, "window": WINDOW, "stdin": submission.stdin_kind(detached=flags.detach, tty=tty)}
    size = window(1, 0, 2)
    if tty and size is not None:
        body["rows"], body["cols"] = size
    if (own := name_of(1, 0, 2)) is not None:
        body["client_tty"] = own

    def shown(early: Early | None = None) -> tuple[Ended | Left, int]:
        waits = answer if answer.get("waits") else None
        picture: Picture = Lines(waits) if context.json else Bytes(quiet=context.loud < 0)
        plan = Plan(
            answer["address"], " ".join(argv), tty and not context.json and is_terminal(0),
            body["stdin"] == "typed", looks=False, owner=True, chosen=settings.on_signal,
            detach_key=settings.detach_key, grace_ms=body.get("grace_ms"),
        )  # fmt: skip
        outcome = View(client, attachment, plan, picture).show(early)
        return outcome, finish(context, outcome, plan, picture)

    with Early(ENDING) as early:
        answer = submitted(client, session, body, "spawn" if as_child else "run")
        session = finding.Session(answer["session"], answer["name"])
        if flags.detach or answer.get("once"):
            return _detached(context, client, answer)
        _tell_started(context, client, answer, settings)
        attachment = attachment_of(client, session, answer, repeated=client.repeated)
        outcome, status = shown(early)
    while True:
        if isinstance(outcome, Left) or not status or "retry" not in body:
            return status
        detach = settings.on_signal == "detach"
        following = turns.next_try(client, context, session.id, answer, detach=detach)
        if following is None:
            return status
        answer = following
        turns.tell(context, answer)
        attachment = Attachment(client, session.id, answer["run"], tty=name_of(1, 0, 2))
        attachment.first(lines=None)
        outcome, status = shown()


def _tty(flags: Options, settings: Chosen, *, as_json: bool) -> bool:
    if flags.tty is not None:
        return bool(flags.tty)
    if settings.tty != "auto":
        return settings.tty == "always"
    return not as_json and is_terminal(0) and is_terminal(1)


def submitted(
    client: Client, session: finding.Session, body: dict[str, Any], command: str = "run"
) -> dict[str, Any]:
    """Submit a run, once whatever is lost on the way; return the daemon's answer."""
    descriptors = (0,) if body["stdin"] == "handed" else ()
    answer: dict[str, Any] = client.request(
        command, body, session=session.id, command_id=command_id(), descriptors=descriptors
    )
    return answer


def attachment_of(
    client: Client, session: finding.Session, answer: dict[str, Any], *, repeated: bool
) -> Attachment:
    """Return the view that is open since the run was made.

    The answer to a repeat may be a stored one, whose attachment was of an earlier connection: then it is
    made again, from the first byte.
    """
    attachment = Attachment(client, session.id, answer["run"], tty=name_of(1, 0, 2))
    if "attachment" not in answer:  # of a child
        attachment.first(lines=None)
    elif repeated:
        client.tell("detach_client", {"attachment": answer["attachment"]}, session=session.id)
        attachment.first(lines=None)
    else:
        attachment.opened(answer["attachment"])
    return attachment


def _tell_started(context: Context, client: Client, answer: dict[str, Any], settings: Chosen) -> None:
    if turns.tell(context, answer):
        return
    if context.json:
        told = {key: answer.get(key) for key in ("run", "session", "address", "pid")}
        sys.stdout.buffer.write(event("started", **told))
        sys.stdout.flush()
        return
    if context.person:
        started = f"started (pid {client.hello['pid']}) · " if client.started else ""
        context.say(f"{started}run {answer['address']} · {shown(settings.detach_key)} detaches")


def _detached(context: Context, client: Client, answer: dict[str, Any]) -> int:
    if client.started and context.person:
        context.say(f"started (pid {client.hello['pid']})")
    stopped = answer.get("state") == "stopped" and answer.get("exit") is None  # behind one that failed
    failed = stopped or answer.get("exit") in {
        126,
        127,
    }  # stdout has an address only where something runs at it
    if context.json:
        from eukhed.cli.render import to_json  # noqa: PLC0415 - beside its only use

        context.out(to_json({key: answer.get(key) for key in ("run", "session", "address", "pid", "state")}))
    elif not failed:
        context.out(answer["address"])
    if answer.get("error"):
        context.say(f"{answer['address']}: {answer['error']}")
    elif answer.get("waits") and not context.json:
        context.say(turns.line(answer["address"], answer["waits"]))
    if stopped:
        return exit_law.OUR_TROUBLE
    return int(answer["exit"]) if failed else 0


def finish(context: Context, outcome: Ended | Left, plan: Plan, picture: Picture) -> int:
    """Say how a view ended, and return the status to exit with."""
    if isinstance(outcome, Left):
        if context.json:
            sys.stdout.buffer.write(event("detached", run=plan.address))
        elif outcome.by_us:
            at = plan.address
            context.say(f"detached: {at} goes on      back: eukhed attach {at}      wait: eukhed wait {at}")
        else:
            context.say(f"detached by another client: {plan.address} goes on")
        return 0
    timed_out = outcome.stopped_by == BY_TIMEOUT
    status = exit_law.of_end(outcome.exit, outcome.signal, timed_out=timed_out)
    if isinstance(picture, Lines):
        sys.stdout.buffer.write(picture.rest())
        sys.stdout.buffer.write(event("ended", **outcome._asdict()))
        return status
    if outcome.error:
        context.say(f"{plan.address}: {outcome.error}")
    elif timed_out:
        context.say(f"{plan.address} was stopped: its time was over")
    elif outcome.signal is not None:
        context.say(f"{plan.address} was ended by signal {outcome.signal} ({signal_name(outcome.signal)})")
    elif outcome.stopped_by and outcome.exit is None:
        context.say(f"{plan.address} was stopped by {outcome.stopped_by} before it started")
    elif outcome.exit is None:
        context.say(f"{plan.address} is {outcome.state}: how it ended is not known")
    return status


def signal_name(number: int) -> str:
    """Return `TERM` for 15."""
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return f"real-time {number}"
