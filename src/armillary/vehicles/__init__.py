"""Vehicles: tyres, wheels, machines and manoeuvres, built on the public verbs of Armillary alone.

Nothing here uses a part of Armillary that a user's own package could not: `tests/test_project.py` sees to
it. Enter with a tyre file and a `System`; a wheel adds its body, states, loads and outputs. Read
`tyres/tyre.py` first, then `wheel.py`.

    import armillary as arm
    import armillary.vehicles as veh

    tyre = veh.read_tyre("car.tir", side="left")
    forces = tyre.evaluate(fz=4000, kappa=0, alpha=np.radians([1, 2, 4]))
"""

from armillary.vehicles.cars import Car, fourteen_freedom_car, single_track_car
from armillary.vehicles.motorcycle import motorcycle
from armillary.vehicles.random_roads import iso8608_road, road_profiles
from armillary.vehicles.road import Road
from armillary.vehicles.rolling_wheel import add_rolling_wheel
from armillary.vehicles.step_steer import Response, StepSteer, step_steer
from armillary.vehicles.tyres.fitting import TyreFit, fit_tyre
from armillary.vehicles.tyres.magic_formula import MagicFormula
from armillary.vehicles.tyres.reading import read_tyre
from armillary.vehicles.tyres.simple import BrushTyre, FialaTyre, LinearTyre
from armillary.vehicles.tyres.table import TableTyre
from armillary.vehicles.tyres.tir import TyreFile, read_tir
from armillary.vehicles.tyres.tmeasy import Curve, TMeasyTyre
from armillary.vehicles.tyres.tyre import Forces, Tyre
from armillary.vehicles.wheel import RoadWheel, add_wheel

__all__ = [
    "BrushTyre",
    "Car",
    "Curve",
    "FialaTyre",
    "Forces",
    "LinearTyre",
    "MagicFormula",
    "Response",
    "Road",
    "RoadWheel",
    "StepSteer",
    "TMeasyTyre",
    "TableTyre",
    "Tyre",
    "TyreFile",
    "TyreFit",
    "add_rolling_wheel",
    "add_wheel",
    "fit_tyre",
    "fourteen_freedom_car",
    "iso8608_road",
    "motorcycle",
    "read_tir",
    "read_tyre",
    "road_profiles",
    "single_track_car",
    "step_steer",
]
