"""The tree of links that formalisms work on; ``build.py`` makes it from a description.

A link is a rigid part that moves relative to its parent by one step: a turn, a slide, a tumble (three
rotations) or a drift (all six motions). A joint of several steps has massless links between them; fixed
bodies belong to their parent's link. The axes of a link are chosen so that its joint's axis is a coordinate
axis. So a body's axes may differ from its link's axes, by a constant rotation, which costs nothing in a run.

Rotations between a link and its parent have the convention v_parent = R v_child. A turn about a coordinate
axis is never multiplied out as a 3×3 matrix. With j, k the other two axes, c and s the cosine and sine, a
symmetric 2×2 block [a h; h b] is rotated by

    y = s (a − b) + 2c h        a' = a − s y        b' = b + s y        h' = c y − h

in 4 products and 5 sums (2c is shared). A general block [p q; r t] is rotated by

    y = s (p − t) + c (q + r)   p' = p − s y        t' = t + s y        q' = c y − r       r' = c y − q

These formulas follow from the double-angle identities. They account for most of the operations that the
recursive formalisms save.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from armillary.algebra import functions as fn
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr
from armillary.algebra.functions import freeze_long_sum
from armillary.algebra.triples import (
    IDENTITY,
    ZERO_MATRIX,
    ZEROS,
    Matrix,
    Scalar,
    ScalarMap,
    Triple,
    add,
    combination,
    combined,
    cross_triples,
    is_zero,
    joined,
    matrix_product,
    matrix_sum,
    matrix_vector,
    minus,
    named,
    named_matrix,
    named_symmetric,
    plus,
    scaled,
    sum_of_products,
    times,
    transposed,
)
from armillary.model.description import Flexible
from armillary.model.flexible.deformation import Deformation, deformation, weighted_sum

if TYPE_CHECKING:
    from armillary.mechanics.tree.kinematics import Motion


# Inertia of mass points, and the change of a body's inertia when its point of reference moves.


def point_mass_inertia(mass: Scalar, r: Triple) -> Matrix:
    """m (r·r 1 − r rᵀ)."""
    return moment_inertia(scaled(r, times(mass, 0.5)), r) if not is_zero(mass) else ZERO_MATRIX


def moment_inertia(h: Triple, r: Triple) -> Matrix:
    """2 (r·h) 1 − (r hᵀ + h rᵀ): the change of inertia of a body with first moment h that is shifted by r."""
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            if i == j:
                a, b = (k for k in range(3) if k != i)
                row.append(times(2, plus(times(r[a], h[a]), times(r[b], h[b]))))
            else:
                row.append(minus(0, plus(times(r[i], h[j]), times(h[i], r[j]))))
        rows.append(joined(row))
    return joined(rows)


# The modes of a flexible link: their part of the link's inertia wrench, and the equations of the modes.
#
# Boltzmann and Hamel's equations for the kinetic energy in ``model/flexible/part.py`` are as follows in the
# link's axes. That file defines the integrals P, H, g and M, and ``deformation.py`` defines A.
#
#     f = m a + α × c + ω × (ω × c) + 2 ω × Pξ + Σ g_pq ξ_p ξ_q + P ξ̇
#     n = J α + ω × Jω + c × a + J̇ω + ω × Hξ + Ḣξ + H ξ̇
#     P_p·a + H_p·α + Σ M_pq ξ̇_q + 2 ω·Σ ξ_q A_qp − ½ ω·(∂J/∂η_p) ω + (Kη + Cξ)_p = applied

Wrench = tuple[Triple, Triple]


@dataclass(frozen=True, eq=False)
class LinkModes(Deformation):
    """Modes of a link: its deformation, and the modes' degrees of freedom."""

    freedoms: tuple[Freedom, ...] = ()

    def map(self, f: ScalarMap) -> LinkModes:
        """Return the modes with every scalar passed through a function."""
        return LinkModes(**self.fields(f), freedoms=tuple(d.map(f) for d in self.freedoms))

    @property
    def speeds(self) -> list[Scalar]:
        """The modal speeds ξ."""
        return [d.speed for d in self.freedoms]

    @property
    def known_rates(self) -> list[Scalar]:
        """The rates of prescribed modal speeds, the known parts of the rates of dependent ones, else 0."""
        return [0 if d.rate is None else d.rate for d in self.freedoms]


def link_modes(name: str, flex: Flexible, freedoms: tuple[Freedom, ...]) -> LinkModes:
    """Return the modes of a body's flexible part."""
    shape = deformation(name, flex.part, flex.coordinates, flex.speeds)
    return LinkModes(**shape.fields(lambda x: x), freedoms=freedoms)


