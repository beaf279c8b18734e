"""Efforts along the speeds of a tree: for known accelerations, from single causes, and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.triples import (
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    cross_triples,
    inner,
    is_constant,
    is_zero,
    joined,
    matrix_sum,
    matrix_vector,
    minus,
    named,
    named_matrix,
    negative,
    plus,
    scaled,
    sum_of_products,
    times,
    transposed,
    unit,
    vanishes,
)
from armillary.mechanics.tree.kinematics import (
    AppliedLoads,
    Motion,
    Wrench,
    accumulated_wrenches,
    component_along,
    components_along_modes,
    modal_remainders,
    net_wrenches,
)
from armillary.mechanics.tree.mass_matrix import (
    Composite,
    composite_with_child,
    set_element,
    unknown_freedoms,
)
from armillary.mechanics.tree.tree import (
    LINEAR,
    AxisRotation,
    Freedom,
    Link,
    NoRotation,
    Rotation,
    RotationChain,
    Tree,
    deformed_link,
)

# Inverse dynamics of a tree: the efforts along all speeds for known accelerations.
#
#     τ_d = φ_d·w_i + A_d u̇_d − Q_d        w_i = Σ (inertia − applied wrench) over link i and all beyond it
#
# φ_d is the direction of freedom d of link i, A_d its armature and Q_d the generalised force of loads that
# are not among the wrenches. This is the recursive Newton–Euler algorithm, in link axes and about joint
# points: motion is computed from the ground to the leaves, wrenches from the leaves to the ground.
#
# Sources: Luh, Walker and Paul (1980); in link axes with regrouped inertia, as here, Khalil and Kleinfinger
# (1987).


def efforts(tree: Tree, applied: AppliedLoads, prefix: str = "") -> dict[int, Scalar]:
    """Return τ by speed index, along all freedoms of the links; the rates of all speeds must be known."""
    return joint_efforts(tree, applied, accumulated_wrenches(tree, net_wrenches(tree, applied), prefix))


def joint_efforts(tree: Tree, applied: AppliedLoads, passed: list[Wrench]) -> dict[int, Scalar]:
    """τ by speed index, from the wrenches that pass through the joints of all links."""
    tau = {
        d.index: plus(component_along(d, *passed[i]), d.armature_effort)
        for i, link in enumerate(tree.links)
        for d in link.freedoms
    }
    tau |= modal_remainders(tree)
    for i in range(len(tree.links)):
        for mode, value in components_along_modes(tree, i, passed[i]).items():
            tau[mode] = plus(tau[mode], value)
    return {k: minus(value, applied.forces.get(k, 0)) for k, value in tau.items()}


# Generalised forces of single causes: loads, the weight of links, the elasticity of flexible links.
#
#     Q_r = Σ ( n·ω_r + f·v_r )
#
# with the partial velocities ω_r and v_r of the speed r. The derivation of equations handles all causes in
# one pass; these functions are for printed equations, in which each cause is a separate term.


def generalised_forces(tree: Tree, applied: AppliedLoads) -> dict[int, Scalar]:
    """Q by index, of all speeds that are not prescribed."""
    own: list[Wrench] = [applied.wrenches.get(i, (ZEROS, ZEROS)) for i in range(len(tree.links))]
    passed = accumulated_wrenches(tree, own)
    unknown = [d.index for link in tree.links for d in link.degrees if not d.prescribed]
    found = {k: applied.forces.get(k, 0) for k in unknown}
    for i, link in enumerate(tree.links):
        for d in unknown_freedoms(link):
            found[d.index] = plus(found[d.index], component_along(d, *passed[i]))
        for mode, value in components_along_modes(tree, i, passed[i]).items():
            if mode in found:
                found[mode] = plus(found[mode], value)
    return found


def weight(tree: Tree) -> AppliedLoads:
    """Return the tree's uniform gravity g as loads: f = m g and n = h × g on links, P_p·g on modes."""
    wrenches: dict[int, Wrench] = {}
    forces: dict[int, Scalar] = {}
    fall: list[Triple] = []
    for i, link in enumerate(tree.links):
        above = tree.gravity if link.parent < 0 else fall[link.parent]
        g = named(link.rotation.to_child(above), f"fall_{link.name}")
        fall.append(g)
        shape = deformed_link(link)
        wrenches[i] = cross_triples(shape.first, g), scaled(g, shape.mass)
        if link.modes is not None:
            for d, P in zip(link.modes.freedoms, link.modes.P, strict=True):
                forces[d.index] = sum_of_products(zip(P, g, strict=True))
    return AppliedLoads(wrenches, forces)


