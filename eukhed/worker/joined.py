"""What a shell line of a user leaves in the conversation once it is over: the line, its output, how it ended.

The output itself is the run's, as every run's is; what is said of it is its end, as far as a reader can be
expected to read.
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from eukhed.host.seam import Host
from eukhed.storage.runs import BASH
from eukhed.worker.output import Reader, Source
from eukhed.worker.segments import Segment, Segments
from eukhed.worker.session import Said

SAID_BYTES: Final = 32 * 1024


class Ordered(Source, Protocol):
    """A run whose output has an order."""

    segments: Segments

    async def entered_order(self, after: Mapping[Any, int], until: Mapping[Any, int]) -> list[Segment]: ...


async def said(host: Host, run: Ordered, line: str, result: Mapping[str, Any]) -> Said:
    """The entry of a line that ended so; its output in the order in which the entries have it."""
    sizes = run.segments.sizes
    order = await run.entered_order(dict.fromkeys(sizes, 0), sizes)
    left, last = SAID_BYTES, []
    for stream, start, end in reversed(order):
        start = max(start, end - left)  # noqa: PLW2901 - the segment, cut
        last.append(Segment(stream, start, end))
        left -= end - start
        if not left:
            break
    reader, pieces = Reader(host, run), []
    try:
        for stream, start, end in reversed(last):
            parts = await reader.read(stream, start, end - start)
            pieces += [p.data if not p.dropped else b"[%d bytes are not kept]\n" % p.dropped for p in parts]
    finally:
        reader.close()
    cut = sum(sizes.values()) - (SAID_BYTES - left)
    data = {key: result[key] for key in ("exit", "signal", "error") if key in result}
    return Said(BASH, data | {"line": line, "cut": cut}, _text(line, b"".join(pieces), cut, data))


def _text(line: str, output: bytes, cut: int, data: Mapping[str, Any]) -> str:
    words = [f"$ {line}\n"]
    if cut:
        words.append(f"[{cut:,} bytes before this are left out]\n")
    shown = output.decode(errors="replace")
    words.append(shown if not shown or shown.endswith("\n") else shown + "\n")
    match data:
        case {"exit": 0}:
            pass
        case {"exit": status}:
            words.append(f"[exit {status}]\n")
        case {"signal": number}:
            words.append(f"[signal {number}]\n")
        case _:
            words.append(f"[{data.get('error', 'how it ended is not known')}]\n")
    return "".join(words)
