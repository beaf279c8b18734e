"""The program of a system whose states are coordinates and momenta.

Each evaluation solves for the speeds as functions of the states, and uses them in place of the speeds of the
description. Two sections of the program are additional to those of other programs:

    momenta         the momenta from coordinates and speeds; the speeds are inputs that follow the state
    accelerations   u̇, the exact derivative of the speeds along the rates of the state
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from armillary.algebra.calculus import directional_derivatives, gradient
from armillary.algebra.expression import UNIT, Expr, as_expr, symbol
from armillary.algebra.triples import Scalar, Triple, minus, plus
from armillary.algebra.units import ENERGY
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Configuration, Reduction, reduce_system
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.kinematics import Wrench, applied_loads
from armillary.mechanics.tree.regroup import simplify_tree
from armillary.mechanics.tree.tree import Tree
from armillary.model.description import Description
from armillary.program.equations import DerivedEquations, Use
from armillary.program.formalisms.formalism import Derivation, DerivedConvertedEquations, Formalism
from armillary.program.formalisms.momentum_states import (
    SOLUTIONS,
    FreeRoot,
    Weight,
    column_rates,
    composite_momenta,
    conjugate_momenta,
    conjugate_rates,
    external_loads,
    free_roots,
    solved_speeds,
    velocities,
    weights,
    with_speeds,
)
from armillary.program.passes import Constants, Graph, hoist
from armillary.program.targets.targets import OutputColumn, Targets, converted_targets, targets
from armillary.untyped import DataTable

# Most speeds for which both solutions, with a matrix and by recursion, are tried. The Stanford arm (6 speeds)
# takes 173 + and 237 × with a matrix, 200 + and 271 × by recursion; hub and panels (12 speeds) 561 + and
# 727 × with a matrix, 429 + and 547 × by recursion.
_FEW = 12


@dataclass(frozen=True, eq=False, repr=False)
class DerivedMomentumEquations(DerivedConvertedEquations):
    """Equations of motion in coordinates and momenta."""

    export_remarks: ClassVar[tuple[str, ...]] = (
        "States are momenta. They follow from the speeds that a run has at its start.",
    )
    refusals: ClassVar[Mapping[Use, str]] = {
        "FMU with locks": "has momenta as states and events that lock or unlock joints; for these FMUs need "
        "speeds: derive it with another formalism, such as 'kane'",
    }
    conjugate: tuple[Expr, ...] = ()  # momenta conjugate to the free speeds, from coordinates and speeds

    @property
    def momenta(self) -> tuple[str, ...]:
        """Names of the momenta, in the order of the state."""
        return tuple(p.data.name for p in self.targets.speeds)

    @cached_property
    def momentum_matrix(self) -> tuple[tuple[Expr, ...], ...]:
        """A, with p = A u + b for the momenta p conjugate to the free speeds u: ∂p/∂u, row by row.

        A is the mass matrix, computed from momenta alone. Its symmetry is not imposed, so it confirms that
        the momenta are conjugate to the speeds.
        """
        return tuple(tuple(gradient(p, self.solved)) for p in self.conjugate)


AXES = ("ground", "body")


def derive_momentum(d: Derivation) -> DerivedEquations:
    """Derive equations in coordinates and momenta."""
    system = d.system
    if d.axes not in AXES:
        raise ModelError(f"axes={d.axes!r} of angular momenta are neither 'ground' nor 'body'")
    if system.constraints:
        raise ModelError(
            f"constraint '{next(iter(system.constraints))}': momenta as states need a tree, without closed "
            "loops or other constraints; use formalism='kane', 'recursive' or 'redundant'"
        )
    reduction = reduce_system(system, Undimensioned(), d.configuration)
    d.clock.stage("plant")
    wanted, more = momentum_targets(system, reduction, d.configuration, regrouped=d.regroup, axes=d.axes)
    d.clock.stage("momentum")
    options = {"regroup": d.regroup, "small": False, "axes": d.axes}
    return d.finish(wanted, more.pop("reduction"), options, **more)


MOMENTUM = Formalism(
    "momentum",
    "momentum",
    derive_momentum,
    DerivedMomentumEquations,
    judgement="with momenta as states no terms are dropped: a momentum is not as small as its speed; use "
    "formalism='kane' or 'recursive', or derive(small=False)",
    axes=True,
)


@dataclass(frozen=True, eq=False)
class _Form:
    """A system in momenta; tables are by the index of the speed that a momentum replaces."""

    tree: Tree  # with speeds as functions of the states
    reduction: Reduction
    names: dict[int, str]  # names of the states
    p: dict[int, Expr]  # the states: momenta
    u: dict[int, Expr]  # speeds, from coordinates and states
    rates: dict[int, Expr]  # rates of the states
    conjugate: dict[int, Expr]  # conjugate momenta, from coordinates and speeds
    by_speeds: dict[int, Expr]  # the states, from coordinates and speeds
    shown: dict[int, tuple[str, Expr]]  # columns of a run: names and values, the same for all locks

    @cached_property
    def cost(self) -> float:
        """Weighted operations of the rates of the states."""
        return hoist(Graph(list(self.rates.values())), Constants()).operations.weight


def momentum_targets(
    system: Description,
    reduction: Reduction,
    configuration: Configuration,
    *,
    regrouped: bool,
    axes: str = "ground",
) -> tuple[Targets, DataTable]:
    """Return the root expressions of all sections, and the other fields of the equations.

    ``axes``, "ground" or "body", are the axes of the angular momenta of bodies that rotate freely on the
    ground.
    """
    methods = SOLUTIONS if len(reduction.independent(system)) <= _FEW else ("recursion",)
    forms = [_form(system, reduction, configuration, regrouped, method, axes) for method in methods]
    form = min(forms, key=lambda f: f.cost) if len(forms) > 1 else forms[0]
    accelerations = _all_accelerations(system, form)
    wanted = targets(system, accelerations, form.reduction)
    speeds = [reduction.plain(system.speeds[i]) for i in form.p]
    taken = {c.name for c in wanted.columns}
    own = [c for c in _momentum_columns(system, form) if c.name not in taken]
    changed = converted_targets(
        replace(wanted, columns=(*wanted.columns, *own)),
        dict(zip(form.p.values(), form.rates.values(), strict=True)),
        names=list(form.names.values()),
        speeds=speeds,
        by_states=[form.u[i] for i in form.p],
        by_speeds=[form.by_speeds[i] for i in form.p],
        accelerations=[as_expr(accelerations[i]) for i in form.p],
        inputs={u: u for u in speeds},
    )
    conjugates = tuple(form.conjugate[i] for i in form.p)
    return changed, {"reduction": form.reduction, "solved": tuple(speeds), "conjugate": conjugates}


def _form(
    system: Description,
    reduction: Reduction,
    configuration: Configuration,
    regrouped: bool,
    method: str,
    axes: str,
) -> _Form:
    def plant_tree(plain: Undimensioned) -> Tree:
        tree = build_tree(system, plain, given=reduction.given, split_free_bodies=True)
        return simplify_tree(tree) if regrouped else tree

    tree = plant_tree(reduction.plain)
    masses = weights(tree)
    roots = free_roots(tree, masses) if axes == "ground" else []
    motions = velocities(tree)
    wrenches = composite_momenta(tree, motions)
    conjugates = conjugate_momenta(tree, motions, wrenches)
    of_roots = _of_roots(roots, tree, masses, wrenches)
    by_speeds = _seen_from_centres(tree, roots, masses, of_roots) | of_roots

    names = _names(system, tree, roots)
    unknown = [system.speeds.index(u) for u in reduction.independent(system)]
    p = {i: _momentum_symbol(system, i, names[i]) for i in unknown}
    projected: dict[int, Scalar] = dict(p)
    drifts: dict[int, Scalar] = {}
    for root in roots:
        P, H = root.vectors(tree, p)
        projected |= root.conjugate(tree, H)
        drifts |= root.drifting(tree, masses, P)
    seen = solved_speeds(tree, projected, method)  # relative to the mass centre
    u = {i: as_expr(plus(value, drifts.get(i, 0))) for i, value in seen.items()}
    plain = reduction.plain.with_values({system.speeds[i]: value for i, value in u.items()})

    tree = plant_tree(plain)
    loads = applied_loads(system, tree, plain)
    external = external_loads(tree, loads)
    turning = column_rates(tree, _coordinate_rates(system, reduction, plain))
    falls: dict[int, Triple] = {}
    of_roots = {}
    for root in roots:
        force, torque = root.rates(tree, masses, external, loads)
        of_roots |= root.by_index(tree, force, torque)
        falls |= root.fall(tree, masses, force)
    relative = with_speeds(tree, seen)
    motions = velocities(relative)
    wrenches = composite_momenta(relative, motions)
    weighed = weights(tree, falls)
    rates = conjugate_rates(relative, motions, wrenches, weighed, external, loads, turning) | of_roots

    # Columns must be the same in every configuration, since legs of a run are joined: their names are those
    # of the system without locks.
    unlocked = free_roots(tree, masses, configuration.locked) if axes == "ground" else []
    now = conjugate_momenta(relative, motions, wrenches)
    now |= _of_roots(unlocked, tree, masses, composite_momenta(tree, velocities(tree)))
    shown_names = _names(system, tree, unlocked)
    for i in p:
        if shown_names[i] == names[i]:
            now[i] = p[i]
    return _Form(
        tree,
        replace(reduction, tree=tree, plain=plain),
        {i: names[i] for i in unknown},
        p,
        u,
        {i: as_expr(rates[i]) for i in unknown},
        {i: as_expr(x) for i, x in conjugates.items()},
        {i: as_expr(x) for i, x in by_speeds.items()},
        {i: (shown_names[i], as_expr(now[i])) for i in sorted(now)},
    )


def _seen_from_centres(
    tree: Tree, roots: Sequence[FreeRoot], masses: Sequence[Weight], of_roots: Mapping[int, Scalar]
) -> dict[int, Scalar]:
    """Return the conjugate momenta of the motion relative to the roots' mass centres."""
    drifts: dict[int, Scalar] = {}
    for root in roots:
        P, _ = root.vectors(tree, of_roots)
        drifts |= root.drifting(tree, masses, P)
    speeds = {d.index: d.speed for link in tree.links for d in link.freedoms if d.index in drifts}
    relative = with_speeds(tree, {i: minus(speeds[i], drift) for i, drift in drifts.items()})
    motions = velocities(relative)
    return conjugate_momenta(relative, motions, composite_momenta(relative, motions))


