"""Which session and which run an argument means: `shop`, `shop/14`, `14`, or nothing at all."""

import os
from typing import Any, NamedTuple

from eukhed.cli.context import Context
from eukhed.client.client import Client
from eukhed.errors import CommandResultUncertain, NotFound, Refused


class Target(NamedTuple):
    """What was named: a session, a run of it, both, or neither."""

    session: str | None
    run: int | None


class Session(NamedTuple):
    """The session that is meant."""

    id: str
    name: str


class Found(NamedTuple):
    """A run, and the session that it is in."""

    session: Session
    run: int | None  # None: the session's last

    @property
    def address(self) -> str:
        return f"{self.session.name}/{self.run}" if self.run is not None else self.session.name


def target(word: str | None) -> Target:
    """Read `S`, `S/N`, `N` (a run of the session that is meant), or nothing."""
    if word is None:
        return Target(None, None)
    session, slash, number = word.rpartition("/")
    if slash and number.isdecimal():
        return Target(session or None, int(number))
    if word.isdecimal():
        return Target(None, int(word))
    return Target(word, None)


def wanted(context: Context, named: str | None, option: str | None) -> str | None:
    """Return the session that is named: by the argument, --session, EUKHED_SESSION, or not at all."""
    return named or option or context.environ.get("EUKHED_SESSION") or None


def lookup_body(name: str | None) -> dict[str, Any]:
    """Return the body of a search for a session: its name, or this directory.

    Raises:
        Refused: this directory can have no session.
    """
    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        cwd = "/"  # of nobody: only a name finds anything from a directory that is gone
    if not _is_text(cwd):
        if name is None:
            told = os.fsencode(cwd).decode(errors="replace")
            raise Refused(f"{told} is no UTF-8, so no session is found by it: name one with --session")
        cwd = "/"
    body = {"cwd": cwd, "home": os.path.expanduser("~")}
    return body if name is None else body | {"wanted": name}


def session(
    client: Client,
    context: Context,
    named: str | None = None,
    option: str | None = None,
    *,
    create: bool = False,
) -> Session:
    """Find the session that is meant, and say which when there were several.

    Raises:
        UnknownSession, NotFound: there is none, or a name that several have.
    """
    body = lookup_body(wanted(context, named, option))
    if create:
        answer = _opened(client, body | {"create": True})
    else:
        answer = client.request("find_session", body, looks=True)
    if others := answer.get("others"):
        context.say(f"session {answer['name']} (used last; here are also {', '.join(others)})")
    return Session(answer["session"], answer["name"])


def _opened(client: Client, body: dict[str, Any]) -> Any:
    """Open a session, made if there is none.

    Where a daemon died over it nobody knows whether it was made; but one that was made is found, so that to
    ask anew is safe.
    """
    try:
        return client.request("open_session", body, command_id=_fresh_id())
    except CommandResultUncertain:
        return client.request("open_session", body, command_id=_fresh_id())


def run(client: Client, context: Context, word: str | None, option: str | None = None) -> Found:
    """Find the run that is meant; without a number, the session's last."""
    named = target(word)
    found = session(client, context, named.session, option)
    return Found(found, named.run)


def some_run(client: Client, context: Context, word: str | None, option: str | None = None) -> Found:
    """Find the run that is meant, by its number.

    Raises:
        NotFound: the session has no run.
    """
    found = run(client, context, word, option)
    if found.run is not None:
        return found
    listed = client.request("runs", {"session": found.session.id, "all": True, "n": 1}, looks=True)["runs"]
    if not listed:
        raise NotFound(f"session {found.session.name} has no run yet", next=[["eukhed", "run", "--", "..."]])
    return Found(found.session, int(listed[0]["run"]))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fresh_id() -> str:
    from eukhed.client.ids import command_id  # noqa: PLC0415 - only what makes a session needs one

    return command_id()
