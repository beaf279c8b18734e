"""Hard points of an axle: numbers, or parameters of the model where derivatives by them are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar

Place: TypeAlias = tuple[Scalar, Scalar, Scalar]


class HardPoints:
    """Places of an axle's left side in the frame of its chassis, in metres, mirrored for the right side.

    vary  names of the points that become parameters AXLE_POINT_x, _y, _z, which both sides share, or "all".
          Numbers make smaller equations: a car with all points as parameters has a quarter more operations
          and takes three times as long to derive.

    With all coordinates zero the suspension is at its hard points, whatever their values: lengths of links
    follow from them.
    """

    def __init__(
        self,
        system: arm.System,
        axle: str,
        places: Mapping[str, Sequence[float]],
        *,
        side: int = 1,
        vary: Iterable[str] = (),
    ) -> None:
        if side not in (1, -1):
            raise arm.ModelError(f"{axle}: side={side!r} is not known; use 1 for left and -1 for right")
        self.axle, self.side = axle, side
        chosen = set(places) if vary == "all" else set(vary)
        unknown = chosen - set(places)
        if unknown:
            raise arm.ModelError(
                f"{axle}: there is no hard point {sorted(unknown)[0]!r}; known are {', '.join(places)}"
            )
        self._places = {
            name: _place(system, axle, name, place, name in chosen) for name, place in places.items()
        }

    def __getitem__(self, name: str) -> Place:
        try:
            x, y, z = self._places[name]
        except KeyError:
            raise arm.ModelError(
                f"{self.axle}: the hard point {name!r} is missing; given are {', '.join(self._places)}"
            ) from None
        return x, self.side * y, z

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def between(self, start: str, end: str) -> Place:
        """Return the vector from one point to another."""
        a, b = self[start], self[end]
        return b[0] - a[0], b[1] - a[1], b[2] - a[2]

    def distance(self, start: str, end: str) -> Scalar:
        """Return the distance of two points."""
        x, y, z = self.between(start, end)
        square = x * x + y * y + z * z
        if not isinstance(square, arm.Expr) and square < 1e-12:
            raise arm.ModelError(f"{self.axle}: the hard points {start!r} and {end!r} are one place")
        return arm.sqrt(square)


def _place(system: arm.System, axle: str, name: str, place: Sequence[float], vary: bool) -> Place:
    if len(place) != 3:
        raise arm.ModelError(f"{axle}: hard point {name!r} must have three coordinates, not {len(place)}")
    numbers = [float(value) for value in place]
    if not vary:
        return numbers[0], numbers[1], numbers[2]
    found = []
    for letter, value in zip("xyz", numbers, strict=True):
        label = f"{axle}_{name}_{letter}"
        known = system.parameters
        found.append(
            known[label]
            if label in known
            else system.parameter(label, value, units="m", about=f"{letter} of {name} of the {axle} axle")
        )
    return found[0], found[1], found[2]
