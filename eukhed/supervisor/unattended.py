"""Which sessions have runs that go on, or may start yet, whoever attends them: told by what lies in the runs' directories."""

from typing import Final

from eukhed.host.seam import Files

# In the directory of each run whose holder lives, or was killed; and of each that may be started yet (queued runs).
LEFT: Final = ("s", "environment")


def sessions(files: Files, artifacts: str) -> list[str]:
    """All sessions that have such runs."""
    return [session for session in _folders(files, artifacts) if has_runs(files, artifacts, session)]


def has_runs(files: Files, artifacts: str, session: str) -> bool:
    """Whether this session has one."""
    place = f"{artifacts}/{session}"
    if files.stat(place) is None:
        return False
    runs = [run for run in _folders(files, place) if run.startswith("run-")]
    return any(files.stat(f"{place}/{run}/{name}") is not None for run in runs for name in LEFT)


def _folders(files: Files, path: str) -> list[str]:
    return sorted(entry.name for entry in files.scan(path) if entry.kind == "directory")
