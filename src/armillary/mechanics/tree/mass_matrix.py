"""The mass matrix of a tree, the equations of its flexible links' modes, and the solution of M u̇ = f."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.triples import (
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    cross_triples,
    inner,
    is_zero,
    joined,
    matrix_sum,
    matrix_vector,
    minus,
    named,
    named_symmetric,
    plus,
    scaled,
    times,
    unit,
    vanishes,
)
from armillary.errors import ModelError
from armillary.mechanics.tree.kinematics import (
    Wrench,
    component_along,
    drift_correction,
    relative_spin,
    twist_dot,
    wrench_at_parent,
    wrench_sum,
)
from armillary.mechanics.tree.tree import (
    LINEAR,
    Freedom,
    Link,
    Tree,
    deformed_link,
    moment_inertia,
    point_mass_inertia,
)

# The equations of a flexible link's modes, with the bodies attached to its nodes.
#
# A node moves by the twists φ_p = (θ_p, ψ_p) of the modes of the flexible link that carries it. A body
# attached to the node has an inertia I, which maps accelerations to wrenches, and a wrench w at zero
# acceleration. It adds to the modes' equations
#
#     M_pq += φ_q·I φ_p        W_p += I φ_p, carried to the flexible link        f_p −= φ_p·w
#
# where W_p is the wrench on the flexible link per unit of ξ̇_p; without attached bodies it is (H_p, P_p). If
# a flexible body is held at one of its own nodes, the body itself moves by φ_p relative to the body that
# holds it; then W_p and M include this motion.

Inertia = Callable[[Triple, Triple], Wrench]  # the wrench that an acceleration (α, a) needs


class ModalEquations:
    """Modal equations Σ M_pq ξ̇_q + W_p·(α, a) = f_p of one flexible link, to which terms are added."""

    def __init__(
        self,
        freedoms: tuple[Freedom, ...],
        M: Sequence[Sequence[Scalar]],
        H: Sequence[Triple],
        P: Sequence[Triple],
        force: list[Scalar],
    ) -> None:
        self.freedoms = freedoms
        self.active = [p for p, d in enumerate(freedoms) if not d.prescribed]
        self.masses = {(p, q): M[p][q] for p in self.active for q in self.active if p <= q}
        self.wrenches: dict[int, Wrench] = {p: (H[p], P[p]) for p in self.active}
        self.force = {p: force[p] for p in self.active}

    def name(self) -> None:
        """Replace all terms by intermediate values."""
        for p in self.active:
            label = f"{self.freedoms[p].index + 1}"
            n, f = self.wrenches[p]
            self.wrenches[p] = (named(n, f"W_{label}_n"), named(f, f"W_{label}_f"))
            self.force[p] = fn.named(self.force[p], f"f_{label}")
        for p, q in self.masses:
            label = f"{self.freedoms[p].index + 1}_{self.freedoms[q].index + 1}"
            self.masses[p, q] = fn.named(self.masses[p, q], f"M_{label}")


def modal_equations(tree: Tree, forces: Mapping[int, Scalar] | None = None) -> dict[int, ModalEquations]:
    """Return the modal equations by the index of the flexible link; ``forces`` are right sides by speed
    index, zero by default.
    """
    found = {}
    for i, link in enumerate(tree.links):
        modes = link.modes
        if modes is not None:
            force = [0 if forces is None else forces[d.index] for d in modes.freedoms]
            found[i] = ModalEquations(modes.freedoms, modes.M, modes.H, modes.P, force)
    return found


def couple_to_modes(
    tree: Tree, index: int, found: dict[int, ModalEquations], inertia: Inertia, wrench: Wrench
) -> None:
    """Add a flexed link's inertia and wrench to the equations of the modes that move it."""
    link = tree.links[index]
    if link.carrier < 0:
        return
    block = found[link.carrier]
    held = link.carrier == index
    felt = {p: inertia(*link.columns[p]) for p in block.active}
    for p in block.active:
        block.force[p] = minus(block.force[p], twist_dot(link.columns[p], wrench))
    for p, q in block.masses:
        value = plus(block.masses[p, q], twist_dot(link.columns[q], felt[p]))
        if held:
            value = plus(value, twist_dot(link.columns[q], block.wrenches[p]))
            value = plus(value, twist_dot(link.columns[p], block.wrenches[q]))
        block.masses[p, q] = value
    for p in block.active:
        n, f = felt[p] if held else wrench_at_parent(tree, index, *felt[p])
        block.wrenches[p] = wrench_sum(block.wrenches[p], (n, f))


