"""The embedded solver on small programs with known solutions, and its restoration."""

from types import SimpleNamespace

import numpy as np
import pytest

from armillary.control.elastic_program import ElasticProgram
from armillary.control.interior_point import InteriorPoint
from armillary.control.nonlinear_program import Limits
from armillary.control.scaled_program import ScaledProgram
from armillary.control.symmetric_factors import Inertia


class JammingProgram:
    """min x₁ subject to x₁² − x₂ − 1 = 0, x₁ − x₃ − ½ = 0, x₂, x₃ ≥ 0.

    Wächter and Biegler (2000), Failure of global convergence for a class of interior point methods for
    nonlinear programming, Mathematical Programming 88: from a negative x₁ no Newton step of an interior
    point, however short, leads to the solution (1, 0, ½).
    """

    size, rows = 3, 2
    jacobian_places = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 2])
    hessian_places = np.array([0]), np.array([0])
    sequence = np.zeros(3, int), np.zeros(2, int)

    def objective(self, z):
        return float(z[0])

    def gradient(self, z):
        return np.array([1.0, 0.0, 0.0])

    def constraints(self, z):
        return np.array([z[0] ** 2 - z[1] - 1.0, z[0] - z[2] - 0.5])

    def jacobian(self, z):
        return np.array([2 * z[0], -1.0, 1.0, -1.0])

    def hessian(self, z, y, cost=1.0):
        return np.array([2 * y[0]])


def scaled_program(start):
    limits = Limits(np.array([-np.inf, 0.0, 0.0]), np.full(3, np.inf), np.zeros(2), np.zeros(2))  # equations
    return ScaledProgram(JammingProgram(), limits, np.ones(3), start)


@pytest.mark.parametrize("start", [(-2.0, 3.0, 1.0), (-4.0, 1.0, 1.0), (-0.5, 2.0, 2.0)])
def test_the_restoration_leads_out_of_a_corner_in_which_newton_steps_jam(start, monkeypatch):
    restored = []
    plain = InteriorPoint._restore
    monkeypatch.setattr(InteriorPoint, "_restore", lambda self: restored.append(self) or plain(self))
    found = InteriorPoint(scaled_program(np.array(start)), 1e-8, 200, 0.1).solve(np.array(start))
    assert found.status == "solved" and restored
    assert np.allclose(found.z, [1.0, 0.0, 0.5], atol=1e-6)


def test_rows_that_nothing_can_meet_are_violated_least():
    """x₁² − x₂ − 1 = −5 besides x₁ ≥ ½ + x₃: with x₂ at most 1, the least sum of violations is at x₁ = ½."""
    program = JammingProgram()
    limits = Limits(
        np.array([-np.inf, 0.0, 0.0]),
        np.array([np.inf, 1.0, 9.0]),
        np.array([-5.0, 0.0]),
        np.array([-5.0, 0.0]),
    )
    start = np.array([2.0, 0.5, 1.0])
    found = InteriorPoint(ScaledProgram(program, limits, np.ones(3), start), 1e-8, 200, 0.1).solve(start)
    assert found.status == "infeasible"
    assert found.violation == pytest.approx(3.0, abs=0.3)


def test_the_elimination_of_elastic_variables_solves_the_whole_matrix():
    rng = np.random.default_rng(3)
    n, m = 4, 2
    J, H, factors = rng.normal(size=(m, n)), np.diag(rng.uniform(1, 2, n)), {}

    class Whole:
        size, rows, free, slacked = n, m, np.arange(n), np.zeros(0, int)
        jacobian_rows, jacobian_columns = np.repeat(np.arange(m), n), np.tile(np.arange(n), m)
        low, high = np.full(n, -np.inf), np.full(n, np.inf)

        def factor(self, jacobian, hessian, diagonal, dual):
            own = jacobian.reshape(m, n)
            factors["matrix"] = np.block([[H + np.diag(diagonal), own.T], [own, -np.diag(dual)]])
            return Inertia(n, m, 0)

        def solve(self, right):
            return np.linalg.solve(factors["matrix"], right)

    program = ElasticProgram(Whole(), np.zeros(n), 0.04)
    diagonal, right = rng.uniform(1, 2, n + 2 * m), rng.normal(size=n + 3 * m)
    signs = np.concatenate([-np.ones(m), np.ones(m)])
    inertia = program.factor(np.concatenate([J.ravel(), signs]), np.zeros(0), diagonal, 1e-3)
    all_rows = np.hstack([J, -np.eye(m), np.eye(m)])
    curved = np.diag(diagonal)
    curved[:n, :n] += H + 0.2 * np.eye(n)  # ζ = √μ
    matrix = np.block([[curved, all_rows.T], [all_rows, -1e-3 * np.eye(m)]])
    sizes = np.linalg.eigvalsh(matrix)
    assert inertia == (np.sum(sizes > 0), np.sum(sizes < 0), 0)
    assert np.allclose(program.solve(right), np.linalg.solve(matrix, right), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("rows", "bounds", "least"), [(2e4, 5e4, 7e4 / 110 / 100), (3.0, 4.0, 1.0)])
def test_large_multipliers_scale_the_error_of_the_slope(rows: float, bounds: float, least: float) -> None:
    """s = max(100, (|y| + |z|)/(m + 2 n))/100 for n numbers with two bounds and m rows."""
    program = SimpleNamespace(size=50, rows=10)
    measured = {"rows": rows, "bounds": bounds, "most": 0.0, "least": 0.0, "slope": 3.0, "violation": 0.1}
    largest, violation, rest = InteriorPoint._errors(SimpleNamespace(p=program), measured, 0.0)
    assert (violation, largest) == (0.1, rest) and rest == pytest.approx(3.0 / least)
