"""Hypothesis profiles: dev (default), ci, long; chosen by EUKHED_PROFILE."""

import os

from hypothesis import HealthCheck, settings

_SLOW_MACHINES = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=_SLOW_MACHINES
)
settings.register_profile("long", max_examples=5000, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.load_profile(os.environ.get("EUKHED_PROFILE", "dev"))
