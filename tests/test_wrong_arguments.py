"""Wrong arguments of public calls are refused by a sentence, never by a traceback of something inside."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.wrong_arguments import WRONG


def described() -> arm.System:
    s = arm.System("s")
    s.parameter("k", 2.0, units="N*m")
    b = s.body("b", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=(1, 1, 1))
    s.gravity(9.81, -s.ground.y)
    s.moment("tau", "-k*b.q1", s.ground.z, on=b)
    s.memory("m", 0.0)
    s.input("u")
    s.output("x", "sin(b.q1)")
    return s


_standing: list[arm.System] = []


def standing() -> arm.System:
    """A system for verbs, the same until one is accepted: those refused leave it as it was, which
    model/test_verbs_are_atomic.py asserts.
    """
    if not _standing:
        _standing.append(described())
    return _standing[0]


class Things:
    """What the calls are made on."""

    def __init__(self) -> None:
        self.equations = described().derive()
        self.model = self.equations.compile()
        self.run = self.model.simulate(0.1, step=0.01)
        self.batch = self.model.simulate_batch(
            0.1, step=0.01, parameters={"k": [1.0, 2.0]}, metrics=["final(x)"], progress=False
        )
        self.point = self.model.equilibrium()
        self.linear = self.model.linearize(at={"b.q1": 0.3}, inputs=["k"], outputs=["x"])
        self.q = self.equations.system.bodies["b"].q1


@pytest.fixture(scope="module")
def things() -> Things:
    return Things()


def _simulate(option: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: a.model.simulate(0.02, **{"step": 0.01, option: v})


def _sweep(option: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: a.model.sweep({"b.q1": [0.1, 0.2]}, **{option: v})


def _live(option: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: a.model.live("no folder/page.html", **{"grab": False, option: v})


def _solve(option: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: a.model.solve({"x": 0.5}, **{option: v})


def _batch(option: str) -> Callable[[Things, Any], Any]:
    usual: dict[str, Any] = {"step": 0.01, "parameters": {"k": [1.0, 2.0]}, "progress": False}
    return lambda a, v: a.model.simulate_batch(0.02, **{**usual, option: v})


def _body(option: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: standing().body("c", **{option: v})


def _joint(name: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: standing().body("c", joint=getattr(arm, name)(v))


def _function(name: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: getattr(arm, name)(v)


def _function_of_two(name: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: getattr(arm, name)(v, v)


def _function_with_q(name: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: getattr(arm, name)(a.q, v)


def _metric(name: str) -> Callable[[Things, Any], Any]:
    return lambda a, v: a.model.simulate_batch(
        0.02, step=0.01, runs=2, metrics={"m": getattr(arm, name)(v)}, progress=False
    )


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
_SWEEP = [
    "outputs",
    "speeds",
    "accelerations",
    "derivatives",
    "static",
    "grid",
    "held",
    "start",
    "parameters",
    "time",
]
_SOLVE = ["limits", "held", "start", "starts", "shown", "parameters", "time"]
_OF_NUMBERS = "abs acos asin atan ceil cos exp floor log not_ sign sin sqrt tan tanh"
_OF_TWO_NUMBERS = "and_ atan2 equal hypot max min mod not_equal or_"
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
    "mass_matrix t": lambda a, v: a.model.mass_matrix(v, [0.0]),
    "mass_matrix q": lambda a, v: a.model.mass_matrix(0.0, v),
    "forcing": lambda a, v: a.model.forcing(0.0, [0.0], v, memory=v),
    "jacobian": lambda a, v: a.model.jacobian(v, 0.0, [0.0]),
    "axes of a jacobian": lambda a, v: a.equations.jacobian("b", v),
    "element of a matrix": lambda a, v: a.equations.mass_matrix[v],
    "form in LaTeX": lambda a, v: a.equations.latex(v),
    "speeds in HTML": lambda a, v: a.equations.html(speeds=v),
    "file of a handout": lambda a, v: a.equations.handout(v),
    "load_sweep": lambda a, v: arm.load_sweep(v),
    "live": lambda a, v: a.model.live(v, grab=False),
    **{f"live {x}": _live(x) for x in ("sliders", "inputs", "step", "title")},
    "sweep": lambda a, v: a.model.sweep(v),
    "sweep values": lambda a, v: a.model.sweep({"b.q1": v}),
    **{f"sweep {option}": _sweep(option) for option in _SWEEP},
    "solve": lambda a, v: a.model.solve(v),
    "solve values": lambda a, v: a.model.solve({"x": v}),
    **{f"solve {option}": _solve(option) for option in _SOLVE},
    "workspace": lambda a, v: a.model.workspace(v, ["x"]),
    "workspace ends": lambda a, v: a.model.workspace({"b.q1": v}, ["x"], points=3),
    "workspace outputs": lambda a, v: a.model.workspace({"b.q1": (0, 1)}, v, points=3),
    "shape": lambda a, v: standing().shape("case", body="b", shape=v),
    "shape at": lambda a, v: standing().shape("case", body="b", shape=arm.Sphere(1), at=v),
    "shape colour": lambda a, v: standing().shape("case", body="b", shape=arm.Sphere(1), colour=v),
    "body shape": lambda a, v: standing().bodies["b"].shape(v),
    "Box": lambda a, v: standing().bodies["b"].shape(arm.Box(v, 1, 1)),
    "Ellipsoid": lambda a, v: standing().bodies["b"].shape(arm.Ellipsoid(v, 1, 1)),
    "Sphere": lambda a, v: standing().bodies["b"].shape(arm.Sphere(v)),
    "Cylinder": lambda a, v: standing().bodies["b"].shape(arm.Cylinder(v, 1)),
    "Capsule": lambda a, v: standing().bodies["b"].shape(arm.Capsule(v, 1)),
    "Cone": lambda a, v: standing().bodies["b"].shape(arm.Cone(v, 1)),
    "Wheel": lambda a, v: standing().bodies["b"].shape(arm.Wheel(v, 1)),
    "shape between": lambda a, v: standing().shape("case", arm.Rod(), between=v),
    "Mesh": lambda a, v: arm.Mesh(v),
    "Mesh scale": lambda a, v: arm.Mesh("a.stl", scale=v),
    "Polyhedron": lambda a, v: standing().bodies["b"].shape(arm.Polyhedron(v)),
    "Polyhedron faces": lambda a, v: (
        described().bodies["b"].shape(arm.Polyhedron([[0, 0, 0]] * 4, 3 if v is None else v))
    ),
    "Polyline": lambda a, v: standing().bodies["b"].shape(arm.Polyline(v)),
    "Spring": lambda a, v: standing().shape("x", arm.Spring(v), between=("b.com", "ground.origin")),
    "Damper": lambda a, v: standing().shape("x", arm.Damper(v), between=("b.com", "ground.origin")),
    "Rod": lambda a, v: standing().shape("x", arm.Rod(v), between=("b.com", "ground.origin")),
    "Cable": lambda a, v: standing().shape("x", arm.Cable(v), between=("b.com", "ground.origin")),
    "Plane": lambda a, v: standing().ground.shape(arm.Plane(v, 1)),
    "Grid": lambda a, v: standing().ground.shape(arm.Grid(v, 1, 1)),
    "HeightProfile": lambda a, v: standing().ground.shape(arm.HeightProfile(v, x=(0, 1), y=(0, 1))),
    "HeightProfile x": lambda a, v: standing().ground.shape(arm.HeightProfile("x", x=v, y=(0, 1))),
    "Earth": lambda a, v: standing().ground.shape(arm.Earth(v)),
    "Earth orbit": lambda a, v: standing().ground.shape(arm.Earth(orbit=v)),
    "load_linear": lambda a, v: arm.load_linear(v),
    "root_locus": lambda a, v: arm.root_locus(a.model, v, [1.0, 2.0]),
    "values of a root locus": lambda a, v: arm.root_locus(a.model, "k", v),
    "campbell": lambda a, v: arm.campbell(a.model, v, [1.0, 2.0]),
    "exciting_trajectory": lambda a, v: arm.exciting_trajectory(a.model, v),
    "identify": lambda a, v: arm.identify(a.model, v, v),
    "derive": lambda a, v: standing().derive(v),
    "compile": lambda a, v: a.equations.compile(v),
    "find_configurations": lambda a, v: a.equations.find_configurations(v),
    "show": lambda a, v: a.equations.show(v),
    "export": lambda a, v: a.equations.export(v, "exported"),
    "plot": lambda a, v: a.run.plot(v),
    "sheet": lambda a, v: arm.sheet(v, "never.html"),
    "view": lambda a, v: arm.view(v, path="never.html"),
    "file of a plot": lambda a, v: a.run.plot("x", path=v if v is not None else 3),
    "runs of a plot": lambda a, v: arm.plot(v, "x"),
    "of": lambda a, v: a.model.with_sensitivities("k", of=3 if v is None else v),
    "column": lambda a, v: a.run[v],
    "columns": lambda a, v: a.run.select(v),
    "save a run": lambda a, v: a.run.save(v),
    "compare": lambda a, v: a.run.compare(v),
    "interpolate": lambda a, v: a.run.interpolate(v, "x"),
    "metric": lambda a, v: a.batch[v],
    "value of a point": lambda a, v: a.point[v],
    "mode": lambda a, v: a.linear.modes()[v],
    "tolerance of modes": lambda a, v: a.linear.modes(tolerance=v),
    "tolerance of a reduction": lambda a, v: a.linear.reduce(tolerance=v),
    "frequency response": lambda a, v: a.linear.frequency_response([1.0])["x", v],
    "difference": lambda a, v: a.run.compare(a.run)[v],
    "tolerance of a comparison": lambda a, v: a.run.compare(a.run, rtol=v),
    "effort": lambda a, v: a.model.inverse([0.1])[v],
    "base parameter": lambda a, v: a.model.regressor([0.1]).parameters[v],
    "column of a sweep": lambda a, v: a.model.sweep({"b.q1": [0.1]})[v],
    "row of a sweep": lambda a, v: a.model.sweep({"b.q1": [0.1]}).initial(v),
    "axes of a plot": lambda a, v: a.run.plot("x", ax=v, path="x.png"),
    "axes of a page": lambda a, v: a.run.plot("x", ax=v, path="x.html"),
    "value of a table": lambda a, v: arm.Table([0, 1], [0, 1])(v),
    "slope of a table": lambda a, v: arm.Table([0, 1], [0, 1]).derivative(v),
    "load": _function("load"),
    "load a run": _function("load_run"),
    "load a batch": _function("load_batch"),
    "load a point": _function("load_point"),
    "open a study": _function("open_study"),
    "run a file": _function("run"),
    "units of a system": lambda a, v: arm.System("s", units=v),
    "name of a parameter": lambda a, v: standing().parameter(v),
    "default": lambda a, v: standing().parameter("p", v),
    "units": lambda a, v: standing().parameter("p", 1.0, units=v),
    "about": lambda a, v: standing().parameter("p", 1.0, about=v),
    **{
        f"body {option}": _body(option)
        for option in ["parent", "joint", "at", "orient", "com", "mass", "inertia"]
    },
    **{name: _joint(name) for name in ("Revolute", "Prismatic", "Cylindrical", "Planar", "Gimbal", "Free")},
    "Joint": lambda a, v: standing().body("c", joint=arm.Joint(translate=v, rotate=v)),
    "velocity of Free": lambda a, v: arm.Free(velocity=v),
    "force": lambda a, v: standing().force("f", v, "b.x", at="b"),
    "direction of a force": lambda a, v: standing().force("f", 1, v, at="b"),
    "place of a force": lambda a, v: standing().force("f", 1, "b.x", at=v),
    "reaction": lambda a, v: standing().force("f", 1, "b.x", at="b", reaction=v),
    "strut": lambda a, v: standing().strut("f", "-x", between=v),
    "what an event sets": lambda a, v: standing().event("e", "t - 1", set=v),
    "what an event locks": lambda a, v: standing().event("e", "t - 1", lock=v),
    "direction of an event": lambda a, v: standing().event("e", "t - 1", direction=v),
    "name of an event": lambda a, v: standing().event(v, "t - 1"),
    "name of an output": lambda a, v: standing().output(v, "t"),
    "units of an output": lambda a, v: standing().output("o", "t", units=v),
    "constrain": lambda a, v: standing().constrain(v),
    "close_joint": lambda a, v: standing().close_joint(v, v, v),
    "start": lambda a, v: standing().start(v),
    "prescribe": lambda a, v: standing().prescribe("b.q1", v),
    "save a system": lambda a, v: standing().save(v),
    "kinetic_energy": lambda a, v: standing().kinetic_energy(v),
    "flexible": lambda a, v: standing().bodies["b"].flexible(v),
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
    "name of a system": lambda a, v: arm.System(v),
    "on_start": lambda a, v: a.model.simulate(0.02, step=0.01, on_start=3 if v is None else v),
    "what on_start gives": lambda a, v: a.model.simulate(0.02, step=0.01, on_start=lambda x: v),
    "what on_start sets": lambda a, v: a.model.simulate(0.02, step=0.01, on_start=lambda x: {"b.q1": v}),
    "on_start of many": lambda a, v: a.model.simulate_batch(0.02, step=0.01, runs=2, on_start=v),
    "progress": _simulate("progress"),
    "axes": lambda a, v: standing().derive("momentum", axes=v),
    "axes of kane": lambda a, v: standing().derive("kane", axes=v),
    "regroup": lambda a, v: standing().derive(regroup=v),
    "small terms": lambda a, v: standing().derive(small=v),
    "keep": lambda a, v: standing().derive(keep=v),
    "from_csv": lambda a, v: arm.Table.from_csv(v),
    "lag": lambda a, v: standing().lag("y", "b.q1", v),
    "input of a lag": lambda a, v: standing().lag("y", v, 1),
    "second_order_lag": lambda a, v: standing().second_order_lag("y", "b.q1", v, 0.5),
    "rate_limit": lambda a, v: standing().rate_limit("y", "b.q1", v, 0.1),
    "pid": lambda a, v: standing().pid("y", "b.q1", v),
    "transfer_function": lambda a, v: standing().transfer_function("y", "b.q1", [1], v),
    "delay": lambda a, v: standing().delay("y", "b.q1", v),
    "order of a delay": lambda a, v: standing().delay("y", "b.q1", 1, order=v),
    "linear_model": lambda a, v: standing().linear_model("y", v, [[1.0]], [[1.0]]),
    "matrix of a linear model": lambda a, v: standing().linear_model("y", ["b.q1"], v),
    "feedback": lambda a, v: standing().feedback("y", v, ["b.q1"], units=["N"]),
    "states of a feedback": lambda a, v: standing().feedback("y", 0, v, units=["N"]),
    "Signal": lambda a, v: arm.Signal(v, v),
    "random_road": lambda a, v: arm.random_road("A", v, 1.0),
    "class of a road": lambda a, v: arm.random_road(v, 1.0, 1.0),
    "random_turbulence": lambda a, v: arm.random_turbulence("vertical", 1.0, v, 10.0, 100.0),
    "random_signal": lambda a, v: arm.random_signal(v, (1.0, 10.0), 2.0),
    "band": lambda a, v: arm.random_signal(1.0, v, 2.0),
    "seed": lambda a, v: arm.random_signal(1.0, (1.0, 10.0), 2.0, seed=v),
    "delayed": lambda a, v: arm.Signal([0, 1], [0, 1]).delayed(v),
    "interpolation": lambda a, v: arm.Signal([0], [0], interpolation=v),
    "interpolation of an input": lambda a, v: standing().input("w", interpolation=v),
    "sampled": lambda a, v: arm.Signal.sampled(v, 1.0, every=0.5),
    "inputs of a run": lambda a, v: a.model.simulate(0.1, step=0.05, inputs=v),
    "data of an input": lambda a, v: a.model.simulate(0.1, step=0.05, inputs={"u": v}),
    **{name: _function(name) for name in _OF_NUMBERS.split()},
    **{name: _function_of_two(name) for name in _OF_TWO_NUMBERS.split()},
    **{f"{name} with an expression": _function_with_q(name) for name in _OF_TWO_NUMBERS.split()},
    "select": lambda a, v: arm.select(v, v, v),
    "fmu": _function("fmu"),
    "fmu of a system": lambda a, v: standing().fmu("f", v, every=0.1),
    "ssp of a system": lambda a, v: standing().ssp("f", v, every=0.1),
    "content of a file": lambda a, v: arm.write_file("/nowhere/x.txt", v),
    "ssp to write": lambda a, v: arm.write_ssp(v, {"a": a.model}),
    "parts of an ssp": lambda a, v: arm.write_ssp("/nowhere/x.ssp", v),
    "state": lambda a, v: standing().state(v, rate=1),
    "rate of a state": lambda a, v: standing().state("z", rate=v),
    "start of a state": lambda a, v: standing().state("z", rate=1, initial=v),
    "units of a state": lambda a, v: standing().state("z", rate=1, units=v),
    "description of a state": lambda a, v: standing().state("z", rate=1, about=v),
    "rate": lambda a, v: standing().rate(v, 1),
    "armature": lambda a, v: standing().armature("b.q1", v),
    "coordinate of an armature": lambda a, v: standing().armature(v, 1),
    "name of a memory": lambda a, v: standing().memory(v),
    "memory": lambda a, v: standing().memory("n", v),
    "update": lambda a, v: standing().update(v, 1),
    "new value of a memory": lambda a, v: standing().update("m", v),
    "every": lambda a, v: standing().memory("n", update=1, every=3j if v is None else v),
    "input": lambda a, v: standing().input(v),
    "description of an output": lambda a, v: standing().output("o", "t", about=v),
    "description of an event": lambda a, v: standing().event("e", "t - 1", about=v),
    "stop of an event": lambda a, v: standing().event("e", "t - 1", stop=v),
    "what an event unlocks": lambda a, v: standing().event("e", "t - 1", unlock=v),
    "define": lambda a, v: standing().define("d", v),
    "name of a definition": lambda a, v: standing().define(v, 1),
    "function": lambda a, v: standing().function("f", v),
    "arity": lambda a, v: standing().function("f", arm.sin, v),
    "gravity": lambda a, v: standing().gravity(v, v),
    "lock": lambda a, v: standing().lock(v),
    "small": lambda a, v: standing().small(v),
    "large": lambda a, v: standing().large(v),
    "moment": lambda a, v: standing().moment("f", v, "b.x", on="b"),
    "coordinate of an effort": lambda a, v: standing().effort_on(v, 1),
    "effort on a coordinate": lambda a, v: standing().effort_on("b.q1", v, name="f"),
    "name of an effort": lambda a, v: standing().effort_on("b.q1", 1, name=v),
    "joint_effort": lambda a, v: standing().joint_effort("f", "b.q1", v),
    "force_vector": lambda a, v: standing().force_vector("f", v, at="b"),
    "place of a force_vector": lambda a, v: standing().force_vector("f", "b.x", at=v),
    "moment_vector": lambda a, v: standing().moment_vector("f", v, on="b"),
    "body of a moment_vector": lambda a, v: standing().moment_vector("f", "b.x", on=v),
    "iso2631_weighting": lambda a, v: arm.iso2631_weighting(1.0, v),
    "frequencies of a weighting": lambda a, v: arm.iso2631_weighting(v),
    "names of psd": lambda a, v: a.run.psd(v),
    "segment of psd": lambda a, v: a.run.psd(segment=v),
    "sweep reactions": lambda a, v: a.model.sweep({"b.q1": [0.1]}, static=True, reactions=v),
    "break_loop": lambda a, v: a.model.linearize().break_loop(v),
    "input of break_loop": lambda a, v: a.model.linearize(inputs=["k"], outputs=["tau"]).break_loop(
        "tau", input=v
    ),
    "margins": lambda a, v: a.model.linearize(inputs=["k"], outputs=["tau"]).margins(v),
    "densities of psd": lambda a, v: a.model.linearize(inputs=["k"], outputs=["tau"]).psd(v),
    "a density of psd": lambda a, v: a.model.linearize(inputs=["k"], outputs=["tau"]).psd({"k": v}),
    "frequency of psd": lambda a, v: a.model.linearize(inputs=["k"], outputs=["tau"]).psd({}, v),
    "body of a moment": lambda a, v: standing().moment("f", 1, "b.x", on=v),
    "point": lambda a, v: standing().bodies["b"].point(v),
    "point by name": lambda a, v: standing().bodies["b"].point("p", v),
    "close_loop": lambda a, v: standing().close_loop(v, v),
    "stop": lambda a, v: standing().stop("f", v, stiffness=1, upper=1),
    "stiffness of a stop": lambda a, v: standing().stop("f", "b.q1", stiffness=v, upper=1),
    "clutch": lambda a, v: standing().clutch("f", v, "b.q1", capacity=1),
    "unilateral": lambda a, v: standing().unilateral("f", v),
    "limit of a stop": lambda a, v: standing().stop("f", "b.q1", stiffness=1, upper=v),
    "brake": lambda a, v: standing().brake("f", v, capacity=1, stiffness=1, damping=1),
    "capacity of a brake": lambda a, v: standing().brake("f", "b.q1", capacity=v, stiffness=1, damping=1),
    "contact": lambda a, v: standing().contact("f", v, plane=("ground.origin", "ground.y"), stiffness=1),
    "plane": lambda a, v: standing().contact("f", "b.com", plane=v, stiffness=1),
    "attitude": lambda a, v: arm.attitude(v),
    "kind of an attitude": lambda a, v: arm.attitude(described().bodies["b"], v),
    "attitude_output": lambda a, v: standing().attitude_output("o", v),
    "attractor": lambda a, v: standing().attractor("sun", v),
    "place of an attractor": lambda a, v: standing().attractor("sun", 1.0, at=v),
    "reaction_wheel": lambda a, v: standing().reaction_wheel("w", on=v, axis="x", inertia=1),
    "axis of a wheel": lambda a, v: standing().reaction_wheel("w", on="b", axis=v, inertia=1),
    "inertia of a wheel": lambda a, v: standing().reaction_wheel("w", on="b", axis="x", inertia=v),
    "control_moment_gyro": lambda a, v: standing().control_moment_gyro(
        "g", on="b", gimbal_axis=v, spin_axis=v, wheel_inertia=1, wheel_speed=1
    ),
    "solar_pressure": lambda a, v: standing().solar_pressure("p", at="b.com", area=v, sun="ground.x"),
    "sun": lambda a, v: standing().solar_pressure("p", at="b.com", area=1, sun=v),
    "thruster": lambda a, v: standing().thruster("j", v, "b.x", at="b.com"),
    "place of a thruster": lambda a, v: standing().thruster("j", 1, "b.x", at=v),
    "start_orbit": lambda a, v: standing().start_orbit("b", v),
    "start_mass_centre": lambda a, v: standing().start_mass_centre("b", position=v),
    "panels": lambda a, v: arm.panels(described(), v, 2, length=1, mass=1, inertia=(1, 1, 1)),
    "number of panels": lambda a, v: arm.panels(described(), "b", v, length=1, mass=1, inertia=0),
    "cross": lambda a, v: arm.cross(v, v),
    "outer": lambda a, v: arm.outer(v, v),
    "angle": lambda a, v: arm.angle(v, v),
    "partial of": lambda a, v: arm.partial(v, a.q),
    "partial by": lambda a, v: arm.partial(a.q, v),
    "acceleration": _function("acceleration"),
    "angular_acceleration": _function("angular_acceleration"),
    "contact_force": lambda a, v: arm.contact_force(v, 0, 1),
    "exponent": lambda a, v: arm.contact_force(a.q, 0, 1, exponent=v),
    "friction_force": lambda a, v: arm.friction_force(v, 1, 1, 1),
    "SmoothFriction": lambda a, v: standing().contact(
        "f", "b.com", plane=("ground.origin", "ground.y"), stiffness=1, friction=arm.SmoothFriction(v, v)
    ),
    "StickSlip": lambda a, v: standing().contact(
        "f", "b.com", plane=("ground.origin", "ground.y"), stiffness=1, friction=arm.StickSlip(v, v, v)
    ),
    "Plate": lambda a, v: arm.Plate(v, 1, 0.1, E=1e9, nu=0.3, density=1),
    "Section": lambda a, v: arm.Section(v, v, v, v),
    "Table2": lambda a, v: arm.Table2(v, v, v),
    "ForeignFunction": lambda a, v: arm.ForeignFunction("f", v, 1),
    "Spherical": _joint("Spherical"),
    "small joint": lambda a, v: standing().body("c", joint=arm.Fixed(small=v)),
    "Normal": lambda a, v: arm.Normal(v, v),
    "LogNormal": lambda a, v: arm.LogNormal(v, v),
    "Triangular": lambda a, v: arm.Triangular(v, v, v),
    "Choice": lambda a, v: arm.Choice(v),
    "Correlated": lambda a, v: arm.Correlated(v, v),
    "Design": lambda a, v: arm.Design(v),
    "kind of a design": lambda a, v: arm.Design({"k": arm.Uniform(0, 1)}, v, runs=2),
    "runs of a design": lambda a, v: arm.Design({"k": [1, 2]}, "list").block(0, v),
    "points of a design": lambda a, v: arm.Design({"k": arm.Uniform(0, 1)}, runs=2).points(0, v),
    "data of a design": lambda a, v: arm.Design.from_data(v),
    "units of a design": lambda a, v: arm.Design({"k": [1, 2]}, "list", units=v),
    "second_order": lambda a, v: arm.Design({"k": [1, 2]}, "list", second_order=v),
    "Study": lambda a, v: arm.Study(a.model, v, 0.1, vary={"k": arm.Uniform(1, 2)}, runs=2),
    "what a study varies": lambda a, v: arm.Study(a.model, "studied", 0.1, vary=v, runs=2),
    **{
        name: _metric(name)
        for name in ("Final", "Maximum", "Minimum", "Mean", "Rms", "Crossing", "Histogram")
    },
    "Experiment": lambda a, v: arm.fit(a.model, arm.Experiment(v), ["k"]),
    "fit": lambda a, v: arm.fit(v, v),
    "data of a fit": lambda a, v: arm.fit(a.model, v, ["k"]),
}


# What is right for calls; all else in WRONG is refused.
RIGHT = {
    "a fraction": (
        "tolerance of a comparison; "
        "simulate; simulate rtol; simulate max_step; batch rtol; batch max_step; Beam; Orbit; every; "
        "Plate; Section; Normal; LogNormal; random_road; random_turbulence"
    ),
    "None, a fraction": "simulate step; simulate sample; batch step; batch sample; batch watch",
    "None": (
        "simulate method; simulate parameters; simulate memory; batch method; batch memory; batch "
        "outputs; batch metrics; batch runs; batch threads; derivatives parameters; units; body parent; "
        "body joint; body orient; body inertia; reaction; what an event sets; what an event locks; units "
        "of an output; kinetic_energy; what on_start gives; on_start of many; units of a state; what an "
        "event unlocks; arity; interpolation; inputs of a run; forcing; axes of a jacobian; tolerance of a "
        "reduction; axes of a plot; axes of a page"
    ),
    "None, an array": "simulate initial; batch initial",
    "minus one": (
        "simulate t0; batch t0; direction of an event; element of a matrix; mode; row of a sweep; slope of a "
        "table"
    ),
    "a fraction, an array": "simulate atol; batch atol",
    "a fraction, NaN, minus one": "derivatives t",
    "an array": "derivatives state; Table; band; values of a root locus",
    "a list": "accelerations; mass_matrix q; linear_model; states of a feedback",
    "text": (
        "name of a parameter; about; name of an event; name of an output; name of a system; state; "
        "description of a state; name of a memory; input; description of an output; description of an "
        "event; name of a definition; Study"
    ),
    "None, a fraction, minus one": "default",
    "None, text, a fraction": "stiffness of a stop; body mass",
    "text, a fraction, minus one": (
        "force; prescribe; new value of a memory; define; moment; limit of a stop; thruster; pid; "
        "input of a lag"
    ),
    "a fraction, minus one": (
        "time_derivative; nominal; constant_part; derivative of; what on_start sets; and_ with an "
        "expression; atan2 with an expression; equal with an expression; hypot with an expression; max "
        "with an expression; min with an expression; mod with an expression; not_equal with an "
        "expression; or_ with an expression; start of a state; memory; partial of; exponent; delayed"
    ),
    "None, a function": "progress",
    "a huge number": "keep",
    "a fraction, a function": "random_signal",
    "a list, a fraction, NaN, minus one, a complex number, an array": (
        "abs; acos; asin; atan; cos; exp; log; not_; sign; sin; sqrt; tan; tanh; and_; equal; max; min; "
        "not_equal; or_; select"
    ),
    "a list, a fraction, NaN, minus one, an array": (
        "ceil; floor; atan2; hypot; mod; contact_force; friction_force; mass_matrix t"
    ),
    "None, text, a fraction, minus one": "rate of a state",
    "text, a fraction": (
        "armature; capacity of a brake; attractor; inertia of a wheel; "
        "solar_pressure; SmoothFriction; StickSlip; lag; second_order_lag; rate_limit; delay; "
        "Box; Ellipsoid; Sphere; Cylinder; Capsule; Cone; Wheel; Plane; Grid"
    ),
    "a function": "function; sampled",
    "a list, a fraction, minus one": "feedback; matrix of a linear model",
    "a fraction, minus one, a function": "data of an input",
    "a list, a fraction, minus one, an array": "Signal; sweep values",
    "a list, an array": "Choice",
    "a list, an array, an array of texts": "transfer_function",
}
ALLOWED = {call: values for values, calls in RIGHT.items() for call in calls.split("; ")}
ALLOWED |= {"Mesh": "text", "Mesh scale": "a fraction, minus one", "Earth orbit": "None"}
ALLOWED |= {"HeightProfile": "text, a fraction, minus one", "HeightProfile x": "an array"}
ALLOWED |= dict.fromkeys(("Spring", "Damper", "Rod", "Cable", "Earth"), "None, text, a fraction")
ALLOWED |= dict.fromkeys(["sweep start", "solve start"], "None, an array")
ALLOWED |= dict.fromkeys(["sweep time", "solve time"], "a fraction, minus one")
ALLOWED |= dict.fromkeys(
    [f"sweep {x}" for x in ("outputs", "speeds", "accelerations", "held", "parameters")], "None"
)
ALLOWED |= dict.fromkeys([f"solve {x}" for x in ("limits", "held", "shown", "parameters")], "None")
ALLOWED |= {"value of a table": "a list, a fraction, NaN, minus one, an array"}
ALLOWED |= {"effort on a coordinate": "text, a fraction, minus one"}
ALLOWED |= {"joint_effort": "text, a fraction, minus one"}
ALLOWED |= {"name of an effort": "None, text", "segment of psd": "None", "margins": "None"}
ALLOWED |= {"frequencies of a weighting": "a list, a fraction, minus one, an array"}
ALLOWED |= {"densities of psd": "None", "a density of psd": "a fraction, a function"}
ALLOWED |= {"frequency of psd": "None, a list, a fraction, minus one, an array"}
ALLOWED |= {"units of a design": "None, a table"}
ALLOWED |= {"solve values": "a list, minus one, an array", "workspace ends": "an array"}

# Public names that users do not call, and those without arguments.
EXCEPTIONS = {
    *("ArmillaryError", "ExpressionError", "ImportedWarning", "MissingExtraError", "ModelError"),
    *("ParameterError", "SimulationError", "PictureWarning", "UnitsError"),  # raised
    *("Batch", "Fit", "Fmu", "Gyro", "Run", "Sensitivities"),  # given back by other calls
    *("Branch", "Efforts", "OperatingPoint", "Solutions", "Sweep", "Workspace"),  # given back by analyses
    *("BaseParameters", "Campbell", "ExcitingTrajectory", "Identification", "LinearModel", "Modes"),
    *("PowerSpectrum", "Regressor", "RootLocus"),
    *("Body", "Dyadic", "Expr", "Point", "Vector"),  # made by a system
    "schema",  # without arguments
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_arguments_are_refused_by_a_sentence(
    call: str, things: Things, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values that are right for a call are listed; of all others the error is one of ours."""
    monkeypatch.chdir(tmp_path)
    allowed = ALLOWED.get(call, "").split(", ")
    for name, value in WRONG.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                CALLS[call](things, value)
        except arm.ArmillaryError as error:
            assert len(str(error).strip()) > 10
            assert name not in allowed, f"{call} of {name} is refused: {error}"
        except Exception as error:
            pytest.fail(f"{call} of {name}: {type(error).__name__}: {error}")
        else:
            _standing.clear()
            assert name in allowed, f"{call} of {name} is accepted"


