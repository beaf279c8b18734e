"""Wrong uses of verbs and descriptions, and the sentence that refuses each: it names what is wrong and what
to give instead. The calls are small; none runs a model for longer than milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import armillary as arm
import armillary.run_files
from armillary.algebra.typesetting import latex
from armillary.analysis.kinematics.sweep import _ends
from armillary.control.predictive import PredictiveRegulator
from armillary.errors import ArmillaryError
from armillary.limited_files import write_file
from armillary.run_files.run_file import parse_setting


def described() -> arm.System:
    """A pendulum on a slide with a parameter, an input, an output and a state of its own."""
    s = arm.System("crane")
    s.parameter("k", 20.0, units="N/m")
    trolley = s.body("trolley", joint=arm.Prismatic("x"), mass=2.0)
    load = s.body(
        "load", trolley, joint=arm.Revolute("y"), com=(0, 0, -1.5), mass=1.0, inertia=(0.1, 0.1, 0.1)
    )
    s.gravity(9.81, -s.ground.z)
    s.input("F", units="N")
    s.force("drive", "F - k*trolley.q1", s.ground.x, at=trolley.com)
    s.output("height", "-1.5*cos(load.q1)", units="m")
    assert load.q1.data.name == "load.q1"
    return s


@cache
def equations() -> arm.Equations:
    return described().derive()


@cache
def model() -> arm.Model:
    return equations().compile()


@cache
def run() -> arm.Run:
    return model().simulate(0.02, step=0.01)


def batch(metrics: object = None, k: object = (1.0, 2.0)) -> object:
    return model().simulate_batch(0.02, step=0.01, parameters={"k": k}, metrics=metrics, progress=False)


def two_hooks() -> None:
    s = described()
    for _ in range(2):
        s.shape("hook", arm.Sphere(0.1), body=s.bodies["load"])


def rope_without_length() -> None:
    s = described()
    s.close_joint("distance", s.ground.origin, s.bodies["load"].com, name="rope")


def foot(**given: object) -> None:
    s = described()
    s.contact("foot", s.bodies["load"].com, plane=(s.ground.origin, s.ground.z), **given)


def relief(points: object) -> None:
    s = described()
    s.shape("ground", arm.HeightProfile("x*y", (0.0, 1.0), (0.0, 1.0), points=points), body=s.bodies["load"])


def feedback(**given: Any) -> None:
    described().feedback("law", [[1.0]], ["load.q1"], units=["N"], **given)


def law_of_four_states() -> None:
    law: Any = SimpleNamespace(states=("x", "q", "v", "w"))
    PredictiveRegulator.expressions(law, described(), states=["trolley.q1"])


def two_units_on_one_axis() -> None:
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    run().plot("trolley.q1", "load.q1", ax=axes)


def metres_of_a_force() -> object:
    return arm.Table([0.0, 1.0], [0.0, 1.0], name="t", x_units="m")(arm.System("s").input("F", units="N"))


CALLS: dict[str, Callable[[], object]] = {
    "latex: 3 is not an expression": lambda: latex(3),
    "inverse(): actuators= names 'F' twice": lambda: model().inverse({}, actuators=["F", "F"]),
    "states at which to linearise have 4 numbers each, not 3": lambda: model().linearize(at=np.zeros((2, 3))),
    "the bounds of 'F' must be a pair (low, high), not 3": lambda: model().trim(
        inputs=["F"], bounds={"F": 3}
    ),
    "states= needs 4 texts, for x, q, v, w": law_of_four_states,
    "there is a shape 'hook' already; choose another name": two_hooks,
    "the content of 'x.txt' must be a text or bytes, not 3": lambda: write_file("x.txt", 3),
    "--set 'SPEED': write NAME=VALUE": lambda: parse_setting("SPEED"),
    "--set '=3': write NAME=VALUE": lambda: parse_setting("=3"),
    "is not a pair of points, e.g. (A.origin, B.com)": lambda: described().strut(
        "s", "-x", between=[1, 2, 3]
    ),
    "'stop': slip= needs friction=, the coefficient while it slides": lambda: described().unilateral(
        "stop", "trolley.q1 + 1", slip="trolley.u1"
    ),
    "contact 'foot': static= needs friction=, the coefficient while it slides": lambda: foot(
        restitution=0.5, static=0.5
    ),
    "Orbit: p=-1 leaves no distance from the attracting body": lambda: arm.Orbit(3.986e14, p=-1.0, e=0.1),
    "table 't' takes an argument of dimension [m], but 'F' has [": metres_of_a_force,
    "distance joint 'rope' needs length=, the distance to be kept": rope_without_length,
    "size=(3, 3): give width and height in pixels, from": lambda: run().animate("x.html", size=(3, 3)),
    "one axis cannot carry several units": two_units_on_one_axis,
    "a page has axes of its own: leave ax out": lambda: run().plot(path="x.html", ax=object()),
    "'crane' has no body or point 'hok' for a path": lambda: run().animate("x.html", paths=["hok"]),
    "'crane' has no body 'lod' to follow; did you mean 'load'?": lambda: run().animate(
        "x.html", follow="lod"
    ),
    "a sketch is written as .svg, not as 'x.png'": lambda: described().draw("x.png"),
    "100 runs are too many for one scene": lambda: arm.view(*[run()] * 100),
    "metric 'high' must be a text or a metric, not 3": lambda: batch({"high": 3}),
    "'crossing(height)': write crossing(output, level)": lambda: batch(["crossing(height)"]),
    "'histogram(height, 1)': write histogram(output, low, high, bins)": lambda: batch(
        ["histogram(height, 1)"]
    ),
    "is inf in run 1; give finite numbers": lambda: batch(k=[1.0, np.inf]),
    "gradient goes back through explicit one-step methods, and 'rodas5p' is not one": lambda: (
        model().gradient(0.02, ["k"], cost="height", method="rodas5p")
    ),
    "module 'armillary' has no attribute 'Revolut'; did you mean 'Revolute'?": lambda: arm.Revolut,
    "'Model' object has no attribute 'simulat'": lambda: model().simulat,
    "estimate: outputs= is empty; name the measured outputs": lambda: model().estimate(
        {"time": [0.0, 1.0]}, outputs=[], inputs=[], process=1.0, measurement=1.0
    ),
    "a grid over 'k', ": lambda: arm.Design({"k": arm.Uniform(1.0, 2.0)}, "grid"),
    "the list has 2 runs, not 3; leave runs out": lambda: arm.Design({"k": [1.0, 2.0]}, "list", 3),
    "vary needs a table of names and distributions, not ['k']": lambda: arm.Design(["k"], "random", 3),
    "points=(1, 9); give 2 to ": lambda: relief((1, 9)),
    "points=3 are not two whole numbers, e.g. (101, 41)": lambda: relief(3),
    "feedback 'law': reference= must be 1 expressions, not 2": lambda: feedback(reference=["0", "0"]),
    "feedback 'law': feedforward= must be 1 expressions, not 3": lambda: feedback(feedforward=[0, 0, 0]),
    "band=3 is not a pair of numbers": lambda: arm.random_signal(1.0, 3, 1.0),
    "band=(2.0, 1.0) must be two positive numbers, the lower one first": lambda: arm.random_signal(
        1.0, (2.0, 1.0), 1.0
    ),
    "needs its times in one row, not shape (2, 2)": lambda: arm.Signal(np.ones((2, 2)), [1.0, 2.0]),
    "module 'armillary.run_files' has no attribute 'nothing'": lambda: armillary.run_files.nothing,
    "workspace: 'x' needs (low, high), not 3": lambda: _ends("x", 3),
    "workspace: 'x': 2 is not below 1": lambda: _ends("x", (2.0, 1.0)),
    "limits= must be {coordinate: (lowest, highest)}, not 3": lambda: arm.exciting_trajectory(
        model(), limits=3
    ),
    "limits= has no 'load.q1'; give its lowest and highest value": lambda: arm.exciting_trajectory(
        model(), limits={"trolley.q1": (-1.0, 1.0)}
    ),
    "held= names 2 coordinates, but the driven quantities leave 1 free": lambda: model().sweep(
        {"load.q1": [0.0, 0.1]}, held=["trolley.q1", "load.q1"]
    ),
    "numpy.frexp takes numbers, not ": lambda: np.frexp(described().input("G")),
    "is a scalar: take the array's elements one by one": lambda: np.add(described().input("G"), np.ones(2)),
    "margins need one loop: name the input, one of F, k, or take": lambda: (
        model().linearize(inputs=["F", "k"], outputs=["height"]).margins()
    ),
}


@pytest.mark.parametrize("sentence", CALLS)
def test_a_wrong_use_is_refused_by_its_sentence(
    sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # were one accepted, its file is written there
    with pytest.raises((ArmillaryError, AttributeError)) as caught:
        CALLS[sentence]()
    assert sentence in str(caught.value)
