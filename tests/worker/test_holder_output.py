"""Much output: whole, fast, in flat memory; and what the cap drops of it."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from eukhed.worker.holder.cap_law import HEAD
from eukhed.worker.holding import Ended
from eukhed.worker.output import Gap
from tests.worker.holding import read, run, shell, started, to_end, until

pytestmark = pytest.mark.real
MIB = 1 << 20


def memory_of(pid: int) -> int:
    """The peak of what a process had resident, in kB."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


@pytest.mark.parametrize("tty", [False, True])
def test_200_mib_come_whole_in_flat_memory(tmp_path: Path, tty: bool) -> None:
    """Prints the pace; the memory is a count: a tenth of what went through would show."""
    script = "stty -opost 2>/dev/null; head -c 209715200 /dev/zero; echo; read line"

    async def main() -> tuple[float, int, Ended]:
        holder = await started(shell(tmp_path, script, tty=tty, stdin="typed"))
        begun = time.perf_counter()
        await until(lambda: os.stat(tmp_path / "out").st_size > 200 * MIB)
        took = time.perf_counter() - begun
        peak = memory_of(holder.identity.pid)
        holder.give(b"\n")
        return took, peak, await holder.ended()

    took, peak, ended = run(main)
    print(f"tty={tty}: {200 / took:.0f} MiB/s, peak {peak} kB")
    assert ended.exit == 0
    assert ended.sizes
    assert ended.sizes["out"] >= 200 * MIB + 1
    assert read(tmp_path / "out")[: 200 * MIB + 1] == bytes(200 * MIB) + b"\n"
    assert peak < 20_000


def test_bytes_are_kept_as_they_are(tmp_path: Path) -> None:
    """Invalid UTF-8, NUL, a long line, no newline at the end."""
    script = r"printf '\377\376\000\r\n'; head -c 3000000 /dev/zero | tr '\0' x; printf 'no end'"
    assert to_end(shell(tmp_path, script)).exit == 0
    assert read(tmp_path / "out") == b"\xff\xfe\x00\r\n" + b"x" * 3_000_000 + b"no end"


def numbered(size: int) -> bytes:
    """Bytes that say where they are."""
    return b"".join(b"%015d\n" % at for at in range(0, size, 16))


