"""
The colours of charts can be told apart, also by those who lack one of the three kinds of cones.

The simulation is that of Machado, Oliveira and Fernandes (2009) for the absence of a kind; distances are in Oklab.
"""

import math
import re
from itertools import combinations

import pytest

from tools.page import WEB

Colour = tuple[float, float, float]
Matrix = tuple[Colour, Colour, Colour]

#: a distance that is seen at a glance between two areas that touch
MIN_DISTANCE = 0.1
VISIONS: dict[str, Matrix] = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
_LMS: Matrix = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_OKLAB: Matrix = (
    (0.2104542553, 0.793617785, -0.0040720468),
    (1.9779984951, -2.428592205, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.808675766),
)


def read_series(theme: str) -> dict[str, str]:
    """Return the colours of a theme by their names."""
    light, dark = (WEB / "src" / "styles" / "tokens.css").read_text().split('[data-theme="dark"]')
    return dict(re.findall(r"(--series-\w+): (#[0-9a-f]{6});", light if theme == "light" else dark))


def to_linear(text: str) -> Colour:
    red, green, blue = (int(text[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return _linearise(red), _linearise(green), _linearise(blue)


def _linearise(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def multiply(matrix: Matrix, colour: Colour) -> Colour:
    first, second, third = (sum(a * b for a, b in zip(row, colour, strict=True)) for row in matrix)
    return first, second, third


def to_oklab(colour: Colour) -> Colour:
    first, second, third = (math.cbrt(min(1.0, max(0.0, value))) for value in multiply(_LMS, colour))
    return multiply(_OKLAB, (first, second, third))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISIONS)
def test_two_series_never_look_alike(theme: str, vision: str) -> None:
    series = read_series(theme)
    assert len(series) == 7
    seen = {name: to_oklab(multiply(VISIONS[vision], to_linear(text))) for name, text in series.items()}
    close = {(a, b): math.dist(seen[a], seen[b]) for a, b in combinations(seen, 2)}
    assert [pair for pair, distance in close.items() if distance < MIN_DISTANCE] == []
