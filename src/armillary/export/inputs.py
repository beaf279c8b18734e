"""Inputs over time in exported code: each becomes a lookup table of the time, with its data beside the code.

Every language has lookup tables, so all of them follow. The solvers of exported programs end a step where
data jump, and methods that choose their steps where data bend, as in the process.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armillary.algebra.arguments import table
from armillary.algebra.expression import Expr
from armillary.algebra.tables import Piecewise
from armillary.algebra.walk import transform
from armillary.errors import ParameterError
from armillary.program.equations import DerivedEquations
from armillary.program.program import ProgramSection, section
from armillary.runtime.inputs.reading import APART, DrivenInputs, driven_inputs, read_inputs
from armillary.runtime.inputs.signal import Signal, SignalPieces
from armillary.settings import RunSettings
from armillary.untyped import DataTable


def with_inputs(equations: DerivedEquations, inputs: object, *, single: bool = False) -> DerivedEquations:
    """Equations whose inputs with data are functions of the time; ``single``: of one in single precision."""
    system, program = equations.system, equations.program
    functions = [name for name, value in _input_tables(inputs).items() if _is_function(value)]
    if functions:
        raise ParameterError(
            f"input '{functions[0]}': an export needs points, not a function; sample it with "
            "arm.Signal.sampled(function, t_end, every=…)"
        )
    signals = read_inputs(system, inputs, RunSettings(0.0))
    for name, signal in signals.items():
        if signal.runs is not None:
            raise ParameterError(f"input '{name}' has data for {signal.runs} runs; an export takes one run's")
    data = driven_inputs(system, signals)
    if single:
        data = DrivenInputs(system, signals, {name: _in_single(p) for name, p in data.pieces.items()})
    pieces = data.pieces
    places = {name: i for i, name in enumerate(system.memories)}
    known = [(program.memory[places[name]], _lookup(name, p, program.time)) for name, p in pieces.items()]
    return with_tables(equations, tuple(known), _stops(data))


def with_tables(
    equations: DerivedEquations, tabled: tuple[tuple[Expr, Expr], ...], stops: tuple[tuple[float, bool], ...]
) -> DerivedEquations:
    """Equations of any configuration with these inputs as functions of the time."""
    program, known = equations.program, dict(tabled)

    def drive_section(old: ProgramSection) -> ProgramSection:
        renews = old.name.startswith(("update", "fire"))  # what they keep of an input is its memory
        results = [
            r if renews and r in known else new
            for r, new in zip(old.results, transform(old.results, known.get), strict=True)
        ]
        return section(old.name, old.labels, results)

    names = ("derivatives", "outputs", "events", "update", "correct", "geometry")
    made: DataTable = {name: drive_section(getattr(program, name)) for name in names}
    several = ("fire", "stepping", "changes", "partial_rates")
    made |= {name: tuple(drive_section(s) for s in getattr(program, name)) for name in several}
    made |= {"stops": stops, "tabled": tabled}
    return replace(equations, program=replace(program, **made))


def _stops(data: DrivenInputs) -> tuple[tuple[float, bool], ...]:
    """Return times at which steps end, and whether a value jumps there; merge times equal up to rounding."""
    jumps, bends = data.breaks()
    times = np.union1d(jumps, bends)
    times = times[np.diff(times, prepend=-np.inf) > APART * np.max(np.abs(times), initial=0.0)]
    return tuple((float(t), bool(np.any(np.isclose(jumps, t, rtol=APART, atol=0.0)))) for t in times)


def _input_tables(inputs: object) -> DataTable:
    return table(inputs, "inputs=", ParameterError) if isinstance(inputs, dict) else {}


def _is_function(value: object) -> bool:
    # What has coordinates is a DataArray of xarray, which need not be installed.
    return callable(value) and not isinstance(value, Signal) and not hasattr(value, "coords")


def _in_single(pieces: SignalPieces) -> SignalPieces:
    """Pieces for times in single precision: the last one begins as shortly after the last instant as these
    can be, for one rounding of double precision later is the same number.
    """
    breaks = pieces.breaks.copy()
    if pieces.after_last:
        breaks[-1] = np.nextafter(np.float32(breaks[-1]), np.float32(np.inf))
    return replace(pieces, breaks=breaks)


def _lookup(name: str, pieces: SignalPieces, time: Expr) -> Expr:
    """Return the table of an input at the time; after the last instant one more piece holds the
    last value.
    """
    breaks = np.append(pieces.breaks, pieces.breaks[-1] + 1.0)
    end = "clamp" if np.any(pieces.coefficients[0]) or np.any(pieces.coefficients[-1]) else "zero"
    found = Piecewise(name, [breaks], pieces.coefficients[1:], [end], [None], None)
    value: Expr = found(time)
    return value
