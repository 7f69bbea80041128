"""Contents of documents: JSON Patches on a base, and which policies a document may have."""

from typing import Any, Final

import jsonpatch
from jsonpointer import JsonPointerException
from msgspec import UNSET, Struct, UnsetType

from eukhed.errors import Rejected
from eukhed.storage import codec
from eukhed.storage.records import RECORD_BYTES_MAX, ConversationScope, Document, Json

_PATCH_ERRORS: Final = (
    jsonpatch.JsonPatchException,
    JsonPointerException,
    TypeError,
    ValueError,
    LookupError,
)


class Create(Struct, frozen=True, gc=False):
    """A document that is to be made, with its first content; or with that of a live one, `copy_of`."""

    document: Document
    value: Json | UnsetType = UNSET
    copy_of: int | None = None


class Change(Struct, frozen=True, gc=False):
    """A new content: a whole one, or a JSON Patch on the present one."""

    id: int
    value: Json | UnsetType = UNSET
    ops: list[dict[str, Any]] | None = None


class Retire(Struct, frozen=True, gc=False):
    """A document's end."""

    id: int


def patched(value: Json, ops: list[dict[str, Json]]) -> Json:
    """The content after a patch; `value` is unchanged. ValueError when the patch does not fit."""
    try:
        result = jsonpatch.apply_patch(value, ops)
    except _PATCH_ERRORS as error:
        raise ValueError(f"the patch does not fit: {error}") from error
    codec.check_json(result)
    if len(codec.encode(result)) > RECORD_BYTES_MAX:
        raise ValueError(f"the content is larger than {RECORD_BYTES_MAX} bytes after the patch")
    return result


def check_policies(document: codec.DocumentRow) -> None:
    """A document of a conversation says its history and fork policy, another has none. Rejected."""
    both = document.history is not None and document.fork is not None
    neither = document.history is None and document.fork is None
    if isinstance(document.scope, ConversationScope):
        if not both:
            raise Rejected(f"document {document.id}: one of a conversation has `history` and `fork`")
        if document.history == "latest" and document.fork == "asOf":
            raise Rejected(f"document {document.id}: a fork `asOf` needs the history `rewindable`")
    elif not neither:
        raise Rejected(f"document {document.id}: only one of a conversation has `history` or `fork`")
