"""Rates of the speeds, linearised by implicit differentiation of the equations of motion.

The efforts τ(t, q, u, u̇) along the independent speeds vanish in free motion, so that

    M δu̇ = −∂τ/∂x δx,    u̇ held constant in ∂τ/∂x

for changes δx of states and inputs. The mass matrix M = ∂τ/∂u̇ is factorised once for all directions.
Derivatives of the solved rates would differentiate the factorisation for each direction: this would take 2955
operations instead of 2357 for the Stanford arm, and 5647 instead of 5182 for the bicycle. Rates that a
formalism computes by recursion are differentiated directly: an example of a hub with panels takes 7708
operations, instead of 8942 with a mass matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from armillary.algebra import functions as fn
from armillary.algebra.calculus import tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr
from armillary.algebra.functions import keep_visible
from armillary.algebra.triples import ZEROS, Scalar, is_zero, joined, minus, plus, times, unit
from armillary.algebra.walk import symbols
from armillary.analysis.effort_equations import inverse_equations
from armillary.mechanics.constraints.constrained_equations import reduced_equations
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.inverse_dynamics import (
    Columns,
    CompositeRows,
    composite_rows,
    effort_derivatives,
    efforts,
    is_supported,
    speed_derivatives,
)
from armillary.mechanics.tree.kinematics import (
    AppliedLoads,
    Wrench,
    accumulated_wrenches,
    applied_loads,
    component_along,
    motions,
    net_wrenches,
)
from armillary.mechanics.tree.mass_matrix import (
    Eliminated,
    ImplicitEquations,
    eliminate,
    mass_matrix,
    speed_rates,
    unknown_freedoms,
)
from armillary.mechanics.tree.regroup import regroup
from armillary.mechanics.tree.tree import LINEAR, Freedom, Link, Tree
from armillary.program.derive import find_formalism
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.tree_formalisms import force_array
from armillary.program.linearization import Position, positions
from armillary.program.rate_columns import Factors
from armillary.untyped import Given

# Rates of the speeds of a tree without constraints, linearised through its efforts.
#
# The unknowns x of the equations of motion make the efforts τ(q, u, x) vanish, so that
#
#     M δx = −∂τ/∂q δq − ∂τ/∂u δu,    x held
#
# with M factorised once, along the tree: LᵀDL without fill, since an elimination from the leaves couples only
# links on one path to the ground. The derivatives of τ come from composite bodies
# (``mechanics/tree/inverse_dynamics.py``). The unknowns are accelerations in the axes of each link, relative
# to free fall. So they do not change if a free body as a whole is turned or shifted, and u̇ of its speeds
# follows from them by a rotation matrix, T.

# Largest number of pairs of a link and a link on its path to the ground. Each takes some 75 operations, and a
# chain of 64 links has 2080 pairs. With more pairs, all columns are linearised by one tangent, at a cost
# linear in the length of the chain.
_PAIRS = 1000
# With more than _FEW and at most _MANY freedoms, inertia forces are computed from columns of derivatives.
_FEW, _MANY = 6, 40
Direction = frozenset[tuple[Expr, Expr]]  # changes of symbols, as (symbol, change)


@dataclass(frozen=True, eq=False)
class TreeRates:
    """The linearised rates of a tree's speeds, in the order of the speeds that are states."""

    rates: tuple[Expr, ...]  # symbols of u̇ in the results of ``along``; a tree needs none
    tree: Tree
    applied: AppliedLoads
    order: tuple[int, ...]
    unknowns: Mapping[int, Scalar]  # x, by speed
    moving: Tree  # the tree with x as the rates of freedoms
    drifts: Mapping[int, Scalar]  # u̇ in terms of x
    columns: Mapping[Direction, Mapping[int, Scalar]]  # changes of efforts for motions of single freedoms
    inertial: frozenset[Expr]  # symbols of motion, geometry and inertia
    factors: Factors

    @cached_property
    def efforts(self) -> dict[int, Scalar]:
        """Return τ as expressions, which are zero at the unknowns x."""
        return efforts(self.moving, self.applied, "r")

    def along(self, moving: Mapping[Expr, Expr]) -> list[Expr]:
        """Return δu̇ for given changes of symbols."""
        right, added = self.parts(moving)
        found = self.factors.turn(self.factors.solve(right), added)
        return [as_expr(found[i]) for i in self.order]

    def parts(self, moving: Mapping[Expr, Expr]) -> tuple[dict[int, Expr], dict[int, Expr]]:
        """Return −δτ, and the terms of δu̇ besides T δx (`_rates_from_body_axes`), for changes of symbols."""
        held = {x: ZERO for x in self.unknowns.values() if isinstance(x, Expr) and x.kind == "let"}
        still = {**held, **moving}
        right = {i: as_expr(times(x, -1)) for i, x in self._efforts(moving, still).items() if not is_zero(x)}
        added: dict[int, Expr] = {}
        for link in self.tree.links:
            if link.step == "drift":
                added |= self._drifting(link, still)
        return right, added

    def _efforts(self, moving: Mapping[Expr, Expr], still: Mapping[Expr, Expr]) -> dict[int, Scalar]:
        """Return δτ with the unknowns held."""
        known = self.columns.get(frozenset(moving.items()))
        if known is None and not self.inertial.isdisjoint(moving):
            return dict(zip(self.efforts, tangents(map(as_expr, self.efforts.values()), still), strict=True))
        found = dict(known or {})
        for i, change in self._loads(still).items():
            found[i] = minus(found.get(i, 0), change)
        return found

    def _loads(self, still: Mapping[Expr, Expr]) -> dict[int, Scalar]:
        """Return the changes of the generalised forces of loads whose components in link axes change."""
        forces, wrenches = self.applied.forces, self.applied.wrenches
        values = [*forces.values(), *(x for n, f in wrenches.values() for x in (*n, *f))]
        changes = tangents(map(as_expr, values), still)
        found: dict[int, Scalar] = {i: x for i, x in zip(forces, changes, strict=False) if x is not ZERO}
        rest = changes[len(forces) :]
        if all(x is ZERO for x in rest):
            return found
        own: list[Wrench] = [(ZEROS, ZEROS)] * len(self.tree.links)
        for k, i in enumerate(wrenches):
            six = [0 if x is ZERO else x for x in rest[6 * k : 6 * k + 6]]
            own[i] = (joined(six[:3]), joined(six[3:]))
        for link, (n, f) in zip(self.tree.links, accumulated_wrenches(self.tree, own, "d"), strict=True):
            for d in unknown_freedoms(link):
                found[d.index] = plus(found.get(d.index, 0), component_along(d, n, f))
        return found

    def _drifting(self, link: Link, still: Mapping[Expr, Expr]) -> dict[int, Expr]:
        """Return the change of the rates of a free body's linear speeds with x held."""
        linear = _linear_freedoms(link)
        changes = tangents([as_expr(self.drifts[d.index]) for d in linear], still)
        return {d.index: x for d, x in zip(linear, changes, strict=True) if x is not ZERO}


