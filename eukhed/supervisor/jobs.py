"""When a session that is asleep has to be woken for its scheduled jobs, and who is told that a jobs file changed.

One inotify instance watches the state root and the sessions' directories in it: a change of a file wakes the
scheduler that it belongs to, in the session's worker or here. The files of sessions that are asleep are read
here, and one timer waits for the earliest job in them; nothing is looked at in between. Where the user has
no instance left, all files are looked at now and then.
"""

import os
from typing import Any, NamedTuple

import anyio

from eukhed.cron import actions
from eukhed.cron.scheduler import next_job
from eukhed.cron.store import CronStore
from eukhed.errors import ConnectionLost, EukhedError, ShuttingDown, WatchLimit
from eukhed.host.seam import Files, Liveness, Watcher
from eukhed.storage.legacy import is_there
from eukhed.supervisor import sessions
from eukhed.supervisor.fires import GlobalJobs
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.keepers import keeper_of
from eukhed.timing import WallMs

Key = tuple[int, int, int]  # inode, time of change, size


class Seen(NamedTuple):
    """What is known of one session's jobs file."""

    key: Key
    read: bool  # it was read; a worker that is there reads its own file
    due: WallMs | None = None
    name: str = ""  # of the job that is due
    left: bool = False  # it holds the claim of a process that is dead


class _Try(NamedTuple):
    """A session was woken for a file, and may be again for the same one after a pause."""

    key: Key
    pause_ms: int
    not_before: WallMs


