"""State feedback: inputs of a plant as linear functions of its states, with gains that are parameters.

    u = u₀ − K (x − x₀)

K comes from pole placement, from a Riccati equation (LQR) or from a fit. Its elements are parameters, so runs
may change them, batches vary them, and sensitivities and fits take them as any other. With K = 0 the loop is
open: the same model gives the linear model from which K is found.

Source: Åström and Murray, Feedback Systems (2008), section 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, SupportsFloat

import numpy as np

from armillary.algebra.arguments import reals
from armillary.algebra.expression import Expr
from armillary.algebra.units import parse_unit
from armillary.errors import ModelError
from armillary.model.description import Description
from armillary.model.reading.argument_types import ExpressionsLike, GivenMatrix, Words
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import NUMBERS, UNITS, ListOf
from armillary.model.reading.names import declare_parameter
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.signals.control.signals import (
    block_output,
    coefficient,
    expressions_of,
    quotient,
    units_text,
)


@verb(EntryForm("blocks", key="feedback", argument="states"))
def feedback(
    system: Description,
    name: str,
    K: Annotated[GivenMatrix | SupportsFloat, NUMBERS],
    states: ExpressionsLike,
    *,
    units: Annotated[Sequence[str], ListOf(UNITS)],
    reference: ExpressionsLike = (),
    feedforward: ExpressionsLike = (),
    about: Words = "",
) -> tuple[Expr, ...]:
    """Inputs u = u₀ − K (x − x₀) from states x, in order: ``name_u1``, … in texts, or the name alone where
    there is one. K is a matrix with a row per input, in the model's own units (SI), or 0 for an open loop.

    Its elements are parameters, ``name_k1``, … row by row, that runs may set. ``units`` are those of the
    inputs; ``reference`` x₀ and ``feedforward`` u₀ are expressions, zero where they are left out. ``about``
    is part of the description of each gain.
    """
    where = f"feedback '{name}'"
    if isinstance(units, str):
        raise ModelError(f"{where}: units= is a list with those of each input, such as ['N']")
    x = expressions_of(system, states, where)
    if not x or not len(units):
        raise ModelError(f"{where}: it needs at least one state and the units of at least one input")
    gains = _gains(where, K, len(units), len(x))
    for what, given, wanted in (("reference", reference, len(x)), ("feedforward", feedforward, len(units))):
        if len(given) not in (0, wanted):
            raise ModelError(f"{where}: {what}= must be {wanted} expressions, not {len(given)}")
    off = [
        s - read_expression(system, value, f"reference of {where}", s.dimension)
        for s, value in zip(x, reference or [0.0] * len(x), strict=True)
    ]
    made = []
    for i, unit in enumerate(units):
        dimension = parse_unit(unit).dimension
        u = coefficient(system, feedforward[i] if feedforward else 0.0, f"feedforward of {where}", dimension)
        for j, s in enumerate(off):
            label = f"{name}_k{i * len(x) + j + 1}"
            if label not in system.parameters:  # a text model has read its value already
                kind = quotient(dimension, s.dimension)
                words = f"gain of {name} for {x[j]}" + (f": {about}" if about else "")
                declare_parameter(system, label, kind, words, float(gains[i, j]), units_text(system, kind))
            u = u - system.parameters[label] * s
        made.append(block_output(system, name if len(units) == 1 else f"{name}_u{i + 1}", u, dimension))
    return tuple(made)


def _gains(where: str, K: object, inputs: int, states: int) -> np.ndarray:
    found = reals(K, f"K of {where}", ModelError)
    if found.ndim == 0 and found == 0.0:
        return np.zeros((inputs, states))
    found = np.atleast_2d(found)
    if found.shape != (inputs, states):
        raise ModelError(
            f"{where}: K has shape {found.shape}, but {inputs} inputs and {states} states need "
            f"({inputs}, {states})"
        )
    if not np.all(np.isfinite(found)):
        raise ModelError(f"{where}: K holds a number that is not finite")
    return found
