"""One launch: look at what runs, ask replacement_law, act; again, until a daemon serves or must be refused.

Of two launchers at once one starts the daemon; the other's supervisor finds the lock taken and ends, and
that launcher uses the winner's.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from eukhed import build
from eukhed.errors import Broken, Busy, ConnectionLost, EukhedError, NotIdleCapable, ProtocolMismatch
from eukhed.launcher import daemonize, manager, other_home
from eukhed.launcher.look import Daemon, Seen, daemon_runs, freed, greeted
from eukhed.launcher.replacement_law import Facts, Relation, Verdict, relation, verdict
from eukhed.paths import Places
from eukhed.timing import Timing

PAUSE_S: Final = 0.01
READY_MIN_MS: Final = 5000  # a program that starts takes its time, however the rules are scaled
TURNS_MAX: Final = 8  # daemons that come and go under one launch
SUPERVISOR: Final = "eukhed.supervisor"


class Launcher(NamedTuple):
    """What a launch is done with."""

    places: Places
    environ: Mapping[str, str]
    timing: Timing
    interactive: bool
    supervisor: str = SUPERVISOR


class _Look(NamedTuple):
    """What one look came to."""

    facts: Facts
    daemon: Daemon | None
    work: tuple[Any, ...] = ()


def ensure_daemon(launcher: Launcher) -> dict[str, Any]:
    """Make sure that a daemon serves these places.

    Returns: `result` (kept, started or replaced), `pid`, `version`, `build`, and `notice` if the user is to be
    told something of the daemon that was kept.

    Raises:
        ProtocolMismatch: the one that runs speaks another protocol, and stays.
        Broken: none could be started; the message is the supervisor's own reason.
        EukhedError: the one that holds the lock does not answer.
    """
    result, work = "started", ()
    busy, managed = False, manager.manages(launcher.places, launcher.environ)
    for _ in range(TURNS_MAX):
        look = _look(launcher, busy=busy, managed=managed)
        try:
            match verdict(look.facts):
                case Verdict.ASK_MANAGER:
                    managed = manager.start(launcher.timing.launcher_wait_ms)
                    if managed and (started := _served(launcher)):
                        return _told(result, started)
                case Verdict.START:
                    other_home.refuse_beside(launcher.places, launcher.environ)
                    _start(launcher)
                    if started := _served(launcher):
                        return _told(result, started)
                case Verdict.WAIT:
                    _wait_for_end(launcher)
                case Verdict.REPLACE:
                    busy, work = _replace(launcher, _there(look))
                    result = result if busy else "replaced"
                case Verdict.REFUSE:
                    raise _refusal(_there(look).seen, work)
                case kept:
                    return _told("kept", _there(look).seen) | _notice(kept, _there(look).seen, work)
        finally:
            if look.daemon is not None:
                look.daemon.close()
    raise Broken("daemons come and go faster than one can be used", next=[["eukhed", "doctor"]])


def _look(launcher: Launcher, *, busy: bool, managed: bool) -> _Look:
    found = greeted(launcher.places, launcher.timing.waits.connect_ms, PAUSE_S)
    if found is None:
        nothing = Facts(
            False, managed, False, Relation.EQUAL, False, False, launcher.interactive, False, busy
        )
        return _Look(nothing, None)
    seen = found.seen
    facts = Facts(
        runs=True,
        managed=managed,
        draining="draining" in seen.capabilities,
        relation=relation(seen.version, build.VERSION),
        same_build=seen.build == build.digest(),
        same_protocol=seen.protocol == build.PROTOCOL,
        interactive=launcher.interactive,
        idle_capable="idle_shutdown" in seen.capabilities,
        busy=busy,
    )
    return _Look(facts, found)


def _there(look: _Look) -> Daemon:
    assert look.daemon is not None
    return look.daemon


def _start(launcher: Launcher) -> None:
    """Start one; that another launcher was faster is no failure."""
    ready_ms = max(launcher.timing.waits.connect_ms, READY_MIN_MS)
    try:
        daemonize.start(launcher.places, launcher.environ, ready_ms, launcher.supervisor)
    except Broken:
        if not daemon_runs(launcher.places):
            raise


def _served(launcher: Launcher) -> Seen | None:
    """Ready means that its hello was read."""
    found = greeted(launcher.places, launcher.timing.waits.connect_ms, PAUSE_S)
    if found is None:
        return None
    found.close()
    return found.seen


def _wait_for_end(launcher: Launcher) -> None:
    if not freed(launcher.places, launcher.timing.launcher_wait_ms, PAUSE_S):
        raise EukhedError(
            f"the daemon is shutting down, and has not ended within {launcher.timing.launcher_wait_ms / 1000:g} s",
            next=[["eukhed", "status"]],
        )


def _replace(launcher: Launcher, daemon: Daemon) -> tuple[bool, tuple[Any, ...]]:
    """Ask it to end if it is idle; whether it is busy, and with what."""
    try:
        daemon.ask_to_end(launcher.timing.launcher_wait_ms)
    except (Busy, NotIdleCapable) as error:
        return True, tuple(error.data.get("work") or ())
    except ConnectionLost:
        return False, ()  # it ended, or another launcher ended it: the next look tells
    _wait_for_end(launcher)
    return False, ()


def _told(result: str, seen: Seen) -> dict[str, Any]:
    return {"result": result, "pid": seen.pid, "version": seen.version, "build": seen.build}


def _notice(kept: Verdict, seen: Seen, work: tuple[Any, ...]) -> dict[str, str]:
    """What the user is told of a daemon that is used though it is not ours to the letter."""
    own = build.VERSION
    match kept:
        case Verdict.KEEP_NEWER:
            return {"notice": _older_client(seen)}
        case Verdict.KEEP_OLDER:
            why = f"it has work ({_busy_with(work)})" if work else "it is kept"
            return {
                "notice": f"the running daemon (v{seen.version}) is older than this eukhed (v{own}): {why}"
            }
        case Verdict.KEEP_OTHER_BUILD:
            return {"notice": f"the running daemon is another build ({seen.build}) of this version (v{own})"}
        case _:
            return {}


def _refusal(seen: Seen, work: tuple[Any, ...]) -> ProtocolMismatch:
    if relation(seen.version, build.VERSION) is Relation.LOWER:
        busy = f", and it has work: {_busy_with(work)}" if work else ""
        text = (
            f"the running daemon (v{seen.version}) speaks protocol {seen.protocol}, "
            f"this eukhed (v{build.VERSION}) {build.PROTOCOL}{busy}"
        )
    else:
        text = _older_client(seen)
    return ProtocolMismatch(
        text, next=[["eukhed", "shutdown", "--if-idle"]], version=seen.version, work=list(work) or None
    )


def _older_client(seen: Seen) -> str:
    return (
        f"this eukhed (v{build.VERSION}) is older than the running daemon (v{seen.version}): "
        "update or run `eukhed shutdown`"
    )


def _busy_with(work: tuple[Any, ...]) -> str:
    return ", ".join(
        f"{item.get('name', item.get('session'))}: {item.get('kind')}"
        for item in work
        if isinstance(item, dict)
    )


def launcher_of(
    places: Places, environ: Mapping[str, str], *, interactive: bool, supervisor: str = SUPERVISOR
) -> Launcher:
    """A launcher with the timing that the environment names."""
    scale = float(environ.get("EUKHED_TIMING_SCALE") or 1)
    return Launcher(places, environ, Timing(scale), interactive, supervisor)
