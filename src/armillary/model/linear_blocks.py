"""Linear systems as blocks: transfer functions, delays by Padé approximants, and matrices A, B, C, D.

A transfer function

    G(s) = (b₀ sⁿ + b₁ sⁿ⁻¹ + … + bₙ) / (sⁿ + a₁ sⁿ⁻¹ + … + aₙ)

has n states in the observer form (Åström and Murray, Feedback Systems (2008), section 7.2):

    y = x₁ + b₀ u        ẋₖ = bₖ u − aₖ y + xₖ₊₁

A delay by T is the diagonal Padé approximant of e^(−sT) of order n (Golub and Van Loan, Matrix Computations,
section 9.3.1). Its modulus is one at all frequencies, and its phase is exact to order 2n in sT:

    N(−sT)/N(sT)        N(p) = Σ cₖ pᵏ        cₖ = (2n − k)! n! / ( (2n)! k! (n − k)! )
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Annotated

import numpy as np

from armillary.algebra.arguments import reals
from armillary.algebra.expression import ZERO, Expr, as_expr, number
from armillary.algebra.functions import with_stated_dimension
from armillary.algebra.units import ONE, TIME, Dimension
from armillary.errors import ModelError
from armillary.model.control_blocks import (
    block_output,
    dimension_of,
    dimension_quotient,
    expressions_of,
    read_positive,
    units_text,
)
from armillary.model.description import Description
from armillary.model.reading.expressions import finite_number, read_expression
from armillary.model.reading.kinds import (
    NUMBERS,
    UNITS,
    Count,
    ExpressionLike,
    ExpressionsLike,
    ListOf,
    Number,
    UnitText,
    Words,
)
from armillary.model.signals import rate, state
from armillary.model.verbs import EntryForm, verb
from armillary.untyped import Given

_MOST = 10  # highest order of a delay: above it coefficients differ by factors of more than 1e9


@verb(EntryForm("blocks", key="transfer_function", argument="input"))
def transfer_function(
    system: Description,
    name: str,
    input: ExpressionLike,
    numerator: ExpressionsLike,
    denominator: ExpressionsLike,
    *,
    units: UnitText | None = None,
    about: Words = "",
) -> Expr:
    """Return the output of a transfer function that starts at rest. Coefficients belong to powers of s, the
    highest power first, as in SciPy: numbers, in seconds, or expressions of parameters. The states are
    ``name_x1``, ….

    ``units`` are the units of the output; without them it has the dimension of the input.
    """
    where = f"transfer function '{name}'"
    u = read_expression(system, input, where)
    above, below = (_polynomial(system, c, where) for c in (numerator, denominator))
    if len(above) > len(below):
        raise ModelError(
            f"{where}: its numerator has a higher order than its denominator, so it differentiates; add "
            "factors (1 + s tau) of small time constants to the denominator"
        )
    order, first = len(below) - 1, below[0]
    above = [ZERO] * (len(below) - len(above)) + above
    dimension = dimension_of(units, u.dimension)
    per_input = dimension_quotient(dimension, u.dimension)
    a = [_per_time(c / first, ONE, k) for k, c in enumerate(below)]
    b = [_per_time(c / first, per_input, k) for k, c in enumerate(above)]
    x = _observer_states(system, name, order, dimension, about, [0.0] * order)
    y = block_output(system, name, b[0] * u + x[0] if x else b[0] * u, dimension)
    for k in range(order):
        following = x[k + 1] if k + 1 < order else ZERO
        rate(system, x[k], b[k + 1] * u - a[k + 1] * y + following)
    return y


@verb(EntryForm("blocks", key="delay", argument="input"))
def delay(
    system: Description,
    name: str,
    input: ExpressionLike,
    time: ExpressionLike,
    *,
    order: Count = 3,
    initial: Number = 0.0,
    units: UnitText | None = None,
    about: Words = "",
) -> Expr:
    """Return a signal delayed by ``time``, by a Padé approximant of an order up to 10. Before the start of a
    run the signal was ``initial``. The output oscillates a little after a step of the signal; it is accurate
    for signals that change little within the delay.
    """
    where = f"delay '{name}'"
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= _MOST:
        raise ModelError(f"{where}: order={order!r} is not a whole number from 1 to {_MOST}")
    u = read_expression(system, input, where, dimension_of(units, None))
    T = read_positive(system, time, f"time of {where}", TIME)
    dimension, initial = dimension_of(units, u.dimension), finite_number(initial, f"initial of {where}")
    a = pade(order)
    b = [c * (-1.0) ** (order - k) for k, c in enumerate(a)]
    # With time in units of T all states have the dimension of the signal. They start where ẋₖ = 0 for
    # y = u = initial.
    start = [(1.0 - b[0]) * initial]
    start += [(a[k] - b[k]) * initial for k in range(1, order)]
    x = _observer_states(system, name, order, dimension, about, start, units, timed=False)
    y = block_output(system, name, b[0] * u + x[0], dimension)
    for k in range(order):
        following = x[k + 1] if k + 1 < order else ZERO
        rate(system, x[k], (b[k + 1] * u - a[k + 1] * y + following) / T)
    return y


def pade(order: int) -> list[float]:
    """Return the coefficients of N(p) for powers n … 0, divided by the first."""
    n = order
    c = [factorial(2 * n - k) / (factorial(k) * factorial(n - k)) for k in range(n + 1)]
    return [c[k] / c[n] for k in reversed(range(n + 1))]


@verb(EntryForm("blocks", key="linear_model", argument="inputs"))
def linear_model(
    system: Description,
    name: str,
    inputs: ExpressionsLike,
    A: Annotated[Given, NUMBERS],
    B: Annotated[Given, NUMBERS] = None,
    C: Annotated[Given, NUMBERS] = None,
    D: Annotated[Given, NUMBERS] = None,
    *,
    initial: Annotated[object, NUMBERS] = None,
    units: Annotated[Sequence[str], ListOf(UNITS)] = (),
    about: Words = "",
) -> tuple[Expr, ...]:
    """Return the outputs of a linear model, ẋ = A x + B u, y = C x + D u; ``name_y1``, … in texts, or the
    name alone for a single output. The matrices are numbers in the model's own units (SI); ``A`` may be an
    object that has all four, such as a result of ``model.linearize`` or a state space of SciPy or
    python-control.

    ``units`` are the units of the outputs, in order; ``initial`` are the states ``name_x1``, … at the start.
    """
    where = f"linear model '{name}'"
    if B is None and hasattr(A, "A"):  # of any library
        A, B, C, D = A.A, A.B, A.C, A.D
    given = expressions_of(system, inputs, where)
    u = [_number_of(node, f"{name}_u{i + 1}") for i, node in enumerate(given)]
    a, b, c, d = _matrices(where, A, B, C, D, len(u))
    if len(units) not in (0, len(c)):
        raise ModelError(f"{where}: it has {len(c)} outputs, but units= are {len(units)}")
    start = np.zeros(len(a)) if initial is None else reals(initial, f"initial of {where}", ModelError)
    if start.shape != (len(a),):
        raise ModelError(f"{where}: initial= must be {len(a)} numbers, not shape {start.shape}")
    x = [
        state(system, f"{name}_x{i + 1}", initial=float(start[i]), units="1", about=about)
        for i in range(len(a))
    ]
    for i, node in enumerate(x):
        rate(
            system,
            node,
            with_stated_dimension(
                _weighted_row(a[i], x) + _weighted_row(b[i], u), ONE / TIME, f"{name}_rate{i + 1}"
            ),
        )
    names = [name] if len(c) == 1 else [f"{name}_y{i + 1}" for i in range(len(c))]
    made = []
    for i, label in enumerate(names):
        dimension = dimension_of(units[i], None) if units else None
        made.append(block_output(system, label, _weighted_row(c[i], x) + _weighted_row(d[i], u), dimension))
    return tuple(made)


def _polynomial(system: Description, coefficients: object, where: str) -> list[Expr]:
    if not isinstance(coefficients, list | tuple | np.ndarray) or not len(coefficients):
        raise ModelError(f"{where}: {coefficients!r} is not a list of coefficients, the highest power first")
    plain = (int, float, np.number)
    found = [
        as_expr(finite_number(c, where)) if isinstance(c, plain) else read_expression(system, c, where)
        for c in coefficients
    ]
    while found and found[0].kind == "number" and found[0].data == 0:
        found.pop(0)
    if not found:
        raise ModelError(f"{where}: all coefficients are zero")
    return found


def _per_time(ratio: Expr, dimension: Dimension | None, power: int) -> Expr:
    """Return a ratio of coefficients; a plain number gets ``dimension`` divided by this power of time."""
    if ratio.kind != "number" or dimension is None:
        return ratio
    return number(float(ratio.data), dimension / TIME**power)


def _observer_states(
    system: Description,
    name: str,
    order: int,
    dimension: Dimension | None,
    about: str,
    start: Sequence[float],
    units: str | None = None,
    *,
    timed: bool = True,
) -> list[Expr]:
    """Return the states in order; with ``timed`` each has the dimension of the rate of the one before."""
    found = []
    for k in range(order):
        own = None if dimension is None else dimension / TIME ** (k if timed else 0)
        text = (units if not timed else None) or units_text(system, own)
        found.append(state(system, f"{name}_x{k + 1}", initial=start[k], units=text, about=about))
    return found


def _number_of(node: Expr, name: str) -> Expr:
    """Return the dimensionless number of an expression in the model's own units."""
    return node if node.dimension in (None, ONE) else with_stated_dimension(node, ONE, name)


