"""The tree of links that formalisms work on, planted from a description.

A link is a rigid part that moves by one step: a turn, a slide, a tumble or a drift. Joints of several steps
give massless links in between; fixed bodies join their parent's link. Each link has axes of its own, chosen
so that its joint's axis is a coordinate axis: a body's axes differ from its link's by a constant rotation,
which costs nothing while running.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr
from armillary.algebra.intermediate import settled
from armillary.algebra.triples import (
    IDENTITY,
    ZEROS,
    Matrix,
    Triple,
    add,
    is_zero,
    matrix_product,
    matrix_sum,
    matrix_vector,
    minus,
    plus,
    scaled,
    times,
    unit,
)
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.tree.constant_turns import coordinate_axis, towards, turned_back
from armillary.mechanics.tree.modal import Modal, modal
from armillary.mechanics.tree.rotation import Chain, General, Principal, Rotation, Same
from armillary.model.body import Body
from armillary.model.joints import Drift, Flexed, Slide, Step, Tumble, Turn
from armillary.model.motion import time_derivative
from armillary.model.records import Prescription
from armillary.model.space.attraction import all_gravities
from armillary.model.system import System

SAME = Same()
ANGULAR, LINEAR = 0, 3  # directions 0 to 2 turn about, 3 to 5 move along the link's x, y, z
MODAL = 6  # not a direction: a mode of a flexible link


@dataclass(frozen=True, eq=False)
class Freedom:
    """One degree of freedom of a link: motion along ``sign`` times a coordinate direction of its axes.

    ``rate`` is the known rate of a prescribed speed, or the known part of that of a dependent one; None where
    the speed is free. ``armature`` is the inertia of the drive as the speed feels it: a u̇ more in the
    equation of this speed, and in no other.
    """

    name: str
    direction: int
    sign: int
    speed: Any
    index: int  # place among the system's speeds
    rate: Any = None
    dependent: bool = False  # on other speeds, through constraints
    armature: Any = 0

    @property
    def prescribed(self) -> bool:
        """Whether nothing is unknown about the speed's rate."""
        return self.rate is not None and not self.dependent

    @property
    def armature_effort(self) -> Any:
        """What the armature takes for the known rate, or the known part of it."""
        return 0 if self.rate is None else times(self.armature, self.rate)

    def map(self, f: Callable[[Any], Any]) -> Freedom:
        """The same over other scalars."""
        rate = None if self.rate is None else f(self.rate)
        return replace(self, speed=f(self.speed), rate=rate, armature=f(self.armature))


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid part and the step by which it moves on its parent link (−1: the ground).

    ``offset`` leads from the parent's origin to this one in the parent's axes. Mass m, first moment h and
    inertia J are about this link's origin, in its axes; those of a flexible link are without deformation,
    and ``modes`` tells the rest. A "flexed" link is moved by the modes of its ``carrier``, a flexible link:
    its parent, or itself where it is held at one of its own nodes.
    """

    name: str
    parent: int
    step: str  # "turn", "slide", "tumble", "drift", "flexed", or "fixed" where a weld is to be told apart
    offset: Triple
    rotation: Rotation
    freedoms: tuple[Freedom, ...]
    mass: Any = 0
    first: Triple = ZEROS
    inertia: Matrix = (ZEROS, ZEROS, ZEROS)
    velocity: str = ""  # of a drift: whose axes its linear speeds are in
    velocity_axes: Rotation = SAME  # of a drift in its parent's axes: those, from the parent's link
    modes: Modal | None = None
    carrier: int = -1
    columns: tuple[tuple[Triple, Triple], ...] = ()  # (θ, ψ): motion per unit of the carrier's modal speeds
    bias: tuple[Triple, Triple] = (ZEROS, ZEROS)  # acceleration of that motion at steady modal speeds

    @property
    def degrees(self) -> tuple[Freedom, ...]:
        """The joint's degrees of freedom, then the modes."""
        return self.freedoms if self.modes is None else (*self.freedoms, *self.modes.freedoms)

    def with_degrees(self, change: Callable[[Freedom], Freedom]) -> Link:
        """The link with every degree of freedom passed through a function."""
        modes = self.modes
        if modes is not None:
            modes = replace(modes, freedoms=tuple(map(change, modes.freedoms)))
        return replace(self, freedoms=tuple(map(change, self.freedoms)), modes=modes)

    def map(self, f: Callable[[Any], Any]) -> Link:
        """The same link with every scalar passed through a function."""
        return replace(
            self,
            offset=tuple(f(x) for x in self.offset),
            rotation=self.rotation.map(f),
            freedoms=tuple(d.map(f) for d in self.freedoms),
            mass=f(self.mass),
            first=tuple(f(x) for x in self.first),
            inertia=General(self.inertia).map(f).matrix,
            velocity_axes=self.velocity_axes.map(f),
            modes=None if self.modes is None else self.modes.map(f),
            columns=tuple((_mapped(a, f), _mapped(b, f)) for a, b in self.columns),
            bias=(_mapped(self.bias[0], f), _mapped(self.bias[1], f)),
        )