def _of_roots(
    roots: Sequence[FreeRoot], tree: Tree, masses: Sequence[Weight], wrenches: Sequence[Wrench]
) -> dict[int, Scalar]:
    """Return total momenta P and H of every root, by the indices of the speeds whose momenta they replace."""
    found: dict[int, Scalar] = {}
    for root in roots:
        found |= root.by_index(tree, *root.states(tree, masses, wrenches))
    return found


def _names(system: Description, tree: Tree, roots: Sequence[FreeRoot]) -> dict[int, str]:
    """Return names of momenta: "p(A.u1)", or "momentum x" and "angular momentum x" for a root."""
    names = {i: f"p({u.data.name})" for i, u in enumerate(system.speeds)}
    alone = sum(link.parent < 0 for link in tree.links) == 1
    for root in roots:
        of = "" if alone else f" of {root.name}"
        P, H = ([f"{kind} {axis}{of}" for axis in "xyz"] for kind in ("momentum", "angular momentum"))
        names |= root.by_index(tree, P, H)
    return names


def _momentum_symbol(system: Description, index: int, name: str) -> Expr:
    return symbol(name, owner=system.identity, units=_units(system, index), about=_about(system, index, name))


def _units(system: Description, index: int) -> str:
    dimension = system.speeds[index].dimension
    return "" if dimension is None else system.units.unit_text(ENERGY / dimension)


