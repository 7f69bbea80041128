"""The contents that a document had: of one that is rewindable all are kept, from its first to its last."""

import os
from contextlib import closing
from typing import Any

from eukhed.errors import Corrupt, NotFound
from eukhed.host.seam import Files
from eukhed.storage import codec
from eukhed.storage.documents import patched
from eukhed.storage.lines import portions
from eukhed.storage.records import Json
from eukhed.storage.sidecars import document_file


def content_at(files: Files, path: str, document: int, seq: int) -> Json:
    """The content that commit `seq` gave a document, live or retired; beside the storage's writer.

    Raises:
        NotFound: it is not kept.
        Corrupt: what is kept is damaged.
    """
    name = document_file(document)
    gone = NotFound(f"the content that commit {seq} gave document {document} is not kept", document=document)
    try:
        file = files.open(os.path.join(path, name))
    except FileNotFoundError:
        raise gone from None
    value: Any = None
    number = 0
    with closing(file):
        for portion in portions(file, 0, file.size()):
            for line in portion.lines:
                number += 1
                made, content = _line(name, number, line)
                if made > seq:
                    raise gone
                try:
                    value = content.value if isinstance(content, codec.Base) else patched(value, content.ops)
                except ValueError as error:
                    raise Corrupt(name, number, str(error)) from error
                if made == seq:
                    return value
    raise gone


def _line(name: str, number: int, line: bytes) -> tuple[int, codec.Base | codec.Delta]:
    if codec.broken(line):
        raise Corrupt(name, number, "the line is not what its crc says")
    try:
        record = codec.read_sidecar_line(line)
    except ValueError as error:
        raise Corrupt(name, number, str(error)) from error
    if not isinstance(record.payload, codec.DocumentPayload):
        raise Corrupt(name, number, "not a content of a document")
    return record.seq, record.payload.content
