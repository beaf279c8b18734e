"""The description that users hold, and how it is loaded, saved and derived."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from armillary import files
from armillary.model import constraints, control_blocks, linear_blocks, quantities, signals
from armillary.model.bodies import bodies, motion
from armillary.model.description import Description, variables
from armillary.model.flexible import attachment
from armillary.model.loads import contacts, forces, rigid
from armillary.model.reading import expressions, references
from armillary.model.space import attraction, orbit, spacecraft_parts
from armillary.stages.shared import OtherStages

if TYPE_CHECKING:
    from armillary.files.xml import Imported
    from armillary.program.derive import Costs
    from armillary.results.plots.motion import MotionView
    from armillary.stages.equations import Equations
    from armillary.viewer.sketch import Drawing


class System(OtherStages, Description):
    """The description of a mechanical system. SI units unless ``units`` names another system."""

    _stage = "System"

    imported: Imported | None

    # ------------------------------------------------------------ bodies and names

    body = bodies.body
    shape = bodies.shape
    parameter = expressions.parameter
    function = expressions.function
    define = expressions.define
    expression = expressions.expression
    lookup = expressions.lookup
    variables = variables
    _triple = references.triple
    _make_flexible = attachment.make_flexible
    _node = attachment.node_body
    _deflection = attachment.deflection

    # ------------------------------------------------------------ quantities

    input = signals.input
    update = signals.update
    memory = signals.memory
    event = signals.event
    output = signals.output
    state = signals.state
    rate = signals.rate
    state_rates = signals.state_rates

    # ------------------------------------------------------------ control blocks

    lag = control_blocks.lag
    second_order_lag = control_blocks.second_order_lag
    rate_limit = control_blocks.rate_limit
    pid = control_blocks.pid
    transfer_function = linear_blocks.transfer_function
    delay = linear_blocks.delay
    linear_model = linear_blocks.linear_model
    feedback = control_blocks.feedback

    # ------------------------------------------------------------ loads

    gravity = forces.gravity
    force = forces.force
    moment = forces.moment
    strut = forces.strut
    force_vector = forces.force_vector
    moment_vector = forces.moment_vector
    effort_on = forces.effort_on
    joint_effort = forces.joint_effort
    stop = contacts.stop
    brake = contacts.brake
    contact = contacts.contact
    clutch = rigid.clutch
    unilateral = rigid.unilateral
    fmu = files.fmu
    ssp = files.ssp

    # ------------------------------------------------------------ constraints and given motion

    constrain = constraints.constrain
    close_loop = constraints.close_loop
    close_joint = constraints.close_joint
    start = constraints.start
    prescribe = constraints.prescribe
    lock = constraints.lock
    armature = forces.armature

    # ------------------------------------------------------------ quantities declared small or large

    small = quantities.small
    large = quantities.large
    judgements = quantities.judgements

    # ------------------------------------------------------------ reactions, energies and momenta

    reaction_force = quantities.reaction_force
    reaction_moment = quantities.reaction_moment
    effort = quantities.effort
    kinetic_energy = quantities.kinetic_energy
    potential_energy = quantities.potential_energy
    strain_energy = quantities.strain_energy
    total_energy = quantities.total_energy
    momentum = quantities.momentum
    angular_momentum = quantities.angular_momentum
    total_mass = motion.total_mass
    mass_centre = motion.mass_centre

    # ------------------------------------------------------------ space

    attractor = attraction.attractor
    thruster = spacecraft_parts.thruster
    solar_pressure = spacecraft_parts.solar_pressure
    reaction_wheel = spacecraft_parts.reaction_wheel
    control_moment_gyro = spacecraft_parts.control_moment_gyro
    start_mass_centre = orbit.start_mass_centre
    start_orbit = orbit.start_orbit
    attitude_output = orbit.attitude_output

    # ------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this description as a text model (TOML), from which ``arm.load`` makes the same system."""
        from armillary.files.model.save import save

        save(self, path)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy the system as its text model."""
        from armillary.files.model.save import from_files, to_files

        return from_files, (to_files(self), type(self))

    def _repr_html_(self) -> str:
        """Return the tree of bodies and a table of parameters, for notebooks."""
        from armillary.program.documents import system_html

        return system_html(self)

    # ------------------------------------------------------------ to the equations

    def derive(
        self,
        formalism: str = "auto",
        *,
        regroup: bool = True,
        small: bool = True,
        keep: int = 1,
        axes: str = "ground",
        effort: str = "normal",
        check: bool = False,
    ) -> Equations:
        """Return the equations of motion by the named formalism, or by the cheapest one ("auto").

        small=False ignores declarations of small or large quantities; otherwise sums keep terms of their
        leading order and of ``keep`` orders above it. With "momentum", ``axes`` ("ground" or "body") are the
        axes of a free body's angular momentum. effort="high" searches for equations with fewer operations,
        for up to a minute; the result is cached, and the same in every process. check=True tests the program
        after every pass, for work on Armillary itself.
        """
        from armillary.program.derive import derive
        from armillary.stages.equations import equations_stage

        made = derive(
            self, formalism, regroup=regroup, small=small, keep=keep, axes=axes, effort=effort, check=check
        )
        return equations_stage(made)

    def draw(self, path: str | os.PathLike[str] | None = None, *, view: str = "auto") -> Drawing:
        """Return a sketch of the mechanism at the start of runs, as SVG text or, in notebooks, a picture; see
        ``Model.draw``.
        """
        return self.derive().compile().draw(path, view=view)

    def view(self, path: str | os.PathLike[str] | None = None, *, view: str = "oblique") -> MotionView | Path:
        """Show a page with a slider for each coordinate, on which the user moves the system by hand; see
        ``Model.view``.
        """
        return self.derive().compile().view(path=path, view=view)

    def compare_formalisms(self) -> Costs:
        """Return the operations of one evaluation by every formalism, or why a formalism is not possible."""
        from armillary.program.derive import compare

        return compare(self)


def load(path: str | os.PathLike[str], **options: object) -> System:
    """Return the system in a file: a text model (.toml), a robot (.urdf, or MuJoCo's .xml) or FMUs (.ssp).

    A file is data; nothing in it is executed, except FMUs that ``trust`` allows. The ``options`` apply to the
    kinds of files that are named here; defaults are in parentheses.

    trust       text models and packages: load the FMUs that they name, which are machine code (False)
    floating    URDF: the root link is free instead of fixed to the ground (False)
    gravity     URDF: downwards along −z in m/s², or three components (9.81)
    torques     URDF: joints that get an input tau_joint: "auto" (joints with a transmission, or all if the
                    file has none), "all" or "none"
    stops       URDF and MJCF: limits of joints as bump stops, {"stiffness": 1e4, "damping": 0.1}; without it
                they are left out
    keyframe    MJCF: the keyframe in whose state runs start; without it the reference position
    strict      URDF and MJCF: a deviation that may change the motion is an error, not a warning (False)
    root        URDF and MJCF: the folder of meshes, and of the packages of package:// paths
    every       packages: seconds between the steps of the FMUs
    exact_angles robots: take angles as written; without it, 1.5708 is read as a right angle (False)
    extrapolate packages: inputs of the FMUs are extrapolated between steps (False)
    """
    from armillary.files.model.load import load_system

    return load_system(path, System, **options)
