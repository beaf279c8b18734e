"""Efforts as expressions of time, coordinates, independent speeds and their rates.

The equations are in the description's own speeds, whichever formalism the model uses. In a tree the efforts τ
come from ``mechanics/tree/inverse_dynamics.py``. Under constraints, with u̇_d = Σ A_dr u̇_r + c_d for
dependent speeds,

    e_r = τ_r + Σ_d A_dr τ_d        J_dᵀ λ = τ_d        e_g = τ_g − Σ_k J_kg λ_k

are the efforts e_r along independent speeds r, the forces λ_k of the constraints k, and the efforts e_g along
prescribed or locked speeds g. J is the Jacobian of the constraints with respect to the speeds. No effort acts
along dependent speeds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.calculus import Values, gradient
from armillary.algebra.expression import ZERO, Expr, as_expr, scale, symbol
from armillary.algebra.functions import with_stated_dimension
from armillary.algebra.node import truncate_new_nodes
from armillary.algebra.triples import Scalar, minus, plus, times
from armillary.algebra.truncation import Truncation
from armillary.algebra.units import FORCE, MOMENT, SPEED
from armillary.algebra.walk import substitute, symbols, transform
from armillary.errors import ArmillaryError, ModelError, nearest, shown
from armillary.mechanics.constraints.constrained_equations import (
    constraint_forces,
    dependent_rates,
    held_effort,
    joint_wrenches,
)
from armillary.mechanics.constraints.reduction import Reduction, reduce_system
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.inverse_dynamics import efforts, joint_efforts
from armillary.mechanics.tree.kinematics import accumulated_wrenches, applied_loads, corrections, net_wrenches
from armillary.mechanics.tree.regroup import simplify_tree
from armillary.mechanics.tree.tree import Freedom, Tree
from armillary.model.description import Description, Load
from armillary.model.signals import state_rates
from armillary.model.space.attraction import all_loads
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.targets.targets import Targets, reader
from armillary.runtime.models.parameters import parameter_table
from armillary.text_tables import counted


@dataclass(frozen=True, eq=False)
class InverseEquations:
    """Inverse dynamics of a system as expressions.

    ``equations`` are in the description's coordinates and speeds; ``rates`` are the symbols of u̇ of the
    independent speeds. ``tau`` has an effort by the index of each speed of the tree: the motion needs this
    effort along the speed in addition to the ``loads`` and to the efforts ``acting``.
    """

    equations: DerivedEquations
    rates: tuple[Expr, ...]
    loads: tuple[Load, ...]
    acting: Mapping[int, Expr]
    tau: dict[int, Scalar]

    @property
    def reduction(self) -> Reduction:
        """The system reduced to its independent speeds."""
        return self.equations.reduction

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """Indices of the independent speeds among all speeds."""
        return _independent_speeds(self.equations.system, self.reduction)

    @cached_property
    def given(self) -> tuple[int, ...]:
        """Indices of prescribed and locked speeds."""
        return tuple(i for i, u in enumerate(self.equations.system.speeds) if u in self.reduction.given)

    @cached_property
    def along_independent(self) -> list[Expr]:
        """Efforts e_r along the independent speeds."""
        found = []
        for r in self.independent:
            value = self.tau[r]
            for d, factors in self.reduction.elimination.factors.items():
                value = plus(value, times(factors.get(r, 0), self.tau[d]))
            found.append(as_expr(value))
        return found

    @cached_property
    def along_given(self) -> list[Expr]:
        """Efforts e_g along prescribed and locked speeds."""
        system, forces = self.equations.system, constraint_forces(self.reduction, self.tau)
        return [
            as_expr(held_effort(system, self.reduction, self.tau, forces, system.speeds[g]))
            for g in self.given
        ]

    def reactions(self, bodies: Collection[str], constraints: Collection[str]) -> list[Expr]:
        """Return force and moment of each body's joint, in body axes, then the forces of constraints.

        Force and moment include the effort along the joint. The inertia is as described, without regrouping.
        """
        system, reduction = self.equations.system, self.reduction
        with derivation(), neglect_as_in_derivation(self.equations):
            rates = dict(zip(self.independent, self.rates, strict=True))
            tree = moving_tree(system, reduction, rates, separate_welds=bodies)
            applied = applied_loads(system, tree, reduction.plain, whole=True, loads=self.loads)
            own = net_wrenches(tree, applied)
            tau = joint_efforts(tree, applied, accumulated_wrenches(tree, own, "r"))
            forces = constraint_forces(reduction, _subtract_efforts(tau, self.acting))
            wrenches = joint_wrenches(system, reduction, tree, own, forces, bodies)
        found = [as_expr(x) for name in bodies for x in wrenches[name]]
        return found + [as_expr(forces.get(name, 0)) for name in constraints]


def refuse_rigid_contacts(equations: DerivedEquations, purpose: str) -> None:
    """Raise an error that names a contact or brake whose forces do not follow from the motion."""
    for contact in equations.system.contacts.values():
        kind, remedy = (
            ("brake or clutch", "leave it out, or give its load as a moment or force,")
            if contact.gap is None
            else ("contact", "give it a stiffness=, or its force as a load,")
        )
        raise ArmillaryError(
            f"the motion of '{equations.system.name}' does not determine the forces of its {kind} "
            f"'{contact.name}', which has no compliance; {remedy} for {purpose}"
        )


def inverse_equations(
    equations: DerivedEquations,
    loads: Sequence[Load] | None = None,
    acting: Mapping[int, Expr] | None = None,
) -> InverseEquations:
    """Return the inverse dynamics of a system with its loads, or ``loads`` in their place."""
    refuse_rigid_contacts(equations, "inverse dynamics")
    with derivation(), neglect_as_in_derivation(equations):
        described = described_equations(equations)
        system, reduction = described.system, described.reduction
        rates = {
            i: reduction.plain(system.accelerations[system.speeds[i]])
            for i in _independent_speeds(system, reduction)
        }
        applied = tuple(all_loads(system) if loads is None else loads)
        tau = _subtract_efforts(tree_efforts(system, reduction, rates, applied), acting or {})
    return InverseEquations(described, tuple(rates.values()), applied, acting or {}, tau)


def tree_efforts(
    system: Description, reduction: Reduction, rates: Mapping[int, Expr], loads: Sequence[Load]
) -> dict[int, Scalar]:
    """τ along all speeds of the tree by index, from the rates of the independent speeds."""
    tree = simplify_tree(moving_tree(system, reduction, rates))
    return efforts(tree, applied_loads(system, tree, reduction.plain, loads=loads))


def _independent_speeds(system: Description, reduction: Reduction) -> tuple[int, ...]:
    return tuple(system.speeds.index(u) for u in reduction.independent(system))


def _subtract_efforts(tau: Mapping[int, Scalar], acting: Mapping[int, Scalar]) -> dict[int, Scalar]:
    return {i: minus(value, acting.get(i, 0)) for i, value in tau.items()}


@contextmanager
def neglect_as_in_derivation(equations: DerivedEquations) -> Iterator[None]:
    """Within this context, neglect terms of new expressions by the rule that the derivation used."""
    judged = equations.judged
    with truncate_new_nodes(Truncation(judged.keep) if judged else None):
        yield


def moving_tree(
    system: Description,
    reduction: Reduction,
    rates: Mapping[int, Expr],
    separate_welds: Collection[str] = (),
) -> Tree:
    """Return the tree in which the rates of all speeds follow from the independent rates."""
    known = {**rates, **_dependent_rates(reduction, rates)}

    def moving(d: Freedom) -> Freedom:
        return replace(d, rate=known.get(d.index, d.rate), dependent=False)

    return build_tree(
        system, reduction.plain, given=reduction.given, split_free_bodies=True, separate_welds=separate_welds
    ).with_degrees(moving)


def _dependent_rates(reduction: Reduction, rates: Mapping[int, Expr]) -> dict[int, Scalar]:
    """Return u̇ of the dependent speeds, by index. The factors relate rates without the known ``corrections``
    of free bodies with speeds in body axes. So these are subtracted before the factors are applied, and
    added afterwards.
    """
    factors = reduction.elimination.factors
    if not factors:
        return {}
    gained = corrections(reduction.tree)
    x = {i: minus(rate, gained.get(i, 0)) for i, rate in rates.items()}
    found = dependent_rates(reduction.tree, x, factors)
    return {d: plus(found[d], gained.get(d, 0)) for d in factors}


def described_equations(equations: DerivedEquations) -> DerivedEquations:
    """Return equations in the description's own coordinates and speeds; equations made here have no rates,
    outputs or events among their targets.
    """
    system = equations.system
    if _is_described(equations):
        return equations
    reduction = reduce_system(system, reader({}, 1), equations.configuration)
    plain = reduction.plain
    wanted = Targets(
        time=plain(system.time),
        coordinates=tuple(map(plain, reduction.coordinates(system))),
        speeds=tuple(map(plain, reduction.independent(system))),
        memory=tuple(plain(m.symbol) for m in system.memories.values()),
        rates=(), columns=(), watched=(), events=(), updates=(), fires=(), normalised=(), quaternions=(),
        states=tuple(map(plain, state_rates(system))),
    )  # fmt: skip
    return DerivedEquations(
        system=system,
        formalism=equations.formalism,
        program=equations.program,
        targets=wanted,
        parameter_units=equations.parameter_units,
        stages=(),
        gains=(),
        reduction=reduction,
        configuration=equations.configuration,
        options=equations.options,
    )


def _is_described(equations: DerivedEquations) -> bool:
    """Return whether the state holds the description's coordinates and speeds."""
    own = [equations.reduction.plain(u) for u in equations.reduction.independent(equations.system)]
    states = equations.targets.speeds
    return len(own) == len(states) and all(u is s for u, s in zip(own, states, strict=True))


