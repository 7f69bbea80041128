"""The machine's own zone, by every way that names it."""

from typing import cast

import pytest

from eukhed.cron.zones import local_zone, zone
from eukhed.errors import Invalid
from eukhed.host.seam import Files
from tests.cron.machine import MemoryFiles


class Machine(MemoryFiles):
    def __init__(self, localtime: str | None = None, timezone: str | None = None) -> None:
        super().__init__()
        self.directories.add("/etc")
        self.localtime = localtime
        if localtime is not None:
            self.data["/etc/localtime"] = b"TZif2"
        if timezone is not None:
            self.data["/etc/timezone"] = timezone.encode()

    def real_path(self, path: str) -> str:
        return self.localtime or path


def local(machine: Machine, **environ: str) -> str | None:
    return local_zone(environ, cast("Files", machine))


def test_tz_comes_first() -> None:
    machine = Machine("/usr/share/zoneinfo/Asia/Tokyo")
    assert local(machine, TZ="Europe/Berlin") == "Europe/Berlin"
    assert local(machine, TZ=":Europe/Berlin") == "Europe/Berlin"
    assert local(machine, TZ="/usr/share/zoneinfo/Europe/Berlin") == "Europe/Berlin"
    assert (
        local(machine, TZ="CET-1CEST,M3.5.0,M10.5.0/3") is None
    )  # rules, no name that another process could look up
    assert local(machine, TZ="") == "Asia/Tokyo"


def test_then_what_localtime_leads_to_then_the_file() -> None:
    assert local(Machine("/usr/share/zoneinfo/Etc/UTC")) == "Etc/UTC"
    assert local(Machine("/etc/localtime", "Europe/Berlin\n")) == "Europe/Berlin"
    assert local(Machine("/etc/localtime")) is None
    assert local(Machine()) == "UTC"


def test_a_zone_that_is_none() -> None:
    for name in ("", "Nowhere", "../../etc/passwd", "/etc/passwd", "Europe", "a" * 5000, "\0"):
        with pytest.raises(Invalid):
            zone(name)
    assert zone("UTC").utcoffset(None) is not None
