"""Efforts as expressions of time, coordinates, independent speeds and their rates.

The description's own speeds are used whatever the formalism of the model. In a tree the efforts are those of
``mechanics/tree/inverse_dynamics.py``. Under constraints, with u̇_d = Σ A_dr u̇_r + c_d for dependent speeds,

    e_r = τ_r + Σ_d A_dr τ_d        J_dᵀ λ = τ_d        e_g = τ_g − Σ_k J_kg λ_k

are the efforts along independent speeds r, the forces λ of the constraints and the efforts along prescribed
or locked speeds g, where nothing acts along the dependent ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.node import truncated
from armillary.algebra.smallness.truncation import Truncation
from armillary.algebra.vectors.scalars import minus, plus, times
from armillary.mechanics.constraints.reactions import constraint_forces, held_effort
from armillary.mechanics.constraints.reduced_equations import dependent_rates
from armillary.mechanics.constraints.reduction import Reduction, initial_configuration, reduce_system
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.inverse_dynamics import efforts
from armillary.mechanics.tree.kinematics import corrections
from armillary.mechanics.tree.loads import applied_loads
from armillary.mechanics.tree.regroup import regroup
from armillary.mechanics.tree.tree import Freedom, Tree
from armillary.model.description import Description
from armillary.model.signals.states import state_rates
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import derivation
from armillary.program.small_quantities import reader
from armillary.program.targets import Targets


@dataclass(frozen=True, eq=False)
class InverseEquations:
    """Inverse dynamics of a system as expressions.

    ``equations`` are in the description's coordinates and speeds; ``rates`` stand for u̇ of the independent
    ones. ``tau`` has the effort along every speed of the tree, by index.
    """

    equations: DerivedEquations
    rates: tuple[Expr, ...]
    tau: dict[int, Any]

    @property
    def reduction(self) -> Reduction:
        return self.equations.reduction

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """Indices of the independent speeds among all speeds."""
        speeds = self.equations.system.speeds
        return tuple(speeds.index(u) for u in self.reduction.independent(self.equations.system))

    @cached_property
    def given(self) -> tuple[int, ...]:
        """Indices of prescribed and locked speeds."""
        return tuple(i for i, u in enumerate(self.equations.system.speeds) if u in self.reduction.given)

    def along_independent(self, forces: Mapping[int, Any]) -> list[Expr]:
        """Generalised forces along the independent speeds, from those along all speeds of the tree."""
        found = []
        for r in self.independent:
            value = forces.get(r, 0)
            for d, factors in self.reduction.elimination.factors.items():
                value = plus(value, times(factors.get(r, 0), forces.get(d, 0)))
            found.append(as_expr(value))
        return found

    def constraint_forces(self, acting: Mapping[int, Any]) -> dict[str, Any]:
        """λ by constraint, where efforts act along the speeds of the tree."""
        return constraint_forces(self.reduction, self._left(acting))

    def along_given(self, acting: Mapping[int, Any]) -> list[Expr]:
        """Efforts along prescribed and locked speeds, where others act along the speeds of the tree."""
        left, system = self._left(acting), self.equations.system
        forces = constraint_forces(self.reduction, left)
        return [
            as_expr(held_effort(system, self.reduction, left, forces, system.speeds[g])) for g in self.given
        ]

    def _left(self, acting: Mapping[int, Any]) -> dict[int, Any]:
        return {i: minus(value, acting.get(i, 0)) for i, value in self.tau.items()}


def inverse_equations(equations: DerivedEquations) -> InverseEquations:
    """The inverse dynamics of a system, with all its loads, over the tree with regrouped inertia."""
    with derivation(), _as_derived(equations):
        described = described_equations(equations)
        system, reduction = described.system, described.reduction
        rates = {
            system.speeds.index(u): reduction.plain(system.accelerations[u])
            for u in reduction.independent(system)
        }
        return InverseEquations(described, tuple(rates.values()), tree_efforts(system, reduction, rates))


def tree_efforts(system: Description, reduction: Reduction, rates: Mapping[int, Expr]) -> dict[int, Any]:
    """τ along all speeds of the tree by index, from the rates of the independent ones."""
    tree = moving_tree(system, reduction, rates)
    return efforts(tree, applied_loads(system, tree, reduction.plain))


@contextmanager
def _as_derived(equations: DerivedEquations) -> Iterator[None]:
    """Terms are neglected as they were in the derivation."""
    judged = equations.judged
    with truncated(Truncation(judged.keep) if judged else None):
        yield


def moving_tree(system: Description, reduction: Reduction, rates: Mapping[int, Expr]) -> Tree:
    """The regrouped tree with the rates of all speeds known, from those of the independent ones."""
    known = {**rates, **_dependent_rates(reduction, rates)}

    def moving(d: Freedom) -> Freedom:
        return replace(d, rate=known.get(d.index, d.rate), dependent=False)

    tree = build_tree(system, reduction.plain, given=reduction.given, split_free_bodies=True)
    return regroup(tree.with_degrees(moving))


def _dependent_rates(reduction: Reduction, rates: Mapping[int, Expr]) -> dict[int, Any]:
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
    configuration = initial_configuration(system) if equations.absolute else equations.configuration
    reduction = reduce_system(system, reader({}, 1), configuration)
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
        configuration=configuration,
        options=equations.options,
    )


def _is_described(equations: DerivedEquations) -> bool:
    """Whether the state holds the description's coordinates and speeds."""
    if equations.absolute:
        return False
    own = [equations.reduction.plain(u) for u in equations.reduction.independent(equations.system)]
    states = equations.targets.speeds
    return len(own) == len(states) and all(u is s for u, s in zip(own, states, strict=True))