def _mapped(triple: Triple, f: Callable[[Any], Any]) -> Triple:
    return tuple(f(x) for x in triple)


@dataclass(frozen=True, eq=False)
class Placement:
    """Where a body sits: v_link = rotation v_body, and its origin's place in the link's axes."""

    link: int
    rotation: Matrix
    origin: Triple

    def point(self, coordinates: Triple) -> Triple:
        """A point of the body in the link's axes, from the link's origin."""
        return add(self.origin, matrix_vector(self.rotation, coordinates))


@dataclass(frozen=True, eq=False)
class Tree:
    """Links, parents first, with the ground's gravity and each body's placement."""

    links: tuple[Link, ...]
    gravity: Triple  # acceleration of free fall, in the ground's axes
    placements: dict[str, Placement]

    def map(self, f: Callable[[Any], Any]) -> Tree:
        """The same tree over other scalars."""
        placements = {
            name: Placement(p.link, General(p.rotation).map(f).matrix, tuple(f(x) for x in p.origin))
            for name, p in self.placements.items()
        }
        return Tree(tuple(link.map(f) for link in self.links), tuple(f(x) for x in self.gravity), placements)


def numeric(tree: Tree, values: dict[Any, Any]) -> Tree:
    """The tree with numbers or arrays for its symbols: formalisms then give answers in place of programs."""
    found: list[Expr] = []

    def collect(x: Any) -> Any:
        if isinstance(x, Expr):
            found.append(x)
        return x

    tree.map(collect)
    table = dict(zip(found, evaluate_all(found, values), strict=True))
    return tree.map(lambda x: table[x] if isinstance(x, Expr) else x)


def build_tree(
    system: System,
    plain: Undimensioned | None = None,
    *,
    given: Mapping[Expr, Prescription] | None = None,
    parted: bool = False,
    apart: Collection[str] = (),
) -> Tree:
    """The tree of links of a system, inertia not yet regrouped; ``plain`` reads its expressions.

    ``given`` are the prescribed speeds, where they are more than the description says. ``parted`` takes free
    bodies apart that have velocities in their parent's axes, into slides and a tumble.
    """
    planter = _Planter(system, system.prescriptions if given is None else given, parted, apart)
    for body in system.bodies.values():
        planter.add(body)
    gravity: Triple = ZEROS
    for field in all_gravities(system):
        gravity = add(gravity, scaled(field.direction.components(system.ground.frame), field.magnitude))
    return Tree(tuple(planter.links), gravity, planter.placements).map(plain or Undimensioned())


