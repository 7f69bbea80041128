"""A process that mints from whatever head it finds, over and over, and says what it was answered.

Each line of the ledger is one write: `up <pid>`, `made <version> <hash>`, `refused <code>`, `noted <text>`.
"""

import os
import time

import anyio

from eukhed.bundles.bundle import BundleFiles
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.store import BundleStore
from eukhed.errors import EukhedError, NotFoundError
from tests.bundles.machine import NAME, system_host


def mint(directory: str, ledger: str, tag: str, times: int, *, notes: bool = False) -> None:
    """`times` mints (0: until killed); each from the head that it sees."""
    out = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def say(line: str) -> None:
        os.write(out, f"{line}\n".encode())

    async def main() -> None:
        store = BundleStore(system_host(), directory)
        say(f"up {os.getpid()}")
        turn = 0
        while times == 0 or turn < times:
            turn += 1
            try:
                head = store.record(NAME).hash
            except NotFoundError:
                head = ""
            files = BundleFiles(
                Manifest(NAME, "sorts mail"),
                f"{tag}.{turn}.{time.time_ns()}".encode(),
                {"a": b"ask"},
                b"seed\n",
            )
            try:
                made = await store.mint(files, head, f"{tag} {turn}")
            except EukhedError as error:
                say(f"refused {error.code}")
                continue
            say(f"made {made.version} {made.hash}")
            if notes:
                await store.memory(NAME).remember(f"{tag}.{turn}")
                say(f"noted {tag}.{turn}")

    anyio.run(main)
