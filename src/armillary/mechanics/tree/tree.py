"""The tree of links that formalisms work on, planted from a description.

A link is a rigid part that moves by one step: a turn, a slide, a tumble or a drift. Joints of several steps
give massless links in between; fixed bodies join their parent's link. The axes of a link are chosen so that
its joint's axis is a coordinate axis: a body's axes differ from its link's by a constant rotation,
which costs nothing while running.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr
from armillary.algebra.functions import freeze_long_sum
from armillary.algebra.triples import (
    IDENTITY,
    ZEROS,
    Matrix,
    Scalar,
    ScalarMap,
    Triple,
    add,
    joined,
    matrix_sum,
    matrix_vector,
    plus,
    times,
)
from armillary.mechanics.tree.link_inertia import LinkModes
from armillary.mechanics.tree.rotation import MatrixRotation, NoRotation, Rotation, RotationChain

SAME = NoRotation()
ANGULAR, LINEAR = 0, 3  # directions 0 to 2 turn about, 3 to 5 move along the link's x, y, z
MODAL = 6  # not a direction: a mode of a flexible link


@dataclass(frozen=True, eq=False)
class Freedom:
    """One degree of freedom of a link: motion along ``sign`` times a coordinate direction of its axes.

    ``rate`` is the known rate of a prescribed speed, or the known part of a dependent speed's rate; `None` if
    the speed is free. ``armature`` is the reflected inertia of the drive: it adds a u̇ to the equation
    of this speed alone.
    """

    name: str
    direction: int
    sign: int
    speed: Scalar
    index: int  # place among the system's speeds
    rate: Scalar | None = None
    dependent: bool = False  # on other speeds, through constraints
    armature: Scalar = 0

    @property
    def prescribed(self) -> bool:
        """Whether nothing is unknown about the speed's rate."""
        return self.rate is not None and not self.dependent

    @property
    def armature_effort(self) -> Scalar:
        """The effort on the armature for the known rate, or the known part of it."""
        return 0 if self.rate is None else times(self.armature, self.rate)

    def map(self, f: ScalarMap) -> Freedom:
        """The same over other scalars."""
        rate = None if self.rate is None else f(self.rate)
        return replace(self, speed=f(self.speed), rate=rate, armature=f(self.armature))


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid part and the step by which it moves on its parent link (−1: the ground).

    ``offset`` leads from the parent's origin to this one in the parent's axes. Mass m, first moment h and
    inertia J are about this link's origin, in its axes; for a flexible link they exclude deformation, which
    ``modes`` adds. A "flexed" link is moved by the modes of its ``carrier``, a flexible link: its parent, or
    itself if it is held at one of its nodes.
    """

    name: str
    parent: int
    step: str  # "turn", "slide", "tumble", "drift", "flexed", or "fixed" for a weld that keeps its own link
    offset: Triple
    rotation: Rotation
    freedoms: tuple[Freedom, ...]
    mass: Scalar = 0
    first: Triple = ZEROS
    inertia: Matrix = (ZEROS, ZEROS, ZEROS)
    velocity: str = ""  # of a drift: whose axes its linear speeds are in
    velocity_axes: Rotation = SAME  # of a drift in its parent's axes: those, from the parent's link
    modes: LinkModes | None = None
    carrier: int = -1
    columns: tuple[tuple[Triple, Triple], ...] = ()  # (θ, ψ): motion per unit of the carrier's modal speeds
    bias: tuple[Triple, Triple] = (ZEROS, ZEROS)  # acceleration of that motion at steady modal speeds

    @property
    def degrees(self) -> tuple[Freedom, ...]:
        """The joint's degrees of freedom, then the modes."""
        return self.freedoms if self.modes is None else (*self.freedoms, *self.modes.freedoms)

    @property
    def constant_rotation(self) -> Rotation:
        """The rotation of a vector that the step leaves in place into the parent's axes: of a turn, one along
        its axis, for which only the constant half matters; of a slide or a weld any.
        """
        if self.step in ("slide", "fixed"):
            return self.rotation
        return self.rotation.first if isinstance(self.rotation, RotationChain) else NoRotation()

    def with_degrees(self, change: Callable[[Freedom], Freedom]) -> Link:
        """The link with every degree of freedom passed through a function."""
        modes = self.modes
        if modes is not None:
            modes = replace(modes, freedoms=tuple(map(change, modes.freedoms)))
        return replace(self, freedoms=tuple(map(change, self.freedoms)), modes=modes)

    def map(self, f: ScalarMap) -> Link:
        """The same link with every scalar passed through a function."""
        return replace(
            self,
            offset=joined(f(x) for x in self.offset),
            rotation=self.rotation.map(f),
            freedoms=tuple(d.map(f) for d in self.freedoms),
            mass=f(self.mass),
            first=joined(f(x) for x in self.first),
            inertia=MatrixRotation(self.inertia).map(f).matrix,
            velocity_axes=self.velocity_axes.map(f),
            modes=None if self.modes is None else self.modes.map(f),
            columns=tuple((_map_triple(a, f), _map_triple(b, f)) for a, b in self.columns),
            bias=(_map_triple(self.bias[0], f), _map_triple(self.bias[1], f)),
        )


