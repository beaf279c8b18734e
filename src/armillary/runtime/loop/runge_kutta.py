"""The parts of the solver from formulas.py, which lanes use too: stages, error estimates, sums over states.

These are in the order of the lanes.
"""

from __future__ import annotations

from armillary.llvm.building.builder import Span
from armillary.llvm.building.emitter import ADDRESS, REAL
from armillary.runtime.loop.configurations import emit_install
from armillary.runtime.loop.formulas import error_ratios, squares, stages
from armillary.runtime.loop.functions import LoopFunction, LoopModule
from armillary.runtime.loop.redundant.projected import emit_begin, emit_projection
from armillary.runtime.loop.redundant.staggered import emit_staggered


def given_functions(program: LoopModule) -> dict[str, LoopFunction]:
    """Return the functions of the solver that a loop has from formulas.py, and the functions of redundant
    coordinates.
    """
    shape = program.shape
    found: dict[str, LoopFunction] = {}
    if shape.scheme is not None:
        found["begin"] = emit_begin(program)
        if shape.dense:
            found["straighten"] = _emit_straighten(program)
        found["project"] = emit_projection(program) if shape.scheme.kind == "projected" else _idle(program)
    if shape.changes:
        found["install"] = emit_install(program)
    if shape.implicit:
        return found
    staggered = shape.scheme is not None and shape.scheme.kind == "staggered"
    found["stages"] = emit_staggered(program) if staggered else _emit_stages(program)
    if shape.adaptive:
        found |= {"error_ratios": _emit_error_ratios(program), "squares": _emit_squares(program)}
    return found


def _emit_stages(program: LoopModule) -> LoopFunction:
    f = program.function("stages", arguments=(REAL, REAL))
    stages(f, f.argument(2), f.argument(3))
    f.give()
    return f


def _emit_error_ratios(program: LoopModule) -> LoopFunction:
    f = program.function("error_ratios", arguments=(REAL,))
    error_ratios(f, f.argument(2))
    f.give()
    return f


def _emit_squares(program: LoopModule) -> LoopFunction:
    f = program.function("squares", REAL, (ADDRESS,))
    f.give(squares(f, Span(f, f.argument(2).raw)))
    return f


def _emit_straighten(program: LoopModule) -> LoopFunction:
    """Accelerations and multipliers of redundant coordinates: a straight line between the ends of a step."""
    f = program.function("straighten", arguments=(REAL,))
    scheme, base, end = program.shape.scheme, f.vector("base"), f.vector("finish")
    assert scheme is not None
    first, last = f.vector("k0"), f.vector("k_end")
    with f.each(scheme.states - scheme.first_acceleration) as i:
        m = i + scheme.first_acceleration
        first[m] = (end[m] - base[m]) / f.argument(2)
        last[m] = first[m]
    f.give()
    return f


def _idle(program: LoopModule) -> LoopFunction:
    """`project(t)` where a scheme needs none."""
    f = program.function("project", arguments=(REAL,))
    f.give()
    return f
