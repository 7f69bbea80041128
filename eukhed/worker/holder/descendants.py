"""Every process below the holder: found through /proc, each signalled by descriptor, so never another one.

The holder is the subreaper of its descendants: a process whose parent has ended is its child, wherever it
has put itself, so a walk from the holder misses none that has stopped making new ones.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # unknown to typeshed; signal.py builds enums, 5 ms a start
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def _fields(pid: int | str) -> tuple[str, int, int, int] | None:
    """State, parent, group and start time of a process; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[19])


def living() -> list[tuple[int, int, int]]:
    """(pid, start time, group) of every process below this one that is not a zombie."""
    seen = {int(name): fields for name in os.listdir("/proc") if name.isdigit() and (fields := _fields(name))}
    children: dict[int, list[int]] = {}
    for pid, fields in seen.items():
        children.setdefault(fields[1], []).append(pid)

    def below(pid: int) -> Iterator[int]:
        for child in children.get(pid, ()):
            yield child
            yield from below(child)

    return [(pid, seen[pid][3], seen[pid][2]) for pid in below(os.getpid()) if seen[pid][0] not in "ZX"]


def signal_all(number: int, group: int | None) -> int:
    """Send a signal to the group at once, then to every other descendant. Returns how many there were.

    `group` is the command's while its pid is held by a child that was not reaped, else None.
    """
    if group is not None:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):  # gone, or all of them are another user's
            group = None
    found = living()
    for pid, start, member_of in found:
        if group is None or member_of != group:
            _signal_one(pid, start, number)
    return len(found)


def _signal_one(pid: int, start: int, number: int) -> None:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        fields = _fields(pid)
        if fields and fields[3] == start:
            _signal.pidfd_send_signal(pidfd, number)
    except (ProcessLookupError, PermissionError):  # it ended, or it became another user's (a set-uid program)
        return
    finally:
        os.close(pidfd)
