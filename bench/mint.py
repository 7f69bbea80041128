"""A mint, a load and a list of the bundle store, beside `git commit` of the same files.

    python bench/mint.py [--out result.json] [--rounds 7] [--directory DIR]

Contenders take turns (A B A B) and the median of the rounds is told. A round is a fresh store, or a fresh repository,
and some versions of one bundle after another, timed one by one; the first is not counted. `git_commit` is
`git add -A` and `git commit`, one process each, as a script makes them; `git_commit_durable` asks git to flush what
it writes (core.fsync=all), as a mint always does. `mint_process` is a mint by a Python process of its own, start and
imports included. After each round all is read back: the store by verify, git by the number of its commits.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import anyio

from eukhed.bundles.bundle import BundleFiles, read_directory
from eukhed.bundles.manifest import Manifest, encode
from eukhed.bundles.store import BundleStore
from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFiles
from eukhed.host.off_loop import SystemOffLoop
from eukhed.host.process import SystemProcesses
from eukhed.host.seam import Host

VERSIONS = 12
LISTED = 1000
SCHEMA = {"type": "object", "properties": {"company": {"type": "string"}}, "required": ["company"]}
PARTS: dict[str, Any] = {
    "prompts": {f"p{number}": b"Read the mail and say who must act. " * 40 for number in range(4)},
    "memory": b"The weekly report comes on Fridays.\n",
    "evals": {f"e{number}": b'{"input": {}, "output": {}}' for number in range(2)},
}

MINT = """
import sys, anyio
from eukhed.bundles.bundle import read_directory
sys.path.insert(0, {here!r})
from mint import store_in
store = store_in({directory!r})
head = store.record("triage").hash if store.versions("triage") else ""
anyio.run(store.mint, read_directory(store._files, {source!r}), head, "better")
"""


class CountedFiles(SystemFiles):
    """The real file system, with flushes of directories counted."""

    flushed = 0

    def flush_directory(self, path: str) -> None:
        CountedFiles.flushed += 1
        super().flush_directory(path)


def store_in(directory: str) -> BundleStore:
    clock = SystemClock()
    host = Host(clock, CountedFiles(), SystemProcesses(clock), SystemOffLoop())
    return BundleStore(host, os.path.join(directory, "subharnesses"))


def bundle(number: int, name: str = "triage") -> BundleFiles:
    manifest = Manifest(name, "sorts mail", cues=("mail",), input=SCHEMA, output=SCHEMA)
    program = f"// {number}\n" + "function run(input) { return ai('p0', input) }\n" * 60
    return BundleFiles(manifest, program.encode(), **PARTS)


def write(bundle_files: BundleFiles, directory: str) -> None:
    """The same files, for git."""
    assert isinstance(bundle_files.manifest, Manifest)
    files = {"manifest.json": encode(bundle_files.manifest), "program.js": bundle_files.program}
    files |= {"memory.md": bundle_files.memory}
    files |= {f"prompts/{name}.md": data for name, data in bundle_files.prompts.items()}
    files |= {f"evals/{name}": data for name, data in bundle_files.evals.items()}
    for path, data in files.items():
        whole = os.path.join(directory, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "wb") as file:
            file.write(data)


def mint(directory: str) -> list[float]:
    async def main() -> list[float]:
        store, head, took = store_in(directory), "", []
        for number in range(VERSIONS):
            files = bundle(number)
            before = time.perf_counter()
            head = (await store.mint(files, head, "better")).hash
            took.append(time.perf_counter() - before)
        assert store.verify("triage") == []
        assert len(store.lineage("triage")) == VERSIONS
        return took[1:]

    return anyio.run(main)


def git(directory: str, *config: str) -> list[float]:
    def call(*argv: str) -> str:
        command = ["git", "-c", "user.name=b", "-c", "user.email=b@b", "-c", "gc.auto=0", *config, *argv]
        return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout

    call("init", "-q")
    took = []
    for number in range(VERSIONS):
        write(bundle(number), directory)
        before = time.perf_counter()
        call("add", "-A")
        call("commit", "-q", "-m", "better")
        took.append(time.perf_counter() - before)
    assert call("rev-list", "--count", "HEAD").strip() == str(VERSIONS)
    return took[1:]


def mint_process(directory: str) -> list[float]:
    took = []
    source, here = os.path.join(directory, "source"), os.path.dirname(os.path.abspath(__file__))
    script = MINT.format(here=here, directory=directory, source=source)
    for number in range(VERSIONS // 3):
        write(bundle(number), source)
        before = time.perf_counter()
        subprocess.run([sys.executable, "-c", script], check=True)
        took.append(time.perf_counter() - before)
    store = store_in(directory)
    assert len(store.lineage("triage")) == VERSIONS // 3
    assert read_directory(SystemFiles(), source) == store.files("triage")
    return took[1:]


def load(directory: str) -> list[float]:
    store = store_in(directory)
    anyio.run(store.mint, bundle(0))
    took = []
    for _ in range(200):
        before = time.perf_counter()
        store.load("triage")
        took.append(time.perf_counter() - before)
    return took


def listing(directory: str) -> list[float]:
    """The time for one name of 1,000."""
    store = store_in(directory)

    async def fill() -> None:
        for number in range(LISTED):
            await store.mint(bundle(number, f"b{number}"))

    anyio.run(fill)
    took = []
    for _ in range(3):
        before = time.perf_counter()
        assert len(store.manifests()) == LISTED
        took.append((time.perf_counter() - before) / LISTED)
    return took


def alternate(
    place: str, rounds: int, contenders: dict[str, Callable[[str], list[float]]]
) -> dict[str, float]:
    """The median of each contender's samples, in ms."""
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            directory = tempfile.mkdtemp(dir=place)
            found[name] += contender(directory)
            shutil.rmtree(directory)
    return {name: round(statistics.median(samples) * 1000, 3) for name, samples in found.items()}


def measure(place: str, rounds: int) -> dict[str, Any]:
    durable = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync")
    mints = alternate(
        place,
        rounds,
        {
            "mint": mint,
            "git_commit": git,
            "git_commit_durable": lambda d: git(d, *durable),
            "mint_process": mint_process,
        },
    )
    CountedFiles.flushed = 0
    directory = tempfile.mkdtemp(dir=place)
    mint(directory)
    shutil.rmtree(directory)
    flushed = CountedFiles.flushed
    reads = alternate(place, 1, {"load": load, "list_one_name": listing})
    return {
        "ms": mints | reads,
        "mint_to_git_commit": round(mints["mint"] / mints["git_commit"], 3),
        "mint_process_to_git_commit": round(mints["mint_process"] / mints["git_commit"], 3),
        "mint_to_git_commit_durable": round(mints["mint"] / mints["git_commit_durable"], 3),
        "directory_flushes_a_mint": round(flushed / VERSIONS, 1),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--directory", default=None)
    given = arguments.parse_args()
    place = tempfile.mkdtemp(dir=given.directory)
    try:
        found = measure(place, given.rounds)
    finally:
        shutil.rmtree(place)
    found["git"] = subprocess.run(
        ["git", "--version"], check=True, capture_output=True, text=True
    ).stdout.strip()
    found["filesystem"] = SystemFiles().filesystem(os.path.dirname(place))
    found["python"] = sys.version.split()[0]
    text = json.dumps(found, indent=1)
    print(text)
    if given.out:
        with open(given.out, "w", encoding="ascii") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
