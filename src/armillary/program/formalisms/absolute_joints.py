"""Joints between parts in absolute coordinates: their constraints, and the joints' speeds.

For a joint between a parent P and a child C, with S = R_PᵀR_C, ρ = R_Pᵀ(p_C − p_P) and w the relative angular
velocity, both in the parent's axes,

    D = ρ − a      displacement from the joint's place      Ḋ = R_Pᵀ(v_C − v_P) − w_P × ρ
    w = S w_C − w_P

where a is the joint's place in the parent. The constraints set the following speeds to zero: for translations
n·Ḋ along the normals n of the slides (without slides, all of v_C − v_P − R_P(w_P × a) in ground axes), for
rotations

    no turn        w_C − Oᵀw_P          the orientation O is constant
    one turn       b₁·w, b₂·w           b₁ and b₂ are perpendicular to the axis
    two turns      (S a₂ × a₁)·w        a₁·S a₂ is constant, with the axes a₁ and a₂ of the turns
    three, free    no constraint

Conversely the joint's speeds u are linear in Ḋ and w. The same linear map turns a small difference between
the absolute position and the position by the joint's coordinates q into a correction of q. So q follows the
absolute coordinates, which alone determine the motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import (
    AXES,
    IDENTITY,
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    cross_triples,
    inner,
    is_zero,
    joined,
    matrix_product,
    matrix_vector,
    minus,
    named,
    scaled,
    times,
    transposed,
    unit,
)
from armillary.algebra.vectors import direction_cosines
from armillary.algebra.walk import Undimensioned, substitute
from armillary.mechanics.tree.build import GROUND
from armillary.model.bodies import motion
from armillary.model.description import Description
from armillary.model.joints import Drift
from armillary.model.joints.base import axis_rotation, perpendicular_triple
from armillary.model.joints.free import euler_parameters
from armillary.program.formalisms.absolute_bodies import AbsoluteBodies, AbsoluteBody, NodeFrame


@dataclass(frozen=True, eq=False)
class AbsoluteConstraint:
    """One constraint: ``speed`` and, if given, ``position`` remain zero; ``speed`` is the position's rate."""

    name: str
    speed: Expr
    position: Expr | None
    owner: int | None = None  # the part whose joint has the constraint; None: the user's constraint


@dataclass(frozen=True, eq=False)
class _Joint:
    """The vectors of a joint for its constraints, in the parent part's axes unless stated.

    ``child`` is the part if the joint holds its origin, else the node of the part that the joint holds.
    """

    part: AbsoluteBody
    child: AbsoluteBody | NodeFrame
    S: Matrix
    place: Triple  # D
    rate: Triple  # Ḋ
    spin: Triple  # w
    own_spin: Triple  # w in the child's axes
    parent_spin: Triple
    parent: Matrix  # R_P
    directions: list[Triple]
    axes: list[Triple] | None
    # The turns' axes in the child's axes at zero coordinates; the last axis is fixed in the child.
    ends: list[Triple]


def _joint_of_part(parts: AbsoluteBodies, index: int) -> _Joint:
    part = parts.parts[index]
    child: AbsoluteBody | NodeFrame = part if part.end is None else part.end
    name, base = part.name, part.parent
    R_P, w_P = parts.rotation(base), parts.spin(base)
    S = child.R if base == GROUND else matrix_product(transposed(R_P), child.R, f"S_{name}")
    line = add(child.origin, scaled(parts.origin(base), -1))
    rho = named(matrix_vector(transposed(R_P), line), f"rho_{name}")
    drift = matrix_vector(transposed(R_P), add(child.velocity, scaled(parts.velocity(base), -1)))
    rate = add(drift, scaled(cross_triples(w_P, rho), -1))
    spin = add(matrix_vector(S, child.w), scaled(w_P, -1))
    axes = part.joint.axes
    back = transposed(part.orient)
    return _Joint(
        part,
        child,
        S,
        add(rho, scaled(part.place, -1)),
        named(rate, f"Ddot_{name}"),
        named(spin, f"wrel_{name}"),
        add(child.w, scaled(named(matrix_vector(transposed(S), w_P), f"wp_{name}"), -1)),
        w_P,
        R_P,
        [matrix_vector(part.mount, a) for a in part.joint.directions],
        None if axes is None else [matrix_vector(part.mount, a) for a in axes],
        [] if axes is None else [matrix_vector(back, a) for a in axes],
    )


# ---------------------------------------------------------------- constraints of a joint


def joint_rows(parts: AbsoluteBodies, index: int) -> list[AbsoluteConstraint]:
    """Return the constraints of the joint that carries a part."""
    joint = _joint_of_part(parts, index)
    # A part on the ground needs no constraints of translation: its coordinates d of position are only the
    # distances along the joint's slides.
    bound = joint.part.parent != GROUND or joint.part.end is not None
    found = _translation_rows(parts, joint) if bound else []
    found += _rotation_rows(joint)
    return [
        AbsoluteConstraint(f"{joint.part.name} {what}", as_expr(v), as_expr(p), index) for what, v, p in found
    ]


