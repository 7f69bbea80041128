"""Which code a process runs: the version, and a digest of the package's source files.

The digest is taken once, when a daemon starts (by its launcher's helper for the clients), from the files
on disk; a worker inherits the supervisor's, so a file that is replaced later changes nobody's build.
"""

import os
from typing import Final

VERSION: Final = "0.1.0"  # MAJOR.MINOR.PATCH[-dev.N | -rc.N]; the wheel's form is derived
PROTOCOL: Final = 1
SCHEMA: Final = 1


def package_directory() -> str:
    """Where this package's files are."""
    return os.path.dirname(os.path.abspath(__file__))


def digest(directory: str | None = None) -> str:
    r"""Return 12 hex digits that change with any source file of the package.

    Each file counts as `<len(path)>:<path>\n<len(data)>:<data>\n`, in the order of the paths.
    """
    import hashlib  # noqa: PLC0415 - only who takes the digest pays for OpenSSL; the constants are on the light path

    root = directory or package_directory()
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        found += [os.path.join(folder, name) for name in files if name.endswith(".py")]
    sha = hashlib.sha256()
    for path in sorted(found):
        name = os.path.relpath(path, root).encode()
        with open(path, "rb") as file:
            data = file.read()
        sha.update(b"%d:%s\n%d:%s\n" % (len(name), name, len(data), data))
    return sha.hexdigest()[:12]
