"""Tyres, cars, roads, manoeuvres."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import armillary as arm
import armillary.vehicles as veh
from tests.kept_numbers.entries import Named, entry, numbers_in


@cache
def simple_tyres() -> dict[str, veh.Tyre]:
    slip, load = np.linspace(0, 0.6, 31), np.array([0.0, 4000.0, 8000.0])
    along = arm.Table2(slip, load, np.tanh(15 * slip)[:, None] * load, kind="smooth")
    across = arm.Table2(slip, load, np.tanh(12 * slip)[:, None] * load, kind="smooth")
    curves = {
        "along": (veh.Curve(90e3, 0.11, 3.7e3, 0.5, 3.2e3), veh.Curve(160e3, 0.125, 6.9e3, 0.7, 6.0e3)),
        "across": (veh.Curve(70e3, 0.18, 3.3e3, 0.6, 3.1e3), veh.Curve(120e3, 0.2, 6.0e3, 0.8, 5.7e3)),
    }
    return {
        "linear": veh.LinearTyre(8e4, slip_stiffness=1e5, camber_stiffness=4e3, trail=0.03, per_load=True),
        "linear, not per load": veh.LinearTyre(8e4, slip_stiffness=1e5, camber_stiffness=4e3, trail=0.03),
        "brush": veh.BrushTyre(20.0, 1.1),
        "fiala": veh.FialaTyre(1e5, 8e4),
        "tmeasy": veh.TMeasyTyre(**curves, nominal_load=3800.0),
        "table": veh.TableTyre(along, across, 0.15, 0.18),
    }


@entry
def tyres() -> Named:
    """Forces and slopes at slips of both signs, small, large and none, at three loads."""
    fz, kappa, alpha, gamma = np.meshgrid(
        [1000.0, 4200.0, 7000.0], [-0.8, -0.05, 0.0, 0.1, 0.9], [-0.5, -0.04, 0.02, 0.3], [-0.05, 0.02]
    )
    for name, tyre in simple_tyres().items():
        found = tyre.evaluate(fz, kappa, alpha, gamma)
        yield name, {k: np.asarray(v).ravel()[::7] for k, v in found._asdict().items()}
        slopes = tyre.derivatives(fz[1, :, 1], kappa[1, :, 1], alpha[1, :, 1], gamma[1, :, 1])
        yield f"{name}, slopes", {k: list(v._asdict().values()) for k, v in slopes.items()}


@cache
def linear_car() -> veh.Car:
    tyres = [veh.LinearTyre(c, relaxation_alpha=0.4) for c in (6e4, 7e4)]
    return veh.single_track_car(*tyres, speed=25.0)


@cache
def brush_car(driver: bool = False) -> veh.Car:
    front, rear = (
        veh.BrushTyre(slip_stiffness=c, friction=1.0, vertical_damping=300.0, radius=0.32)
        for c in (18.0, 24.0)
    )
    path = veh.PathDriver(veh.double_lane_change_track().path) if driver else None
    return veh.fourteen_freedom_car(front, rear, **({"driver": path} if driver else {}))


@entry
def manoeuvres_of_a_linear_car() -> Named:
    for name in ("step-steer", "sine-steer", "steady-circle", "handling"):
        found = veh.MANOEUVRES[name].run(linear_car(), 22.0, 0.02, 0.4)
        yield name, numbers_in(found.table())


@entry
def manoeuvres_of_a_car() -> Named:
    for name in ("sine-with-dwell", "j-turn"):
        found = veh.MANOEUVRES[name].run(brush_car(), 18.0, 0.05, 0.4)
        yield name, numbers_in(found.table())


@entry
def starts_of_cars() -> Named:
    """Parameters and the state at the start."""
    for name, car in (("linear", linear_car()), ("brush", brush_car()), ("driver", brush_car(True))):
        model = car.model
        yield f"{name}, parameters", model.parameters
        yield f"{name}, state", model.state()
        yield f"{name}, rates", model.derivatives(0.0, model.state())


@entry
def roads() -> Named:
    x = np.linspace(0.0, 80.0, 9)
    for kind in "ADH":
        yield kind, veh.road_profiles(kind, x, seed=11)
    for track in (veh.double_lane_change_track(), veh.obstacle_avoidance_track()):
        yield "lanes", [(lane.start, lane.end, lane.middle) for lane in track.lanes]
    for preview in (1.0, 2.0):
        driver = veh.SharpDriver(arm.Table([0.0, 100.0], [0.0, 0.0], name="path"), 20.0, preview=preview)
        yield "preview", driver.gains
        yield "car", driver.car.matrices(17.0)


@entry
def radii() -> Named:
    """Radii and vertical forces of Magic Formula tyres, no coefficient of theirs zero."""
    data = Path(__file__).parents[1] / "vehicles" / "data"
    changes = {
        "VERTICAL_STIFFNESS": 2e5, "VERTICAL_DAMPING": 90.0, "BREFF": 8.0, "DREFF": 0.3, "FREFF": 0.05,
        "Q_RE0": 0.99, "Q_FZ2": 15.0, "PFZ1": 0.7, "Q_FCX": 0.1, "Q_FCY": 0.2, "Q_FCY2": 0.3, "Q_V1": 7e-4,
        "Q_V2": 0.04, "Q_CAM1": 100.0, "Q_CAM2": 50.0, "Q_CAM3": 0.3, "Q_FYS1": 500.0, "Q_FYS2": 300.0,
        "Q_FYS3": 200.0, "WIDTH": 0.2, "ASPECT_RATIO": 0.55, "LCZ": 1.1,
    }  # fmt: skip
    loads = np.array([0.0, 900.0, 4200.0, 8000.0])
    for version in ("6.1", "6.2"):
        tyre = veh.read_tyre(data / "made_up_61.tir", changes=changes, version=version)
        how = {"fx": 600.0, "fy": -900.0, "omega": 60.0, "pressure": 2.4e5}
        yield version, [tyre.loaded_radius(loads, gamma=gamma, **how) for gamma in (0.0, 0.1, -0.05)]
        yield f"{version}, rolling", [tyre.effective_radius(fz, 60.0, 2.4e5) for fz in loads]
        yield f"{version}, force", [tyre.vertical_force(x, 0.3, **how) for x in (-0.01, 4e-4, 0.01, 0.04)]
    older = veh.read_tyre(data / "mf_185_80R14.tir", changes={"VERTICAL_STIFFNESS": 2e5, "LCZ": 1.1})
    yield "5.2", [older.loaded_radius(loads, omega=60.0), older.vertical_force(0.02, 0.1)]
    yield "5.2, relaxation", [older.relaxation_lengths(fz, 0.05) for fz in loads[1:]]
    yield "sliding", [tyre.sliding_slips(fz) for fz in loads[1:]]