# The mass matrix of a tree, from composite bodies: all bodies beyond a joint, moving as one rigid body.
#
# The partial velocity of a joint's speed is that of one rigid body for all bodies beyond the joint. So the
# sums over these bodies in Kane's equations are made once, leaves first: composite mass, first moment h and
# inertia J about each joint's point. For a turn about k, a column of M is the momentum (J k, k × h) of the
# composite body for a unit speed, carried from joint to joint towards the ground; its component at each joint
# on the way is an element. For a turn, k has the same components in the link's and in the parent's axes. So
# the column is computed from the composite in the parent's axes, which is needed anyway.
#
# A speed is eliminated at once if no other speed beyond its joint is unknown and its column is only a moment
# about the axis, (J_kk k, 0), as for a wheel, a rotor or a balanced last link of a wrist. The moment about k
# then equals the joint's effort f_d, whatever the accelerations are, so the inertia that enters the equations
# of other joints is J without J_kk. With c_r = k·ω_r, where ω_r is the parent's angular velocity per unit of
# u_r,
#
#     u̇_d = f_d / J_kk − Σ_r c_r u̇_r
#
# Elimination from the full matrix gives the same numbers, but first adds and then subtracts J_kk c_r c_s.


def unknown_freedoms(link: Link) -> list[Freedom]:
    """Return the degrees of freedom of the link's joint whose speeds are not prescribed."""
    return [d for d in link.freedoms if not d.prescribed]


@dataclass(frozen=True, eq=False)
class Composite:
    """Mass, first moment and inertia of all bodies beyond a joint, about the joint's point."""

    mass: Scalar
    first: Triple
    inertia: Matrix

    @classmethod
    def of(cls, link: Link) -> Composite:
        """Return the composite of a link alone, in its present shape."""
        link = deformed_link(link)
        return cls(link.mass, link.first, link.inertia)

    def momentum(self, w: Triple, v: Triple) -> Wrench:
        """Return (angular momentum about the joint's point, linear momentum) for the velocities w and v."""
        n = add(matrix_vector(self.inertia, w), cross_triples(self.first, v))
        return n, add(scaled(v, self.mass), cross_triples(w, self.first))

    def with_names(self, name: str) -> Composite:
        """Return the composite with its elements as intermediate values."""
        return Composite(
            self.mass, named(self.first, f"h_{name}"), named_symmetric(self.inertia, f"J_{name}")
        )

    def without(self, k: int) -> Composite:
        """Return the composite without its moment of inertia about coordinate axis k."""
        own = scaled(unit(k), times(-1, self.inertia[k][k]))
        x, y, z = (own if i == k else ZEROS for i in range(3))
        return Composite(self.mass, self.first, matrix_sum(self.inertia, (x, y, z)))

    def in_parent_axes(self, link: Link) -> Composite:
        """Return the composite in the axes of the link's parent, about the same point."""
        return Composite(
            self.mass,
            named(link.rotation.to_parent(self.first), f"hp_{link.name}"),
            link.rotation.symmetric_to_parent(self.inertia, f"Jp_{link.name}"),
        )


@dataclass(frozen=True, eq=False)
class SeparateTurn:
    """A turn that is eliminated at once: its composite has J k = J_kk k and no first moment across k.

    ``inertia`` is J_kk, and ``row`` has c_r by speed index r.
    """

    freedom: Freedom
    inertia: Scalar
    row: dict[int, Scalar]


def mass_matrix(tree: Tree) -> dict[tuple[int, int], Scalar]:
    """Return M by (row, column) with row ≤ column, of all speeds that are not prescribed."""
    return separated_masses(tree, ())[0]


def separated_masses(
    tree: Tree, separable: Collection[int]
) -> tuple[dict[tuple[int, int], Scalar], list[SeparateTurn]]:
    """Return M without the turns that can be eliminated at once, and these turns, from the ground outwards.

    Only speeds with an index in ``separable`` are eliminated.
    """
    turns: list[SeparateTurn] = []
    coupled: set[int] = set()  # links beyond which there are unknown speeds that are not separate turns
    composites = [Composite.of(link) for link in tree.links]
    matrix: dict[tuple[int, int], Scalar] = {}
    modal = modal_equations(tree)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        own = composites[i].with_names(link.name)
        turn = None if i in coupled else _separate_turn(tree, i, own, separable)
        if turn is None:
            _own_block(link, own, matrix)
            if i in coupled or not all(d.prescribed for d in link.degrees):
                coupled.add(link.parent)
        else:
            turns.insert(0, turn)
            own = own.without(turn.freedom.direction)
        couple_to_modes(tree, i, modal, own.momentum, (ZEROS, ZEROS))
        if i in modal:
            _modal_block(tree, i, modal[i], matrix)
        if link.parent < 0:
            continue
        turned = own.in_parent_axes(link)
        composites[link.parent] = composite_with_child(composites[link.parent], turned, link.offset)
        for d in unknown_freedoms(link) if turn is None else ():
            carry_column(tree, link.parent, parent_column(link, own, turned, d), d, matrix)
    return matrix, turns


