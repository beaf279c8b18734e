"""Modes of flexible parts in absolute coordinates, and the frames of their nodes.

Park and Chiou's equation of motion holds an internal force S(u) of flexible members (1987, eq. 2.1). Here a
member's deformation is in modes: its amplitudes η and their rates ξ stand beside the place, Euler parameters
and speeds of its part, with the kinetic energy of model/flexible/part.py

    T = ½ m v·v + v·R(w × h) + ½ w·Jw + v·R Pξ + w·Hξ + ½ ξ·Mξ          S(u) = Kη + Cξ

A node adds no unknowns. Its frame follows from its part's and the modes,

    R_N = R Exp(b)        p_N = p + R x        w_N = Expᵀ w + Θξ        v_N = v + R(w × x) + R_N Ψξ

with x, Exp, and Θ, Ψ (in the node's axes) of model/flexible/deformation.py; joints, constraints and loads on
it are those on any other frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armillary.algebra.expression import Expr
from armillary.algebra.vectors.matrices import Matrix, matrix_product, matrix_vector, transposed
from armillary.algebra.vectors.scalars import Scalar, inner, minus, plus, times
from armillary.algebra.vectors.triples import Triple, add, combined, cross_triples, named
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.tree.inertia.link_modes import deformation_wrench
from armillary.model.flexible.deformation import Deformation, node_step
from armillary.model.flexible.part import FlexibleNode
from armillary.model.joints import Flexed

if TYPE_CHECKING:
    from armillary.mechanics.formalisms.redundant.absolute_bodies import AbsoluteBody


@dataclass(frozen=True, eq=False)
class AbsoluteModes:
    """Amplitudes η and rates ξ of a part's modes, the description's own symbols of both, and its shape."""

    eta: tuple[Expr, ...]
    xi: tuple[Expr, ...]
    described: tuple[tuple[Expr, ...], tuple[Expr, ...]]
    shape: Deformation


@dataclass(frozen=True, eq=False)
class NodeFrame:
    """A node in absolute terms: rotation R and origin in ground axes, spin in its own, velocity in
    ground axes.
    """

    part: int
    step: Flexed
    R: Matrix
    w: Triple
    origin: Triple
    velocity: Triple


def node_frame(index: int, part: AbsoluteBody, node: FlexibleNode, plain: Undimensioned) -> NodeFrame:
    """The frame of a node of a flexible part."""
    modes = part.modes
    assert modes is not None
    step = _plain(node_step(part.name, node, modes.eta, modes.xi), plain)
    label = f"{part.name}_{node.name}"
    R = matrix_product(part.R, step.rotation, f"R_{label}")
    turned = add(matrix_vector(transposed(step.rotation), part.w), combined(step.turning, modes.xi))
    moved = matrix_vector(R, combined(step.moving, modes.xi))
    carried = matrix_vector(part.R, named(cross_triples(part.w, step.position), f"wx_{label}"))
    origin = add(part.origin, matrix_vector(part.R, step.position))
    return NodeFrame(
        index,
        step,
        R,
        named(turned, f"w_{label}"),
        named(origin, f"p_{label}"),
        named(add(part.velocity, carried, moved), f"v_{label}"),
    )


def _plain(step: Flexed, plain: Undimensioned) -> Flexed:
    def deep(x: Any) -> Any:  # a scalar, or tuples of them of any depth
        return tuple(map(deep, x)) if isinstance(x, tuple) else plain(x)

    return Flexed(
        step.flexible,
        deep(step.position),
        deep(step.rotation),
        step.speeds,
        deep(step.turning),
        deep(step.moving),
        deep(step.turned),
        deep(step.moved),
    )


def node_load(
    frame: NodeFrame, part: AbsoluteBody, moment: Triple, force: Triple
) -> tuple[Triple, list[Scalar]]:
    """(moment about the part's origin in its axes, forces on its modes) of a wrench on a node.

    The moment is about the node in its axes, the force in ground axes.
    """
    own = named(matrix_vector(transposed(part.R), force), "f_part")
    here = named(matrix_vector(transposed(frame.R), force), "f_node")
    carried = add(cross_triples(frame.step.position, own), matrix_vector(frame.step.rotation, moment))
    columns = zip(frame.step.moving, frame.step.turning, strict=True)
    return carried, [plus(inner(moving, here), inner(turning, moment)) for moving, turning in columns]


def modal_mass(part: AbsoluteBody, rows: Sequence[Triple]) -> dict[tuple[Expr, Expr], Scalar]:
    """Elements of the mass matrix that modes have with v (whose directions are ``rows`` in body axes), with
    each other and with w.
    """
    assert part.modes is not None
    xi, shape = part.modes.xi, part.modes.shape
    found: dict[tuple[Expr, Expr], Scalar] = {}
    for v, row in zip(part.v, rows, strict=True):
        found |= {(v, x): inner(row, P) for x, P in zip(xi, shape.P, strict=True)}
    for p, x in enumerate(xi):
        found |= {(x, xi[q]): shape.M[p][q] for q in range(p, len(xi))}
        found |= {(x, w): H for w, H in zip(part.w, shape.H[p], strict=True)}
    return found


def modal_remainders(part: AbsoluteBody) -> tuple[Triple, Triple, list[Scalar]]:
    """(force, moment) of moving modes, both in body axes, and the remainder of each mode's own equation with
    S(u), 2 w·Σ ξ A − ½ w·(∂J/∂η) w + Kη + Cξ.
    """
    assert part.modes is not None
    w, shape = part.w, part.modes.shape
    moment, force = deformation_wrench(shape, part.modes.xi, w, part.name)
    own = []
    for coriolis, slope, restoring in zip(shape.coriolis, shape.slopes, shape.restoring, strict=True):
        half = times(0.5, inner(w, matrix_vector(slope, w)))
        own.append(plus(minus(inner(coriolis, w), half), restoring))
    return force, moment, own
