"""A run of a bundle as it is asked for, and as its record holds it."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from eukhed.bundles.manifest import Manifest
from eukhed.errors import Invalid
from eukhed.storage.plain import plain, raw
from eukhed.timing import BUNDLE_FLOOR_MS, BUNDLE_STEP_MS
from eukhed.worker.programs.calls import MOST
from eukhed.worker.programs.fuel_law import Fuel
from eukhed.worker.programs.pinned import Pin
from eukhed.worker.run_facts import WINDOW_MAX

CALLS: Final = 500
PER_TOKENS: Final = 50_000
NS_PER_MS: Final = 1_000_000


class Wish(NamedTuple):
    """One run of a bundle."""

    pin: Pin
    given: str  # its input, as JSON
    cwd: bytes
    env: Mapping[bytes, bytes]
    tokens: int  # all that it may use; 0: no limit
    label: str | None
    inside: str | None
    detach: bool
    window: int

    @property
    def value(self) -> Any:
        """Its input."""
        return json.loads(self.given)

    def input(self, submitted_ms: int) -> dict[str, Any]:
        """The wish as its run's record holds it: with the names that runs of commands have for the same."""
        told: dict[str, Any] = {
            "argv": ["eukhed", "bundle", "run", self.pin.name, "--version", str(self.pin.version)],
            "bundle": {key: value for key, value in self.pin._asdict().items() if value is not None},
            "given": self.given,
            "cwd": plain(self.cwd),
            "envNames": sorted(name.decode(errors="replace") for name in self.env),
            "tokens": self.tokens,
            "tty": False,
            "stdin": "none",
            "submittedAt": submitted_ms,
            "label": self.label,
            "inside": self.inside,
        }
        return {key: value for key, value in told.items() if value is not None}


def wish(body: Any) -> Wish:
    """What the body of a `run_bundle` asks for. Invalid names the field."""
    if not isinstance(body, dict):
        raise Invalid("the body of run_bundle is a map")
    version, tokens, window = (body.get(key, 0) for key in ("version", "tokens", "window"))
    if not _is_number(version, 1 << 53) or version < 1:
        raise Invalid("run_bundle: version is a number from 1", field="version")
    if not _is_number(tokens, 1 << 53):
        raise Invalid("run_bundle: tokens is a number from 0", field="tokens")
    if not _is_number(window, WINDOW_MAX):
        raise Invalid(f"run_bundle: window is a number of bytes up to {WINDOW_MAX}", field="window")
    cwd, env = body.get("cwd"), body.get("env")
    if not isinstance(cwd, bytes) or not cwd.startswith(b"/") or b"\0" in cwd:
        raise Invalid("run_bundle: cwd is an absolute directory", field="cwd")
    if not isinstance(env, dict) or not all(
        isinstance(k, bytes) and isinstance(v, bytes) for k, v in env.items()
    ):
        raise Invalid("run_bundle: env is a map of byte strings", field="env")
    pin = Pin(
        _text(body, "store"), _text(body, "name"), version, _text(body, "hash"), _optional(body, "notes")
    )
    if not all(place.startswith("/") for place in (pin.store, pin.notes or "/")):
        raise Invalid("run_bundle: store and notes are absolute directories", field="store")
    return Wish(
        pin, _given(body), cwd, dict(env), tokens, _optional(body, "label"), _optional(body, "inside"),
        body.get("detach") is True, window,
    )  # fmt: skip


def pin_of(told: Mapping[str, Any]) -> Pin:
    """The version that a run's record pins."""
    return Pin(**told["bundle"])


def fuel_of(told: Mapping[str, Any], manifest: Manifest) -> Fuel:
    """What a run is given: by its record and its manifest."""
    return Fuel(
        CALLS,
        told["tokens"],
        manifest.deadline_floor // NS_PER_MS or BUNDLE_FLOOR_MS,
        manifest.deadline_step // NS_PER_MS or BUNDLE_STEP_MS,
        manifest.deadline_per_tokens or PER_TOKENS,
    )


def cwd_of(told: Mapping[str, Any]) -> str:
    """The directory that it was asked for in."""
    return raw(told["cwd"]).decode(errors="surrogateescape")


def _given(body: Mapping[str, Any]) -> str:
    text = _text(body, "input")
    if len(text.encode(errors="surrogatepass")) > MOST:
        raise Invalid(f"run_bundle: the input has more than {MOST} bytes", field="input")
    try:
        return json.dumps(json.loads(text, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        raise Invalid(f"the input is no JSON: {error}", field="input") from error


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise Invalid(f"run_bundle: {name} is missing", field=name)
    return value


def _optional(body: Mapping[str, Any], name: str) -> str | None:
    return None if body.get(name) is None else _text(body, name)


def _is_number(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