def modal_wrench(modes: LinkModes, motion: Motion, name: str) -> Wrench:
    """Return the part of a link's inertia wrench (n, f) from modal speeds and known modal accelerations."""
    n, f = deformation_wrench(modes, modes.speeds, motion.w, name)
    return add(n, combined(modes.H, modes.known_rates)), add(f, combined(modes.P, modes.known_rates))


def deformation_wrench(shape: Deformation, xi: Sequence[Scalar], w: Triple, name: str) -> Wrench:
    """Return (J̇ω + ω × Hξ + Ḣξ, 2 ω × Pξ + Σ g ξξ), the inertia wrench due to constant modal speeds ξ."""
    drift = named(combined(shape.P, xi), f"Pxi_{name}")
    spin = named(combined(shape.H, xi), f"Hxi_{name}")
    growth = weighted_sum(shape.slopes, xi, f"Jd_{name}")
    f = add(scaled(cross_triples(w, drift), 2), shape.bending)
    return add(matrix_vector(growth, w), cross_triples(w, spin), shape.twisting), f


def modal_remainder(modes: LinkModes, motion: Motion, p: int) -> Scalar:
    """Return the part of mode p's equation that holds neither unknown accelerations nor applied forces."""
    ww, S = motion.products, modes.slopes[p]
    diagonal = sum_of_products((S[i][i], ww[i][i]) for i in range(3))
    rest = sum_of_products((S[i][j], ww[i][j]) for i in range(3) for j in range(i + 1, 3))
    value = sum_of_products(zip(modes.P[p], motion.a, strict=True))
    value = plus(value, sum_of_products(zip(modes.H[p], motion.alpha, strict=True)))
    value = plus(value, sum_of_products(zip(modes.coriolis[p], motion.w, strict=True)))
    value = minus(minus(value, times(0.5, diagonal)), rest)
    value = plus(value, combination(modes.M[p], modes.known_rates))
    return fn.named(plus(value, modes.restoring[p]), f"r_{modes.freedoms[p].index + 1}")


@dataclass(frozen=True, eq=False)
class NoRotation:
    """No rotation."""

    def to_parent(self, v: Triple) -> Triple:
        return v

    def to_child(self, v: Triple) -> Triple:
        return v

    def symmetric_to_parent(self, a: Matrix, name: str) -> Matrix:
        return a

    def general_to_parent(self, a: Matrix, name: str) -> Matrix:
        return a

    def map(self, f: ScalarMap) -> NoRotation:
        return self


@dataclass(frozen=True, eq=False)
class AxisRotation:
    """A turn about a coordinate axis (0, 1 or 2) by the angle with this cosine and sine."""

    axis: int
    cosine: Scalar
    sine: Scalar

    def to_parent(self, v: Triple) -> Triple:
        _, j, k = self._axes()
        out = list(v)
        out[j] = minus(times(self.cosine, v[j]), times(self.sine, v[k]))
        out[k] = plus(times(self.sine, v[j]), times(self.cosine, v[k]))
        return joined(out)

    def to_child(self, v: Triple) -> Triple:
        _, j, k = self._axes()
        out = list(v)
        out[j] = plus(times(self.cosine, v[j]), times(self.sine, v[k]))
        out[k] = minus(times(self.cosine, v[k]), times(self.sine, v[j]))
        return joined(out)

    def _axes(self) -> tuple[int, int, int]:
        return self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3

    def symmetric_to_parent(self, a: Matrix, name: str) -> Matrix:
        i, j, k = self._axes()
        column = self.to_parent(_triple_with(i, j, k, 0, a[j][i], a[k][i]))
        twice = fn.named(times(2, self.cosine), "two_cos")
        y = fn.named(plus(times(self.sine, minus(a[j][j], a[k][k])), times(twice, a[j][k])), f"{name}_y")
        sy = fn.named(times(self.sine, y), f"{name}_sy")
        out = [list(row) for row in a]
        out[j][j] = minus(a[j][j], sy)
        out[k][k] = plus(a[k][k], sy)
        out[j][k] = out[k][j] = minus(times(self.cosine, y), a[j][k])
        out[i][j] = out[j][i] = column[j]
        out[i][k] = out[k][i] = column[k]
        return named_symmetric(out, name)

    def general_to_parent(self, a: Matrix, name: str) -> Matrix:
        i, j, k = self._axes()
        p, q, r, t = a[j][j], a[j][k], a[k][j], a[k][k]
        y = fn.named(plus(times(self.sine, minus(p, t)), times(self.cosine, plus(q, r))), f"{name}_y")
        sy, cy = fn.named(times(self.sine, y), f"{name}_sy"), fn.named(times(self.cosine, y), f"{name}_cy")
        row = self.to_parent(_triple_with(i, j, k, 0, a[i][j], a[i][k]))
        column = self.to_parent(_triple_with(i, j, k, 0, a[j][i], a[k][i]))
        out = [list(x) for x in a]
        out[j][j], out[k][k] = minus(p, sy), plus(t, sy)
        out[j][k], out[k][j] = minus(cy, r), minus(cy, q)
        out[i][j], out[i][k] = row[j], row[k]
        out[j][i], out[k][i] = column[j], column[k]
        return named_matrix(out, name)

    def map(self, f: ScalarMap) -> AxisRotation:
        return AxisRotation(self.axis, f(self.cosine), f(self.sine))