def elasticity(tree: Tree) -> AppliedLoads:
    """Return the stiffness and damping of flexible links, −(K η + C ξ), as forces along their modes."""
    modes = [link.modes for link in tree.links if link.modes is not None]
    pairs = [pair for m in modes for pair in zip(m.freedoms, m.restoring, strict=True)]
    return AppliedLoads({}, {d.index: minus(0, value) for d, value in pairs})


# Derivatives of the efforts of a tree by its displacements and speeds, from composite bodies.
#
# At fixed u̇, a change of the motion (δω, δα, δa) of a link changes the wrench of the composite body that the
# link carries. With δα* = δα + ω × δω, and v(ρ) the velocity of a point ρ relative to the link's origin,
#
#     δn = J δα* + h × δa + (tr Π 1 − Π) δω        Π = 2 Σ v ρᵀ dm
#     δf = m δa + δα* × h + δω × β                 β = 2 Σ v dm
#
# where m, h, J are the composite mass, first moment and inertia. A turn about s, by its angle or by its
# speed, changes the motion beyond it by
#
#     angle    δω = ω × s,  δα* = U s,     δa = a × s        U = α̃ + ω̃ ω̃, of the parent
#     speed    δω = s,      δα* = 2 ω × s, δa = 0
#
# and a slide by δa = U s (displacement) and δa = 2 ω × s (speed). An angle also rotates the wrench itself,
# which adds s × n and s × f, and a slide moves the point of the wrench, which adds s × f to n. Changes of
# efforts at joints nearer to the ground are components of the changed wrench, carried to these joints. The
# change of an effort at a joint further out, with the direction s', is g_α·δα* + g_a·δa + c·δω. Here
# g_α = J s' and g_a = s' × h are a column of the mass matrix and c = tr Π s' − Πᵀ s'; all three are carried
# towards the ground.
#
# Each quantity is computed at a joint, in the axes on the parent's side of the joint's turn. The joint's axis
# has the same components on both sides, so no quantity needs a separate rotation. Sources: Singh, Russell and
# Wensing (2022), whose spatial vectors are written here about the joints' points, in link axes and with
# regrouped inertia; Carpentier and Mansard (2018).

_SAME = NoRotation()
Columns = dict[int, dict[int, Scalar]]  # ∂τ_r for a motion along s, as [s][r]; r and s are speed indices


@dataclass(frozen=True, eq=False)
class _Moving:
    """A composite body with the sums Π and β over its velocities."""

    body: Composite
    Pi: Matrix
    beta: Triple


@dataclass(frozen=True, eq=False)
class _Row:
    """The dependence of the effort along a freedom on the motion of a link: g_α·δα* + g_a·δa + c·δω.

    ``n`` is g_α and ``f`` is g_a.
    """

    freedom: Freedom
    n: Triple
    f: Triple
    c: Triple


@dataclass(frozen=True, eq=False)
class CompositeRows:
    """The mass matrix by (row, column), and the rows of all freedoms at the joints that carry them."""

    matrix: dict[tuple[int, int], Scalar]
    composites: Sequence[_Moving]  # by link: at the joint, in the axes on the parent's side of the turn
    rows: Sequence[Sequence[_Row]]  # by link: rows of the freedoms beyond the link


def is_supported(tree: Tree) -> bool:
    """Return whether these derivatives apply to a tree: all links rigid, free bodies only on the ground."""
    return all(
        link.modes is None and link.step != "flexed" and not (link.step == "drift" and link.parent >= 0)
        for link in tree.links
    )