def test_every_public_call_is_in_the_table() -> None:
    assert not ALLOWED.keys() - CALLS.keys()
    called = set().union(*(_names(call) for call in CALLS.values()))
    public = {name for name in arm.__all__ if callable(getattr(arm, name))}
    verbs = {n for kind in (arm.System, arm.Body) for n in dir(kind) if hasattr(getattr(kind, n), "recorded")}
    assert sorted((public | verbs) - called) == sorted(EXCEPTIONS)


def _names(call: Callable[..., Any]) -> set[str]:
    """What a call of the table names: attributes, and what its maker was given."""
    given = [cell.cell_contents for cell in call.__closure__ or ()]
    return {*call.__code__.co_names, *(name for name in given if isinstance(name, str))}


def test_refusals_name_the_argument_and_what_it_must_be(things: Things) -> None:
    model = things.model
    for call, message in (
        (lambda: model.simulate(None), "t_end must be a number of seconds, not None"),
        (lambda: model.simulate(1.0, max_steps=1.5), "max_steps must be a positive whole number, not 1.5"),
        (lambda: model.simulate(1.0, parameters=[1]), r"parameters= must hold values by name, .*not \[1\]"),
        (lambda: described().body("c", mass=10**400), "mass of body 'c': 1000.*… is not a number"),
        (lambda: things.run.plot(["x"]), r"the name of an output must be a text, not \['x'\]"),
        (lambda: model.simulate(1.0, method=["rk4"]), r"no integration method \['rk4'\]"),
        (lambda: described().body("c", jiont=1), r"^body\(\) takes no 'jiont'; did you mean 'joint'"),
        (
            lambda: described().force("f", 1.0, (1, 0, 0), att="a"),
            r"^force\(\) takes no 'att'; did you mean 'at'",
        ),
        (lambda: things.run.plot("x", title=3), "title must be a text, not 3"),
        (
            lambda: arm.System("x\ud800"),
            r"the name of a system has a single surrogate .* written: 'x\\ud800'",
        ),
        (lambda: described().output("x\ud800", 1), "the name of an output has a single surrogate character"),
        (
            lambda: described().constrain("b.q1", name="x\ud800"),
            "constraint: its name has a single surrogate character",
        ),
        (lambda: arm.load(3), "the model must be the path of a file or folder, not 3"),
        (
            lambda: arm.load("folder/x\ud800.toml"),
            r"'folder/x\\ud800.toml' has the character '\\ud800', which file names cannot have",
        ),
    ):
        with pytest.raises(arm.ArmillaryError, match=message):
            call()


