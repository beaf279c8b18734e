"""Forces along a line with the variables x, x0 and v of a text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armillary as arm


def suspended(text: str, **names: float) -> arm.System:
    """A plate that turns and slides; a spring along the ground's y from its corner."""
    s = arm.System("plate")
    s.parameter("k", 50.0, units="N/m")
    s.parameter("c", 3.0, units="N*s/m")
    for name, value in names.items():
        s.parameter(name, value, units="m")
    slide = s.body("slide", joint=arm.Prismatic("y"), at=(0, 0.7, 0), mass=1.0, inertia=0)
    plate = s.body("plate", slide, arm.Revolute("z"), mass=2.0, inertia=(0.1, 0.1, 0.2))
    s.force("spring", text, s.ground.y, at=plate.point("corner", (0.3, 0.2, 0)))
    return s


def rates(s: arm.System) -> np.ndarray:
    return s.derive().compile().derivatives(0.0, [0.1, 0.4, -0.3, 1.2])


def test_a_text_means_the_distance_its_nominal_value_and_the_velocity_along_the_line() -> None:
    # Sayers (1990), add-line-force: by hand, the corner's height and its rate.
    x = "(0.7 + slide.q1 + 0.3*sin(plate.q1) + 0.2*cos(plate.q1))"
    v = "(slide.u1 + (0.3*cos(plate.q1) - 0.2*sin(plate.q1))*plate.u1)"
    found = rates(suspended("-k*(x - x0) - c*v"))
    np.testing.assert_allclose(found, rates(suspended(f"-k*({x} - 0.9) - c*{v}")), rtol=1e-13)


def test_a_reaction_is_where_distance_and_velocity_are_measured_from() -> None:
    s = arm.System("two")
    s.parameter("k", 50.0, units="N/m")
    s.parameter("c", 3.0, units="N*s/m")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    b = s.body("b", joint=arm.Free(), at=(0.5, 0, 0), mass=2.0, inertia=(1, 1, 1))
    s.force("spring", "-k*(x - x0) - c*v", a.x, at=b.point((0.1, 0, 0)), reaction=a.com)
    model = s.derive().compile()
    state = model.state({"a.q1": 0.2, "a.u1": 1.0, "b.q1": -0.3, "b.u1": -0.4})
    assert model.outputs(0.0, state)["spring"] == pytest.approx(-50 * (-0.5) - 3 * (-1.4), rel=1e-13)


def test_names_of_the_model_go_first() -> None:
    held = suspended("-k*(x - x0)", x=0.5, x0=0.2)
    assert held.derive().compile().outputs(0.0, [0, 0, 0, 0])["spring"] == pytest.approx(-15.0)
    free = suspended("-k*(x - x0)", x0=0.2)  # a free length of one's own
    assert free.derive().compile().outputs(0.0, [0, 0, 0, 0])["spring"] == pytest.approx(-50 * 0.7)


def test_the_text_is_kept_in_a_saved_model(tmp_path: Path) -> None:
    s = suspended("-k*(x - x0) - c*v")
    s.save(tmp_path / "plate.toml")
    assert 'force = "-k*(x - x0) - c*v"' in (tmp_path / "plate.toml").read_text(encoding="utf-8")
    np.testing.assert_array_equal(rates(arm.load(tmp_path / "plate.toml")), rates(s))