def _sides(link: Link) -> tuple[Rotation, Rotation]:
    """Split a link's rotation: the part on the parent's side of its joint, and the joint's turn."""
    rotation = link.rotation
    outer = rotation.second if isinstance(rotation, RotationChain) else rotation
    if link.step != "turn" or not isinstance(outer, AxisRotation) or is_constant(outer.cosine):
        return rotation, _SAME  # no turn, or the turn of a rotor, whose axes do not rotate (regroup.py)
    return (rotation.first if isinstance(rotation, RotationChain) else _SAME), outer


def composite_rows(tree: Tree, moving: Sequence[Motion]) -> CompositeRows:
    """Return the mass matrix and the rows of all freedoms, which do not depend on accelerations."""
    composites = [_single_body(link, motion) for link, motion in zip(tree.links, moving, strict=True)]
    at_joint = list(composites)
    rows: list[list[_Row]] = [[] for _ in tree.links]
    matrix: dict[tuple[int, int], Scalar] = {}
    beyond: list[list[_Row]] = [[] for _ in tree.links]  # rows of the freedoms beyond a link, in its axes
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        inner_side, outer_side = _sides(link)
        at_joint[i] = here = _turn_moving_body(
            _name_moving_body(composites[i], link.name), outer_side, f"{link.name}_joint"
        )
        freedoms = unknown_freedoms(link)
        rows[i] = [_turn_row(row, outer_side) for row in beyond[i]]
        own = [_freedom_row(here, d) for d in freedoms]
        for k, d in enumerate(freedoms):
            for other in own[k:]:
                value = component_along(d, other.n, other.f)
                set_element(
                    matrix, d, other.freedom, plus(value, d.armature) if d is other.freedom else value
                )
            for row in rows[i]:
                set_element(matrix, d, row.freedom, component_along(d, row.n, row.f))
        if link.parent >= 0:
            parent = _turn_moving_body(here, inner_side, f"{link.name}_out")
            twice_velocity = _twice_origin_velocity(link, moving[link.parent])
            composites[link.parent] = _add_child(composites[link.parent], parent, link, twice_velocity)
            beyond[link.parent] += [
                _carry_row(_turn_row(row, inner_side), link, twice_velocity) for row in (*own, *rows[i])
            ]
    return CompositeRows(matrix, at_joint, rows)


def _single_body(link: Link, motion: Motion) -> _Moving:
    """Return a single link as a composite: Π = ω̃ (tr J 1 − 2 J) and β = 2 ω × h."""
    J, w = link.inertia, motion.w
    trace = plus(plus(J[0][0], J[1][1]), J[2][2])
    spread = joined(
        joined(minus(trace if i == j else 0, times(2, J[i][j])) for j in range(3)) for i in range(3)
    )
    Pi = transposed(joined(cross_triples(w, column) for column in transposed(spread)))
    return _Moving(Composite.of(link), Pi, scaled(cross_triples(w, link.first), 2))


def _name_moving_body(body: _Moving, name: str) -> _Moving:
    return _Moving(
        body.body.with_names(name),
        named_matrix(body.Pi, f"Pi_{name}"),
        named(body.beta, f"be_{name}"),
    )


def _turn_moving_body(body: _Moving, rotation: Rotation, name: str) -> _Moving:
    if isinstance(rotation, NoRotation):
        return body
    own = body.body
    first = named(rotation.to_parent(own.first), f"hp_{name}")
    inertia = rotation.symmetric_to_parent(own.inertia, f"Jp_{name}")
    Pi = body.Pi if _vanishing(body.Pi) else rotation.general_to_parent(body.Pi, f"Pi_{name}")
    beta = named(rotation.to_parent(body.beta), f"be_{name}")
    return _Moving(Composite(own.mass, first, inertia), Pi, beta)


def _vanishing(a: Matrix) -> bool:
    return all(vanishes(row) for row in a)


def _turn_row(row: _Row, rotation: Rotation) -> _Row:
    if isinstance(rotation, NoRotation):
        return row
    label = f"{row.freedom.index + 1}"
    n, f, c = (
        named(rotation.to_parent(v), f"{name}_{label}")
        for v, name in ((row.n, "gn"), (row.f, "gf"), (row.c, "gc"))
    )
    return _Row(row.freedom, n, f, c)


