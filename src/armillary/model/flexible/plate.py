"""Thin rectangular plates of uniform thickness after Kirchhoff, with modes by Ritz's method."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Annotated

import numpy as np

from armillary.algebra.arguments import records_arguments
from armillary.errors import ModelError, nearest
from armillary.model.flexible.part import (
    Array,
    FlexibleNode,
    FlexiblePart,
    lumped_mass,
    modal_integrals,
    settle,
)
from armillary.model.flexible.part_input import (
    Direction,
    how_many,
    local_axes,
    modal_damping,
    node_records,
    place_name,
    poisson,
    read_array,
    read_positive,
    station_names,
    turn_shapes,
)
from armillary.model.flexible.reduction import lowest_pairs
from armillary.model.reading.kinds import NUMBERS, Either, Number, TableOf, Words

# For each kind of edge x = 0: the power of x that satisfies its conditions, and the number of rigid motions
# (of three: one translation and two rotations) that it leaves free.
EDGES = {"clamped": (2, 0), "pinned": (1, 1), "free": (0, 3)}
# Most polynomials per direction: more do not increase accuracy in double precision.
_MOST = 24


@records_arguments
class Plate:
    """A thin rectangular plate with edges ``a`` along local x, from the held edge, and ``b`` along local y.

    Ritz's method finds the frequencies ω for which the difference of the two sides of

        ½ ∫ D [(w_xx + w_yy)² − 2(1−ν)(w_xx w_yy − w_xy²)] = ½ ω² ∫ ρh w²,     D = Eh³ / 12(1−ν²)

    is stationary over deflections w = Σ c_ij x^h P_i(x) P_j(y) with Legendre polynomials P. So frequencies
    are upper bounds (Leissa 1969, sect. 1.1 and 4). Products of beam functions would satisfy the conditions
    at free edges less well: for a square cantilever 36 of them give the lowest ω a² √(ρh/D) as 3.492, while
    the limit is 3.471.

    Local x is ``along``, local y is the part of ``across`` perpendicular to x, and the normal is z = x × y.
    Without ``across``, local y is the first of the body's axes y, z, x that is not nearly along local x. So a
    plate along y has the normal x; with ``across="x"`` its normal is −z.

    ``origin`` is the middle of the edge x = 0. ``root`` states whether this edge is "clamped", "pinned" or
    "free"; the other edges are free. In-plane motion and rotary inertia are neglected. ``stations`` names
    further nodes at places (x, y), with y measured from the middle. The nodes "root" and "tip", in the middle
    of the edges x = 0 and x = a, and "corner1" to "corner4", in turn from (0, −b/2) via (a, −b/2), always
    exist.
    """

    def __init__(
        self,
        a: Number,
        b: Number,
        thickness: Number,
        *,
        E: Number,
        nu: Number,
        density: Number,
        root: Words = "clamped",
        stations: Annotated[object, Either((NUMBERS, TableOf(NUMBERS, keys=False)))] = (),
        origin: Annotated[object, NUMBERS] = (0.0, 0.0, 0.0),
        along: Direction = "x",
        across: Direction = None,
    ) -> None:
        where = "Plate"
        self.a, self.b = read_positive(a, where, "a"), read_positive(b, where, "b")
        height = read_positive(thickness, where, "thickness")
        self.nu = poisson(nu, where)
        self.rigidity = read_positive(E, where, "E") * height**3 / (12 * (1 - self.nu**2))
        self.mass_per_area = read_positive(density, where, "density") * height
        if root not in EDGES:
            raise ModelError(
                f"{where}: root={root!r} is not one of {', '.join(EDGES)}{nearest(str(root), EDGES)}"
            )
        self.root = root
        self.axes = local_axes(along, across, where)
        self.origin = read_array(origin, where, "origin", (3,))
        half = self.b / 2
        corners = [(0.0, -half), (self.a, -half), (self.a, half), (0.0, half)]
        own = {"root": (0.0, 0.0), "tip": (self.a, 0.0)}
        own |= {f"corner{i}": corner for i, corner in enumerate(corners, 1)}
        more = station_names(stations, own, where)
        self.stations = own | {
            name: self._station(xy, f"{where}: station '{name}'") for name, xy in more.items()
        }

    def _station(self, place: object, where: str) -> tuple[float, float]:
        x, y = read_array(place, where, "its place (x, y)", (2,)) + 0.0  # no −0
        if not (0 <= x <= self.a and abs(y) <= self.b / 2):
            raise ModelError(
                f"{where}: ({x:g}, {y:g}) lies outside the plate, 0 to {self.a:g} and ±{self.b / 2:g}"
            )
        return float(x), float(y)

    def _factors(self, count: int, x: Array, y: Array) -> tuple[Array, Array]:
        """Return the factors x^h P_i(x) and P_j(y) at places, each with its first two derivatives.

        Both arrays are 3 × places × count.
        """
        factors = []
        held = EDGES[self.root][0]
        for places, length, middle, power in ((x, self.a, 0.5, held), (y, self.b, 0.0, 0)):
            scaled = np.asarray(places, dtype=float) / length  # 0 to 1 along, −½ to ½ across
            edge = _powers(scaled, power)
            own = _legendre(2 * (scaled - middle), count)
            table = np.empty((3, len(scaled), count))
            table[0] = edge[0] * own[0]
            table[1] = (edge[1] * own[0] + edge[0] * own[1]) / length
            table[2] = (edge[2] * own[0] + 2 * edge[1] * own[1] + edge[0] * own[2]) / length**2
            factors.append(table)
        return factors[0], factors[1]

    def _ritz(self, modes: int) -> tuple[int, Array, Array]:
        """Return the number of polynomials per direction, and ω² and coefficients of the lowest elastic
        modes.
        """
        rigid = EDGES[self.root][1]
        longest = max(self.a, self.b) / min(self.a, self.b)
        count = min(_MOST, 12 + int(np.ceil(np.sqrt(modes * min(longest, 4.0)))))
        (x, weights_x), (y, weights_y) = self._gauss(count + 3)
        along, across = self._factors(count, x, y)
        products_x = np.einsum("g,dgi,egj->deij", weights_x, along, along)
        products_y = np.einsum("g,dgi,egj->deij", weights_y, across, across)

        def both(d: int, e: int, f: int, g: int) -> Array:
            """Return ∫∫ X_i^(d) X_j^(e) Y_k^(f) Y_l^(g), with rows ik and columns jl."""
            return np.kron(products_x[d, e], products_y[f, g])

        twist = self.nu * (both(2, 0, 0, 2) + both(0, 2, 2, 0)) + 2 * (1 - self.nu) * both(1, 1, 1, 1)
        stiffness = self.rigidity * (both(2, 2, 0, 0) + both(0, 0, 2, 2) + twist)
        mass = self.mass_per_area * both(0, 0, 0, 0)
        squares, vectors = lowest_pairs(mass, stiffness, modes + rigid)
        return count, squares[rigid:], vectors[:, rigid:]

    def _gauss(self, count: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        points, weights = np.polynomial.legendre.leggauss(count)
        return (0.5 * self.a * (1 + points), 0.5 * self.a * weights), (
            0.5 * self.b * points,
            0.5 * self.b * weights,
        )

    def flexible_part(
        self,
        where: str,
        *,
        modes: int,
        damping: object = None,
        damping_matrix: object = None,
        second_order: bool = True,
    ) -> FlexiblePart:
        """Return the lowest modes of bending as a flexible part."""
        modes = how_many(modes, where)
        if modes > _MOST**2 // 6:
            raise ModelError(
                f"{where}: {modes} modes requested, but {_MOST} polynomials per direction represent only "
                f"{_MOST**2 // 6} accurately; use finite-element matrices for more"
            )
        count, squares, coefficients = self._ritz(modes)
        (x, weights_x), (y, weights_y) = self._gauss(count + 3)
        grid_x, grid_y = (g.ravel() for g in np.meshgrid(x, y, indexing="ij"))
        masses = self.mass_per_area * np.outer(weights_x, weights_y).ravel()
        largest = self._shapes(count, coefficients, np.array([self.a]), np.array([self.b / 2]), np.eye(3))[
            0, 2
        ]
        coefficients = coefficients * np.where(largest < 0, -1.0, 1.0)  # corner3 moves along the normal
        integrals = modal_integrals(
            lumped_mass(masses, np.zeros((len(masses), 3, 3))),
            self._positions(grid_x, grid_y),
            self._shapes(count, coefficients, grid_x, grid_y),
            second_order=second_order,
        )
        K = np.diag(np.diag(integrals["M"]) * squares)

        def nodes(names: list[str], places: Array) -> dict[str, FlexibleNode]:
            shapes = self._shapes(count, coefficients, places[:, 0], places[:, 1])
            return node_records(names, self._positions(*places.T), shapes)

        def anywhere(place: object) -> FlexibleNode:
            at = self._station(place, f"node at {place!r}")
            name = place_name(*at)
            return replace(nodes([name], np.array([at]))[name], place=at)

        part = FlexiblePart(
            **integrals,
            K=K,
            C=modal_damping(integrals["M"], K, where, damping=damping, damping_matrix=damping_matrix),
            nodes=nodes(list(self.stations), np.array(list(self.stations.values()))),
            anywhere=anywhere,
        )
        return settle(part)

    def _positions(self, x: Array, y: Array) -> Array:
        return self.origin + np.outer(x, self.axes[:, 0]) + np.outer(y, self.axes[:, 1])

    def _shapes(
        self, count: int, coefficients: Array, x: Array, y: Array, axes: Array | None = None
    ) -> Array:
        """Return the shapes n × 6 × N at places (x, y): deflections w along z, rotations (w_y, −w_x, 0)."""
        along, across = self._factors(count, x, y)

        def field(d: int, e: int) -> Array:
            found: Array = np.einsum("gi,gj->gij", along[d], across[e]).reshape(len(x), -1) @ coefficients
            return found

        local = np.zeros((len(x), 6, coefficients.shape[1]))
        local[:, 2], local[:, 3], local[:, 4] = field(0, 0), field(0, 1), -field(1, 0)
        return turn_shapes(self.axes if axes is None else axes, local)


def _powers(x: Array, power: int) -> list[Array]:
    """Return x to the given power, and the first two derivatives of this, as columns."""
    first = power * x ** max(power - 1, 0)
    second = power * (power - 1) * x ** max(power - 2, 0)
    return [each[:, None] for each in (x**power, first, second)]


def _legendre(z: Array, count: int) -> list[Array]:
    """Return the first ``count`` Legendre polynomials of z, and their first two derivatives by z/2; each
    array is places × count.
    """
    values = np.polynomial.legendre.legvander(z, count - 1)
    return [values, *(2.0**n * values[:, : len(d)] @ d for n, d in enumerate(_derivatives(count), 1))]


@cache
def _derivatives(count: int) -> list[Array]:
    """Return coefficients of the first two derivatives of the first ``count`` Legendre polynomials.

    They are cached, since computing them would take half of the time in which a node is made.
    """
    return [np.polynomial.legendre.legder(np.eye(count), order) for order in (1, 2)]
