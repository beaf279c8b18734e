"""JPL's two bodies with a seven-mode appendage: MBDYFN, MBDYFL, and hinges held.

References: the corrected equations of JPL TR 32-1598, integrated to 1e-12; and the report's printouts, Figs.
13, 14 and 16. The originals were integrated with a fourth-order Adams method at 0.01 s, which explains what a
tight run differs from them: about 1e-3 of amplitude in the modes near 19 rad/s, far less elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.verification.cases.spacecraft import COLUMNS
from tests.verification.common import ACCELERATIONS, assert_near, reference

CASES = {"jpl_mbdyfn": ("mbdyfn", False), "jpl_mbdyfl": ("mbdyfl", False), "jpl_frozen": ("mbdyfn", True)}
EVERY = pytest.mark.parametrize("case", CASES)


def loaded(case: str, prescribed: Any) -> arm.System:
    """The vehicle with every load of the reference states a parameter, and hinges given where they are."""
    s = arm.System("two bodies")
    base = s.body("base", joint=arm.Free(), mass=79.0, inertia=(1230.0, 1290.0, 1650.0, 16.29, 43.45, -61.75))
    data = reference(case)["inputs"]["appendages"][0]
    base.flexible(
        coupling=(data["P"], data["DeltaT"]),
        frequencies=data["sigma"],
        damping=data["damping"],
        total_mass=80.93,
    )
    platform = s.body("platform", base, arm.Gimbal("zx"), mass=1.93, inertia=(4.75, 5.53, 1.32))
    for i, axis in enumerate(("base.z", "platform.x")):
        s.moment(f"tau{i}", f"tau{i}_", axis, on=platform, reaction=base)
    for k, body in enumerate((base, platform)):
        for axis in "xyz":
            s.moment(f"T{k}{axis}", f"T{k}{axis}_", getattr(body, axis), on=body)
            s.force(f"F{k}{axis}", f"F{k}{axis}_", getattr(body, axis), at=body.com)
    for i, given in enumerate(prescribed):
        if given:
            for letter, units in (("a", "rad"), ("v", "rad/s"), ("w", "rad/s2")):
                s.parameter(f"{letter}{i}", 0.0, units=units)
            s.prescribe(f"platform.q{i + 1}", f"a{i} + v{i}*t + 0.5*w{i}*t^2")
    return s


@EVERY
def test_the_data_have_all_variables_of_the_report(case: str) -> None:
    """The case compares those that it finds there, but for accelerations, which jump with the pulses."""
    data = reference(case)
    smooth = [c for c in data["trajectory"]["columns"] if c in COLUMNS and c not in ("W1D", "W2D", "W3D")]
    assert len(smooth) == 22
    printed = data["printed"]["values"]
    assert sum(any(row[column] for row in printed.values()) for column in printed["2.2"]) >= 21


@EVERY
def test_accelerations(case: str) -> None:
    """At the reference states, with free and prescribed hinges; the torque of these too."""
    models: dict[tuple[bool, ...], Any] = {}
    for state in reference(case)["random_states"]["cases"]:
        given = tuple(state["prescribed"])
        if given not in models:
            models[given] = loaded(case, given).derive(CASES[case][0]).compile()
        model = models[given]
        values: dict[str, float] = {"base.q4": 1.0}
        expected: dict[str, float] = {}
        for i in range(3):
            values[f"base.u{i + 4}"], expected[f"base.u{i + 4}"] = state["w0"][i], state["result"]["wdot"][i]
        for i in range(7):
            values[f"base.q{i + 8}"], values[f"base.u{i + 7}"] = state["eta"][i], state["eta_dot"][i]
            expected[f"base.u{i + 7}"] = state["result"]["eta_dd"][i]
        loads: dict[str, float] = {f"tau{i}_": t for i, t in enumerate(state["hinge_torque"])}
        for letter, key in (("T", "body_torque_about_o"), ("F", "body_force_at_o")):
            for k, vector in enumerate(state[key]):
                loads |= {f"{letter}{k}{axis}_": x for axis, x in zip("xyz", vector, strict=True)}
        for i, fixed in enumerate(given):
            motion = state["gamma"][i], state["gamma_dot"][i], state["gamma_dd_prescribed"][i]
            if fixed:
                loads |= {f"{letter}{i}": x for letter, x in zip("avw", motion, strict=True)}
            else:
                values |= {f"platform.q{i + 1}": motion[0], f"platform.u{i + 1}": motion[1]}
                expected[f"platform.u{i + 1}"] = state["result"]["gamma_dd"][i]
        names = [*model.coordinate_names, *model.speed_names]
        x = np.array([values.get(n, 0.0) for n in names])
        rates = dict(zip(names, model.derivatives(0.0, x, loads), strict=True))
        scale = max(abs(v) for v in expected.values())
        found = np.array([rates[n] for n in expected])
        assert_near(found / scale, np.array([*expected.values()]) / scale, ACCELERATIONS, case)
        shown = model.outputs(0.0, x, loads)
        for i, fixed in enumerate(given):
            if fixed:  # to the torque's own size; it is a difference of larger ones
                wanted = state["result"]["hinge_torque"][i]
                assert shown[f"torque(platform.u{i + 1})"] == pytest.approx(wanted, rel=1e-9)