def _separate_turn(
    tree: Tree, index: int, body: Composite, separable: Collection[int]
) -> SeparateTurn | None:
    """Return the turn of a link if it can be eliminated at once, else None."""
    link = tree.links[index]
    if link.step != "turn" or link.degrees[0].index not in separable or len(link.degrees) > 1:
        return None
    d = link.degrees[0]
    k, (n, f) = d.direction, momentum_column(body, d)
    if is_zero(n[k]) or not vanishes((*n[:k], *n[k + 1 :], *f)):
        return None
    row: dict[tuple[int, int], Scalar] = {}
    if link.parent >= 0:
        axis = link.rotation.to_parent(scaled(unit(k), d.sign))
        carry_column(tree, link.parent, (axis, ZEROS), d, row, name="c")
    return SeparateTurn(d, body.inertia[k][k], {i + j - d.index: c for (i, j), c in row.items()})


def parent_column(link: Link, own: Composite, turned: Composite, d: Freedom) -> Wrench:
    """Return a column of M as a wrench in the axes of the link's parent, about the parent's origin."""
    axis = scaled(unit(d.direction % 3), d.sign)
    if link.step in ("turn", "slide"):  # the axis is constant in the parent
        n, f = _momenta(turned, link.rotation.to_parent(axis), d.direction >= LINEAR)
    else:
        n, f = _momenta(own, axis, d.direction >= LINEAR)
        n, f = link.rotation.to_parent(n), named(link.rotation.to_parent(f), "col_f")
    n = named(add(n, cross_triples(link.offset, f)), f"col_{d.index + 1}_n")
    return n, named(f, f"col_{d.index + 1}_f")


def momentum_column(body: Composite, d: Freedom) -> Wrench:
    """Return a column of M in the link's axes: the momentum of the composite body at unit speed of d."""
    return _momenta(body, scaled(unit(d.direction % 3), d.sign), d.direction >= LINEAR)


def _momenta(body: Composite, axis: Triple, linear: bool) -> Wrench:
    """Return (angular momentum about the joint's point, momentum) of a composite body for a unit speed."""
    if linear:
        return cross_triples(body.first, axis), scaled(axis, body.mass)
    n = joined(inner(row, axis) for row in body.inertia)
    return n, cross_triples(axis, body.first)


def _own_block(link: Link, body: Composite, matrix: dict[tuple[int, int], Scalar]) -> None:
    freedoms = unknown_freedoms(link)
    for position, d in enumerate(freedoms):
        n, f = momentum_column(body, d)
        for other in freedoms[: position + 1]:
            value = component_along(other, n, f)
            set_element(matrix, other, d, plus(value, d.armature) if other is d else value)


def _modal_block(
    tree: Tree, index: int, block: ModalEquations, matrix: dict[tuple[int, int], Scalar]
) -> None:
    """Set elements of M between the modes of a link, and with joints from this link to the ground."""
    link = tree.links[index]
    block.name()
    for (p, q), value in block.masses.items():
        set_element(matrix, block.freedoms[p], block.freedoms[q], value)
    for p, (n, f) in block.wrenches.items():
        d = block.freedoms[p]
        for other in unknown_freedoms(link):
            set_element(matrix, other, d, component_along(other, n, f))
        if link.parent >= 0:
            carry_column(tree, link.parent, wrench_at_parent(tree, index, n, f), d, matrix)


def carry_column(
    tree: Tree,
    index: int,
    wrench: Wrench,
    d: Freedom,
    matrix: dict[tuple[int, int], Scalar],
    hub: int = -1,
    name: str = "M",
) -> Wrench | None:
    """Carry the wrench of a column of M from a link to the ground, or to the link ``hub``, and set the
    elements of the column on the way; return the wrench at the hub, or `None` at the ground.
    """
    while index != hub:
        link = tree.links[index]
        for other in unknown_freedoms(link):
            set_element(matrix, other, d, component_along(other, *wrench), name)
        if link.carrier >= 0:
            for mode, column in zip(modal_freedoms(tree, index), link.columns, strict=True):
                if not mode.prescribed:
                    set_element(matrix, mode, d, twist_dot(column, wrench), name)
        if link.parent < 0:
            return None
        wrench = wrench_at_parent(tree, index, *wrench)
        index = link.parent
    return wrench


