"""sweep.py on a real directory: what goes, what stays, held locks, depths, races with builders."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFile, SystemFiles
from eukhed.host.seam import Stat
from eukhed.storage.staging import Staging, delete_storage
from eukhed.storage.sweep import Swept, sweep
from eukhed.storage.sweep_law import Judgement
from eukhed.timing import WallMs
from tests.storage.test_staging import FailingFiles

DAY_MS = 86_400_000
TOKEN = "0123456789abcdef" * 2
NOW_MS = 1_900_000_000_000


class WallClock(SystemClock):
    """A clock of which the wall time stands."""

    def wall_ms(self) -> WallMs:
        return WallMs(NOW_MS)


class AgedFiles(SystemFiles):
    """The real file system, of which everything was touched at one time, or each path at its own."""

    def __init__(self, touched_ns: int) -> None:
        self.touched_ns = touched_ns
        self.own: dict[str, tuple[int, int]] = {}  # mtime, ctime

    def stat(self, path: str) -> Stat | None:
        found = super().stat(path)
        if found is None:
            return None
        mtime_ns, ctime_ns = self.own.get(path, (self.touched_ns, self.touched_ns))
        return found._replace(mtime_ns=mtime_ns, ctime_ns=ctime_ns)


LONG_AGO_NS = (NOW_MS - 10 * DAY_MS) * 1_000_000


def run(files: SystemFiles, *directories: Path) -> Swept:
    return sweep(files, WallClock(), [str(directory) for directory in directories], DAY_MS)


def leftover(directory: Path, kind: str = "import", *, lock: bool = True) -> Path:
    path = directory / f".shop.{kind}-{TOKEN}"
    (path / "below").mkdir(parents=True)
    (path / "below" / "main.jsonl").write_text("half")
    if lock:
        Path(f"{path}.lock").touch()
    return path


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    sessions, artifacts = tmp_path / "sessions", tmp_path / "session-artifacts"
    sessions.mkdir()
    artifacts.mkdir()
    return sessions, artifacts


@pytest.mark.parametrize("kind", ["new", "import", "fork", "delete"])
@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("lock", [False, True])
def test_a_free_stale_leftover_goes(places: tuple[Path, Path], kind: str, depth: int, *, lock: bool) -> None:
    """sweep_reaches_every_depth, in both directories, with and without its lock file."""
    left = [leftover(place.joinpath(*"abc"[:depth]), kind, lock=lock) for place in places]
    swept = run(AgedFiles(LONG_AGO_NS), *places)
    assert sorted(swept.removed) == sorted(map(str, left))
    assert not swept.kept
    assert not swept.failed
    for path in left:
        assert list(path.parent.iterdir()) == []


def test_an_orphan_lock_goes(places: tuple[Path, Path]) -> None:
    lock = places[0] / f".shop.fork-{TOKEN}.lock"
    lock.touch()
    assert run(AgedFiles(LONG_AGO_NS), *places).removed == [str(lock)]
    assert not lock.exists()


def test_what_no_builder_minted_stays(places: tuple[Path, Path]) -> None:
    sessions, _ = places
    (sessions / ".notes.import-old").write_text("mine")
    (sessions / f".shop.backup-{TOKEN}").mkdir()
    (sessions / f".shop.import-{TOKEN}").write_text("a file of that name")
    (sessions / "shop.lock").touch()
    before = sorted(os.listdir(sessions))
    swept = run(AgedFiles(LONG_AGO_NS), *places)
    assert (swept.removed, swept.kept, swept.failed) == ([], {}, {})
    assert sorted(os.listdir(sessions)) == before


def test_it_stays_out_of_storages_links_and_leftovers(places: tuple[Path, Path], tmp_path: Path) -> None:
    """sweep_stays_out."""
    sessions, artifacts = places
    storage = sessions / "shop"
    inside = leftover(storage)
    (storage / "main.jsonl").write_text("x")
    outside = leftover(tmp_path / "outside")
    (artifacts / "link").symlink_to(outside.parent)
    (sessions / f".a.new-{TOKEN}").symlink_to(outside)
    young = leftover(sessions, "fork")
    nested = leftover(young)
    files = AgedFiles(LONG_AGO_NS)
    files.own[str(young)] = (NOW_MS * 1_000_000, LONG_AGO_NS)
    swept = run(files, *places)
    assert swept.removed == []
    assert swept.kept == {str(young): Judgement.YOUNG}
    assert inside.is_dir()
    assert outside.is_dir()
    assert nested.is_dir()


def test_a_removal_follows_no_link(places: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (leftover(places[0]) / "out").symlink_to(tmp_path / "kept")
    assert len(run(AgedFiles(LONG_AGO_NS), *places).removed) == 1
    assert (tmp_path / "kept" / "file").exists()


@pytest.mark.parametrize("of_lock", [False, True])
@pytest.mark.parametrize("of_ctime", [False, True])
@pytest.mark.parametrize("off_ns", [-1, 0, 1])
def test_a_day_to_the_nanosecond(
    places: tuple[Path, Path], off_ns: int, *, of_ctime: bool, of_lock: bool
) -> None:
    """judge_exact: the newest of mtime and ctime, of the directory and of its lock."""
    path = leftover(places[0])
    files = AgedFiles(LONG_AGO_NS)
    edge_ns = (NOW_MS - DAY_MS) * 1_000_000 + off_ns
    files.own[f"{path}.lock" if of_lock else str(path)] = (
        (LONG_AGO_NS, edge_ns) if of_ctime else (edge_ns, LONG_AGO_NS)
    )
    swept = run(files, *places)
    assert bool(swept.removed) == (off_ns <= 0)
    assert path.exists() == (off_ns > 0)


def test_a_time_ahead_of_now_keeps(places: tuple[Path, Path]) -> None:
    path = leftover(places[0])
    swept = run(AgedFiles((NOW_MS + 1) * 1_000_000), *places)
    assert swept.kept == {str(path): Judgement.UNSURE}


BUILDER = """
import sys
from eukhed.host.files import SystemFiles
from eukhed.storage.staging import Staging
with Staging(SystemFiles(), sys.argv[1], "import", sys.argv[2]) as staging:
    print("built", flush=True)
    sys.stdin.readline()
    staging.publish()
