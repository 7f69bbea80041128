"""A bundle before it is a version (`BundleFiles`), made ready for a mint, and one that was read (`Bundle`).

One set of files, by path, is what is hashed and what is written, so that the two cannot differ.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from eukhed.bundles import disk, reading
from eukhed.bundles.layout_law import encode, is_part, prompt_file
from eukhed.bundles.manifest import BadManifest, Manifest
from eukhed.bundles.manifest import decode as decode_manifest
from eukhed.bundles.manifest import encode as encode_manifest
from eukhed.bundles.memory import Memory
from eukhed.bundles.reading import EVALS, MANIFEST, MEMORY, PROGRAM, PROMPTS, Limits
from eukhed.bundles.records import HASH_PREFIX
from eukhed.errors import Invalid, TooLarge
from eukhed.host.seam import Files

Parse = Callable[[bytes], str | None]  # what is wrong with a program, in one line


@dataclass(frozen=True, slots=True)
class BundleFiles:
    """The files of a bundle. A manifest as bytes is kept as it is; prompts and evals go by file name."""

    manifest: Manifest | bytes
    program: bytes
    prompts: Mapping[str, bytes] = field(default_factory=dict)
    memory: bytes = b""  # the seed of what it will remember
    evals: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bundle:
    """One version of a bundle, whole, in memory."""

    name: str
    version: int  # the version that this is, whatever the head is by now
    hash: str
    directory: str
    manifest: Manifest
    program: bytes
    prompts: Mapping[str, bytes]  # by file name
    seed: bytes  # the memory.md that it was made with; what a run remembers is in `memory`
    evals: tuple[str, ...]  # names; nothing runs them
    memory: Memory  # of this name, in the store that the bundle came from


class Prepared(NamedTuple):
    """What a mint writes."""

    name: str
    files: dict[str, bytes]  # by path below the version's directory
    hash: str


def hash_of(files: Mapping[str, bytes]) -> str:
    """The hash of a version: `sha256:` and 64 hex digits."""
    return HASH_PREFIX + hashlib.sha256(encode(files)).hexdigest()


def digests_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """The SHA-256 of each file, by path."""
    return {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)}


def prepare(bundle: BundleFiles, limits: Limits, parse: Parse | None) -> Prepared:
    """Check a bundle, in this order: manifest, program, its syntax, names, sizes. Touches no disk.

    Raises:
        Invalid: it cannot be a version. TooLarge: a file, or their number.
    """
    given = bundle.manifest
    try:
        raw = given if isinstance(given, bytes) else encode_manifest(given.with_evals(tuple(bundle.evals)))
        manifest = decode_manifest(raw)
    except BadManifest as error:
        raise Invalid(f"{MANIFEST}: {error}", file=MANIFEST) from error
    if not bundle.program:
        raise Invalid(f"{PROGRAM} is empty", file=PROGRAM)
    if parse is not None and (fault := parse(bundle.program)) is not None:
        raise Invalid(f"{PROGRAM} does not parse: {fault}", file=PROGRAM)
    files = {MANIFEST: raw, PROGRAM: bundle.program, MEMORY: bundle.memory}
    for called, data in bundle.prompts.items():
        _put(files, PROMPTS, prompt_file(called), called, data)
    for called, data in bundle.evals.items():
        _put(files, EVALS, called, called, data)
    _check_sizes(files, limits)
    return Prepared(manifest.name, files, hash_of(files))


def as_files(read: dict[str, bytes]) -> BundleFiles:
    """The files of a version, by path, as a mint takes them."""
    return BundleFiles(
        manifest=read.get(MANIFEST, b""),
        program=read.get(PROGRAM, b""),
        prompts=reading.within(read, PROMPTS),
        memory=read[MEMORY],
        evals=reading.within(read, EVALS),
    )


def read_directory(files: Files, directory: str, limits: Limits | None = None) -> BundleFiles:
    """The files of a bundle that somebody wrote into a directory of this layout, for a mint.

    Raises:
        Invalid: something is there that no bundle holds. BrokenBundle: a link, or a device. TooLarge.
        FileTrouble: it cannot be read.
    """
    with disk.told(directory):
        return as_files(reading.read_files(files, directory, limits or Limits(), strict=True))


def _put(files: dict[str, bytes], folder: str, name: str, called: str, data: bytes) -> None:
    path = f"{folder}/{name}"
    if not is_part(name):
        raise Invalid(f"no file of {folder}/ can be called {called!r}", file=folder)
    if path in files:
        raise Invalid(f"two files would become {path}", file=path)
    files[path] = data


def _check_sizes(files: Mapping[str, bytes], limits: Limits) -> None:
    if len(files) > limits.files:
        told = f"{len(files)} files; at most {limits.files} are allowed (bundle.max_files)"
        raise TooLarge(told, limit=limits.files)
    for path, data in files.items():
        if len(data) > limits.file_bytes:
            told = f"{path} has {len(data)} bytes; at most {limits.file_bytes} are allowed (bundle.max_file)"
            raise TooLarge(told, file=path, limit=limits.file_bytes)
