"""Bundles for tests on real processes: written, minted, and run; with somebody who answers prompts, and counts."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from eukhed.bundles.bundle import read_directory
from eukhed.bundles.store import BundleStore
from eukhed.host.blocking import BlockingHost, finish
from eukhed.host.files import SystemFiles
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import Task
from tests.real.home import Home

# answers with the number of the question; dies, or kills whoever asked, when a file says so
PROVIDER = """
import json, os, pathlib, signal, sys, time
here = pathlib.Path(__file__).parent
told = json.load(sys.stdin)
with open(here / "asked", "a") as file:
    file.write(json.dumps(told["input"]) + "\\n")
kill = here / ("kill-" + json.dumps(told["input"]))
if kill.exists():
    kill.unlink()
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
print(json.dumps({"output": {"said": told["input"]}, "tokens_in": 7, "tokens_out": 3, "cost_usd": 0.0005}))
"""
# writes down that it was started; kills whoever started it when a file says so
TOOL = """
import json, os, pathlib, signal, sys, time
here = pathlib.Path(__file__).parent
with open(here / "started", "a") as file:
    file.write("x")
if (here / "kill-tool").exists():
    (here / "kill-tool").unlink()
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
print(json.dumps({"args": json.load(sys.stdin)}))
"""


class Ran(NamedTuple):
    """How a run ended."""

    exit: int
    out: str
    err: str

    @property
    def output(self) -> Any:
        return json.loads(self.out)


class Bundles:
    """The bundles of one scratch home."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.place = home.base / "helpers"
        self.place.mkdir()
        (self.place / "provider.py").write_text(PROVIDER)
        (self.place / "tool.py").write_text(TOOL)

    def configure(self, *lines: str) -> None:
        """Write config.toml's section of bundles."""
        path = Path(self.home.ok("config", "path").strip())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(("[bundle]", *lines)) + "\n")

    def with_helpers(self, *lines: str) -> None:
        provider = json.dumps([sys.executable, str(self.place / "provider.py")])
        tool = json.dumps([sys.executable, str(self.place / "tool.py")])
        self.configure(
            f'ai = {{ provider = "command", command = {provider} }}', *lines, "[bundle.tools]",
            f"once = {tool}", f"often = {{ command = {tool}, repeatable = true }}",
        )  # fmt: skip

    def mint(
        self, name: str, program: str, prompts: Mapping[str, str] | None = None, **manifest: Any
    ) -> None:
        """Make a first version, by the library: it takes a program that does not parse, too."""
        place = self.home.base / "drafts" / name
        (place / "prompts").mkdir(parents=True)
        (place / "manifest.json").write_text(
            json.dumps({"name": name, "purpose": "is tried"} | manifest, indent=2)
        )
        (place / "program.js").write_text(program)
        for file, text in (prompts or {}).items():
            (place / "prompts" / file).write_text(text)
        store = BundleStore(BlockingHost(), str(self.home.root / "subharnesses"))
        finish(store.mint(read_directory(SystemFiles(), str(place))))

    def run(self, name: str, *flags: str, given: Any = None, within_s: float = 60) -> Ran:
        """Run the head of a bundle."""
        data = json.dumps({} if given is None else given).encode()
        done = self.home.run("bundle", "run", name, "--input", "-", *flags, data=data, within_s=within_s)
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def asked(self) -> list[Any]:
        """What whoever answers prompts was asked, in order."""
        path = self.place / "asked"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def started(self) -> int:
        """How often the tool was started."""
        path = self.place / "started"
        return len(path.read_text()) if path.exists() else 0

    def kill_at(self, given: Any) -> None:
        """Whoever asks this next dies while it is answered."""
        (self.place / f"kill-{json.dumps(given)}").touch()

    def begin(self, name: str, session: str, given: Any) -> int:
        """Begin a run in a session; its number."""
        data = json.dumps(given).encode()
        argv = ("bundle", "run", name, "--session", session, "--input", "-", "-d")
        return int(self.home.ok(*argv, data=data).strip().rpartition("/")[2])

    def storage(self, session: str) -> str:
        """Where a session's records are."""
        found = next(row["id"] for row in self.home.json("sessions") if row["name"] == session)
        return str(self.home.root / "sessions" / found)

    def rows(self, storage: str, run: int) -> list[dict[str, Any]]:
        """The journal of a run, as it stands."""
        found = entries(SystemFiles(), storage)
        return [entry.data for entry in found if entry.kind == "call" and entry.by_task_id == run]

    def task(self, storage: str, run: int) -> Task:
        """A run's record."""
        return read_records(SystemFiles(), storage).tasks[run]
