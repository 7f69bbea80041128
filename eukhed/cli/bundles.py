"""The bundle stores as a command sees them: settings, notices on stderr, errors with what to do next.

No daemon is asked, and no event loop is made: a command on bundles is over before one would have started.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from eukhed.bundles.bundle import Parse
from eukhed.bundles.reading import Limits
from eukhed.bundles.records import HASH_PREFIX, RunNote, Version, encode_run, encode_version
from eukhed.bundles.stores import WORDS, BundleStores
from eukhed.cli.context import Context, talk
from eukhed.cli.render import ago, moment, to_json
from eukhed.cli.settings import of_files, repository
from eukhed.errors import BrokenBundle, EukhedError, NotFoundError
from eukhed.host.blocking import BlockingHost

SHORT: Final = 8  # digits of a hash where a person reads


def add_layer(parser: argparse.ArgumentParser, layers: Sequence[str] = tuple(WORDS)) -> None:
    """Add the flag that names one layer."""
    parser.add_argument("--layer", choices=layers, metavar="L", help=f"{', '.join(layers)}: look there alone")


def add_name(parser: argparse.ArgumentParser) -> None:
    """Add the name of a bundle."""
    parser.add_argument("name", metavar="NAME", help="the bundle")


class _Notice:
    """Tells of what is left out, once each: a command may look at one thing several times."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._told: set[str] = set()

    def __call__(self, line: str) -> None:
        if line in self._told:
            return
        self._told.add(line)
        if not self._context.json:
            self._context.say(line)
        elif self._context.loud >= 0:
            talk(to_json({"notice": line}) + "\n")


def opened(context: Context, parse: Parse | None = None) -> BundleStores:
    """Return the stores that are looked in from this directory."""
    found = of_files(context.environ)
    return BundleStores(
        BlockingHost(),
        context.places.root,
        repository(),
        notice=_Notice(context),
        parse=parse,
        limits=limits_of(found),
        unsafe_filesystem=found.get("daemon.unsafe_filesystem", False),
    )


def limits_of(settings: dict[str, Any]) -> Limits:
    """Return how large a bundle may be."""
    default = Limits()
    return Limits(
        settings.get("bundle.max_file", default.file_bytes), settings.get("bundle.max_files", default.files)
    )


@contextmanager
def helpful(context: Context, name: str) -> Iterator[None]:
    """What goes wrong in the body says what to do next."""
    try:
        yield
    except NotFoundError as error:
        if "version" in error.data:
            error.next = (("eukhed", "bundle", "lineage", name),)
        else:
            error.next = (("eukhed", "bundle", "list"),)
            error.data["near"] = _near(context, name)
        raise
    except BrokenBundle as error:
        error.next = (("eukhed", "bundle", "verify", name),)
        raise


def _near(context: Context, name: str) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - only on a miss

    with suppress(EukhedError):  # the miss is what is told, and nothing else
        names = BundleStores(BlockingHost(), context.places.root, repository()).names()
        return get_close_matches(name, names, 3)
    return []


# how things are written


def version_number(text: str) -> int:
    """`3` or `v3`, for argparse."""
    digits = text.removeprefix("v")
    if not digits.isdecimal() or int(digits) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no version; write 3 or v3")
    return int(digits)


def short(content: str) -> str:
    """Return the first digits of a hash; `-` for none."""
    return content.removeprefix(HASH_PREFIX)[:SHORT] or "-"


def made(at: int, context: Context) -> str:
    """Return a time of a log: `3 Dec 11:20`, with its year if it is not this one's; whole with -v."""
    now_ms = int(time.time() * 1000)
    if context.loud > 0:
        return moment(at, now_ms, exact=True)
    then = time.localtime(at / 1000)
    year = "" if then.tm_year == time.localtime(now_ms / 1000).tm_year else f" {then.tm_year}"
    return f"{then.tm_mday} {time.strftime('%b', then)}{year} {time.strftime('%H:%M', then)}"


def ran(note: RunNote | None, context: Context) -> str:
    """Return how the last run ended, and when: `ok, 2h ago`."""
    if note is None:
        return "-"
    now_ms = int(time.time() * 1000)
    when = moment(note.at, now_ms, exact=True) if context.loud > 0 else ago(note.at, now_ms)
    return f"{'ok' if note.finished else 'incomplete'}, {when}"


def record_json(record: Version) -> dict[str, Any]:
    """Return a record as it is on the disk."""
    told: dict[str, Any] = json.loads(encode_version(record))
    return told


def note_json(note: RunNote | None) -> dict[str, Any] | None:
    """Return the note on a run as it is on the disk."""
    return None if note is None else json.loads(encode_run(note))