@dataclass(frozen=True, eq=False)
class MatrixRotation:
    """A rotation by its full matrix."""

    matrix: Matrix

    def to_parent(self, v: Triple) -> Triple:
        return matrix_vector(self.matrix, v)

    def to_child(self, v: Triple) -> Triple:
        return matrix_vector(transposed(self.matrix), v)

    def symmetric_to_parent(self, a: Matrix, name: str) -> Matrix:
        half = named_matrix(matrix_product(self.matrix, a), f"{name}_half")
        return named_symmetric(matrix_product(half, transposed(self.matrix)), name)

    def general_to_parent(self, a: Matrix, name: str) -> Matrix:
        half = named_matrix(matrix_product(self.matrix, a), f"{name}_half")
        return named_matrix(matrix_product(half, transposed(self.matrix)), name)

    def map(self, f: ScalarMap) -> MatrixRotation:
        return MatrixRotation(joined(joined(f(x) for x in row) for row in self.matrix))


@dataclass(frozen=True, eq=False)
class RotationChain:
    """A constant rotation from the parent, then a turn: for a joint whose axis is no axis of its parent."""

    first: AxisRotation | MatrixRotation | RotationChain
    second: AxisRotation

    def to_parent(self, v: Triple) -> Triple:
        return self.first.to_parent(self.second.to_parent(v))

    def to_child(self, v: Triple) -> Triple:
        return self.second.to_child(_named_triple(self.first.to_child(v)))

    def symmetric_to_parent(self, a: Matrix, name: str) -> Matrix:
        return self.first.symmetric_to_parent(self.second.symmetric_to_parent(a, f"{name}_joint"), name)

    def general_to_parent(self, a: Matrix, name: str) -> Matrix:
        return self.first.general_to_parent(self.second.general_to_parent(a, f"{name}_joint"), name)

    def map(self, f: ScalarMap) -> RotationChain:
        return RotationChain(self.first.map(f), self.second.map(f))


Rotation = NoRotation | AxisRotation | MatrixRotation | RotationChain


def _named_triple(v: Triple) -> Triple:
    return joined(fn.named(x, "turned") for x in v)


def _triple_with(i: int, j: int, k: int, x: Scalar, y: Scalar, z: Scalar) -> Triple:
    out: list[Scalar] = [0, 0, 0]
    out[i], out[j], out[k] = x, y, z
    return joined(out)


SAME = NoRotation()
ANGULAR, LINEAR = 0, 3  # directions 0 to 2 turn about, 3 to 5 move along the link's x, y, z
MODAL = 6  # the "direction" of modes of flexible links


