"""Functions that texts may call besides the mathematical ones, and how many arguments a function takes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

from armillary.algebra import vectors as vec
from armillary.algebra.expression import number
from armillary.errors import ModelError, shown
from armillary.model.bodies import motion
from armillary.model.loads import laws
from armillary.untyped import AnyFunction, Given

_MOST_ARGUMENTS = 255

MODEL_FUNCTIONS: dict[str, tuple[AnyFunction, Given]] = {
    "dot": (vec.dot, 2),
    "cross": (vec.cross, 2),
    "magnitude": (vec.magnitude, 1),
    "direction": (vec.direction, 1),
    "project": (vec.project, 2),
    "angle": (vec.angle, (2, 3)),
    "position": (motion.position, (1, 2)),
    "velocity": (motion.velocity, (1, 2)),
    "acceleration": (motion.acceleration, 1),
    "angular_velocity": (motion.angular_velocity, (1, 2)),
    "angular_acceleration": (motion.angular_acceleration, 1),
    "time_derivative": (motion.time_derivative, 1),
    "contact_force": (laws.contact_force, (3, 5)),
    "friction_force": (laws.friction_force, (4, 6)),
}


def giving_nodes(function: Callable[..., object]) -> AnyFunction:
    """The function with plain numbers made expressions: the dot product of two axes of one body is 0 or 1."""

    def called(*arguments: object) -> Given:
        found = function(*arguments)
        return number(found) if isinstance(found, int | float) else found

    return called


def count_arguments(function: Callable[..., object]) -> Given:
    """Number of arguments, or the least and the greatest number."""
    known = getattr(function, "arity", None)
    if known is not None:
        return known
    try:
        kinds = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return (0, math.inf)
    if any(p.kind is p.VAR_POSITIONAL for p in kinds):
        return (0, math.inf)
    places = [p for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty]
    return len(places) if len(needed) == len(places) else (len(needed), len(places))


def stated_arguments(function: Callable[..., object], arity: object, name: str) -> Given:
    """Number of arguments as a user states it, else as it is found."""
    if arity is None:
        return count_arguments(function)
    if isinstance(arity, bool) or not isinstance(arity, int) or not 0 <= arity <= _MOST_ARGUMENTS:
        raise ModelError(f"function '{name}': arity={shown(arity)} is not a number of arguments")
    return arity


def argument_range(function: Callable[..., object]) -> tuple[float, float]:
    """The least and the greatest number of arguments."""
    count = count_arguments(function)
    return (count, count) if isinstance(count, int) else count
