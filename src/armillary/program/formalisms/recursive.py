"""Articulated bodies: elimination joint by joint, at a cost linear in the number of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.functions import Signed
from armillary.algebra.triples import (
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    combination,
    combined,
    is_zero,
    joined,
    minus,
    named,
    named_matrix,
    plus,
    scaled,
    times,
    total,
)
from armillary.mechanics.constraints.rows import Cluster, Gears
from armillary.mechanics.tree.kinematics import (
    AppliedLoads,
    Wrench,
    component_along,
    modal_forces,
    net_wrenches,
    twist_dot,
    wrench_at_parent,
    wrench_sum,
)
from armillary.mechanics.tree.mass_matrix import (
    Eliminated,
    ImplicitEquations,
    ModalEquations,
    couple_to_modes,
    eliminate,
    modal_equations,
    pivot_inverse,
    unknown_freedoms,
)
from armillary.mechanics.tree.tree import LINEAR, Freedom, Tree, deformed_link
from armillary.program.formalisms.hubs import (
    HUB,
    Articulated,
    acceleration_from_parent,
    inertia_at_parent,
    inertia_sum,
    left_at_hub,
    rigid_body,
    upper,
)

# Elimination of the modes of a flexible link, in the same manner as the joints in the recursion.
#
# A mode's row Σ M_pq ξ̇_q + W_p·(α, a) = f_p gives ξ̇_p; substituted in the link's equations it leaves
#
#     J − W_n W_nᵀ/M_pp  …        n + W_n f_p/M_pp  …
#
# Modes of a free flexible body are not coupled to one another, so each costs a few operations; bodies on its
# nodes couple them.


@dataclass(frozen=True, eq=False)
class ModalAcceleration:
    """A mode's acceleration: value − gain·(α, a) of the link − Σ others_q ξ̇_q of modes found earlier."""

    freedom: Freedom
    value: Scalar
    gain: Wrench
    others: dict[int, Scalar]

    def rate(self, alpha: Triple, a: Triple, x: Mapping[int, Scalar]) -> Scalar:
        """Return ξ̇ from the link's acceleration and the modes found so far, by speed index."""
        value = minus(self.value, twist_dot(self.gain, (alpha, a)))
        value = minus(value, combination(list(self.others.values()), [x[k] for k in self.others]))
        return fn.named(value, f"x_{self.freedom.index + 1}")


def eliminate_modes(body: Articulated, block: ModalEquations) -> tuple[Articulated, list[ModalAcceleration]]:
    """Eliminate the modes of a link, last first; return its articulated inertia and the modes' rates."""
    block.name()
    left = list(block.active)
    accelerations: list[ModalAcceleration] = []
    taken: list[tuple[Wrench, Wrench, Scalar]] = []
    while left:
        p = left.pop()
        d = block.freedoms[p]
        label = f"{d.index + 1}"
        inverse = pivot_inverse(block.masses[p, p], d.name, d.index)
        n, f = block.wrenches[p]
        gain = (named(scaled(n, inverse), f"g_{label}_n"), named(scaled(f, inverse), f"g_{label}_f"))
        drive = block.force[p]
        coupled = [q for q in left if not is_zero(block.masses[q, p])]
        factors: dict[int, Scalar] = {}
        for position, q in enumerate(coupled):
            mass, index = block.masses[q, p], block.freedoms[q].index
            factor = factors[index] = fn.named(times(mass, inverse), f"l_{index + 1}_{label}")
            for r in coupled[position:]:
                block.masses[q, r] = minus(block.masses[q, r], times(factor, block.masses[r, p]))
            n_q, f_q = block.wrenches[q]
            block.wrenches[q] = (add(n_q, scaled(gain[0], -mass)), add(f_q, scaled(gain[1], -mass)))
            block.force[q] = minus(block.force[q], times(factor, drive))
        if coupled:
            block.name()
        accelerations.append(
            ModalAcceleration(d, fn.named(times(drive, inverse), f"b_{label}"), gain, factors)
        )
        taken.append(((n, f), gain, drive))
    return _less_modes(body, taken, block), accelerations


