"""Attitudes as expressions: Euler parameters, modified Rodrigues parameters, angles of any sequence.

All describe R with v_reference = R v_body, the turn that takes the reference's axes to the body's:

    Euler parameters      e = (cos φ/2, a sin φ/2), scalar first
    MRP                   σ = a tan φ/4 = (e₁, e₂, e₃)/(1 + e₀), of the short turn: |σ| ≤ 1
    sequence such as zyx  R = R_z(α) R_y(β) R_x(γ), turns about axes of the body one after the other

Source: Schaub & Junkins (2018), Analytical Mechanics of Space Systems, sections 3.3 to 3.5.
"""

from __future__ import annotations

from itertools import pairwise

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Matrix, matrix_product, transposed
from armillary.algebra.vectors import direction_cosines
from armillary.errors import ModelError, nearest, shown
from armillary.model.bodies.body import Body, BodyLike
from armillary.model.description import Description
from armillary.model.joints import Drift, Tumble
from armillary.model.joints.base import principal_rotation
from armillary.model.joints.free import euler_parameters
from armillary.model.reading.kinds import UnitText, Words
from armillary.model.reading.references import find_body
from armillary.model.signals import output
from armillary.model.verbs import EntryForm, verb

KINDS = ("quaternion", "mrp")


def attitude(body: object, kind: str = "quaternion", relative_to: Body | None = None) -> tuple[Expr, ...]:
    """Return a body's attitude in the ground, or relative to another body, as expressions for outputs and
    loads.

    ``kind``: "quaternion" (four Euler parameters, scalar first: the joint's own if it has them, else with the
    scalar not negative), "mrp" (three, of the short turn), or a sequence of three letters such as "zyx"
    (three angles from −π to π, the second from −π/2 to π/2, or from 0 to π where the first and the third
    letter are the same). In gimbal lock, where only a sum or difference of the first and the third angle
    means anything, these two are chosen such that the three together give the attitude.
    """
    if not isinstance(body, Body):
        raise ModelError(f"attitude needs a body, not {type(body).__name__} {body!r}")
    base = body.system.ground if relative_to is None else relative_to
    if not isinstance(base, Body) or base.system is not body.system:
        raise ModelError(
            f"attitude of '{body.name}': relative_to={relative_to!r} is not a body of its system"
        )
    if not isinstance(kind, str) or not (kind in KINDS or _is_sequence(kind)):
        raise ModelError(
            f"attitude of '{body.name}': there is no kind {shown(kind)}{nearest(kind, KINDS)}; there are "
            "'quaternion', 'mrp', and sequences of three letters without equal neighbours, such as 'zyx' or "
            "'zxz'"
        )
    if kind == "quaternion":
        return _quaternion(body, base)
    if kind == "mrp":
        e0, *e = _quaternion(body, base)
        factor = fn.select(e0 >= 0, 1, -1) / (1 + fn.absolute(e0))
        return tuple(x * factor for x in e)
    return _sequence_angles(direction_cosines(base.frame, body.frame), kind)


@verb(EntryForm("outputs", key="attitude", argument="body"))
def attitude_output(
    system: Description,
    name: str,
    body: BodyLike,
    kind: Words = "quaternion",
    *,
    relative_to: BodyLike | None = None,
    units: UnitText | None = None,
) -> None:
    """Outputs ``name 1``, ``name 2``, … of a body's attitude; see ``arm.attitude`` for the kinds. Angles
    are in rad, or in ``units`` such as "deg"."""
    found = find_body(system, body, f"attitude output '{name}'")
    base = None if relative_to is None else find_body(system, relative_to, f"attitude output '{name}'")
    angles = kind not in KINDS
    if units is not None and not angles:
        raise ModelError(f"attitude output '{name}': a {kind} has no units")
    for i, value in enumerate(attitude(found, kind, base), start=1):
        about = f"{kind} {i} of {found.name} in {base.name if base else 'ground'}"
        output(system, f"{name} {i}", value, units=(units or "rad") if angles else None, about=about)


def _is_sequence(kind: object) -> bool:
    return (
        isinstance(kind, str)
        and len(kind) == 3
        and set(kind) <= set("xyz")
        and all(a != b for a, b in pairwise(kind))
    )


def _quaternion(body: Body, base: Body) -> tuple[Expr, ...]:
    steps, where = body.assembly.steps, body.assembly.quaternions
    if body.parent is base and where and body.orient is None and len(steps) == 1:
        assert isinstance(steps[0], Drift | Tumble)
        return body.coordinates[where[0] : where[0] + 4]
    e = [fn.named(x, "e") for x in euler_parameters(direction_cosines(base.frame, body.frame))]
    flip = fn.select(e[0] >= 0, 1, -1)
    return tuple(x * flip for x in e)


def _sequence_angles(R: Matrix, sequence: str) -> tuple[Expr, Expr, Expr]:
    """Angles of three turns about body-fixed axes.

    The first is read off R; where both its sine and its cosine are lost it is whatever atan2 gives, and the
    third is taken from the rest R₁ᵀ R = R₂ R₃, in which it is well determined always.
    """
    i, j, k = ("xyz".index(letter) for letter in sequence)
    rows = [[as_expr(x) for x in row] for row in R]
    other = 3 - i - j
    sign = 1 if (j - i) % 3 == 1 else -1  # of the even sequences xyz, yzx, zxy, and xyx, yzy, zxz
    if i == k:
        first = fn.atan2(rows[j][i], -sign * rows[other][i])
        size = fn.sqrt(rows[j][i] ** 2 + rows[other][i] ** 2)
        second = fn.atan2(size, rows[i][i])
    else:
        first = fn.atan2(-sign * rows[j][k], rows[k][k])
        size = fn.sqrt(rows[j][k] ** 2 + rows[k][k] ** 2)
        second = fn.atan2(sign * rows[i][k], size)
    first = fn.named(first, "first")
    rest = matrix_product(transposed(principal_rotation(i, fn.cos(first), fn.sin(first))), R)
    # R₂ leaves axis j alone, so row j of the rest is row j of R₃.
    if i == k:
        third = fn.atan2(-sign * as_expr(rest[j][other]), rest[j][j])
    else:
        third = fn.atan2(sign * as_expr(rest[j][i]), rest[j][j])
    return first, second, third