def modal_freedoms(tree: Tree, index: int) -> tuple[Freedom, ...]:
    """Return the modes that move a flexed link, as freedoms."""
    modes = tree.links[tree.links[index].carrier].modes
    return () if modes is None else modes.freedoms


def set_element(
    matrix: dict[tuple[int, int], Scalar], a: Freedom, b: Freedom, value: Scalar, name: str = "M"
) -> None:
    """Add a value to an element of M, which may have one already: a mode and a joint may couple twice, at a
    node and at the held body.
    """
    i, j = sorted((a.index, b.index))
    matrix[i, j] = fn.named(plus(matrix.get((i, j), 0), value), f"{name}_{i + 1}_{j + 1}")


def composite_with_child(parent: Composite, child: Composite, r: Triple) -> Composite:
    """Return the sum of a parent's composite and a child's. The child's is in the parent's axes, about the
    child's origin at r.
    """
    first = add(parent.first, child.first, scaled(r, child.mass))
    shift = matrix_sum(moment_inertia(child.first, r), point_mass_inertia(child.mass, r))
    return Composite(
        plus(parent.mass, child.mass), first, matrix_sum(matrix_sum(parent.inertia, child.inertia), shift)
    )


# The solution of M x = f by a sparse LDLᵀ factorisation whose elements are expressions.
#
# The mass matrix is symmetric and positive definite, so every order of pivots is numerically safe; the order
# determines the fill-in, and so the cost. A pivot that is zero as an expression belongs to a speed that moves
# no mass, which is an error in the model.

ORDERS = ("leaves first", "fewest neighbours", "root first")
Order = str | Sequence[int]
"""One of ORDERS, or the indices of the unknowns in the order of their elimination."""


@dataclass(frozen=True, eq=False)
class ImplicitEquations:
    """M x = f: a sparse symmetric matrix by (row, column), row ≤ column, and the right side.

    Unknowns are numbered by speed index. Unknowns in ``separate`` are not in M: an entry (k, b_k, c_k) states
    x_k = b_k − Σ c_kj x_j. It comes after the entries of the unknowns x_j.
    """

    matrix: dict[tuple[int, int], Scalar]
    force: dict[int, Scalar]
    names: dict[int, str]
    separate: tuple[tuple[int, Scalar, dict[int, Scalar]], ...] = ()


@dataclass(frozen=True, eq=False)
class Eliminated:
    """The steps that eliminated unknowns from M x = f one after the other, and the remaining equations."""

    steps: tuple[tuple[int, Scalar, dict[int, Scalar]], ...]  # unknown, 1/pivot, its row
    rows: dict[int, dict[int, Scalar]]
    force: dict[int, Scalar]

    def solution(self, others: Mapping[int, Scalar]) -> dict[int, Scalar]:
        """Return x of the eliminated unknowns by index, from the values of the ``others``."""
        x = dict(others)
        for k, inverse, row in reversed(self.steps):
            value = self.force[k]
            for j in sorted(row):
                value = minus(value, times(row[j], x[j]))
            x[k] = fn.named(times(value, inverse), f"x_{k + 1}")
        return {k: x[k] for k in reversed([step[0] for step in self.steps])}


def uncouple(equations: ImplicitEquations, order: Order) -> dict[int, Scalar]:
    """Solve M x = f with the given order of elimination; return x by speed index."""
    x = eliminate(equations, order).solution({})
    for k, value, row in equations.separate:
        for j in sorted(row):
            value = minus(value, times(row[j], x[j]))
        x[k] = fn.named(value, f"x_{k + 1}")
    return x


def eliminate(equations: ImplicitEquations, order: Order, keep: Collection[int] = ()) -> Eliminated:
    """Eliminate all unknowns except those in ``keep``, which have negative indices, in the given order."""
    rows = _sparse_rows(equations)
    force = dict(equations.force)
    eliminated: list[tuple[int, Scalar, dict[int, Scalar]]] = []
    remaining = set(force).difference(keep)
    while remaining:
        k = _next_unknown(remaining, rows, order)
        remaining.discard(k)
        pivot = rows[k].pop(k, 0)
        inverse = pivot_inverse(pivot, equations.names[k], k)
        row = {j: v for j, v in rows.pop(k).items() if not is_zero(v)}
        _eliminate(k, row, inverse, rows, force)
        eliminated.append((k, inverse, row))
    return Eliminated(tuple(eliminated), rows, force)


