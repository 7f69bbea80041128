"""Laws that the product runs: each is inverted in a copy of the package, and a test that never imports it must fail.

`python -m tests.inversions [NOUN ...]` prints a table: law, inversion, what failed. It ends with 1 when an inversion
was seen by nobody. Minutes; the tests are on real processes, whose clients and daemons run the copy.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
LIMIT_S: Final = 240


class Inversion(NamedTuple):
    """One verdict of one law, exchanged. `instead` is the body of a function of the law's own arguments."""

    law: str  # below eukhed/
    function: str
    instead: str  # `sound` is the law; `facts` and `more` are what it was given
    test: str  # below tests/
    choice: str


INVERSIONS: Final = (
    Inversion("supervisor/restart_law", "decide", "return sound(Failures(), *facts[1:])", "scenarios/test_storms.py", "test_02"),
    Inversion("supervisor/revival_law", "verdict", "return Verdict.REVIVE", "scenarios/test_storms.py", "test_01"),
    Inversion("supervisor/revival_law", "verdict", "return Verdict.STALE", "scenarios/test_storms.py", "test_07"),
    Inversion("worker/gate_law", "decide", "return (Stopping(), Verdict.STOPPING) if isinstance(facts[1], Stop) else sound(*facts)",
              "scenarios/test_upgrade.py", "test_10"),
    Inversion("supervisor/drain_law", "verdict", "return Verdict.STOP", "real/test_cron.py", "test_an_active_job_keeps_the_daemon"),
    Inversion("supervisor/adoption_law", "verdict",
              "said = sound(*facts); return Verdict.LEAVE_AS_LOST if said is Verdict.ADOPT else said",
              "scenarios/test_storms.py", "test_05"),
    Inversion("supervisor/adoption_law", "verdict",
              "said = sound(*facts); return Verdict.ASK_REVIVAL if said is Verdict.FINISH_STOP else said",
              "scenarios/test_stop.py", "test_18"),
    Inversion("worker/orphan_law", "verdict", "return Verdict.STAY", "scenarios/test_clients.py", "test_40"),
    Inversion("worker/orphan_law", "verdict", "return Verdict.LEAVE_IDLE", "scenarios/test_registration.py", "test_26"),
    Inversion("supervisor/lifecycle_law", "verdict",
              "said = sound(*facts); return Verdict.FAILURE if said is Verdict.FINISH else said",
              "scenarios/test_storms.py", "test_03"),
    Inversion("worker/survivor_law", "verdict",
              "said = sound(*facts); return Verdict.LOST if said is Verdict.FOLLOW else said",
              "scenarios/test_upgrade.py", "test_12"),
    Inversion("launcher/replacement_law", "verdict",
              "said = sound(*facts); return Verdict.REPLACE if said in {Verdict.KEEP_NEWER, Verdict.KEEP_OTHER_BUILD} else said",
              "scenarios/test_upgrade.py", "test_11"),
    Inversion("client/relaunch_law", "verdict",
              "said = sound(*facts); return Verdict.LEAVE if said is Verdict.LAUNCH else said",
              "scenarios/test_clients.py", "test_38"),
    Inversion("client/retry_law", "again", "return False", "client/test_client.py", "test_a_command_with_an_id_is_sent_again"),
    Inversion("supervisor/commands_law", "verdict",
              "said = sound(*facts); return Verdict.RUN if said is Verdict.STORED else said",
              "supervisor/test_commands.py", "test_a_repeat_gets_the_stored_result"),
)  # fmt: skip


def inverted(one: Inversion, place: Path) -> None:
    """A copy of the package and its tests, with this law exchanged."""
    for name in ("eukhed", "tests", "shared", "systemd", "pyproject.toml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, place / name)
    with open(place / "eukhed" / f"{one.law}.py", "a", encoding="utf-8") as file:
        file.write(
            f"\n\ndef _inverted(sound):\n    def {one.function}(*facts, **more):\n        {one.instead}\n"
            f"    return {one.function}\n\n\n{one.function} = _inverted({one.function})\n"
        )


SOUND: Final = "return sound(*facts, **more)"


def failed(one: Inversion) -> bool:
    """Whether the chosen tests saw it."""
    with tempfile.TemporaryDirectory(prefix="ei") as directory:
        place = Path(directory)
        inverted(one, place)
        argv = [sys.executable, "-m", "pytest", "-q", "-x", "--timeout", "60", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*argv, f"tests/{one.test}", "-k", one.choice],
            cwd=place, env=os.environ | {"PYTHONPATH": str(place)}, capture_output=True, text=True, check=False,
            timeout=LIMIT_S,
        )  # fmt: skip
        assert done.returncode in {0, 1}, done.stdout[-2000:] + done.stderr[-2000:]
        return done.returncode == 1


def main(nouns: list[str]) -> int:
    unseen = 0
    for one in INVERSIONS:
        if nouns and not any(noun in one.law for noun in nouns):
            continue
        assert not failed(one._replace(instead=SOUND)), f"{one.test} -k {one.choice} fails without it"
        seen = failed(one)
        unseen += not seen
        print(
            f"{'seen  ' if seen else 'UNSEEN'}  {one.law:<28} {one.instead[:60]:<62} {one.choice}", flush=True
        )
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
