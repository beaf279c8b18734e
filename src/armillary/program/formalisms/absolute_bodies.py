"""Bodies in absolute coordinates, independent of each other: origin, Euler parameters and modes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from armillary.algebra.expression import Expr, as_expr, symbol
from armillary.algebra.triples import (
    IDENTITY,
    ZEROS,
    ExprTriple,
    Matrix,
    Scalar,
    Triple,
    add,
    combined,
    cross_triples,
    inner,
    joined,
    matrix_product,
    matrix_sum,
    matrix_vector,
    minus,
    named,
    plus,
    scaled,
    sum_of_products,
    times,
    transposed,
)
from armillary.algebra.vectors import Frame, Vector, direction_cosines
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.tree.build import GROUND, RigidGroup, rigid_groups
from armillary.mechanics.tree.tree import Placement, deformation_wrench
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.flexible.deformation import Deformation, deformation, node_step
from armillary.model.flexible.part import FlexibleNode
from armillary.model.joints import Drift, Flexed, Slide, Tumble, Turn
from armillary.model.joints.free import quaternion_rates, quaternion_rotation

# Modes of flexible parts in absolute coordinates, and the frames of their nodes.
#
# Park and Chiou's equation of motion has an internal force S(u) of flexible members (1987, eq. 2.1). Here
# modes describe the deformation of a part: amplitudes η and rates ξ are added to the position, Euler
# parameters and speeds of the part, with the kinetic energy of model/flexible/part.py
#
#     T = ½ m v·v + v·R(w × h) + ½ w·Jw + v·R Pξ + w·Hξ + ½ ξ·Mξ          S(u) = Kη + Cξ
#
# A node adds no unknowns. Its frame follows from the frame of its part and the modes,
#
#     R_N = R Exp(b)        p_N = p + R x        w_N = Expᵀ w + Θξ        v_N = v + R(w × x) + R_N Ψξ
#
# with x, Exp, and Θ, Ψ (in the node's axes) of model/flexible/deformation.py. Joints, constraints and loads
# treat a node as any other frame.


@dataclass(frozen=True, eq=False)
class AbsoluteModes:
    """Amplitudes η and rates ξ of a part's modes, the description's symbols for both, the deformation."""

    eta: tuple[Expr, ...]
    xi: tuple[Expr, ...]
    described: tuple[tuple[Expr, ...], tuple[Expr, ...]]
    shape: Deformation


@dataclass(frozen=True, eq=False)
class NodeFrame:
    """The absolute motion of a node: R, origin and velocity in ground axes, spin in the node's axes."""

    part: int
    step: Flexed
    R: Matrix
    w: Triple
    origin: Triple
    velocity: Triple


def node_frame(index: int, part: AbsoluteBody, node: FlexibleNode, plain: Undimensioned) -> NodeFrame:
    """Return the frame of a node of a flexible part."""
    modes = part.modes
    assert modes is not None
    step = _strip_step_units(node_step(part.name, node, modes.eta, modes.xi), plain)
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


def _strip_step_units(step: Flexed, plain: Undimensioned) -> Flexed:
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
    """Return (moment about the part's origin in its axes, forces on its modes) for a wrench on a node.

    The given ``moment`` is about the node in the node's axes, ``force`` is in ground axes.
    """
    own = named(matrix_vector(transposed(part.R), force), "f_part")
    here = named(matrix_vector(transposed(frame.R), force), "f_node")
    carried = add(cross_triples(frame.step.position, own), matrix_vector(frame.step.rotation, moment))
    columns = zip(frame.step.moving, frame.step.turning, strict=True)
    return carried, [plus(inner(moving, here), inner(turning, moment)) for moving, turning in columns]