def _map_triple(triple: Triple, f: ScalarMap) -> Triple:
    return joined(f(x) for x in triple)


@dataclass(frozen=True, eq=False)
class Placement:
    """Where a body sits: v_link = rotation v_body, and its origin's place in the link's axes."""

    link: int
    rotation: Matrix
    origin: Triple

    def point(self, coordinates: Triple) -> Triple:
        """A point of the body in the link's axes, from the link's origin."""
        return add(self.origin, matrix_vector(self.rotation, coordinates))

    def turned_inertia(self, inertia: Matrix) -> Matrix:
        """An inertia in the body's axes, in the link's."""
        return (
            inertia
            if self.rotation == IDENTITY
            else MatrixRotation(self.rotation).symmetric_to_parent(inertia, "")
        )


@dataclass(frozen=True, eq=False)
class Tree:
    """Links, parents first, with the ground's gravity and each body's placement."""

    links: tuple[Link, ...]
    gravity: Triple  # acceleration of free fall, in the ground's axes
    placements: dict[str, Placement]

    def path_to_ground(self, index: int) -> list[int]:
        """A link, its parent and so on to the last link before the ground."""
        found = []
        while index >= 0:
            found.append(index)
            index = self.links[index].parent
        return found

    def with_degrees(self, change: Callable[[Freedom], Freedom]) -> Tree:
        """The tree with every degree of freedom passed through a function."""
        return replace(self, links=tuple(link.with_degrees(change) for link in self.links))

    def with_dependent_rates(self, rates: Mapping[int, Scalar]) -> Tree:
        """The tree with speeds as dependent ones, by the known parts of their rates."""

        def dependent(d: Freedom) -> Freedom:
            return replace(d, rate=rates[d.index], dependent=True) if d.index in rates else d

        return self.with_degrees(dependent)

    def map(self, f: ScalarMap) -> Tree:
        """The same tree over other scalars."""
        placements = {
            name: Placement(p.link, MatrixRotation(p.rotation).map(f).matrix, joined(f(x) for x in p.origin))
            for name, p in self.placements.items()
        }
        return Tree(tuple(link.map(f) for link in self.links), joined(f(x) for x in self.gravity), placements)


def numeric(tree: Tree, values: dict[Expr | str, object]) -> Tree:
    """The tree with numbers or arrays for its symbols: formalisms then give numbers in place of programs."""
    found: list[Expr] = []

    def collect(x: Scalar) -> Scalar:
        if isinstance(x, Expr):
            found.append(x)
        return x

    tree.map(collect)
    table = dict(zip(found, evaluate_all(found, values), strict=True))
    return tree.map(lambda x: table[x] if isinstance(x, Expr) else x)


def with_inertia(link: Link, mass: Scalar, first: Triple, inertia: Matrix) -> Link:
    """The link with more mass, first moment and inertia."""
    return replace(
        link,
        mass=_settle_scalar(plus(link.mass, mass)),
        first=joined(_settle_scalar(x) for x in add(link.first, first)),
        inertia=MatrixRotation(matrix_sum(link.inertia, inertia)).map(_settle_scalar).matrix,
    )


def deformed_link(link: Link) -> Link:
    """Add the first moment and inertia of its present deformation to a flexible link."""
    modes = link.modes
    if modes is None:
        return link
    return replace(link, first=add(link.first, modes.first), inertia=matrix_sum(link.inertia, modes.inertia))


def _settle_scalar(x: Scalar) -> Scalar:
    return freeze_long_sum(x) if isinstance(x, Expr) else x
