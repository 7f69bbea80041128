"""What a run's holder is told of its command."""

from eukhed.worker.bench import Bench
from eukhed.worker.holding import HolderPlan
from eukhed.worker.run_facts import Wish


def plan_of(bench: Bench, number: int, wish: Wish) -> HolderPlan:
    """The plan of this run's holder. The run's own variables are added to the environment that was asked for."""
    session = bench.session
    added = {
        b"EUKHED_SESSION": session.id.encode(),
        b"EUKHED_RUN": f"{session.name}/{number}".encode(),
    }
    return HolderPlan(
        directory=bench.run_directory(number),
        out=session.output_path(number, "out"),
        err=session.output_path(number, "err"),
        argv=wish.argv,
        cwd=wish.cwd,
        env={**wish.env, **bench.environ, **added},
        umask=wish.umask,
        limits=wish.limits,
        nice=wish.nice,
        tty=wish.tty,
        rows=wish.rows,
        cols=wish.cols,
        stdin=wish.stdin,
        survive=wish.survive,
        cap_bytes=bench.cap_bytes,
        grace_ms=wish.grace_ms,
    )
