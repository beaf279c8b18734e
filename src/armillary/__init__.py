"""Armillary: multibody dynamics from a description to compiled equations of motion.

import armillary as arm

s = arm.System("pendulum")
bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
s.gravity(9.81, -s.ground.y)
run = s.derive().compile().simulate(10.0, step=1e-3, initial={"bob.q1": 0.5})
"""

from threading import RLock
from typing import TYPE_CHECKING, Any

from armillary.algebra.block_functions import ForeignFunction
from armillary.algebra.calculus import constant_part, derivative, evaluate, nominal, solve_for
from armillary.algebra.expression import Expr
from armillary.algebra.functions import absolute as abs
from armillary.algebra.functions import (
    acos,
    and_,
    asin,
    atan,
    atan2,
    ceil,
    cos,
    equal,
    exp,
    floor,
    hypot,
    log,
    mod,
    not_,
    not_equal,
    or_,
    select,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
)
from armillary.algebra.functions import maximum as max
from armillary.algebra.functions import minimum as min
from armillary.algebra.tables import Table, Table2
from armillary.algebra.typesetting import latex
from armillary.algebra.vectors import Dyadic, Vector, outer
from armillary.algebra.walk import substitute
from armillary.errors import (
    ArmillaryError,
    ExpressionError,
    ImportedWarning,
    MissingExtraError,
    ModelError,
    ParameterError,
    PictureWarning,
    SimulationError,
    UnitsError,
)
from armillary.limited_files import write_file
from armillary.model.bodies.body import Body, Point
from armillary.model.bodies.figures import (
    Box,
    Cable,
    Capsule,
    Cone,
    Cylinder,
    Damper,
    Earth,
    Ellipsoid,
    Grid,
    HeightProfile,
    Mesh,
    Plane,
    Polyhedron,
    Polyline,
    Rod,
    Sphere,
    Spring,
    Wheel,
)
from armillary.model.bodies.motion import partial
from armillary.model.joints import (
    Cylindrical,
    Fixed,
    Free,
    Gimbal,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
)
from armillary.model.loads.laws import SmoothFriction, StickSlip, contact_force, friction_force
from armillary.model.quantities import (
    acceleration,
    angle,
    angular_acceleration,
    angular_velocity,
    cross,
    direction,
    dot,
    magnitude,
    position,
    project,
    time_derivative,
    velocity,
)
from armillary.model.space.orbit import Orbit, attitude
from armillary.model.space.spacecraft_parts import Gyro
from armillary.stages import System, load
from armillary.version import VERSION

if TYPE_CHECKING:
    from armillary.analysis.efforts import Efforts
    from armillary.analysis.fitting.fit import fit
    from armillary.analysis.fitting.measurements import Experiment
    from armillary.analysis.fitting.outcome import Fit
    from armillary.analysis.identification.excitation import (
        ExcitingTrajectory,
        Regressor,
        exciting_trajectory,
    )
    from armillary.analysis.identification.identify import Identification, identify
    from armillary.analysis.identification.inertial_parameters import BaseParameters
    from armillary.analysis.kinematics.result import Solutions, Sweep, load_sweep
    from armillary.analysis.kinematics.sweep import Workspace
    from armillary.analysis.linear.linear_model import LinearModel, load_linear
    from armillary.analysis.modes.modes import Modes
    from armillary.analysis.modes.root_locus import Campbell, RootLocus, campbell, root_locus
    from armillary.analysis.operating.branch import Branch
    from armillary.analysis.operating.point import OperatingPoint, load_point
    from armillary.analysis.sensitivities import Sensitivities
    from armillary.ensembles.metrics import Crossing, Final, Histogram, Maximum, Mean, Minimum, Rms
    from armillary.ensembles.result import Batch, load_batch
    from armillary.files.fmu import fmu
    from armillary.files.fmu.description import Fmu
    from armillary.files.model.documents import model_schema as schema
    from armillary.files.ssp import write_ssp
    from armillary.model.flexible.beam import Beam, Section
    from armillary.model.flexible.plate import Plate
    from armillary.model.quantities import jacobian
    from armillary.model.space.spacecraft_parts import panels
    from armillary.results import Run, load_run, plot
    from armillary.results.spectra import PowerSpectrum, iso2631_weighting
    from armillary.run_files.execute import run
    from armillary.runtime.inputs.signal import Signal, random_road, random_signal, random_turbulence
    from armillary.studies import Study, open_study
    from armillary.studies.sampling import (
        Choice,
        Correlated,
        Design,
        LogNormal,
        Normal,
        Triangular,
        Uniform,
    )
    from armillary.viewer.page import sheet
    from armillary.viewer.views import view