def _freedom_row(body: _Moving, d: Freedom) -> _Row:
    """Return the row of a joint's own freedom."""
    k = d.direction % 3
    axis = scaled(unit(k), d.sign)
    if d.direction >= LINEAR:
        return _Row(
            d,
            cross_triples(body.body.first, axis),
            scaled(axis, body.body.mass),
            cross_triples(body.beta, axis),
        )
    n = joined(inner(row, axis) for row in body.body.inertia)
    c = joined(times(_spin(body.Pi, k, j), d.sign) for j in range(3))
    return _Row(d, n, cross_triples(axis, body.body.first), c)


def _spin(Pi: Matrix, i: int, j: int) -> Scalar:
    """Return an element of tr Π 1 − Π."""
    return plus(Pi[(i + 1) % 3][(i + 1) % 3], Pi[(i + 2) % 3][(i + 2) % 3]) if i == j else minus(0, Pi[i][j])


def _twice_origin_velocity(link: Link, parent: Motion) -> Triple:
    """2 (ω × r + v): twice the velocity of a link's origin relative to its parent's, in the parent's axes."""
    v = cross_triples(parent.w, link.offset)
    if link.step == "slide":
        (d,) = link.freedoms
        axis = scaled(unit(d.direction % 3), d.sign)
        v = add(v, scaled(link.rotation.to_parent(axis), d.speed))
    return named(scaled(v, 2), f"vo_{link.name}")


def _add_child(parent: _Moving, child: _Moving, link: Link, twice_velocity: Triple) -> _Moving:
    """Add a child's composite, in the parent's axes about the child's origin, to the parent's composite."""
    r, h = link.offset, child.body.first
    beta = named(add(child.beta, scaled(twice_velocity, child.body.mass)), f"bo_{link.name}")
    moved = matrix_sum(child.Pi, _outer(beta, r), _outer(twice_velocity, h))
    return _Moving(
        composite_with_child(parent.body, child.body, r), matrix_sum(parent.Pi, moved), add(parent.beta, beta)
    )


def _outer(a: Triple, b: Triple) -> Matrix:
    return joined(joined(times(x, y) for y in b) for x in a)


def _carry_row(row: _Row, link: Link, twice_velocity: Triple) -> _Row:
    label = f"{row.freedom.index + 1}"
    n = named(add(row.n, cross_triples(link.offset, row.f)), f"gn_{label}")
    c = named(add(row.c, cross_triples(twice_velocity, row.f)), f"gc_{label}")
    return _Row(row.freedom, n, row.f, c)


# ---------------------------------------------------------------------------------------- columns


@dataclass(frozen=True, eq=False)
class _Change:
    """A change of a link's motion: δω, δα* and δa."""

    w: Triple
    alpha: Triple
    a: Triple


def speed_derivatives(tree: Tree, found: CompositeRows, moving: Sequence[Motion]) -> Columns:
    """∂τ/∂u along all freedoms; it does not depend on accelerations."""
    columns: Columns = {}
    for i, link in enumerate(tree.links):
        inner_side, _ = _sides(link)
        parent = moving[link.parent] if link.parent >= 0 else None
        for d in unknown_freedoms(link):
            axis = scaled(unit(d.direction % 3), d.sign)
            change = _by_speed(link, d, axis, parent, moving[i], inner_side)
            columns[d.index] = _change_column(tree, found, i, d, change, ZEROS, ZEROS, "v")
    return columns


def effort_derivatives(
    tree: Tree, found: CompositeRows, moving: Sequence[Motion], passed: Sequence[Wrench], turning: set[int]
) -> tuple[Columns, Columns]:
    """∂τ by displacements and by speeds along all freedoms; motion and wrenches are at known accelerations.

    ``turning`` are the freedoms that change rotations or offsets of links; those of rotors do not.
    """
    by_displacement: Columns = {}
    for i, link in enumerate(tree.links):
        inner_side, outer_side = _sides(link)
        parent = moving[link.parent] if link.parent >= 0 else None
        for d in unknown_freedoms(link):
            axis = scaled(unit(d.direction % 3), d.sign)
            if d.index not in turning or link.step == "drift":
                by_displacement[d.index] = {}
                continue
            n, f = (named(outer_side.to_parent(v), f"w_{link.name}") for v in passed[i])
            if d.direction >= LINEAR:
                change = _Change(ZEROS, ZEROS, moving[i].times_U(axis))
                own = cross_triples(axis, f), ZEROS
            else:
                change = _by_angle(tree, link, axis, parent, inner_side)
                own = cross_triples(axis, n), cross_triples(axis, f)
            by_displacement[d.index] = _change_column(tree, found, i, d, change, *own, "d")
    return by_displacement, speed_derivatives(tree, found, moving)


