"""Values inside the step just taken; the polynomial is in tableau.py."""

from __future__ import annotations

from armillary.llvm.building.emitter import REAL
from armillary.runtime.loop.formulas import dense_coefficients, dense_state
from armillary.runtime.loop.functions import LoopFunction, LoopModule


def emit_prepare(program: LoopModule) -> LoopFunction:
    """Emit `prepare()`: the coefficients F of the step just taken, computed once, when a value is requested.

    If kₛ was needed for the error (dopri5), it belongs to the state before normalisation.
    """
    f = program.function("prepare")
    with f.when(f["prepared"].equals(1)):
        f.give()
    f["prepared"] = 1
    dense_coefficients(f, f["t_old"], f["h_taken"], f.vector("finish"), f.vector("point"))
    f.give()
    return f


def emit_probe(program: LoopModule, across: LoopFunction | None) -> LoopFunction:
    """`probe(x)`: the state at t_old + x, into the vector `point`, normalised; ``across`` finds it in a step
    across a place where rank is lost.

    Never inlined: an event is located and then fired on exactly the same bits.
    """
    prepare = emit_prepare(program)
    f = program.function("probe", arguments=(REAL,))
    f.function.attributes.append("noinline")
    f.internal(prepare)
    point = f.vector("point")
    theta = f.argument(2) / f["h_taken"]
    if across is not None:
        with f.when(f["passing"].equals(1)):
            f.internal(across, theta)
            f.normalise(f["t_old"] + f.argument(2), point)
            f.give()
    dense_state(f, theta, point)
    f.normalise(f["t_old"] + f.argument(2), point)
    f.give()
    return f