def _linear_freedoms(link: Link) -> list[Freedom]:
    return [d for d in link.freedoms if d.direction >= LINEAR and not d.prescribed]


def _rates_from_body_axes(tree: Tree) -> dict[int, dict[int, Expr]]:
    """Return T of free bodies with linear speeds in the parent's axes; it turns x into these axes."""
    found: dict[int, dict[int, Expr]] = {}
    for link in tree.links:
        if link.step != "drift" or link.velocity == "body":
            continue
        linear = _linear_freedoms(link)
        columns = [
            link.velocity_axes.to_child(link.rotation.to_parent(unit(d.direction % 3))) for d in linear
        ]
        for d in linear:
            row = [(e.index, column[d.direction % 3]) for e, column in zip(linear, columns, strict=True)]
            found[d.index] = {k: as_expr(fn.named(x, f"T_{k + 1}")) for k, x in row if not is_zero(x)}
    return found


def tree_rates(equations: DerivedEquations) -> TreeRates | None:
    """Return the rates of a tree in the description's own speeds, without constraints.

    Return `None` for constraints, neglected terms, a single speed, unsupported or too many links, or a
    gravity field that varies in space.
    """
    system, reduction = equations.system, equations.reduction
    tree = reduction.tree
    if not _symbols_in(tree.gravity).isdisjoint(map(reduction.plain, (*system.coordinates, *system.speeds))):
        return None  # an attractor's field varies with the position of the mass centre
    if equations.judged or system.constraints or len(equations.speeds) < 2 or not is_supported(tree):
        return None
    if sum(len(tree.path_to_ground(i)) for i in range(len(tree.links))) > _PAIRS:
        return None
    order = tuple(system.speeds.index(u) for u in reduction.independent(system))
    applied = applied_loads(system, tree, reduction.plain)
    found = composite_rows(tree, motions(tree))
    names = {d.index: d.name for link in tree.links for d in link.degrees if not d.prescribed}
    solved = eliminate(
        ImplicitEquations(found.matrix, _forces_at_rest(tree, applied, found), names), "fewest neighbours"
    )
    unknowns = {k: _held_value(x, k) for k, x in solved.solution({}).items()}
    if any(isinstance(x, Expr) and x.constant and x.kind != "number" for x in unknowns.values()):
        return None  # such an unknown is not held constant if its parameters change as inputs

    def with_unknown_rate(d: Freedom) -> Freedom:
        return d if d.prescribed else replace(d, rate=unknowns[d.index], dependent=True)

    moving = tree.with_degrees(with_unknown_rate)
    own, along = net_wrenches(moving, applied), _joint_forces(moving, applied)
    passed = accumulated_wrenches(moving, own, "r", along)
    geometry = _geometry(tree)
    place = {system.speeds.index(p.speed): p for p in positions(equations) if p.speed is not None}
    turning = {i for i, p in place.items() if not geometry.isdisjoint(p.moving)}
    columns = effort_derivatives(moving, found, motions(moving), passed, turning)
    return TreeRates(
        (), tree, applied, order, unknowns, moving,
        speed_rates(tree, dict(unknowns)),
        _by_direction(equations, columns, place), _inertial(tree),
        Factors(_with_unit_rows(solved), _rates_from_body_axes(tree)),
    )  # fmt: skip