# Efforts as expressions, from which a description can contain its own controller by inverse dynamics.


def effort_expressions(equations: DerivedEquations, rates: Values) -> dict[str, Expr]:
    """Return the efforts that give the speeds these rates, as expressions by the names of speeds.

    ``rates`` has expressions or numbers by speed; those left out are zero. The efforts act in addition to all
    loads. A description whose motors apply them as moments has a controller by inverse dynamics.
    """
    if not isinstance(rates, Mapping):
        raise ArmillaryError(
            f"inverse() of equations needs the wanted rates by speed, {{'A.u1': …}}, not {shown(rates)}"
        )
    found = inverse_equations(equations)
    system, plain = found.equations.system, found.reduction.plain
    free = {
        system.speeds[i].data.name: symbol for i, symbol in zip(found.independent, found.rates, strict=True)
    }
    wanted = dict.fromkeys(free.values(), ZERO)
    given = checked_names(rates, free, "inverse():", after=" is not an independent speed", listed=True)
    for name, value in given.items():
        if not isinstance(value, Expr | int | float):
            raise ArmillaryError(
                f"inverse(): the rate of '{name}' must be an expression or a number, not {shown(value)}; "
                "s.expression(…) makes one of a text"
            )
        wanted[free[name]] = as_expr(plain(value))
    speeds = [system.speeds[i] for i in (*found.independent, *found.given)]
    efforts = transform([*found.along_independent, *found.along_given], wanted.get)
    return {
        u.data.name: with_stated_dimension(e, FORCE * SPEED / (u.dimension or SPEED), f"effort {u.data.name}")
        for u, e in zip(speeds, efforts, strict=True)
    }


