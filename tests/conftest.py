"""Hypothesis profiles: brief, dev (default), ci, long; chosen by EUKHED_PROFILE."""

import os

import pytest
from hypothesis import HealthCheck, settings

_SLOW_MACHINES = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("brief", max_examples=20, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.register_profile(
    "ci", max_examples=120, deadline=None, derandomize=True, suppress_health_check=_SLOW_MACHINES
)
settings.register_profile("long", max_examples=5000, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.load_profile(os.environ.get("EUKHED_PROFILE", "dev"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One user manager at a time: its tests share a group, so one process of several runs them all."""
    for item in items:
        if item.get_closest_marker("systemd"):
            item.add_marker(pytest.mark.xdist_group("systemd"))
