"""Programs with the partial derivatives of their rates, for linearly implicit methods.

    ∂f/∂y and ∂f/∂t    of ẏ = f(t, y)

The state y is that of a run, with dependent coordinates and Euler parameters. Each column is an exact tangent
of the rates along one state (algebra/derivatives/tangents.py). A linear model has other columns
(linearization/form.py): those of independent variables.
"""

from __future__ import annotations

from dataclasses import replace

from armillary.algebra.derivatives.tangents import tangents
from armillary.algebra.expression import UNIT, Expr
from armillary.algebra.walk import operands_first
from armillary.errors import ExpressionError
from armillary.program.equations import DerivedEquations
from armillary.program.form.sections import with_partial_section
from armillary.program.formalisms.formalism import derivation
from armillary.program.targets.targets import StepSection

PARTIAL_RATES = "partial_rates"
# States times operations of their rates above which differences are taken: long code compiles for minutes.
_WRITTEN_OUT = 400_000
_SEARCHED = 3000  # nodes up to which common factors are searched for


def with_partial_rates(equations: DerivedEquations) -> DerivedEquations:
    """The equations with a section of the partial derivatives of their rates; the same equations if they are
    large or hold functions without derivatives.
    """
    program = equations.program
    if program.partial_rates or len(program.state) * equations.operations.total > _WRITTEN_OUT:
        return equations
    with derivation():
        try:
            found = partial_rates(equations)
        except ExpressionError:
            return equations
        names = [s.data.name for s in program.state]
        labels = tuple(f"d({of}')/d({by})" for by in (*names, "time") for of in names)
        search = len(operands_first(found)) <= _SEARCHED
        wanted = StepSection(PARTIAL_RATES, labels, tuple(found), search)
        return replace(equations, program=with_partial_section(program, equations.system, wanted))


def partial_rates(equations: DerivedEquations) -> list[Expr]:
    """∂f/∂y column after column, then ∂f/∂t."""
    rates, program = equations.targets.rates, equations.program
    return [x for s in (*program.state, program.time) for x in tangents(rates, {s: UNIT})]
