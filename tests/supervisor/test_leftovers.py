"""What killed supervisors left of their forkservers: swept whole, a rehearsal that was cut short too."""

import fcntl
from pathlib import Path

from eukhed.supervisor.workers import OWNER, sweep_leftovers


def left(directory: Path, name: str) -> Path:
    """A directory of a forkserver in the middle of its rehearsal."""
    made = directory / f"pymp-{name}"
    (made / "state" / "sessions" / "s").mkdir(parents=True)
    (made / "state" / "sessions" / "s" / "main.jsonl").write_text("x")
    (made / "listener-x").touch()
    (made / OWNER).touch()
    return made


def test_it_is_gone_with_all_that_is_below(tmp_path: Path) -> None:
    made = left(tmp_path, "dead")
    sweep_leftovers(str(tmp_path))
    assert not made.exists()


def test_what_belongs_to_one_that_lives_stays(tmp_path: Path) -> None:
    made = left(tmp_path, "alive")
    with (made / OWNER).open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        sweep_leftovers(str(tmp_path))
        assert (made / "state" / "sessions" / "s" / "main.jsonl").exists()