def _joint_forces(tree: Tree, applied: AppliedLoads) -> dict[int, Scalar]:
    """Return the components of the joints' wrenches along freedoms, which follow from zero efforts.

    So the wrenches need not be summed for them, which saves 28 operations in A and B of the Stanford arm,
    and 770 in those of a humanoid.
    """
    return {
        d.index: minus(applied.forces.get(d.index, 0), d.armature_effort)
        for link in tree.links
        for d in unknown_freedoms(link)
    }


def _forces_at_rest(tree: Tree, applied: AppliedLoads, found: CompositeRows) -> dict[int, Scalar]:
    """Return the generalised forces at x = 0. Inertia forces are quadratic in the speeds, so by Euler's
    theorem

        f = f(u = 0) − ½ Σ ∂τ/∂u_s u_s

    if no motion is prescribed. The columns ∂τ/∂u_s are needed anyway. Compared with a recursion for these
    forces, the time for A and B is 0.94 times as long for legged robots, 1.0 times for an arm with six
    joints, and 1.04 times for a humanoid with fingers, whose long sums wait for all columns.
    """
    freedoms = [d for link in tree.links for d in link.freedoms]
    if not _FEW < len(freedoms) <= _MANY or any(d.prescribed for d in freedoms):
        return force_array(tree, applied)
    force = force_array(tree.with_degrees(lambda d: replace(d, speed=0)), applied)
    half = {d.index: fn.named(times(d.speed, 0.5), f"h_{d.index + 1}") for d in freedoms}
    for s, column in speed_derivatives(tree, found, motions(tree)).items():
        for r, x in column.items():
            force[r] = minus(force[r], times(x, half[s]))
    return {r: fn.named(x, f"f_{r + 1}") for r, x in force.items()}


def _with_unit_rows(solved: Eliminated) -> tuple[tuple[int, Expr, dict[int, Expr]], ...]:
    """Return the steps of the elimination with rows of L instead of D L."""
    return tuple(
        (
            k,
            as_expr(inverse),
            {j: as_expr(fn.named(times(a, inverse), f"l_{j + 1}_{k + 1}")) for j, a in row.items()},
        )
        for k, inverse, row in solved.steps
    )


def _held_value(x: Scalar, k: int) -> Scalar:
    """Return an unknown as an intermediate value, so that it can be held while symbols change."""
    return keep_visible(x, f"x_{k + 1}") if isinstance(x, Expr) else x


