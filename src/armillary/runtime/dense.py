"""Values inside the step just taken; the polynomial is in tableau.py."""

from __future__ import annotations

from armillary.runtime.code import REAL
from armillary.runtime.frame import Frame, Program
from armillary.runtime.steps import combine, weighted


def emit_prepare(program: Program) -> Frame:
    """The coefficients F of the step just taken, computed once and only when a value is asked for.

    Where kₛ was needed for the error (dopri5), it is that of the state before normalisation.
    """
    f = program.function("prepare")
    shape, tableau = program.shape, program.shape.tableau
    with f.when(f["prepared"].equals(1)):
        f.give()
    f["prepared"] = 1
    h = f["h_taken"]
    base, point = f.vector("base"), f.vector("point")
    for i, (c, weights) in enumerate(zip(tableau.extra_c, tableau.extra_a, strict=True), tableau.stages + 1):
        combine(f, base, h, weights, point)
        f.derivatives(f["t_old"] + c * h, point, f.vector(f"k{i}"))
    first, last = f.vector("k0"), f.vector(f"k{tableau.stages}")
    end = f.vector("end")
    F = [f.vector(f"F{i}") for i in range(shape.dense_vectors)]
    with f.each(shape.states) as m:
        rise = end[m] - base[m]
        bend = h * first[m] - rise
        F[0][m] = rise
        F[1][m] = bend
        F[2][m] = rise - h * last[m] - bend
        for vector, weights in zip(F[3:], tableau.dense, strict=True):
            vector[m] = h * weighted(f, weights, m)
    f.give()
    return f


def emit_probe(program: Program, prepare: Frame) -> Frame:
    """`probe(x)`: the state at t_old + x, into the vector `point`, normalised.

    Never inlined: an event is located and then fired on exactly the same bits.
    """
    f = program.function("probe", arguments=(REAL,))
    f.function.attributes.add("noinline")
    f.internal(prepare)
    theta = f.argument(2) / f["h_taken"]
    factors = [theta, 1.0 - theta]
    base, point = f.vector("base"), f.vector("point")
    F = [f.vector(f"F{i}") for i in range(program.shape.dense_vectors)]
    with f.each(program.shape.states) as m:
        nest = F[-1][m]
        for i in reversed(range(1, len(F))):
            nest = F[i - 1][m] + factors[i % 2] * nest
        point[m] = base[m] + theta * nest
    f.normalise(f["t_old"] + f.argument(2), point)
    f.give()
    return f
