"""Articulated bodies: the equations uncoupled joint by joint, at a cost linear in the number of links.

For a link about its origin, in its own axes, with angular and linear acceleration (α, a) counted beyond the
remainders:

    n = J α + H a + p_n        f = Hᵀ α + M a + p_f

J, H, M is the articulated inertia, starting as the rigid one (J, h̃, m 1). A degree of freedom along
direction d with unknown x and applied force τ has U·(α, a) + D x = τ − p_d, U the d-th column and D its d-th
element; eliminating x leaves

    I − U Uᵀ/D,   p + U (τ − p_d)/D

whose d-th row and column vanish. The rest goes to the parent, turned and moved. With an armature A of the
joint, D is U_d + A, and what is left in the d-th row and column is A Uᵀ/D, of p_d it is τ − A (τ − p_d)/D.

Source: Featherstone (1983), with two changes. All acceleration remainders are taken out beforehand (Kane), so
that no articulated inertia is ever multiplied with a bias acceleration, and remainders meet only the
regrouped rigid inertias, which are sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.intermediate import Signed
from armillary.algebra.vectors.matrices import Matrix
from armillary.algebra.vectors.scalars import Scalar, is_zero, minus, plus, times, total
from armillary.algebra.vectors.triples import ZEROS, Triple, joined, named
from armillary.mechanics.constraints.rows import Gears
from armillary.mechanics.formalisms.gear_groups import GearGroup
from armillary.mechanics.formalisms.modal_elimination import (
    ModalAcceleration,
    eliminate_modes,
    flexed_acceleration,
)
from armillary.mechanics.tree.articulated_inertia import (
    Articulated,
    acceleration_from_parent,
    inertia_at_parent,
    inertia_sum,
    rigid_body,
)
from armillary.mechanics.tree.kinematics import modal_forces, net_wrenches
from armillary.mechanics.tree.loads import AppliedLoads, component_along
from armillary.mechanics.tree.mass_matrix import couple_to_modes, modal_equations, unknown_freedoms
from armillary.mechanics.tree.tree import LINEAR, Freedom, Tree, deformed
from armillary.mechanics.tree.uncouple import pivot_inverse

_NO_GEARS = Gears()


@dataclass(frozen=True, eq=False)
class JointAcceleration:
    """Acceleration along one direction, value − gain·(α, a); x is this less the parent's part.

    The gain of the direction itself is −A/D of its armature.
    """

    freedom: Freedom
    value: Scalar
    gain: tuple[Scalar, ...]


def accelerations(
    tree: Tree, applied: AppliedLoads, *, at_rest: bool = False, gears: Gears = _NO_GEARS
) -> dict[int, Scalar]:
    """x by speed index; ``at_rest``: at rest and without gravity, from the applied loads alone.

    Speeds that ``gears`` tie together are eliminated with their group of links; see gear_groups.py.
    """
    groups = [GearGroup(tree, cluster, gears, applied.forces, at_rest) for cluster in gears.clusters]
    inside = {i: group for group in groups for i in group.cluster.links}
    felt = _rigid(tree, applied, at_rest)
    modal = modal_equations(tree, modal_forces(tree, applied, at_rest=at_rest))
    bent: dict[int, list[ModalAcceleration]] = {}
    solved: list[list[JointAcceleration]] = [[] for _ in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        body = felt[i].named(link.name)
        couple_to_modes(tree, i, modal, body.answer, (body.n, body.f))
        if i in modal:
            body, bent[i] = eliminate_modes(body, modal[i])
        group = inside.get(i)
        if group is not None:
            group.gather(i, body)
        else:
            for d in reversed(unknown_freedoms(link)):
                body, found = _eliminated(body, d, applied.forces.get(d.index, 0))
                solved[i].append(found)
        if link.parent >= 0:
            felt[link.parent] = inertia_sum(felt[link.parent], inertia_at_parent(tree, i, body))
        if group is not None and i == group.cluster.links[0]:
            left = group.eliminate()
            if left is not None:
                felt[link.parent] = inertia_sum(felt[link.parent], left)
    x = _outward(tree, solved, bent, inside)
    for link in tree.links:
        for d in link.freedoms:
            if d.dependent and not at_rest:
                assert d.rate is not None
                x[d.index] = plus(x[d.index], d.rate)
    return x


def _rigid(tree: Tree, applied: AppliedLoads, at_rest: bool) -> list[Articulated]:
    found = []
    wrenches = [(ZEROS, ZEROS)] * len(tree.links) if at_rest else net_wrenches(tree, applied)
    for link, (n, f) in zip(map(deformed, tree.links), wrenches, strict=True):
        found.append(rigid_body(link.mass, link.first, link.inertia, n, f))
    return found


def _eliminated(body: Articulated, d: Freedom, applied: Scalar) -> tuple[Articulated, JointAcceleration]:
    """The inertia without one degree of freedom, and how to find its acceleration."""
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
    left = _left(d, gain)
    J = _less(body.J, U[:3], gain[:3], None if linear else k, None if linear else k, f"J_{name}", left[:3])
    H = _less(
        body.H,
        gain[:3],
        U[3:],
        None if linear else k,
        k if linear else None,
        f"H_{name}",
        left[:3] if linear else left[3:],
        symmetric=False,
    )
    M = _less(body.M, U[3:], gain[3:], k if linear else None, k if linear else None, f"M_{name}", left[3:])
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


def _left(d: Freedom, gain: tuple[Scalar, ...]) -> list[Scalar]:
    """A U/D: the row of the eliminated direction that an armature leaves in the inertia."""
    row = [times(d.armature, g) for g in gain]
    row[d.direction] = plus(d.armature, row[d.direction])
    return row


def _less(
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
    """a − u gᵀ with the given row and column of the eliminated direction, exact zeros without armature."""
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
    """x of every joint and mode, ground first, with the accelerations that they give the links."""
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
    """(α, a) of a link of a group, whose accelerations are found when its first link is reached."""
    if i == group.cluster.links[0]:
        x |= group.solve(*(reached[group.cluster.hub] if group.cluster.hub >= 0 else (ZEROS, ZEROS)))
    moved = [*arrived[0], *arrived[1]]
    for d in unknown_freedoms(tree.links[i]):
        value = plus(moved[d.direction], times(x[d.index], d.sign))
        moved[d.direction] = fn.named(value, Signed(f"acc_{d.index + 1}"))
    return joined(moved[:3]), joined(moved[3:])
