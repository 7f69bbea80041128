"""What the simulated commands do: each is named by the last word of its argv, and known by the first one."""

from collections.abc import Mapping
from typing import NamedTuple

from eukhed.worker.segments import Stream
from tests.fakes.holders import Behaviour, Console


class Script(NamedTuple):
    """A command that counts on both streams, and ends."""

    lines: int
    pause_ms: int
    exit: int

    def printed(self) -> dict[Stream, bytes]:
        """All that it prints."""
        out = b"".join(b"line %d\n" % number for number in range(self.lines))
        err = b"".join(b"oops %d\n" % number for number in range(0, self.lines, 3))
        return {"out": out, "err": err}

    async def run(self, console: Console) -> int:
        for number in range(self.lines):
            await console.write("out", b"line %d\n" % number)
            if number % 3 == 0:
                await console.write("err", b"oops %d\n" % number)
            if self.pause_ms:
                await console.sleep_ms(self.pause_ms)
        return self.exit


SCRIPTS: Mapping[str, Script] = {
    "blink": Script(lines=3, pause_ms=0, exit=0),
    "count": Script(lines=12, pause_ms=150, exit=7),
    "flood": Script(lines=200, pause_ms=1, exit=0),
    "night": Script(lines=20, pause_ms=90_000, exit=3),
}
BEHAVIOURS: Mapping[bytes, Behaviour] = {name.encode(): script.run for name, script in SCRIPTS.items()}
