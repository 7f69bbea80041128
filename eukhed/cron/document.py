"""A jobs file as text: `{"jobs": [...], "dispatches": [...]}`, and nothing in it is dropped.

The text is cut into records without being re-made: a record that did not change is written back byte for
byte, one that changed keeps the text of each member that this version does not know, and one that could
not be read stays where it stands. So a file of a later version survives an earlier one.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from eukhed.cron import records
from eukhed.cron.jobs import Catalog, Dispatch, Job
from eukhed.cron.jsontext import NotThisShape, elements, json_text, members, only_value

_JOBS: Final = "jobs"
_DISPATCHES: Final = "dispatches"
T = TypeVar("T", Job, Dispatch)


class Slot(NamedTuple, Generic[T]):
    """One record as it stands in the file; `item` is None when it could not be read."""

    text: str
    item: T | None


class Document(NamedTuple):
    """One jobs file."""

    jobs: tuple[Slot[Job], ...] = ()
    dispatches: tuple[Slot[Dispatch], ...] = ()
    more: tuple[tuple[str, str], ...] = ()  # members at the top that this version does not know

    def catalog(self) -> Catalog:
        """What could be read of it."""
        jobs = tuple(slot.item for slot in self.jobs if slot.item is not None)
        dispatches = tuple(slot.item for slot in self.dispatches if slot.item is not None)
        ids = (records.id_of(slot.text) for slot in self.jobs if slot.item is None)
        return Catalog(jobs, dispatches, frozenset(each for each in ids if each is not None))

    def changed(self, catalog: Catalog) -> "Document":
        """The document with what became of the catalog that was read of it.

        A job stays whatever the catalog says (cron_never_drops); a claim goes when the catalog has it no more.
        """
        jobs = _changed(self.jobs, catalog.jobs, records.job_text, keep=True)
        dispatches = _changed(self.dispatches, catalog.dispatches, records.dispatch_text, keep=False)
        return Document(jobs, dispatches, self.more)

    def render(self) -> bytes:
        """The file's bytes."""
        members = [(_JOBS, _array(self.jobs)), (_DISPATCHES, _array(self.dispatches)), *self.more]
        lines = ",\n".join(f"  {json_text(key)}: {text}" for key, text in members)
        return f"{{\n{lines}\n}}\n".encode()


def parse(data: bytes) -> Document:
    """Read a jobs file.

    Raises:
        NotThisShape: it is not UTF-8, not JSON, or not of this shape. A record of an unknown shape is no error.
    """
    try:
        whole = only_value(data.decode())
        jobs: Sequence[str] = ()
        dispatches: Sequence[str] = ()
        more: list[tuple[str, str]] = []
        for key, value in members(whole):
            if key == _JOBS:
                jobs = elements(value)
            elif key == _DISPATCHES:
                dispatches = elements(value)
            else:
                more.append((key, value))
    except (ValueError, RecursionError) as error:
        raise NotThisShape(str(error)) from error
    return Document(_slots(jobs, records.job_of), _slots(dispatches, records.dispatch_of), tuple(more))


def _slots(texts: Iterable[str], read: Callable[[str], T | None]) -> tuple[Slot[T], ...]:
    """The records; of two with one id the first counts, the other stays unread."""
    slots: list[Slot[T]] = []
    taken: set[str] = set()
    for text in texts:
        item = read(text)
        if item is not None and item.id in taken:
            item = None
        if item is not None:
            taken.add(item.id)
        slots.append(Slot(text, item))
    return tuple(slots)


def _changed(
    slots: Sequence[Slot[T]], items: Sequence[T], write: Callable[[T], str], *, keep: bool
) -> tuple[Slot[T], ...]:
    now = {item.id: item for item in items}
    changed: list[Slot[T]] = []
    for slot in slots:
        if slot.item is None:
            changed.append(slot)
            continue
        item = now.pop(slot.item.id, None)
        if item is None and keep:
            changed.append(slot)
        elif item is not None:
            changed.append(slot if item is slot.item or item == slot.item else Slot(write(item), item))
    changed += [Slot(write(item), item) for item in now.values()]
    return tuple(changed)


def _array(slots: Sequence[Slot[Any]]) -> str:
    if not slots:
        return "[]"
    lines = ",\n".join(f"    {slot.text}" for slot in slots)
    return f"[\n{lines}\n  ]"
