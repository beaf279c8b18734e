"""Vehicles: tyres, wheels, machines and manoeuvres, built on the public verbs of Armillary alone.

Nothing here uses a part of Armillary that a user's own package could not: `tests/test_project.py` sees to
it. Enter with a tyre file and a `System`; a wheel adds its body, states, loads and outputs. Read
`tyres/tyre.py` first, then `wheel.py`, `suspensions/corner.py` and `full_car.py`.

    import armillary as arm
    import armillary.vehicles as veh

    tyre = veh.read_tyre("car.tir", side="left")
    forces = tyre.evaluate(fz=4000, kappa=0, alpha=np.radians([1, 2, 4]))
"""

from armillary.vehicles.cars import Car, fourteen_freedom_car, single_track_car
from armillary.vehicles.driver import PathDriver
from armillary.vehicles.fleet import LEAF, compact_car, formula_student_car, pickup
from armillary.vehicles.full_car import AxleDesign, EngineDesign, SolidDesign, TwistBeamDesign, full_car
from armillary.vehicles.host.export import export_vehicle
from armillary.vehicles.host.road import HostRoad
from armillary.vehicles.library import VEHICLES, copy_vehicle, vehicle_file
from armillary.vehicles.manoeuvres.catalogue import MANOEUVRES, run_manoeuvre
from armillary.vehicles.manoeuvres.diagrams import (
    GGDiagram,
    HandlingDiagram,
    gg_diagram,
    handling_diagram,
)
from armillary.vehicles.manoeuvres.handling import Handling, SteadyCircle, handling_figures, steady_circle
from armillary.vehicles.manoeuvres.lane_changes import (
    Track,
    double_lane_change_track,
    fastest,
    lane_change,
    obstacle_avoidance_track,
)
from armillary.vehicles.manoeuvres.open_loop import (
    braking,
    braking_in_a_turn,
    fishhook,
    j_turn,
    pulse_steer,
    random_steer,
    sine_steer,
    sine_with_dwell,
    split_braking,
)
from armillary.vehicles.manoeuvres.result import Manoeuvre, write_report
from armillary.vehicles.manoeuvres.ride import ride, weigh
from armillary.vehicles.manoeuvres.step_steer import Response, StepSteer, step_steer
from armillary.vehicles.motorcycle import motorcycle
from armillary.vehicles.obstacles import Obstacle, TandemCams, obstacle_road
from armillary.vehicles.opencrg.reading import CrgFile, read_crg
from armillary.vehicles.opencrg.surface import CrgRoad, crg_road
from armillary.vehicles.opencrg.writing import write_crg
from armillary.vehicles.parts.air import add_air
from armillary.vehicles.parts.bushings import add_bushing
from armillary.vehicles.parts.driveline import (
    Differential,
    GearShift,
    SpeedDriver,
    add_brake,
    add_differential,
    add_powertrain,
    combustion_engine,
    electric_motor,
)
from armillary.vehicles.parts.energy import add_energy_balance, energy_error
from armillary.vehicles.parts.leaf import LeafSpring
from armillary.vehicles.parts.springs import Stop, add_anti_roll_bar, add_spring_damper
from armillary.vehicles.parts.steering import add_rack
from armillary.vehicles.preview_driver import LinearCar, SharpDriver
from armillary.vehicles.random_roads import iso8608_road, road_profiles
from armillary.vehicles.road import Patch, Road, friction_patches, split_road
from armillary.vehicles.rolling_wheel import add_rolling_wheel
from armillary.vehicles.suspensions.compliance import ComplianceRig, compliance_rig
from armillary.vehicles.suspensions.corner import Compliance, Corner
from armillary.vehicles.suspensions.hard_points import HardPoints
from armillary.vehicles.suspensions.independent import (
    Masses,
    double_wishbone,
    five_link,
    macpherson,
    trailing_arm,
)
from armillary.vehicles.suspensions.rig import SuspensionRig, suspension_rig
from armillary.vehicles.suspensions.solid_axle import SolidAxle, solid_axle
from armillary.vehicles.suspensions.twist_beam import TwistBeam, twist_beam
from armillary.vehicles.tractor import rearward_amplification, tractor_and_trailer
from armillary.vehicles.tyres.carpet import Carpet, carpet
from armillary.vehicles.tyres.fitting import TyreFit, fit_tyre
from armillary.vehicles.tyres.magic_formula import MagicFormula
from armillary.vehicles.tyres.reading import read_tyre
from armillary.vehicles.tyres.simple import BrushTyre, FialaTyre, LinearTyre
from armillary.vehicles.tyres.table import TableTyre
from armillary.vehicles.tyres.tir import TyreFile, read_tir
from armillary.vehicles.tyres.tmeasy import Curve, TMeasyTyre
from armillary.vehicles.tyres.tydex import read_tydex
from armillary.vehicles.tyres.tyre import Forces, Tyre
from armillary.vehicles.wheel import RoadWheel, add_wheel

