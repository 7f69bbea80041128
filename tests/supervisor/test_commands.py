"""The journal of once-only commands, over restarts, crashes and torn lines."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from eukhed.errors import CommandResultUncertain, Invalid, NotFound
from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFiles
from eukhed.host.off_loop import SystemOffLoop
from eukhed.host.process import SystemProcesses
from eukhed.host.seam import Host
from eukhed.supervisor.commands import Commands
from eukhed.supervisor.ids import made_at, uuid7
from eukhed.timing import WallMs

HOST = Host(SystemClock(), SystemFiles(), SystemProcesses(SystemClock()), SystemOffLoop())
KEEP_MS = 60_000


class Effects:
    def __init__(self) -> None:
        self.count = 0

    async def act(self) -> dict[str, Any]:
        self.count += 1
        return {"count": self.count}

    async def refuse(self) -> dict[str, Any]:
        self.count += 1
        raise NotFound("no such thing", thing="x")


def fresh(age_ms: int = 0) -> str:
    return uuid7(WallMs(HOST.clock.wall_ms() - age_ms), b"0123456789")


def once(path: Path, command: str, act: Any) -> Any:
    """Each call is another supervisor."""

    async def story() -> Any:
        commands = Commands(HOST, str(path), KEEP_MS)
        await commands.load()
        return await commands.once(command, act)

    return anyio.run(story)


def test_a_repeat_gets_the_stored_result(tmp_path: Path) -> None:
    effects, command, path = Effects(), fresh(), tmp_path / "commands.jsonl"
    assert once(path, command, effects.act) == {"count": 1}
    assert once(path, command, effects.act) == {"count": 1}
    assert effects.count == 1


def test_two_at_once_are_one(tmp_path: Path) -> None:
    effects, command = Effects(), fresh()
    answers: list[Any] = []

    async def story() -> None:
        commands = Commands(HOST, str(tmp_path / "commands.jsonl"), KEEP_MS)

        async def ask() -> None:
            answers.append(await commands.once(command, effects.act))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)

    anyio.run(story)
    assert (answers, effects.count) == ([{"count": 1}] * 3, 1)


def test_a_refusal_is_a_result_too(tmp_path: Path) -> None:
    effects, command, path = Effects(), fresh(), tmp_path / "commands.jsonl"
    for _ in range(2):
        with pytest.raises(NotFound) as caught:
            once(path, command, effects.refuse)
        assert caught.value.data == {"thing": "x"}
    assert effects.count == 1


def test_one_that_was_begun_and_never_ended_is_uncertain(tmp_path: Path) -> None:
    effects, command, path = Effects(), fresh(), tmp_path / "commands.jsonl"
    once(path, command, effects.act)
    begun, _done = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(begun)
    with pytest.raises(CommandResultUncertain):
        once(path, command, effects.act)
    assert effects.count == 1


def test_a_torn_line_is_no_line(tmp_path: Path) -> None:
    effects, command, path = Effects(), fresh(), tmp_path / "commands.jsonl"
    once(path, command, effects.act)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CommandResultUncertain):
        once(path, command, effects.act)
    assert effects.count == 1


def test_an_old_id_is_never_run_and_is_forgotten(tmp_path: Path) -> None:
    effects, path = Effects(), tmp_path / "commands.jsonl"
    with pytest.raises(CommandResultUncertain):
        once(path, fresh(KEEP_MS + 1000), effects.act)
    path.write_text(json.dumps({"id": fresh(KEEP_MS + 1000), "state": "done", "result": {}}) + "\n")
    once(path, fresh(), effects.act)
    assert len(path.read_text().splitlines()) == 2


def test_an_id_that_is_none_is_refused(tmp_path: Path) -> None:
    for bad in ("", "x" * 36, "00000000-0000-4000-8000-000000000000", fresh().upper().replace("-", "_")):
        with pytest.raises(Invalid):
            once(tmp_path / "commands.jsonl", bad, Effects().act)


def test_ids_hold_their_time_and_sort_by_it() -> None:
    times = [0, 1, 10**12, 2**48 - 1]
    names = [uuid7(WallMs(at), bytes(range(10))) for at in times]
    assert [made_at(name) for name in names] == times
    assert names == sorted(names)
    assert {len(name) for name in names} == {36}
    assert {name[14] + name[19] for name in names} <= {"7" + digit for digit in "89ab"}