def pivot_inverse(pivot: Scalar, speed: str, index: int) -> Scalar:
    """Return 1/pivot; raise an error that names the speed if the pivot is known to be zero."""
    if is_zero(pivot):
        raise ModelError(
            f"speed '{speed}' moves no mass: the mass matrix is singular; give its body (or a body "
            "on it) mass or inertia, or fix the joint"
        )
    found: Scalar = fn.named(1 / pivot, f"d_{index + 1}")
    return found


def _sparse_rows(equations: ImplicitEquations) -> dict[int, dict[int, Scalar]]:
    rows: dict[int, dict[int, Scalar]] = {k: {} for k in equations.force}
    for (i, j), value in equations.matrix.items():
        if not is_zero(value):
            rows[i][j] = rows[j][i] = value
    return rows


def _next_unknown(remaining: set[int], rows: dict[int, dict[int, Scalar]], order: Order) -> int:
    if not isinstance(order, str):
        return next(k for k in order if k in remaining)
    if order == "leaves first":
        return max(remaining)
    if order == "root first":
        return min(remaining)
    return min(remaining, key=lambda k: (len(rows[k]), -k))


def _eliminate(
    k: int,
    row: dict[int, Scalar],
    inverse: Scalar,
    rows: dict[int, dict[int, Scalar]],
    force: dict[int, Scalar],
) -> None:
    """Set M_ij −= M_ik M_kj / M_kk and f_i −= M_ik f_k / M_kk for all i and j that couple with k.

    Elements between kept unknowns (i, j < 0) stay unnamed sums; the caller names them.
    """
    neighbours = sorted(row)
    for position, i in enumerate(neighbours):
        rows[i].pop(k, None)
        factor = fn.named(times(row[i], inverse), f"l_{_label(i)}_{k + 1}")
        for j in neighbours[position:]:
            value = minus(rows[i].get(j, 0), times(factor, row[j]))
            if j >= 0:
                value = fn.named(value, f"M_{_label(i)}_{j + 1}_{k + 1}")
            rows[i][j] = rows[j][i] = value
        rest = minus(force[i], times(factor, force[k]))
        force[i] = rest if i < 0 else fn.named(rest, f"f_{i + 1}_{k + 1}")


def _label(i: int) -> str:
    return f"{i + 1}" if i >= 0 else f"h{-i}"


# From the accelerations x for which formalisms solve to the rates u̇ of the user's speeds.
#
# x are accelerations along each link's own directions. They equal u̇ except for the linear speeds of a drift
# (a free body):
#
#     speeds in body axes     u̇ = x + Rᵀg − ω × u
#     speeds in parent axes   u̇ = Rᵥᵀ (R x + g)
#
# with the rotations R from the link's axes to its parent link's axes, and Rᵥ from the parent body's axes to
# the axes of the parent body's link. The terms of gravity g apply only to a body on the ground.


def speed_rates(tree: Tree, x: dict[int, Scalar]) -> dict[int, Scalar]:
    """Return u̇ by speed index, including prescribed speeds."""
    rates: dict[int, Scalar] = {}
    for link in tree.links:
        for d in link.degrees:
            rates[d.index] = x[d.index] if d.rate is None or d.dependent else d.rate
        if link.step == "drift":
            _drift_rates(tree, link, x, rates)
    return rates


def _drift_rates(tree: Tree, link: Link, x: dict[int, Scalar], rates: dict[int, Scalar]) -> None:
    linear = [d for d in link.freedoms if d.direction >= LINEAR]
    raw: list[Scalar] = [0, 0, 0]
    for d in linear:
        if not d.prescribed:
            raw[d.direction % 3] = x[d.index]
    if link.velocity == "body":
        gained: Triple = add(tuple(raw), drift_correction(link, relative_spin(link), tree))
    else:
        fall = tree.gravity if link.parent < 0 else (0, 0, 0)
        turned = link.rotation.to_parent(joined(fn.named(v, "x") for v in raw))
        gained = link.velocity_axes.to_child(add(turned, fall))
    for d in linear:
        if not d.prescribed:
            rates[d.index] = gained[d.direction % 3]
