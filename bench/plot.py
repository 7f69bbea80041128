"""A plot of times by sizes as SVG, both axes logarithmic: no library, one text."""

import math
from collections.abc import Mapping

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 30, 30, 48
COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626")
UNITS = ((1, "us"), (1000, "ms"), (1_000_000, "s"))


def drawn(labels: Mapping[str, str], times: Mapping[int, Mapping[str, float]]) -> str:
    """The SVG of one line for each label; times in microseconds, by size."""
    sizes = sorted(times)
    every = [times[size][name] for size in sizes for name in labels]
    low, high = math.floor(math.log10(min(every))), math.ceil(math.log10(max(every)))
    first, last = math.log10(sizes[0]), math.log10(sizes[-1])

    def x(size: float) -> float:
        return LEFT + (math.log10(size) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(time_us: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(time_us) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for power in range(low, high + 1):
        at = y(10**power)
        parts += [
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e5e7eb"/>',
            f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{time_told(power)}</text>',
        ]
    for power in range(math.ceil(first), math.floor(last) + 1):
        at = x(10**power)
        parts += [
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#e5e7eb"/>',
            f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{10**power:,}</text>',
        ]
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">nodes in the tree</text>')
    for colour, (name, label) in zip(COLOURS, labels.items(), strict=False):
        points = [(x(size), y(times[size][name])) for size in sizes]
        line = " ".join(f"{at_x:.1f},{at_y:.1f}" for at_x, at_y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="3" fill="{colour}"/>' for at_x, at_y in points]
        parts.append(
            f'<text x="{points[0][0] + 6:.1f}" y="{points[0][1] - 8:.1f}" fill="{colour}">{label}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def time_told(power: int) -> str:
    """A power of ten of microseconds, in the unit that it has."""
    factor, unit = max(one for one in UNITS if one[0] <= 10**power or one[0] == 1)
    return f"{10**power / factor:g} {unit}"
