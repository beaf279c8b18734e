"""The few motions that every joint is made of, in the order in which they happen from parent to child.

A step starts from the frame left by the step before (the first from the parent's axes at the joint's place)
and leads to a new one. The mechanics handles these and nothing else, so a new joint needs no new mechanics.
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra.expression import Expr
from armillary.algebra.triples import Matrix, Triple


@dataclass(frozen=True, eq=False)
class Turn:
    """Rotation by ``angle`` about a unit ``axis`` that both frames share; the speed is the angle's rate."""

    axis: Triple
    angle: Expr
    speed: Expr


@dataclass(frozen=True, eq=False)
class Slide:
    """Translation by ``distance`` along a unit ``axis``; the speed is the distance's rate."""

    axis: Triple
    distance: Expr
    speed: Expr


@dataclass(frozen=True, eq=False)
class Tumble:
    """Rotation R with v_parent = R v_child; speeds are the relative angular velocity in the child's axes."""

    rotation: Matrix
    speeds: tuple[Expr, Expr, Expr]


@dataclass(frozen=True, eq=False)
class Drift:
    """Translation to ``position`` (parent axes) together with the rotation R.

    ``linear`` are the speeds of the child's origin, by axis number, in the axes that ``velocity`` names
    ("parent" or "body"); ``angular`` those of the relative angular velocity in the child's axes.
    """

    position: Triple
    rotation: Matrix
    linear: dict[int, Expr]
    angular: dict[int, Expr]
    velocity: str
    chosen: bool = False  # states in place of the linear speeds are the derivation's choice


@dataclass(frozen=True, eq=False)
class Flexed:
    """Motion by the modes of a flexible body: of one of its nodes in it, or of it in the node that holds it.

    The origin moves to ``position`` (axes before) and the axes turn by R, v_before = R v_after. A unit of a
    mode's speed gives the new axes the angular velocity ``turning`` and their origin the velocity ``moving``,
    both relative to the axes before and resolved in the new ones; ``turned`` and ``moved`` are what these
    have of acceleration where the modal speeds stay as they are.
    """

    flexible: str  # the flexible body's name
    position: Triple
    rotation: Matrix
    speeds: tuple[Expr, ...]
    turning: tuple[Triple, ...]
    moving: tuple[Triple, ...]
    turned: Triple
    moved: Triple
    axis: int | None = None  # where the rotation is about one coordinate axis, by ``angle``
    angle: Expr | None = None


Step = Turn | Slide | Tumble | Drift | Flexed
