"""A boom that is spun up against a chain of rigid links, a quasi-static solution and conservation laws.

The chain has no modes and no approximation in the size of its angles: revolute joints with the boom's
rigidity as springs. Its tip converges with the square of the length of a link.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.stages.model import Model
from examples.spinning_boom import DENSITY, FORMALISMS, LENGTH, RIGIDITY, SPIN, THROWN, satellite, system
from tests.verification.common import (
    ACCELERATIONS,
    TIGHT,
    accelerations,
    assert_close,
    assert_constant,
)
from tests.verification.ritz_beam import polynomials, ritz, ritz_matrices

RATE = np.sqrt(RIGIDITY / DENSITY) / LENGTH**2  # rad/s per unit of dimensionless frequency


@cache
def thrown(stiffening: bool = True, formalism: str = "auto") -> Model:
    """The satellite with two booms and thrusters."""
    return satellite(stiffening).derive(formalism).compile()


def links(count: int) -> arm.System:
    """The boom as rigid links; the first spring stands for half a link, since the root is clamped."""
    s = arm.System("links")
    s.parameter("W", 6.0, units="rad/s")
    s.parameter("T", 15.0, units="s")
    hub = inner = s.body("hub", joint=arm.Revolute("z"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    s.prescribe(hub.u1, SPIN)
    length = LENGTH / count
    mass, stiffness = DENSITY * length, RIGIDITY / length
    for i in range(1, count + 1):
        link = s.body(
            f"link{i}", inner, arm.Revolute("z"), at=(0 if i == 1 else length, 0, 0), com=(length / 2, 0, 0),
            mass=mass, inertia=(0, mass * length**2 / 12, mass * length**2 / 12),
        )  # fmt: skip
        s.moment(f"spring{i}", f"-{stiffness * (1 + (i == 1))}*link{i}.q1", hub.z, on=link, reaction=inner)
        inner = link
    tip = arm.position(inner.point((length, 0, 0)), hub)
    s.output("boom tip", arm.dot(tip, hub.y), units="m")
    s.output("shortening", LENGTH - arm.dot(tip, hub.x), units="mm")
    s.output("motor", s.effort(hub.u1), units="N*m")
    return s


def test_spin_up_as_by_rigid_links() -> None:
    """The limit of ever shorter links, by Richardson's rule from 10 and 20 of them, which 20 miss by 4e-3;
    what the boom lacks is of third order, the slope's square of 3e-3 times the deflection.
    """
    run = system().derive().compile().simulate(20.0, sample=0.02)
    chains = [links(count).derive().compile().simulate(20.0, sample=0.02) for count in (10, 20)]
    for name in ("boom tip", "shortening", "motor"):
        limit = (4 * chains[1][name] - chains[0][name]) / 3
        assert_close(run[name], limit, 2e-3, f"{name} of the boom and of many links")
        assert_close(chains[1][name], limit, 5e-3, f"{name} of 20 and of many links")


def test_a_slow_spin_up_bends_the_boom_quasi_statically() -> None:
    """(K(Ω) − Ω² M) w = −Ω̇ ∫ x w at every instant: centrifugal, spring and Euler's force in balance."""
    model = system(modes=8).derive().compile()
    end, final = 600.0, 6.0
    run = model.simulate(end, sample=5.0, parameters={"T": end})
    x, weights, (w, _, _) = polynomials()
    at_tip = np.ones(len(w))  # x² P_n(2x − 1) at x = 1
    expected = []
    for t in run.time:
        spin = final / end * (t - end / (2 * np.pi) * np.sin(2 * np.pi * t / end)) / RATE
        rate = final / end * (1 - np.cos(2 * np.pi * t / end)) / RATE**2
        K, M = ritz_matrices(spin)
        expected.append(-LENGTH * at_tip @ np.linalg.solve(K - spin**2 * M, rate * w @ (weights * x)))
    assert_close(run["boom tip"], expected, 1e-4, "tip of a slowly spun boom")


def test_straight_again_it_rings_at_its_lagging_frequency() -> None:
    run = system(modes=6).derive().compile().simulate(60.0, sample=np.linspace(15.0, 60.0, 4501))
    tip = run["boom tip"]
    assert np.max(np.abs(tip)) < 0.01 * 0.574
    rises = np.flatnonzero((tip[:-1] < 0) & (tip[1:] >= 0))
    times = run.time[rises] - tip[rises] * 0.01 / (tip[rises + 1] - tip[rises])
    found = 2 * np.pi * (len(times) - 1) / (times[-1] - times[0])
    spin = 6.0 / RATE
    expected = RATE * np.sqrt(ritz(spin)[0] ** 2 - spin**2)
    assert found == pytest.approx(expected, rel=2e-3)


def test_without_stiffening_it_diverges() -> None:
    """Past Ω = 3.516 √(EI/μL⁴) the lag grows as exp ∫ √(Ω² − ω²)."""
    model = system(stiffening=False, modes=1).derive().compile()
    run = model.simulate(20.0, sample=0.5)
    tip = np.abs(run["boom tip"])
    growth = np.log(tip[-1] / tip[-5]) / 2.0
    assert growth == pytest.approx(np.sqrt(36.0 - (RATE * ritz(0.0)[0]) ** 2), rel=1e-6)
    assert tip[-1] > 1e10


@pytest.mark.parametrize("stiffening", [True, False], ids=["stiffening", "no stiffening"])
def test_a_thrown_satellite_keeps_energy_and_momenta(stiffening: bool) -> None:
    """Tumbling with bent booms and no thrusters, whether the second order of the shortening is there."""
    model = thrown(stiffening)
    start = THROWN if stiffening else THROWN | {"satellite.u6": 1.0}
    run = model.simulate(10.0, initial=start, parameters={"M": 0.0}, sample=0.1, **TIGHT)
    assert_constant(run, "energy", 1e-10)
    size = abs(run["hz"][0])
    for letter in "xyz":
        assert_constant(run, f"h{letter}", 1e-10, size)
        assert_constant(run, f"p{letter}", 1e-10, 100.0)


def test_thrusters_give_their_angular_momentum() -> None:
    """∫ M (1 − cos 2πt/T) dt = M T; the spin is then that of rigid booms except for their slight ringing."""
    run = thrown().simulate(20.0, sample=1.0, **TIGHT)
    assert run.final["hz"] == pytest.approx(420.0 * 15.0, rel=1e-10)
    rigid = 250.0 + 2 * DENSITY * (10.5**3 - 0.5**3) / 3
    assert run.final["spin"] == pytest.approx(6300.0 / rigid, rel=2e-3)


@pytest.mark.parametrize("stiffening", [True, False], ids=["stiffening", "no stiffening"])
def test_all_formalisms_agree(stiffening: bool) -> None:
    rng = np.random.default_rng(4)
    found = {}
    for formalism in FORMALISMS:
        model = thrown(stiffening, formalism)
        if not found:
            q = rng.uniform(-0.5, 0.5, len(model.coordinate_names))
            q[3:7] /= np.linalg.norm(q[3:7])
            u = rng.uniform(-1.0, 1.0, len(model.speed_names))
        found[formalism] = accelerations(model, 3.0, q, u)
    for formalism in FORMALISMS[1:]:
        assert_close(found[formalism], found["kane"], ACCELERATIONS, f"kane and {formalism}")
