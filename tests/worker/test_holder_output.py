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
from eukhed.worker.transcript import POKE_BYTES
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
    """All that is not in a gap is as it was written; the disk holds no more than the cap."""
    data, want = read(directory / "out"), numbered(size)
    assert len(data) == size
    (gap,) = gaps
    assert gap.stream == "out"
    assert gap.start == min(HEAD, cap // 8)
    assert data[: gap.start] == want[: gap.start]
    assert data[gap.end :] == want[gap.end :]
    assert size - gap.end >= cap // 4 - 4096, "the newest"
    held = os.stat(directory / "out").st_blocks * 512
    assert held <= cap
    assert size - (gap.end - gap.start) <= cap


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "source"
    path.write_bytes(numbered(40 * MIB))
    yield path
    path.unlink()


@pytest.mark.parametrize("how", ["direct", "terminal", "copied", "without holes"])
def test_the_cap_keeps_the_head_and_the_newest(
    tmp_path: Path, source: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cap = 8 * MIB
    if how == "without holes":
        without_holes(monkeypatch)
    if how == "direct":
        altered(monkeypatch, b"DIRECT_MIN = 512 << 20", b"DIRECT_MIN = 1 << 20")
    script = f"stty -opost 2>/dev/null; cat {source}; read line"

    async def main() -> tuple[Ended, list[Gap], list[Gap]]:
        wanted = shell(
            tmp_path, script, tty=how == "terminal", stdin="typed", cap_bytes=cap, look_ms=20, idle_look_ms=20
        )
        holder = await started(wanted)
        await until(lambda: os.stat(tmp_path / "out").st_size == 40 * MIB)
        await until(lambda: os.stat(tmp_path / "out").st_blocks * 512 <= cap)
        during = holder.dropped()
        holder.give(b"", eof=True)
        return await holder.ended(), during, holder.dropped()

    ended, during, gaps = run(main)
    assert ended.sizes
    assert [gap.start for gap in during] == [gap.start for gap in gaps]
    assert during[0].end <= gaps[0].end, "a last look may drop more"
    assert ended.sizes["out"] == 40 * MIB
    check(tmp_path, gaps, 40 * MIB, cap)


def without_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder whose file system punches no holes."""
    altered(monkeypatch, b"if libc.fallocate(", b"ctypes.set_errno(95)\n    if True or libc.fallocate(")


def altered(monkeypatch: pytest.MonkeyPatch, asked: bytes, other: bytes) -> None:
    """A holder whose program has another line in place of this one."""
    from eukhed.worker import holder_program  # noqa: PLC0415

    known: Any = holder_program.PROGRAM["texts"]
    assert any(asked in text for _, text in known)
    texts = [(name, text.replace(asked, other)) for name, text in known]
    monkeypatch.setitem(holder_program.PROGRAM, "python", "another")
    monkeypatch.setitem(holder_program.PROGRAM, "texts", texts)


@pytest.mark.parametrize("direct", [False, True])
def test_two_streams_share_the_cap(
    tmp_path: Path, source: Path, direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cap = 8 * MIB
    if direct:
        altered(monkeypatch, b"DIRECT_MIN = 512 << 20", b"DIRECT_MIN = 1 << 20")
    script = f"cat {source}; cat {source} >&2"
    ended = to_end(shell(tmp_path, script, cap_bytes=cap, look_ms=20, idle_look_ms=20))
    assert ended.sizes == {"out": 40 * MIB, "err": 40 * MIB}
    held = sum(os.stat(tmp_path / name).st_blocks * 512 for name in ("out", "err"))
    assert held <= cap
    dropped = json.loads(read(tmp_path / "run/status"))["dropped"]
    assert all(dropped[name] for name in ("out", "err"))


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


@pytest.mark.alone
@pytest.mark.parametrize(("tty", "cap"), [(False, 512 * MIB), (False, 16 * MIB), (True, 8 * MIB)])
def test_a_flood_stays_under_its_cap_at_every_moment(tmp_path: Path, tty: bool, cap: int) -> None:
    """As fast as the machine writes, until it has written four times the cap."""
    script = "stty -opost 2>/dev/null; exec yes"

    async def main() -> int:
        holder = await started(shell(tmp_path, script, tty=tty, cap_bytes=cap))
        most = 0
        while (stat := os.stat(tmp_path / "out")).st_size < 4 * cap:
            most = max(most, stat.st_blocks * 512)
            await anyio.sleep(0.002)  # sampled, so that the machine is the command's
        await holder.stop(signal.SIGTERM, 1000)
        await holder.ended()
        return most

    assert cap // 4 < run(main) <= cap


@pytest.mark.alone
def test_a_burst_after_a_rest_waits_for_no_look(tmp_path: Path) -> None:
    """Told of it by who follows the file, the holder drops before the cap is passed, though it looks every 30 s."""
    cap = 512 * MIB
    script = "head -c 400000000 /dev/zero; read line; head -c 800000000 /dev/zero; read line"

    async def main() -> int:
        wanted = shell(tmp_path, script, cap_bytes=cap, stdin="typed", look_ms=20)
        holder = await started(wanted)
        await until(lambda: os.stat(tmp_path / "out").st_size == 400_000_000)
        await anyio.sleep(0.2)  # it rests: several looks that found nothing
        holder.give(b"\n")
        most = told = 0
        while (stat := os.stat(tmp_path / "out")).st_size < 1_200_000_000:
            most = max(most, stat.st_blocks * 512)
            if stat.st_size - told >= POKE_BYTES:
                holder.look()
                told = stat.st_size
            await anyio.sleep(0.002)
        holder.give(b"\n")
        await holder.ended()
        return most

    assert run(main) <= cap
