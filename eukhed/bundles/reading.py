"""A version as it stands on the disk: its record and its files, without following any link."""

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from eukhed.bundles import disk
from eukhed.bundles.layout_law import PROMPT_SUFFIX, directory_name, is_part, record_name
from eukhed.bundles.manifest import BadManifest, Manifest
from eukhed.bundles.manifest import decode as decode_manifest
from eukhed.bundles.mint_law import Shelf, read_shelf
from eukhed.bundles.records import BadRecord, Version, decode_version
from eukhed.errors import BrokenBundle, Invalid, NotFoundError, TooLarge
from eukhed.host.seam import Entry, Files

MANIFEST: Final = "manifest.json"
PROGRAM: Final = "program.js"
MEMORY: Final = "memory.md"
PROMPTS: Final = "prompts"
EVALS: Final = "evals"
_DEPTH_MAX: Final = 32


class Limits(NamedTuple):
    """How large a bundle may be: the settings bundle.max_file and bundle.max_files."""

    file_bytes: int = 4 << 20
    files: int = 256


def check_place(files: Files, directory: str) -> None:
    """See that the directory of a name, if it is there, is one: a link could lead out of the store.

    Raises:
        BrokenBundle: it is a link, or a file.
    """
    found = files.stat(directory)
    if found is not None and found.kind != "directory":
        raise broken(directory, "it is a link" if found.kind == "link" else "it is no directory")


def shelf_of(files: Files, directory: str) -> Shelf:
    """What stands in the directory of a name; of none, nothing. BrokenBundle as `check_place`; OSError."""
    check_place(files, directory)
    try:
        return read_shelf(files.scan(directory))
    except FileNotFoundError:
        return read_shelf(())


def read_record(files: Files, directory: str, number: int, limits: Limits) -> Version:
    """The record of a version.

    Raises:
        BrokenBundle: it is no record of this version. NotFoundError: there is none. OSError: as the system says.
    """
    path = os.path.join(directory, record_name(number))
    try:
        return decode_version(disk.read_file(files, path, limits.file_bytes), number)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no {path}", file=path) from error
    except BadRecord as error:
        raise broken(path, str(error)) from error


def read_manifest(files: Files, directory: str, name: str, limits: Limits) -> Manifest:
    """The manifest in the directory of a version of this name, which must also hold a program; links are refused.

    Raises:
        BrokenBundle: it does not validate, or names another bundle. TooLarge. OSError: as the system says.
    """
    found = _covered(files, directory, limits)
    if PROGRAM not in found or _size(files, os.path.join(directory, PROGRAM)) == 0:
        raise broken(os.path.join(directory, PROGRAM), "it is missing or empty")
    path = os.path.join(directory, MANIFEST)
    if MANIFEST not in found:
        raise broken(path, "it is missing")
    return _manifest(disk.read_file(files, path, limits.file_bytes), path, name, _evals(found))


def read_files(files: Files, directory: str, limits: Limits, *, strict: bool = False) -> dict[str, bytes]:
    """The files of a version by path; memory.md always, be it empty. Anything else is left alone, but links.

    Args:
        files: the file system.
        directory: where the version stands.
        limits: what is too large.
        strict: refuse what belongs to no version, rather than leave it alone.

    Raises:
        BrokenBundle: a link or a device. Invalid: something that no bundle holds. TooLarge. OSError.
    """
    found = _covered(files, directory, limits, strict=strict)
    read = {path: disk.read_file(files, os.path.join(directory, path), limits.file_bytes) for path in found}
    return {MEMORY: b""} | read


def manifest_of(read: dict[str, bytes], directory: str, name: str) -> Manifest:
    """The manifest among files that were read; BrokenBundle if it, or the program, will not do."""
    path = os.path.join(directory, MANIFEST)
    if MANIFEST not in read:
        raise broken(path, "it is missing")
    if not read.get(PROGRAM):
        raise broken(os.path.join(directory, PROGRAM), "it is missing or empty")
    return _manifest(read[MANIFEST], path, name, _evals(read))


def within(read: dict[str, bytes], folder: str) -> dict[str, bytes]:
    """The files of one folder, by their names there."""
    start = f"{folder}/"
    return {path.removeprefix(start): data for path, data in read.items() if path.startswith(start)}


def broken(file: str, reason: str) -> BrokenBundle:
    return BrokenBundle(f"{file}: {reason}", file=file, reason=reason)


def _manifest(data: bytes, path: str, name: str, evals: tuple[str, ...]) -> Manifest:
    try:
        manifest = decode_manifest(data)
    except BadManifest as error:
        raise broken(path, str(error)) from error
    if manifest.name != name:
        raise broken(path, f"it is the manifest of {manifest.name!r}, not of {name!r}")
    return manifest.with_evals(evals)


def _evals(paths: dict[str, bytes] | list[str]) -> tuple[str, ...]:
    start = f"{EVALS}/"
    return tuple(sorted(path.removeprefix(start) for path in paths if path.startswith(start)))


def _size(files: Files, path: str) -> int:
    found = files.stat(path)
    return 0 if found is None else found.size


def _covered(files: Files, directory: str, limits: Limits, *, strict: bool = False) -> list[str]:
    """The paths that belong to a version, of all that stand in its directory."""
    found: list[str] = []
    for path, kind in walk(files, directory, ""):
        if kind in {"link", "other"}:
            raise broken(os.path.join(directory, path), "it is a link" if kind == "link" else "it is no file")
        if kind == "file" and belongs(path):
            found.append(path)
        elif strict and not (kind == "directory" and path in {PROMPTS, EVALS}):
            raise Invalid(f"{os.path.join(directory, path)}: a bundle holds no such thing", file=path)
        if len(found) > limits.files:
            told = f"{directory} has more than {limits.files} files (bundle.max_files)"
            raise TooLarge(told, file=directory, limit=limits.files)
    return found


def walk(files: Files, directory: str, below: str, depth: int = 0) -> Iterator[Entry]:
    """Everything under a directory, with its path there."""
    if depth > _DEPTH_MAX:
        raise broken(os.path.join(directory, below), "it is nested too deep")
    for name, kind in files.scan(os.path.join(directory, below) if below else directory):
        path = f"{below}/{name}" if below else name
        yield Entry(path, kind)
        if kind == "directory":
            yield from walk(files, directory, path, depth + 1)


def belongs(path: str) -> bool:
    """Whether the hash covers a file of this path."""
    folder, slash, name = path.partition("/")
    if not slash:
        return path in {MANIFEST, PROGRAM, MEMORY}
    return is_part(name) and (folder == EVALS or (folder == PROMPTS and name.endswith(PROMPT_SUFFIX)))


def version_directory(directory: str, number: int) -> str:
    """Where the files of a version stand."""
    return os.path.join(directory, directory_name(number))
