"""Intermediate values with a purpose beyond ``let``: shown in listings, measured in units, settled."""

from __future__ import annotations

from typing import Any

from armillary.algebra.expression import Expr, _node, number
from armillary.algebra.units.dimension import Dimension


class Shown(str):
    """The name of an intermediate value that is not dissolved into its user."""


def shown(definition: Expr, name: str) -> Expr:
    """An intermediate value with a line of its own in the generated program, however often it is used."""
    if definition.constant:
        return definition
    return _node("let", (definition,), Shown(name), definition.dimension, ("let", definition, name))


def measured(x: Any, dimension: Dimension, name: str) -> Expr:
    """An intermediate value of this dimension, where the numbers in it hide what units they have."""
    if not isinstance(x, Expr) or x.kind == "number":
        return number(x.data if isinstance(x, Expr) else x, dimension)
    return _node("let", (x,), name, dimension, ("let", x, dimension))


def settled(definition: Expr, name: str = "k", length: int = 24) -> Expr:
    """A constant sum that has grown long, closed to further opening, so that chains stay linear."""
    if definition.kind != "sum" or len(definition.args) <= length:
        return definition
    return _node("let", (definition,), name, definition.dimension, ("let", definition))
