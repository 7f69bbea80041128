"""Opening with any checkpoint gives what the log alone gives."""

from collections import Counter
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage import checkpoint, reading
from eukhed.storage.live import Records
from eukhed.storage.log_law import MAIN
from eukhed.storage.storage import Storage
from tests.fakes.crash_files import CrashFiles, Images, PowerLoss
from tests.storage.histories import PLACE, Outcome, batch_of, play, view
from tests.storage.test_crash import ALONE, GROUPED, SHORTENED, machine
from tests.storage.test_crash_histories import groups

SEEN: Counter[str] = Counter()


def all_of(records: Records) -> dict[str, Any]:
    """Everything that records hold."""
    entries = records.entries
    return {
        "seq": records.seq,
        "next": records.next_id,
        "conversations": records.conversations,
        "entries": [(entry, entries.offset(entry.id)) for entry in entries.values()],
        "tasks": records.tasks,
        "submissions": records.submissions,
        "documents": records.documents,
        "retired": records.retired,
        "contents": records.contents,
        "addresses": records.addresses,
        "requests": records.requests,
    }


def bytes_of(files: CrashFiles, name: str) -> bytes:
    file = files.open(f"{PLACE}/{name}")
    return file.read(0, file.size())


def put(files: CrashFiles, name: str, data: bytes) -> None:
    file = files.open(f"{PLACE}/{name}", write=True, create=True)
    file.truncate(0)
    file.append(data)


def check_same(files: CrashFiles) -> int:
    """Read with and without the checkpoint; how many commits it saved."""
    alone = reading.read(files, PLACE, use_checkpoint=False)
    with_it = reading.read(files, PLACE)
    assert all_of(with_it.records) == all_of(alone.records)
    assert with_it.position == alone.position
    assert with_it.sidecars == alone.sidecars
    assert with_it.outdated == alone.outdated
    return alone.replayed - with_it.replayed


@given(st.data())
def test_any_checkpoint_is_the_log(data: st.DataObject) -> None:
    """checkpoint_is_the_log: taken after any commit, kept or not, and damaged in any way."""
    files = machine()
    storage = Storage.open(files, PLACE)
    stale: list[bytes] = []
    there = view(storage.records)
    for group in [group for _ in range(2) for group in data.draw(groups(there))] or []:
        try:
            for operations in group:
                storage.commit(batch_of(operations))
        except Exception as error:  # noqa: BLE001 - the second half may not fit what the first one left
            SEEN[type(error).__name__] += 1
        if data.draw(st.booleans()):
            assert storage.checkpoint()()
            stale.append(bytes_of(files, checkpoint.FILE))
    for old in stale:
        put(files, checkpoint.FILE, old)
        SEEN["saved"] += check_same(files)
        SEEN["stale"] += 1
    if stale:
        damaged = bytearray(data.draw(st.sampled_from(stale)))
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] ^= data.draw(st.integers(1, 255))
        cut = data.draw(st.none() | st.integers(0, len(damaged)))
        put(files, checkpoint.FILE, bytes(damaged[:cut]))
        assert check_same(files) == 0
        SEEN["damaged"] += 1


def test_the_checkpoints_were_used() -> None:
    assert SEEN["saved"] > 10
    assert SEEN["damaged"] > 5


def test_every_damaged_byte() -> None:
    files = machine()
    play(files, ALONE, Outcome())
    storage = Storage.open(files, PLACE)
    assert storage.checkpoint()()
    whole = bytes_of(files, checkpoint.FILE)
    assert check_same(files) == 3
    for at in range(len(whole)):
        put(files, checkpoint.FILE, whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert check_same(files) == 0
        put(files, checkpoint.FILE, whole[:at])
        assert check_same(files) == 0


def test_a_checkpoint_of_another_log() -> None:
    """Ignored: a log that was cut and went on differently, and one that is shorter."""
    files = machine()
    play(files, ALONE, Outcome())
    storage = Storage.open(files, PLACE)
    assert storage.checkpoint()()
    other = machine()
    play(other, SHORTENED, Outcome())
    put(other, checkpoint.FILE, bytes_of(files, checkpoint.FILE))
    assert check_same(other) == 0
    log = bytes_of(files, MAIN)
    put(files, MAIN, log[: log.index(b"\n") + 1])
    put(files, "task-2.jsonl", b"")
    assert checkpoint.load(files, PLACE, files.open(f"{PLACE}/{MAIN}")) is None


def test_power_loss_while_a_checkpoint_is_written() -> None:
    """Whatever is left of it, the storage is the same."""
    images = 0
    for crash_at in range(12):
        files = machine()
        play(files, GROUPED, Outcome())
        storage = Storage.open(files, PLACE)
        assert storage.checkpoint()()
        files.after_kill()
        storage = Storage.open(files, PLACE)
        files.steps, files.crash_at = 0, crash_at
        with suppress(PowerLoss):
            storage.checkpoint()()
        files.crash_at = None
        for image in files.after_power_loss(Images("sectors", "any", at_most=60)):
            check_same(image)
            images += 1
    assert images > 50
