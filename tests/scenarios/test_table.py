"""Which scenario is tried by which test, and that each is. A test named test_NN_... here is a row by its name alone."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ELSEWHERE = {
    6: ["supervisor/test_hours.py::test_the_sixth_failure_in_the_window_gives_up_though_it_took_long"],
    14: [
        "launcher/test_launch.py::test_two_at_once_use_one_daemon",
        "real/test_starts.py::test_ten_at_once_in_ten_directories",
    ],
    22: ["supervisor/test_boot.py::test_a_late_exit_leaves_the_successor_s_socket"],
    24: ["cli/test_logout.py::test_it_is_said_once_for_a_state_root"],
    27: ["worker/test_holder_crash.py::test_a_recycled_pid_is_not_signalled"],
    30: ["storage/test_lease.py::test_another_process_holds_it_until_it_is_killed"],
    33: ["storage/test_real_faults.py::test_each_call_fails_once"],
    35: ["supervisor/test_routing.py::test_a_client_that_reads_nothing_loses_increments_and_is_told"],
    36: ["real/test_owned.py::test_an_owner_back_at_the_last_second_of_its_grace_keeps_it"],
    37: ["worker/test_holder_crash.py::test_a_worker_killed_at_a_system_call_between_spawn_and_go"],
    39: ["wire/test_sockets.py::test_a_full_descriptor_table_ends_no_listener"],
    43: [
        "supervisor/test_routing.py::test_a_client_that_speaks_no_frames_hurts_itself_alone",
        "wire/test_channel.py::test_half_a_frame_then_the_end",
        "wire/test_frames.py::test_frames_total",
    ],
    44: [
        "real/test_main_job.py::test_a_grandchild_that_keeps_the_output_open_does_not_keep_the_run",
        "real/test_volume.py::test_100_mib_without_a_newline",
    ],
    45: ["supervisor/test_jobs.py::test_suspend_wakes_a_session_on_waking"],
    46: [
        "supervisor/test_hours.py::test_a_wall_clock_that_jumps_gives_nobody_up",
        "worker/test_schedule.py::test_suspend_and_a_clock_that_is_set_fire_what_was_missed_once",
    ],
    47: [
        "cron/test_expression.py::test_a_fixed_time_in_a_gap_fires_right_after_it",
        "cron/test_expression.py::test_a_fixed_time_in_an_overlap_fires_at_the_first",
    ],
    48: ["worker/test_holders.py::test_a_command_gets_what_was_planned_and_nothing_of_ours"],
    49: ["real/test_main_job.py::test_hangup_detaches"],
    50: ["supervisor/test_hours.py::test_an_idle_day_has_no_wakeup_that_no_timer_asked_for"],
}


def here() -> dict[int, list[str]]:
    """The rows of this folder."""
    found: dict[int, list[str]] = {}
    for path in sorted(HERE.glob("test_*.py")):
        for name, number in re.findall(r"^def (test_(\d\d)_\w+)", path.read_text(), re.MULTILINE):
            found.setdefault(int(number), []).append(f"scenarios/{path.name}::{name}")
    return found


def rows() -> dict[int, list[str]]:
    mine = here()
    return {number: mine.get(number, []) + ELSEWHERE.get(number, []) for number in range(1, 51)}


def test_each_scenario_is_tried() -> None:
    assert all(rows().values())
    assert set(here()) <= set(range(1, 51))


@pytest.mark.parametrize("number", sorted(ELSEWHERE))
def test_a_row_that_is_elsewhere_names_what_is_there(number: int) -> None:
    for address in ELSEWHERE[number]:
        path, _, name = address.partition("::")
        assert re.search(rf"^(async )?def {name}\(", (ROOT / "tests" / path).read_text(), re.MULTILINE), (
            address
        )


def test_every_row_is_collected() -> None:
    """A name may be there and its test not: in a file that pytest does not take, or below another condition."""
    files = sorted({f"tests/{address.partition('::')[0]}" for tests in rows().values() for address in tests})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *files],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    collected = {line.partition("[")[0].removeprefix("tests/") for line in done.stdout.splitlines()}
    assert {address for tests in rows().values() for address in tests} <= collected, done.stderr
