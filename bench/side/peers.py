"""Other supervisors behind the same few verbs, each with its default settings.

A peer is configured for so many workers of one command, launched, asked, killed. Its workers are found by a mark
in their command line.
"""

import contextlib
import json
import os
import subprocess
import time
from abc import ABC, abstractmethod

from side import install, seen

BOOT_S = 30


class Peer(ABC):
    """One peer in a directory of its own."""

    name = "?"
    version = "?"
    source = ""

    def __init__(self, tools: str, directory: str) -> None:
        self.tools = tools
        self.directory = directory
        os.makedirs(directory)
        self.env = {"PATH": os.environ["PATH"], "HOME": directory}
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.log = open(f"{directory}/out", "wb")  # noqa: SIM115 - as long as the peer

    @abstractmethod
    def configure(self, count: int, argv: list[str]) -> None:
        """Set up so many of this command."""

    @abstractmethod
    def daemon_argv(self) -> list[str]:
        """What starts the daemon, in the foreground."""

    @abstractmethod
    def status_argv(self) -> list[str]:
        """What asks it how it is."""

    @abstractmethod
    def stop_argv(self) -> list[str]:
        """What ends it and its commands."""

    def start(self) -> None:
        """Start a daemon beside whatever there is."""
        daemon = subprocess.Popen(
            self.daemon_argv(), env=self.env, cwd=self.directory, stdout=self.log, stderr=self.log
        )
        self.daemons.append(daemon)

    def pid(self) -> int:
        return self.daemons[-1].pid

    def run(self, argv: list[str], within_s: float = 60) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                argv,
                env=self.env,
                cwd=self.directory,
                stdout=self.log,
                stderr=self.log,
                timeout=within_s,
                check=False,
            )

    def stop_all(self) -> None:
        self.run(self.stop_argv())

    def is_up(self) -> bool:
        """Whether it may be asked: a command that comes too early fails."""
        return True

    def close(self) -> None:
        """End all of it the hard way."""
        own = [daemon.pid for daemon in self.daemons]
        for _ in range(3):
            seen.kill_all(pid for one in own for pid in seen.below(one))
            time.sleep(0.05)
        for daemon in self.daemons:
            daemon.wait()
        self.log.close()


class Supervisord(Peer):
    name, version, source = "supervisord", "4.3.0", "pypi"

    def configure(self, count: int, argv: list[str]) -> None:
        words = " ".join(argv)
        with open(f"{self.directory}/conf", "w") as file:
            file.write(
                f"[unix_http_server]\nfile={self.directory}/s\n[supervisord]\nnodaemon=true\nminfds=4096\n"
                f"logfile={self.directory}/log\npidfile={self.directory}/pid\nchildlogdir={self.directory}\n"
                "[rpcinterface:supervisor]\n"
                "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"
                f"[supervisorctl]\nserverurl=unix://{self.directory}/s\n"
                f"[program:w]\ncommand={words}\nnumprocs={count}\nprocess_name=%(process_num)s\n"
            )

    def daemon_argv(self) -> list[str]:
        return [f"{self.tools}/py/bin/supervisord", "-c", f"{self.directory}/conf"]

    def _ctl(self, *words: str) -> list[str]:
        return [f"{self.tools}/py/bin/supervisorctl", "-c", f"{self.directory}/conf", *words]

    def status_argv(self) -> list[str]:
        return self._ctl("status")

    def stop_argv(self) -> list[str]:
        return self._ctl("stop", "all")

    def is_up(self) -> bool:
        return os.path.exists(f"{self.directory}/s")


class Circus(Peer):
    name, version, source = "circus", "0.19.0", "pypi"

    def configure(self, count: int, argv: list[str]) -> None:
        with open(f"{self.directory}/run", "w") as file:
            file.write('exec "$@"\n')
        with open(f"{self.directory}/ini", "w") as file:
            file.write(
                f"[circus]\nendpoint = ipc://{self.directory}/e\npubsub_endpoint = ipc://{self.directory}/p\n"
                f"[watcher:w]\ncmd = {argv[0]}\nargs = {' '.join(argv[1:])}\nnumprocesses = {count}\n"
            )

    def daemon_argv(self) -> list[str]:
        return [f"{self.tools}/py/bin/circusd", f"{self.directory}/ini"]

    def _ctl(self, *words: str) -> list[str]:
        return [
            f"{self.tools}/py/bin/circusctl",
            "--endpoint",
            f"ipc://{self.directory}/e",
            "--timeout",
            "60",
            *words,
        ]

    def status_argv(self) -> list[str]:
        return self._ctl("status")

    def stop_argv(self) -> list[str]:
        return self._ctl("stop")


