"""The staging law said otherwise: names by one pattern, a build as what it leaves in a directory."""

import re

NAME = re.compile(
    r"\.(?P<target>[^./\0\ud800-\udfff][^/\0\ud800-\udfff]*)"
    r"\.(?P<kind>new|import|fork|delete)-(?P<token>[0-9a-f]{32})(?P<lock>\.lock)?\Z",
    re.DOTALL,
)


def read(name: str) -> tuple[str, str, str, bool] | None:
    found = NAME.match(name)
    return (found["target"], found["kind"], found["token"], found["lock"] is not None) if found else None


def settled(error: int | None, taken: int) -> str:
    return {None: "moved", taken: "taken"}.get(error, "failed")


def outcome(before: str | None, failed: str | None) -> tuple[str | None, bool]:
    """What stands at the place after a build, and whether anything of the build is left.

    `before` is what stood there (None: nothing); `failed` the step that fails by itself, if one does.
    """
    if failed in ("lock", "make", "build", "publish") or before is not None:
        return before, False
    return "the build", False
