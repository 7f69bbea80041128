"""Listing 10,000 sessions, cold and warm, against os.scandir and a stat of the same names, in one run.

    python bench/listing.py [--sessions N] [--rounds N] [--json FILE]

Both sides take turns; medians and their ratio are printed. The goal: warm <= 10 x. "Cold" has no heads
yet (the pages are in memory); "first" is a command's warm listing: it loads the cache file, too.
"""

import argparse
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from eukhed.host.files import SystemFiles
from eukhed.paths import Places
from eukhed.storage import codec
from eukhed.storage.batch import session_batch
from eukhed.storage.listing import READERS, Heads, cache_path, sessions

GOAL = 10.0


def make(directory: Path, count: int) -> None:
    """Storages as a session's first commit leaves them, written without their flushes."""
    for number in range(count):
        place = directory / f"0198c0de-0000-7000-8000-{number:012x}"
        place.mkdir(mode=0o700)
        batch = session_batch(
            place.name, f"shop-{number}", f"/home/u/shop-{number}", 1_700_000_000_000 + number
        )
        conversation, create = batch.puts
        writes = codec.encode([
            codec.ConversationWrite(value=conversation),  # type: ignore[arg-type]  # the batch's first put
            codec.DocumentCreate(
                record=codec.DocumentRow(id=2, kind=create.document.kind, scope=create.document.scope),  # type: ignore[union-attr]  # and its second
                ordinal=0,
            ),
        ])  # fmt: skip
        payload = codec.encode(codec.DocumentPayload(id=2, content=codec.Base(value=create.value)))  # type: ignore[union-attr]  # the same
        (place / "doc-2.jsonl").write_bytes(codec.sidecar_line(1, 0, payload))
        (place / "main.jsonl").write_bytes(codec.marker_line(1, 0, writes))


def floor(directory: str) -> int:
    with os.scandir(directory) as entries:
        return sum(1 for entry in entries if os.stat(entry.path).st_mtime_ns)


def timed(call: Callable[[], object]) -> float:
    gc.collect()
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    files = SystemFiles()
    with tempfile.TemporaryDirectory() as root, ThreadPoolExecutor(READERS) as pool:
        places = Places(root, root, f"{root}/socket")
        os.mkdir(places.sessions)
        make(Path(places.sessions), given.sessions)
        kept = Heads()
        assert len(sessions(files, places, kept)) == given.sessions
        assert not kept.unread
        kept.save(files, cache_path(places), places.sessions)
        runs: dict[str, list[float]] = {"floor": [], "warm": [], "first": [], "cold": [], "cold_pool": []}
        for _ in range(given.rounds):
            runs["floor"].append(timed(lambda: floor(places.sessions)))
            runs["warm"].append(timed(lambda: sessions(files, places, kept)))
            runs["first"].append(
                timed(lambda: sessions(files, places, Heads.load(files, cache_path(places), places.sessions)))
            )
            runs["cold"].append(timed(lambda: sessions(files, places, Heads())))
            runs["cold_pool"].append(timed(lambda: sessions(files, places, Heads(), pool)))
    medians = {name: round(statistics.median(times), 2) for name, times in runs.items()}
    ratio = round(medians["warm"] / medians["floor"], 2)
    result = {
        "what": f"listing {given.sessions} sessions",
        "ms": medians,
        "ratio": ratio,
        "goal": GOAL,
        "reached": ratio <= GOAL,
    }
    print(json.dumps(result, indent=1))
    if given.json:
        Path(given.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