class Pm2(Peer):
    name, version, source = "pm2", "7.0.4", "npm"

    def configure(self, count: int, argv: list[str]) -> None:
        self.env["PM2_HOME"] = f"{self.directory}/pm2"
        apps = [
            {
                "name": f"w{number}",
                "script": argv[0],
                "args": argv[1:],
                "interpreter": "none",
                "autorestart": True,
            }
            for number in range(count)
        ]
        with open(f"{self.directory}/eco.config.js", "w") as file:
            file.write(f"module.exports = {{apps: {json.dumps(apps)}}}\n")

    def _pm2(self, *words: str) -> list[str]:
        return [f"{self.tools}/npm/node_modules/.bin/pm2", *words]

    def daemon_argv(self) -> list[str]:
        return self._pm2("start", f"{self.directory}/eco.config.js")

    def status_argv(self) -> list[str]:
        return self._pm2("jlist")

    def stop_argv(self) -> list[str]:
        return self._pm2("stop", "all")

    def pid(self) -> int:
        """The launcher leaves the daemon's pid in a file."""
        path = f"{self.env['PM2_HOME']}/pm2.pid"
        seen.until(lambda: os.path.exists(path) and os.path.getsize(path), BOOT_S)
        with open(path) as file:
            return int(file.read())

    def close(self) -> None:
        for pid in _named(f"PM2 v{self.version}: God Daemon ({self.env['PM2_HOME']})"):
            seen.kill_all(seen.below(pid))
        super().close()


def _named(title: str) -> list[int]:
    """Processes that call themselves so."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdecimal():
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if title.encode() in file.read():
                        found.append(int(name))
    return found


class Services(Peer):
    """A directory of service directories, each with a script `run`."""

    source = "debian"

    def configure(self, count: int, argv: list[str]) -> None:
        self.env["LD_LIBRARY_PATH"] = (
            f"{self.tools}/deb/usr/lib/x86_64-linux-gnu:{self.tools}/deb/lib/x86_64-linux-gnu"
        )
        self.env["PATH"] = f"{self.tools}/deb/usr/bin:{self.tools}/deb/bin:{self.env['PATH']}"
        self.services = f"{self.directory}/services"
        for number in range(count):
            os.makedirs(f"{self.services}/{number}")
            with open(f"{self.services}/{number}/run", "w") as file:
                words = " ".join(f"'{word}'" for word in argv)
                file.write(f"#!/bin/sh\nexec {words}\n")
            os.chmod(f"{self.services}/{number}/run", 0o755)

    def close(self) -> None:
        super().close()
        for _ in range(3):
            orphans = [
                pid for pid in seen.marked("runsv", "") | seen.marked("s6-supervise", "") if self._ours(pid)
            ]
            seen.kill_all(pid for one in orphans for pid in seen.below(one))

    def _ours(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{pid}/cwd").startswith(self.directory)
        return False


class Runit(Services):
    name = "runit"

    def daemon_argv(self) -> list[str]:
        return ["runsvdir", self.services]

    def status_argv(self) -> list[str]:
        return ["sh", "-c", f"sv status {self.services}/*"]

    def stop_argv(self) -> list[str]:
        return ["sh", "-c", f"sv stop {self.services}/*"]


class S6(Services):
    name = "s6"

    def daemon_argv(self) -> list[str]:
        """It looks for its programs in /usr/bin: there, in a name space of its own, are the ones that came."""
        over = f"mount -t overlay none -o lowerdir={self.tools}/deb/usr:/usr /usr"
        return ["unshare", "-m", "sh", "-c", f"{over} && exec s6-svscan {self.services}"]

    def status_argv(self) -> list[str]:
        return ["sh", "-c", f"for d in {self.services}/*; do s6-svstat $d; done"]

    def stop_argv(self) -> list[str]:
        return ["s6-svscanctl", "-t", self.services]


ALL: tuple[type[Peer], ...] = (Supervisord, Circus, Pm2, Runit, S6)


def there(tools: str, failed: dict[str, str]) -> tuple[list[type[Peer]], dict[str, str]]:
    """The peers that can be tried, and why the others cannot."""
    for peer in (Runit, S6):
        peer.version = install.debian_version(tools, peer.name)
    absent = {peer.name: failed[peer.source] for peer in ALL if peer.source in failed}
    return [peer for peer in ALL if peer.name not in absent], absent