def test_arrays_of_parameters_hold_texts_with_units_and_none_is_empty(things: Things) -> None:
    """An empty list, a text among numbers and a huge count gave errors of NumPy from inside."""
    model = things.model
    plain = model.inverse([0.1], parameters={"k": [1.0, 2000.0]})
    units = model.inverse([0.1], parameters={"k": ["1 N*m", "2 kN*m"]})
    assert np.array_equal(plain.values, units.values)
    for value, said in (([], "has no values"), ([1.0, "2 s"], "'2 s'"), ([1.0, float("nan")], "finite")):
        with pytest.raises(arm.ArmillaryError, match=said):
            model.inverse([0.1], parameters={"k": value})
    for call in (model.inverse, model.regressor):
        with pytest.raises(arm.ArmillaryError, match="parameters= must hold values by name"):
            call([0.1], parameters=[1.0])
        with pytest.raises(arm.ArmillaryError, match="t must be a number or an array of numbers, not 'now'"):
            call([0.1], t="now")
    with pytest.raises(arm.ArmillaryError, match="must be a number or a row of numbers"):
        model.linearize(at={"b.q1": []})
    with pytest.raises(arm.ArmillaryError, match="needs one number for an operating point"):
        model.trim(parameters={"k": [1.0, 2.0]})
    with pytest.raises(arm.ArmillaryError, match="there is no parameter 'kk'"):
        model.state(parameters={"kk": 1.0})
    with pytest.raises(arm.ArmillaryError, match="positive whole number"):
        model.solve({"x": 0.5}, starts=1e308)
    assert model.simulate(0.02, step=0.01, sample=1e308).time.tolist() == [0.0]
    assert model.regressor(np.zeros((0, 1))).values.shape[0] == 0


