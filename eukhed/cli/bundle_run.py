"""`eukhed bundle run NAME --input FILE`: run one version of a bundle in a session, and show it."""

import argparse
import os
import signal
import sys
from typing import Any, Final

from eukhed.bundles.bundle import Bundle
from eukhed.bundles.stores import Held
from eukhed.cli import finding, submission
from eukhed.cli import run as run_command
from eukhed.cli.bundles import add_layer, add_name, helpful, opened, version_number
from eukhed.cli.context import Context, Options
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.picture import Bytes, Lines, Picture, event
from eukhed.cli.render import to_json
from eukhed.cli.settings import chosen
from eukhed.cli.signals import Early
from eukhed.cli.view import Plan, View
from eukhed.client.attachment import WINDOW
from eukhed.client.client import Client
from eukhed.client.ids import command_id
from eukhed.errors import Invalid

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NO_INPUT: Final = "{}"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bundle run`."""
    add_name(parser)
    parser.add_argument(
        "--version", type=version_number, default=0, metavar="N", help="this one; else the head"
    )
    add_layer(parser)
    parser.add_argument("--input", metavar="FILE", help="a JSON file, - for stdin; without it: {}")
    parser.add_argument("--session", metavar="S", help="in this session; it is made when there is none")
    parser.add_argument(
        "--tokens", type=int, default=0, metavar="N", help="end it once its prompts used so many; 0: no limit"
    )
    parser.add_argument("--label", metavar="TEXT", help="a word to find it by")
    parser.add_argument("-d", "--detach", action="store_true", help="print the address, and leave")
    parser.add_argument(
        "--on-signal", choices=("ask", "detach", "stop"), help="what INT, TERM and HUP mean here"
    )


def run(context: Context, flags: Options) -> int:
    """Run it; 0 when it finished, 2 when it is incomplete, 1 when it could not be run."""
    stores = opened(context)
    with helpful(context, flags.name):
        held = stores.find(flags.name, flags.layer)
        bundle = held.store.load(flags.name, flags.version)
    body = _body(flags, held, bundle)
    with Client(context.places, start=True, interactive=context.interactive) as client:
        session = finding.session(client, context, option=flags.session, create=True)
        tell_of_launch(context, client)
        with Early(ENDING) as early:
            answer = client.request("run_bundle", body, session=session.id, command_id=command_id())
            if flags.detach:
                keys = ("run", "session", "address", "state")
                told = {key: answer.get(key) for key in keys}
                context.out(to_json(told) if context.json else answer["address"])
                return 0
            return _show(context, flags, client, session, answer, bundle, early)


def _body(flags: Options, held: Held, bundle: Bundle) -> dict[str, Any]:
    env = submission.environment_of(os.environb, clean=False, files=[], given=[])
    told: dict[str, Any] = {
        "name": bundle.name,
        "version": bundle.version,
        "hash": bundle.hash,
        "store": held.store.directory,
        "notes": held.store.notes_directory,
        "input": _input(flags.input),
        "cwd": submission.directory(None),
        "env": env,
        "tokens": flags.tokens,
        "label": flags.label,
        "inside": os.environ.get("EUKHED_RUN") or None,
        "detach": flags.detach,
        "window": WINDOW,
    }
    return {key: value for key, value in told.items() if value is not None}


def _input(path: str | None) -> str:
    if path is None:
        return NO_INPUT
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode() if sys.stdin is not None else NO_INPUT
        with open(path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        raise Invalid(f"--input {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Invalid(f"--input {path} is no UTF-8") from error


def _show(
    context: Context,
    flags: Options,
    client: Client,
    session: finding.Session,
    answer: dict[str, Any],
    bundle: Bundle,
    early: Early,
) -> int:
    settings = chosen(context, flags)
    title = f"bundle {bundle.name} v{bundle.version}"
    if context.json:
        told = {key: answer.get(key) for key in ("run", "session", "address")}
        sys.stdout.buffer.write(event("started", **told, bundle=bundle.name, version=bundle.version))
        sys.stdout.flush()
    elif context.person:
        context.say(f"run {answer['address']} · {title}")
    plan = Plan(
        answer["address"], title, raw=False, typed=False, looks=False, owner=True, chosen=settings.on_signal,
        detach_key=settings.detach_key,
    )  # fmt: skip
    attachment = run_command.attachment_of(client, session, answer, repeated=client.repeated)
    picture: Picture = Lines() if context.json else Bytes(quiet=context.loud < 0)
    outcome = View(client, attachment, plan, picture).show(early)
    return run_command.finish(context, outcome, plan, picture)
