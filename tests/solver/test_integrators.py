"""Accuracy of the integrators: orders, closed forms, and SciPy on the problems of the literature."""

from __future__ import annotations

from functools import cache
from math import exp, log2, sin

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.integrate._ivp import dop853_coefficients as published

from armillary.solver.methods import dop853
from armillary.solver.methods.registry import METHODS
from tests.solver.problems import (
    ADAPTIVE,
    ARENSTORF_PERIOD,
    ARENSTORF_START,
    COMPILED,
    PERIOD,
    arenstorf,
    arenstorf_python,
    integrate,
    kepler,
    kepler_position,
    kepler_python,
    kepler_start,
    modulated,
    oscillator,
    van_der_pol,
)  # fmt: skip

pytestmark = pytest.mark.optimised


def _error(method: str, steps: int, sample: float | None) -> float:
    """The largest error in e^(sin t) over 0 … 4 with so many equal steps."""
    size = 4.0 / steps
    # An adaptive method takes equal steps when its tolerance never binds.
    options = {"max_step": size, "rtol": 1e3} if METHODS[method].adaptive else {}
    run = integrate(
        modulated().functions, method, t0=0, t_end=4, state=[1], step=size, sample=sample, **options
    )
    assert run.steps == steps
    return float(np.max(np.abs(run.samples[:, 0] - np.exp(np.sin(run.time)))))


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        ("rk4", 80),
        ("midpoint", 80),
        ("ab2", 80),
        ("dopri5", 40),
        ("dop853", 12),
        ("rodas3", 80),
        ("rodas5p", 40),
    ],
)
def test_halving_the_step_divides_the_error_by_two_to_the_order(method, steps):
    slope = log2(_error(method, steps, None) / _error(method, 2 * steps, None))
    # The last term neglected in the error expansion still shows at these steps.
    assert slope == pytest.approx(METHODS[method].order, abs=0.4)


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        ("rk4", 80),
        ("midpoint", 80),
        ("ab2", 80),
        ("dopri5", 40),
        ("dop853", 12),
        ("rodas3", 80),
        ("rodas5p", 40),
    ],
)
def test_values_inside_steps_keep_the_order(method, steps):
    """The polynomials' orders are 3, 3, 3, 4, 7, 2, 4; local errors, an order higher, are as small
    as global ones.
    """
    slope = log2(_error(method, steps, 0.013) / _error(method, 2 * steps, 0.013))
    assert slope == pytest.approx(METHODS[method].order, abs=0.5)


@pytest.mark.parametrize("method", [m for m in COMPILED if METHODS[m].tableau])
def test_stages_are_consistent(method):
    """Row sums of a tableau are its stage times, and the weights add up to one: y(1) = 1 for ẏ = 1."""
    tableau = METHODS[method].tableau
    assert sum(tableau.b) == pytest.approx(1, abs=1e-14)
    for c, weights in zip(tableau.c + tableau.extra_c, tableau.a + tableau.extra_a, strict=True):
        assert sum(weights) == pytest.approx(c, abs=1e-13)
    for weights in tableau.errors + tableau.dense:
        assert sum(weights) == pytest.approx(0, abs=2e-13)


def test_dop853_has_the_published_coefficients():
    table = dop853.TABLEAU
    for i, weights in enumerate(table.a):
        assert weights == tuple(published.A[i, : len(weights)])
        assert not published.A[i, len(weights) :].any()
    assert table.b == tuple(published.B)
    assert (*table.c, 1.0, *table.extra_c) == tuple(published.C)
    assert table.errors == (tuple(published.E5[:12]), tuple(published.E3[:12]))
    for i, weights in enumerate(table.extra_a, 13):
        assert weights == tuple(published.A[i, : len(weights)])
    assert table.dense == tuple(map(tuple, published.D))


@pytest.mark.parametrize(("method", "pair", "rtol"), [("dopri5", "RK45", 1e-10), ("dop853", "DOP853", 1e-12)])
def test_an_eccentric_orbit_is_as_accurate_as_scipys_same_pair(method, pair, rtol):
    """Three revolutions with eccentricity 0.6 against Kepler's equation.

    How far an error control lets the phase drift is the pair's property, so SciPy's error is the measure.
    """
    run = integrate(
        kepler().functions, method, t0=0, t_end=3 * PERIOD, state=kepler_start(0.6), sample=0.1,
        rtol=rtol, atol=rtol,
    )  # fmt: skip
    other = solve_ivp(
        kepler_python, (0, 3 * PERIOD), kepler_start(0.6), method=pair, rtol=rtol, atol=rtol, t_eval=run.time
    )
    exact = np.array([kepler_position(0.6, t) for t in run.time])
    assert run.status == "finished"
    assert np.max(np.abs(run.samples[:, :2] - exact)) < 1.5 * np.max(np.abs(other.y.T[:, :2] - exact))


