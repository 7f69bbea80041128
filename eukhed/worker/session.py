"""A session's records: what the worker writes down, in which order, and what it reads back.

Each method is one commit. What it says is on the disk when it returns; what raised changed nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from eukhed.host.seam import Host, Identity
from eukhed.storage.batch import Batch
from eukhed.storage.committer import Committer
from eukhed.storage.description import amended, described
from eukhed.storage.fork_commit import main_conversation
from eukhed.storage.live import Records
from eukhed.storage.plain import words
from eukhed.storage.records import Committed, Entry, Outcome, Pending, Running, Submission, Task, Terminal
from eukhed.storage.runs import COMMAND, RESTORED, RUNS, Span, entered_sizes, output_name, run_row, spans
from eukhed.storage.storage import Storage
from eukhed.worker.segments import STREAMS, Segment, Stream


class Said(NamedTuple):
    """What a conversation is told of a piece of work that is over."""

    kind: str
    data: Mapping[str, Any]
    text: str


class Session:
    """One open session."""

    def __init__(self, host: Host, storage: Storage, committer: Committer, path: str, session: str) -> None:
        """Raises Invalid when the storage is no session."""
        about = described(storage.records)
        self.host = host
        self._storage = storage
        self._committer = committer
        self.path = path
        self.id = session
        self.name = about.name
        self.cwd = about.cwd
        self.conversation = main_conversation(storage.records)  # what is new is of this one
        self._submitted = {
            submission.request_id: submission.task
            for submission in storage.records.submissions.values()
            if submission.request_id is not None and submission.task is not None
        }

    # what it reads

    def listen(self, queue: Callable[[Committed], None]) -> int:
        """Hand each later commit to this call, which may only queue it; the number of the last one before."""
        self._storage.listen(queue)
        return self._storage.records.seq

    def unlisten(self, queue: Callable[[Committed], None]) -> None:
        """End what `listen` began."""
        self._storage.unlisten(queue)

    @property
    def records(self) -> Records:
        """All records as last committed."""
        return self._storage.records

    def tasks(self) -> list[Task]:
        """All tasks as last committed."""
        return list(self._storage.records.tasks.values())

    def mint(self) -> int:
        """A new record id."""
        return self._storage.mint()

    def task(self, number: int) -> Task | None:
        """The task of this id as last committed."""
        return self._storage.records.tasks.get(number)

    def last_run(self) -> int | None:
        """The newest run."""
        return max((t.id for t in self._storage.records.tasks.values() if t.kind in RUNS), default=None)

    def unfinished(self) -> list[Task]:
        """The runs that are not over, oldest first."""
        tasks = self._storage.records.tasks.values()
        return sorted((t for t in tasks if t.kind in RUNS and not t.terminal), key=lambda task: task.id)

    def submitted(self, command: str) -> int | None:
        """The run that this command made."""
        return self._submitted.get(command)

    def row(self, number: int) -> dict[str, Any]:
        """A run as lists show it."""
        task = self.known(number)
        return run_row(task, self.id, self.name, self.host.clock.wall_ms(), self._storage.records.tasks)

    def title(self, task: Task) -> str:
        """A run's command, for a person."""
        return words(task.input["argv"])

    def output_path(self, number: int, stream: Stream) -> str:
        """Where a run's output lies."""
        return f"{self.path}/{output_name(number, stream)}"

    async def entered(self, number: int) -> dict[Stream, int]:
        """Up to where the entries of a run reach, by stream."""
        files, path = self.host.files, self.path
        return await self.host.off_loop(lambda: entered_sizes(files, path, number))

    # what it writes

    async def commit(self, batch: Batch) -> int:
        """A batch that another room made; its number."""
        return await self._committer.commit(batch)

    async def submit(
        self,
        number: int,
        command: str,
        told: Mapping[str, Any],
        keeper: Identity | None = None,
        *,
        kind: str = COMMAND,
    ) -> None:
        """A run was asked for: the submission and the task that is pending.

        `keeper` is the holder of a run that waits for others. It has started nothing.
        """
        batch = Batch()
        batch.put_task(
            Task(
                id=number,
                conversation_id=self.conversation,
                kind=kind,
                state=Pending(),
                input=dict(told),
                background=True,
                memos=None if keeper is None else {"keeper": list(keeper)},
            )
        )
        batch.put_submission(
            Submission(
                id=self.mint(),
                conversation_id=self.conversation,
                type="input",
                status="placed",
                request_id=command,
                task=number,
            )
        )
        await self._committer.commit(batch)
        self._submitted[command] = number

    async def settled(self, number: int, request: str) -> None:
        """What was to be submitted after a run will not be: this run stands for it."""
        batch = Batch()
        batch.put_submission(
            Submission(
                id=self.mint(),
                conversation_id=self.conversation,
                type="input",
                status="done",
                request_id=request,
                task=number,
            )
        )
        await self._committer.commit(batch)
        self._submitted[request] = number

    async def held(self, number: int, holder: Identity) -> None:
        """A holder waits behind its gate; from here on the run is never started by another."""
        await self._change(number, memos={"holder": list(holder)}, running=True)

    async def executed(self, number: int, command: Identity, at_ms: int) -> None:
        """The command runs."""
        await self._change(number, memos={"command": list(command), "startedAt": at_ms})

    async def child_made(self, number: int) -> None:
        """The session of a child is there; from here on it is never made again."""
        await self._change(number, memos={}, running=True)

    async def child_begun(self, number: int, run: int, name: str, at_ms: int) -> None:
        """The child has a run; from here on it gets no other."""
        await self._change(number, memos={"run": run, "name": name, "startedAt": at_ms}, running=True)

    async def asked_to_stop(self, number: int, actor: str, how: str) -> None:
        """Somebody stops the run; written before the command is told."""
        await self._change(number, abort=True, memos={"stop": {"by": actor, "how": how}})

    async def output(self, number: int, told: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """So much output came, as (entry kind, data); the files that are named are flushed before the marker."""
        batch = Batch()
        streams = {data["stream"] for _, data in told}
        batch.files = [output_name(number, stream) for stream in STREAMS if stream in streams]
        self.put_entries(batch, number, told)
        await self._committer.commit(batch)

    def put_entries(self, batch: Batch, number: int, told: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Entries of a run, as (kind, data), into a batch."""
        for kind, data in told:
            batch.put_entry(
                Entry(
                    id=self.mint(),
                    conversation_id=self.conversation,
                    kind=kind,
                    by_task_id=number,
                    data=dict(data),
                )
            )

    async def restored(self, number: int, text: str, at_ms: int) -> int:
        """A run was taken up again by another worker; the id of its notice."""
        entry = Entry(
            id=self.mint(),
            conversation_id=self.conversation,
            kind=RESTORED,
            by_task_id=number,
            data={"text": text, "at": at_ms},
        )
        batch = Batch()
        batch.put_entry(entry)
        await self._committer.commit(batch)
        return entry.id

    async def ended(
        self, number: int, outcome: Outcome, result: Mapping[str, Any], said: Said | None = None
    ) -> None:
        """The run is over, and its submission done; `said` is what it leaves in the conversation."""
        batch = Batch()
        if said is not None:
            batch.put_entry(
                Entry(
                    id=self.mint(),
                    conversation_id=self.conversation,
                    kind=said.kind,
                    by_task_id=number,
                    data=dict(said.data),
                    messages=[{"role": "user", "content": said.text}],
                )
            )
        batch.put_task(replace(self.known(number), state=Terminal(outcome=outcome, result=dict(result))))
        self.put_done(batch, number)
        await self._committer.commit(batch)

    def put_done(self, batch: Batch, number: int) -> None:
        """That a run's submissions are done, into a batch."""
        for submission in self._storage.records.submissions.values():
            if submission.task == number and submission.status != "done":
                batch.put_submission(replace(submission, status="done"))

    async def amend(self, changes: Mapping[str, Any]) -> None:
        """Another name, or archived or not any more.

        Raises:
            Invalid: the changes are not of their form.
        """
        batch = amended(self._storage.records, changes)
        if batch is not None:
            await self._committer.commit(batch)
        self.name = described(self._storage.records).name

    async def close(self) -> None:
        """Commit what waits, and let the storage go."""
        await self._committer.aclose()
        await self.host.off_loop(self._storage.close)

    def known(self, number: int) -> Task:
        """The task of a run that was submitted."""
        task = self.task(number)
        assert task is not None, f"run {number} is written down before it is changed"
        return task

    async def order(
        self, number: int, after: Mapping[Stream, int], until: Mapping[Stream, int]
    ) -> list[Segment]:
        """In which order the streams grew between these offsets, as the entries tell it."""
        files, path = self.host.files, self.path
        return await self.host.off_loop(lambda: _order(spans(files, path, number), after, until))

    async def _change(
        self, number: int, *, memos: Mapping[str, Any], running: bool = False, abort: bool = False
    ) -> None:
        task = self.known(number)
        batch = Batch()
        batch.put_task(
            replace(
                task,
                state=Running() if running else task.state,
                abort_requested=task.abort_requested or abort,
                memos={**(task.memos or {}), **memos},
            )
        )
        await self._committer.commit(batch)


def _order(told: Iterable[Span], after: Mapping[Stream, int], until: Mapping[Stream, int]) -> list[Segment]:
    """What the spans say between two offsets, in as few segments as it takes."""
    found: list[Segment] = []
    for stream, start, end in told:
        start, end = max(start, after[stream]), min(end, until[stream])  # noqa: PLW2901 - the span, cut
        if start >= end:
            continue
        if found and found[-1].stream == stream and found[-1].end == start:
            found[-1] = Segment(stream, found[-1].start, end)
        else:
            found.append(Segment(stream, start, end))
    return found
