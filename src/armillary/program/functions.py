"""Programs for further functions of a system: any expressions of its time, state, memory and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from armillary.algebra.expression import Expr
from armillary.algebra.walk import transform
from armillary.program.equations import DerivedEquations
from armillary.program.form.sections import program_of
from armillary.program.formalisms.derivation import derivation
from armillary.program.targets.targets import StepSection


def with_functions(
    equations: DerivedEquations,
    functions: Mapping[str, Sequence[Expr]],
    inputs: Sequence[Expr] = (),
    *,
    search: bool = True,
) -> DerivedEquations:
    """The equations with a program that holds these functions alone, over one table of constants.

    The expressions have no dimensions and hold neither dependent speeds nor accelerations (see
    ``program/targets/targets.py``); ``inputs`` are the symbols that they contain besides the state.
    ``search`` looks for what the results of a function have in common, as for the derivatives of a system.
    Forces of contacts are those of their modes.
    """
    forces = equations.targets.forces
    if forces:
        functions = {name: transform(results, forces.get) for name, results in functions.items()}
    wanted = replace(
        equations.targets,
        rates=(),
        columns=(),
        watched=(),
        events=(),
        updates=(),
        fires=(),
        normalised=(),
        quaternions=(),
        corrected=(),
        corrections=(),
        geometry=(),
        sizes=(),
        row_sizes=(),
        inputs=tuple(inputs),
        stepping=tuple(
            StepSection(name, tuple(f"{name}[{i}]" for i in range(len(results))), tuple(results), search)
            for name, results in functions.items()
        ),
    )
    with derivation():
        program, gains = program_of(equations.system, wanted, equations.reduction.plain)
    return replace(equations, program=program, targets=wanted, gains=tuple(gains))