# Public names that most models do not use, by module; a module is imported at the first use of its names.
_LATER = {
    "armillary.analysis.fitting.measurements": "Experiment",
    "armillary.analysis.fitting.fit": "fit",
    "armillary.analysis.fitting.outcome": "Fit",
    "armillary.analysis.identification.inertial_parameters": "BaseParameters",
    "armillary.analysis.identification.excitation": "ExcitingTrajectory Regressor exciting_trajectory",
    "armillary.analysis.identification.identify": "Identification identify",
    "armillary.analysis.efforts": "Efforts",
    "armillary.analysis.kinematics.result": "Solutions Sweep load_sweep",
    "armillary.analysis.kinematics.sweep": "Workspace",
    "armillary.analysis.linear.linear_model": "LinearModel load_linear",
    "armillary.analysis.modes.modes": "Modes",
    "armillary.analysis.modes.root_locus": "Campbell RootLocus campbell root_locus",
    "armillary.analysis.operating.branch": "Branch",
    "armillary.analysis.operating.point": "OperatingPoint load_point",
    "armillary.analysis.sensitivities": "Sensitivities",
    "armillary.ensembles.metrics": "Crossing Final Histogram Maximum Mean Minimum Rms",
    "armillary.ensembles.result": "Batch load_batch",
    "armillary.files.fmu": "fmu",
    "armillary.files.fmu.description": "Fmu",
    "armillary.files.model.documents": "schema",
    "armillary.files.ssp": "write_ssp",
    "armillary.model.flexible.beam": "Beam Section",
    "armillary.model.flexible.plate": "Plate",
    "armillary.model.quantities": "jacobian",
    "armillary.model.space.spacecraft_parts": "panels",
    "armillary.results": "Run load_run plot",
    "armillary.results.spectra": "PowerSpectrum iso2631_weighting",
    "armillary.run_files.execute": "run",
    "armillary.runtime.inputs.signal": "Signal random_road random_signal random_turbulence",
    "armillary.studies": "Study open_study",
    "armillary.studies.sampling": "Choice Correlated Design LogNormal Normal Triangular Uniform",
    "armillary.viewer.page": "sheet",
    "armillary.viewer.views": "view",
}

__version__ = VERSION

__all__ = [
    "ArmillaryError", "BaseParameters", "Batch", "Beam", "Body", "Box", "Branch", "Cable", "Campbell",
    "Capsule", "Choice", "Cone", "Correlated", "Crossing", "Cylinder", "Cylindrical", "Damper", "Design",
    "Dyadic", "Earth", "Efforts", "Ellipsoid", "ExcitingTrajectory", "Experiment", "Expr",
    "ExpressionError", "Final", "Fit", "Fixed", "Fmu", "ForeignFunction", "Free", "Gimbal", "Grid", "Gyro",
    "HeightProfile", "Histogram", "Identification", "ImportedWarning", "Joint", "LinearModel", "LogNormal",
    "Maximum", "Mean", "Mesh", "Minimum", "MissingExtraError", "ModelError", "Modes", "Normal",
    "OperatingPoint", "Orbit", "ParameterError", "PictureWarning", "Planar", "Plane", "Plate", "Point",
    "Polyhedron", "Polyline", "PowerSpectrum", "Prismatic", "Regressor", "Revolute", "Rms", "Rod",
    "RootLocus", "Run", "Section", "Sensitivities", "Signal", "SimulationError", "SmoothFriction",
    "Solutions", "Sphere", "Spherical", "Spring", "StickSlip", "Study", "Sweep", "System", "Table",
    "Table2", "Triangular", "Uniform", "UnitsError", "Vector", "Wheel", "Workspace", "abs", "acceleration",
    "acos", "and_", "angle", "angular_acceleration", "angular_velocity", "asin", "atan", "atan2",
    "attitude", "campbell", "ceil", "constant_part", "contact_force", "cos", "cross", "derivative",
    "direction", "dot", "equal", "evaluate", "exciting_trajectory", "exp", "fit", "floor", "fmu",
    "friction_force", "hypot", "identify", "iso2631_weighting", "jacobian", "latex", "load", "load_batch",
    "load_linear", "load_point", "load_run", "load_sweep", "log", "magnitude", "max", "min", "mod",
    "nominal", "not_", "not_equal", "open_study", "or_", "outer", "panels", "partial", "plot", "position",
    "project", "random_road", "random_signal", "random_turbulence", "root_locus", "run", "schema",
    "select", "sheet", "sign", "sin", "solve_for", "sqrt", "substitute", "tan", "tanh", "time_derivative",
    "velocity", "view", "write_file", "write_ssp",
]  # fmt: skip


# Joints by names that other programs give them.
_WORDS = {"Hinge": "Revolute", "Pin": "Revolute", "Slider": "Prismatic", "Ball": "Spherical", "Weld": "Fixed"}


# Several threads may import a package and its modules at the same time. Without the lock, Python may then
# raise an error in one of them.
_importing = RLock()


def __getattr__(name: str) -> Any:  # a public class, function or module
    module = next((module for module, names in _LATER.items() if name in names.split()), None)
    if module is None:
        hint = ""
        # Plain lower-case words get no hint, since they may be modules about to be imported. Names that begin
        # with an underscore get none, since tools look them up.
        if name[0].isupper() or (name[0] != "_" and "_" in name):
            from armillary.errors import nearest

            word = _WORDS.get(name)
            hint = f"; the joint is called {word}" if word else nearest(name, __all__)
        raise AttributeError(f"module 'armillary' has no attribute '{name}'{hint}")
    from importlib import import_module

    with _importing:
        return getattr(import_module(module), "model_schema" if name == "schema" else name)


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__name__", "__version__"]