"""


@pytest.mark.real
def test_a_held_staging_survives_however_old_until_its_holder_is_killed(places: tuple[Path, Path]) -> None:
    """sweep_never_live: and then it goes."""
    command = [sys.executable, "-c", BUILDER, str(places[0] / "shop"), TOKEN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as builder:
        assert builder.stdout is not None
        path = places[0] / f".shop.import-{TOKEN}"
        files = AgedFiles(0)
        try:
            assert builder.stdout.readline() == "built\n"
            assert run(files, *places).kept == {str(path): Judgement.LIVE}
            assert path.is_dir()
        finally:
            builder.kill()
    assert run(files, *places).removed == [str(path)]
    assert os.listdir(places[0]) == []


def test_a_build_goes_on_beside_sweeps(places: tuple[Path, Path]) -> None:
    """A sweep at each step of a build, with everything a week old, hinders nothing."""
    files = AgedFiles(LONG_AGO_NS)
    with Staging(files, str(places[0] / "shop"), "new") as staging:
        run(files, *places)
        Path(staging.path, "main.jsonl").write_text("x")
        run(files, *places)
        staging.publish()
        run(files, *places)
    run(files, *places)
    assert os.listdir(places[0]) == ["shop"]


def test_a_young_lock_is_not_even_tried(places: tuple[Path, Path]) -> None:
    """A builder takes the lock of its new file without waiting; a sweep that held it would fail the build."""

    class Watching(AgedFiles):
        opened = 0

        def open(
            self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
        ) -> SystemFile:
            self.opened += 1
            return super().open(path, write=write, create=create, exclusive=exclusive)

    leftover(places[0])
    files = Watching(NOW_MS * 1_000_000)
    run(files, *places)
    assert files.opened == 0
    files.touched_ns = LONG_AGO_NS
    run(files, *places)
    assert files.opened == 1


def test_what_fails_is_told_and_the_rest_goes_on(places: tuple[Path, Path]) -> None:
    class Failing(FailingFiles):
        def stat(self, path: str) -> Stat | None:
            return AgedFiles(LONG_AGO_NS).stat(path)

    sessions, artifacts = places
    first = leftover(sessions)
    second = artifacts / f".x.new-{TOKEN}.lock"
    second.touch()
    swept = run(Failing("remove_directory"), sessions, artifacts, sessions / "nowhere")
    assert list(swept.failed) == [str(first)]
    assert swept.removed == [str(second)]
    assert Path(f"{first}.lock").exists(), "the lock goes last"
    assert run(AgedFiles(LONG_AGO_NS), *places).removed == [str(first)]


def test_a_half_done_delete_is_finished(places: tuple[Path, Path]) -> None:
    storage = places[0] / "shop"
    storage.mkdir()
    (storage / "main.jsonl").write_text("x")
    assert delete_storage(FailingFiles("unlink"), str(storage)).leftover is not None
    assert len(run(AgedFiles(LONG_AGO_NS), *places).removed) == 1
    assert os.listdir(places[0]) == []


@given(st.lists(st.tuples(st.sampled_from(["a", "a/b", "."]), st.booleans(), st.booleans()), max_size=6))
def test_after_a_sweep_every_free_stale_leftover_is_gone(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, bool, bool]]
) -> None:
    """sweep_reaches_every_depth, sweep_never_young: of any mix, exactly the stale ones."""
    top = tmp_path_factory.mktemp("sessions")
    files = AgedFiles(LONG_AGO_NS)
    stays = set()
    for number, (place, young, lock) in enumerate(made):
        path = top / place / f".s{number}.fork-{TOKEN}"
        path.mkdir(parents=True)
        if lock:
            Path(f"{path}.lock").touch()
        if young:
            files.own[str(path)] = (LONG_AGO_NS, (NOW_MS - DAY_MS) * 1_000_000 + 1)
            stays.add(str(path))
    swept = run(files, top)
    assert set(swept.kept) == stays
    assert len(swept.removed) == len(made) - len(stays)
    assert {str(path) for path in top.rglob(".s*") if not path.name.endswith(".lock")} == stays
