"""Where a ready beam or plate stands in its body: an origin, the direction along it, and one across."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from armillary.errors import ModelError
from armillary.model.flexible.checks import numbers
from armillary.model.flexible.part import Array
from armillary.model.reading.kinds import NUMBERS, WORDS, Either
from armillary.untyped import Given

Direction = Annotated[Given, Either((WORDS, NUMBERS))]  # "x", "-y", …, or three components
_NAMED = {name: np.eye(3)[i] for i, name in enumerate("xyz")}


def direction(value: object, where: str, what: str) -> Array:
    """A unit vector: "x", "-y", …, or three components."""
    if isinstance(value, str):
        axis = _NAMED.get(value[1:] if value[:1] in ("+", "-") else value)
        if axis is None:
            raise ModelError(f"{where}: {what}={value!r} is not an axis; give x, y, z, -x, … or a vector")
        found: Array = -axis if value.startswith("-") else axis
        return found
    vector = numbers(value, where, what, (3,))
    size = float(np.linalg.norm(vector))
    if size == 0:
        raise ModelError(f"{where}: {what} is the zero vector and has no direction")
    return vector / size


def local_axes(along: object, across: object, where: str) -> Array:
    """Axes as columns: x ``along``, y the part of ``across`` at right angles to it, z = x × y.

    Without ``across`` it is the first of the body's y, z and x that does not stand along.
    """
    first = direction(along, where, "along")
    if across is None:
        second = next(_NAMED[name] for name in "yzx" if abs(_NAMED[name] @ first) < 0.9)
    else:
        second = direction(across, where, "across")
    second = second - first * (first @ second)
    size = float(np.linalg.norm(second))
    if size < 1e-9:
        raise ModelError(f"{where}: across stands along the same line as along; give another direction")
    second = second / size
    return np.column_stack([first, second, np.cross(first, second)])


def turned(axes: Array, shapes: Array) -> Array:
    """Shapes n × 6 × N (or displacements n × 3 × …) from local to body axes."""
    whole = [np.tensordot(shapes[:, half], axes, ([1], [1])) for half in (slice(3), slice(3, 6))]
    return np.concatenate([np.moveaxis(part, -1, 1) for part in whole if part.size], axis=1)
