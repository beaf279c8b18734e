"""Arrows of a motion: forces and moments of loads, velocities of mass centres, weights, reactions of joints.

Vectors come from one compiled function for all rows of a run, along the ground's axes. Loads that depend on
what a run does not hold (a state or memory that is not among its columns) have no arrows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Triple, is_zero
from armillary.algebra.units import FORCE, MOMENT, SPEED, Dimension
from armillary.algebra.vectors import Vector
from armillary.algebra.walk import symbols
from armillary.analysis.inverse.inverse import inverse
from armillary.model.bodies.body import Body
from armillary.model.quantities.mass_properties import whole_mass
from armillary.model.quantities.vector_functions import velocity
from armillary.model.units.unit_system import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.functions import moving_bodies
from armillary.results import Run
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.programs.functions import ModelFunctions
from armillary.untyped import DataTable
from armillary.viewer.parts.appearance import Appearance
from armillary.viewer.poses import Poses

_LOADS, _BODIES = 60, 40  # that are shown: of larger systems, the first loads, no velocities and no weights


@dataclass(frozen=True, eq=False)
class Arrows:
    """Arrows by kind, name, and place on a body; ``vectors`` has three numbers for each in every row."""

    entries: list[DataTable]
    vectors: np.ndarray  # rows × 3 arrows


def arrows_of(run: Run, equations: DerivedEquations, poses: Poses, reactions: Sequence[str] = ()) -> Arrows:
    """The arrows of a run, those of the joints of some bodies among them."""
    look = Appearance(equations, run.parameters)
    entries, wanted = _described(equations, look)
    plain = equations.reduction.plain
    expressions = [[plain(as_expr(e)) for e in vector] for vector in wanted]
    usable = [
        all(s.data.role in ("parameter", "time") or s.data.name in run for s in symbols(*v))
        for v in expressions
    ]
    entries = [entry for entry, good in zip(entries, usable, strict=True) if good]
    flat = [e for vector, good in zip(expressions, usable, strict=True) if good for e in vector]
    values = _values(run, equations, flat) if flat else np.zeros((len(run), 0))
    found, held = _reactions(run, equations, poses, look, reactions)
    return Arrows([*entries, *found], np.concatenate([values, held], axis=1))


def _described(equations: DerivedEquations, look: Appearance) -> tuple[list[DataTable], list[Triple]]:
    """Entries and vectors of loads, velocities and weights, in the model's units."""
    system, ground = equations.system, equations.system.ground.frame
    entries: list[DataTable] = []
    vectors: list[Triple] = []

    def add(kind: str, name: str, dimension: Dimension, body: Body, at: np.ndarray, vector: Vector) -> None:
        units = system.units.unit_text(dimension)
        entries.append({"kind": kind, "name": name, "units": units, "body": body.name, "at": at.tolist()})
        vectors.append(vector.components(ground))

    for load in list(system.loads.values())[:_LOADS]:
        places = [(load.body, load.at, 1.0), (load.reaction_body, load.reaction_at, -1.0)]
        for body, point, sign in places:
            if body is None or body.parent is None or (point is None and load.kind == "force"):
                continue  # what acts on the ground is left out
            at = body.com_coordinates if point is None else point.coordinates
            owner = body if point is None else point.body
            vector = load.vector if sign > 0 else -load.vector
            dimension = FORCE if load.kind == "force" else MOMENT
            add(load.kind, load.name, dimension, owner, look.numbers(at), vector)
    bodies = moving_bodies(equations)
    if len(bodies) > _BODIES:
        return entries, vectors
    for body in bodies:
        add("velocity", body.name, SPEED, body, look.numbers(body.com_coordinates), velocity(body.com))
    for body in bodies if system.gravities else []:
        mass = whole_mass(body)
        if not is_zero(mass):
            weights = (field.direction * (field.magnitude * mass) for field in system.gravities)
            add("weight", body.name, FORCE, body, _centre(body, look), sum(weights, Vector({})))
    return entries, vectors


def _centre(body: Body, look: Appearance) -> np.ndarray:
    """The mass centre in the body's axes, without the deflection of a flexible part."""
    m, *rigid = look.numbers([body.mass, *body.com_coordinates])
    part = None if body.flex is None else body.flex.part
    return np.array(rigid) if part is None else (m * np.array(rigid) + part.first) / (m + part.mass)


def _values(run: Run, equations: DerivedEquations, expressions: list[Expr]) -> np.ndarray:
    """Expressions in all rows. Speeds that are no states of the formalism are inputs of the function."""
    targets = equations.targets
    known = {s.data.name for s in (*targets.integrated, *targets.memory)}
    further = [s for s in symbols(*expressions) if s.data.role == "speed" and s.data.name not in known]
    states = np.zeros((len(run), len(equations.program.state)))
    states[:, : len(targets.integrated)] = _columns(run, equations, targets.integrated)
    memory = _columns(run, equations, targets.memory) if targets.memory else None
    inputs = _columns(run, equations, further) if further else None
    function = ModelFunctions(equations, {"arrows": expressions}, further, search=False)
    parameters = {name: run.parameters[name] for name in equations.parameters if name in run.parameters}
    return function.rows("arrows", run.time, states, parameters, memory, inputs)


def _columns(run: Run, equations: DerivedEquations, wanted: Sequence[Expr]) -> np.ndarray:
    """Values of symbols in the model's own units; zero where a run has none."""
    system = equations.system
    factors = {s.data.name: state_factor(s) for s in (*system.coordinates, *system.speeds)}
    found = np.zeros((len(run), len(wanted)))
    for k, s in enumerate(wanted):
        if s.data.name in run:
            found[:, k] = run[s.data.name] * factors.get(s.data.name, 1.0)
    return found


def _reactions(
    run: Run, equations: DerivedEquations, poses: Poses, look: Appearance, names: Sequence[str]
) -> tuple[list[DataTable], np.ndarray]:
    """Forces and moments of the joints on bodies, at the origins of the bodies."""
    after = " for the reaction of its joint"
    names = list(checked_names(names, look.named, f"'{look.name}' has no body", after=after))
    if not names:
        return [], np.zeros((len(run), 0))
    compiled = compile_equations(equations)
    found = inverse(compiled, run, reactions=tuple(names)).reactions
    entries: list[DataTable] = []
    columns: list[np.ndarray] = []
    for name in names:
        R = poses.rotations[:, poses.names.index(name)]
        both = found[name].reshape(len(run), 2, 3)
        for k, (kind, dimension) in enumerate((("reaction", FORCE), ("reaction moment", MOMENT))):
            units = equations.system.units.unit_text(dimension)
            entries.append({"kind": kind, "name": name, "units": units, "body": name, "at": [0, 0, 0]})
            columns.append(np.einsum("nij,nj->ni", R, both[:, k]))
    return entries, np.concatenate(columns, axis=1)