class Jobs:
    """All jobs files of one state root, as far as they concern the supervisor."""

    def __init__(self) -> None:
        self.of_no_session: GlobalJobs | None = None
        self._seen: dict[str, Seen] = {}
        self._tries: dict[str, _Try] = {}
        self._changed: set[str] = set()  # sessions whose file is to be looked at
        self._all = False
        self._global_key: Key | None = None
        self._woken = anyio.Event()
        self._asked: list[anyio.Event] = []  # who waits for a look at everything
        self._over = False

    async def keep(self, house: House) -> None:
        """Watch, and wake sessions, until cancelled."""
        at: WallMs | None = None
        async with anyio.create_task_group() as tasks:
            self.of_no_session = GlobalJobs(house)
            tasks.start_soon(self.of_no_session.keep)
            tasks.start_soon(_watch, self, house)
            try:
                while not house.drain.ends:
                    await self._wait(house, at)
                    self._woken = anyio.Event()
                    asked, self._asked = self._asked, []
                    await self._look(house)
                    at = await self._wake_due(house)
                    _tell(asked)
            finally:
                self._over = True
                _tell(self._asked)

    def stop(self) -> None:
        """The supervisor ends: claim nothing more, wake nobody."""
        if self.of_no_session is not None:
            self.of_no_session.stop()
        self._woken.set()

    def look(self, session: str | None = None) -> None:
        """This session's file, or any file, may have changed; or the session's worker is gone."""
        if session is None:
            self._all = True
        else:
            self._changed.add(session)
        self._woken.set()

    async def look_now(self, house: House) -> None:
        """Look at every file; it was done when this returns."""
        if self._over or house.drain.ends:
            return
        done = anyio.Event()
        self._asked.append(done)
        self.look()
        await done.wait()

    def look_at_global(self) -> None:
        """The global file may have changed."""
        self._woken.set()

    async def fire(self, job: str) -> dict[str, Any]:
        """Fire a job of the global file now; errors as GlobalJobs.fire."""
        if self.of_no_session is None:
            raise ShuttingDown("the daemon is only just there; nothing was fired")
        return await self.of_no_session.fire(job)

    def scheduled(self, house: House) -> list[dict[str, Any]]:
        """The next job of each session that has one, and of none: {job, at, session?, name?}."""
        found: list[dict[str, Any]] = []
        for session, seen in self._seen.items():
            if session not in house.keepers and seen.due is not None:
                found.append({"job": seen.name, "at": seen.due, "session": session})
        found += [
            {**keeper.next_job, "session": keeper.record.session, "name": keeper.route.name}
            for keeper in house.keepers.values()
            if isinstance(keeper.next_job, dict)
        ]
        own = self.of_no_session.next_job if self.of_no_session is not None else None
        if own is not None:
            found.append({"job": own.label or own.id, "at": own.next_run_at, "session": None})
        return found

    # one turn

    async def _wait(self, house: House, at: WallMs | None) -> None:
        """Until something changed, or the time came, or the clock was set."""
        woken = self._woken
        if at is None:
            await woken.wait()
            return
        async with anyio.create_task_group() as race:

            async def on_wake() -> None:
                await woken.wait()
                race.cancel_scope.cancel()

            race.start_soon(on_wake)
            await house.host.clock.wait_until_wall(at)
            race.cancel_scope.cancel()

    async def _look(self, house: House) -> None:
        """Read the files that changed of sessions that are asleep; tell the workers of the others."""
        files, places = house.host.files, house.settings.places
        asked, self._changed = self._changed, set()
        every, self._all = self._all, False

        def stats() -> dict[str, Key | None]:
            names = {
                *asked,
                *(_sessions(files, places.artifacts) if every else ()),
                *(self._seen if every else ()),
            }
            return {name: _key(files, places.scheduled_jobs(name)) for name in names}

        for session, key in (await house.host.off_loop(stats)).items():
            await self._take(house, session, key)
        key = await house.host.off_loop(lambda: _key(files, places.cron_jobs))
        if key != self._global_key and self.of_no_session is not None:
            self._global_key = key
            self.of_no_session.wake()
            with house.host.clock.limit(house.settings.timing.waits.lock_ms):
                await self.of_no_session.looked()

    async def _take(self, house: House, session: str, key: Key | None) -> None:
        seen = self._seen.get(session)
        if key is None:
            self._seen.pop(session, None)
            self._tries.pop(session, None)
            return
        keeper = house.keepers.get(session)
        if keeper is not None:
            if keeper.link is None:
                self._seen.pop(
                    session, None
                )  # it may have read its file already: it is told when it is there
            elif seen is None or seen.key != key:
                self._seen[session] = Seen(key, read=False)
                keeper.link.tell("jobs_changed", {})
        elif seen is None or seen.key != key or not seen.read:
            self._seen[session] = await house.host.off_loop(lambda: _read(house, session, key))

    async def _wake_due(self, house: House) -> WallMs | None:
        """Wake the sessions whose time has come; when the next one's comes."""
        while True:
            now = house.host.clock.wall_ms()
            times = {session: at for session in self._seen if (at := self._when(house, session)) is not None}
            due = [session for session, at in times.items() if at <= now]
            if not due:
                return min(times.values(), default=None)
            try:
                await self._wake(house, due)
            except ShuttingDown:
                return None
            except EukhedError as error:
                LOG.warning("sessions with scheduled jobs cannot be woken: %s", told(error))
                return WallMs(now + house.settings.timing.cron_retry.max_ms)

    def _when(self, house: House, session: str) -> WallMs | None:
        """When this session is to be woken; None while it is awake, or not at all."""
        seen, tried = self._seen[session], self._tries.get(session)
        if session in house.keepers or not seen.read:
            return None
        again = tried is not None and tried.key == seen.key
        at = WallMs(0) if seen.left and not again else seen.due
        if at is None or tried is None or not again:
            return at
        return max(at, tried.not_before)

    async def _wake(self, house: House, due: list[str]) -> None:
        known = {row.id: row for row in await sessions.rows(house)}
        now, retry = house.host.clock.wall_ms(), house.settings.timing.cron_retry
        for session in due:
            row, seen, tried = known.get(session), self._seen[session], self._tries.get(session)
            doubled_ms = 2 * tried.pause_ms if tried is not None and tried.key == seen.key else retry.min_ms
            pause_ms = min(doubled_ms, retry.max_ms)
            self._tries[session] = _Try(seen.key, pause_ms, WallMs(now + pause_ms))
            if row is None and not await house.host.off_loop(lambda s=session: _is_gone(house, s)):  # type: ignore[misc]  # the session of this turn
                LOG.warning("session %s has scheduled jobs, and cannot be read", session)
            elif row is None or row.archived:
                await _cancel(house, session)
                self.look(session)
            else:
                LOG.info("session %s is woken for %s", row.name, seen.name or "a job that was cut")
                keeper_of(house, session)


