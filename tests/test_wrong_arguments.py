"""Wrong arguments of public calls are refused by a sentence, never by a traceback of something inside."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

import armillary as arm

WRONG: dict[str, Any] = {
    "None": None,
    "a list": [1],
    "a table": {3: "x"},
    "an object": object(),
    "text": "text",
    "a fraction": 1.5,
    "NaN": float("nan"),
    "a huge number": 10**400,
    "minus one": -1,
    "a complex number": 1j,
    "bytes": b"b",
    "a function": lambda x: x,
    "an array": np.array([1.0, 2.0]),
    "an array of texts": np.array(["a"]),
}


def described() -> arm.System:
    s = arm.System("s")
    s.parameter("k", 2.0, units="N*m")
    b = s.body("b", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=(1, 1, 1))
    s.gravity(9.81, -s.ground.y)
    s.moment("tau", "-k*b.q1", s.ground.z, on=b)
    s.memory("m", 0.0)
    s.output("x", "sin(b.q1)")
    return s


class Things:
    """What the calls are made on."""

    def __init__(self) -> None:
        self.equations = described().derive()
        self.model = self.equations.compile()
        self.run = self.model.simulate(0.1, step=0.01)
        self.batch = self.model.simulate_batch(
            0.1, step=0.01, parameters={"k": [1.0, 2.0]}, metrics=["final(x)"], progress=False
        )
        self.q = self.equations.system.bodies["b"].q1


@pytest.fixture(scope="module")
def things() -> Things:
    matplotlib.use("Agg")
    return Things()


def _simulate(option: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: a.model.simulate(0.02, **{"step": 0.01, option: v})


def _batch(option: str) -> Callable[[Things, Any], Any]:
    usual: dict[str, Any] = {"step": 0.01, "parameters": {"k": [1.0, 2.0]}, "progress": False}
    return lambda a, v: a.model.simulate_batch(0.02, **{**usual, option: v})


def _body(option: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: described().body("c", **{option: v})


def _joint(name: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: described().body("c", joint=getattr(arm, name)(v))


def _function(name: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: getattr(arm, name)(v)


_RUN = [
    "step",
    "method",
    "parameters",
    "initial",
    "memory",
    "t0",
    "sample",
    "rtol",
    "atol",
    "max_step",
    "max_steps",
]
_MANY = [*_RUN, *["outputs", "metrics", "runs", "threads", "device", "precision", "watch"]]
_OF_ONE = "position velocity angular_velocity magnitude direction time_derivative latex nominal constant_part"

CALLS: dict[str, Callable[[Things, Any], Any]] = {
    "simulate": lambda a, v: a.model.simulate(v),
    **{f"simulate {option}": _simulate(option) for option in _RUN},
    **{f"batch {option}": _batch(option) for option in _MANY},
    "derivatives t": lambda a, v: a.model.derivatives(v, [0.0, 0.0]),
    "derivatives state": lambda a, v: a.model.derivatives(0.0, v),
    "derivatives parameters": lambda a, v: a.model.derivatives(0.0, [0.0, 0.0], v),
    "accelerations": lambda a, v: a.model.accelerations(0.0, v, v),
    "sensitivities": lambda a, v: a.model.with_sensitivities(v),
    "derive": lambda a, v: described().derive(v),
    "compile": lambda a, v: a.equations.compile(v),
    "show": lambda a, v: a.equations.show(v),
    "export": lambda a, v: a.equations.export(v, "exported"),
    "plot": lambda a, v: a.run.plot(v),
    "file of a plot": lambda a, v: a.run.plot("x", path=v if v is not None else 3),
    "runs of a plot": lambda a, v: arm.plot(v, "x"),
    "of": lambda a, v: a.model.with_sensitivities("k", of=3 if v is None else v),
    "column": lambda a, v: a.run[v],
    "columns": lambda a, v: a.run.select(v),
    "save a run": lambda a, v: a.run.save(v),
    "compare": lambda a, v: a.run.compare(v),
    "interpolate": lambda a, v: a.run.interpolate(v, "x"),
    "metric": lambda a, v: a.batch[v],
    "load": _function("load"),
    "load a run": _function("load_run"),
    "open a study": _function("open_study"),
    "run a file": _function("run"),
    "units of a system": lambda a, v: arm.System("s", units=v),
    "name of a parameter": lambda a, v: described().parameter(v),
    "default": lambda a, v: described().parameter("p", v),
    "units": lambda a, v: described().parameter("p", 1.0, units=v),
    "about": lambda a, v: described().parameter("p", 1.0, about=v),
    **{
        f"body {option}": _body(option)
        for option in ["parent", "joint", "at", "orient", "com", "mass", "inertia"]
    },
    **{name: _joint(name) for name in ("Revolute", "Prismatic", "Cylindrical", "Planar", "Gimbal", "Free")},
    "Joint": lambda a, v: described().body("c", joint=arm.Joint(translate=v, rotate=v)),
    "velocity of Free": lambda a, v: arm.Free(velocity=v),
    "force": lambda a, v: described().force("f", v, "b.x", at="b"),
    "direction of a force": lambda a, v: described().force("f", 1, v, at="b"),
    "place of a force": lambda a, v: described().force("f", 1, "b.x", at=v),
    "reaction": lambda a, v: described().force("f", 1, "b.x", at="b", reaction=v),
    "strut": lambda a, v: described().strut("f", "-x", between=v),
    "what an event sets": lambda a, v: described().event("e", "t - 1", set=v),
    "what an event locks": lambda a, v: described().event("e", "t - 1", lock=v),
    "direction of an event": lambda a, v: described().event("e", "t - 1", direction=v),
    "name of an event": lambda a, v: described().event(v, "t - 1"),
    "name of an output": lambda a, v: described().output(v, "t"),
    "units of an output": lambda a, v: described().output("o", "t", units=v),
    "constrain": lambda a, v: described().constrain(v),
    "close_joint": lambda a, v: described().close_joint(v, v, v),
    "start": lambda a, v: described().start(v),
    "prescribe": lambda a, v: described().prescribe("b.q1", v),
    "save a system": lambda a, v: described().save(v),
    "kinetic_energy": lambda a, v: described().kinetic_energy(v),
    "flexible": lambda a, v: described().bodies["b"].flexible(v),
    "Beam": lambda a, v: arm.Beam(v, EI=v, mass_per_length=v),
    "Table": lambda a, v: arm.Table(v, v),
    "Orbit": lambda a, v: arm.Orbit(v, a=v),
    **{name: _function(name) for name in _OF_ONE.split()},
    "derivative by": lambda a, v: arm.derivative(a.q * a.q, v),
    "derivative of": lambda a, v: arm.derivative(v, a.q),
    "solve_for": lambda a, v: arm.solve_for(a.q, v),
    "evaluate": lambda a, v: arm.evaluate(a.q, v),
    "substitute": lambda a, v: arm.substitute(a.q, v),
    "dot": lambda a, v: arm.dot(v, v),
    "project": lambda a, v: arm.project(v, v),
    "Uniform": lambda a, v: arm.Uniform(v, v),
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_arguments_are_refused_by_a_sentence(
    call: str, things: Things, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value may be right for a call; where it is not, the error is one of ours."""
    monkeypatch.chdir(tmp_path)
    refused = 0
    for name, value in WRONG.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                CALLS[call](things, value)
        except arm.ArmillaryError as error:
            refused += 1
            assert len(str(error).strip()) > 10
        except Exception as error:
            pytest.fail(f"{call} of {name}: {type(error).__name__}: {error}")
    assert refused >= 5


def test_refusals_name_the_argument_and_what_it_must_be(things: Things) -> None:
    model = things.model
    for call, message in (
        (lambda: model.simulate(None), "t_end must be a number of seconds, not None"),
        (lambda: model.simulate(1.0, max_steps=1.5), "max_steps must be a positive whole number, not 1.5"),
        (lambda: model.simulate(1.0, parameters=[1]), r"parameters= must hold values by name, .*not \[1\]"),
        (lambda: described().body("c", mass=10**400), "mass of body 'c': 1000.*… is not a number"),
        (lambda: things.run.plot(["x"]), r"the name of an output must be a text, not \['x'\]"),
        (lambda: model.simulate(1.0, method=["rk4"]), r"no integration method '\['rk4'\]'"),
        (lambda: described().body("c", jiont=1), "unexpected keyword argument 'jiont'; did you mean 'joint'"),
        (lambda: things.run.plot("x", title=3), "title must be a text, not 3"),
        (lambda: arm.load(3), "the model must be the path of a file or folder, not 3"),
    ):
        with pytest.raises(arm.ArmillaryError, match=message):
            call()
