"""Intermediate values: computed once and opaque to simplification; shown in listings, measured, settled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

from armillary.algebra.expression import Expr, number
from armillary.algebra.node import intern, negate
from armillary.algebra.units import ONE, Dimension

_LONG = 24  # terms of a constant sum
_TRIVIAL = frozenset(("number", "symbol", "let", "call"))


class Signed(str):
    """The name of an intermediate value that a user has given: it stands for that value, sign and all."""


def let(definition: Expr, name: str = "z") -> Expr:
    """An intermediate value: opaque to simplification, computed once. Trivial definitions pass through.

    A negative product becomes the negated value of the positive product, unless its name is ``Signed``.
    """
    kind = definition.kind
    if definition.constant or kind in _TRIVIAL:
        return definition
    if kind == "product":
        coefficient, exponents = definition.data
        if coefficient < 0 and not isinstance(name, Signed):
            return negate(let(negate(definition), name))
        if coefficient == 1 and exponents == (1,) and definition.unit is ONE:
            return let(definition.args[0], name)
        if len(exponents) == 1 and exponents[0] == 1 and definition.args[0].kind != "sum":
            return definition  # a number times an atom: leave the number visible to later folding
    return _intermediate(definition, name, None)


def with_smallness(definition: Expr, smallness: float, name: str = "z") -> Expr:
    """An intermediate value of a declared order of smallness, whatever the order of its definition."""
    return _intermediate(definition, name, smallness)


# Within one derivation a value has one name, the first that it was given. The names of other derivations do
# not matter: what is derived must not depend on what was derived before.
_Names = dict[Any, "Expr"]  # by definition, or by that and the declared order of smallness
_INTERMEDIATES: ContextVar[_Names | None] = ContextVar("intermediates", default=None)


@contextmanager
def own_intermediates(known: _Names | None = None) -> Iterator[None]:
    """Meanwhile every intermediate value keeps the first name that it is given."""
    before = _INTERMEDIATES.set(known or {})
    try:
        yield
    finally:
        _INTERMEDIATES.reset(before)


def trial_intermediates() -> AbstractContextManager[None]:
    """As ``own_intermediates``, with the names given so far; those given meanwhile are forgotten."""
    return own_intermediates(dict(_INTERMEDIATES.get() or {}))


def _intermediate(definition: Expr, name: str, smallness: float | None) -> Expr:
    known = _INTERMEDIATES.get()
    value = definition if smallness is None else (definition, smallness)
    found = None if known is None else known.get(value)
    if found is None:
        key = (definition, name, smallness)
        found = intern(Expr, "let", (definition,), name, definition.dimension, key, smallness)
        if known is not None:
            known[value] = found
    return found


class KeptName(str):
    """The name of an intermediate value that is not dissolved into its user."""


def keep_visible(definition: Expr, name: str) -> Expr:
    """An intermediate value with a separate line in the generated program, however often it is used."""
    if definition.constant:
        return definition
    return intern(Expr, "let", (definition,), KeptName(name), definition.dimension, ("let", definition, name))


def with_definition(value: Expr, definition: Expr) -> Expr:
    """An intermediate value with another definition."""
    name = value.data
    if value.smallness != value.args[0].smallness:
        return with_smallness(definition, value.smallness, name)
    if definition.kind == "sum" and type(name) is str and not definition.constant:  # most often
        return _intermediate(definition, name, None)
    return keep_visible(definition, name) if isinstance(name, KeptName) else let(definition, name)


def with_stated_dimension(x: Expr | float, dimension: Dimension, name: str) -> Expr:
    """An intermediate value of this dimension, where the numbers in it hide what units they have."""
    if not isinstance(x, Expr) or x.kind == "number":
        return number(x.data if isinstance(x, Expr) else x, dimension)
    return intern(Expr, "let", (x,), name, dimension, ("let", x, name, dimension))


def freeze_long_sum(definition: Expr, name: str = "k") -> Expr:
    """A constant sum that has grown long, closed to further opening, so that chains stay linear."""
    if definition.kind != "sum" or len(definition.args) <= _LONG:
        return definition
    return _intermediate(definition, name, None)
