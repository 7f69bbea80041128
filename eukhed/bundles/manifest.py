"""The manifest of a bundle: what it is for, what goes in and comes out, what it may use.

One JSON object. `decode` reads what somebody wrote and says what is wrong with it; `encode` writes a
`Manifest` with two spaces of indent, keys in the order of the class, defaults left out. What is handed to a
mint as bytes is checked and kept as it is, byte for byte.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NoReturn, cast, get_args

from eukhed.bundles.layout_law import is_name
from eukhed.bundles.schema import schema_fault

GuardKind = Literal["file", "tool", "field", "judgement"]

_NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "file": ("file",),
    "tool": ("tool",),
    "field": ("field", "pattern"),
    "judgement": ("question",),
}
assert tuple(_NEEDS) == get_args(GuardKind)


class BadManifest(ValueError):
    """The bytes are no manifest; the message says why."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One check before a run. The fields that its kind needs are given; `because` is told when it fails."""

    kind: GuardKind
    file: str = ""
    tool: str = ""
    field: str = ""
    pattern: str = ""
    question: str = ""
    because: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle says of itself. Empty means absent.

    `provenance` is stamped by the layer that the bundle is found in, `evals` are the names of the files there:
    what a file claims of these two is not read, and `provenance` is never written.
    """

    name: str
    purpose: str
    cues: tuple[str, ...] = ()
    input: Mapping[str, Any] | None = None  # JSON Schema of an object
    output: Mapping[str, Any] | None = None
    whitelist: tuple[str, ...] = ()  # the tools that it may use; none: the model only
    guards: tuple[Guard, ...] = ()
    deadline_floor: int = 0  # ns
    deadline_step: int = 0  # ns more for each
    deadline_per_tokens: int = 0  # this many tokens
    evals: tuple[str, ...] = ()
    provenance: str = ""
    fallback: str = ""  # the engine that takes over
    more: tuple[tuple[str, Any], ...] = ()  # members that this version gives no meaning

    def with_evals(self, evals: Iterable[str]) -> "Manifest":
        """With the names of the files that there are."""
        return replace(self, evals=tuple(sorted(evals)))

    def stamped(self, provenance: str) -> "Manifest":
        """With where it is from."""
        return replace(self, provenance=provenance)


_KNOWN: Final = frozenset(Manifest.__slots__) - {"more"}


def decode(data: bytes, *, check_schemas: bool = True) -> Manifest:
    """Read a manifest. One that was checked before may go without: that takes a large library.

    Raises:
        BadManifest: it is none.
    """
    document = _document(data)
    name, purpose = _text(document, "name").strip(), _text(document, "purpose")
    if not name:
        raise BadManifest("it has no name")
    if not is_name(name):
        raise BadManifest(
            f"{name!r} is no name of a bundle: at most 64 characters, a letter first, then a-z 0-9 - _"
        )
    if not purpose.strip():
        raise BadManifest("it has no purpose")
    return Manifest(
        name=name,
        purpose=purpose,
        cues=_texts(document, "cues"),
        input=_schema(document, "input", check=check_schemas),
        output=_schema(document, "output", check=check_schemas),
        whitelist=_whitelist(document),
        guards=_guards(document),
        deadline_floor=_count(document, "deadline_floor"),
        deadline_step=_count(document, "deadline_step"),
        deadline_per_tokens=_count(document, "deadline_per_tokens"),
        fallback=_text(document, "fallback"),
        more=tuple((key, value) for key, value in document.items() if key not in _KNOWN),
    )


def encode(manifest: Manifest) -> bytes:
    """The file of a manifest that was made here; `decode` still has to say whether it is one."""
    document: dict[str, Any] = {"name": manifest.name}
    for key in Manifest.__slots__[1:]:
        value = getattr(manifest, key)
        given = value or isinstance(value, Mapping)  # an empty schema is one
        if given and key not in {"provenance", "more"}:
            document[key] = [_guard_document(guard) for guard in value] if key == "guards" else value
    document |= {key: value for key, value in manifest.more if key not in document}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8", "surrogatepass")


def _guard_document(guard: Guard) -> dict[str, str]:
    return {key: value for key in Guard.__slots__ if (value := getattr(guard, key))}


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise BadManifest("it is nested too deep") from None
    except ValueError as error:  # not UTF-8, not JSON, or a BadManifest
        raise BadManifest(str(error)) from error
    if not isinstance(document, dict):
        raise BadManifest("it is not a JSON object")
    _check_text(data, document)
    return {key: value for key, value in document.items() if value is not None}


def _check_text(data: bytes, document: dict[str, Any]) -> None:
    """Escapes can name half characters, which no file and no terminal takes."""
    if rb"\u" not in data:
        return
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise BadManifest("it has half of a surrogate pair") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BadManifest("a key stands twice in one object")
    return members


def _no_constant(word: str) -> NoReturn:
    raise BadManifest(f"{word} is no number of JSON")


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key, "")
    if not isinstance(value, str):
        raise BadManifest(f"{key} is not a string")
    return value


def _texts(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadManifest(f"{key} is not an array of strings")
    return tuple(value)


def _whitelist(document: Mapping[str, Any]) -> tuple[str, ...]:
    tools = _texts(document, "whitelist")
    if not all(tool.strip() for tool in tools):
        raise BadManifest("whitelist has a tool without a name")
    return tools


def _schema(document: Mapping[str, Any], key: str, *, check: bool) -> Mapping[str, Any] | None:
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadManifest(f"{key} is not a schema of an object")
    if check and (fault := schema_fault(value)) is not None:
        raise BadManifest(f"{key} is no schema of an object: {fault}")
    return value


def _count(document: Mapping[str, Any], key: str) -> int:
    value = document.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadManifest(f"{key} is not a whole number from 0")
    return value


def _guards(document: Mapping[str, Any]) -> tuple[Guard, ...]:
    value = document.get("guards", [])
    if not isinstance(value, list):
        raise BadManifest("guards is not an array")
    guards = tuple(_guard(number, item) for number, item in enumerate(value, 1))
    if sum(guard.kind == "judgement" for guard in guards) > 1:
        raise BadManifest("guards has more than one judgement")
    return guards


def _guard(number: int, item: object) -> Guard:
    if not isinstance(item, dict):
        raise BadManifest(f"guard {number} is not an object")
    given = {
        key: _text(item, key) for key, value in item.items() if key in Guard.__slots__ and value is not None
    }
    kind = given.pop("kind", "")
    if kind not in _NEEDS:
        raise BadManifest(f"guard {number} is of no known kind: {kind!r}")
    for key in _NEEDS[kind]:
        if not given.get(key, "").strip():
            raise BadManifest(f"guard {number}, of kind {kind}, has no {key}")
    return Guard(cast("GuardKind", kind), **given)