def _translation_rows(parts: AbsoluteBodies, joint: _Joint) -> list[tuple[str, Scalar, Scalar]]:
    part, child = joint.part, joint.child
    if not joint.directions:
        carried = matrix_vector(joint.parent, named(cross_triples(joint.parent_spin, part.place), "wxa"))
        speed = add(child.velocity, scaled(parts.velocity(part.parent), -1), scaled(carried, -1))
        arm = matrix_vector(joint.parent, part.place)
        gap = add(child.origin, scaled(parts.origin(part.parent), -1), scaled(arm, -1))
        return [(f"along {AXES[i]}", speed[i], gap[i]) for i in range(3)]
    return [
        (f"across {i + 1}", inner(n, joint.rate), inner(n, joint.place))
        for i, n in enumerate(_normals(joint.directions))
    ]


def _rotation_rows(joint: _Joint) -> list[tuple[str, Scalar, Scalar]]:
    part, S, axes = joint.part, joint.S, joint.axes
    if axes is None or len(axes) == 3:
        return []
    fixed = matrix_product(part.mount, part.orient)
    if not axes:
        speed = add(joint.child.w, scaled(matrix_vector(transposed(fixed), joint.parent_spin), -1))
        gap = rotation_vector(matrix_product(transposed(fixed), S))
        return [(f"about {AXES[i]}", speed[i], gap[i]) for i in range(3)]
    if len(axes) == 1:
        gap = cross_triples(axes[0], matrix_vector(S, joint.ends[0]))
        return [
            (f"tilt {i + 1}", inner(b, joint.spin), inner(b, gap)) for i, b in enumerate(_normals(axes[:1]))
        ]
    last = named(matrix_vector(S, joint.ends[1]), f"axis2_{part.name}")
    kept = minus(inner(axes[0], last), inner(axes[0], axes[1]))
    return [("twist", inner(cross_triples(last, axes[0]), joint.spin), kept)]


def rotation_vector(small: Matrix) -> Triple:
    """Return the rotation vector of a small rotation, from its skew part."""
    pairs = ((2, 1), (0, 2), (1, 0))
    return joined(times(0.5, minus(small[i][j], small[j][i])) for i, j in pairs)


def _normals(axes: Sequence[Triple]) -> list[Triple]:
    """Return directions perpendicular to one to three axes, if possible with a coordinate axis among them."""
    if len(axes) == 2:
        return [cross_triples(axes[0], axes[1])]
    if len(axes) == 3:
        return []
    axis = axes[0]
    flat = [i for i in range(3) if is_zero(axis[i])]
    first = unit(flat[0]) if flat else perpendicular_triple(axis)
    return [first, cross_triples(axis, first)]


def joint_speeds(parts: AbsoluteBodies, index: int) -> dict[Expr, Expr]:
    """Return the speeds of a joint and of the part's modes as functions of the absolute motion."""
    joint = _joint_of_part(parts, index)
    found = _speeds(joint, joint.rate, joint.spin, joint.own_spin)
    modes = joint.part.modes
    return found if modes is None else found | dict(zip(modes.described[1], modes.xi, strict=True))


def _speeds(joint: _Joint, rate: Triple, spin: Triple, own_spin: Triple) -> dict[Expr, Expr]:
    """Return the speeds u of a joint for a displacement rate Ḋ and a relative spin w, in the parent's axes.

    ``own_spin`` is w in the child's axes.
    """
    steps, S, name = joint.part.joint, joint.S, joint.part.name
    found: dict[Expr, Scalar] = {}
    whole = steps.whole
    if isinstance(whole, Drift):
        axes = S if whole.velocity == "body" else joint.part.mount
        own = matrix_vector(transposed(axes), rate)
        found |= {u: own[i] for i, u in whole.linear.items()}
        turning = whole.angular
    else:
        along = duals(joint.directions)
        found |= {s.speed: inner(g, rate) for s, g in zip(steps.slides, along, strict=True)}
        turning = {} if whole is None else dict(enumerate(whole.speeds))
    found |= {u: own_spin[i] for i, u in turning.items()}
    found |= zip([t.speed for t in steps.turns], _turn_rates(joint, spin), strict=True)
    return {u: fn.named(as_expr(value), f"u_{name}") for u, value in found.items()}