class _Planter:
    def __init__(
        self, system: System, given: Mapping[Expr, Prescription], parted: bool, apart: Collection[str]
    ) -> None:
        self.apart = apart
        self.given = given
        self.parted = parted
        self.links: list[Link] = []
        self.placements = {"ground": Placement(-1, IDENTITY, ZEROS)}
        self.speed_index = {speed: i for i, speed in enumerate(system.speeds)}
        self.armatures = system.armatures
        self.carriers: dict[str, int] = {}  # links of flexible bodies

    def add(self, body: Body) -> None:
        """Links for the body's joint, and the body's inertia on the last of them."""
        assert body.parent is not None
        base = self.placements[body.parent.name]
        here, turned, offset = base.link, base.rotation, base.point(body.at)
        oriented = False
        steps, flexed = _parted(body.assembly.steps)
        for count, step in enumerate(steps, start=1):
            name = body.name if count == len(body.assembly.steps) else f"{body.name}_{count}"
            if isinstance(step, Turn):
                here, turned = self._turn(name, here, offset, turned, step)
            elif isinstance(step, Slide):
                here, turned = self._slide(name, here, offset, turned, step)
            elif isinstance(step, Tumble | Drift):
                if isinstance(step, Drift) and step.velocity == "parent" and self.parted:
                    step, here, turned, offset = self._part(name, here, offset, turned, step)
                here, turned = self._general(name, here, offset, turned, step, body.orient)
                oriented = body.orient is not None
            offset = ZEROS
        if not body.assembly.steps and body.name in self.apart:
            here, offset = self._append(Link(body.name, here, "fixed", offset, Same(), ())), ZEROS
        if body.orient is not None and not oriented:
            turned = matrix_product(turned, body.orient)
        if flexed is not None:
            here = self._flexed(body.name, here, offset, turned, flexed)
            turned, offset = IDENTITY, ZEROS
        if body.flex is not None:
            if not body.assembly.steps or turned != IDENTITY or offset != ZEROS:
                axes: Rotation = Same() if turned == IDENTITY else General(turned)
                here = self._append(Link(body.name, here, "fixed", offset, axes, ()))
                turned, offset = IDENTITY, ZEROS
            self._make_flexible(body, here)
        self.placements[body.name] = Placement(here, turned, offset)
        if here >= 0:
            self.links[here] = carrying(self.links[here], *self._inertia(body))

    def _make_flexible(self, body: Body, here: int) -> None:
        """Modes for the link, whose axes and origin are the body's."""
        flex = body.flex
        assert flex is not None
        freedoms = tuple(self._freedom(u, MODAL) for u in flex.speeds)
        part = flex.part
        rows = part.inertia.tolist()
        link = carrying(self.links[here], part.mass, tuple(part.first.tolist()), (*map(tuple, rows),))  # type: ignore[arg-type]
        self.links[here] = replace(link, modes=modal(body.name, flex, freedoms))
        self.carriers[body.name] = here

    def _flexed(self, name: str, here: int, offset: Triple, turned: Matrix, step: Flexed) -> int:
        """A link that modes move: a node of a flexible body, or the body in the node that holds it."""
        own = len(self.links)
        rotation: Rotation
        if turned != IDENTITY:
            rotation = General(matrix_product(turned, step.rotation, f"E_{name}"))
        elif step.axis is not None:
            rotation = Principal(step.axis, fn.cos(step.angle), fn.sin(step.angle))
        else:
            rotation = Same() if step.rotation == IDENTITY else General(step.rotation)
        return self._append(
            Link(
                name,
                here,
                "flexed",
                add(offset, matrix_vector(turned, step.position)),
                rotation,
                (),
                carrier=self.carriers.get(step.flexible, own),
                columns=tuple(zip(step.turning, step.moving, strict=True)),
                bias=(step.turned, step.moved),
            )
        )

    def _freedom(self, speed: Expr, direction: int, sign: int = 1) -> Freedom:
        given = self.given.get(speed)
        rate = None if given is None else time_derivative(given.value)
        armature = self.armatures.get(speed, 0)
        return Freedom(speed.name, direction, sign, speed, self.speed_index[speed], rate, armature=armature)

    def _append(self, link: Link) -> int:
        self.links.append(link)
        return len(self.links) - 1

    def _turn(self, name: str, here: int, offset: Triple, turned: Matrix, step: Turn) -> tuple[int, Matrix]:
        axis = matrix_vector(turned, step.axis)
        c, s = fn.cos(step.angle), fn.sin(step.angle)
        principal = coordinate_axis(axis)
        if principal is not None:
            i, sign = principal
            rotation: Rotation = Principal(i, c, s if sign > 0 else -s)
        else:
            constant, i, sign = towards(axis)
            rotation = Chain(constant, Principal(i, c, s if sign > 0 else -s))
            turned = turned_back(constant, turned)
        freedom = self._freedom(step.speed, ANGULAR + i, sign)
        return self._append(Link(name, here, "turn", offset, rotation, (freedom,))), turned

    def _slide(self, name: str, here: int, offset: Triple, turned: Matrix, step: Slide) -> tuple[int, Matrix]:
        axis = matrix_vector(turned, step.axis)
        offset = add(offset, scaled(axis, step.distance))
        principal = coordinate_axis(axis)
        rotation: Rotation = Same()
        if principal is not None:
            i, sign = principal
        else:
            rotation, i, sign = towards(axis)
            turned = turned_back(rotation, turned)
        freedom = self._freedom(step.speed, LINEAR + i, sign)
        return self._append(Link(name, here, "slide", offset, rotation, (freedom,))), turned

    def _part(
        self, name: str, here: int, offset: Triple, turned: Matrix, step: Drift
    ) -> tuple[Tumble, int, Matrix, Triple]:
        """A drift in its parent's axes as slides along them and a tumble: the same coordinates and speeds.

        Its three linear speeds then are directions of links, one by one, and can be given or eliminated.
        """
        for i, axis in enumerate("xyz"):
            slide = Slide(unit(i), step.position[i], step.linear[i])
            here, turned = self._slide(f"{name}_{axis}", here, offset, turned, slide)
            offset = ZEROS
        w = step.angular
        return Tumble(step.rotation, (w[0], w[1], w[2])), here, turned, offset

    def _general(
        self,
        name: str,
        here: int,
        offset: Triple,
        turned: Matrix,
        step: Tumble | Drift,
        orient: Matrix | None,
    ) -> tuple[int, Matrix]:
        matrix = matrix_product(turned, step.rotation)
        if orient is not None:
            matrix = matrix_product(matrix, orient, f"R_{name}")
        if isinstance(step, Tumble):
            freedoms = tuple(self._freedom(u, ANGULAR + i) for i, u in enumerate(step.speeds))
            link = Link(name, here, "tumble", offset, General(matrix), freedoms)
        else:
            offset = add(offset, matrix_vector(turned, step.position))
            freedoms = tuple(self._freedom(u, LINEAR + i) for i, u in step.linear.items())
            freedoms += tuple(self._freedom(u, ANGULAR + i) for i, u in step.angular.items())
            axes: Rotation = General(turned) if step.velocity == "parent" and turned != IDENTITY else SAME
            link = Link(
                name,
                here,
                "drift",
                offset,
                General(matrix),
                freedoms,
                velocity=step.velocity,
                velocity_axes=axes,
            )
        return self._append(link), IDENTITY

    def _inertia(self, body: Body) -> tuple[Any, Triple, Matrix]:
        """(m, h, J) of a body about its link's origin, in the link's axes."""
        placement = self.placements[body.name]
        centre = placement.point(body.com_coordinates)
        own = (
            General(placement.rotation).symmetric_to_parent(body.inertia, "")
            if placement.rotation != IDENTITY
            else body.inertia
        )
        first = scaled(centre, body.mass)
        return body.mass, first, matrix_sum(own, point_mass_inertia(body.mass, centre))