# Actuators: loads of unknown strength, and the strengths that a motion needs.
#
# With r the efforts along the independent speeds without actuators, and B the part of r that a unit of each
# actuator provides,
#
#     B e = r,     e = B⁺ r
#
# so that e has the least norm if there are more actuators than freedoms. If B e = r has no solution, the
# actuators cannot cause the motion.

_HELD = 1e-8  # largest remainder of B e = r, as a share of the efforts at a place
_RANK = 1e-10  # share of the largest singular value of B, below which a singular value counts as zero


@dataclass(frozen=True, eq=False)
class Actuator:
    """An actuator: the symbol of its strength, its units, and the factor from the model's units to these."""

    name: str
    symbol: Expr
    units: str
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class Actuated:
    """Equations with actuators: r (``left``), the efforts without actuators, and B (``gains``)."""

    actuators: tuple[Actuator, ...]
    expressions: InverseEquations
    left: tuple[Expr, ...]
    gains: tuple[Expr, ...]  # B, row by row
    replaced: Mapping[Expr, Expr]

    def acting(self, expressions: Sequence[Expr]) -> list[Expr]:
        """Return expressions with the strengths of actuators in place of the loads that they replace."""
        return transform(expressions, self.replaced.get) if self.replaced else list(expressions)


def add_actuators(equations: DerivedEquations, names: Sequence[str], units: Mapping[str, str]) -> Actuated:
    """Return the equations with actuators, given as names of speeds, loads, inputs or parameters of loads."""
    system = equations.system
    speeds = {u.data.name: i for i, u in enumerate(system.speeds)}
    made: list[Actuator] = []
    acting: dict[int, Expr] = {}
    loads: dict[str, Load] = {load.name: load for load in all_loads(system)}
    replaced: dict[Expr, Expr] = {}
    for name in names:
        if any(name == other.name for other in made):
            raise ArmillaryError(f"inverse(): actuators= names '{name}' twice")
        e = symbol(f"strength of {name}", owner=system.identity)
        if name in speeds:
            acting[speeds[name]] = e
            made.append(Actuator(name, e, units[name]))
        elif name in system.loads:
            load = loads[name] = _unknown(loads[name], e)
            dimension = FORCE if load.kind == "force" else MOMENT
            made.append(Actuator(name, e, system.units.unit_text(dimension)))
        elif name in system.memories and system.memories[name].input:
            memory = system.memories[name]
            replaced[equations.reduction.plain(memory.symbol)] = e
            made.append(Actuator(name, e, memory.symbol.data.units or "", 1.0 / memory.factor))
        elif name in system.parameters:
            p = system.parameters[name]
            replaced[equations.reduction.plain(p)] = e
            table = parameter_table(equations)
            factor = table.factors[table.names.index(name)]
            made.append(Actuator(name, e, equations.parameter_units.get(name, ""), 1.0 / factor))
        else:
            inputs = [n for n, m in system.memories.items() if m.input]
            known = [*speeds, *system.loads, *inputs, *system.parameters]
            raise ArmillaryError(
                f"inverse(): there is no speed, load, input or parameter '{name}' to act"
                f"{nearest(name, known)}"
            )
    found = inverse_equations(equations, list(loads.values()), acting)
    return _actuator_columns(made, found, replaced)


