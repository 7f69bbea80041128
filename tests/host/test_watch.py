"""Changes to real files and directories, told by inotify."""

import errno
import os
from pathlib import Path

import anyio
import pytest
import uvloop

from eukhed.errors import ConnectionLost, WatchLimit
from eukhed.host import libc
from eukhed.host.seam import WithoutWatching
from eukhed.host.watch import SystemWatching

BOUND_S = 20
LOOPS = [{}, {"loop_factory": uvloop.new_event_loop}]


@pytest.mark.parametrize("options", LOOPS, ids=["asyncio", "uvloop"])
def test_growth_and_names_are_told(options: dict[str, object], tmp_path: Path) -> None:
    out, folder = tmp_path / "out", tmp_path / "jobs"
    out.write_bytes(b"")
    folder.mkdir()

    async def main() -> None:
        watcher = SystemWatching().open()
        watcher.add(str(out))
        watcher.add(str(folder))
        with anyio.fail_after(BOUND_S):
            with out.open("ab") as file:
                file.write(b"more")
            assert await watcher.changed() == {str(out)}
            (folder / "a.json").write_bytes(b"{}")
            (folder / "a.json").rename(folder / "b.json")
            out.write_bytes(b"other")
            assert await watcher.changed() == {str(out), str(folder)}
            (folder / "b.json").unlink()
            assert await watcher.changed() == {str(folder)}
            watcher.remove(str(folder))
            watcher.remove(str(folder))
            (folder / "c.json").write_bytes(b"{}")
            out.unlink()
            assert await watcher.changed() == {str(out)}
            with anyio.move_on_after(0.01) as idle:
                while True:
                    assert await watcher.changed() == {str(out)}, "its last words"
            assert idle.cancelled_caught
            watcher.remove(str(out))
        watcher.close()
        watcher.close()

    anyio.run(main, backend_options=options)


def test_a_watcher_that_is_closed_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        watcher = SystemWatching().open()
        watcher.add(str(tmp_path))

        async def wait() -> None:
            with pytest.raises(ConnectionLost):
                await watcher.changed()

        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                watcher.close()

    anyio.run(main)


def test_the_users_limit_is_told_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(WatchLimit):
        WithoutWatching().open()
    watcher = SystemWatching().open()

    def full(*_given: object) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    def many(*_given: object) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    with pytest.raises(FileNotFoundError):
        watcher.add(str(tmp_path / "missing"))
    monkeypatch.setattr(libc, "inotify_add", full)
    with pytest.raises(WatchLimit):
        watcher.add(str(tmp_path))
    monkeypatch.setattr(libc, "inotify_open", many)
    with pytest.raises(WatchLimit):
        SystemWatching().open()
    watcher.close()


def test_lost_events_mean_that_all_may_have_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """More changes than the kernel's queue holds: every path is told."""
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"")
    two.write_bytes(b"")

    async def main() -> None:
        watcher = SystemWatching().open()
        watcher.add(str(tmp_path))
        watcher.add(str(one))
        watcher.add(str(two))
        names = [str(tmp_path / "x"), str(tmp_path / "y")]
        os.close(os.open(names[0], os.O_CREAT | os.O_WRONLY))
        for turn in range(limit + 10):
            os.rename(names[turn % 2], names[(turn + 1) % 2])
        with anyio.fail_after(BOUND_S):
            assert await watcher.changed() == {str(tmp_path), str(one), str(two)}
        watcher.close()

    anyio.run(main)