def _less_modes(
    body: Articulated, taken: list[tuple[Wrench, Wrench, Scalar]], block: ModalEquations
) -> Articulated:
    """J − Σ W_n g_nᵀ and so on, each element as one sum."""
    name = f"bent_{block.freedoms[0].index + 1}" if block.freedoms else "bent"

    def matrix(a: Matrix, u: int, v: int, label: str) -> Matrix:
        rows = [
            [
                minus(a[i][j], combination([w[u][i] for w, _, _ in taken], [g[v][j] for _, g, _ in taken]))
                for j in range(3)
            ]
            for i in range(3)
        ]
        return named_matrix(rows, f"{label}_{name}")

    drives = [drive for _, _, drive in taken]
    n = add(body.n, combined([g[0] for _, g, _ in taken], drives))
    f = add(body.f, combined([g[1] for _, g, _ in taken], drives))
    J, M = matrix(body.J, 0, 0, "J"), matrix(body.M, 1, 1, "M")
    return Articulated(
        upper(J),
        matrix(body.H, 0, 1, "H"),
        upper(M),
        named(n, f"n_{name}"),
        named(f, f"f_{name}"),
    )


def flexed_acceleration(
    tree: Tree, index: int, alpha: Triple, a: Triple, x: Mapping[int, Scalar]
) -> tuple[Triple, Triple]:
    """Add the accelerations of modes, ``x`` by speed index, to the acceleration of a flexed link."""
    link = tree.links[index]
    modes = tree.links[link.carrier].modes
    assert modes is not None
    rates = [x.get(d.index, 0) for d in modes.freedoms]
    turning = combined([c[0] for c in link.columns], rates)
    moving = combined([c[1] for c in link.columns], rates)
    return named(add(alpha, turning), f"al_{link.name}"), named(add(a, moving), f"al_{link.name}")


# Links that are connected by gears, eliminated as one group in the recursion.
#
# Let x be the independent unknowns of a group, k the constant factors of its joints' accelerations in terms
# of x, and (α, a) the acceleration of the hub that carries the group, without the remainders (the parts of
# accelerations that do not depend on rates of speeds). Then
#
#     M x + Wᵀ (α, a) = f      W = Σ_d k_d U_d      M_rs = Σ_d k_dr s_d·(own_s + below_s) + k_ds s_d·below_r
#
# U_d is the column of the articulated inertia beyond joint d for a unit acceleration along the joint, carried
# to the hub; own_s is the wrench on a link from its own joints per unit of unknown s, and below_s the wrench
# from links beyond it. Links beyond the group have been eliminated before. Eliminating x leaves
# I − W M⁻¹ Wᵀ and p + W M⁻¹ f on the hub, as for a single degree of freedom below.
#
# Source: Jain (2012), constraint embedding, with Kane's remainders separated beforehand.

_NOTHING: Wrench = (ZEROS, ZEROS)


