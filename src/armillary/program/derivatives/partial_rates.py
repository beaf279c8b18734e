"""Programs with the partial derivatives of their rates, for linearly implicit methods.

    ∂f/∂y and ∂f/∂t    of ẏ = f(t, y)

The state y is that of a run, with dependent coordinates and Euler parameters. Small systems have all columns
of ∂f/∂y, each an exact tangent of the rates along one state (algebra/derivatives/tangents.py), large ones the
elements of sparse equations (sparse_rates.py). A linear model has other columns (linearization/form.py):
those of independent variables.
"""

from __future__ import annotations

from dataclasses import replace

from armillary.algebra.derivatives.tangents import tangents
from armillary.algebra.expression import UNIT, Expr
from armillary.algebra.walk import operands_first
from armillary.errors import ExpressionError
from armillary.program.derivatives.sparse_rates import SparseStructure, sparse_rates
from armillary.program.equations import DerivedEquations
from armillary.program.form.program import Program, section
from armillary.program.form.sections import with_partial_section
from armillary.program.formalisms.derivation import derivation
from armillary.program.passes import Graph
from armillary.program.targets.targets import StepSection

PARTIAL_RATES = "partial_rates"
# States times operations of their rates above which differences are taken: long code compiles for minutes.
_WRITTEN_OUT = 400_000
_SEARCHED = 3000  # nodes up to which common factors are searched for
_SMALL = 16  # states up to which equations are dense without a comparison


def with_partial_rates(equations: DerivedEquations, *, sparse: bool = True) -> DerivedEquations:
    """The equations with a section of the partial derivatives of their rates; the same equations if they hold
    functions without derivatives, or are large and not sparse. ``sparse``: whether equations of steps may be.
    """
    program = equations.program
    if program.partial_rates:
        return equations
    with derivation():
        try:
            found = _sparse_program(equations) if sparse and len(program.state) > _SMALL else None
            if found is None and len(program.state) * equations.operations.total <= _WRITTEN_OUT:
                found = _dense_program(equations)
        except ExpressionError:
            return equations
    return equations if found is None else replace(equations, program=found)


def _dense_program(equations: DerivedEquations) -> Program:
    program = equations.program
    found = partial_rates(equations)
    names = [s.data.name for s in program.state]
    labels = tuple(f"d({of}')/d({by})" for by in (*names, "time") for of in names)
    search = len(operands_first(found)) <= _SEARCHED
    wanted = StepSection(PARTIAL_RATES, labels, tuple(found), search)
    return with_partial_section(program, equations.system, wanted)


def _sparse_program(equations: DerivedEquations) -> Program | None:
    """The program with sparse equations; None if dense ones take less time."""
    program = equations.program
    rates = program.derivatives.results
    structure, entries = sparse_rates(rates, program.state)
    if not _is_quicker(structure, program, equations.operations.total):
        return None
    results = [*entries, *tangents(rates, {program.time: UNIT})]
    labels = [f"element {i + 1}" for i in range(len(entries))]
    labels += [f"d({s.data.name}')/d(time)" for s in program.state]
    made = section(PARTIAL_RATES, labels, Graph(results))
    return replace(program, partial_rates=(made,), structure=structure)


def _is_quicker(structure: SparseStructure, program: Program, operations: int) -> bool:
    """Whether sparse equations take less time than dense ones: an estimate in ns of a step of eight stages,
    measured on cables. With 10, 20, 40 and 200 segments a step takes 35, 79, 160 and 900 µs by sparse
    equations, 22, 83, 560 and 48,000 µs by dense ones (the last by differences).
    """
    states, known = len(program.state), set(program.state)
    unknowns = sum(rate not in known for rate in program.derivatives.results)  # the others follow
    sparse = 1.7 * (structure.operations + 8 * len(structure.column))
    dense = 0.5 * states * operations + unknowns**3 / 3 + 8 * unknowns**2
    return sparse < dense


def partial_rates(equations: DerivedEquations) -> list[Expr]:
    """∂f/∂y column after column, then ∂f/∂t."""
    rates, program = equations.targets.rates, equations.program
    return [x for s in (*program.state, program.time) for x in tangents(rates, {s: UNIT})]
