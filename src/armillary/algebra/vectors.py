"""Vectors and dyadics without a chosen frame: sums of scalars times unit vectors of any frames.

A vector keeps each term in the frame where it was formed. Dot and cross products use only the rotations
between the frames of a pair of terms, along the tree of frames, so trigonometric simplification is hardly
ever needed (Sayers 1990, section 5.3). Direction cosines computed on the way are kept. Coefficients may be
expressions, numbers or arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, NoReturn, Self

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr, symbol, total
from armillary.algebra.triples import (
    AXES,
    IDENTITY,
    Matrix,
    Scalar,
    Triple,
    cross_triples,
    is_zero,
    joined,
    matrix_product,
    matrix_vector,
    plus,
    product,
    sum_of_products,
    transposed,
)
from armillary.errors import ExpressionError, shown

# If more than this number of frames lie between two frames, or a dot product has more terms, other algorithms
# are used, whose cost is linear in the length of a chain.
_FAR = 16


_OF_SYSTEM = (
    "it belongs to its system in this process; pickle the system instead, and make it again from the copy"
)


class Frame:
    """Three unit vectors x, y, z, turning in a parent frame.

    ``rotation`` R_PF transforms components: v_P = R_PF v_F. ``rate`` is the angular velocity of this frame in
    its parent. The constructor takes ``rate`` as a function of the frame, since the rate may be simplest in
    the frame's own axes.
    """

    __slots__ = ("__weakref__", "_cosines", "depth", "name", "parent", "rate", "rotation", "x", "y", "z")

    def __init__(
        self,
        name: str,
        parent: Frame | None = None,
        rotation: Matrix = IDENTITY,
        rate: Callable[[Frame], Vector] | None = None,
    ) -> None:
        self.name = name
        self.parent = parent
        self.rotation = rotation
        self.depth: int = 0 if parent is None else parent.depth + 1
        self._cosines: dict[Frame, Matrix] = {}
        self.x, self.y, self.z = (Vector({(self, i): 1}) for i in range(3))
        self.rate: Vector = rate(self) if rate else Vector({})

    @property
    def axes(self) -> tuple[Vector, Vector, Vector]:
        """The three unit vectors."""
        return self.x, self.y, self.z

    def vector(self, components: Sequence[Scalar]) -> Vector:
        """Return the vector with these components along x, y, z."""
        return Vector({(self, i): c for i, c in enumerate(components)})

    def __repr__(self) -> str:
        return f"Frame({self.name!r})"

    def __reduce__(self) -> NoReturn:
        raise ExpressionError(f"{self!r} cannot be pickled: {_OF_SYSTEM}")


def ancestors(frame: Frame) -> Iterator[Frame]:
    """Yield the frame, its parent, and so on to the root."""
    walker: Frame | None = frame
    while walker is not None:
        yield walker
        walker = walker.parent


def path(a: Frame, b: Frame) -> list[Frame]:
    """Return the frames from a to b through their nearest common ancestor, both ends included."""
    above_a = list(ancestors(a))
    index = {frame: i for i, frame in enumerate(above_a)}
    down: list[Frame] = []
    for frame in ancestors(b):
        if frame in index:
            return above_a[: index[frame] + 1] + down[::-1]
        down.append(frame)
    raise ExpressionError(f"frames '{a.name}' and '{b.name}' belong to different systems")


def direction_cosines(a: Frame, b: Frame) -> Matrix:
    """R_AB, with v_A = R_AB v_B; the matrices for all frames between a and b are kept."""
    known = a._cosines.get(b)
    if known is not None:
        return known
    if a.depth - b.depth > _FAR:
        # Start from the frame nearer to the root, so that all frames of a long chain share kept matrices.
        direction_cosines(b, a)
        return a._cosines[b]
    result = IDENTITY
    route = path(a, b)
    for here, there in pairwise(route):
        step = a._cosines.get(there)
        if step is None:
            turn = there.rotation if there.parent is here else transposed(here.rotation)
            step = turn if here is a else matrix_product(result, turn, f"R_{a.name}_{there.name}")
            a._cosines[there] = step
            there._cosines[a] = transposed(step)
        result = step
    return result


class Combination:
    """Σ c·e over keys e, which are unit vectors or pairs of unit vectors. Immutable."""

    __slots__ = ("__weakref__", "terms")
    __array_ufunc__ = None

    def __init__(self, terms: dict[Any, Scalar]) -> None:  # the type of keys depends on the subclass
        self.terms = {key: c for key, c in terms.items() if not is_zero(c)}

    def __add__(self, other: object) -> Self:
        if isinstance(other, int | float) and other == 0:  # so that sum(vectors) works
            return self
        if type(other) is not type(self):
            return NotImplemented
        terms = dict(self.terms)
        for key, c in other.terms.items():
            terms[key] = plus(terms[key], c) if key in terms else c
        return type(self)(terms)

    __radd__ = __add__

    def __neg__(self) -> Self:
        return self.map(lambda c: -c)

    def __sub__(self, other: object) -> Self:
        return self + (-other) if type(other) is type(self) else NotImplemented

    def __mul__(self, scalar: Scalar) -> Self:
        return NotImplemented if isinstance(scalar, Combination) else self.map(lambda c: product(c, scalar))

    __rmul__ = __mul__

    def __truediv__(self, scalar: Scalar) -> Self:
        found: Self = self * (1 / scalar)
        return found

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise ExpressionError(f"the {type(self).__name__.lower()} '{self}' cannot be pickled: {_OF_SYSTEM}")

    def map(self, function: Callable[[Scalar], Scalar]) -> Self:
        """Apply a function to every coefficient."""
        return type(self)({key: function(c) for key, c in self.terms.items()})


class Vector(Combination):
    """Σ c·e over unit vectors e of any frames, by (frame, axis number)."""

    __slots__ = ()
    terms: dict[tuple[Frame, int], Scalar]

    def by_frame(self) -> dict[Frame, Triple]:
        """Return the components, grouped by frame."""
        grouped: dict[Frame, list[Scalar]] = {}
        for (frame, i), c in self.terms.items():
            grouped.setdefault(frame, [0, 0, 0])[i] = c
        return {frame: joined(c) for frame, c in grouped.items()}

    def components(self, frame: Frame) -> Triple:
        """Return the components along the axes of one frame."""
        result: Sequence[Scalar] = (0, 0, 0)
        for own, triple in self.by_frame().items():
            turned = triple if own is frame else matrix_vector(direction_cosines(frame, own), triple)
            result = [plus(a, b) for a, b in zip(result, turned, strict=True)]
        return joined(result)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        shown = []
        for (frame, i), c in self.terms.items():
            axis = f"{frame.name}.{AXES[i]}"
            shown.append(axis if not isinstance(c, Expr) and c == 1 else f"({c})*{axis}")
        return " + ".join(shown)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """MathML: each unit vector by its letter, with the name of its frame above it."""
        if not all(isinstance(c, Expr | int | float) for c in self.terms.values()):
            return None
        pairs = [(c, symbol(f"{frame.name}.{AXES[i]}")) for (frame, i), c in self.terms.items()]
        return total([(1, as_expr(c) * axis) for c, axis in pairs])._repr_html_()


class Dyadic(Combination):
    """Σ c·e₁e₂ over pairs of unit vectors: an inertia, or a projection."""

    __slots__ = ()
    terms: dict[tuple[tuple[Frame, int], tuple[Frame, int]], Scalar]

    def __str__(self) -> str:
        pieces = [
            f"({c})*{a.name}.{AXES[i]}*{b.name}.{AXES[j]}" for ((a, i), (b, j)), c in self.terms.items()
        ]
        return " + ".join(pieces) or "0"

    __repr__ = __str__


def outer(a: Vector, b: Vector) -> Dyadic:
    """Return the dyadic a b."""
    for given in (a, b):
        if not isinstance(given, Vector):
            raise ExpressionError(f"outer() needs two vectors, not {shown(given)}")
    return Dyadic({(k1, k2): product(c1, c2) for k1, c1 in a.terms.items() for k2, c2 in b.terms.items()})


def dot(a: object, b: object) -> fn.Operand:
    """Return the dot product of two vectors (a scalar), of a vector and a dyadic (a vector), or of two
    dyadics (a dyadic).
    """
    if isinstance(a, Vector) and isinstance(b, Vector):
        return _dot_vectors(a, b)
    if isinstance(a, Dyadic) and isinstance(b, Vector):
        return _gather((k1, product(c, _dot_vectors(Vector({k2: 1}), b))) for (k1, k2), c in a.terms.items())
    if isinstance(a, Vector) and isinstance(b, Dyadic):
        return _gather((k2, product(c, _dot_vectors(a, Vector({k1: 1})))) for (k1, k2), c in b.terms.items())
    if isinstance(a, Dyadic) and isinstance(b, Dyadic):
        result = Dyadic({})
        for (k1, k2), c in a.terms.items():
            for (k3, k4), d in b.terms.items():
                cosine = _dot_vectors(Vector({k2: 1}), Vector({k3: 1}))
                result = result + Dyadic({(k1, k4): c * d * cosine})
        return result
    raise ExpressionError(f"dot needs vectors or dyadics, not {type(a).__name__} and {type(b).__name__}")


def _gather(terms: Iterable[tuple[tuple[Frame, int], Scalar]]) -> Vector:
    result: dict[tuple[Frame, int], Scalar] = {}
    for key, c in terms:
        result[key] = plus(result[key], c) if key in result else c
    return Vector(result)


def _dot_vectors(a: Vector, b: Vector) -> Scalar:
    products: list[Scalar] = []
    for frame_a, u in a.by_frame().items():
        for frame_b, v in b.by_frame().items():
            turned = v if frame_a is frame_b else matrix_vector(direction_cosines(frame_a, frame_b), v)
            products.append(sum_of_products(zip(u, turned, strict=True)))
    if len(products) > _FAR and all(isinstance(x, Expr) or is_zero(x) for x in products):
        return total(
            [(1, as_expr(x)) for x in products if not is_zero(x)]
        )  # adding one by one would copy the sum each time
    start: Scalar = 0
    return reduce(plus, products, start)


def cross(a: Vector, b: Vector) -> Vector:
    """Return the cross product, formed in the deeper frame of each pair (Sayers 1990, eq. 5.3.1)."""
    if not isinstance(a, Vector) or not isinstance(b, Vector):
        raise ExpressionError(f"cross needs two vectors, not {type(a).__name__} and {type(b).__name__}")
    result = Vector({})
    for frame_a, u in a.by_frame().items():
        for frame_b, v in b.by_frame().items():
            if frame_b.depth >= frame_a.depth:
                frame, left, right = frame_b, Vector(frame_a.vector(u).terms).components(frame_b), v
            else:
                frame, left, right = frame_a, u, frame_b.vector(v).components(frame_a)
            result = result + frame.vector(cross_triples(left, right))
    return result


def magnitude(a: Vector) -> fn.Operand:
    """Return the length of the vector.

    If terms in several frames nearly cancel, half of the digits are lost. The root of the sum of squared
    components in one frame is more accurate then.
    """
    _check_vector(a, "magnitude")
    # With terms in several frames, the square is a sum of products that rounding may leave below zero.
    several = len({frame for frame, _ in a.terms}) > 1
    return fn.sqrt(fn.maximum(dot(a, a), 0)) if several else length(a)


def _check_vector(value: object, verb: str) -> None:
    if not isinstance(value, Vector):
        raise ExpressionError(f"{verb}: {shown(value)} is not a vector, such as body.x or position(point)")


def length(a: Vector) -> fn.Operand:
    """Return the length of a vector that never vanishes."""
    return fn.sqrt(dot(a, a))


def direction(a: Vector) -> Vector:
    """Return the unit vector along the vector."""
    _check_vector(a, "direction")
    if not a.terms:
        raise ExpressionError("the zero vector has no direction")
    found: Vector = a / length(a)
    return found


def project(a: Vector, normal: Vector) -> Vector:
    """Return the part of a vector in the plane with this normal (Sayers 1990, ``dot-plane``, eq. 5.3.8)."""
    _check_vector(a, "project")
    n = direction(normal)
    found: Vector = a - n * dot(a, n)
    return found


def angle(a: Vector, b: Vector, about: Vector | None = None) -> fn.Operand:
    """Return the angle from a to b, from 0 to π; if ``about`` is given, signed by the right-hand rule about
    it.

        θ = atan2(|a × b|, a·b) · sign(about·(a × b))            Sayers 1990, eqs. 5.3.3 to 5.3.5

    If a × b is parallel to ``about`` in every position, the formula is θ = atan2((a × b)·n, a·b) with n along
    ``about``. It has no kink at zero. The angle of a hinge then simplifies to the coordinate of the hinge,
    which does not jump by 2π.
    """
    normal = cross(a, b)
    cosine = dot(a, b)
    if about is None:
        return fn.atan2(magnitude(normal), cosine)
    if not cross(normal, about).terms:
        sine = dot(normal, direction(about))
        return _angle_from_sine_cosine(sine, cosine)
    return fn.atan2(magnitude(normal), cosine) * fn.sign(dot(about, normal))


def _angle_from_sine_cosine(sine: object, cosine: object) -> fn.Operand:
    if isinstance(sine, Expr) and isinstance(cosine, Expr) and cosine.kind == "call" and cosine.data == "cos":
        argument = cosine.args[0]
        for candidate in (argument, -argument):
            if fn.sin(candidate) is sine:
                return candidate
    return fn.atan2(sine, cosine)
