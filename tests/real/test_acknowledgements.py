"""A real worker, as the kernel sees it: no word of a run leaves its socket before the flush that covers it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.real.home import Home, until

RUNS = 12
CALL = re.compile(r"^(?P<thread>\d+) +(?P<name>\w+)\(\d+<(?P<file>.*?)>(?P<rest>.*)$")
RESUMED = re.compile(r"^(?P<thread>\d+) +<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)$")


def test_no_acknowledgement_before_its_flush(home: Home, tmp_path: Path) -> None:
    """log_ack_durable: at each answer to `run`, every line that was written to the log is flushed."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    home.ok("run", "--", "true")
    (worker,) = home.workers().values()
    log = tmp_path / "calls"
    argv = [strace, "-f", "-qq", "-y", "-s", "4096", "-o", str(log), "-p", str(worker)]
    argv += ["-e", "trace=pwrite64,pwritev2,fdatasync,write,writev,sendto,sendmsg"]
    with subprocess.Popen(argv) as tracer:
        try:
            until(lambda: _traced(worker), what="the tracer")
            for _ in range(RUNS):
                home.ok("run", "--detach", "--", "true")
        finally:
            tracer.terminate()
    home.shut_down()
    dirty, begun, lines, answers = set[str](), dict[str, str](), 0, 0
    for line in log.read_text(errors="replace").splitlines():
        found = CALL.match(line) or RESUMED.match(line)
        if found is None:
            continue
        name, thread = found["name"], found["thread"]
        file = begun[thread] = found.groupdict().get("file") or begun.get(thread, "")
        if name in {"pwrite64", "pwritev2"} and "/sessions/" in file and file.endswith(".jsonl"):
            dirty.add(file)
            lines += file.endswith("main.jsonl")
        elif name == "fdatasync" and found["rest"].rstrip().endswith("= 0"):
            dirty.discard(file)
        elif "bok" in found["rest"] and "gaddress" in found["rest"]:  # in CBOR: texts with their lengths
            answers += 1
            assert not dirty, f"answered before a flush: {line[:300]}"
    assert answers >= RUNS
    assert lines >= RUNS


def _traced(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    return "TracerPid:\t0\n" not in status