def _by_speed(
    link: Link, d: Freedom, axis: Triple, parent: Motion | None, own: Motion, side: Rotation
) -> _Change:
    if link.step == "drift":
        return (
            _Change(ZEROS, ZEROS, ZEROS)
            if d.direction >= LINEAR
            else _Change(axis, cross_triples(own.w, axis), ZEROS)
        )
    if d.direction >= LINEAR:
        return _Change(ZEROS, ZEROS, scaled(cross_triples(own.w, axis), 2))
    carried = ZEROS if parent is None else side.to_child(parent.w)
    if link.step == "turn":
        twice = scaled(cross_triples(carried, axis), 2)
    else:
        twice = cross_triples(named(add(carried, own.w), f"w2_{link.name}"), axis)
    return _Change(axis, named(twice, f"dv_{d.index + 1}"), ZEROS)


def _by_angle(tree: Tree, link: Link, axis: Triple, parent: Motion | None, side: Rotation) -> _Change:
    if parent is None:
        return _Change(ZEROS, ZEROS, cross_triples(side.to_child(negative(tree.gravity)), axis))
    place = named(add(parent.a, parent.times_U(link.offset)), f"aj_{link.name}")
    w = named(side.to_child(parent.w), f"wj_{link.name}")
    if isinstance(side, NoRotation):
        column = parent.times_U(axis)
    else:
        alpha = named(side.to_child(parent.alpha), f"alj_{link.name}")
        column = add(cross_triples(alpha, axis), cross_triples(w, cross_triples(w, axis)))
    a = named(side.to_child(place), f"aj_{link.name}")
    return _Change(cross_triples(w, axis), named(column, f"us_{link.name}"), cross_triples(a, axis))


def _change_column(
    tree: Tree,
    found: CompositeRows,
    index: int,
    d: Freedom,
    change: _Change,
    n_own: Triple,
    f_own: Triple,
    kind: str,
) -> dict[int, Scalar]:
    """Return the changes of efforts at the joint itself, at joints nearer to the ground and beyond it."""
    link, body, label = tree.links[index], found.composites[index], f"{kind}{d.index + 1}"
    n, f = _response(body, change)
    efforts = {other.index: component_along(other, n, f) for other in unknown_freedoms(link)}
    for row in found.rows[index]:
        parts = inner(row.n, change.alpha), inner(row.f, change.a), inner(row.c, change.w)
        efforts[row.freedom.index] = plus(plus(parts[0], parts[1]), parts[2])
    n, f = named(add(n, n_own), f"n_{label}"), named(add(f, f_own), f"f_{label}")
    while link.parent >= 0:
        inner_side, _ = _sides(link)
        f = named(inner_side.to_parent(f), f"f_{label}")
        n = named(add(inner_side.to_parent(n), cross_triples(link.offset, f)), f"n_{label}")
        link = tree.links[link.parent]
        _, outer_side = _sides(link)
        n, f = (named(outer_side.to_parent(v), f"{x}_{label}") for v, x in ((n, "n"), (f, "f")))
        efforts |= {other.index: component_along(other, n, f) for other in unknown_freedoms(link)}
    return efforts


def _response(body: _Moving, change: _Change) -> Wrench:
    """Return the change of a composite body's wrench for a change of its motion."""
    own, w = body.body, change.w
    turning = [j for j in range(3) if not is_zero(w[j])]
    spin = tuple(inner([_spin(body.Pi, i, j) for j in turning], [w[j] for j in turning]) for i in range(3))
    n = add(matrix_vector(own.inertia, change.alpha), cross_triples(own.first, change.a), spin)
    f = add(scaled(change.a, own.mass), cross_triples(change.alpha, own.first), cross_triples(w, body.beta))
    return n, f
