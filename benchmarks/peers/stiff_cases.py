"""Other programs on the cases of stiff.py: SUNDIALS' CVODE, Exudyn and MuJoCo, where they are installed.

CVODE is a library of C: a small program (native/cvode_runner.c) calls it with the machine code of our rates
and of their exact Jacobian, dense or as the sparse equations of our own steps. It is found where the compiler
finds it, or in the folder SUNDIALS, with the subfolders include and lib. Exudyn and MuJoCo have the case in
elements of their own, in equal steps of several lengths. Seconds are those of the processor: the machine may
be shared.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from armillary.program.sparse_rates import SparseStructure

Runner = Callable[[float], tuple[np.ndarray, float]]  # of a tolerance or step: rows, and seconds
ROWS = 20


_TABLES = ("row_start", "upper_start", "column", "entry_start", "entry_column", "state_of")


class _Model(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("rates", "partials", "constants", "memory")),
        ("n", ctypes.c_int),
        ("unknowns", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in (*_TABLES, "entries", "factors", "pivots", "solution")),
        ("gamma", ctypes.c_double),
    ]


@cache
def find_cvode() -> ctypes.CDLL:
    """The compiled runner; ImportError if there is no compiler or no SUNDIALS."""
    folder = Path(tempfile.mkdtemp())
    prefix = os.environ.get("SUNDIALS")
    places = [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"] if prefix else []
    libraries = ["-lsundials_cvode", "-lsundials_nvecserial", "-lsundials_sunmatrixdense"]
    libraries += ["-lsundials_sunlinsoldense", "-lsundials_sunlinsolspgmr", "-lm"]
    source, made = Path(__file__).parents[1] / "native" / "cvode_runner.c", folder / "runner.so"
    command = ["cc", "-O3", "-shared", "-fPIC", str(source), *places, *libraries, "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ImportError(f"CVODE: {done.stderr.splitlines()[0] if done.stderr else 'no compiler'}")
    library = ctypes.CDLL(str(made))
    library.run_cvode.restype = ctypes.c_long
    return library


def run_by_cvode(
    rates: int,
    partials: int,
    constants: np.ndarray,
    memory: np.ndarray,
    start: np.ndarray,
    settings: dict[str, Any],
    structure: SparseStructure | None = None,
) -> tuple[np.ndarray, float]:
    """Return states at the start and at 20 later times, and seconds.

    ``partials`` computes all partial derivatives, or the elements of sparse equations with a ``structure``.
    """
    n, library = len(start), find_cvode()
    rows = np.empty((ROWS, n))
    unknowns, entries, factors = structure.sizes if structure else (0, n * n, 0)
    numbers = [np.empty(length + 1) for length in (entries + n, factors, unknowns, unknowns)]
    tables = [np.array(getattr(structure, name) if structure else [], dtype=np.int32) for name in _TABLES]
    model = _Model(
        rates, partials or None, constants.ctypes.data, memory.ctypes.data, n, unknowns,
        *(a.ctypes.data for a in (*tables, *numbers)),
    )  # fmt: skip
    asked = [ctypes.c_double(settings[name]) for name in ("rtol", "atol", "max_step")]
    began = time.thread_time()
    status = library.run_cvode(
        ctypes.byref(model), start.ctypes.data_as(ctypes.c_void_p), ctypes.c_double(settings["duration"]),
        ROWS, *asked, rows.ctypes.data_as(ctypes.c_void_p),
    )  # fmt: skip
    seconds = time.thread_time() - began
    if status < 0:
        rows[:] = np.nan
    return np.vstack([start, rows]), seconds


def mujoco_cable(duration: float, angle: float, n: int) -> Runner:
    """The cable by MuJoCo's implicitfast."""
    length, mass = 10.0 / n, 5.0 / n
    inertia = f"1e-12 {mass * length**2 / 24} {mass * length**2 / 24}"
    damping = 2 * np.sqrt(1e7 * mass)
    text, ends = "", ""
    for i in range(n):
        own = f"<inertial pos='0 0 0' mass='{mass / 2}' diaginertia='{inertia}'/>"
        text += f"<body pos='{'0 0 0'}'><joint name='g{i}' type='hinge' axis='0 0 1'/>{own}"
        spring = f"type='slide' axis='1 0 0' stiffness='1e7' damping='{damping}'"
        text += f"<body pos='{length} 0 0'><joint {spring}/>{own}"
        ends += "</body></body>"
    return _mujoco_runner(text + ends, "0 -9.81 0", duration, angle)


def mujoco_springs(duration: float, offset: float, n: int) -> Runner:
    """The masses in a row by MuJoCo's implicitfast."""
    text, ends = "", ""
    for i in range(n):
        k, c = (40.0, 0.1) if i == 0 else (1e7, 1e4)
        own = "<inertial pos='0 0 0' mass='0.1' diaginertia='1e-6 1e-6 1e-6'/>"
        text += f"<body><joint type='slide' axis='1 0 0' stiffness='{k}' damping='{c}'/>{own}"
        ends += "</body>"
    return _mujoco_runner(text + ends, "0 0 0", duration, offset)


