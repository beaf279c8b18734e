"""Laws of compliant contact and of friction, as functions of any scalars: expressions, numbers or arrays.

They may be used in loads, struts and outputs, in Python and in text.
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.functions import Operand
from armillary.errors import ModelError
from armillary.model.reading.kinds import ExpressionLike, ObjectForm, OneOf


def contact_force(
    penetration: object, rate: Operand, stiffness: Operand, damping: Operand = 0, exponent: float = 1
) -> Operand:
    """Return the force with which two bodies in contact push each other apart; it never pulls and does not
    jump at touch.

        F = k δⁿ max(1 + a δ̇, 0)   for δ > 0, else 0

    ``penetration`` δ is in m, its ``rate`` δ̇ in m/s, ``stiffness`` k in N/mⁿ and ``damping`` a in s/m. The
    ``exponent`` n is 1 for a spring, and 3/2 for two spheres after Hertz. A body that hits a fixed wall at
    the speed v leaves it at e v, for any mass, k and n, with

        a v − ln(1 + a v) = −a e v − ln(1 − a e v),        e = 1 − (2/3) a v + (4/9) (a v)² − …

    Source: Hunt & Crossley (1975), Coefficient of restitution interpreted as damping in vibroimpact, with
    λ = a k; the relation is the integral of m v dv = −F dδ over both halves of the impact.
    """
    penetration, rate, stiffness, damping, exponent = [
        fn.operand(value, f"contact_force: {what}")
        for what, value in (
            ("penetration", penetration), ("rate", rate), ("stiffness", stiffness),
            ("damping", damping), ("exponent", exponent),
        )
    ]  # fmt: skip
    depth = fn.maximum(penetration, 0)
    return stiffness * depth**exponent * fn.maximum(1 + damping * rate, 0)


def friction_force(
    speed: Operand,
    normal: Operand,
    coefficient: Operand,
    transition: Operand,
    static: Operand = None,
    stribeck: Operand = None,
) -> Operand:
    """Return a smooth dry friction against a sliding speed; it is zero at rest, so that a load creeps.

        F = −N μ(v) v / √(v² + v₀²),        μ(v) = μ + (μ_s − μ) exp(−(v / v_s)²)

    ``normal`` is the normal force N in N, ``coefficient`` is μ, and ``transition`` is v₀ in the units of
    ``speed``: at v₀ friction has 0.71 of its full size, at 10 v₀ 0.995. With ``static`` μ_s, the coefficient
    rises from μ towards μ_s as the speed falls below the ``stribeck`` speed v_s, which should be several
    times v₀. For a moment of friction, N μ is a moment.

    Source: Stribeck's curve in the form of Armstrong-Hélouvry et al. (1994), section 2, with v / √(v² + v₀²)
    in place of sign v, which makes it smooth.
    """
    given = {"speed": speed, "normal": normal, "coefficient": coefficient, "transition": transition}
    speed, normal, coefficient, transition = [
        fn.operand(value, f"friction_force: {what}") for what, value in given.items()
    ]
    return -speed * friction_per_speed(speed * speed, normal, coefficient, transition, static, stribeck)


def friction_per_speed(
    square: Operand,
    normal: Operand,
    coefficient: Operand,
    transition: Operand,
    static: Operand = None,
    stribeck: Operand = None,
) -> Operand:
    """Return the factor f(v²) of ``friction_force`` F = −f v, which also holds for vectors F and v."""
    if (static is None) != (stribeck is None):
        raise ModelError(
            "friction_force: give both static=, the coefficient at rest, and stribeck=, the speed above "
            "which it has fallen to the sliding coefficient, or none of them"
        )
    if static is not None:
        coefficient = coefficient + (static - coefficient) * fn.exp(-square / (stribeck * stribeck))
    return normal * coefficient / fn.sqrt(square + transition * transition)


@dataclass(frozen=True)
class SmoothFriction:
    """Friction of a contact by ``friction_force``: it has no memory, costs little, and creeps under load."""

    coefficient: ExpressionLike
    transition: ExpressionLike
    static: ExpressionLike | None = None
    stribeck: ExpressionLike | None = None

    def __post_init__(self) -> None:
        _need(self, "coefficient", "transition")


@dataclass(frozen=True)
class StickSlip:
    """Friction of a contact that holds at rest without creep, by an elastic anchor kept in memory.

    ``stiffness`` (N/m) and ``damping`` (N·s/m) act between the surfaces while they stick. ``static`` is the
    coefficient of friction at which they begin to slide, equal to ``coefficient`` if left out.
    """

    coefficient: ExpressionLike
    stiffness: ExpressionLike
    damping: ExpressionLike
    static: ExpressionLike | None = None

    def __post_init__(self) -> None:
        _need(self, "coefficient", "stiffness", "damping")


def _need(law: object, *names: str) -> None:
    for name in names:
        if getattr(law, name) is None:
            raise ModelError(f"{type(law).__name__}: {name} is None; give a number, a parameter or a text")


# Laws of friction in a text model: friction = { coefficient = 0.3, transition = 0.01 }
FRICTIONS = (ObjectForm("transition", SmoothFriction), ObjectForm("stiffness", StickSlip))
FRICTION = OneOf(FRICTIONS)