def test_a_text_is_no_switch(things: Things, tmp_path: Path) -> None:
    """floating="no" made a floating robot, trust="no" trusted: any text is true in Python."""
    robot, model = tmp_path / "robot.urdf", tmp_path / "model.toml"
    robot.write_text('<robot name="r"><link name="a"/></robot>')
    described().save(model)
    s = arm.System("s")
    beam = arm.Beam(1.0, EI=1.0, mass_per_length=1.0)
    for name, call in (
        ("floating", lambda no: arm.load(robot, floating=no)),
        ("strict", lambda no: arm.load(robot, strict=no)),
        ("trust", lambda no: arm.load(model, trust=no)),
        ("stiffening", lambda no: s.body("b").flexible(beam, modes=1, stiffening=no)),
        ("second_order", lambda no: s.body("c").flexible(beam, modes=1, second_order=no)),
        ("check_inertia", lambda no: s.body("d", mass=1, inertia=(1, 1, 1), check_inertia=no)),
        ("force", lambda no: things.equations.export("c", tmp_path / "c", force=no)),
        ("force", lambda no: things.equations.export("fmu", model, force=no)),
        ("ignore_jumps", lambda no: things.model.sensitivities(0.1, ["k"], ignore_jumps=no)),
    ):
        with pytest.raises(arm.ArmillaryError, match=f"{name}= must be True or False, not 'no'"):
            call("no")


