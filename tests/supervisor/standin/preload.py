"""What the forkserver of a stand-in supervisor imports."""

import gc

import tests.supervisor.standin  # noqa: F401 - shared by all workers

gc.collect()
gc.freeze()
