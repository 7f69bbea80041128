"""What a supervisor refuses to be, and how it says so; what it takes over."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.supervisor.harness import ROOT, Daemon, until

pytestmark = pytest.mark.real


def test_a_second_one_says_that_another_runs(running: Daemon) -> None:
    other = Daemon(Path(running.environ["HOME"]))
    assert "another supervisor serves" in other.start()
    assert other.process is not None
    assert other.process.wait(20) == 69
    assert running.talk().ask("status")["running"]
    session = running.session()
    assert running.talk().ask("echo", {}, session=session), "the loser took nothing away"


def test_a_look_at_the_lock_refuses_nobody(place: Daemon) -> None:
    os.makedirs(place.places.workers, mode=0o700)
    for path in (place.places.root, os.path.dirname(place.places.workers), place.places.workers):
        os.chmod(path, 0o700)
    looks = (
        "import fcntl,os,sys,time\n"
        "fd=os.open(sys.argv[1],os.O_RDWR|os.O_CREAT,0o600)\nfcntl.flock(fd,fcntl.LOCK_SH)\n"
        "print(1,flush=True)\ntime.sleep(0.6)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", looks, place.places.instance_lock], stdout=subprocess.PIPE
    ) as looking:
        assert looking.stdout is not None
        looking.stdout.readline()
        assert place.start() == "ready\n"


def test_the_runtime_directory_must_not_be_a_link(place: Daemon) -> None:
    real = Path(place.environ["HOME"]) / "real"
    real.mkdir(mode=0o700)
    os.symlink(real, place.environ["EUKHED_RUNTIME_DIR"])
    assert "is a link" in place.start()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_the_runtime_directory_must_be_ours(place: Daemon) -> None:
    os.mkdir(place.environ["EUKHED_RUNTIME_DIR"], 0o700)
    os.chown(place.environ["EUKHED_RUNTIME_DIR"], 12345, 12345)
    assert "belongs to user 12345" in place.start()


def test_a_file_in_the_socket_s_place_is_not_removed(place: Daemon) -> None:
    os.makedirs(os.path.dirname(place.places.socket), mode=0o700)
    os.chmod(place.environ["EUKHED_RUNTIME_DIR"], 0o700)
    Path(place.places.socket).write_text("somebody's")
    assert "is taken by something that is not a socket" in place.start()
    assert Path(place.places.socket).read_text() == "somebody's"


def test_a_generation_that_is_no_number_is_not_guessed(place: Daemon) -> None:
    os.makedirs(place.places.workers, mode=0o700)
    for path in (place.places.root, os.path.dirname(place.places.workers)):
        os.chmod(path, 0o700)
    Path(place.places.workers, "generation").write_text("many")
    assert "does not hold a number" in place.start()


def test_python_without_asserts_is_refused(place: Daemon) -> None:
    reading, writing = os.pipe()
    done = subprocess.run(
        [sys.executable, "-O", "-m", "tests.supervisor.standin", "--ready-fd", str(writing)],
        env=place.environ, pass_fds=[writing], cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        assert b"python -O" in file.read()
    assert done.returncode == 1


def test_a_vanished_socket_is_bound_again_and_streams_go_on(hasty: Daemon) -> None:
    """A cleaner empties the runtime directory; the next sweep's turn puts the socket back."""
    session, talk = hasty.session(), hasty.talk()
    talk.ask("echo", {}, session=session)
    for name in ("daemon.sock", "fd.sock"):
        os.unlink(Path(hasty.places.runtime) / name)
    until(lambda: os.path.exists(hasty.places.socket) and os.path.exists(hasty.places.descriptors_socket))
    assert hasty.talk().ask("status")["running"]
    assert talk.ask("echo", {}, session=session)
    assert talk.ask("echo", {}, session=hasty.session(name="new"))


def test_a_late_exit_leaves_the_successor_s_socket(running: Daemon) -> None:
    """The inode that was bound is unlinked, not the name."""
    os.unlink(running.places.socket)
    with socket.socket(socket.AF_UNIX) as successor:
        successor.bind(running.places.socket)
        assert running.process is not None
        running.process.terminate()
        assert running.process.wait(20) == 0
        assert os.path.exists(running.places.socket)
