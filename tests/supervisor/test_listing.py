"""One look at the disk serves all who asked before it began, and nobody who asked later."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from eukhed.errors import Permission
from eukhed.host import system_host
from eukhed.paths import Places
from eukhed.storage.batch import session_batch
from eukhed.storage.heads import Heads
from eukhed.storage.listing import list_sessions
from eukhed.storage.staging import create_session
from eukhed.supervisor.house import House
from eukhed.supervisor.listing import Looks

FIRST = "01990000-0000-7000-8000-00000000000"


def house(tmp_path: Path) -> House:
    places = Places(str(tmp_path), str(tmp_path), str(tmp_path / "s"))
    Path(places.sessions).mkdir()
    return cast(
        "House", SimpleNamespace(host=system_host(), settings=SimpleNamespace(places=places), heads=Heads())
    )


def make(house: House, number: int) -> None:
    session = f"{FIRST}{number}"
    create_session(
        house.host.files, house.settings.places.sessions, session, session_batch(session, "s", "/", 1)
    )


def test_many_share_a_look_and_a_later_one_sees_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    async def counted(*arguments: Any) -> Any:
        nonlocal looked
        looked += 1
        found = await list_sessions(*arguments)
        await anyio.sleep(0.05)
        return found

    monkeypatch.setattr("eukhed.supervisor.listing.list_sessions", counted)
    daemon, looks, seen = house(tmp_path), Looks(), list[int]()

    async def ask() -> None:
        seen.append(len(await looks.rows(daemon)))

    async def main() -> None:
        make(daemon, 1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            while looked == 0:
                await anyio.lowlevel.checkpoint()
            await anyio.sleep(0.02)
            make(daemon, 2)
            for _ in range(50):
                tasks.start_soon(ask)

    anyio.run(main)
    assert looked == 2
    assert seen == [1] + [2] * 50


def test_a_look_that_fails_is_everybody_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        raise Permission("no right to look", path="/")

    monkeypatch.setattr("eukhed.supervisor.listing.list_sessions", refused)
    daemon, looks, failed = house(tmp_path), Looks(), list[str]()

    async def ask() -> None:
        try:
            await looks.rows(daemon)
        except Permission as error:
            failed.append(error.code)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
        monkeypatch.undo()
        assert await looks.rows(daemon) == []

    anyio.run(main)
    assert failed == ["permission"] * 3
