"""Efforts as expressions of time, coordinates, independent speeds and their rates.

The description's own speeds are used whatever the formalism of the model. In a tree the efforts are those of
``mechanics/tree/inverse_dynamics.py``. Under constraints, with u̇_d = Σ A_dr u̇_r + c_d for dependent speeds,

    e_r = τ_r + Σ_d A_dr τ_d        J_dᵀ λ = τ_d        e_g = τ_g − Σ_k J_kg λ_k

are the efforts along independent speeds r, the forces λ of the constraints and the efforts along prescribed
or locked speeds g, where nothing acts along the dependent ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.nodes.node import truncated
from armillary.algebra.smallness.truncation import Truncation
from armillary.algebra.vectors.scalars import Scalar, minus, plus, times
from armillary.errors import ArmillaryError
from armillary.mechanics.constraints.reactions import constraint_forces, held_effort, joint_wrenches
from armillary.mechanics.constraints.reduced_equations import dependent_rates
from armillary.mechanics.constraints.reduction import Reduction, reduce_system
from armillary.mechanics.tree.inertia.inertia_force import net_wrenches
from armillary.mechanics.tree.inverse_dynamics import efforts, joint_efforts
from armillary.mechanics.tree.kinematics import corrections
from armillary.mechanics.tree.loads import accumulated_wrenches, applied_loads
from armillary.mechanics.tree.structure.build import build_tree
from armillary.mechanics.tree.structure.regroup import simplified
from armillary.mechanics.tree.tree import Freedom, Tree
from armillary.model.description import Description
from armillary.model.recording.records import Load
from armillary.model.signals.signals import state_rates
from armillary.model.space.attraction import all_loads
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import derivation
from armillary.program.targets.small_quantities import reader
from armillary.program.targets.targets import Targets


@dataclass(frozen=True, eq=False)
class InverseEquations:
    """Inverse dynamics of a system as expressions.

    ``equations`` are in the description's coordinates and speeds; ``rates`` stand for u̇ of the independent
    ones. ``tau`` has the effort that is left along every speed of the tree, by index, where ``loads`` are
    applied and the efforts of ``acting`` act along speeds.
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
        return _independent(self.equations.system, self.reduction)

    @cached_property
    def given(self) -> tuple[int, ...]:
        """Indices of prescribed and locked speeds."""
        return tuple(i for i, u in enumerate(self.equations.system.speeds) if u in self.reduction.given)

    @cached_property
    def along_independent(self) -> list[Expr]:
        """Efforts along the independent speeds."""
        found = []
        for r in self.independent:
            value = self.tau[r]
            for d, factors in self.reduction.elimination.factors.items():
                value = plus(value, times(factors.get(r, 0), self.tau[d]))
            found.append(as_expr(value))
        return found

    @cached_property
    def along_given(self) -> list[Expr]:
        """Efforts along prescribed and locked speeds."""
        system, forces = self.equations.system, constraint_forces(self.reduction, self.tau)
        return [
            as_expr(held_effort(system, self.reduction, self.tau, forces, system.speeds[g]))
            for g in self.given
        ]

    def reactions(self, bodies: Collection[str], constraints: Collection[str]) -> list[Expr]:
        """Force and moment through the joints of bodies, in their axes, then the forces of constraints.

        What passes through a joint holds the effort along it. The inertia is that of the description.
        """
        system, reduction = self.equations.system, self.reduction
        with derivation(), neglecting_as_derived(self.equations):
            rates = dict(zip(self.independent, self.rates, strict=True))
            tree = moving_tree(system, reduction, rates, separate_welds=bodies)
            applied = applied_loads(system, tree, reduction.plain, whole=True, loads=self.loads)
            own = net_wrenches(tree, applied)
            tau = joint_efforts(tree, applied, accumulated_wrenches(tree, own, "r"))
            forces = constraint_forces(reduction, _less(tau, self.acting))
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
    """The inverse dynamics of a system with its loads, or others, over the tree with regrouped inertia."""
    refuse_rigid_contacts(equations, "inverse dynamics")
    with derivation(), neglecting_as_derived(equations):
        described = described_equations(equations)
        system, reduction = described.system, described.reduction
        rates = {
            i: reduction.plain(system.accelerations[system.speeds[i]])
            for i in _independent(system, reduction)
        }
        applied = tuple(all_loads(system) if loads is None else loads)
        tau = _less(tree_efforts(system, reduction, rates, applied), acting or {})
    return InverseEquations(described, tuple(rates.values()), applied, acting or {}, tau)


def tree_efforts(
    system: Description, reduction: Reduction, rates: Mapping[int, Expr], loads: Sequence[Load]
) -> dict[int, Scalar]:
    """τ along all speeds of the tree by index, from the rates of the independent ones."""
    tree = simplified(moving_tree(system, reduction, rates))
    return efforts(tree, applied_loads(system, tree, reduction.plain, loads=loads))


def _independent(system: Description, reduction: Reduction) -> tuple[int, ...]:
    return tuple(system.speeds.index(u) for u in reduction.independent(system))


def _less(tau: Mapping[int, Scalar], acting: Mapping[int, Scalar]) -> dict[int, Scalar]:
    return {i: minus(value, acting.get(i, 0)) for i, value in tau.items()}


@contextmanager
def neglecting_as_derived(equations: DerivedEquations) -> Iterator[None]:
    """Terms are neglected as they were in the derivation."""
    judged = equations.judged
    with truncated(Truncation(judged.keep) if judged else None):
        yield


def moving_tree(
    system: Description,
    reduction: Reduction,
    rates: Mapping[int, Expr],
    separate_welds: Collection[str] = (),
) -> Tree:
    """The tree with the rates of all speeds known, from those of the independent ones."""
    known = {**rates, **_dependent_rates(reduction, rates)}

    def moving(d: Freedom) -> Freedom:
        return replace(d, rate=known.get(d.index, d.rate), dependent=False)

    return build_tree(
        system, reduction.plain, given=reduction.given, split_free_bodies=True, separate_welds=separate_welds
    ).with_degrees(moving)


def _dependent_rates(reduction: Reduction, rates: Mapping[int, Expr]) -> dict[int, Scalar]:
    """u̇ of dependent speeds. The factors relate rates without what drifting bodies gain by turning."""
    factors = reduction.elimination.factors
    if not factors:
        return {}
    gained = corrections(reduction.tree)
    x = {i: minus(rate, gained.get(i, 0)) for i, rate in rates.items()}
    found = dependent_rates(reduction.tree, x, factors)
    return {d: plus(found[d], gained.get(d, 0)) for d in factors}


def described_equations(equations: DerivedEquations) -> DerivedEquations:
    """Equations in the description's own coordinates and speeds, without any section."""
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
    """Whether the state holds the description's coordinates and speeds."""
    own = [equations.reduction.plain(u) for u in equations.reduction.independent(equations.system)]
    states = equations.targets.speeds
    return len(own) == len(states) and all(u is s for u, s in zip(own, states, strict=True))
