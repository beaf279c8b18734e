"""Arrows of loads, velocities, weights and reactions, beside closed forms of a driven pendulum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.results.plots.motion import PictureOptions
from armillary.viewer.figures import figure_of

M, L, G = 2.0, 0.5, 9.81


def _system() -> arm.System:
    s = arm.System("pendulum")
    s.gravity(G, -s.ground.y)
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0, -L, 0), mass=M, inertia=0)
    s.moment("friction", "-0.3*rod.u1", s.ground.z, on=rod)
    s.force("push", "4*rod.q1", rod.x, at=rod.com)
    s.memory("kept", 1.0)
    s.force("constant", "kept", rod.y, at=rod.com)
    s.strut("spring", "-3*(x - 1)", between=[rod.com, s.ground.point(1, 0, 0)])
    s.start({"rod.q1": 1.0})
    return s


@pytest.mark.parametrize("formalism", ["kane", "momentum"])
def test_vectors_are_those_of_the_loads_and_of_the_motion(formalism: str) -> None:
    model = _system().derive(formalism).compile()
    run = model.simulate(0.5, step=0.05)
    drawn = figure_of(run, core_of(model.equations), PictureOptions(reactions=["rod"])).arrows
    names = [(a["kind"], a["name"], a["body"]) for a in drawn.entries]
    assert names == [
        ("moment", "friction", "rod"), ("force", "push", "rod"), ("force", "constant", "rod"),
        ("force", "spring", "rod"),
        ("velocity", "rod", "rod"), ("weight", "rod", "rod"),
        ("reaction", "rod", "rod"), ("reaction moment", "rod", "rod"),
    ]  # fmt: skip
    assert [a["units"] for a in drawn.entries] == ["N*m", "N", "N", "N", "m/s", "N", "N", "N*m"]
    vectors = drawn.vectors.reshape(len(run), 8, 3).swapaxes(0, 1)
    friction, push, kept, spring, velocity, weight, reaction, moment = vectors
    q, u = run["rod.q1"], run["rod.u1"]
    zero = 0 * q
    x, y = np.stack([np.cos(q), np.sin(q), zero], 1), np.stack([-np.sin(q), np.cos(q), zero], 1)
    assert np.allclose(friction, np.stack([zero, zero, -0.3 * u], 1), atol=1e-12)
    assert np.allclose(push, 4 * q[:, None] * x, atol=1e-12)
    assert np.allclose(kept, y, atol=1e-12)
    assert np.allclose(velocity, L * u[:, None] * x, atol=1e-12)
    assert np.allclose(weight, [0, -M * G, 0], atol=1e-12)
    assert drawn.entries[5]["at"] == [0, -L, 0]
    apart = np.array([1.0, 0, 0]) + L * y  # from the mass centre to the spring's other end
    length = np.linalg.norm(apart, axis=1)
    assert np.allclose(spring, (3 * (length - 1) / length)[:, None] * apart, atol=1e-9)
    # Along the rod: M L u² = reaction + the constant force + weight and spring.
    along = M * L * u**2 + M * G * np.cos(q) - 1.0 - np.sum(spring * y, axis=1)
    assert np.allclose(np.sum(reaction * y, axis=1), along, atol=1e-9)
    assert np.allclose(moment[:, 2], 0, atol=1e-9)


def test_weights_are_in_the_units_of_the_system_and_of_whole_bodies() -> None:
    """Two fields add; a body without mass has no weight; half the mass of the mast is a beam of 40 in."""
    s = arm.System("mast", units="in-lb-s")
    s.gravity(386.2, -s.ground.z)
    s.gravity(20.0, s.ground.x)
    turning = s.body("turning", joint=arm.Revolute("z"), mass=0, inertia=0)
    mast = s.body("mast", turning, arm.Revolute("x"), com=(0, 0, 0), mass=0.5, inertia=(1, 1, 1))
    mast.flexible(arm.Beam(40.0, EI=1e6, mass_per_length=0.5 / 40, along="z"), modes=1)
    model = s.derive().compile()
    figure = figure_of(model.simulate(0.1, step=0.05), core_of(model.equations))
    weights = [(k, a) for k, a in enumerate(figure.arrows.entries) if a["kind"] == "weight"]
    (k, weight), *others = weights
    assert (weight["name"], weight["units"], others) == ("mast", "lb", [])
    assert weight["at"] == pytest.approx([0, 0, 10])
    assert np.allclose(figure.arrows.vectors[:, 3 * k : 3 * k + 3], [20.0, 0, -386.2], atol=1e-9)
    assert figure.content["lengths"] == "in"  # in which the pointer shows places


def test_arrows_are_chosen_by_name(tmp_path: Path) -> None:
    run = _system().derive().compile().simulate(0.1, step=0.05)
    with pytest.raises(arm.ArmillaryError, match="did you mean 'forces'"):
        run.animate(tmp_path / "a.html", arrows=["force"])
    with pytest.raises(arm.ArmillaryError, match="did you mean 'rod'"):
        run.animate(tmp_path / "a.html", reactions=["rood"])
    assert not list(tmp_path.iterdir())