class GearGroup:
    """A group that is being eliminated: its links are gathered from the leaves, then all are eliminated."""

    def __init__(
        self, tree: Tree, cluster: Cluster, gears: Gears, forces: Mapping[int, Scalar], at_rest: bool
    ) -> None:
        self.tree, self.cluster, self.gears, self.forces, self.at_rest = tree, cluster, gears, forces, at_rest
        self.matrix: dict[tuple[int, int], Scalar] = {}
        self.force: dict[int, Scalar] = dict.fromkeys(cluster.unknowns, 0)
        self.arrived: dict[int, dict[int, Wrench]] = {}  # by link and unknown
        self.eliminated: Eliminated | None = None

    def gather(self, index: int, body: Articulated) -> None:
        """Add the equations of a link's joints, from the articulated inertia at the link."""
        joints = unknown_freedoms(self.tree.links[index])
        below = self.arrived.pop(index, {})
        own: dict[int, Wrench] = {}
        for d in joints:
            column = body.column(d)
            value = minus(self.forces.get(d.index, 0), component_along(d, body.n, body.f))
            value = value if self.at_rest else minus(value, d.armature_effort)
            for s, k in self.shares(d).items():
                own[s] = wrench_sum(own.get(s, _NOTHING), _scale_wrench(column, k))
                self.force[s] = plus(self.force[s], times(k, value))
        for d in joints:
            self._add_rows(d, own, below)
        self._carry(index, own, below)

    def shares(self, d: Freedom) -> Mapping[int, Scalar]:
        """Return the factors of the unknowns in a joint's acceleration."""
        return self.gears.factors.get(d.index, {d.index: 1})

    def _add_rows(self, d: Freedom, own: Mapping[int, Wrench], below: Mapping[int, Wrench]) -> None:
        for r, k in self.shares(d).items():
            for s, wrench in own.items():
                if s >= r:
                    self._add(r, s, times(k, component_along(d, *wrench)))
            for s, wrench in below.items():
                self._add(r, s, times(times(k, component_along(d, *wrench)), 2 if r == s else 1))
            for s, other in self.shares(d).items():
                if s >= r:
                    self._add(r, s, times(d.armature, times(k, other)))

    def _add(self, r: int, s: int, value: Scalar) -> None:
        key = min(r, s), max(r, s)
        self.matrix[key] = plus(self.matrix.get(key, 0), value)

    def _carry(self, index: int, own: Mapping[int, Wrench], below: Mapping[int, Wrench]) -> None:
        parent = self.tree.links[index].parent
        if parent < 0:
            return
        for s in sorted({*own, *below}):
            label = f"W_{self.tree.links[index].name}_{s + 1}"
            n, f = wrench_sum(own.get(s, _NOTHING), below.get(s, _NOTHING))
            there = wrench_at_parent(self.tree, index, named(n, f"{label}_n"), named(f, f"{label}_f"))
            known = self.arrived.setdefault(parent, {})
            known[s] = wrench_sum(known.get(s, _NOTHING), there)

    def eliminate(self) -> Articulated | None:
        """Eliminate the unknowns; return the articulated inertia left on the hub, or None on the ground."""
        hub = self.cluster.hub
        matrix = {key: fn.named(x, f"M_{key[0] + 1}_{key[1] + 1}") for key, x in self.matrix.items()}
        force = {s: fn.named(x, f"e_{s + 1}") for s, x in self.force.items()}
        names = {d.index: d.name for i in self.cluster.links for d in self.tree.links[i].freedoms}
        if hub < 0:
            self.eliminated = eliminate(ImplicitEquations(matrix, force, names), "fewest neighbours")
            return None
        for s, (n, f) in self.arrived.get(hub, {}).items():
            arrived = (*named(f, f"W_{s + 1}_f"), *named(n, f"W_{s + 1}_n"))
            matrix |= {(key, s): x for key, x in zip(HUB, arrived, strict=True)}
        force |= dict.fromkeys(HUB, 0)
        self.eliminated = eliminate(ImplicitEquations(matrix, force, names), "fewest neighbours", keep=HUB)
        return left_at_hub(self.eliminated)

    def solve(self, alpha: Triple, a: Triple) -> dict[int, Scalar]:
        """Return x (accelerations less known parts) of joints by index, from the acceleration of the hub."""
        assert self.eliminated is not None
        hub = dict(zip(HUB, (*a, *alpha), strict=True)) if self.cluster.hub >= 0 else {}
        x = self.eliminated.solution(hub)
        for i in self.cluster.links:
            for d in unknown_freedoms(self.tree.links[i]):
                if d.index in self.gears.factors:
                    value: Scalar = 0
                    for s, k in self.shares(d).items():
                        value = plus(value, times(k, x[s]))
                    x[d.index] = fn.named(value, f"x_{d.index + 1}")
        return x


def _scale_wrench(a: Wrench, k: Scalar) -> Wrench:
    return scaled(a[0], k), scaled(a[1], k)


# Articulated bodies: elimination joint by joint, at a cost linear in the number of links.
#
# Let (α, a) be the angular and linear acceleration of a link without the remainders. About its origin and in
# its axes
#
#     n = J α + H a + p_n        f = Hᵀ α + M a + p_f
#
# J, H, M is the articulated inertia I, initially the rigid inertia (J, h̃, m 1). A degree of freedom along
# direction d with unknown x and applied force τ has U·(α, a) + D x = τ − p_d, with U the d-th column of I and
# D its d-th element; eliminating x leaves
#
#     I − U Uᵀ/D,   p + U (τ − p_d)/D
#
# whose d-th row and column are zero. The other elements are carried to the parent. With an armature A of the
# joint, D is U_d + A, the d-th row and column become A Uᵀ/D, and p_d becomes τ − A (τ − p_d)/D.
#
# Source: Featherstone (1983), but with all acceleration remainders separated beforehand (Kane): articulated
# inertias are never multiplied by bias accelerations, and remainders multiply only the regrouped rigid
# inertias, which are sparse.