@pytest.mark.parametrize(("method", "rtol", "tolerance"), [("dopri5", 1e-11, 1e-5), ("dop853", 1e-13, 3e-8)])
def test_the_arenstorf_orbit_closes(method, rtol, tolerance):
    """The orbit is unstable: an error near the moon can grow 1e5 times and more until it is closed."""
    run = integrate(
        arenstorf().functions, method, t0=0, t_end=ARENSTORF_PERIOD, state=ARENSTORF_START, sample=0.25,
        rtol=rtol, atol=rtol,
    )  # fmt: skip
    assert run.final_state == pytest.approx(ARENSTORF_START, abs=tolerance)
    other = solve_ivp(
        arenstorf_python, (0, ARENSTORF_PERIOD), ARENSTORF_START, method="DOP853", rtol=1e-13, atol=1e-13,
        t_eval=run.time,
    )  # fmt: skip
    assert np.max(np.abs(run.samples - other.y.T)[:, :2]) < tolerance


def test_dopri5_costs_what_scipys_costs_on_the_arenstorf_orbit():
    """Same pair, same tolerance: SciPy's controller is not PI, so the counts agree only roughly."""
    options = {"rtol": 1e-7, "atol": 1e-7}
    run = integrate(
        arenstorf().functions, "dopri5", t0=0, t_end=ARENSTORF_PERIOD, state=ARENSTORF_START, **options
    )
    other = solve_ivp(arenstorf_python, (0, ARENSTORF_PERIOD), ARENSTORF_START, method="RK45", **options)
    assert run.evaluations == pytest.approx(other.nfev, rel=0.25)
    assert run.evaluations == 6 * (run.steps + run.rejected) + 2


@cache
def relaxation() -> tuple[np.ndarray, np.ndarray]:
    """Times beyond the first jump of van der Pol's oscillator with μ = 5, and its states."""
    times = np.linspace(0, 8, 33)
    found = solve_ivp(
        lambda t, y: [y[1], 5.0 * (1 - y[0] ** 2) * y[1] - y[0]],
        (0, 8),
        [2, 0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
        t_eval=times,
    )
    return times, found.y.T


@pytest.mark.parametrize("method", ADAPTIVE)
def test_van_der_pol_agrees_with_scipy(method):
    times, expected = relaxation()
    run = integrate(
        van_der_pol().functions,
        method,
        t0=0,
        t_end=8,
        state=[2, 0],
        constants=[5.0],
        sample=times,
        rtol=1e-9,
    )
    assert np.max(np.abs(run.samples - expected)) < 2e-6


@pytest.mark.parametrize("method", COMPILED)
def test_every_method_reaches_the_end(method):
    step = None if METHODS[method].adaptive else 1e-3
    run = integrate(modulated().functions, method, t0=1, t_end=2.5, state=[exp(sin(1))], step=step)
    assert (run.status, run.t_stop, run.time[0], run.time[-1]) == ("finished", 2.5, 1.0, 2.5)
    assert run.failed_state is None
    assert run.final_state[0] == pytest.approx(exp(sin(2.5)), rel=1e-6)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_one_tolerance_per_state_is_heeded(method):
    """A state that need not be accurate, next to one that must be, does not shorten the steps."""
    options = {"t0": 0, "t_end": 10, "state": [1, 0], "rtol": 1e-13}
    loose = integrate(oscillator().functions, method, atol=[1e-3, 1e-3], **options)
    one = integrate(oscillator().functions, method, atol=[1e-12, 1e-3], **options)
    both = integrate(oscillator().functions, method, atol=[1e-12, 1e-12], **options)
    assert loose.steps < one.steps <= both.steps
    assert integrate(oscillator().functions, method, atol=1e-12, **options).steps == both.steps


@pytest.mark.parametrize("method", ADAPTIVE)
def test_no_step_is_longer_than_the_longest_allowed(method):
    run = integrate(oscillator().functions, method, t0=0, t_end=10, state=[1, 0], max_step=0.03, rtol=1e-3)
    assert np.max(np.diff(run.time)) <= 0.03 * (1 + 1e-12)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_the_last_step_is_not_longer_than_the_longest_allowed_either(method):
    """Ten longest steps and half a percent of one: a remainder of 1.005 steps is not taken at once."""
    run = integrate(
        oscillator().functions, method, t0=0, t_end=0.03 * 10.005, state=[1, 0], step=0.03, max_step=0.03,
        rtol=1e-3,
    )  # fmt: skip
    assert np.max(np.diff(run.time)) <= 0.03 * (1 + 1e-12)
    assert run.steps == 11


@pytest.mark.parametrize("method", ADAPTIVE)
def test_the_step_after_a_rejected_one_does_not_grow(method):
    """The advice of Hairer, Nørsett and Wanner, II.4. A first step that was cut had a trial rejected."""
    cut = 0
    for wanted in np.geomspace(0.3, 30.0, 25):
        run = integrate(
            oscillator().functions, method, t0=0, t_end=60, state=[1, 0], step=wanted, rtol=1e-6, atol=1e-6
        )
        first, second = np.diff(run.time)[:2]
        if first < wanted:
            cut += 1
            assert second <= first * (1 + 1e-12)
    assert cut >= 10
