"""JPL's spinning rotor and platform: MBDYFR, and the story of Fig. 9.

The report's printout was made by a program that tests the path to an appendage by the appendage's number in
place of its body's. The data hold two trajectories: with that error, which reproduces the figure, and without
it, which is what the equations say. Ours must be the latter, and is checked against a nonlinear model that
shares nothing with either.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.program.formalisms.jpl_formulations import solve
from armillary.stages.model import Model
from armillary.verification.cases.spacecraft import STATES, TIPS
from armillary.verification.rows import columns
from examples.jpl_spinning_rotor import START, system
from tests.mechanics.appendages.vehicles import vehicle
from tests.verification.common import ACCELERATIONS, TIGHT, TRAJECTORIES, assert_near, reference

DATA = reference("jpl_spinning_rotor")


@cache
def compiled(damping: float) -> Model:
    """MBDYFR with momentum, energy of motion, springs and preload, and strain energy as outputs."""
    s = system(damping)
    for axis in "xyz":
        s.output(f"p{axis}", arm.dot(s.momentum(), getattr(s.ground, axis)))
    rotor = s.bodies["rotor"]
    s.parameter("preload", 33.33, units="N")
    stretched = arm.dot(arm.position(rotor.node("tip"), rotor.point("rest")), rotor.x)
    motors = s.expression("0.5*k1*platform.q1^2 + 0.5*k2*platform.q2^2")
    s.output("energy", s.kinetic_energy() + s.strain_energy() + motors + s.expression("preload") * stretched)
    s.output("strain", s.strain_energy())
    return s.derive("mbdyfr").compile()


@cache
def undamped() -> arm.Run:
    return compiled(0.0).simulate(10.0, sample=0.1, initial=START, **TIGHT)


def column(found: arm.Run, name: str) -> np.ndarray:
    """A variable of the report; tips are in millimetres here."""
    return found[STATES[name]] if name in STATES else found[TIPS[name]] / 1000


def test_momentum_is_kept() -> None:
    """Without modal damping, all but the motors' work: angular momentum 200 N m s in the ground's axes, and
    no linear momentum, though translation is not among JPL's equations.
    """
    found = undamped()
    for axis, value in zip("xyz", (0.0, 0.0, 200.0), strict=True):
        assert_near(found[f"angular momentum {axis}"] / 200, value / 200, 1e-10, f"angular momentum {axis}")
        assert_near(found[f"p{axis}"], 0.0, 1e-9, f"momentum {axis}")


@pytest.mark.parametrize("model", ["mbdyfr", "nonlinear"])
def test_undamped_run(model: str) -> None:
    """MBDYFR against the data's; and Kane's equations of the same description, with the springs preloaded for
    the spin, against the data's nonlinear model of particles on springs.
    """
    found = undamped()
    if model == "nonlinear":
        s = system(0.0)
        rotor = s.bodies["rotor"]
        s.force("preload", 0.3333 * 100, -rotor.x, at=rotor.node("tip"), reaction=rotor)
        found = s.derive("kane").compile().simulate(10.0, sample=0.1, initial=START, **TIGHT)
    for name, expected in columns(DATA["undamped_cross_check"], model).items():
        if name != "t":
            assert_near(column(found, name), expected, TRAJECTORIES, f"{model}, {name}")


def test_what_the_formulation_neglects() -> None:
    """MBDYFR beside the nonlinear model: rates within 1.5e-5 of 1.1e-2, the rotor's tip within 1e-6 m of
    1.9e-4, the platform's, which itself turns at 0.2 rad/s, within 1.7e-4 m of 7.5e-3.
    """
    nonlinear = columns(DATA["undamped_cross_check"], "nonlinear")
    limits = {
        "W1": 1.6e-5,
        "W2": 1.6e-5,
        "W3": 1.6e-5,
        "U1X": 1e-6,
        "U1Y": 1e-6,
        "U2X": 1.75e-4,
        "U2Y": 1.75e-4,
    }
    for name, limit in limits.items():
        assert_near(column(undamped(), name), nonlinear[name], limit, f"neglected in {name}")


def test_energy_is_kept_but_for_second_order_terms() -> None:
    """No motors' damping, no modal damping: the energy of motion, springs and preload drifts by less than
    1e-3 of the largest strain energy (found: 6e-4). Second-order terms that the formulation drops work at the
    spin of 10 rad/s, so the drift is a share of the vibration's energy, however small that is.
    """
    start = START | {"platform.q3": 0.05, "platform.u4": 0.03, "rotor.q2": 0.002, "rotor.u3": 0.002}
    still = {"slew": 0.0, "c1": 0.0, "c2": 0.0}
    found = compiled(0.0).simulate(6.0, sample=0.01, initial=start, parameters=still, **TIGHT)
    vibration = found["strain"].max()
    assert_near(found["energy"] / vibration, found["energy"][0] / vibration, 1e-3, "energy")


def closed(matrix: Any) -> list[list[float]]:
    """Modes whose digits the report has: amplitudes a with 2 a² (K' + σ² M') = 1 for two coordinates in one
    circular mode, and a² (K' + σ² M') = 1 for one; M' = 0.998 and 4.95, K' = 299.4 and 400.95.
    """
    squares = (2 * (299.4 + 100 * 0.998), 2 * (299.4 + 900 * 0.998), 400.95 + 81 * 4.95)
    forms = {0.0: 0.0} | {round(a**-0.5, 8): a**-0.5 for a in squares}
    return [[np.sign(x) * forms[abs(x)] for x in row] for row in matrix]


def test_accelerations_at_reference_states() -> None:
    """From the description, free hinges, loads on bodies and nodes.

    The data's accelerations belong to the report's seven digits of the modes, and are met to 1e-13 with these
    in the tests of mechanics. Here modes are exact, so the same equations on numbers, with the closed forms
    that the digits round, say what is right.
    """
    s = system()
    for m, body in enumerate((s.bodies["rotor"], s.bodies["platform"])):
        for axis in "xyz":
            s.force(f"f{m}{axis}", f"f{m}{axis}_", getattr(body, axis), at=body.node("tip"))
    centres = {"base": (0, 0, 0), "rotor": (0, 0, 0), "platform": (0, 0.3, 0)}
    for k, (name, centre) in enumerate(centres.items()):
        body = s.bodies[name]
        for axis in "xyz":
            s.moment(f"T{k}{axis}", f"T{k}{axis}_", getattr(body, axis), on=body)
            s.force(f"F{k}{axis}", f"F{k}{axis}_", getattr(body, axis), at=body.point(f"o{axis}", centre))
    s.moment("tau0", "tau0_", s.bodies["base"].z, on=s.bodies["rotor"], reaction=s.bodies["base"])
    s.moment("tau1", "tau1_", s.bodies["base"].z, on=s.bodies["platform"], reaction=s.bodies["base"])
    s.moment("tau2", "tau2_", s.bodies["platform"].x, on=s.bodies["platform"], reaction=s.bodies["base"])
    model = s.derive("mbdyfr").compile()
    names = [*model.coordinate_names, *model.speed_names]
    exact = [
        {**record, **{key: closed(record[key]) for key in ("Psi", "Gamma")}}
        for record in DATA["inputs"]["appendages"]
    ]
    hinges = [("rotor", 1), ("platform", 1), ("platform", 2)]
    for state in DATA["random_states"]["cases"]:
        assert not any(state["prescribed"])
        result = solve(vehicle(DATA["inputs"], exact, state), "mbdyfr")
        values: dict[str, float] = {"base.q4": 1.0}
        expected: dict[str, float] = {}
        for i in range(3):
            values[f"base.u{i + 4}"], expected[f"base.u{i + 4}"] = state["w0"][i], result.spin[i]
            body_name, n = hinges[i]
            values |= {f"{body_name}.q{n}": state["gamma"][i], f"{body_name}.u{n}": state["gamma_dot"][i]}
            expected[f"{body_name}.u{n}"] = result.hinges[i]
        for m, (body_name, first) in enumerate((("rotor", 2), ("platform", 3))):
            for n in range(2):
                values[f"{body_name}.q{first + n}"] = state["delta"][m][n]
                values[f"{body_name}.u{first + n}"] = state["eta"][m][n]
                expected[f"{body_name}.q{first + n}"] = result.modes[m][n]
                expected[f"{body_name}.u{first + n}"] = result.modes[m][n + 2]
        loads: dict[str, float] = {"k1": 0.0, "k2": 0.0, "c1": 0.0, "c2": 0.0}
        loads |= {f"tau{i}_": t for i, t in enumerate(state["hinge_torque"])}
        for letter, key in (("T", "body_torque_about_o"), ("F", "body_force_at_o")):
            for k, vector in enumerate(state[key]):
                loads |= {f"{letter}{k}{axis}_": x for axis, x in zip("xyz", vector, strict=True)}
        for m in range(2):
            loads |= {f"f{m}{axis}_": x for axis, x in zip("xyz", state["node_force"][m][0], strict=True)}
        rates = dict(
            zip(
                names,
                model.derivatives(0.0, np.array([values.get(n, 0.0) for n in names]), loads),
                strict=True,
            )
        )
        scale = max(abs(v) for v in expected.values())
        found = np.array([rates[n] for n in expected])
        assert_near(found / scale, np.array([*expected.values()]) / scale, ACCELERATIONS, "accelerations")
