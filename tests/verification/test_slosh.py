"""Slosh in a flying spacecraft against a derivation by hand, and conservation without thrust.

Small motions in a plane: x the spacecraft's place, θ its pitch, φ the pendulum's angle on it, a = F/(M + m),

    bob         ẍ + d θ̈ − L (θ̈ + φ̈) = a (θ + φ)      the rod carries m a along itself
    spacecraft  M ẍ = F θ − m a (θ + φ)                  thrust turns with it, the rod pulls at the hinge
                I θ̈ = −m a d φ

so φ̈ = −a/L (1 + m/M + m d (d − L)/I) φ. A mass on springs at z = d − L obeys the same: m (ẍ + z θ̈ + s̈) =
−k s + m a θ, M ẍ = M a θ + k s and I θ̈ = (z k + m a) s give s̈ = −(k/m + k/M + z (z k + m a)/I) s, k = m a/L.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import jvp

from armillary.stages.model import Model
from examples.slosh import DEPTH, FORMALISMS, RADIUS, XI, equivalent, frequency_squared, system
from tests.verification.common import (
    ACCELERATIONS,
    TIGHT,
    accelerations,
    assert_close,
    assert_constant,
    assert_near,
)

MODELS = pytest.mark.parametrize("model", ["pendulum", "springs"])
CASES = {  # parameters that differ from the example's
    "as in the example": {},
    "hinge at the mass centre": {"d": 0.0},
    "tank below the mass centre": {"d": -0.7},
    "bob below it, hinge above": {"d": 0.2, "L": 0.5},
    "light spacecraft": {"mass": 100.0, "m": 150.0, "across": 400.0},
    "unstable": {"mass": 500.0, "m": 150.0, "across": 200.0, "L": 3.0, "d": 1.5},
}
START = {"slosh.u1": 0.3, "slosh.u2": -0.2, "craft.u4": 0.2, "craft.u5": -0.3, "craft.u6": 0.5}


@cache
def compiled_slosh(model: str = "pendulum") -> Model:
    """The flying spacecraft of the example, once for all parameters and starts."""
    return system(model).derive().compile()


def at_thrust(values: dict[str, float]) -> dict[str, float]:
    """All parameters without damping and turn, with the stiffness of the springs for the thrust there is."""
    defaults = {name: value for name, value in compiled_slosh().parameters.items() if value is not None}
    found = defaults | {"zeta": 0.0, "turn": 0.0} | values
    return found | {"a": found["thrust"] / (found["mass"] + found["m"])}


@MODELS
@pytest.mark.parametrize("case", CASES)
def test_frequency_as_by_hand(case: str, model: str) -> None:
    """φ̈ = −ω² φ, in either plane; a difference of 1e-4 leaves 1e-8 of the cubic terms."""
    compiled, values = compiled_slosh(model), at_thrust(CASES[case])
    names = compiled.coordinate_names
    u = np.zeros(len(compiled.speed_names))
    for i in (1, 2):
        q = compiled.state()[: len(names)]
        q[names.index(f"slosh.q{i}")] = 1e-4
        found = -accelerations(compiled, 0.0, q, u, values)[compiled.speed_names.index(f"slosh.u{i}")] / 1e-4
        assert found == pytest.approx(frequency_squared(values), rel=1e-7)
    assert (frequency_squared(values) < 0) is (case == "unstable")


@MODELS
def test_small_slosh_over_ten_periods(model: str) -> None:
    """cos ωt, and the spacecraft turns by I θ̈ = −m a d φ."""
    values = at_thrust({})
    rate = np.sqrt(frequency_squared(values))
    i = 2 if model == "pendulum" else 1
    size = 1e-5
    run = compiled_slosh(model).simulate(
        10 * 2 * np.pi / rate, sample=0.05, initial={f"slosh.q{i}": size}, parameters=values, **TIGHT
    )  # fmt: skip
    assert_close(run[f"slosh.q{i}"], size * np.cos(rate * run.time), 1e-7, "small slosh")
    moment = values["m"] * values["a"] * (values["d"] * size if i == 2 else -size * values["d"] / values["L"])
    turning = -moment / values["across"] / rate * np.sin(rate * run.time)
    assert_close(run["craft.u5"], turning, 1e-7, "turning of the spacecraft")


def test_both_models_move_alike_in_small_motions() -> None:
    """A turn of 1e-3 of the example's, with damping: the same to the order of the angle's square."""
    runs = [
        compiled_slosh(model).simulate(30.0, sample=0.02, parameters={"turn": 0.02}, **TIGHT)
        for model in ("pendulum", "springs")
    ]
    for name in ("slosh x", "craft.u5", "px"):
        assert_close(runs[1][name], runs[0][name], 1e-5, f"{name} of both models")


def test_an_unstable_tank_diverges_at_its_rate() -> None:
    values = at_thrust(CASES["unstable"])
    rate = np.sqrt(-frequency_squared(values))
    run = compiled_slosh().simulate(
        8 / rate, sample=0.5 / rate, initial={"slosh.q2": 1e-7}, parameters=values, **TIGHT
    )  # fmt: skip
    assert_close(run["slosh.q2"], 1e-7 * np.cosh(rate * run.time), 1e-6, "divergence")


@MODELS
def test_without_thrust_energy_and_momenta_are_kept(model: str) -> None:
    """Large motions in both planes with the engine off; the pendulum goes round its hinge."""
    values = at_thrust({}) | {"thrust": 0.0}
    start = START | ({"slosh.u2": -2.0} if model == "pendulum" else {})
    run = compiled_slosh(model).simulate(
        20.0, sample=0.1, initial=start, parameters=values, **TIGHT
    )  # fmt: skip
    assert np.max(np.abs(run["slosh x"])) > 100.0
    assert_constant(run, "energy", 1e-10)
    for letter in "xyz":
        assert_constant(run, f"p{letter}", 1e-10, scale=100.0)
        assert_constant(run, f"h{letter}", 1e-10, scale=100.0)


@MODELS
def test_thrust_along_the_axis_gives_momentum_only(model: str) -> None:
    """Without a turn the liquid stays on the axis: p = F t, and nothing else."""
    run = compiled_slosh(model).simulate(10.0, sample=0.1, parameters={"turn": 0.0}, **TIGHT)
    assert_near(run["pz"], 1000.0 * run.time, 1e-8, "momentum of the thrust")
    for name in ("px", "py", "hx", "hy", "hz", "slosh x", "slosh y"):
        assert np.max(np.abs(run[name])) == 0.0


@MODELS
def test_damping_is_the_ratio_given(model: str) -> None:
    """In a spacecraft too heavy to move; the liquid's own frequency is then √(a/L)."""
    heavy = {"mass": 1e12, "across": 1e12, "thrust": 1e12, "zeta": 0.02}
    values = at_thrust(heavy)
    rate = np.sqrt(values["a"] / values["L"])
    i = 2 if model == "pendulum" else 1
    run = compiled_slosh(model).simulate(
        20.0, sample=0.05, initial={f"slosh.q{i}": 1e-5}, parameters=values, **TIGHT
    )  # fmt: skip
    damped = rate * np.sqrt(1 - 0.02**2)
    phase = damped * run.time
    expected = np.exp(-0.02 * rate * run.time) * (np.cos(phase) + 0.02 * rate / damped * np.sin(phase))
    assert_close(run[f"slosh.q{i}"], 1e-5 * expected, 1e-6, "damped slosh")


