"""A hub with hinged panels against Basilisk's case: accelerations, a run in free space, conservation.

Reference accelerations and the run come from a projected Newton-Euler tree that agrees with Basilisk 2.12.1
to 2e-11 in the angles; attitudes are modified Rodrigues parameters σ = tan(φ/4) e.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from examples.hub_and_panels import START, system
from tests.verification.common import (
    ACCELERATIONS,
    TIGHT,
    TRAJECTORIES,
    WAYS,
    accelerations,
    assert_constant,
    assert_near,
    assert_same,
    reference,
)

REFERENCE = reference("hub_and_panels")


@cache
def compiled() -> Any:
    """The example's vehicle in free space."""
    return system().derive().compile()


def euler_parameters(sigma: Any) -> np.ndarray:
    sigma = np.asarray(sigma)
    square = sigma @ sigma
    return np.array([1 - square, *(2 * sigma)]) / (1 + square)


@WAYS
def test_accelerations(formalism: str, regroup: bool) -> None:
    """At large angles, with bent springs, dampers and uniform gravity in any direction."""
    s = system()
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.parameter(f"g{letter}", 0.0, units="m/s2")
        s.gravity(f"g{letter}", axis)
    model = s.derive(formalism, regroup=regroup).compile()
    found, expected = [], []
    for state in REFERENCE["states"]:
        q = [0.0, 0.0, 0.0, *euler_parameters(state["sigma_BN"]), *state["theta"]]
        u = [0.0, 0.0, 0.0, *state["omega_BN_B"], *state["theta_dot"]]
        parameters = {f"g{letter}": g for letter, g in zip("xyz", state["g_N"], strict=True)}
        parameters |= {f"rest{i}": angle for i, angle in enumerate(state["theta_0"], start=1)}
        parameters |= {"k": state["k"], "c": state["c"]}
        found.append(accelerations(model, 0.0, q, u, parameters))
        expected.append([*state["rddot_BN_N"], *state["omega_dot_BN_B"], *state["theta_ddot"]])
    assert_same(found, expected, ACCELERATIONS, f"accelerations, {formalism}")


def test_run_in_free_space() -> None:
    record = {key: np.array(value) for key, value in REFERENCE["trajectory"].items()}
    names = {f"hub.q{i + 1}": value for i, value in enumerate(record["r_BN_N"][0])}
    names |= {f"hub.u{i + 1}": value for i, value in enumerate(record["v_BN_N"][0])}
    run = compiled().simulate(10.0, sample=record["time"], initial=START | names, **TIGHT)
    for i in range(3):
        assert_near(run[f"hub.q{i + 1}"], record["r_BN_N"][:, i], TRAJECTORIES, f"hub.q{i + 1} over 10 s")
        assert_near(run[f"hub.u{i + 1}"], record["v_BN_N"][:, i], TRAJECTORIES, f"hub.u{i + 1} over 10 s")
        assert_near(run[f"hub.u{i + 4}"], record["omega_BN_B"][:, i], TRAJECTORIES, f"hub.u{i + 4} over 10 s")
        # σ = e/(1 + e0), half an angle short of the shadow set in these 10 s
        sigma = run[f"hub.q{i + 5}"] / (1 + run["hub.q4"])
        assert_near(sigma, record["sigma_BN"][:, i], TRAJECTORIES, f"attitude {i + 1} over 10 s")
    for i in range(7):
        assert_near(
            run[f"panel{i + 1}.q1"], record["theta"][:, i], TRAJECTORIES, f"panel{i + 1}.q1 over 10 s"
        )
        assert_near(
            run[f"panel{i + 1}.u1"], record["theta_dot"][:, i], TRAJECTORIES, f"panel{i + 1}.u1 over 10 s"
        )
    # The mass centre moves at (-0.2, 0.5, 0.1) m/s; the energy about it is Basilisk's own number.
    assert_near(
        run["energy"][0] - 0.5 * 1100.0 * 0.30, REFERENCE["energy"], 1e-10, "energy about the mass centre"
    )


def test_energy_and_momenta_are_kept() -> None:
    """Without dampers all of them; with dampers the momenta only."""
    model = compiled()
    start = START | {"panel3.q1": 0.8, "panel6.u1": -0.5, "hub.u1": 0.3, "hub.u2": -0.4}
    for damping in (0.0, 40.0):
        run = model.simulate(10.0, sample=0.05, initial=start, parameters={"c": damping}, **TIGHT)
        for letter in "xyz":
            assert_constant(run, f"p{letter}", 1e-10, scale=500.0)
            assert_constant(run, f"h{letter}", 1e-10, scale=500.0)
        if damping == 0.0:
            assert_constant(run, "energy", 1e-10)
        else:
            assert np.all(np.diff(run["energy"]) < 0)
