"""Where a storage may be: not where locks, renames or flushes are not what this machine promises.

NFS, SMB, 9p, Ceph and their kind are refused (`--unsafe-filesystem` overrides); FUSE is warned of.
"""

from typing import Final

from eukhed.errors import UnsafeFilesystem
from eukhed.host.seam import Files
from eukhed.storage import reading

_NETWORK: Final = frozenset({"nfs", "smb", "cifs", "9p", "ceph", "afs", "lustre", "gfs2"})


def check(files: Files, path: str, *, unsafe: bool = False) -> str | None:
    """See that the file system that holds this path will do; a warning for the user, or None.

    UnsafeFilesystem, unless `unsafe`. NotFound: there is no such path.
    """
    try:
        kind = files.filesystem(path)
    except OSError as error:
        raise reading.told(error, path) from error
    if kind in _NETWORK:
        told = f"{path} is on {kind}: locks and renames there do not exclude other machines"
        if not unsafe:
            raise UnsafeFilesystem(f"{told}; use a local disk", filesystem=kind, path=path)
        return f"{told} (--unsafe-filesystem)"
    if kind == "fuse":
        return f"{path} is on FUSE: whether a flush reaches a disk depends on its server"
    return None
