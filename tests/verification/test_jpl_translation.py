"""JPL's formulations beside Kane's equations, where neither approximates: rigid trees with rotors, and
appendages at rest. Translation, which JPL's programs leave out, is compared too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.program.formalisms.jpl_substructures import hinged_groups, reader
from armillary.stages.model import Model
from tests.verification.common import ACCELERATIONS, assert_close
from tests.verification.jpl_tree import GENERIC, compiled, parameters, tree


def rotors(velocity: str = "parent", given: bool = False) -> arm.System:
    """A hub with a wheel askew, a turned arm with a wheel, a weld, and loads on all of them."""
    s = arm.System("wheels")
    inertia = (30.0, 40.0, 50.0, 1.0, -2.0, 3.0)
    hub = s.body("hub", joint=arm.Free(velocity=velocity), mass=40.0, com=(0.1, -0.2, 0.05), inertia=inertia)
    skew = s.body(
        "skew", hub, arm.Revolute((1, 2, 2)), at=(0.3, 0.1, 0), com=(0.05, 0.1, 0.1), mass=2.0,
        inertia=(0.25 * np.eye(3) + 0.1 * np.outer([1, 2, 2], [1, 2, 2]) / 9).tolist(),
    )  # fmt: skip
    boom = s.body(
        "boom", hub, arm.Gimbal("zx"), at=(0.5, -0.2, 0.8), com=(-0.1, 0.4, 0.3), mass=10.0,
        inertia=(6, 7, 8), orient=("zyx", 0.3, -0.4, 0.5),
    )  # fmt: skip
    s.body("box", boom, at=(0.2, 0, 0.1), com=(0.1, 0.1, 0), mass=3.0, inertia=(0.1, 0.2, 0.25))
    wheel = s.body("wheel", boom, arm.Revolute("y"), at=(0, 0.2, 0), mass=1.5, inertia=(0.02, 0.03, 0.02))
    s.parameter("c", 0.3, units="N*m*s/rad")
    s.moment("motor", "-c*wheel.u1 + 0.4", boom.y, on=wheel, reaction=boom)
    s.moment("brake", 0.7, "hub.x + hub.z", on=wheel, reaction=hub)
    s.moment("twist", -1.3, "ground.x - hub.y", on=skew)
    s.force("push", 5.0, "ground.x + hub.z", at=skew.point("rim", (0.2, 0.1, -0.1)))
    s.force("pull", 3.0, "boom.x - ground.y", at=boom.point("tip", (0.2, 0.3, 0.4)), reaction=hub)
    s.moment("hinge", 2.0, "hub.z", on=boom, reaction=hub)
    if given:
        s.prescribe("wheel.u1", "30 + 2*t")
        s.prescribe("boom.q2", "0.2 + 0.3*t^2")
    return s


@cache
def wheels(velocity: str, given: bool, formalism: str) -> Model:
    return rotors(velocity, given).derive(formalism).compile()


def at_random(model: Any, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    state = rng.normal(size=len(model.coordinate_names) + len(model.speed_names))
    state[3:7] /= np.linalg.norm(state[3:7])
    return state


@pytest.mark.parametrize("formulation", ["mbdyfn", "mbdyfr"])
@pytest.mark.parametrize("velocity", ["parent", "body"])
@pytest.mark.parametrize("given", [False, True], ids=["free", "given"])
def test_rigid_tree_with_rotors(formulation: str, velocity: str, given: bool) -> None:
    models = [wheels(velocity, given, f) for f in (formulation, "kane")]
    assert models[0].speed_names == models[1].speed_names
    for seed in range(5):
        state = at_random(models[0], seed)
        found, expected = (m.derivatives(0.7, state) for m in models)
        scale = np.abs(expected).max()
        assert_close(found / scale, expected / scale, ACCELERATIONS, f"{formulation}, rates")


def test_wheels_are_rotors_however_their_axes_lie() -> None:
    """Round about the axis to rounding, of an axis askew too; the turned box and the boom are none. The axial
    inertias are those given.
    """
    groups = hinged_groups(rotors(), reader(lambda x: x), "mbdyfn").groups
    assert {g.name: [groups[i].name for i in g.rotors] for g in groups} == {
        "hub": ["skew"], "skew": [], "boom": ["wheel"], "wheel": [],
    }  # fmt: skip
    assert {g.name: g.axial for g in groups if g.axial is not None} == pytest.approx(
        {"skew": 0.35, "wheel": 0.03}
    )


def test_momentum_with_rotors() -> None:
    """About the mass centre in the ground's axes, against the sum over bodies."""
    s = rotors()
    H = s.angular_momentum("mass centre")
    for axis in "xyz":
        s.output(f"H{axis}", arm.dot(H, getattr(s.ground, axis)))
    model = s.derive("mbdyfn").compile()
    shown = model.outputs(0.0, at_random(model, 3))
    found = [shown[f"angular momentum {axis}"] for axis in "xyz"]
    assert_close(found, [shown[f"H{axis}"] for axis in "xyz"], ACCELERATIONS, "angular momentum")


def test_rotors_keep_their_gyroscopic_torque_where_all_else_is_small() -> None:
    """A hub with a wheel at 300 rad/s nutates in MBDYFL as it should: at H/I."""
    s = arm.System("nutation")
    hub = s.body("hub", joint=arm.Free(), mass=10.0, inertia=(5.0, 5.0, 6.0))
    s.body("wheel", hub, arm.Revolute("z"), mass=1.0, inertia=(0.05, 0.05, 0.1))
    model = s.derive("mbdyfl").compile()
    names = [*model.coordinate_names, *model.speed_names]
    values = {"hub.q4": 1.0, "hub.u4": 1e-3, "wheel.u1": 300.0}
    rates = dict(
        zip(names, model.derivatives(0.0, np.array([values.get(n, 0.0) for n in names])), strict=True)
    )
    assert rates["hub.u5"] == pytest.approx(1e-3 * 0.1 * 300.0 / 5.05, rel=1e-12)


def test_undeformed_appendages_on_still_bodies_beside_kane() -> None:
    """All rates of the generic tree with its modes at rest, those of modes and translation included."""
    models = [compiled("mbdyfn"), tree(GENERIC, "mbdyfn").derive("kane").compile()]
    names = [*models[0].coordinate_names, *models[0].speed_names]
    state = GENERIC["exact_regime"]["MBDYFN_undeformed_appendage_bodies_not_rotating"][0]
    values = {"b0.q4": 1.0} | {f"b0.u{i + 4}": w for i, w in enumerate(state["w0"])}
    hinge = 0
    for k in range(1, 5):
        for i in range(len(models[0].equations.system.bodies[f"b{k}"].joint_speeds)):
            values[f"b{k}.q{i + 1}"], values[f"b{k}.u{i + 1}"] = (
                state["gamma"][hinge],
                state["gamma_dot"][hinge],
            )
            hinge += 1
    x = np.array([values.get(n, 0.0) for n in names])
    found, expected = (m.derivatives(0.0, x, parameters(GENERIC, state)) for m in models)
    assert_close(found[:, None], expected[:, None], ACCELERATIONS, "rates")
