"""The environment of a run that has not started: one private file, read back exactly, gone when it is told to."""

import stat
from pathlib import Path

from eukhed.host.files import SystemFiles
from eukhed.worker.run_environment import forget, keep, path_in, read

ENV = {b"PATH": b"/bin", b"ODD": b"\xff\n", b"SECRET": b"s3cret"}


def test_it_is_kept_privately_and_forgotten(tmp_path: Path) -> None:
    files, directory = SystemFiles(), str(tmp_path / "session" / "run-3")
    assert read(files, directory) is None
    keep(files, directory, ENV)
    assert stat.S_IMODE(Path(path_in(directory)).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(directory).stat().st_mode) == 0o700
    assert read(files, directory) == ENV
    keep(files, directory, {b"A": b"b"})
    assert read(files, directory) == {b"A": b"b"}
    forget(files, directory)
    forget(files, directory)
    assert read(files, directory) is None


def test_the_first_runs_of_a_session_race_to_make_its_directory(tmp_path: Path) -> None:
    class Raced(SystemFiles):
        """Somebody else makes each directory just before us."""

        def make_directory(self, path: str) -> None:
            super().make_directory(path)
            super().make_directory(path)

    directory = str(tmp_path / "session" / "run-3")
    keep(Raced(), directory, ENV)
    assert read(SystemFiles(), directory) == ENV