def _by_direction(
    equations: DerivedEquations, columns: tuple[Columns, Columns], place: Mapping[int, Position]
) -> dict[Direction, Mapping[int, Scalar]]:
    by_displacement, by_speed = columns
    plain, speeds = equations.reduction.plain, equations.system.speeds
    found: dict[Direction, Mapping[int, Scalar]] = {
        frozenset([(plain(speeds[i]), UNIT)]): column for i, column in by_speed.items()
    }
    for i, p in place.items():
        if i in by_displacement:
            found[frozenset(p.moving.items())] = by_displacement[i]
    return found


def _geometry(tree: Tree) -> frozenset[Expr]:
    """Return the symbols in rotations and offsets."""
    offsets = [x for link in tree.links for x in link.offset]
    return _symbols_in(offsets, [link.rotation for link in tree.links])


def _inertial(tree: Tree) -> frozenset[Expr]:
    """Return the symbols of motion, geometry and inertia."""
    return _symbols_in((), [tree])


def _symbols_in(values: Iterable[object], mapped: Iterable[Given] = ()) -> frozenset[Expr]:
    """Return the symbols in ``values``, and in all that ``map`` visits in the objects ``mapped``."""
    found = list(values)

    def collect(x: Scalar) -> Scalar:
        found.append(x)
        return x

    for item in mapped:
        item.map(collect)
    return frozenset(symbols(*(x for x in found if isinstance(x, Expr))))


@dataclass(frozen=True, eq=False)
class ImplicitRates:
    """Equations of motion of the independent speeds: ``efforts`` are zero at the true ``rates``."""

    rates: tuple[Expr, ...]
    efforts: tuple[Expr, ...]
    steps: tuple[
        tuple[int, Scalar, dict[int, Scalar]], ...
    ]  # steps of the elimination of M, by indices of speeds

    def along(self, moving: Mapping[Expr, Expr]) -> list[Expr]:
        """Return δu̇ for given changes of symbols, in terms of the symbols of u̇."""
        found = tangents(self.efforts, moving)
        right: dict[int, Scalar] = {i: times(x, -1) for i, x in enumerate(found)}
        for k, inverse, row in self.steps:
            for j, a in row.items() if not is_zero(right[k]) else ():
                factor = fn.named(times(a, inverse), f"l_{j + 1}_{k + 1}")
                right[j] = fn.named(minus(right[j], times(factor, right[k])), f"g_{j + 1}")
        x: dict[int, Scalar] = {}
        for k, inverse, row in reversed(self.steps):
            value = right[k]
            for j in sorted(row):
                value = minus(value, times(row[j], x[j]))
            x[k] = fn.named(times(value, inverse), f"x_{k + 1}")
        return [as_expr(x[i]) for i in range(len(found))]


def implicit_rates(equations: DerivedEquations) -> ImplicitRates | TreeRates | None:
    """Return the rates of a tree, or implicit rates if the formalism eliminates a mass matrix.

    Return `None` for states other than the description's, contacts, neglected terms, or a single speed.
    """
    if not equations.described_states or equations.system.contacts:
        return None
    structured = tree_rates(equations)
    if structured is not None:
        return structured
    eliminated = find_formalism(equations.formalism).elimination
    if not eliminated or equations.judged or len(equations.speeds) < 2:
        return None
    found = inverse_equations(equations)
    reduction = equations.reduction
    tree = build_tree(equations.system, reduction.plain, given=reduction.given, split_free_bodies=True)
    unknown = [d.index for link in tree.links for d in link.degrees if not d.prescribed]
    names = {index: equations.system.speeds[index].data.name for index in unknown}
    whole = ImplicitEquations(mass_matrix(regroup(tree)), dict.fromkeys(unknown, 0), names)
    reduced = reduced_equations(whole, reduction.elimination.factors)
    place = {index: i for i, index in enumerate(found.independent)}
    steps = eliminate(reduced, "fewest neighbours").steps
    return ImplicitRates(
        found.rates,
        tuple(found.along_independent),
        tuple((place[k], inverse, {place[j]: a for j, a in row.items()}) for k, inverse, row in steps),
    )
