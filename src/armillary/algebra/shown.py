"""Intermediate values that the generated program shows by name, however often they are used."""

from __future__ import annotations

from typing import Any

from armillary.algebra.expression import Expr
from armillary.algebra.node import intern


class Shown(str):
    """The name of an intermediate value that is not dissolved into its user."""


def shown(x: Any, name: str) -> Any:
    """An intermediate value with a line of its own; numbers, arrays and constants stay as they are."""
    if not isinstance(x, Expr) or x.constant:
        return x
    return intern(Expr, "let", (x,), Shown(name), x.dimension, ("let", x, name))
