"""The shipped units under a real user manager, in namespaces of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.supervisor.harness import ROOT

pytestmark = [pytest.mark.real, pytest.mark.systemd]
SANDBOX = Path(__file__).parent / "under_systemd" / "sandbox.sh"
IMPOSSIBLE = (97, 98)


@pytest.mark.parametrize(
    "story", ["killed_supervisor", "hanging_supervisor", "stop_and_start", "activation", "launcher"]
)
def test_the_units_hold(story: str) -> None:
    done = subprocess.run(
        ["bash", str(SANDBOX), "-t", "90", sys.executable, "-m", "tests.supervisor.under_systemd.scenario", story],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode in IMPOSSIBLE:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "held\n"


def test_the_unit_says_what_the_product_needs() -> None:
    """Each of these is a default of systemd's that would end the product (or the daemon with it)."""
    text = (ROOT / "eukhed" / "cli" / "units" / "eukhed.service").read_text()
    for line in (
        "Type=notify", "NotifyAccess=main", "KillMode=process", "OOMPolicy=continue", "Restart=on-failure",
        "RestartSec=250ms", "RestartPreventExitStatus=69", "StartLimitIntervalSec=0", "TimeoutStopSec=90",
    ):  # fmt: skip
        assert f"\n{line}\n" in text
    assert "\nRuntimeDirectory=" not in text
