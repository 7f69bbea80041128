"""Time zones by name, and the name of this machine's own."""

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from eukhed.errors import Invalid
from eukhed.host.seam import Files

_LOCALTIME: Final = "/etc/localtime"
_DATABASE: Final = "/zoneinfo/"
_TIMEZONE_FILE: Final = "/etc/timezone"


def zone(name: str) -> tzinfo:
    """The zone of that name in the machine's database.

    Raises:
        Invalid: there is none.
    """
    if name == "UTC":  # without a database too
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Invalid(f"no time zone {name!r}", timezone=name) from error


def local_zone(environ: Mapping[str, str], files: Files) -> str | None:
    """The name of the machine's zone: TZ, else what /etc/localtime leads to, else /etc/timezone.

    None when it has no name that another process could look up (a TZ of POSIX rules, a copied file).
    """
    if wanted := environ.get("TZ", "").removeprefix(":"):
        return _known(wanted)
    if files.stat(_LOCALTIME) is None:
        return "UTC"  # what the C library takes
    return _known(files.real_path(_LOCALTIME)) or _known(_first_line(files, _TIMEZONE_FILE))


def _known(wanted: str) -> str | None:
    name = wanted.partition(_DATABASE)[2] if wanted.startswith("/") else wanted
    try:
        zone(name)
    except Invalid:
        return None
    return name


def _first_line(files: Files, path: str) -> str:
    if files.stat(path) is None:
        return ""
    file = files.open(path)
    try:
        return file.read(0, 200).decode("ascii", "replace").partition("\n")[0].strip()
    finally:
        file.close()