def _turn_rates(joint: _Joint, w: Triple) -> list[Scalar]:
    """Return the rates of successive turns with w = a₁u₁ + a₂u₂ + a₃u₃, all axes in the parent."""
    turns, axes = joint.part.joint.turns, joint.axes
    if not turns or axes is None:
        return []
    first = axes[0]
    if len(turns) == 1:
        return [inner(first, w)]
    last = named(matrix_vector(joint.S, joint.ends[-1]), f"axis{len(turns)}_{joint.part.name}")
    if len(turns) == 2:
        return [inner(g, w) for g in duals([first, last], inner(first, axes[1]))]
    turn = matrix_vector(axis_rotation(turns[0].axis, turns[0].angle), turns[1].axis)
    second = named(matrix_vector(joint.part.mount, turn), f"axis2_{joint.part.name}")
    return [inner(g, w) for g in duals([first, second, last])]


def duals(axes: list[Triple], cosine: Scalar | None = None) -> list[Triple]:
    """Return directions g with g_i·a_j = δ_ij in the span of unit axes; ``cosine`` is a₁·a₂, if known."""
    if len(axes) == 2:
        c = inner(axes[0], axes[1]) if cosine is None else cosine
        if is_zero(c):
            return axes
        size = 1 / (1 - c * c)
        return [
            scaled(add(axes[0], scaled(axes[1], -c)), size),
            scaled(add(axes[1], scaled(axes[0], -c)), size),
        ]
    if len(axes) == 3 and not _is_triad(axes):
        crossed = [named(cross_triples(axes[i - 2], axes[i - 1]), "dual") for i in range(3)]
        size = fn.named(1 / inner(axes[0], crossed[0]), "dual_size")
        return [scaled(c, size) for c in crossed]
    return axes


def _is_triad(axes: list[Triple]) -> bool:
    return all(is_zero(inner(axes[i], axes[j])) for i, j in ((0, 1), (0, 2), (1, 2)))


# ------------------------------------------------ coordinates of a joint, from absolute ones


def aligned_coordinates(parts: AbsoluteBodies, index: int, rates: dict[Expr, Expr]) -> dict[Expr, Expr]:
    """Return the joint's coordinates after one step of Newton's method towards the absolute coordinates.

    ``rates`` are q̇ = N(q) u as functions of the joint's speeds. Modal amplitudes equal the absolute ones.
    """
    joint = _joint_of_part(parts, index)
    part = joint.part
    modal = {} if part.modes is None else dict(zip(part.modes.described[0], part.modes.eta, strict=True))
    shown: Triple = ZEROS
    rotation: Matrix = IDENTITY
    whole = part.joint.whole
    for slide, axis in zip(part.joint.slides, joint.directions, strict=False):
        shown = add(shown, scaled(axis, slide.distance))
    if isinstance(whole, Drift):
        shown = matrix_vector(part.mount, whole.position)
    if whole is not None:
        rotation = whole.rotation
    for turn in part.joint.turns:
        rotation = matrix_product(rotation, axis_rotation(turn.axis, turn.angle), f"Rq_{part.name}")
    rotation = matrix_product(matrix_product(part.mount, rotation), part.orient, f"Sq_{part.name}")
    missing = named(add(joint.place, scaled(shown, -1)), f"miss_{part.name}")
    tilt = named(rotation_vector(matrix_product(transposed(rotation), joint.S)), f"turn_{part.name}")
    step = _speeds(joint, missing, named(matrix_vector(joint.S, tilt), f"tilt_{part.name}"), tilt)
    return {q: q + substitute(rate, step) for q, rate in rates.items()} | modal


# Absolute coordinates and speeds from those of joints, at the start of a run and after events.


def absolute_states(system: Description, parts: AbsoluteBodies, plain: Undimensioned) -> dict[Expr, Expr]:
    """Return every absolute coordinate and speed as an expression of q and u."""
    ground = system.ground.frame
    values: dict[Expr, Scalar] = {}
    for part in parts.parts:
        frame = part.body.frame
        place = _strip_triple_units(motion.position(part.body).components(ground), plain)
        speed = _strip_triple_units(motion.velocity(part.body).components(ground), plain)
        if part.parent == GROUND and part.end is None:
            place = add(place, scaled(part.place, -1))
        for directions, symbols, value in ((part.basis, part.d, place), (part.basis, part.v, speed)):
            along = duals(list(directions))
            values |= {s: inner(g, value) for s, g in zip(symbols, along, strict=True)}
        cosines = direction_cosines(ground, frame)
        R: Matrix = joined(_strip_triple_units(row, plain) for row in cosines)
        values |= zip(part.e, euler_parameters(R), strict=True)
        values |= zip(
            part.w,
            _strip_triple_units(motion.angular_velocity(part.body).components(frame), plain),
            strict=True,
        )
        if part.modes is not None:
            own = (*part.modes.eta, *part.modes.xi)
            values |= zip(own, (s for both in part.modes.described for s in both), strict=True)
    return {s: as_expr(x) for s, x in values.items()}


def _strip_triple_units(values: Iterable[Scalar], plain: Undimensioned) -> Triple:
    return joined(plain(x) for x in values)
