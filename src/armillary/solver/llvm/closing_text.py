"""The LLVM code of closing_code.py, made only if the cache does not have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan

from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import ADDRESS, NOTHING, REAL, WHOLE, Callee, FunctionType
from armillary.llvm.building.routines import RecordFunction, RecordModule
from armillary.solver.language.language import CLOSED, NOT_REDUNDANT, OPEN
from armillary.solver.language.translator import read_assembly
from armillary.solver.llvm.closing_layout import (
    ADDRESSES,
    FIELDS,
    LOOP_FEATURES,
    REALS,
    SIZES,
    TABLES,
    WHOLE_TABLES,
)
from armillary.solver.llvm.machine_code import SolverCode

_GEOMETRY = FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS))
_WANTED = ("close_loops", "stays_redundant", "agree_speeds", "constraints_hold")


def loop_module() -> RecordModule:
    """Return the whole code; its visible functions are armillary_close_many(records, workspace, count,
    length) and armillary_check(record, workspace).
    """
    program = RecordModule(FIELDS, REALS, ADDRESSES)
    solver = read_assembly(LOOP_FEATURES, _WANTED, commented=False)
    code = SolverCode(
        program,
        solver,
        sizes={
            **{name: name for name in SIZES},
            **{"Places": "N_COORDINATES", "Figures": "figures", "Sides": "sides"},
        },
        known={},
        tables={name: _table_entry(name) for name in TABLES},
        model={"loop_figures": _call_geometry},
        given={},
        rare=solver.functions.keys(),  # inlining them would take LLVM five times the time
    )
    close, redundant, agree, hold = (code.function(name) for name in _WANTED)
    _emit_many(program, _emit_start(program, close, redundant, agree))
    _emit_check(program, hold)
    return program


def _table_entry(name: str) -> Callable[[RecordFunction, Value], Value]:
    def entry(f: RecordFunction, k: Value) -> Value:
        found = f.outside("tables")[f[name] + k]
        return found.to_whole() if name in WHOLE_TABLES else found.differs(0.0)

    return entry


def _call_geometry(f: RecordFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    """Compute gaps, known parts, elements of J and elements of N, each times its scale.

    When no evaluations are left, the first gap becomes NaN, which ends the search.
    """
    t, place = given
    assert isinstance(t, Value) and isinstance(place, Span)
    arguments = (t.raw, place.address, f["constants"].raw, f["memory"].raw, targets[0].address)
    f["patience"] = f["patience"] - 1
    f.builder.call(Callee(_GEOMETRY, f["geometry"].raw.name), arguments)
    with f.when(f["patience"] < 0):
        targets[0][f.whole(0)] = nan
    scales = f.outside("scales")
    with f.each(f["scaled"]) as m:
        targets[0][m] = targets[0][m] * scales[m]


def _emit_start(
    program: RecordModule, close: RecordFunction, redundant: RecordFunction, agree: RecordFunction
) -> RecordFunction:
    """Emit one start: close loops, check redundant rows, adjust speeds if needed; `status` is the outcome."""
    f: RecordFunction = program.function("start")
    n, m, gaps = f["N_COORDINATES"], f["N_SPEEDS"], f["N_GAPS"]
    q, u, flags, sizes = (f.outside(name) for name in ("q", "u", "flags", "scales"))
    speed_size, gap_size = f["scaled"], f["scaled"] + m
    with f.each(n) as k:
        f.vector("start")[k] = q[k]
        f.vector("given")[k] = flags[k]
    with f.each(gaps) as k:
        for name in ("numbers", "there"):
            f.vector(name)[f["AT_SIZES"] + k] = sizes[gap_size + k]
    f.internal(close)
    with f.when(f["status"].equals(CLOSED) & f["redundant"].differs(0)), f.when(~f.internal(redundant)):
        f["status"] = NOT_REDUNDANT
    left_over = f.outside("left_over")
    with f.when(f["status"].equals(OPEN)), f.each(gaps) as k:
        left_over[k] = f.vector("numbers")[k]
    with f.when(f["status"].equals(CLOSED) & f["agreeing"].differs(0)):
        with f.each(m) as j:
            f.vector("speed")[j] = u[j] / sizes[speed_size + j]
            f.vector("fixed")[j] = flags[n + j]
        f.internal(agree)
        with f.each(f["N_ROWS"]) as i:
            left_over[i] = f.vector("broken")[i]
        with f.when(f["status"].equals(CLOSED)), f.each(m) as j:
            u[j] = u[j] + sizes[speed_size + j] * f.vector("change")[j]
    with f.when(f["status"].equals(CLOSED)), f.each(n) as k:
        q[k] = f.vector("place")[k]
    f.give()
    return f


def _emit_check(program: RecordModule, hold: RecordFunction) -> None:
    """Emit a check whether all constraints hold at coordinates and speeds: the status is CLOSED or OPEN."""
    f: RecordFunction = program.function("check")
    f.function.linkage = ""
    q, u, sizes = (f.outside(name) for name in ("q", "u", "scales"))
    with f.each(f["N_COORDINATES"]) as k:
        f.vector("place")[k] = q[k]
    with f.each(f["N_SPEEDS"]) as j:
        f.vector("speed")[j] = u[j] / sizes[f["scaled"] + j]
    f["status"] = OPEN
    with f.when(f.internal(hold)):
        f["status"] = CLOSED
    f.give()


def _emit_many(program: RecordModule, start: RecordFunction) -> None:
    """Emit a loop that computes the starts of several records, one after the other."""
    f: RecordFunction = program.function("close_many", arguments=(WHOLE, WHOLE))
    f.function.linkage = ""
    with f.each(f.argument(2)) as r:
        record = f.builder.place(f.control, (r * f.argument(3)).raw, WHOLE)
        f.builder.call(start.function.callee, [record, f.workspace])
    f.give()