@dataclass(frozen=True, eq=False)
class Freedom:
    """One degree of freedom of a link: motion along ``sign`` times a coordinate direction of its axes.

    ``rate`` is the known rate of a prescribed speed, or the known part of a dependent speed's rate; `None` if
    the speed is free. ``armature`` is the inertia of the drive as seen at the joint: it adds armature · u̇ to
    the equation of this speed alone.
    """

    name: str
    direction: int
    sign: int
    speed: Scalar
    index: int  # index among the system's speeds
    rate: Scalar | None = None
    dependent: bool = False  # whether the speed follows from other speeds by constraints
    armature: Scalar = 0

    @property
    def prescribed(self) -> bool:
        """Whether the rate of the speed is known in full."""
        return self.rate is not None and not self.dependent

    @property
    def armature_effort(self) -> Scalar:
        """The effort that gives the armature its known rate, or the known part of its rate."""
        return 0 if self.rate is None else times(self.armature, self.rate)

    def map(self, f: ScalarMap) -> Freedom:
        """Return the freedom with every scalar passed through a function."""
        rate = None if self.rate is None else f(self.rate)
        return replace(self, speed=f(self.speed), rate=rate, armature=f(self.armature))


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid part and the step by which it moves relative to its parent link (−1: the ground).

    ``offset`` is the vector from the parent's origin to this link's origin, in the parent's axes. Mass m,
    first moment h and inertia J are about this link's origin, in its axes; for a flexible link they exclude
    deformation, which ``modes`` adds. A "flexed" link is moved by the modes of a flexible link, its
    ``carrier``. The carrier is the parent, or the link itself if the joint holds it at one of its own nodes.
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
    velocity: str = ""  # of a drift: "body" or "parent", the body in whose axes the linear speeds are
    velocity_axes: Rotation = SAME  # for "parent": from the parent body's axes to the parent link's axes
    modes: LinkModes | None = None
    carrier: int = -1
    columns: tuple[tuple[Triple, Triple], ...] = ()  # (θ, ψ) of each mode: velocities per unit of its speed
    bias: tuple[Triple, Triple] = (ZEROS, ZEROS)  # accelerations relative to the carrier at constant speeds

    @property
    def degrees(self) -> tuple[Freedom, ...]:
        """The joint's degrees of freedom, then the modes."""
        return self.freedoms if self.modes is None else (*self.freedoms, *self.modes.freedoms)

    @property
    def constant_rotation(self) -> Rotation:
        """The constant rotation to the parent's axes of vectors that the step does not rotate.

        For a slide or a weld these are all vectors, for a turn those along the axis.
        """
        if self.step in ("slide", "fixed"):
            return self.rotation
        return self.rotation.first if isinstance(self.rotation, RotationChain) else NoRotation()

    def with_degrees(self, change: Callable[[Freedom], Freedom]) -> Link:
        """Return the link with every degree of freedom passed through a function."""
        modes = self.modes
        if modes is not None:
            modes = replace(modes, freedoms=tuple(map(change, modes.freedoms)))
        return replace(self, freedoms=tuple(map(change, self.freedoms)), modes=modes)

    def map(self, f: ScalarMap) -> Link:
        """Return the same link with every scalar passed through a function."""
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
    """The placement of a body in its link: v_link = rotation v_body; ``origin`` is in the link's axes."""

    link: int
    rotation: Matrix
    origin: Triple

    def point(self, coordinates: Triple) -> Triple:
        """Return the vector from the link's origin to a point of the body, in the link's axes."""
        return add(self.origin, matrix_vector(self.rotation, coordinates))

    def turned_inertia(self, inertia: Matrix) -> Matrix:
        """Convert an inertia from the body's axes to the link's axes."""
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
        """Return the indices of a link, its parent and so on to the last link before the ground."""
        found = []
        while index >= 0:
            found.append(index)
            index = self.links[index].parent
        return found

    def with_degrees(self, change: Callable[[Freedom], Freedom]) -> Tree:
        """Return the tree with every degree of freedom passed through a function."""
        return replace(self, links=tuple(link.with_degrees(change) for link in self.links))

    def with_dependent_rates(self, rates: Mapping[int, Scalar]) -> Tree:
        """Return the tree with dependent speeds; ``rates`` has the known parts of their rates by index."""

        def dependent(d: Freedom) -> Freedom:
            return replace(d, rate=rates[d.index], dependent=True) if d.index in rates else d

        return self.with_degrees(dependent)

    def map(self, f: ScalarMap) -> Tree:
        """Return the tree with every scalar passed through a function."""
        placements = {
            name: Placement(p.link, MatrixRotation(p.rotation).map(f).matrix, joined(f(x) for x in p.origin))
            for name, p in self.placements.items()
        }
        return Tree(tuple(link.map(f) for link in self.links), joined(f(x) for x in self.gravity), placements)


def numeric(tree: Tree, values: dict[Expr | str, object]) -> Tree:
    """Return the tree with numbers or arrays in place of symbols, so that formalisms compute numbers."""
    found: list[Expr] = []

    def collect(x: Scalar) -> Scalar:
        if isinstance(x, Expr):
            found.append(x)
        return x

    tree.map(collect)
    table = dict(zip(found, evaluate_all(found, values), strict=True))
    return tree.map(lambda x: table[x] if isinstance(x, Expr) else x)


def with_inertia(link: Link, mass: Scalar, first: Triple, inertia: Matrix) -> Link:
    """Return the link with mass, first moment and inertia added."""
    return replace(
        link,
        mass=_settle_scalar(plus(link.mass, mass)),
        first=joined(_settle_scalar(x) for x in add(link.first, first)),
        inertia=MatrixRotation(matrix_sum(link.inertia, inertia)).map(_settle_scalar).matrix,
    )


def deformed_link(link: Link) -> Link:
    """Return a link in its present shape: with the first moment and inertia that its deformation adds."""
    modes = link.modes
    if modes is None:
        return link
    return replace(link, first=add(link.first, modes.first), inertia=matrix_sum(link.inertia, modes.inertia))


def _settle_scalar(x: Scalar) -> Scalar:
    return freeze_long_sum(x) if isinstance(x, Expr) else x
