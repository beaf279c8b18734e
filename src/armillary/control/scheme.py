"""Collocation on a mesh: nodes, integration matrices, and the defects of states as one sparse product.

On each interval of length h the rates are a polynomial through their values f_j at the nodes c, and the
states its integral:

    x_i = x_0 + h Σ a_ij f_j,   a_ij = ∫₀^c_i ℓ_j(ξ) dξ,   ℓ_j: the Lagrange polynomials of the nodes

"hermite-simpson" has the nodes 0, ½, 1 (Lobatto IIIA, order 4: its two conditions are the Hermite mid-point
and Simpson's rule); "radau" has the three Radau points (order 5), with none at the beginning.

Sources: Hargraves and Paris (1987), Direct trajectory optimization using nonlinear programming and
collocation, Journal of Guidance 10, 338–342; Hairer and Wanner, Solving ODEs II, section IV.5; Betts,
Practical Methods for Optimal Control (2010), chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

SCHEMES = {  # nodes of an interval, power of its length with which the estimate of its error falls
    "hermite-simpson": (np.array([0.0, 0.5, 1.0]), 4),
    "radau": (np.array([(4 - np.sqrt(6)) / 10, (4 + np.sqrt(6)) / 10, 1.0]), 4),
    "multiple shooting": (np.array([0.0, 1.0]), 5),  # nodes of the inputs; RK4 integrates the states
}


def integrals(nodes: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return ∫₀^end ℓ_j for each end and node."""
    return _coefficients(nodes, ends, integrate=True)


def interpolation(nodes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return ℓ_j at each place, for each node."""
    return _coefficients(nodes, places, integrate=False)


def _coefficients(nodes: np.ndarray, places: np.ndarray, integrate: bool) -> np.ndarray:
    powers = np.arange(len(nodes))
    inverse = _polynomials(tuple(nodes.tolist()))
    values = places[:, None] ** (powers + 1) / (powers + 1) if integrate else places[:, None] ** powers
    found: np.ndarray = values @ inverse
    return found


@cache
def _polynomials(nodes: tuple[float, ...]) -> np.ndarray:
    """Return the coefficients of all ℓ_j: a row per power, a column per j."""
    return np.linalg.inv(np.vander(nodes, increasing=True).astype(float))


@dataclass(frozen=True, eq=False)
class Mesh:
    """Points in [0, 1] at which states and inputs are unknowns: ends of intervals and nodes inside.

    The collocation conditions are E X − T W F = 0, with the states X and rates F at all points, the duration
    T, and sparse matrices E (``differences``) and W (``rates``). The matrices have a row for each condition
    and a column for each point.
    """

    method: str
    ends: np.ndarray  # of intervals, from 0 to 1

    @property
    def nodes(self) -> np.ndarray:
        """The nodes of one interval at which rates are evaluated."""
        return SCHEMES[self.method][0]

    @property
    def error_power(self) -> int:
        """The power of an interval's length with which the estimate of its error falls.

        Rates at three nodes are interpolated with an error of third order, which is then integrated.
        """
        return SCHEMES[self.method][1]

    @property
    def intervals(self) -> int:
        """The number of intervals."""
        return len(self.ends) - 1

    @cached_property
    def own(self) -> np.ndarray:
        """The nodes of an interval that belong to no interval before: all but its beginning."""
        return self.nodes[self.nodes > 0]

    @cached_property
    def points(self) -> np.ndarray:
        """All points, in increasing order."""
        inside = self.ends[:-1, None] + np.diff(self.ends)[:, None] * self.own
        inside[:, -1] = self.ends[1:]
        return np.append(0.0, inside.ravel())

    @cached_property
    def starts(self) -> np.ndarray:
        """Indices of the points at which intervals begin."""
        return np.arange(self.intervals) * len(self.own)

    @cached_property
    def collocated(self) -> np.ndarray:
        """Indices of the points whose rates an interval uses, a row for each interval."""
        first = self.starts[:, None]
        inner = first + 1 + np.arange(len(self.own))
        return np.hstack([first, inner]) if self.nodes[0] == 0 else inner

    @cached_property
    def weights(self) -> np.ndarray:
        """Quadrature weights: Σ weight · value is the integral over [0, 1]."""
        share = integrals(self.nodes, np.array([1.0]))[0]
        found = np.zeros(len(self.points))
        np.add.at(found, self.collocated, np.diff(self.ends)[:, None] * share)
        return found

    @cached_property
    def differences(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E as rows, columns and values: each point of ``own`` minus the beginning of its interval."""
        rows = np.arange(self.intervals * len(self.own))
        begin = np.repeat(self.starts, len(self.own))
        ones = np.ones(len(rows))
        return np.concatenate([rows, rows]), np.concatenate([rows + 1, begin]), np.concatenate([ones, -ones])

    @cached_property
    def rates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """W as rows, columns and values."""
        a = integrals(self.nodes, self.own)
        s, r = a.shape
        h = np.diff(self.ends)[:, None, None]
        rows = np.arange(self.intervals * s).reshape(-1, s, 1)
        shape = (self.intervals, s, r)
        values = np.broadcast_to(h * a, shape)
        columns = np.broadcast_to(self.collocated[:, None, :], shape)
        return np.broadcast_to(rows, shape).ravel(), columns.ravel(), values.ravel()

    @cached_property
    def first_input(self) -> np.ndarray | None:
        """Weights that extrapolate the first interval's inputs to the beginning.

        `None` if the beginning is a node, so that its input is an unknown.
        """
        return None if self.nodes[0] == 0 else interpolation(self.nodes, np.array([0.0]))[0]

    def states_between(self, x: np.ndarray, f: np.ndarray, T: float, places: np.ndarray) -> np.ndarray:
        """Return states at places in [0, 1] of each interval: intervals × places × states."""
        h = T * np.diff(self.ends)[:, None, None]
        found: np.ndarray = x[self.starts][:, None, :] + h * (
            integrals(self.nodes, places) @ f[self.collocated]
        )
        return found

    def inputs_between(self, v: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return inputs at places in [0, 1] of each interval: intervals × places × inputs."""
        found: np.ndarray = interpolation(self.nodes, places) @ v[self.collocated]
        return found

    def refine(self, parts: np.ndarray) -> Mesh:
        """Return the mesh with interval i divided into ``parts[i]`` equal parts."""
        cuts = [
            np.linspace(a, b, int(n) + 1)[:-1]
            for a, b, n in zip(self.ends[:-1], self.ends[1:], parts, strict=True)
        ]
        return type(self)(self.method, np.append(np.concatenate(cuts), 1.0))

    def locate(self, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the interval of each time in [0, 1], and its place in [0, 1] of the interval."""
        e = np.clip(np.searchsorted(self.ends, tau, side="right") - 1, 0, self.intervals - 1)
        return e, (tau - self.ends[e]) / np.diff(self.ends)[e]
