"""The command: started once, as it was planned, or the reason why it was not.

The child waits behind a pipe until its identity is written down, so a holder that is killed at any moment
leaves either a command that is named in the run's directory, or none.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # unknown to typeshed; signal.py builds enums, 5 ms a start
import errno
import fcntl
import os
import resource
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eukhed.worker.holder.place import Place, Plan

NOT_FOUND = 127
NOT_EXECUTABLE = 126
OUR_FAILURE = 125
DEFAULT_PATH = b"/bin:/usr/bin"


class NotStarted(Exception):
    """The command was not executed: why, and the exit status that says so."""

    def __init__(self, number: int, message: str, status: int) -> None:
        super().__init__(message)
        self.number = number
        self.message = message
        self.status = status


def start_ticks(pid: int) -> int:
    """When the process began, in clock ticks since boot (field 22 of its stat)."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def start(plan: Plan, place: Place, streams: tuple[int, int, int], terminal: int) -> tuple[int, list[str]]:
    """Execute the planned command on these descriptors. Returns its pid and notes; raises NotStarted."""
    gate_out, gate_in = os.pipe()
    report_out, report_in = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        raise NotStarted(
            error.errno or 0, f"cannot start a process: {error.strerror}", NOT_EXECUTABLE
        ) from None
    if not pid:
        try:
            os.close(gate_in)
            _become(plan, streams, terminal, gate_out, report_in)
        finally:
            os._exit(OUR_FAILURE)
    os.close(gate_out)
    os.close(report_in)
    try:
        facts = {"pid": pid, "start": start_ticks(pid), "boot": plan["boot"], "namespace": plan["namespace"]}
        place.write("command", facts, durable=False)  # a reboot ends what it names
        os.write(gate_in, b"g")
        os.close(gate_in)
    except OSError as error:
        os.close(gate_in)
        os.waitpid(pid, 0)
        raise NotStarted(
            error.errno or 0, f"cannot note the command: {error.strerror}", OUR_FAILURE
        ) from None
    with open(report_out, "rb") as report:
        lines = report.read().split(b"\n")
    notes = [line[5:].decode("utf-8", "replace") for line in lines if line.startswith(b"note ")]
    for line in lines:
        if line.startswith(b"fail "):
            os.waitpid(pid, 0)
            _, number, stage = line.split(b" ")
            raise _failure(plan, int(number), stage)
    return pid, notes


def _failure(plan: Plan, number: int, stage: bytes) -> NotStarted:
    what = os.strerror(number) if number else "no valid arguments (a NUL byte, or a variable named with =)"
    name = plan["argv"][0].decode("utf-8", "replace") if plan["argv"] else ""
    if stage == b"directory":
        return NotStarted(
            number, f"directory {plan['cwd'].decode('utf-8', 'replace')}: {what}", NOT_EXECUTABLE
        )
    if stage == b"search":
        return NotStarted(number, f"{name}: {what if b'/' in plan['argv'][0] else 'not found'}", NOT_FOUND)
    if stage == b"interpreter":
        return NotStarted(number, f"{name}: its interpreter is missing", NOT_EXECUTABLE)
    return NotStarted(number, f"{name}: {what}", NOT_EXECUTABLE)


def _become(plan: Plan, streams: tuple[int, int, int], terminal: int, gate: int, report: int) -> None:
    """In the child: take on all that was planned, then execute. Returns only by a report."""
    if os.read(gate, 1) != b"g":
        return
    stage = b"exec"
    try:
        os.setsid()
        if terminal >= 0:
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        for target, source in enumerate(streams):
            os.dup2(source, target)
        for number in _signal.valid_signals():
            if number not in {_signal.SIGKILL, _signal.SIGSTOP}:
                _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        stage = b"directory"
        os.chdir(plan["cwd"])
        stage = b"exec"
        _set_nice(plan["nice"], report)
        os.umask(plan["umask"])
        for kind, soft in plan["limits"]:
            hard = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (_lower(soft, hard), hard))
        stage = _execute(plan["argv"], plan["env"])
        number = errno.ENOENT
    except OSError as error:
        number = error.errno or errno.EIO
    except Exception:  # noqa: BLE001 - a child that fails unheard would count as a command that ran
        number = 0  # execve refused the arguments themselves
    os.write(report, b"fail %d %s\n" % (number, stage))


def _set_nice(nice: int, report: int) -> None:
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    except PermissionError:  # a daemon that is nicer than its client cannot go back
        have = os.getpriority(os.PRIO_PROCESS, 0)
        os.write(report, b"note nice %d is not permitted, the command runs at %d\n" % (nice, have))


def _lower(soft: int, hard: int) -> int:
    if hard == resource.RLIM_INFINITY:
        return soft
    return hard if soft == resource.RLIM_INFINITY else min(soft, hard)


def _execute(argv: list[bytes], env: dict[bytes, bytes]) -> bytes:
    """Execute as execvp does, by the PATH of the planned environment. Returns what was not found."""
    if not argv[0]:
        return b"search"
    if b"/" in argv[0]:
        return _execute_file(argv[0], argv, env) or b"search"
    denied: OSError | None = None
    for folder in env.get(b"PATH", DEFAULT_PATH).split(b":"):
        try:
            if missing := _execute_file(os.path.join(folder or b".", argv[0]), argv, env):
                return missing
        except PermissionError as error:
            denied = error
    if denied:
        raise denied
    return b"search"


def _execute_file(path: bytes, argv: list[bytes], env: dict[bytes, bytes]) -> bytes:
    """Execute this file. Returns b"" when there is none, b"interpreter" when its interpreter is missing."""
    try:
        os.execve(path, argv, env)  # noqa: S606 - to execute what was planned is what a holder is for
    except (FileNotFoundError, NotADirectoryError):
        return b"interpreter" if os.path.exists(path) else b""
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        os.execve(b"/bin/sh", [b"/bin/sh", path, *argv[1:]], env)  # noqa: S606 - a script without "#!", as execvp has it
