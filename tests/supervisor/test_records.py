"""Worker records on a real disk, and on one that loses power at any step."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from eukhed.errors import DiskFull
from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFiles
from eukhed.host.off_loop import SystemOffLoop
from eukhed.host.process import SystemProcesses
from eukhed.host.seam import Host, Identity
from eukhed.paths import Places
from eukhed.supervisor.records import Record, Records, Tombstone, Unreadable, from_text
from eukhed.timing import WallMs

HOST = Host(SystemClock(), SystemFiles(), SystemProcesses(SystemClock()), SystemOffLoop())


def made(places: Places, **changes: Any) -> Record:
    told: dict[str, Any] = {
        "worker": "w1", "session": "s1", "instance": "i1", "token": "t1", "socket": "/run/w1.sock",
        "descriptors_socket": "/run/w1.fd.sock", "journal": places.recovery_journal("w1"),
        "supervisor_socket": places.socket, "build": "b1", "created_at": WallMs(1), "updated_at": WallMs(1),
        "identity": Identity(7, 8, "boot", 9),
    }  # fmt: skip
    return Record(**(told | changes))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    here = Places(str(tmp_path / "root"), str(tmp_path / "run"), str(tmp_path / "run" / "d.sock"))
    os.makedirs(here.workers)
    return here


def test_what_is_saved_is_read_and_what_is_removed_is_gone(places: Places) -> None:
    records = Records(HOST, places)
    tombstone = Tombstone(WallMs(5), "force", "somebody")

    async def story() -> None:
        saved = await records.save(made(places), tombstone=tombstone, lifecycle="stopping")
        assert await records.read_all() == ([saved], [])
        assert await records.read("w1") == saved
        HOST.files.open(saved.journal, write=True, create=True).close()
        await records.remove(saved)
        assert await records.read_all() == ([], [])
        assert HOST.files.stat(saved.journal) is None
        await records.remove(saved)

    anyio.run(story)


def test_a_record_is_for_its_owner_alone(places: Places) -> None:
    anyio.run(lambda: Records(HOST, places).save(made(places)))
    assert os.stat(places.worker_record("w1")).st_mode & 0o777 == 0o600


def test_fields_of_another_version_are_kept(places: Places) -> None:
    told = json.loads(made(places).to_text()) | {"of_tomorrow": [1, {"a": None}], "version": 2}
    record = from_text(json.dumps(told))
    assert json.loads(record.to_text()) == told


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "{}",
        '{"version": 0}',
        '{"version": 1, "worker": ""}',
        '{"version": true, "worker": "w"}',
    ],
)
def test_what_cannot_be_read_is_reported_and_left(places: Places, text: str) -> None:
    path = Path(places.worker_record("w9"))
    path.write_text(text)
    found, (bad,) = anyio.run(Records(HOST, places).read_all)
    assert found == []
    assert bad.path == str(path)
    assert path.read_text() == text
    assert isinstance(anyio.run(Records(HOST, places).read, "w9"), Unreadable)


@pytest.mark.parametrize("field", ["worker", "session", "token", "lifecycle", "identity", "tombstone"])
def test_each_field_is_checked(places: Places, field: str) -> None:
    told = json.loads(made(places).to_text()) | {field: 5}
    with pytest.raises((ValueError, TypeError)):
        from_text(json.dumps(told))


def test_a_disk_that_takes_nothing_is_a_typed_error(places: Places) -> None:
    os.rmdir(places.workers)
    with pytest.raises(DiskFull):
        anyio.run(lambda: Records(HOST, places).save(made(places)))
