"""The next try of a run that failed, from the record of the one that ended. Asks tries_law.

A try is a run of its own, submitted by a request id that names the one before it, so it is made once. While
it pauses there is only the ended run: nothing waits for a pause, and a worker that finds one goes on with it.
"""

from typing import Final

from eukhed.storage.records import Task, Terminal
from eukhed.timing import Backoff
from eukhed.worker import run_environment, run_facts, tries_law
from eukhed.worker.bench import Bench
from eukhed.worker.run_facts import Wish
from eukhed.worker.tries_law import End
from eukhed.worker.turn_facts import recalled

BY_TIMEOUT: Final = "timeout"  # who stopped a run whose time was over


def request_of(number: int) -> str:
    """The request id of the try after this run."""
    return f"retry:{number}"


def due_ms(task: Task, backoff: Backoff) -> int | None:
    """When the try after this run begins, by the wall clock; None when there is none."""
    retry = recalled(task.input).retry
    if retry is None or not isinstance(task.state, Terminal):
        return None
    result, stop = task.state.result or {}, (task.memos or {}).get("stop")
    end = End(
        failed=task.state.outcome == "failed",
        timed_out=stop is not None and stop["by"] == BY_TIMEOUT,
        exit=result.get("exit"),
        signal=result.get("signal"),
    )
    pause_ms = tries_law.pause_ms(retry, end, backoff)
    return None if pause_ms is None else result.get("endedAt", 0) + pause_ms


async def wish_of(bench: Bench, task: Task) -> Wish | None:
    """The same command once more; None when its environment is gone."""
    directory = bench.run_directory(task.id)
    env = await bench.host.off_loop(lambda: run_environment.read(bench.host.files, directory))
    if env is None:
        return None
    wish = run_facts.again(task.input, env, bench.grace_ms)
    assert wish.turn.retry is not None
    turn = wish.turn._replace(retry=tries_law.following(wish.turn.retry), again=task.id)
    return wish._replace(turn=turn)


async def forget(bench: Bench, number: int) -> None:
    """This run is not tried again: its environment goes."""
    directory = bench.run_directory(number)
    await bench.host.off_loop(lambda: run_environment.forget(bench.host.files, directory))
