"""Whether a program parses: asked of the engine that runs bundles, which runs nothing of it here."""

import re
from typing import Any, Final

MEMORY: Final = 256 << 20
ABOVE: Final = 2  # lines that the engine puts before a function's text
CHECK: Final = "(function (text) { new Function(text) })"
PLACE: Final = re.compile(r"at <input>:(\d+):")


def fault(program: bytes) -> str | None:
    """Why a program cannot be parsed, in one line; None if it can, or where the engine is not installed."""
    try:
        text = program.decode()
    except UnicodeDecodeError:
        return "it is no UTF-8"
    try:
        import _quickjs  # type: ignore[import-not-found] # noqa: PLC0415 - its package loads fifty modules, and only a mint asks
    except ImportError:
        return None  # a run says that it is missing
    context: Any = _quickjs.Context()
    context.set_memory_limit(MEMORY)
    try:
        context.eval(CHECK)(text)
    except _quickjs.JSException as error:
        return _told(str(error))
    return None


def _told(error: str) -> str | None:
    """A SyntaxError with its line; what else the parser may run into, a run may not."""
    first, _, rest = error.partition("\n")
    if not first.startswith("SyntaxError"):
        return None
    place = PLACE.search(rest)
    return f"line {max(1, int(place[1]) - ABOVE)}: {first}" if place else first