def _about(system: Description, index: int, name: str) -> str:
    if name.startswith("p("):
        return f"momentum conjugate to {system.speeds[index].data.name}"
    about = "" if name.startswith("momentum") else ", about the mass centre or the point that is held"
    return f"{name}: of the free body and all bodies on it, in the ground's axes{about}"


def _momentum_columns(system: Description, form: _Form) -> list[OutputColumn]:
    return [
        OutputColumn(name, _units(system, i), _about(system, i, name), value)
        for i, (name, value) in form.shown.items()
    ]


def _all_accelerations(system: Description, form: _Form) -> dict[int, Scalar]:
    """Return u̇ of all speeds by index: derivatives along the rates of the state, or given rates."""
    along = _coordinate_rates(system, form.reduction, form.reduction.plain)
    along |= {p: form.rates[i] for i, p in form.p.items()}
    found: dict[int, Scalar] = dict(zip(form.u, directional_derivatives(form.u.values(), along), strict=True))
    for link in form.tree.links:
        found |= {d.index: d.rate for d in link.degrees if d.rate is not None and not d.dependent}
    return found


def _coordinate_rates(system: Description, reduction: Reduction, plain: Undimensioned) -> dict[Expr, Expr]:
    """Return the rates of time and of all coordinates that are not given."""
    moving = {plain(q): plain(system.rates[q]) for q in reduction.coordinates(system)}
    return {plain(system.time): UNIT, **moving}