def _unknown(load: Load, e: Expr) -> Load:
    if load.axis is None:
        raise ModelError(
            f"inverse(): load '{load.name}' has no direction of its own, so it is not an actuator; make it a "
            "force, a moment or a strut, or name a speed"
        )
    return replace(load, magnitude=e, vector=load.axis * e)


def _actuator_columns(
    made: Sequence[Actuator], found: InverseEquations, replaced: Mapping[Expr, Expr]
) -> Actuated:
    """Return r without actuators and −∂r/∂e; raise an error if r is not linear in e or does not
    depend on it.
    """
    strengths = [a.symbol for a in made]
    whole = transform(found.along_independent, replaced.get) if replaced else found.along_independent
    slopes = [gradient(r, strengths) for r in whole]
    gains = [scale(slope, -1) for row in slopes for slope in row]
    held = set(symbols(*gains))
    for k, actuator in enumerate(made):
        if actuator.symbol in held:
            raise ArmillaryError(
                f"inverse(): the equations of motion are not linear in '{actuator.name}', or depend on "
                "products of actuators; name the load or the speed along which it acts"
            )
        if all(row[k] is ZERO for row in slopes):
            raise ArmillaryError(
                f"inverse(): actuator '{actuator.name}' does not act: no equation of motion depends on it"
            )
    none = dict.fromkeys(strengths, ZERO)
    left = tuple(substitute(r, none) for r in whole)
    return Actuated(tuple(made), found, left, tuple(gains), replaced)


def strengths(
    left: np.ndarray, gains: np.ndarray, speeds: Sequence[str], units: Mapping[str, str]
) -> tuple[np.ndarray, bool]:
    """Return e, a row per place, and whether there are several solutions; e then is the one of least norm.

    Raise an error if a motion cannot be caused by the actuators.
    """
    e = np.einsum("nkr,nr->nk", np.linalg.pinv(gains, rcond=_RANK), left)
    missing = left - np.einsum("nrk,nk->nr", gains, e)
    allowed = _HELD * (np.max(np.abs(left), axis=1, initial=0.0) + np.finfo(float).tiny)
    bad = np.flatnonzero(np.max(np.abs(missing), axis=1, initial=0.0) > allowed)
    if bad.size:
        row = int(bad[0])
        short = [
            f"'{speeds[r]}' by {missing[row, r]:.4g} {units[speeds[r]]}"
            for r in np.argsort(-np.abs(missing[row]))
            if abs(missing[row, r]) > allowed[row]
        ]
        where = f" in row {row + 1}" if len(left) > 1 else ""
        raise ArmillaryError(
            f"inverse(): {counted(gains.shape[2], 'actuator')} cannot give these rates to "
            f"{counted(gains.shape[1], 'freedom')}{where}: efforts fall short along {', '.join(short[:4])}"
            f"{' and others' if len(short) > 4 else ''}; add an actuator there, or give rates that the "
            "motion has without one"
        )
    sizes = np.linalg.svd(gains, compute_uv=False)
    rank = np.sum(sizes > _RANK * np.max(sizes, axis=1, keepdims=True, initial=0.0), axis=1)
    return e, bool(np.any(rank < gains.shape[2]))
