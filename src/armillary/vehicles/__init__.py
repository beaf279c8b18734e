"""Vehicles: tyres, wheels, machines and manoeuvres, built on the public verbs of Armillary alone.

Only public names of Armillary are used here, as in a user's own package; `tests/test_project.py` checks it.
Enter with a tyre file and a `System`; a wheel adds its body, states, loads and outputs. Read
`tyres/tyre.py` first, then `wheel.py`, `suspensions/corner.py` and `full_car.py`.

    import armillary as arm
    import armillary.vehicles as veh

    tyre = veh.read_tyre("car.tir", side="left")
    forces = tyre.evaluate(fz=4000, kappa=0, alpha=np.radians([1, 2, 4]))
"""

from armillary.vehicles.cars import (
    VEHICLES,
    Car,
    copy_vehicle,
    fourteen_freedom_car,
    single_track_car,
    vehicle_file,
)
from armillary.vehicles.driver import LinearCar, PathDriver, SharpDriver
from armillary.vehicles.fleet import (
    LEAF,
    compact_car,
    formula_student_car,
    motorcycle,
    pickup,
    rearward_amplification,
    tractor_and_trailer,
)
from armillary.vehicles.full_car import AxleDesign, EngineDesign, SolidDesign, TwistBeamDesign, full_car
from armillary.vehicles.host import HostRoad, export_vehicle
from armillary.vehicles.manoeuvres.catalogue import MANOEUVRES, run_manoeuvre
from armillary.vehicles.manoeuvres.handling import (
    GGDiagram,
    Handling,
    HandlingDiagram,
    SteadyCircle,
    gg_diagram,
    handling_diagram,
    handling_figures,
    steady_circle,
)
from armillary.vehicles.manoeuvres.lane_changes import (
    Track,
    double_lane_change_track,
    fastest,
    lane_change,
    obstacle_avoidance_track,
)
from armillary.vehicles.manoeuvres.open_loop import (
    Response,
    StepSteer,
    braking,
    braking_in_a_turn,
    fishhook,
    j_turn,
    pulse_steer,
    random_steer,
    sine_steer,
    sine_with_dwell,
    split_braking,
    step_steer,
)
from armillary.vehicles.manoeuvres.result import Manoeuvre, write_report
from armillary.vehicles.manoeuvres.ride import ride, weigh
from armillary.vehicles.obstacles import Obstacle, TandemCams, obstacle_road
from armillary.vehicles.opencrg.files import CrgFile, read_crg, write_crg
from armillary.vehicles.opencrg.surface import CrgRoad, crg_road
from armillary.vehicles.parts.bushings import LeafSpring, add_bushing
from armillary.vehicles.parts.chassis import add_air, add_energy_balance, add_rack, energy_error
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
from armillary.vehicles.parts.springs import Stop, add_anti_roll_bar, add_spring_damper
from armillary.vehicles.road import Patch, Road, friction_patches, iso8608_road, road_profiles, split_road
from armillary.vehicles.suspensions.axles import (
    Masses,
    SolidAxle,
    TwistBeam,
    double_wishbone,
    five_link,
    macpherson,
    solid_axle,
    trailing_arm,
    twist_beam,
)
from armillary.vehicles.suspensions.corner import Compliance, Corner, HardPoints
from armillary.vehicles.suspensions.rig import ComplianceRig, SuspensionRig, compliance_rig, suspension_rig
from armillary.vehicles.tyres.fitting import TyreFit, fit_tyre, read_tydex
from armillary.vehicles.tyres.magic_formula import MagicFormula
from armillary.vehicles.tyres.simple import BrushTyre, Curve, FialaTyre, LinearTyre, TableTyre, TMeasyTyre
from armillary.vehicles.tyres.tir import TyreFile, read_tir, read_tyre
from armillary.vehicles.tyres.tyre import Carpet, Forces, Tyre, carpet
from armillary.vehicles.wheel import RoadWheel, add_rolling_wheel, add_wheel

__all__ = [
    "LEAF", "MANOEUVRES", "VEHICLES", "AxleDesign", "BrushTyre", "Car", "Carpet", "Compliance",
    "ComplianceRig", "Corner", "CrgFile", "CrgRoad", "Curve", "Differential", "EngineDesign", "FialaTyre",
    "Forces", "GGDiagram", "GearShift", "Handling", "HandlingDiagram", "HardPoints", "HostRoad",
    "LeafSpring", "LinearCar", "LinearTyre", "MagicFormula", "Manoeuvre", "Masses", "Obstacle", "Patch",
    "PathDriver", "Response", "Road", "RoadWheel", "SharpDriver", "SolidAxle", "SolidDesign",
    "SpeedDriver", "SteadyCircle", "StepSteer", "Stop", "SuspensionRig", "TMeasyTyre", "TableTyre",
    "TandemCams", "Track", "TwistBeam", "TwistBeamDesign", "Tyre", "TyreFile", "TyreFit", "add_air",
    "add_anti_roll_bar", "add_brake", "add_bushing", "add_differential", "add_energy_balance",
    "add_powertrain", "add_rack", "add_rolling_wheel", "add_spring_damper", "add_wheel", "braking",
    "braking_in_a_turn", "carpet", "combustion_engine", "compact_car", "compliance_rig", "copy_vehicle",
    "crg_road", "double_lane_change_track", "double_wishbone", "electric_motor", "energy_error",
    "export_vehicle", "fastest", "fishhook", "fit_tyre", "five_link", "formula_student_car",
    "fourteen_freedom_car", "friction_patches", "full_car", "gg_diagram", "handling_diagram",
    "handling_figures", "iso8608_road", "j_turn", "lane_change", "macpherson", "motorcycle",
    "obstacle_avoidance_track", "obstacle_road", "pickup", "pulse_steer", "random_steer", "read_crg",
    "read_tir", "read_tydex", "read_tyre", "rearward_amplification", "ride", "road_profiles",
    "run_manoeuvre", "sine_steer", "sine_with_dwell", "single_track_car", "solid_axle", "split_braking",
    "split_road", "steady_circle", "step_steer", "suspension_rig", "tractor_and_trailer", "trailing_arm",
    "twist_beam", "vehicle_file", "weigh", "write_crg", "write_report",
]  # fmt: skip