def _weighted_row(coefficients: np.ndarray, symbols: Sequence[Expr]) -> Expr:
    return sum((float(c) * s for c, s in zip(coefficients, symbols, strict=True) if c), ZERO)


def _matrices(where: str, A: object, B: object, C: object, D: object, inputs: int) -> tuple[np.ndarray, ...]:
    """Return A, B, C and D as arrays of matching shapes."""
    a = np.atleast_2d(reals(A, f"A of {where}", ModelError))
    n = len(a)
    if a.shape != (n, n):
        raise ModelError(f"{where}: A must be square, not of shape {a.shape}")
    b = np.zeros((n, inputs)) if B is None else reals(B, f"B of {where}", ModelError)
    b = b.reshape(n, 1) if b.ndim == 1 and inputs == 1 and b.size == n else np.atleast_2d(b)
    c = np.eye(n) if C is None else np.atleast_2d(reals(C, f"C of {where}", ModelError))
    d = np.zeros((len(c), inputs)) if D is None else np.atleast_2d(reals(D, f"D of {where}", ModelError))
    for letter, matrix, shape in (("B", b, (n, inputs)), ("C", c, (len(c), n)), ("D", d, (len(c), inputs))):
        if matrix.shape != shape:
            raise ModelError(
                f"{where}: {letter} has shape {matrix.shape}, but {n} states, {inputs} inputs and {len(c)} "
                f"outputs need {shape}"
            )
        if not np.all(np.isfinite(matrix)):
            raise ModelError(f"{where}: {letter} holds a number that is not finite")
    return a, b, c, d