def modal_mass(part: AbsoluteBody, rows: Sequence[Triple]) -> dict[tuple[Expr, Expr], Scalar]:
    """Return the elements of the mass matrix that couple modes with v, modes and w, by pairs of speeds.

    ``rows`` are the directions of v in body axes.
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
    """Return (force, moment, remainders) of modal speeds.

    Force and moment are inertia forces in body axes. The remainder of a mode's equation is
    w·c − ½ w·(∂J/∂η) w + Kη + Cξ, with c = 2 Σ ξ A of the deformation (``coriolis``).
    """
    assert part.modes is not None
    w, shape = part.w, part.modes.shape
    moment, force = deformation_wrench(shape, part.modes.xi, w, part.name)
    own = []
    for coriolis, slope, restoring in zip(shape.coriolis, shape.slopes, shape.restoring, strict=True):
        half = times(0.5, inner(w, matrix_vector(slope, w)))
        own.append(plus(minus(inner(coriolis, w), half), restoring))
    return force, moment, own


# Bodies in absolute coordinates: position of the origin and Euler parameters of each body.
#
# Coordinates of a body are the position d of its origin in ground axes and its Euler parameters e; speeds are
# the velocity v of the origin in ground axes and the angular velocity w in body axes (Park & Chiou 1987,
# sections 2 and 5). If a body's joint is on the ground, d has only the distances along the joint's slides:
# directions in which the origin cannot move have no coordinates and need no constraints. The reference point
# is the origin, not the mass centre, because joints hold the origin: the coefficients of v in their
# constraints are then constant, and a body that is pinned to the ground has no translations.
#
# A part is a body with all bodies fixed to it. A flexible body is a part whose coordinates and speeds include
# the amplitudes and rates of its modes; a body that is fixed to a node is another part. Nodes have indices
# below GROUND.


@dataclass(frozen=True, eq=False)
class JointSteps:
    """A joint's steps by kind: slides, turns, or one step that rotates freely (``whole``).

    Axes are given by their components in the description.
    """

    slides: tuple[Slide, ...]
    turns: tuple[Turn, ...]
    whole: Tumble | Drift | None

    @property
    def directions(self) -> list[Triple]:
        """Axes along which the child's origin moves in the parent."""
        if isinstance(self.whole, Drift):
            return [IDENTITY[i] for i in self.whole.linear]
        return [s.axis for s in self.slides]

    @property
    def axes(self) -> list[Triple] | None:
        """Axes about which the child turns, each after the earlier turns; None if it rotates freely."""
        if isinstance(self.whole, Tumble) or (isinstance(self.whole, Drift) and len(self.whole.angular) == 3):
            return None
        return [IDENTITY[i] for i in self.whole.angular] if self.whole else [t.axis for t in self.turns]


@dataclass(frozen=True, eq=False, kw_only=True)
class AbsoluteBody(RigidGroup):
    """A part in absolute coordinates: position d, Euler parameters e, velocity v, spin w, modes."""

    joint: JointSteps
    basis: tuple[Triple, ...]  # directions of d, in ground axes
    d: tuple[Expr, ...]
    e: tuple[Expr, ...]
    v: tuple[Expr, ...]
    w: ExprTriple
    R: Matrix
    origin: Triple
    velocity: Triple
    modes: AbsoluteModes | None = None
    end: NodeFrame | None = None  # the node at which the joint holds the part; None: at its origin

    @property
    def linear(self) -> tuple[Expr, ...]:
        """Coordinates whose rates are speeds: d and amplitudes."""
        return self.d if self.modes is None else (*self.d, *self.modes.eta)

    @property
    def coordinates(self) -> tuple[Expr, ...]:
        return (*self.linear, *self.e)

    @property
    def linear_speeds(self) -> tuple[Expr, ...]:
        return self.v if self.modes is None else (*self.v, *self.modes.xi)

    @property
    def speeds(self) -> tuple[Expr, ...]:
        return (*self.linear_speeds, *self.w)

    @property
    def deformed_first(self) -> Triple:
        """First moment h with the present deformation."""
        return self.first if self.modes is None else add(self.first, self.modes.shape.first)

    @property
    def deformed_inertia(self) -> Matrix:
        """Inertia J with the present deformation."""
        return self.inertia if self.modes is None else matrix_sum(self.inertia, self.modes.shape.inertia)

    def rates(self) -> dict[Expr, Scalar]:
        """ḋ = v, η̇ = ξ, ė = ½ [ −eᵀw ; e₀ w + e × w ], Ṙ = R w̃."""
        found: dict[Expr, Scalar] = dict(zip(self.linear, self.linear_speeds, strict=True))
        found |= zip(self.e, quaternion_rates(self.e, self.w), strict=True)
        for row in self.R:
            turned = named(cross_triples(row, self.w), f"Rdot_{self.name}")
            found |= zip(map(as_expr, row), turned, strict=True)
        return found


