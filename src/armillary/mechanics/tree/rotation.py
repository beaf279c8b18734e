"""Rotations between a link and its parent, applied to vectors and matrices.

Convention: v_parent = R v_child. A turn about a coordinate axis is never multiplied out as a 3×3 matrix: with
j, k the other two axes, a symmetric 2×2 block [a h; h b] turns by

    y = s (a − b) + 2c h        a' = a − s y        b' = b + s y        h' = c y − h

in 4 products and 5 sums (2c is shared), a general one [p q; r t] by

    y = s (p − t) + c (q + r)   p' = p − s y        t' = t + s y        q' = c y − r       r' = c y − q

These are the identities of the double angle, arranged so that nothing is squared. They carry most of what the
recursions save.
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.triples import (
    Matrix,
    Scalar,
    ScalarMap,
    Triple,
    joined,
    matrix_product,
    matrix_vector,
    minus,
    named_matrix,
    named_symmetric,
    plus,
    times,
    transposed,
)


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
    """A turn about coordinate axis ``axis`` by the angle with this cosine and sine."""

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
    """A constant rotation (parent side) followed by another one: axes that are not the parent's own."""

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
