"""A disk with no room left: what is asked of a daemon then is done as far as it can be, or refused in words."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.home import Home, gone, until


@contextlib.contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """A file system of 4 MiB; skips where none may be mounted."""
    path.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "none", str(path)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system may be mounted here: {error}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(file: Path) -> None:
    """Until there is no room for one more byte."""
    with contextlib.suppress(OSError), file.open("ab", buffering=0) as ballast:
        while True:
            ballast.write(b"x" * 4096)


def test_what_fills_the_disk_can_be_stopped_and_what_cannot_be_written_is_refused(home: Home) -> None:
    with small_disk(home.root):
        address = home.ok(
            "run", "-d", "--", "sh", "-c", f"echo $$ > {home.directory}/pid; exec sleep 600"
        ).strip()
        command = int(until((home.directory / "pid").read_text, what="the command"))
        flood = home.ok("run", "-d", "--", "sh", "-c", "while :; do echo flooding; done 2>/dev/null").strip()
        fill(home.root / "ballast")
        refused = home.run("run", "--", "true", within_s=20)
        assert refused.returncode == 125
        assert b"No space left" in refused.stderr
        assert b"bug" not in refused.stderr

        stops = [home.start("stop", one) for one in (address, flood)]
        gone(command)
        (home.root / "ballast").unlink()
        for stop in stops:
            _, said = stop.communicate(timeout=30)
            assert stop.returncode == 0, said
        assert [run["state"] for run in home.json("runs")] == ["stopped", "stopped"]
        home.ok("shutdown", "--if-idle")  # the run that was refused is no work
        until(lambda: not home.processes(), what="an empty home")