@dataclass(frozen=True, eq=False)
class AbsoluteBodies:
    """All parts of a system, parents first, and the placement of each body in its part."""

    parts: tuple[AbsoluteBody, ...]
    placements: dict[str, Placement]
    frames: dict[Frame, Placement]
    nodes: dict[int, NodeFrame]

    def _frame(self, index: int) -> AbsoluteBody | NodeFrame:
        return self.nodes[index] if index < GROUND else self.parts[index]

    def rotation(self, index: int) -> Matrix:
        return IDENTITY if index == GROUND else self._frame(index).R

    def spin(self, index: int) -> Triple:
        return ZEROS if index == GROUND else self._frame(index).w

    def origin(self, index: int) -> Triple:
        return ZEROS if index == GROUND else self._frame(index).origin

    def velocity(self, index: int) -> Triple:
        return ZEROS if index == GROUND else self._frame(index).velocity

    def components(self, vector: Vector, index: int, plain: Undimensioned) -> Triple:
        """Return the components of a vector in the axes of part ``index``, or in those of the ground."""
        own: Triple = ZEROS
        ground: Triple = ZEROS
        for frame, triple in vector.by_frame().items():
            home, turn = self._home(frame)
            here = matrix_vector(_strip_matrix_units(turn, plain), [plain(x) for x in triple])
            if home == index:
                own = add(own, here)
            else:
                ground = add(ground, matrix_vector(self.rotation(home), here))
        return add(own, matrix_vector(transposed(self.rotation(index)), named(ground, "in_ground")))

    def _home(self, frame: Frame) -> tuple[int, Matrix]:
        """Return (part, rotation to its axes) of a frame; a frame inside a joint belongs to the parent."""
        known: Frame = frame
        while known not in self.frames:
            assert known.parent is not None
            known = known.parent
        home, turn = self.frames[known].link, self.frames[known].rotation
        return home, turn if known is frame else matrix_product(turn, direction_cosines(known, frame))


def _strip_matrix_units(matrix: Matrix, plain: Undimensioned) -> Matrix:
    return joined(joined(plain(x) for x in row) for row in matrix)


def absolute_bodies(system: Description, plain: Undimensioned) -> AbsoluteBodies:
    """Return the parts of a system, with symbols for their coordinates and speeds."""
    found = rigid_groups(system, plain, separate_flexible=True)
    made = tuple(_part(system, group, i, plain) for i, group in enumerate(found.groups))
    nodes: dict[int, NodeFrame] = {}
    for number, body in found.nodes.items():
        assert body.parent is not None and body.parent.flex is not None
        home = found.placements[body.parent.name].link
        nodes[number] = node_frame(home, made[home], body.parent.flex.places[body.name], plain)
    frames = {body.frame: found.placements[body.name] for body in system.bodies.values()}
    frames[system.ground.frame] = found.placements["ground"]
    return AbsoluteBodies(made, found.placements, frames, nodes)


def _part(system: Description, group: RigidGroup, index: int, plain: Undimensioned) -> AbsoluteBody:
    joint = _joint_steps(group.body, plain)
    name, flex = group.name, group.body.flex
    directions = [matrix_vector(group.mount, axis) for axis in joint.directions]
    held = flex is not None and flex.held is not None
    basis = tuple(directions) if group.parent == GROUND and not held else IDENTITY

    def symbols(letter: str, role: str, numbers: range, about: str) -> tuple[Expr, ...]:
        return tuple(symbol(f"{name}.{letter}{i}", role, owner=system.identity, about=about) for i in numbers)

    along = range(1, len(basis) + 1)
    d = symbols("d", "coordinate", along, f"position of {name}'s origin in the ground")
    e = symbols("e", "coordinate", range(4), f"Euler parameter of {name} in the ground")
    v = symbols("v", "speed", along, f"velocity of {name}'s origin in the ground")
    w = symbols("w", "speed", range(1, 4), f"angular velocity of {name} in its own axes")
    start = group.place if group.parent == GROUND and not held else ZEROS
    part = AbsoluteBody(
        **vars(group),
        joint=joint,
        basis=basis,
        d=d,
        e=e,
        v=v,
        w=joined(w),
        R=quaternion_rotation(e, name),
        origin=add(start, *(scaled(axis, x) for axis, x in zip(basis, d, strict=True))),
        velocity=add(*(scaled(axis, x) for axis, x in zip(basis, v, strict=True))),
    )
    if flex is None:
        return part
    numbers = range(1, flex.part.modes + 1)
    eta = symbols("amplitude", "coordinate", numbers, f"amplitude of a mode of {name}")
    xi = symbols("rate", "speed", numbers, f"rate of a mode of {name}")
    described = (tuple(map(plain, flex.coordinates)), tuple(map(plain, flex.speeds)))
    part = replace(part, modes=AbsoluteModes(eta, xi, described, deformation(name, flex.part, eta, xi)))
    if flex.held is None:
        return part
    return replace(part, end=node_frame(index, part, flex.part.nodes[flex.held], plain))


