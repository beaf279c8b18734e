"""Efforts along coordinates, loads as vectors, and directions whose length does not count."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError


def _two(loads: str) -> arm.stages.Model:
    """A hinge, and on it a slider at a slant; the same servo by ``effort_on`` or by hand."""
    s = arm.System("arm")
    for name in ("k", "c"):
        s.parameter(name, 3.0)
    s.gravity(9.81, -s.ground.y)
    a = s.body("a", joint=arm.Revolute("z"), com=(0.3, 0, 0), mass=2, inertia=(0.1, 0.1, 0.2))
    b = s.body("b", a, arm.Prismatic((0.6, 0.8, 0)), at=(1, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    turn, push = "-k*a.q1 - 0.2*a.u1", "-40*b.q1 - c*b.u1"
    if loads == "effort_on":
        s.effort_on("a.q1", turn)
        s.effort_on(b.q1, push, name="servo")
    else:
        s.moment("effort_a_q1", turn, s.ground.z, on=a)
        s.force("servo", push, a.frame.vector((0.6, 0.8, 0)), at=b.origin, reaction=a)
    return s.derive().compile()


def test_an_effort_on_a_coordinate_is_the_load_between_its_bodies(tmp_path: Path) -> None:
    """The run is that of the moment and the force written by hand; text models keep the efforts."""
    mine, by_hand = _two("effort_on"), _two("hand")
    start = {"a.q1": 0.4, "b.q1": 0.1, "b.u1": -0.5}
    runs = [m.simulate(2.0, step=1e-3, sample=0.1, initial=start) for m in (mine, by_hand)]
    for name in ("a.q1", "b.q1", "servo", "effort_a_q1"):
        np.testing.assert_allclose(runs[0][name], runs[1][name], rtol=1e-9, atol=1e-11)
    system = mine.equations.system
    system.save(tmp_path / "arm.toml")
    text = (tmp_path / "arm.toml").read_text(encoding="utf-8")
    assert "[loads.servo]" in text and "effort = " in text
    again = arm.load(tmp_path / "arm.toml").derive().compile()
    run = again.simulate(2.0, step=1e-3, sample=0.1, initial=start)
    np.testing.assert_allclose(run["a.q1"], runs[0]["a.q1"], rtol=1e-12)


def test_an_effort_does_work_on_its_coordinate_alone() -> None:
    """Hinges of a gimbal that are not at right angles: generalised forces (2, 0) and (0, 2)."""
    for coordinate in ("g.q1", "g.q2"):
        s = arm.System("gimbal")
        s.parameter("T", 2.0)
        s.body("g", joint=arm.Gimbal([(0, 0, 1), (0.6, 0, 0.8)]), mass=1, inertia=(1, 2, 2.5))
        s.effort_on(coordinate, "T")
        held = s.derive().compile().inverse({"g.q1": 0.3, "g.q2": 0.7})
        wanted = {"g.q1": [-2, 0], "g.q2": [0, -2]}[coordinate]  # what holds it against the effort
        assert held.values == pytest.approx(wanted, abs=1e-12)


def test_names_of_efforts_are_numbered_and_coordinates_without_one_are_refused() -> None:
    s = arm.System("ball")
    s.body("a", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.body("free", joint=arm.Spherical(), mass=1, inertia=(1, 1, 1))
    s.effort_on("a.q1", 1.0)
    s.effort_on("a.q1", 2.0)
    assert list(s.loads) == ["effort_a_q1", "effort_a_q1_2"]
    with pytest.raises(ArmillaryError, match=r"'a\.u1' is not a coordinate"):
        s.effort_on("a.u1", 1.0)
    with pytest.raises(ArmillaryError, match="is not one of its speeds"):
        s.effort_on("free.q1", 1.0)


def test_loads_can_be_vectors(tmp_path: Path) -> None:
    """3 x + 4 y N is a force of 5 N along (0.6, 0.8, 0); a moment likewise; both are kept in text models."""
    for given in ("vector", "size"):
        s = arm.System("block")
        body = s.body("b", joint=arm.Free(), mass=2, inertia=(0.1, 0.2, 0.25))
        if given == "vector":
            s.force_vector("F", 3 * s.ground.x + 4 * s.ground.y, at=body.point((0, 0, 0.1)))
            s.moment_vector("M", "0.06*b.x - 0.08*b.z", on=body)
            s.save(tmp_path / "block.toml")
            s = arm.load(tmp_path / "block.toml")
            vector = s.derive().compile().simulate(1.0, step=0.01, sample=0.1)
        else:
            s.force("F", 5.0, arm.direction(3 * s.ground.x + 4 * s.ground.y), at=body.point((0, 0, 0.1)))
            s.moment("M", 0.1, arm.direction(0.6 * body.x - 0.8 * body.z), on=body)
            size = s.derive().compile().simulate(1.0, step=0.01, sample=0.1)
    for name in ("b.q1", "b.q5", "b.u4", "b.u6", "F", "M"):
        np.testing.assert_allclose(vector[name], size[name], rtol=1e-10, atol=1e-14)
    with pytest.raises(ArmillaryError, match="is not a vector"):
        s.force_vector("G", 3.0, at="b")


@pytest.mark.parametrize(
    ("load", "length"),
    [
        (lambda s, b: s.force("F", 1.0, 3 * s.ground.x + 4 * s.ground.y, at=b), "5"),
        (lambda s, b: s.moment("M", 1.0, "2*b.z", on=b), "2"),
        (lambda s, b: s.gravity(1.0, -9.81 * s.ground.z), "9.81"),
    ],
)
def test_a_direction_whose_length_does_not_count_says_so(load, length: str) -> None:
    s = arm.System("block")
    b = s.body("b", joint=arm.Free(), mass=2, inertia=(0.1, 0.2, 0.25))
    with pytest.warns(UserWarning, match=f"has the length {length}, which does not count"):
        load(s, b)


def test_unit_directions_say_nothing() -> None:
    s = arm.System("block")
    b = s.body("b", joint=arm.Free(), mass=2, inertia=(0.1, 0.2, 0.25))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.force("F", 1.0, arm.direction(3 * s.ground.x + 4 * s.ground.y), at=b)
        s.force("G", 1.0, 0.577 * s.ground.x + 0.577 * s.ground.y + 0.577 * s.ground.z, at=b)
        s.moment("M", 1.0, arm.cross(b.x, s.ground.z), on=b)  # its length varies
        s.gravity(9.81, -s.ground.z)
