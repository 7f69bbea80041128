"""A mint, a load and a list of the bundle store, beside `git commit` of the same files.

    python bench/mint.py [--out result.json] [--rounds 7] [--directory DIR]

Contenders take turns (A B A B) and the median of the rounds is told. A round is a fresh store, or a fresh repository,
and some versions of one bundle after another, timed one by one; the first is not counted. `git_commit` is
`git add -A` and `git commit`, one process each, as a script makes them; `git_commit_durable` asks git to flush what
it writes (core.fsync=all), as a mint always does. `*_process` is the command line, start and imports included.
After each round all is read back: the store by verify, git by the number of its commits.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from sides import alternate, main

from eukhed.bundles.bundle import BundleFiles, read_directory
from eukhed.bundles.manifest import Manifest, encode
from eukhed.bundles.store import BundleStore
from eukhed.host.blocking import BlockingHost, finish
from eukhed.host.files import SystemFiles

VERSIONS = 12
LISTED = 1000
SCHEMA = {"type": "object", "properties": {"company": {"type": "string"}}, "required": ["company"]}
PARTS: dict[str, Any] = {
    "prompts": {f"p{number}": b"Read the mail and say who must act. " * 40 for number in range(4)},
    "memory": b"The weekly report comes on Fridays.\n",
    "evals": {f"e{number}": b'{"input": {}, "output": {}}' for number in range(2)},
}


class CountedFiles(SystemFiles):
    """The real file system, with flushes of directories counted."""

    flushed = 0

    def flush_directory(self, path: str) -> None:
        CountedFiles.flushed += 1
        super().flush_directory(path)


def store_in(directory: str) -> BundleStore:
    return BundleStore(BlockingHost(files=CountedFiles()), os.path.join(directory, "subharnesses"))


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
    store, head, took = store_in(directory), "", []
    for number in range(VERSIONS):
        files = bundle(number)
        before = time.perf_counter()
        head = finish(store.mint(files, head, "better")).hash
        took.append(time.perf_counter() - before)
    assert store.verify("triage") == []
    assert len(store.lineage("triage")) == VERSIONS
    return took[1:]


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


def eukhed(directory: str, *words: str) -> str:
    """The command line, as a process of its own."""
    command = [sys.executable, "-m", "eukhed", "--home", directory, "bundle", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def mint_process(directory: str) -> list[float]:
    """`eukhed bundle mint`, its start and its imports included."""
    took, more = [], []
    source = os.path.join(directory, "source")
    for number in range(VERSIONS // 3):
        write(bundle(number), source)
        before = time.perf_counter()
        made = json.loads(eukhed(directory, "mint", source, *more, "--json"))
        took.append(time.perf_counter() - before)
        more = ["--parent", made["hash"], "--why", "better"]
    store = store_in(directory)
    assert len(store.lineage("triage")) == VERSIONS // 3
    assert read_directory(SystemFiles(), source) == store.files("triage")
    return took[1:]


def reading(directory: str) -> dict[str, list[float]]:
    """Of 1,000 names: the time to list one, to load one, and to list one by the command line."""
    store = store_in(directory)
    for number in range(LISTED):
        finish(store.mint(bundle(number, f"b{number}")))
    took: dict[str, list[float]] = {"list_one_name": [], "load": [], "list_one_name_process": []}
    for _ in range(3):
        before = time.perf_counter()
        assert len(store.manifests()) == LISTED
        took["list_one_name"].append((time.perf_counter() - before) / LISTED)
        before = time.perf_counter()
        assert len(json.loads(eukhed(directory, "list", "--layer", "home", "--json"))) == LISTED
        took["list_one_name_process"].append((time.perf_counter() - before) / LISTED)
    for number in range(LISTED):
        before = time.perf_counter()
        store.load(f"b{number}")
        took["load"].append(time.perf_counter() - before)
    return took


def median_ms(samples: Iterable[Sequence[float]]) -> float:
    """Over all rounds."""
    return round(statistics.median(chain.from_iterable(samples)) * 1000, 3)


def measure(place: str, rounds: int) -> dict[str, Any]:
    durable = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync")
    sides: dict[str, Callable[[str], list[float]]] = {
        "mint": mint,
        "git_commit": git,
        "git_commit_durable": lambda directory: git(directory, *durable),
        "mint_process": mint_process,
    }
    mints = {name: median_ms(samples) for name, samples in alternate(place, rounds, sides).items()}
    CountedFiles.flushed = 0
    alternate(place, 1, {"mint": mint})
    flushed = CountedFiles.flushed
    (reads,) = alternate(place, 1, {"reads": reading})["reads"]
    return {
        "ms": mints | {name: median_ms([samples]) for name, samples in reads.items()},
        "mint_to_git_commit": round(mints["mint"] / mints["git_commit"], 3),
        "mint_process_to_git_commit": round(mints["mint_process"] / mints["git_commit"], 3),
        "mint_to_git_commit_durable": round(mints["mint"] / mints["git_commit_durable"], 3),
        "directory_flushes_a_mint": round(flushed / VERSIONS, 1),
        "git": subprocess.run(
            ["git", "--version"], check=True, capture_output=True, text=True
        ).stdout.strip(),
        "filesystem": SystemFiles().filesystem(place),
    }


if __name__ == "__main__":
    main(__doc__, 7, measure)
