"""Programs for further functions of a system, and the poses of bodies as such functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from armillary.algebra.expression import Expr, as_expr, symbol
from armillary.algebra.vectors import direction_cosines
from armillary.algebra.walk import operands_first, transform
from armillary.model.bodies.body import Body
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.sections import program_of
from armillary.program.targets.targets import StepSection

# Programs for further functions of a system: any expressions of its time, state, memory and parameters.


def with_functions(
    equations: DerivedEquations,
    functions: Mapping[str, Sequence[Expr]],
    inputs: Sequence[Expr] = (),
    *,
    search: bool = True,
    per_state: Mapping[Expr, Expr] | None = None,
) -> DerivedEquations:
    """Return the equations with a program of these functions alone, over one table of constants.

    The expressions have no dimensions and hold neither dependent speeds nor accelerations (see
    ``program/targets/targets.py``); ``inputs`` are the symbols that they contain besides the state.
    ``search`` looks for what the results of a function have in common, as for the derivatives of a system.
    Each contact's forces follow from its status. ``per_state`` are inputs that belong to a state each, such
    as weights of its rate: where states of branches are alike, so are these.
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
        renewed=(),
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
    if per_state:
        columns = [c for c in program.alike if all(s in per_state for s in c)]
        program = replace(
            program, alike=(*program.alike, *(tuple([per_state[s] for s in c]) for c in columns))
        )
    return replace(equations, program=program, targets=wanted, gains=tuple(gains))


def shared_part(results: Sequence[Expr], inputs: Sequence[Expr], owner: object) -> dict[Expr, Expr]:
    """Expressions in the results that do not depend on the inputs, the largest of them, by new symbols.

    A function that is called at one place with many inputs computes them once, sines of angles among them.
    """
    moving = set(inputs)
    shared: dict[Expr, None] = {}
    for node in operands_first(results):
        if any(a in moving for a in node.args):
            moving.add(node)
            shared.update(dict.fromkeys(a for a in node.args if a.args and not a.constant))
    still = [x for x in shared if x not in moving]
    return {symbol(f"shared_{i + 1}", "variable", owner=owner): x for i, x in enumerate(still)}


# The pose of every body in its parent, as expressions: what pictures of a motion are made of.
#
# The displacement d of a body's origin, in the parent's axes, and the rotation R with v_parent = R v_body.

LENGTH = 12  # expressions of a pose: d, then R row by row


def moving_bodies(equations: DerivedEquations) -> list[Body]:
    """All bodies but the ground, parents before children."""
    return [body for body in equations.system.bodies.values() if body.parent is not None]


def pose_expressions(equations: DerivedEquations) -> list[Expr]:
    """The poses of all moving bodies in their parents, twelve expressions each."""
    plain = equations.reduction.plain
    found: list[Expr] = []
    for body in moving_bodies(equations):
        assert body.parent is not None
        parent = body.parent.frame
        turned = (x for row in direction_cosines(parent, body.frame) for x in row)
        found += [plain(as_expr(e)) for e in (*body.displacement.components(parent), *turned)]
    return found
