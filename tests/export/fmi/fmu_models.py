"""Small systems that together hold what an FMU can hold, and how their FMUs are opened with FMPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from armillary.export.fmi import find_compiler

VERSIONS = ("2.0", "3.0")
START = {"ball.q1": 1.0, "plate.u1": 20.0, "plate.q1": 15.0}  # of the hopper


class Exported(NamedTuple):
    """An FMU, a folder to unpack it to, and its version."""

    path: Path
    folder: Path
    version: str


def need_compiler() -> None:
    """Skips a test where libraries cannot be built."""
    try:
        find_compiler()
    except ArmillaryError as error:
        pytest.skip(str(error))


def hopper() -> arm.System:
    """A ball on a plate that turns: events, memory of both kinds, an input, a table, units of all sorts."""
    s = arm.System("hopper", units="in-lb-s-deg")
    s.input("push", 2.0, units="N", about="force from outside")
    s.parameter("k", 3.0, units="lb/in", about="stiffness")
    s.parameter("loss", 0.8, about="speed after a bounce")
    plate = s.body("plate", joint=arm.Revolute("z"), mass=0.05, inertia=(1, 1, 1))
    ball = s.body("ball", joint=arm.Prismatic("y"), mass=0.02, inertia=0)
    s.gravity(386.0, -s.ground.y)
    s.force("spring", "-k*ball.q1 + 0.01*sin(plate.q1)*k*ball.q1", s.ground.y, at=ball.com)
    s.parameter("tau", 0.5, units="s")
    s.state("warm", "0.5*ball.u1*k - warm/tau", 0.3, units="N", about="a state with a rate of its own")
    s.force("push_y", "push - 0.05*warm", s.ground.y, at=ball.com)
    drag = arm.Table([-100.0, 0.0, 50.0, 100.0], [1.0, 0.0, -0.3, -0.9], name="drag")
    s.function("drag", drag)
    s.moment("brake", "drag(plate.u1) + 0.1*t + 0.002*ball.u1", s.ground.z, on=plate)
    bounces = s.memory("bounces", about="number of bounces")
    s.event(
        "bounce", "ball.q1 + 1", direction=-1,
        set={"ball.u1": "-loss*ball.u1", bounces: bounces + 1, "warm": "0.9*warm"},
    )  # fmt: skip
    s.memory("peak", -10.0, update="max(peak, ball.q1)", about="highest place at the start of a step")
    s.memory("sampled", update="ball.q1", every=0.0205, about="place every 20.5 ms")
    s.output("height", "ball.q1", units="mm", about="height of the ball")
    s.output("held", "sampled + bounces", about="discrete things")
    return s


def strut() -> arm.System:
    """A spring and damper with a small mass inside: the force that it asks for, from stroke and its rate."""
    s = arm.System("strut")
    x, v = s.input("x", units="mm", about="stroke"), s.input("v", units="m/s", about="its rate")
    k = s.parameter("k", 40.0, units="N/mm")
    p = s.body("p", joint=arm.Prismatic("x"), mass=0.2, inertia=0)
    s.force("inner", "-800*(p.q1 - x) - 5*(p.u1 - v)", s.ground.x, at=p.com)
    s.output("F", k * x + 300 * v + 800 * (x - p.q1) + 5 * (v - p.u1), units="N", about="force")
    return s


def opened(path: Path, folder: Path, *, exchange: bool = False, name: str = "one") -> Any:
    """An instance of an FMU in FMPy; ``folder`` is where it is unpacked, once for all instances."""
    fmpy = pytest.importorskip("fmpy")
    from fmpy import fmi2, fmi3

    described = fmpy.read_model_description(str(path))
    if not (folder / "modelDescription.xml").exists():
        fmpy.extract(str(path), str(folder))
    third = described.fmiVersion.startswith("3")
    kinds = {(False, False): fmi2.FMU2Slave, (False, True): fmi2.FMU2Model}
    kinds |= {(True, False): fmi3.FMU3Slave, (True, True): fmi3.FMU3Model}
    part = described.modelExchange if exchange else described.coSimulation
    return kinds[third, exchange](
        guid=described.guid,
        unzipDirectory=str(folder),
        modelIdentifier=part.modelIdentifier,
        instanceName=name,
    )


def references(path: Path) -> dict[str, int]:
    """Value references of real variables by name."""
    fmpy = pytest.importorskip("fmpy")
    found = fmpy.read_model_description(str(path)).modelVariables
    return {v.name: v.valueReference for v in found if v.type != "Clock"}


def begun(unit: Any, version: str, *, start: float = 0.0) -> Any:
    """An instance after initialization."""
    unit.instantiate()
    if version == "2.0":
        unit.setupExperiment(startTime=start)
        unit.enterInitializationMode()
    else:
        unit.enterInitializationMode(startTime=start)
    unit.exitInitializationMode()
    return unit


def get(unit: Any, places: list[int]) -> list[float]:
    """Real values in either version."""
    return list(unit.getReal(places) if hasattr(unit, "getReal") else unit.getFloat64(places))


def put(unit: Any, places: list[int], values: list[float]) -> None:
    """Real values set in either version."""
    (unit.setReal if hasattr(unit, "setReal") else unit.setFloat64)(places, values)