def _mujoco_runner(bodies: str, gravity: str, duration: float, start: float) -> Runner:
    import mujoco

    option = f"<option integrator='implicitfast' gravity='{gravity}'><flag contact='disable'/></option>"
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco>{option}<compiler balanceinertia='true'/><worldbody>{bodies}</worldbody></mujoco>"
    )

    def run(step: float) -> tuple[np.ndarray, float]:
        every = round(duration / ROWS / step)
        model.opt.timestep = duration / ROWS / every
        data = mujoco.MjData(model)
        data.qpos[0] = start
        rows = [data.qpos[0]]
        began = time.thread_time()
        for _ in range(ROWS):
            mujoco.mj_step(model, data, every)
            rows.append(data.qpos[0])
        return np.array([rows]), time.thread_time() - began

    return run


def exudyn_cable(duration: float, angle: float, n: int) -> Runner:
    """The cable by Exudyn's generalised-alpha method: rigid bodies in the plane with revolute and prismatic
    joints, and spring-dampers along the segments.
    """
    import exudyn as exu
    from exudyn import itemInterface as item

    container = exu.SystemContainer()
    system = container.AddSystem()
    length, mass = 10.0 / n, 5.0 / n
    damping, inertia = 2 * np.sqrt(1e7 * mass), mass * length**2 / 24
    along = np.array([np.cos(angle), np.sin(angle), 0.0])
    last = system.AddMarker(
        item.MarkerBodyRigid(bodyNumber=system.AddObject(item.ObjectGround()), localPosition=[0, 0, 0])
    )
    nodes = []
    for i in range(n):
        own = []
        for place in (i, i + 1):
            x, y, _ = along * length * place
            node = system.AddNode(
                item.NodeRigidBody2D(referenceCoordinates=[x, y, angle], initialCoordinates=[0, 0, 0])
            )
            body = system.AddObject(
                item.ObjectRigidBody2D(physicsMass=mass / 2, physicsInertia=inertia, nodeNumber=node)
            )
            own.append(system.AddMarker(item.MarkerBodyRigid(bodyNumber=body, localPosition=[0, 0, 0])))
            centre = system.AddMarker(item.MarkerBodyMass(bodyNumber=body))
            system.AddLoad(item.LoadMassProportional(markerNumber=centre, loadVector=[0, -9.81, 0]))
            nodes.append(node)
        system.AddObject(item.ObjectJointRevolute2D(markerNumbers=[last, own[0]]))
        slide = {"axisMarker0": [1, 0, 0], "normalMarker1": [0, 1, 0]}
        system.AddObject(item.ObjectJointPrismatic2D(markerNumbers=own, **slide))
        system.AddObject(
            item.ObjectConnectorSpringDamper(
                markerNumbers=own, stiffness=1e7, damping=damping, referenceLength=length
            )
        )
        last = own[1]
    system.Assemble()
    return _exudyn_runner(exu, system, nodes[0], 2, angle, duration)


def exudyn_springs(duration: float, offset: float, n: int) -> Runner:
    """The masses in a row by Exudyn's generalised-alpha method."""
    import exudyn as exu
    from exudyn import itemInterface as item

    system = exu.SystemContainer().AddSystem()
    last = system.AddMarker(
        item.MarkerNodeCoordinate(nodeNumber=system.AddNode(item.NodePointGround()), coordinate=0)
    )
    nodes = []
    for i in range(n):
        k, c = (40.0, 0.1) if i == 0 else (1e7, 1e4)
        node = system.AddNode(item.Node1D(referenceCoordinates=[0], initialCoordinates=[offset]))
        system.AddObject(item.ObjectMass1D(physicsMass=0.1, nodeNumber=node))
        own = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=0))
        system.AddObject(
            item.ObjectConnectorCoordinateSpringDamper(markerNumbers=[last, own], stiffness=k, damping=c)
        )
        nodes.append(node)
        last = own
    system.Assemble()
    return _exudyn_runner(exu, system, nodes[0], 0, 0.0, duration)


def _exudyn_runner(
    exu: Any, system: Any, node: int, coordinate: int, reference: float, duration: float
) -> Runner:
    """Runs in steps of several lengths; a coordinate of a node is read from Exudyn's own sensor."""
    from exudyn import itemInterface as item

    sensor = system.AddSensor(
        item.SensorNode(
            nodeNumber=node, storeInternal=True, outputVariableType=exu.OutputVariableType.Coordinates
        )
    )
    system.Assemble()

    def run(step: float) -> tuple[np.ndarray, float]:
        every = round(duration / ROWS / step)
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = ROWS * every
        settings.timeIntegration.endTime = duration
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = duration / ROWS
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
        settings.displayStatistics = settings.displayComputationTime = False
        began = time.thread_time()
        done = system.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha)
        seconds = time.thread_time() - began
        found = system.GetSensorStoredData(sensor)
        rows = np.full(ROWS + 1, np.nan)
        if done is not False and len(found) > ROWS:
            rows = found[: ROWS + 1, 1 + coordinate] + reference
        return np.array([rows]), seconds

    return run