def test_identification_fits_and_comparisons_name_what_is_wrong(things: Things) -> None:
    """These gave errors of NumPy and Python from inside, NaN among them."""
    model, run = things.model, things.run
    efforts = model.inverse(run)
    given = {"motion": run, "efforts": efforts.values}

    def identify(**more: Any) -> Any:
        return arm.identify(model, **(given | more))

    for call, message in (
        (lambda: identify(efforts=efforts.values * np.nan), "are not all finite"),
        (lambda: identify(udot=[[np.nan]] * len(run)), "are not all finite"),
        (lambda: identify(friction=3), "friction must be a list"),
        (lambda: identify(sigma={}), "sigma= has no value for 'b.u1'"),
        (lambda: identify(sigma="x"), "sigma must be a positive number"),
        (lambda: identify(prior=None), "prior must be a positive number"),
        (lambda: identify(parameters=[1.0]), "parameters= must hold values by name"),
        (lambda: arm.fit(model, run, ["k"], outputs=3), "outputs= must be a list"),
        (lambda: arm.fit(model, run, ["k"], loss=[]), "no loss"),
        (lambda: run.compare(run, rtol="x"), "rtol must be a number"),
        (lambda: run.compare(run, tolerances=[1.0]), "tolerances= must hold values by name"),
        (lambda: run.compare(run, interpolate="no"), "interpolate= must be True or False, not 'no'"),
        (lambda: run.plot(show="no", path="never.png"), "show= must be True or False, not 'no'"),
        (lambda: arm.exciting_trajectory(model, {"b.q1": (-1, 1)}, period=[]), "period must be a number"),
        (lambda: arm.exciting_trajectory(model, {"b.q1": (-1, 1)}, seed="x"), "seed= must be a whole"),
    ):
        with pytest.raises(arm.ArmillaryError, match=message):
            call()


def test_rows_names_and_places_of_wrong_kinds_are_refused(things: Things) -> None:
    """Found by 11,000 calls with wrong arguments; these gave errors of NumPy, Python and the file system."""
    s, model, ragged = described(), things.model, [[1, 2], [3]]
    for call, message in (
        (lambda: model.linearize(at={"b.q1": [1, "a"]}), "at= 'b.q1' needs a number"),
        (lambda: model.mass_matrix(ragged, [0.0]), "t must be a number"),
        (lambda: model.live("never.html", plots=np.ones((1, 2)), grab=False), "no output"),
        (lambda: s.delay("d", "b.q1", 0.1, initial=None), "initial of delay 'd'"),
        (lambda: s.delay("d", "b.q1", 0.1, initial=10**400), "initial of delay 'd'"),
        (lambda: s.attractor("planet", 1.0, field=np.ones(2)), "there is no field"),
        (lambda: things.equations.export("python", "x" * 300), "more than 255 bytes"),
        (lambda: s.fmu("part", "x" * 300), "more than 255 bytes"),
        (lambda: things.linear.discretize(0.1).step_response("x"), "the times of a response"),
    ):
        with pytest.raises(arm.ArmillaryError, match=message):
            call()
