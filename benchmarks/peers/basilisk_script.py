"""Basilisk's scenario of a hub with 4 + 3 hinged panels; run by the peers' interpreter, apart from Armillary.

    python basilisk_script.py '{"gravity": true, "steps": 10000, "step": 1e-4, "repeats": 3}'

prints one JSON object: CPU seconds of the quickest run, and the panels' angles at its end. Numbers are those
of the integrated test of Basilisk's nHingedRigidBodyStateEffector; states are not logged.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from Basilisk.simulation import gravityEffector, nHingedRigidBodyStateEffector, spacecraft, svIntegrators
from Basilisk.utilities import SimulationBaseClass, macros

ORBIT = (
    (-4020338.690396649, 7490566.741852513, 5248299.211589362),
    (-5199.77710904224, -3436.681645356935, 1041.576797498721),
)
FREE_FLIGHT = ((0.1, -0.4, 0.3), (-0.2, 0.5, 0.1))
EARTH = 398600441500000.0
ARRAYS = (  # hinge on the hub, axes of the panels as rows, angles at the start
    (
        (0.5, 0, 1),
        [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
        (0.08726646259971647, 0.0, 0.0, 0.0),
    ),
    ((-0.5, 0, 1), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], (0.0, 0.0, 0.0)),
)


def column(values: Any) -> list[list[float]]:
    return [[float(x)] for x in values]


def array(hinge: Any, axes: Any, angles: Any) -> Any:
    effector = nHingedRigidBodyStateEffector.NHingedRigidBodyStateEffector()
    effector.r_HB_B, effector.dcm_HB = column(hinge), axes
    for angle in angles:
        panel = nHingedRigidBodyStateEffector.HingedPanel()
        panel.mass, panel.d, panel.k, panel.c = 50.0, 0.75, 500.0, 0.0
        panel.IPntS_S = [[50.0, 0.0, 0.0], [0.0, 25.0, 0.0], [0.0, 0.0, 25.0]]
        panel.thetaInit, panel.thetaDotInit, panel.theta_0 = angle, 0.0, 0.0
        effector.addHingedPanel(panel)
    return effector


def vehicle(gravity: bool) -> tuple[Any, list[Any]]:
    craft = spacecraft.Spacecraft()
    craft.ModelTag = "craft"
    craft.hub.mHub = 750.0
    craft.hub.r_BcB_B = column((0, 0, 0))
    craft.hub.IHubPntBc_B = [[900.0, 0.0, 0.0], [0.0, 800.0, 0.0], [0.0, 0.0, 600.0]]
    place, velocity = ORBIT if gravity else FREE_FLIGHT
    craft.hub.r_CN_NInit, craft.hub.v_CN_NInit = column(place), column(velocity)
    craft.hub.sigma_BNInit, craft.hub.omega_BN_BInit = column((0, 0, 0)), column((0.1, -0.1, 0.1))
    if gravity:
        earth = gravityEffector.GravBodyData()
        earth.planetName, earth.mu, earth.isCentralBody = "earth", EARTH, True
        craft.gravField.gravBodies = spacecraft.GravBodyVector([earth])
    effectors = [array(*numbers) for numbers in ARRAYS]
    for i, effector in enumerate(effectors):
        effector.ModelTag = f"array {i}"
        craft.addStateEffector(effector)
    return craft, effectors


def run(gravity: bool, steps: int, step: float) -> tuple[float, list[float]]:
    simulation = SimulationBaseClass.SimBaseClass()
    simulation.SetProgressBar(False)
    simulation.CreateNewProcess("process").addTask(simulation.CreateNewTask("task", macros.sec2nano(step)))
    craft, effectors = vehicle(gravity)
    integrator = svIntegrators.svIntegratorRK4(craft)
    craft.setIntegrator(integrator)
    for model in (craft, *effectors):
        simulation.AddModelToTask("task", model)
    simulation.InitializeSimulation()
    simulation.ConfigureStopTime(macros.sec2nano(steps * step))
    start = time.process_time()
    simulation.ExecuteSimulation()
    seconds = time.process_time() - start
    states = [craft.dynManager.getStateObject(effector.nameOfThetaState) for effector in effectors]
    return seconds, [float(row[0]) for state in states for row in state.getState()]


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    wanted = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Basilisk talks on standard output
    runs = [run(wanted["gravity"], wanted["steps"], wanted["step"]) for _ in range(wanted["repeats"])]
    seconds, angles = min(runs)
    answers.write(json.dumps({"seconds": seconds, "angles": angles}))
    answers.close()


if __name__ == "__main__":
    main()