def test_the_equivalent_pendulum_has_the_frequency_of_the_liquid() -> None:
    """ω² = a ξ/R tanh ξh/R of potential flow, ξ the first root of J₁'; shallow liquid sloshes most."""
    assert abs(jvp(1, XI)) < 1e-15
    length, sloshing, fixed = equivalent()
    assert 1 / length == pytest.approx(XI / RADIUS * np.tanh(XI * DEPTH / RADIUS), rel=1e-14)
    assert sloshing / (sloshing + fixed) == pytest.approx(0.3698, abs=1e-4)
    _, shallow, rest = equivalent(depth=1e-6)
    assert shallow / (shallow + rest) == pytest.approx(2 / (XI**2 - 1), rel=1e-9)


@MODELS
def test_all_formalisms_agree(model: str) -> None:
    rng = np.random.default_rng(6)
    found = {}
    for formalism in FORMALISMS:
        compiled = system(model).derive(formalism).compile()
        if not found:
            q = rng.uniform(-0.6, 0.6, len(compiled.coordinate_names))
            q[3:7] /= np.linalg.norm(q[3:7])
            u = rng.uniform(-1.0, 1.0, len(compiled.speed_names))
        found[formalism] = accelerations(compiled, 1.0, q, u)
    for formalism in FORMALISMS[1:]:
        assert_close(found[formalism], found["kane"], ACCELERATIONS, f"kane and {formalism}")
