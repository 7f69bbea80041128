"""What a client asks for in a run, checked field by field; and the same, read back from the run's record.

No value of the environment is stored: only its names are, and the values stand in a file of the run.
"""

import signal
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from eukhed.errors import Invalid
from eukhed.storage.plain import plain, raw
from eukhed.worker import turn_facts
from eukhed.worker.holding import Stdin
from eukhed.worker.queue_law import Waits
from eukhed.worker.turn_facts import Turn
from eukhed.worker.work import WorkKind

SCREEN: Final = (24, 80)
WINDOW_MAX: Final = 64 * 1024 * 1024
_SIZE_MAX: Final = 0xFFFF
_UMASK_MAX: Final = 0o777
_STDIN: Final[tuple[Stdin, ...]] = ("none", "handed", "typed")


class Wish(NamedTuple):
    """One command run as it was asked for."""

    argv: tuple[bytes, ...]
    cwd: bytes
    env: dict[bytes, bytes]
    umask: int
    limits: tuple[tuple[int, int], ...]
    nice: int
    tty: bool
    rows: int
    cols: int
    stdin: Stdin
    survive: bool
    label: str | None
    inside: str | None
    timeout_ms: int | None
    grace_ms: int
    detach: bool
    window: int
    job: str | None = None  # the cron job whose fire it is
    line: str | None = None  # of a shell, that joins the conversation
    turn: Turn = Turn()

    def input(self, submitted_ms: int, waits: Waits = Waits()) -> dict[str, Any]:  # noqa: B008 - it is a tuple
        """The wish as its run's record holds it; `waits` is what its turn comes to."""
        told: dict[str, Any] = {
            "argv": [plain(word) for word in self.argv],
            "cwd": plain(self.cwd),
            "envNames": sorted(name.decode(errors="replace") for name in self.env),
            "umask": self.umask,
            "limits": [list(limit) for limit in self.limits],
            "nice": self.nice,
            "tty": self.tty,
            "rows": self.rows,
            "cols": self.cols,
            "stdin": self.stdin,
            "survive": self.survive,
            "graceMs": self.grace_ms,
            "submittedAt": submitted_ms,
            "label": self.label,
            "inside": self.inside,
            "timeoutMs": self.timeout_ms,
            "job": self.job,
            "line": self.line,
        }
        return {key: value for key, value in told.items() if value is not None} | self.turn.input(waits)


def wish(body: Any, grace_ms: int) -> Wish:
    """What the body of a `run` asks for; `grace_ms` is for one that names none. Invalid names the field."""
    if not isinstance(body, dict):
        raise Invalid("the body of run is a map")
    timeout_ms = body.get("timeout_ms")
    told_grace_ms = body.get("grace_ms")
    return Wish(
        argv=tuple(_field(body, "argv", _is_argv)),
        cwd=_field(body, "cwd", _is_directory),
        env=dict(_field(body, "env", _is_environment)),
        umask=_field(body, "umask", lambda value: _is_number(value, 0, _UMASK_MAX), 0o022),
        limits=tuple((kind, soft) for kind, soft in _field(body, "limits", _is_limits, ())),
        nice=_field(body, "nice", lambda value: _is_number(value, -20, 19), 0),
        tty=_field(body, "tty", lambda value: isinstance(value, bool), False),
        rows=_field(body, "rows", lambda value: _is_number(value, 0, _SIZE_MAX), 24),
        cols=_field(body, "cols", lambda value: _is_number(value, 0, _SIZE_MAX), 80),
        stdin=_field(body, "stdin", lambda value: value in _STDIN),
        survive=_field(body, "survive", lambda value: isinstance(value, bool), True),
        label=_field(body, "label", _is_text, None),
        inside=_field(body, "inside", _is_text, None),
        timeout_ms=None if timeout_ms is None else _field(body, "timeout_ms", _is_duration),
        grace_ms=grace_ms if told_grace_ms is None else _field(body, "grace_ms", _is_duration),
        detach=_field(body, "detach", lambda value: isinstance(value, bool), False),
        window=_field(body, "window", lambda value: _is_number(value, 0, WINDOW_MAX), 0),
        job=_field(body, "job", _is_text, None),
        line=_field(body, "line", _is_text, None),
        turn=turn_facts.turn(body, handed=body.get("stdin") == "handed"),
    )


def again(told: Mapping[str, Any], env: Mapping[bytes, bytes], grace_ms: int) -> Wish:
    """The wish of a record; nobody waits for this one any more, so it is detached."""
    return Wish(
        argv=tuple(raw(word) for word in told["argv"]),
        cwd=raw(told["cwd"]),
        env=dict(env),
        umask=told["umask"],
        limits=tuple((kind, soft) for kind, soft in told["limits"]),
        nice=told["nice"],
        tty=told["tty"],
        rows=told["rows"],
        cols=told["cols"],
        stdin=told["stdin"],
        survive=told["survive"],
        label=told.get("label"),
        inside=told.get("inside"),
        timeout_ms=told.get("timeoutMs"),
        grace_ms=told.get("graceMs", grace_ms),
        detach=True,
        window=0,
        job=told.get("job"),
        line=told.get("line"),
        turn=turn_facts.recalled(told),
    )


def kind_of(told: Mapping[str, Any]) -> WorkKind:
    """What kind of work the run of a record is, once it may start."""
    return "bash" if told.get("line") is not None else "run"


def as_asked(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a record has of a wish, by the names that a `run` has for it; for who wants the same once more."""
    asked = {
        "argv": [raw(word) for word in told["argv"]],
        "cwd": raw(told["cwd"]),
        "tty": told["tty"],
        "survive": told["survive"],
        "label": told.get("label"),
        "line": told.get("line"),
        "timeout_ms": told.get("timeoutMs"),
        "grace_ms": told.get("graceMs"),
    }
    return {key: value for key, value in asked.items() if value is not None}


def as_body(told: Mapping[str, Any], env: Mapping[bytes, bytes]) -> dict[str, Any]:
    """The body of a `run` that makes what a record says, for another session."""
    same = ("umask", "nice", "rows", "cols", "stdin", "inside")
    asked = as_asked(told) | {key: told[key] for key in same if key in told}
    return asked | {"limits": [list(limit) for limit in told["limits"]], "env": dict(env), "detach": True}


def signal_name(number: int) -> str:
    """`SIGTERM` for 15; a real-time signal has only its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


_MISSING: Final = object()


def _field(body: dict[str, Any], name: str, right: Callable[[Any], bool], absent: Any = _MISSING) -> Any:
    value = body.get(name, _MISSING)
    if value is None or value is _MISSING:
        if absent is _MISSING:
            raise Invalid(f"run: {name} is missing", field=name)
        return absent
    if not right(value):
        raise Invalid(f"run: {name} is not of its form", field=name)
    return value


def _is_number(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_duration(value: Any) -> bool:
    return _is_number(value, 0, 1 << 53)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, bytes) and b"\0" not in value


def _is_argv(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(_is_bytes(word) for word in value)


def _is_directory(value: Any) -> bool:
    return _is_bytes(value) and value.startswith(b"/")


def _is_environment(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _is_bytes(name) and _is_bytes(text) and name and b"=" not in name for name, text in value.items()
    )


def _is_limits(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and _is_number(pair[0], 0, 63)
        and _is_number(pair[1], -1, (1 << 63) - 1)
        for pair in value
    )
