"""Gaps and last lines, against the slow way."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.host import system_host
from eukhed.worker.output import Gap, gaps_within, last_lines
from eukhed.worker.segments import Stream


@given(st.binary(max_size=200).map(lambda b: b.replace(b"\x01", b"\n")), st.integers(0, 6))
def test_last_lines(tmp_path_factory: pytest.TempPathFactory, data: bytes, count: int) -> None:
    path = tmp_path_factory.mktemp("run") / "out"
    path.write_bytes(data)
    host = system_host()

    async def ask() -> dict[Stream, int]:
        return await last_lines(host, lambda _: str(path), {"out": len(data), "err": 0}, count)

    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    lines = [line for line in lines if line]
    want = len(data) - sum(len(line) for line in lines[len(lines) - min(count, len(lines)) :])
    assert anyio.run(ask)["out"] == want


def test_gaps_are_cut_and_ordered() -> None:
    gaps = [Gap("out", 50, 60), Gap("err", 0, 9), Gap("out", 10, 30)]
    assert gaps_within(gaps, "out", 20, 55) == [Gap("out", 20, 30), Gap("out", 50, 55)]
    assert gaps_within(gaps, "out", 30, 50) == []
