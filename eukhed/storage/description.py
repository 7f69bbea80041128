"""What a session says of itself, in its document: read, and changed by one commit."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any, NamedTuple

from eukhed.errors import Invalid
from eukhed.host.seam import Files
from eukhed.storage.batch import Batch
from eukhed.storage.live import Records
from eukhed.storage.lookup_law import is_usable_name
from eukhed.storage.records import SESSION_KIND, SessionScope
from eukhed.storage.staging_law import is_target
from eukhed.storage.storage import Storage


class Description(NamedTuple):
    """A session's document."""

    document: int
    content: Mapping[str, Any]  # session, name, cwd, createdAt, engine; archived, main, forkedFrom if set

    @property
    def name(self) -> str:
        return str(self.content.get("name") or self.content.get("session"))

    @property
    def cwd(self) -> str:
        return str(self.content["cwd"])


def described(records: Records) -> Description:
    """The session's document.

    Raises:
        Invalid: the storage has none, so it is no session.
    """
    document = records.at_address((SESSION_KIND, SessionScope(), None))
    content = None if document is None else records.content(document)
    if document is None or not isinstance(content, dict) or not isinstance(content.get("cwd"), str):
        raise Invalid(f"the storage has no document of kind {SESSION_KIND}: it is no session")
    return Description(document, content)


def amended(records: Records, changes: Mapping[str, Any]) -> Batch | None:
    """The batch that makes these changes: `name` and `archived`; None when nothing changes.

    Raises:
        Invalid: it is no session, or the changes are not of their form.
    """
    unknown = changes.keys() - {"name", "archived"}
    name, archived = changes.get("name"), changes.get("archived")
    if unknown or not isinstance(name, str | None) or not isinstance(archived, bool | None):
        raise Invalid("a session's name is a text, and archived is true or false")
    if name is not None:
        check_name(name)
    document, content = described(records)
    told = dict(content)
    if name is not None:
        told["name"] = name
    if archived is not None:
        told.pop("archived", None)
        if archived:
            told["archived"] = True
    if told == content:
        return None
    batch = Batch()
    batch.change_document(document, value=told)
    return batch


def amend(files: Files, path: str, changes: Mapping[str, Any]) -> None:
    """Make these changes in a storage that nobody else has open; the caller holds its lease.

    Raises:
        Invalid, Corrupt, DiskFull: nothing was changed.
    """
    with closing(Storage.open(files, path)) as storage:
        batch = amended(storage.records, changes)
        if batch is not None:
            storage.commit(batch)


def check_name(name: str) -> None:
    """See that a session may be given this name.

    Raises:
        Invalid: it may not.
    """
    if not is_usable_name(name):
        raise Invalid(
            f"a session cannot be called {name!r}: a name is printable, is no number, has no slash and no "
            "blanks around it, and begins with neither a dash nor a dot"
        )


def check_id(session: str) -> None:
    """See that this can be a session's id: the name of one directory, not hidden.

    Raises:
        Invalid: it cannot.
    """
    if not is_target(session):
        raise Invalid(f"{session!r} is no session's id")
