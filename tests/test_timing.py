"""The table of durations: its order in every table that can be built, its values in the one that is used."""

import dataclasses
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed import timing
from eukhed.timing import DAY, DEFAULT, IO_FLOOR_MS, MINUTE, NEVER_MS, SECOND, Scale, Timing, Waits

UNSCALED = dataclasses.asdict(Waits())
EDGES = sorted({IO_FLOOR_MS / ms for ms in UNSCALED.values()})  # where a wait meets its floor
SCALES = st.one_of(
    st.floats(0, 1, allow_subnormal=False),
    st.floats(1, 10_000),
    st.builds(lambda edge, by: edge * by, st.sampled_from(EDGES), st.floats(0.999, 1.001)),
)
LOST_EXITS = st.sampled_from([0, 1, SECOND, MINUTE, 5 * MINUTE, DAY, NEVER_MS - 1, NEVER_MS]) | st.integers(
    0, DAY
)


def out_of_order(table: Timing) -> list[str]:
    """The order, written from its text: what is shorter than what it waits for."""
    waits = table.waits
    step = waits.connect_ms + waits.auth_ms + waits.replay_ms + waits.engine_teardown_ms
    step += waits.session_close_ms + waits.forced_stop_ms + table.restart.pause_max_ms
    stop = waits.engine_teardown_ms + waits.session_close_ms
    drain = waits.route_ms + stop + waits.forced_stop_ms
    evidence = table.revival_reach_ms + table.busy_refresh_ms + table.revival.skew_ms
    relaunch = table.client_relaunch_ms
    pairs = {
        "restart window": (table.restart.window_ms, (table.restart.failures_max + 1) * step),
        "stop": (table.stop_grace_ms, stop),
        "drain": (table.drain_ms, drain),
        "launcher": (table.launcher_wait_ms, table.drain_ms + 1),
        "service": (table.service_stop_ms, table.launcher_wait_ms + 1),
        "parent": (table.parent_kills_child_ms, waits.route_ms + table.drain_ms),
        "evidence": (table.revival.max_age_ms, evidence),
        "gate": (table.quiesce_hold_ms, waits.quiesce_answer_ms + waits.quiesce_send_ms + 1),
        "owner": (table.owned_worker_adopted_ms, relaunch + table.owned_worker_ms),
    }
    if 0 < table.lost_exit_ms < NEVER_MS:
        pairs["orphan"] = (table.orphan.exit_ms, relaunch + table.orphan.look_ms + waits.worker_look_ms + 1)
    return [name for name, (has, needs) in pairs.items() if has < needs]


@given(SCALES, LOST_EXITS)
def test_timeouts_ordered(scale: float, lost_exit_ms: int) -> None:
    """timeouts_ordered: in every table, by the code's own words and by the text's."""
    table = Timing(scale, lost_exit_ms)
    assert timing.timeouts_ordered(table)
    assert out_of_order(table) == []


def test_timeouts_ordered_over_a_sweep() -> None:
    """timeouts_ordered: 20,000 scales from a millionth to a thousand, and around each floor."""
    scales = [10 ** (exponent / 2200) for exponent in range(-13_200, 6_600)]
    scales += [edge * (1 + nudge / 1e6) for edge, nudge in product(EDGES, range(-10, 11))]
    assert len(scales) > 19_900
    assert [scale for scale in [0.0, *scales] if out_of_order(Timing(scale))] == []


@given(SCALES)
def test_timeouts_floor(scale: float) -> None:
    """timeouts_floor: what waits for real I/O is scaled, and never below the floor or its own value."""
    for name, ms in dataclasses.asdict(Timing(scale).waits).items():
        assert ms >= min(UNSCALED[name], IO_FLOOR_MS)
        assert ms == max(min(UNSCALED[name], IO_FLOOR_MS), round(UNSCALED[name] * scale))


@pytest.mark.parametrize(
    "name", ["drain_ms", "launcher_wait_ms", "service_stop_ms", "parent_kills_child_ms", "quiesce_hold_ms"]
)
def test_a_table_out_of_order_is_not_built(name: str) -> None:
    """timeouts_ordered: the order is asserted, so that such a table does not exist."""
    broken = type("Broken", (Timing,), {name: property(lambda _table: 1)})
    with pytest.raises(AssertionError, match="out of order"):
        broken()


def test_the_values_that_are_used() -> None:
    """In seconds, as the manual says them."""
    table = DEFAULT
    values = (table.stop_grace_ms, table.drain_ms, table.launcher_wait_ms, table.service_stop_ms)
    assert [ms // SECOND for ms in values] == [26, 69, 75, 90]
    assert table.parent_kills_child_ms == 102 * SECOND
    assert table.crash_loop_step_ms == 146 * SECOND
    assert table.restart == timing.RestartBudget(5, 15 * MINUTE, 250, 30 * SECOND)
    assert table.revival == timing.RevivalReach(31 * MINUTE, MINUTE)
    assert table.orphan == timing.OrphanWindows(1500, 5 * SECOND, 5 * MINUTE)
    assert (table.waits.quiesce_answer_ms, table.quiesce_hold_ms) == (5 * SECOND, 15 * SECOND)
    assert table.owned_worker_adopted_ms == 90 * SECOND
    assert table.registration == timing.Backoff(250, 30 * SECOND)
    assert (table.sweep_every_ms, table.sweep_age_ms) == (5 * MINUTE, DAY)


@pytest.mark.parametrize("scale", [0.001, 0.01, 1.0, 50.0])
def test_never_is_never_at_any_scale(scale: float) -> None:
    """A window past the wire's range is not scaled into one that ends; zero stays zero."""
    for lost_exit_ms in (NEVER_MS, NEVER_MS + 1, 10 * NEVER_MS):
        assert Timing(scale, lost_exit_ms).orphan.exit_ms == NEVER_MS
    assert Timing(scale, 0).orphan.exit_ms == 0


@given(st.integers(1, DAY), st.floats(0, 100))
def test_a_rule_lasts_at_least_a_moment(ms: int, factor: float) -> None:
    assert Scale(factor).rule(ms) == max(1, round(ms * factor))
    assert Scale().rule(ms) == Scale().io(ms) == ms
