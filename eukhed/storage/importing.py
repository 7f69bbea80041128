"""Read an export back as a new session: the same records under the same ids, the same output.

The file is read twice: once whole, so that nothing is begun with one that is cut or bad; then into a storage
that is built beside its place and moved there.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any, Final, NamedTuple, Self

from msgspec import MsgspecError
from msgspec.structs import replace

from eukhed.errors import Corrupt, NewerFormat
from eukhed.host.seam import File, Files
from eukhed.storage.batch import Batch
from eukhed.storage.exporting import (
    FORMAT,
    AnyLine,
    Bytes,
    ConversationLine,
    DocumentLine,
    End,
    EntryLine,
    Header,
    SubmissionLine,
    TaskLine,
    read_line,
)
from eukhed.storage.fork_law import is_loose
from eukhed.storage.lines import portions
from eukhed.storage.outputs import is_output
from eukhed.storage.plain import raw
from eukhed.storage.records import SESSION_KIND, Entry, Submission, Task, Terminal
from eukhed.storage.runs import DROPPED, Span, Stream, output_name
from eukhed.storage.staging import Staging
from eukhed.storage.storage import Storage
from eukhed.storage.trouble import told_of

CHUNK_LINES: Final = 512  # committed together
CHUNK_BYTES: Final = 1 << 20


class Taken(NamedTuple):
    """What an import of an export made."""

    session: str
    name: str
    cwd: str
    origin: str  # the id of the session that was exported
    entries: int
    runs: int
    ended: tuple[int, ...]  # tasks and submissions that were open when it was exported


class _Facts(NamedTuple):
    """What a whole look at the file showed."""

    header: Header
    lost: dict[int, list[Span]]  # by task: output that an entry names and the file has not


class _Wanted(NamedTuple):
    session: str
    name: str
    cwd: str
    now_ms: int
    origin: str


def read_header(files: Files, source: str) -> Header | None:
    """The header of an export; None for a file that is none.

    Raises:
        NotFound, Permission, FileTrouble: it cannot be read.
    """
    with told_of(source), closing(files.open(source)) as file:
        line, newline, _ = file.read(0, 64 * 1024).partition(b"\n")
    if not newline or b'"type":"eukhed.export"' not in line.replace(b" ", b""):
        return None
    found = _decoded(source, 1, line)
    return found if isinstance(found, Header) else None


def import_export(
    files: Files, source: str, place: str, now_ms: int, *, name: str, cwd: str | None = None
) -> Taken:
    """Make a storage of an export, at a place that nothing has. The file is only read.

    Raises:
        Corrupt: a line of the file is bad, or it was cut (`file`, `line`, `reason`).
        NewerFormat: it was written by a newer eukhed.
        Rejected: its records break a rule.
        Exists: something has the place.
        DiskFull, Permission, Broken: as the system says; nothing is left.
    """
    with told_of(source), closing(files.open(source)) as file:
        facts = _look(source, file)
        header = facts.header
        wanted = _Wanted(os.path.basename(place), name, cwd or header.cwd, now_ms, header.session)
        with told_of(place), Staging(files, place, "import") as staging:
            with (
                closing(Storage.open(files, staging.path)) as storage,
                _Build(files, storage, wanted) as build,
            ):
                for _, line in _lines(source, file):
                    build.take(line, facts.lost)
                build.commit()
            staging.publish()
    return Taken(
        wanted.session, name, wanted.cwd, header.session, build.entries, build.runs, tuple(build.ended)
    )


def _look(source: str, file: File) -> _Facts:
    """Go through the whole file, to its end line."""
    header: Header | None = None
    end: End | None = None
    lost: dict[int, list[Span]] = {}
    number = documents = 0
    for number, line in _lines(source, file):
        if end is not None or (header is None) != isinstance(line, Header):
            raise Corrupt(source, number, "a header or an end in the wrong place")
        if isinstance(line, Header):
            header = line
        elif isinstance(line, End):
            end = line
        elif isinstance(line, DocumentLine):
            documents += line.value.kind == SESSION_KIND
        elif isinstance(line, EntryLine) and is_output(line.value):
            missing = list(_missing(line.value, line.bytes or []))
            lost.setdefault(line.value.by_task_id or 0, []).extend(missing)
    if header is None or end is None or end.lines != number:
        raise Corrupt(source, number, "the export has no end: it was cut")
    if file.read(file.size() - 1, 1) != b"\n":
        raise Corrupt(source, number + 1, "bytes after the last line")
    if documents != 1:
        raise Corrupt(source, number, "an export has one session's document")
    return _Facts(header, lost)


def _lines(source: str, file: File) -> Iterator[tuple[int, AnyLine]]:
    number = 0
    for portion in portions(file, 0, file.size()):
        for line in portion.lines:
            number += 1
            yield number, _decoded(source, number, line)


def _decoded(source: str, number: int, line: bytes) -> AnyLine:
    try:
        found: AnyLine = read_line.decode(line)
    except (MsgspecError, RecursionError) as error:
        raise Corrupt(source, number, str(error)) from error
    if isinstance(found, Header) and found.format > FORMAT:
        raise NewerFormat(f"{source}: format {found.format}; this eukhed reads up to {FORMAT}", file=source)
    return found


def _missing(entry: Entry, there: list[Bytes]) -> Iterator[Span]:
    """What an entry names and its line has not."""
    stream, at = entry.data["stream"], entry.data["offset"]
    end = at + entry.data["length"]
    for piece in there:
        if piece.offset > at:
            yield Span(stream, at, piece.offset)
        at = max(at, piece.offset + len(raw(piece.data)))
    if at < end:
        yield Span(stream, at, end)


class _Build:
    """The storage that is made, as a context: records in chunks, output in files."""

    def __init__(self, files: Files, storage: Storage, wanted: _Wanted) -> None:
        self.entries = self.runs = 0
        self.ended: list[int] = []
        self._files = files
        self._storage = storage
        self._wanted = wanted
        self._batch = Batch()
        self._size = 0
        self._open: dict[str, File] = {}
        self._stack = ExitStack()
        self._reason = f"it stayed with session {wanted.origin}, which this one was exported from"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def take(self, line: AnyLine, lost: dict[int, list[Span]]) -> None:
        """One line."""
        match line:
            case ConversationLine(value=conversation):
                self._batch.put_conversation(conversation)
            case TaskLine(value=task):
                self.runs += 1
                self._batch.put_task(self._task(task, lost.get(task.id, [])))
            case SubmissionLine(value=submission):
                self._batch.put_submission(self._submission(submission))
            case DocumentLine(value=document, content=content):
                if document.kind == SESSION_KIND and isinstance(content, dict):
                    content = self._about(content)
                self._batch.create_document(replace(document, created_at=0, retired_at=None), content)
            case EntryLine(value=entry, bytes=there):
                self.entries += 1
                self._entry(entry, there or [])
            case _:
                return
        if len(self._batch) >= CHUNK_LINES or self._size >= CHUNK_BYTES:
            self.commit()

    def commit(self) -> None:
        """Commit what was taken; the output that it names is flushed before."""
        if len(self._batch):
            self._batch.files = list(self._open)
            self._storage.commit(self._batch)
        self._stack.close()
        self._open.clear()
        self._batch, self._size = Batch(), 0

    def _about(self, content: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in content.items() if key not in {"archived", "parent"}}
        wanted = self._wanted
        return kept | {
            "session": wanted.session, "name": wanted.name, "cwd": wanted.cwd, "createdAt": wanted.now_ms,
            "importedFrom": wanted.origin,
        }  # fmt: skip

    def _task(self, task: Task, lost: list[Span]) -> Task:
        if is_loose(task):
            self.ended.append(task.id)
            state = Terminal(outcome="orphaned", result={"endedAt": self._wanted.now_ms}, reason=self._reason)
            task = replace(task, state=state)
        if not lost:
            return task
        assert isinstance(task.state, Terminal)
        result = dict(task.state.result or {})
        result["dropped"] = sorted([*result.get("dropped", []), *(list(span) for span in lost)])
        return replace(task, state=replace(task.state, result=result))

    def _submission(self, submission: Submission) -> Submission:
        if not is_loose(submission):
            return submission
        self.ended.append(submission.id)
        return replace(submission, status="unanswered", reason=self._reason)

    def _entry(self, entry: Entry, there: list[Bytes]) -> None:
        if is_output(entry):
            task, stream = entry.by_task_id, entry.data["stream"]
            assert task is not None
            if not there:
                data = {key: entry.data[key] for key in ("stream", "offset", "length")}
                entry = replace(entry, kind=DROPPED, data=data)
            for piece in there:
                self._write(task, stream, piece.offset, raw(piece.data))
        self._batch.put_entry(entry)

    def _write(self, task: int, stream: Stream, offset: int, data: bytes) -> None:
        name = output_name(task, stream)
        if name not in self._open:
            path = os.path.join(self._storage.path, name)
            file = self._files.open(path, write=True, create=True)
            self._stack.callback(file.close)
            self._open[name] = file
        file, self._size = self._open[name], self._size + len(data)
        while data:
            taken = file.write(offset, data)
            offset, data = offset + taken, data[taken:]
