"""The slider-crank against closed forms: its geometry, its one equation of motion, its dead centres."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from armillary.stages.model import Model
from examples.slider_crank import system
from tests.verification.common import TIGHT, assert_near, counts

CRANK, ROD, GRAVITY = 0.1, 0.3, 9.81


@cache
def model(keep_slider: bool = False) -> Model:
    return system(keep_slider).derive().compile()


def slider(q: Any, rod: float = ROD) -> Any:
    return CRANK * np.cos(q) + np.sqrt(rod**2 - (CRANK * np.sin(q)) ** 2)


def shape(q: float) -> tuple[float, float, float]:
    """Effective inertia I(q), its derivative, and dV/dq, so that I q̈ + ½ I' q̇² + V' = 0.

    With the rod's angle p, b sin p = −a sin q, and primes for d/dq: its mass centre is at
    (a cos q + ½ b cos p, ½ a sin q).
    """
    a, b = CRANK, ROD
    s, c = math.sin(q), math.cos(q)
    sin_p = -a * s / b
    cos_p = math.sqrt(1 - sin_p**2)
    p1 = -a * c / (b * cos_p)
    p2 = (a * s / b + sin_p * p1**2) / cos_p
    x1, x2 = -a * s - b * sin_p * p1, -a * c - b * (cos_p * p1**2 + sin_p * p2)
    h1, h2 = -a * s - 0.5 * b * sin_p * p1, -a * c - 0.5 * b * (cos_p * p1**2 + sin_p * p2)
    v1, v2 = 0.5 * a * c, -0.5 * a * s
    inertia = 0.01 + 0.25 * a**2 + h1**2 + v1**2 + 0.01 * p1**2 + 0.5 * x1**2
    change = 2 * (h1 * h2 + v1 * v2 + 0.01 * p1 * p2 + 0.5 * x1 * x2)
    return inertia, change, GRAVITY * a * c


def by_hand(times: np.ndarray, q: float, u: float) -> np.ndarray:
    def rates(_: float, y: np.ndarray) -> list[float]:
        inertia, change, slope = shape(y[0])
        return [y[1], -(0.5 * change * y[1] ** 2 + slope) / inertia]

    found = solve_ivp(rates, (0, times[-1]), [q, u], method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12)
    return np.asarray(found.y[0])


def test_motion_is_that_of_the_hand_derived_equation() -> None:
    """Nine revolutions; both integrations at 1e-12."""
    run = model().simulate(3.0, sample=0.01, initial={"A.q1": 0.5, "A.u1": 20.0}, **TIGHT)
    assert run["A.q1"][-1] > 9 * 2 * math.pi
    assert_near(run["A.q1"], by_hand(run.time, 0.5, 20.0), 1e-9, "crank angle over 3 s")
    assert "modes" not in run.info


def test_kept_slider_is_given_up_before_its_dead_centre() -> None:
    run = model(True).simulate(3.0, sample=0.01, initial={"A.q1": 1.5, "A.u1": 20.0}, **TIGHT)
    assert model(True).speed_names == ("C.u1",)
    assert_near(run["A.q1"], by_hand(run.time, 1.5, 20.0), 1e-8, "crank angle over 3 s")
    assert not run.events  # an exchange is no event of the description
    [switch] = [float(note.split()[2]) for note in run.info["configurations"].split("; ")]
    dead = run.time[np.argmax(run["A.q1"] > math.pi)]
    assert dead - 0.06 < switch < dead
    assert "became independent in place of C.u1" in run.info["configurations"]


@pytest.mark.parametrize("keep_slider", [False, True])
@pytest.mark.parametrize("how", [TIGHT, {"step": 1e-3}, {"method": "rodas5p"}], ids=str)
def test_slider_follows_its_closed_form(keep_slider: bool, how: dict[str, Any]) -> None:
    run = model(keep_slider).simulate(1.0, initial={"A.q1": 0.5, "A.u1": 20.0}, **how)
    assert_near(run["C.q1"], slider(run["A.q1"]), 1e-10, "slider")
    assert_near(run["lift"], 0.0, 1e-10, "rod's end")


@pytest.mark.parametrize("keep_slider", [False, True])
def test_a_thousand_revolutions(keep_slider: bool) -> None:
    run = model(keep_slider).simulate(
        326.0, sample=0.1, initial={"A.q1": 0.5, "A.u1": 20.0}, parameters={"g": 0.0}, rtol=1e-12, atol=1e-13
    )
    assert run.final["A.q1"] > 1000 * 2 * math.pi
    assert_near(run["C.q1"], slider(run["A.q1"]), 1e-10, "slider")
    # 50,000 steps at 1e-12 each.
    assert_near(run["energy"] / run["energy"][0], 1.0, 1e-8, "energy over a thousand revolutions")


@pytest.mark.parametrize("keep_slider", [False, True])
def test_start_in_a_dead_centre(keep_slider: bool) -> None:
    """The slider stands still there, so its speed tells nothing; the crank's does."""
    run = model(keep_slider).simulate(1.0, sample=0.01, initial={"A.u1": 20.0}, **TIGHT)
    assert_near(run["A.q1"], by_hand(run.time, 0.0, 20.0), 1e-9, "crank angle over 1 s")


def test_rod_as_long_as_its_crank_passes_where_both_lie_across() -> None:
    """x = 2a cos q on one branch; on the other, which meets it in the middle, the slider stands still."""
    compiled = system(rod=CRANK).derive().compile()
    run = compiled.simulate(
        3.0, sample=0.01, initial={"A.q1": 0.5, "B.q1": -1.0, "A.u1": 20.0}, parameters={"g": 0.0}, **TIGHT
    )
    assert run["A.q1"][-1] > 6 * 2 * math.pi
    assert_near(run["C.q1"], 2 * CRANK * np.cos(run["A.q1"]), 1e-10, "slider")


def test_cost_is_the_documented_one() -> None:
    assert counts(system().derive()) == (22, 48, 4)
