"""The update of the figure of a live page by sliders of parameters.

Lengths, places and sizes of drawn parts are numbers in the figure. For each slider they are computed at its
two ends; between these and the value of the start the page moves along straight lines, and the changes of
several sliders add up. That is exact where a place is proportional to a length, and a picture elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from armillary.errors import ArmillaryError
from armillary.program.equations import DerivedEquations
from armillary.untyped import DataMapping
from armillary.viewer.figures import bodies_of
from armillary.viewer.live.controls import PARAMETERS, Slider

_PARTS = ("bodies", "ground", "springs")  # of a figure, in the order in which the page counts its numbers
_SHARES = (1.0, 0.5, 0.1)  # of the way to a limit: at a limit itself a body may have no mass
_SAME = 1e-9


def variants(
    equations: DerivedEquations,
    values: Mapping[str, float],
    figure: DataMapping,
    sliders: Sequence[Slider],
) -> dict[str, list[list[float]]]:
    """For each slider the numbers that it changes: [which, its change at the lower limit, at the upper]."""
    if figure["meshes"].found:
        return {}  # pictures from files, which no parameter changes
    start = list(_numbers([figure[part] for part in _PARTS]))
    found = {}
    for slider in sliders:
        if slider.kind != PARAMETERS:
            continue
        ends = [_changes(equations, values, start, slider, limit) for limit in (slider.low, slider.high)]
        scale = _SAME * max(map(abs, start), default=0.0)
        changed = [
            [i, a, b] for i, (a, b) in enumerate(zip(*ends, strict=True)) if max(abs(a), abs(b)) > scale
        ]
        if changed:
            found[slider.name] = changed
    return found


def _changes(
    equations: DerivedEquations, values: Mapping[str, float], start: list[float], slider: Slider, limit: float
) -> list[float]:
    for share in _SHARES:
        value = slider.value + share * (limit - slider.value)
        try:
            figure = bodies_of(equations, {**values, slider.name: value})
        except ArmillaryError:
            continue
        there = list(_numbers([figure[part] for part in _PARTS]))
        if len(there) == len(start):
            return [(b - a) / share for a, b in zip(start, there, strict=True)]
    return [0.0] * len(start)


def _numbers(content: object) -> Iterator[float]:
    """All numbers in lists and tables, in their order."""
    if isinstance(content, Mapping):
        for item in content.values():
            yield from _numbers(item)
    elif isinstance(content, list | tuple):
        for item in content:
            yield from _numbers(item)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield float(content)
