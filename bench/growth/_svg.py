"""
A plot of curves as SVG: both axes are logarithmic, and it is readable on a light and on a dark page.

A line that is flat costs the same at every size; one that rises by a square for each square to the right costs as much
more as there is more. A ring is where a curve bends.
"""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10
from typing import Final

from bench.growth._curve import Curve, Plot

_WIDTH, _LEFT, _TOP, _BOTTOM, _LEGEND = 760, 70, 44, 52, 290
#: a decade of costs, and the whole width of the sizes
_DECADE: Final = 62
#: readable for people who do not see red and green apart, on white and on black
_COLORS: Final = ("#2a78d6", "#e07b00", "#009e83", "#c2478d", "#8a6d00", "#7a55d9", "#c43d3d", "#4f7a1f", "#666f7a")
_DASHES: Final = ("", "6 3", "2 3")

_STYLE: Final = """
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 14px; font-weight: 600 }
.muted { fill: #59636e }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .muted { fill: #9198a1 }
  .grid { stroke: #3d444d }
}
"""


def draw(plot: Plot) -> str:
    sizes = sorted({size for curve in plot.curves for size in curve.seconds})
    costs = [seconds for curve in plot.curves for seconds in curve.seconds.values()]
    lowest, highest = floor(log10(min(costs))), ceil(log10(max(costs)))
    highest = max(highest, lowest + 1)
    right, bottom = _WIDTH - _LEGEND, _TOP + (highest - lowest) * _DECADE
    height = max(bottom + _BOTTOM, _TOP + 20 * len(plot.curves) + 40)
    span = log10(sizes[-1] / sizes[0]) or 1.0

    def place(size: int, seconds: float) -> tuple[float, float]:
        x = _LEFT + log10(size / sizes[0]) / span * (right - _LEFT)
        return round(x, 1), round(bottom - (log10(seconds) - lowest) * _DECADE, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(plot.title)}</title><style>{_STYLE}</style>",
        f'<text class="title" x="{_LEFT}" y="20">{escape(plot.title)}</text>',
    ]
    for exponent in range(lowest, highest + 1):
        y = place(sizes[0], 10.0**exponent)[1]
        parts.append(f'<path class="grid" d="M{_LEFT} {y}H{right}"/>')
        parts.append(
            f'<text class="muted" x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{format_seconds(10.0**exponent)}</text>'
        )
    for size in sizes:
        x = place(size, 10.0**lowest)[0]
        parts.append(f'<path class="grid" d="M{x} {_TOP}V{bottom}"/>')
        parts.append(f'<text class="muted" x="{x}" y="{bottom + 18}" text-anchor="middle">{format_size(size)}</text>')
    parts.append(
        f'<text class="muted" x="{(_LEFT + right) / 2}" y="{bottom + 40}" text-anchor="middle">'
        f"{escape(plot.size_label)}</text>"
    )
    for number, curve in enumerate(plot.curves):
        parts += _draw_curve(curve, number, [place(*point) for point in curve.seconds.items()], right)
    return "\n".join([*parts, "</svg>", ""])


def _draw_curve(curve: Curve, number: int, points: Sequence[tuple[float, float]], right: int) -> list[str]:
    color, dash = _COLORS[number % len(_COLORS)], _DASHES[number // len(_COLORS) % len(_DASHES)]
    path = "M" + "L".join(f"{x} {y}" for x, y in points)
    y = _TOP + 8 + 20 * number
    parts = [
        f'<path class="line" stroke="{color}" stroke-dasharray="{dash}" d="{path}"/>',
        f'<path class="line" stroke="{color}" stroke-dasharray="{dash}" d="M{right + 14} {y}h22"/>',
        f'<text x="{right + 42}" y="{y + 4}">{escape(curve.call)}</text>',
    ]
    bend = curve.find_bend()
    for size, (x, point_y) in zip(curve.seconds, points, strict=True):
        parts.append(f'<circle cx="{x}" cy="{point_y}" r="3" fill="{color}"/>')
        if size == bend:
            parts.append(f'<circle cx="{x}" cy="{point_y}" r="7" class="line" stroke="{color}"/>')
    return parts


def format_seconds(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 0.9999:
            return f"{seconds * scale:,.3g} {unit}"
    return f"{seconds * 1e9:,.3g} ns"


def format_size(size: int) -> str:
    for unit, scale in (("M", 1_000_000), ("k", 1_000)):
        if size >= scale:
            return f"{size / scale:g}{unit}"
    return str(size)