def _joint_steps(body: Body, plain: Undimensioned) -> JointSteps:
    """Return the steps of a joint, without dimensions; translations must come before rotations."""
    slides: list[Slide] = []
    turns: list[Turn] = []
    whole: Tumble | Drift | None = None
    for step in body.assembly.steps:
        late = turns or whole
        if isinstance(step, Flexed):  # a body held at one of its nodes; always the last step
            continue
        if isinstance(step, Slide) and not late:
            slides.append(Slide(_triple(step.axis, plain), plain(step.distance), plain(step.speed)))
        elif isinstance(step, Turn) and not whole:
            turns.append(Turn(_triple(step.axis, plain), plain(step.angle), plain(step.speed)))
        elif isinstance(step, Tumble) and not late:
            a, b, c = step.speeds
            whole = Tumble(_strip_matrix_units(step.rotation, plain), (plain(a), plain(b), plain(c)))
        elif isinstance(step, Drift) and not late and not slides and len(step.angular) in (1, 3):
            linear = {i: plain(u) for i, u in step.linear.items()}
            angular = {i: plain(u) for i, u in step.angular.items()}
            whole = Drift(
                _triple(step.position, plain),
                _strip_matrix_units(step.rotation, plain),
                linear,
                angular,
                step.velocity,
            )
        else:
            raise ModelError(
                f"body '{body.name}' ({body.joint.describe()}): in redundant coordinates a joint has "
                "translations first, then rotations; put a massless body between the two"
            )
    if len(turns) > 3:
        raise ModelError(f"body '{body.name}': more than three turns in one joint; put a body between them")
    return JointSteps(tuple(slides), tuple(turns), whole)


def _triple(values: Iterable[Scalar], plain: Undimensioned) -> Triple:
    return joined(plain(x) for x in values)


def mass_block(part: AbsoluteBody) -> dict[tuple[Expr, Expr], Scalar]:
    """Return the upper half of a part's mass matrix, by pairs of its speeds.

        m v·v/2 + v·R (w × h) + w·J w/2    gives    [ m EᵀE , −EᵀR h̃ ; · , J ]

    with E the directions of v; modes are added by ``modal_mass``.
    """
    found: dict[tuple[Expr, Expr], Scalar] = {}
    basis, v, w = part.basis, part.v, part.w
    first, inertia = part.deformed_first, part.deformed_inertia
    rows = [matrix_vector(transposed(part.R), a) for a in basis]  # E in body axes
    for i, a in enumerate(basis):
        for j in range(i, len(basis)):
            found[v[i], v[j]] = times(sum_of_products(zip(a, basis[j], strict=True)), part.mass)
        for j, value in enumerate(cross_triples(first, rows[i])):  # E·R(w × h) = w·(h × RᵀE)
            found[v[i], w[j]] = value
    for i in range(3):
        for j in range(i, 3):
            found[w[i], w[j]] = inertia[i][j]
    return found if part.modes is None else found | modal_mass(part, rows)


def inertia_remainder(part: AbsoluteBody) -> tuple[Triple, Triple, list[Scalar]]:
    """Return (force, moment, modal): the inertia forces of a part at constant speeds.

    The force is R (w × (w × h)) in ground axes, and the moment w × J w about the origin in body axes; both
    include terms of modal speeds. ``modal`` has the remainders of the modes' equations.
    """
    h = part.deformed_first
    centrifugal = cross_triples(part.w, named(cross_triples(part.w, h), f"wh_{part.name}"))
    momentum = named(matrix_vector(part.deformed_inertia, part.w), f"Jw_{part.name}")
    moment = cross_triples(part.w, momentum)
    modal: list[Scalar] = []
    if part.modes is not None:
        force, added, modal = modal_remainders(part)
        centrifugal, moment = add(centrifugal, force), add(moment, added)
    return matrix_vector(part.R, named(centrifugal, f"wwh_{part.name}")), moment, modal