_NO_GEARS = Gears()


@dataclass(frozen=True, eq=False)
class JointAcceleration:
    """Acceleration along one direction, value − gain·(α, a); x is this value less the component of (α, a).

    The gain of the direction itself is −A/D, with the armature A.
    """

    freedom: Freedom
    value: Scalar
    gain: tuple[Scalar, ...]


def accelerations(
    tree: Tree, applied: AppliedLoads, *, at_rest: bool = False, gears: Gears = _NO_GEARS
) -> dict[int, Scalar]:
    """Return x by speed index; if ``at_rest``, by applied loads alone, at zero speeds and without gravity.

    Speeds that ``gears`` connect are eliminated with their group of links; see ``GearGroup``.
    """
    groups = [GearGroup(tree, cluster, gears, applied.forces, at_rest) for cluster in gears.clusters]
    group_of_link = {i: group for group in groups for i in group.cluster.links}
    inertias = _rigid(tree, applied, at_rest)
    modal = modal_equations(tree, modal_forces(tree, applied, at_rest=at_rest))
    bent: dict[int, list[ModalAcceleration]] = {}
    solved: list[list[JointAcceleration]] = [[] for _ in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        body = inertias[i].with_names(link.name)
        couple_to_modes(tree, i, modal, body.answer, (body.n, body.f))
        if i in modal:
            body, bent[i] = eliminate_modes(body, modal[i])
        group = group_of_link.get(i)
        if group is not None:
            group.gather(i, body)
        else:
            for d in reversed(unknown_freedoms(link)):
                body, found = _eliminate_freedom(body, d, applied.forces.get(d.index, 0))
                solved[i].append(found)
        if link.parent >= 0:
            inertias[link.parent] = inertia_sum(inertias[link.parent], inertia_at_parent(tree, i, body))
        if group is not None and i == group.cluster.links[0]:
            left = group.eliminate()
            if left is not None:
                inertias[link.parent] = inertia_sum(inertias[link.parent], left)
    x = _outward(tree, solved, bent, group_of_link)
    for link in tree.links:
        for d in link.freedoms:
            if d.dependent and not at_rest:
                assert d.rate is not None
                x[d.index] = plus(x[d.index], d.rate)
    return x


def _rigid(tree: Tree, applied: AppliedLoads, at_rest: bool) -> list[Articulated]:
    found = []
    wrenches = [(ZEROS, ZEROS)] * len(tree.links) if at_rest else net_wrenches(tree, applied)
    for link, (n, f) in zip(map(deformed_link, tree.links), wrenches, strict=True):
        found.append(rigid_body(link.mass, link.first, link.inertia, n, f))
    return found


def _eliminate_freedom(
    body: Articulated, d: Freedom, applied: Scalar
) -> tuple[Articulated, JointAcceleration]:
    """Eliminate one degree of freedom; return the remaining inertia and the formula of its acceleration."""
    k, linear = d.direction % 3, d.direction >= LINEAR
    U = (*(row[k] for row in body.H), *body.M[k]) if linear else (*body.J[k], *body.H[k])
    D = plus(U[d.direction], d.armature)
    inverse = pivot_inverse(D, d.name, d.index)
    U = tuple(0 if i == d.direction else u for i, u in enumerate(U))
    others = tuple(fn.named(times(u, inverse), f"g_{d.index + 1}_{i + 1}") for i, u in enumerate(U))
    own = times(d.armature, fn.named(times(inverse, -1), f"g_{d.index + 1}")) if _moves_rotor(d) else 0
    gain = tuple(own if i == d.direction else g for i, g in enumerate(others))
    drive = fn.named(
        minus(times(applied, d.sign), times(component_along(d, body.n, body.f), d.sign)), f"e_{d.index + 1}"
    )
    name = f"{d.index + 1}"
    left = _armature_row(d, gain)
    J = _less_freedom(
        body.J, U[:3], gain[:3], None if linear else k, None if linear else k, f"J_{name}", left[:3]
    )
    H = _less_freedom(
        body.H,
        gain[:3],
        U[3:],
        None if linear else k,
        k if linear else None,
        f"H_{name}",
        left[:3] if linear else left[3:],
        symmetric=False,
    )
    M = _less_freedom(
        body.M, U[3:], gain[3:], k if linear else None, k if linear else None, f"M_{name}", left[3:]
    )
    n = named([plus(p, times(g, drive)) for p, g in zip(body.n, gain[:3], strict=True)], f"n_{name}")
    f = named([plus(p, times(g, drive)) for p, g in zip(body.f, gain[3:], strict=True)], f"f_{name}")
    value = fn.named(times(drive, inverse), f"b_{d.index + 1}")
    passed = minus(times(applied, d.sign), times(d.armature, value))
    if linear:
        f = joined(passed if i == k else x for i, x in enumerate(f))
    else:
        n = joined(passed if i == k else x for i, x in enumerate(n))
    return Articulated(J, H, M, n, f), JointAcceleration(d, value, gain)


def _moves_rotor(d: Freedom) -> bool:
    return not is_zero(d.armature)


def _armature_row(d: Freedom, gain: tuple[Scalar, ...]) -> list[Scalar]:
    """Return A U/D: the row of the eliminated direction that an armature leaves in the inertia."""
    row = [times(d.armature, g) for g in gain]
    row[d.direction] = plus(d.armature, row[d.direction])
    return row


def _less_freedom(
    a: Matrix,
    u: Sequence[Scalar],
    g: Sequence[Scalar],
    row: int | None,
    column: int | None,
    name: str,
    left: Sequence[Scalar],
    *,
    symmetric: bool = True,
) -> Matrix:
    """a − u gᵀ, with ``left`` in the row and column of the eliminated direction: zeros without armature."""
    out: list[list[Scalar]] = [[0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i if symmetric else 0, 3):
            if i == row:
                value = left[j]
            elif j == column:
                value = left[i]
            else:
                value = minus(a[i][j], times(u[i], g[j]))
            out[i][j] = fn.named(value, f"{name}_{i + 1}{j + 1}")
            if symmetric:
                out[j][i] = out[i][j]
    return joined(joined(r) for r in out)


def _outward(
    tree: Tree,
    solved: list[list[JointAcceleration]],
    bent: dict[int, list[ModalAcceleration]],
    inside: dict[int, GearGroup],
) -> dict[int, Scalar]:
    """Return x of every joint and mode, from the ground outwards."""
    x: dict[int, Scalar] = {}
    reached: list[tuple[Triple, Triple]] = []
    for i, link in enumerate(tree.links):
        alpha, a = acceleration_from_parent(link, reached)
        if link.carrier not in (-1, i):
            alpha, a = flexed_acceleration(tree, i, alpha, a, x)
        if i in inside:
            alpha, a = _moved_together(tree, i, inside[i], reached, (alpha, a), x)
        for found in reversed(solved[i]):
            d = found.freedom
            here = (*alpha, *a)
            reached_d = minus(
                found.value, total([times(g, y) for g, y in zip(found.gain, here, strict=True)])
            )
            reached_d = fn.named(reached_d, Signed(f"acc_{d.index + 1}"))
            x[d.index] = times(fn.named(minus(reached_d, here[d.direction]), f"x_{d.index + 1}"), d.sign)
            moved = list(here)
            moved[d.direction] = reached_d
            alpha, a = joined(moved[:3]), joined(moved[3:])
        for mode in reversed(bent.get(i, ())):
            x[mode.freedom.index] = mode.rate(alpha, a, x)
        if link.carrier == i:
            alpha, a = flexed_acceleration(tree, i, alpha, a, x)
        reached.append((alpha, a))
    return x


def _moved_together(
    tree: Tree,
    i: int,
    group: GearGroup,
    reached: Sequence[tuple[Triple, Triple]],
    arrived: tuple[Triple, Triple],
    x: dict[int, Scalar],
) -> tuple[Triple, Triple]:
    """Return (α, a) of a link of a group; at the first link, solve for all accelerations of the group."""
    if i == group.cluster.links[0]:
        x |= group.solve(*(reached[group.cluster.hub] if group.cluster.hub >= 0 else (ZEROS, ZEROS)))
    moved = [*arrived[0], *arrived[1]]
    for d in unknown_freedoms(tree.links[i]):
        value = plus(moved[d.direction], times(x[d.index], d.sign))
        moved[d.direction] = fn.named(value, Signed(f"acc_{d.index + 1}"))
    return joined(moved[:3]), joined(moved[3:])
