"""Runs inside the sandbox, under a real user manager: each function is one story; argv names the one to run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from eukhed import paths
from tests.supervisor.harness import ROOT, Daemon, until

UNITS = Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"


def systemctl(*words: str) -> str:
    done = subprocess.run(["systemctl", "--user", *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main_pid() -> int:
    return int(systemctl("show", "-P", "MainPID", "eukhed.service"))


def active() -> bool:
    return systemctl("is-active", "eukhed.service") == "active"


def install(place: Daemon) -> None:
    """The unit as it is shipped, with a stand-in supervisor and the places of this test."""
    text = (ROOT / "eukhed" / "cli" / "units" / "eukhed.service").read_text()
    start = f"ExecStart={sys.executable} -m tests.supervisor.standin --foreground"
    text = text.replace("ExecStart=%h/.local/bin/eukhed supervise", start).replace(
        "WatchdogSec=30", "WatchdogSec=2"
    )
    environ = "".join(f'Environment="{name}={value}"\n' for name, value in place.environ.items())
    text = text.replace("[Service]\n", f"[Service]\n{environ}WorkingDirectory={ROOT}\n")
    UNITS.mkdir(parents=True, exist_ok=True)
    (UNITS / "eukhed.service").write_text(text)
    systemctl("daemon-reload")


def begun(place: Daemon) -> tuple[int, str]:
    """A started unit with one worker: its pid and its session."""
    install(place)
    systemctl("start", "eukhed.service")
    assert active(), systemctl("status", "eukhed.service")
    session = place.session()
    return int(place.talk().ask("echo", {}, session=session)["pid"]), session


def killed_supervisor(place: Daemon) -> None:
    """Its workers live on in the unit's cgroup, and the next one, started by the manager, adopts them."""
    pid, session = begun(place)
    assert place.talk().ask("status")["supervised_by"] == "systemd"
    for _ in range(7):  # more than the manager's default start limit
        replaced_after(signal.SIGKILL)
        assert place.talk().ask("echo", {}, session=session)["pid"] == pid


def replaced_after(number: int) -> None:
    """Signal the supervisor, and wait for the next one."""
    first = main_pid()
    os.kill(first, number)
    until(lambda: active() and main_pid() not in {0, first})


def hanging_supervisor(place: Daemon) -> None:
    """The watchdog ends one that hangs; workers are adopted."""
    pid, session = begun(place)
    replaced_after(signal.SIGSTOP)
    assert place.talk().ask("echo", {}, session=session)["pid"] == pid


def stop_and_start(place: Daemon) -> None:
    """A stop lets workers leave; what was busy is revived by the next start."""
    pid, session = begun(place)
    place.talk().ask("busy", {"busy": True}, session=session)
    systemctl("restart", "eukhed.service")
    talk = place.talk()
    until(lambda: [one for one in talk.ask("ps")["workers"] if one["session"] == session and one["pid"]])
    assert talk.ask("echo", {}, session=session)["pid"] != pid
    began = time.monotonic()
    systemctl("stop", "eukhed.service")
    assert time.monotonic() - began < 30
    assert systemctl("show", "-P", "Result", "eukhed.service") == "success"


def activation(place: Daemon) -> None:
    """The manager's socket starts the daemon, which leaves the path alone when it ends."""
    install(place)
    os.makedirs(place.places.runtime, mode=0o700)
    os.chmod(os.path.dirname(place.places.runtime), 0o700)
    text = (ROOT / "eukhed" / "cli" / "units" / "eukhed.socket").read_text()
    text = text.replace("%t/eukhed/ROOT-KEY/daemon.sock", place.places.socket)
    (UNITS / "eukhed.socket").write_text(text)
    systemctl("daemon-reload")
    systemctl("start", "eukhed.socket")
    assert not active()
    talk = place.talk()
    assert active()
    first = main_pid()
    os.kill(first, signal.SIGKILL)
    waiting = place.talk()  # in the backlog, until the next one serves
    assert waiting.hello["generation"] == talk.hello["generation"] + 1
    waiting.ask("shutdown", {"mode": "if_idle"})
    until(lambda: not active())
    assert os.path.exists(place.places.socket), "the path is the manager's"
    assert until(lambda: served(place)), "and the next client starts it again"


def served(place: Daemon) -> bool:
    """Whether a client is answered; one that the ending daemon had taken in is not, and comes again as clients do."""
    try:
        return bool(place.talk().ask("status")["running"])
    except (EOFError, ConnectionError):
        return False


def launcher(place: Daemon) -> None:
    """A launcher asks the manager where the unit serves the same places, and the daemon is the unit's."""
    for name in ("EUKHED_HOME", "EUKHED_RUNTIME_DIR"):
        del place.environ[name]
    place.environ |= {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
    place.places = paths.places(place.environ, os.getuid())
    install(place)
    argv = [sys.executable, "-m", "tests.launcher.standin"]
    environ = place.environ | {"DBUS_SESSION_BUS_ADDRESS": os.environ["DBUS_SESSION_BUS_ADDRESS"]}
    done = subprocess.run(argv, env=environ, cwd=ROOT, capture_output=True, check=False)
    told = json.loads(done.stdout)
    assert (told["result"], told["pid"]) == ("started", main_pid())
    again = subprocess.run(argv, env=environ, cwd=ROOT, capture_output=True, check=False)
    assert json.loads(again.stdout)["result"] == "kept"
    os.kill(main_pid(), signal.SIGTERM)
    until(lambda: not active())


if __name__ == "__main__":
    home = Path(os.environ["HOME"])
    here = Daemon(home)
    here.environ |= {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"], "EUKHED_RUNTIME_DIR": str(home / "r")}
    here.places = paths.places(here.environ, os.getuid())
    try:
        globals()[sys.argv[1]](here)
        sys.stdout.write("held\n")
    except BaseException:
        sys.stderr.write(systemctl("status", "--no-pager", "-n", "40", "eukhed.service") + "\n")
        raise