__all__ = [
    "LEAF",
    "MANOEUVRES",
    "VEHICLES",
    "AxleDesign",
    "BrushTyre",
    "Car",
    "Carpet",
    "Compliance",
    "ComplianceRig",
    "Corner",
    "CrgFile",
    "CrgRoad",
    "Curve",
    "Differential",
    "EngineDesign",
    "FialaTyre",
    "Forces",
    "GGDiagram",
    "GearShift",
    "Handling",
    "HandlingDiagram",
    "HardPoints",
    "HostRoad",
    "LeafSpring",
    "LinearCar",
    "LinearTyre",
    "MagicFormula",
    "Manoeuvre",
    "Masses",
    "Obstacle",
    "Patch",
    "PathDriver",
    "Response",
    "Road",
    "RoadWheel",
    "SharpDriver",
    "SolidAxle",
    "SolidDesign",
    "SpeedDriver",
    "SteadyCircle",
    "StepSteer",
    "Stop",
    "SuspensionRig",
    "TMeasyTyre",
    "TableTyre",
    "TandemCams",
    "Track",
    "TwistBeam",
    "TwistBeamDesign",
    "Tyre",
    "TyreFile",
    "TyreFit",
    "add_air",
    "add_anti_roll_bar",
    "add_brake",
    "add_bushing",
    "add_differential",
    "add_energy_balance",
    "add_powertrain",
    "add_rack",
    "add_rolling_wheel",
    "add_spring_damper",
    "add_wheel",
    "braking",
    "braking_in_a_turn",
    "carpet",
    "combustion_engine",
    "compact_car",
    "compliance_rig",
    "copy_vehicle",
    "crg_road",
    "double_lane_change_track",
    "double_wishbone",
    "electric_motor",
    "energy_error",
    "export_vehicle",
    "fastest",
    "fishhook",
    "fit_tyre",
    "five_link",
    "formula_student_car",
    "fourteen_freedom_car",
    "friction_patches",
    "full_car",
    "gg_diagram",
    "handling_diagram",
    "handling_figures",
    "iso8608_road",
    "j_turn",
    "lane_change",
    "macpherson",
    "motorcycle",
    "obstacle_avoidance_track",
    "obstacle_road",
    "pickup",
    "pulse_steer",
    "random_steer",
    "read_crg",
    "read_tir",
    "read_tydex",
    "read_tyre",
    "rearward_amplification",
    "ride",
    "road_profiles",
    "run_manoeuvre",
    "sine_steer",
    "sine_with_dwell",
    "single_track_car",
    "solid_axle",
    "split_braking",
    "split_road",
    "steady_circle",
    "step_steer",
    "suspension_rig",
    "tractor_and_trailer",
    "trailing_arm",
    "twist_beam",
    "vehicle_file",
    "weigh",
    "write_crg",
    "write_report",
]
