"""How the runs of a job are made: what the job keeps of where it was added, and the run that it asks for.

The record has a member `run` for it: masks, limits, names. The values of the environment stand in one file
beside the jobs file (`<jobs file without .json>/<job>.env`, 0600), `NAME=VALUE` each ended by a NUL; they
are nowhere else. Files of variables (`--env-file`) are read at every fire.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from eukhed import environment
from eukhed.cron.jobs import Job, More
from eukhed.cron.jsontext import json_text
from eukhed.errors import FileTrouble, Invalid
from eukhed.host.files import make_directories
from eukhed.host.seam import Files

MEMBER: Final = "run"
PLAIN_ENVIRONMENT: Final = {b"PATH": b"/usr/local/bin:/usr/bin:/bin"}  # of a job that kept none
_READ_BYTES: Final = 1 << 20


class Manner(NamedTuple):
    """What a job keeps for its runs. Without one (a job that another program made) the defaults hold."""

    umask: int = 0o022
    nice: int = 0
    limits: tuple[tuple[int, int], ...] = ()
    names: tuple[str, ...] = ()  # of the variables that were kept
    given: tuple[str, ...] = ()  # those of them that were asked for by name: they win over files
    files: tuple[str, ...] = ()
    timeout_ms: int | None = None
    grace_ms: int | None = None

    def more(self) -> More:
        """The member of the job's record."""
        told: dict[str, Any] = {
            "umask": self.umask,
            "nice": self.nice,
            "limits": self.limits,
            "envNames": self.names,
            "envGiven": self.given,
            "envFiles": self.files,
            "timeoutMs": self.timeout_ms,
            "graceMs": self.grace_ms,
        }
        return ((MEMBER, json_text({key: value for key, value in told.items() if value is not None})),)


def manner_of(job: Job) -> Manner:
    """What the job kept.

    Raises:
        Invalid: its member is of another form; whoever wrote it may know what it means.
    """
    text = dict(job.more).get(MEMBER)
    if text is None:
        return Manner()
    told = json.loads(text)
    if not isinstance(told, dict):
        raise Invalid(f"job {job.label or job.id}: its member {MEMBER} is no object")
    try:
        return Manner(
            int(told.get("umask", 0o022)),
            int(told.get("nice", 0)),
            tuple((int(kind), int(soft)) for kind, soft in told.get("limits", ())),
            tuple(str(name) for name in told.get("envNames", ())),
            tuple(str(name) for name in told.get("envGiven", ())),
            tuple(str(path) for path in told.get("envFiles", ())),
            _number(told.get("timeoutMs")),
            _number(told.get("graceMs")),
        )
    except (TypeError, ValueError) as error:
        raise Invalid(
            f"job {job.label or job.id}: its member {MEMBER} is not of this form: {error}"
        ) from error


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def run_of(files: Files, jobs_file: str, job: Job) -> dict[str, Any]:
    """The body of the command `run` that one fire of a job is (docs/wire.md). Blocks.

    Raises:
        Invalid: the job runs no command, or its manner or a file of variables is not of its form.
        FileTrouble: its environment, or a file of variables, cannot be read.
    """
    if job.argv is None:
        raise Invalid("this session runs commands and takes no text", job=job.id)
    manner = manner_of(job)
    env = dict(PLAIN_ENVIRONMENT)
    if manner.names:
        env = read_environment(files, jobs_file, job)
    given = {os.fsencode(name) for name in manner.given}
    for path in manner.files:
        found = environment.of_file(_content(files, path), path)
        env |= {name: value for name, value in found.items() if name not in given}
    told: dict[str, Any] = {
        "argv": [word.encode() for word in job.argv],
        "cwd": job.cwd.encode(),
        "env": env,
        "umask": manner.umask,
        "limits": [list(limit) for limit in manner.limits],
        "nice": manner.nice,
        "tty": False,
        "stdin": "none",
        "survive": True,
        "detach": True,
        "label": job.label,
        "job": job.id,
        "timeout_ms": manner.timeout_ms,
        "grace_ms": manner.grace_ms,
    }
    return {key: value for key, value in told.items() if value is not None}


# the values


def environment_path(jobs_file: str, job: str) -> str:
    """Where the values of a job's environment stand."""
    return f"{jobs_file.removesuffix('.json')}/{job}.env"


def keep_environment(files: Files, jobs_file: str, job: str, env: Mapping[bytes, bytes]) -> None:
    """Write the values and flush them; before the job itself is written."""
    path = environment_path(jobs_file, job)
    data = b"".join(name + b"=" + value + b"\0" for name, value in env.items())
    try:
        make_directories(files, os.path.dirname(path))
        file = files.open(path, write=True, create=True)
        try:
            file.truncate(0)
            if file.append(data) != len(data):
                raise FileTrouble(f"{path}: it was not taken whole", file=path)
            file.flush()
        finally:
            file.close()
        files.flush_directory(os.path.dirname(path))
    except OSError as error:
        raise FileTrouble(f"{path}: {error.strerror or error}", file=path) from error


def read_environment(files: Files, jobs_file: str, job: Job) -> dict[bytes, bytes]:
    """The values that were kept.

    Raises:
        FileTrouble: they cannot be read, or are not all there.
    """
    path = environment_path(jobs_file, job.id)
    pairs = [line.partition(b"=") for line in _content(files, path).split(b"\0") if line]
    env = {name: value for name, _, value in pairs}
    missing = {os.fsencode(name) for name in manner_of(job).names} - env.keys()
    if missing:
        shown = b", ".join(sorted(missing)).decode(errors="replace")
        raise FileTrouble(f"{path}: values are gone: {shown}", file=path)
    return env


def forget_environment(files: Files, jobs_file: str, job: str) -> None:
    """Remove the values of a job that will make no run any more."""
    with suppress(FileNotFoundError):
        files.unlink(environment_path(jobs_file, job))


def _content(files: Files, path: str) -> bytes:
    try:
        file = files.open(files.real_path(path))
        try:
            data = bytearray()
            while piece := file.read(len(data), _READ_BYTES):
                data += piece
        finally:
            file.close()
    except OSError as error:
        raise FileTrouble(f"{path}: {error.strerror or error}", file=path) from error
    return bytes(data)