def _parted(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], Flexed | None]:
    """(steps of the joint, the motion by modes that comes last, if there is one)."""
    if steps and isinstance(steps[-1], Flexed):
        return steps[:-1], steps[-1]
    return steps, None


def carrying(link: Link, mass: Any, first: Triple, inertia: Matrix) -> Link:
    """The link with more mass, first moment and inertia."""
    return replace(
        link,
        mass=_settled(plus(link.mass, mass)),
        first=tuple(_settled(x) for x in add(link.first, first)),
        inertia=General(matrix_sum(link.inertia, inertia)).map(_settled).matrix,
    )


def deformed(link: Link) -> Link:
    """A flexible link with the first moment and inertia of its present shape; a rigid one as it is."""
    modes = link.modes
    if modes is None:
        return link
    return replace(link, first=add(link.first, modes.first), inertia=matrix_sum(link.inertia, modes.inertia))


def _settled(x: Any) -> Any:
    return settled(x) if isinstance(x, Expr) else x


def point_mass_inertia(mass: Any, r: Triple) -> Matrix:
    """m (r·r 1 − r rᵀ)."""
    return moment_inertia(scaled(r, times(mass, 0.5)), r) if not is_zero(mass) else (ZEROS, ZEROS, ZEROS)


def moment_inertia(h: Triple, r: Triple) -> Matrix:
    """2 (r·h) 1 − (r hᵀ + h rᵀ): what a first moment h adds to the inertia when its point moves by r."""
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            if i == j:
                a, b = (k for k in range(3) if k != i)
                row.append(times(2, plus(times(r[a], h[a]), times(r[b], h[b]))))
            else:
                row.append(minus(0, plus(times(r[i], h[j]), times(h[i], r[j]))))
        rows.append(tuple(row))
    return tuple(rows)  # type: ignore[return-value]