def check(directory: Path, gaps: list[Gap], size: int, cap: int) -> None:
    """All that is not in a gap is as it was written; the disk holds no more than the cap, and the head."""
    data, want = read(directory / "out"), numbered(size)
    assert len(data) == size
    (gap,) = gaps
    assert gap.stream == "out"
    assert gap.start == min(HEAD, cap // 4)
    assert data[: gap.start] == want[: gap.start]
    assert data[gap.end :] == want[gap.end :]
    assert size - gap.end >= cap // 2, "the newest"
    held = os.stat(directory / "out").st_blocks * 512
    assert held <= cap + 64 * 1024
    assert size - (gap.end - gap.start) <= cap


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "source"
    path.write_bytes(numbered(40 * MIB))
    yield path
    path.unlink()


@pytest.mark.parametrize("how", ["direct", "terminal", "copied"])
def test_the_cap_keeps_the_head_and_the_newest(
    tmp_path: Path, source: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cap = 8 * MIB
    if how == "copied":
        without_holes(monkeypatch)
    script = f"stty -opost 2>/dev/null; cat {source}; read line"

    async def main() -> tuple[Ended, list[Gap], list[Gap]]:
        wanted = shell(
            tmp_path, script, tty=how == "terminal", stdin="typed", cap_bytes=cap, look_ms=20, idle_look_ms=20
        )
        holder = await started(wanted)
        await until(lambda: os.stat(tmp_path / "out").st_size == 40 * MIB)
        await until(lambda: os.stat(tmp_path / "out").st_blocks * 512 <= cap + 64 * 1024)
        during = holder.dropped()
        holder.give(b"", eof=True)
        return await holder.ended(), during, holder.dropped()

    ended, during, gaps = run(main)
    assert ended.sizes
    assert during == gaps
    assert ended.sizes["out"] == 40 * MIB
    check(tmp_path, gaps, 40 * MIB, cap)


def without_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder whose file system punches no holes: the program is made with another answer to that question."""
    from eukhed.worker import holder_program  # noqa: PLC0415

    known: Any = holder_program.PROGRAM["texts"]
    asked, refused = b"if libc.fallocate(", b"ctypes.set_errno(95)\n    if True or libc.fallocate("
    assert any(asked in text for _, text in known)
    texts = [(name, text.replace(asked, refused)) for name, text in known]
    monkeypatch.setitem(holder_program.PROGRAM, "python", "another")
    monkeypatch.setitem(holder_program.PROGRAM, "texts", texts)


def test_two_streams_share_the_cap(tmp_path: Path, source: Path) -> None:
    cap = 8 * MIB
    script = f"cat {source}; cat {source} >&2"
    ended = to_end(shell(tmp_path, script, cap_bytes=cap, look_ms=20, idle_look_ms=20))
    assert ended.sizes == {"out": 40 * MIB, "err": 40 * MIB}
    held = sum(os.stat(tmp_path / name).st_blocks * 512 for name in ("out", "err"))
    assert held <= cap + 128 * 1024
    dropped = json.loads(read(tmp_path / "run/status"))["dropped"]
    assert all(dropped[name] for name in ("out", "err"))


def test_a_flood_is_bounded_on_the_disk_while_it_lasts(tmp_path: Path) -> None:
    cap = 16 * MIB

    async def main() -> int:
        script = "while :; do head -c 1000000 /dev/zero; sleep 0.005; done"
        holder = await started(shell(tmp_path, script, cap_bytes=cap, look_ms=20, idle_look_ms=20))
        most = 0
        while os.stat(tmp_path / "out").st_size < 300 * MIB:
            most = max(most, os.stat(tmp_path / "out").st_blocks * 512)
            await anyio.sleep(0.005)
        await holder.stop(signal.SIGTERM, 1000)
        return most

    assert run(main) < 4 * cap


def test_an_idle_holder_looks_seldom(tmp_path: Path) -> None:
    """Wakeups are counted: a silent command costs its holder none but the looks."""

    async def main() -> int:
        holder = await started(shell(tmp_path, "echo up; read line", stdin="typed"))
        await until(lambda: read(tmp_path / "out") == b"up\n")
        await anyio.sleep(2.2)  # the look after the growth
        before = switches(holder.identity.pid)
        await anyio.sleep(1.5)
        after = switches(holder.identity.pid)
        holder.give(b"\n")
        await holder.ended()
        return after - before

    assert run(main) <= 1


def switches(pid: int) -> int:
    with open(f"/proc/{pid}/status") as file:
        return sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)


def test_a_flood_into_the_files_stays_under_its_cap(tmp_path: Path) -> None:
    """Looked at every 2 s only, this command would write five times its cap between two looks."""
    cap = 32 << 20
    script = "i=0; while [ $i -lt 300 ]; do head -c 1048576 /dev/zero; i=$((i+1)); done"

    async def main() -> tuple[Ended, int]:
        holder = await started(shell(tmp_path, script, cap_bytes=cap))
        most = 0
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                nonlocal most
                while True:
                    most = max(most, (tmp_path / "out").stat().st_blocks * 512)
                    with anyio.move_on_after(0.002):  # sampled, so that the machine is the command's
                        await anyio.sleep_forever()

            tasks.start_soon(watch)
            ended = await holder.ended()
            tasks.cancel_scope.cancel()
        return ended, most

    ended, most = run(main)
    assert ended.exit == 0
    assert most < 2 * cap, most
    assert ended.sizes == {"out": 300 << 20, "err": 0}
