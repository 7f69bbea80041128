"""A picture of a terminal, as SVG: for a README, made of the very lines that were printed."""

from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

from eukhed.cli.render import width_of

LINE: Final = 20  # pixels
CHAR: Final = 8.4
EDGE: Final = 24
BAR: Final = 36
COLOURS: Final = {"$": "#e6edf3", "✓": "#3fb950", "✗": "#f85149"}


def svg(lines: Sequence[str]) -> str:
    """Return an SVG document that shows these lines."""
    columns = max((width_of(line) for line in lines), default=1)
    width, height = int(columns * CHAR) + 2 * EDGE, len(lines) * LINE + BAR + 2 * EDGE
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>',
    ]
    drawn += [
        f'<circle cx="{EDGE + 18 * place}" cy="{BAR // 2}" r="6" fill="{colour}"/>'
        for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    ]
    drawn.append(
        '<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">'
    )
    for number, line in enumerate(lines):
        y = BAR + EDGE + number * LINE
        drawn.append(f'<text x="{EDGE}" y="{y}" fill="{_colour(line)}">{escape(line)}</text>')
    return "\n".join([*drawn, "</g>", "</svg>", ""])


def _colour(line: str) -> str:
    return COLOURS.get(line.strip()[:1], "#9198a1")