async def _watch(jobs: Jobs, house: House) -> None:
    """Tell of changes, as they come; where they cannot be watched, look now and then."""
    places, timing = house.settings.places, house.settings.timing
    watched: set[str] = set()
    try:
        watcher = house.host.watching.open()
        try:
            watcher.add(places.root)
            watcher.add(places.artifacts)
            await house.host.off_loop(lambda: _add_new(house, watcher, watched))
            jobs.look()
            while True:
                changed = await watcher.changed()
                if places.artifacts in changed:
                    new = await house.host.off_loop(lambda: _add_new(house, watcher, watched))
                    changed |= new
                for path in changed - {places.root, places.artifacts}:
                    jobs.look(os.path.basename(path))
                if places.root in changed:
                    jobs.look_at_global()
        finally:
            watcher.close()
    except (WatchLimit, OSError, ConnectionLost) as error:
        LOG.warning("jobs files are looked at now and then, for they cannot be watched: %s", told(error))
    while True:
        jobs.look()
        await house.host.clock.sleep_ms(timing.sweep_every_ms)


def _tell(asked: list[anyio.Event]) -> None:
    for event in asked:
        event.set()


def _add_new(house: House, watcher: Watcher, watched: set[str]) -> frozenset[str]:
    """Watch the sessions' directories that are not watched yet; those."""
    artifacts = house.settings.places.artifacts
    there = {os.path.join(artifacts, name) for name in _sessions(house.host.files, artifacts)}
    watched &= there
    new = there - watched
    for path in sorted(new):
        try:
            watcher.add(path)
        except FileNotFoundError:
            continue  # it went meanwhile
        watched.add(path)
    return frozenset(new)


def _sessions(files: Files, artifacts: str) -> list[str]:
    try:
        return [entry.name for entry in files.scan(artifacts) if entry.kind == "directory"]
    except FileNotFoundError:
        return []


def _key(files: Files, path: str) -> Key | None:
    stat = files.stat(path)
    return None if stat is None else (stat.inode, stat.mtime_ns, stat.size)


def _read(house: House, session: str, key: Key) -> Seen:
    """What stands in the file of a session that is asleep. Blocks."""
    try:
        catalog = _store(house, session).read()
    except EukhedError as error:
        LOG.warning("session %s: its scheduled jobs cannot be read: %s", session, told(error))
        return Seen(key, read=True)
    job = next_job(catalog)
    owners = {claim.owner for claim in catalog.dispatches}
    left = any(house.host.processes.liveness(owner) is Liveness.DEAD for owner in owners)
    if job is None:
        return Seen(key, read=True, left=left)
    return Seen(key, read=True, due=job.next_run_at, name=job.label or job.id, left=left)


def _store(house: House, session: str) -> CronStore:
    path = house.settings.places.scheduled_jobs(session)
    return CronStore(house.host, path, house.settings.timing.waits.lock_ms)


def _is_gone(house: House, session: str) -> bool:
    """Whether the session was deleted, and is not only unreadable."""
    return not is_there(house.host.files, house.settings.places, session)


async def _cancel(house: House, session: str) -> None:
    LOG.info("session %s is archived or deleted: its scheduled jobs are cancelled", session)
    try:
        await actions.cancel_all(_store(house, session), house.host.clock.wall_ms())
    except EukhedError as error:
        LOG.warning("session %s: its scheduled jobs are not cancelled: %s", session, told(error))
