"""The equations that users hold: derived equations, with the verbs that show, compile and export them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from armillary.algebra.expression import Expr
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.momentum import DerivedMomentumEquations
from armillary.program.formalisms.redundant import DerivedRedundantEquations
from armillary.program.formalisms.tree_formalisms import DerivedFreeSpeedEquations
from armillary.program.sensitivities import DerivedSensitiveEquations, Direction
from armillary.stages.shared import CoreValue, LazyVerb, MotionPictures, OtherStages, core_verb, typed_verb

if TYPE_CHECKING:
    from armillary.algebra.textbook_form import ExpressionMatrix, ExpressionVector
    from armillary.algebra.truncation import NeglectedTerms
    from armillary.analysis import effort_equations
    from armillary.analysis.identification import inertial_parameters
    from armillary.control import casadi_functions
    from armillary.mechanics.constraints.reduction import Configuration
    from armillary.model.bodies.body import Body, Point
    from armillary.program import configurations as configurations_module
    from armillary.program import documents
    from armillary.program.configurations import ConfigurationTable
    from armillary.program.equations import Considered, Stage
    from armillary.program.formalisms.hubs import Contribution
    from armillary.program.passes import Gain
    from armillary.program.passes.graph import Operations
    from armillary.program.pieces import Pieces
    from armillary.program.program import Program
    from armillary.results import Run
    from armillary.results.plots.motion import PictureOptions
    from armillary.stages.model import Model
    from armillary.stages.system import System


class Equations(OtherStages):
    """The derived equations of a system, as a program."""

    _stage = "Equations"
    _core: DerivedEquations

    def __init__(self, core: DerivedEquations) -> None:
        self._core = core

    # ------------------------------------------------------------ contents

    @property
    def system(self) -> System:
        """The description from which the equations were derived."""
        return cast("System", self._core.system)

    formalism: CoreValue[str] = CoreValue("Name of the formalism.")
    program: CoreValue[Program] = CoreValue(
        "The program: sections of assignments, constants, states and memory."
    )
    parameter_units: CoreValue[dict[str, str]] = CoreValue(
        "Units of the parameters: stated, or deduced if none were stated."
    )
    parameters: CoreValue[dict[str, float | None]] = CoreValue(DerivedEquations)
    coordinates: CoreValue[tuple[str, ...]] = CoreValue(DerivedEquations)
    speeds: CoreValue[tuple[str, ...]] = CoreValue(DerivedEquations)
    states: CoreValue[tuple[str, ...]] = CoreValue(DerivedEquations)
    freedom: CoreValue[str] = CoreValue(DerivedEquations)
    dependents: CoreValue[dict[str, str]] = CoreValue(DerivedEquations)
    redundant_constraints: CoreValue[tuple[str, ...]] = CoreValue(DerivedEquations)
    configuration: CoreValue[Configuration] = CoreValue(
        "The configuration in which the equations hold: locked speeds and dependent speeds."
    )

    @property
    def configurations(self) -> ConfigurationTable:
        """The configurations that a run of the system can meet: sets of locked joints that events reach,
        choices of dependent speeds that loops need. They are found at the first use.
        """
        from armillary.program.configurations import configurations_of

        return configurations_of(self._core)

    # ------------------------------------------------------------ how they were derived, and what they cost

    operations: CoreValue[Operations] = CoreValue(DerivedEquations)
    paired: CoreValue[Operations] = CoreValue(DerivedEquations)
    neglected: CoreValue[NeglectedTerms] = CoreValue(DerivedEquations)
    stages: CoreValue[tuple[Stage, ...]] = CoreValue(
        "The stages of the derivation, with their seconds and operations."
    )
    gains: CoreValue[tuple[Gain, ...]] = CoreValue("The operations that each pass saved.")
    considered: CoreValue[tuple[Considered, ...]] = CoreValue(
        'The formalisms that "auto" chose from, in the order of trying.'
    )
    searched: CoreValue[tuple[Gain, ...]] = CoreValue('The operations that ``effort="high"`` saved.')
    contributions: CoreValue[dict[str, Contribution]] = CoreValue(DerivedEquations)

    show = core_verb(DerivedEquations.show)
    report = core_verb(DerivedEquations.report)

    # ------------------------------------------------------------ pieces, with rows named after speeds

    @property
    def _pieces(self) -> Pieces:
        from armillary.program.pieces import pieces_of

        return pieces_of(self._core)

    mass_matrix: CoreValue[ExpressionMatrix] = CoreValue(
        "M of Kane's equations in the independent speeds, M u̇ = f, whatever the formalism.", of="_pieces"
    )
    forcing: CoreValue[ExpressionVector] = CoreValue(
        "f of M u̇ = f: −c + g + elastic forces + Σ forces of loads.", of="_pieces"
    )
    coriolis: CoreValue[ExpressionVector] = CoreValue(
        "c of M u̇ + c = Q: terms of velocities, and of given accelerations.", of="_pieces"
    )
    coriolis_matrix: CoreValue[ExpressionMatrix] = CoreValue(
        "C with C u = c, by Christoffel's symbols, where all speeds are rates of coordinates.", of="_pieces"
    )
    gravity_forces: CoreValue[ExpressionVector] = CoreValue(
        "g, generalised forces of gravity that acts uniformly on all bodies.", of="_pieces"
    )
    elastic_forces: CoreValue[ExpressionVector] = CoreValue(
        "Generalised forces of stiffness and damping of flexible bodies.", of="_pieces"
    )
    load_forces: CoreValue[dict[str, ExpressionVector]] = CoreValue(
        "Generalised forces of each load by its name.", of="_pieces"
    )
    input_map: CoreValue[ExpressionMatrix] = CoreValue(
        "B of f = f₀ + B w for the declared inputs w (``s.input``), which must enter linearly.", of="_pieces"
    )

    def jacobian(self, of: Point | Body | str, axes: Body | str | None = None) -> ExpressionMatrix:
        """Return the Jacobian of a point's velocity by the independent speeds, along the axes of the ground
        or of ``axes``; for a body, of its origin's velocity, then of its angular velocity.
        """
        return self._pieces.jacobian(of, axes)

    if TYPE_CHECKING:
        find_configurations = typed_verb(configurations_module.find_configurations)
        latex = typed_verb(documents.latex)
        html = typed_verb(documents.html)
        handout = typed_verb(documents.handout)
        to_casadi = typed_verb(casadi_functions.to_casadi)
        inverse = typed_verb(effort_equations.effort_expressions)
        base_parameters = typed_verb(inertial_parameters.base_parameters)
    else:
        find_configurations = LazyVerb("armillary.program.configurations")
        latex = LazyVerb("armillary.program.documents")
        html = LazyVerb("armillary.program.documents")
        handout = LazyVerb("armillary.program.documents")
        to_casadi = LazyVerb("armillary.control.casadi_functions")
        inverse = LazyVerb("armillary.analysis.effort_equations", "effort_expressions")
        base_parameters = LazyVerb("armillary.analysis.identification.inertial_parameters")

    # ------------------------------------------------------------ to other stages

    def compile(self, backend: str = "llvm", *, tier: str = "final") -> Model:
        """Return the equations as compiled code in this process.

        The tier "quick" is for the first look at a large model: its code is ready in a third to half of the
        time, and an evaluation takes two to three times as long. Its results differ from those of "final" by
        rounding.
        """
        from armillary.runtime.models.compilation import compile_equations
        from armillary.stages.model import model_stage

        return model_stage(compile_equations(self._core, backend, tier, pictures=MotionPictures), self)

    def export(self, language: str, path: str | os.PathLike[str], **options: object) -> Path:
        """Write the equations as a program in another language ("c", "fortran", "python", "fmu", …)."""
        from armillary.export import export

        return export(self._core, language, path, **options)

    # ------------------------------------------------------------ pictures, as objects and in notebooks

    @property
    def picture(self) -> MotionPictures:
        """The object that draws motions, for runs that were read from files."""
        return MotionPictures(self._core)

    def page(self, run: Run, title: str = "", options: PictureOptions | None = None) -> str:
        """Return the motion of a run as the text of one HTML page; ``run.animate`` writes it to a file."""
        return self.picture.page(run, title, options)

    def scene(self, run: Run, path: Path) -> None:
        """Write the motion of a run as a binary glTF file, for ``run.animate``."""
        self.picture.scene(run, path)

    def _repr_html_(self) -> str:
        from armillary.program.documents import equations_html

        return equations_html(self._core)

    def __repr__(self) -> str:
        return repr(self._core)

    def _with_core(self, core: DerivedEquations) -> Equations:
        """Return the stage of other derived equations of the same system."""
        return equations_stage(core)

    def __reduce__(self) -> tuple[object, ...]:
        return self._core.__reduce__()  # raises an error that names what can be pickled


class FreeSpeedEquations(Equations):
    """Equations of motion in coordinates and velocities of free bodies that the derivation chose."""

    _core: DerivedFreeSpeedEquations


class MomentumEquations(Equations):
    """Equations of motion in coordinates and momenta."""

    _core: DerivedMomentumEquations

    momenta: CoreValue[tuple[str, ...]] = CoreValue(DerivedMomentumEquations)
    conjugate: CoreValue[tuple[Expr, ...]] = CoreValue(
        "Momenta conjugate to the free speeds, as expressions of coordinates and speeds."
    )
    momentum_matrix: CoreValue[tuple[tuple[Expr, ...], ...]] = CoreValue(DerivedMomentumEquations)


class RedundantEquations(Equations):
    """Equations of motion in redundant coordinates."""

    _core: DerivedRedundantEquations

    constraints: CoreValue[tuple[str, ...]] = CoreValue(DerivedRedundantEquations)


class SensitiveEquations(Equations):
    """Equations of motion with the derivatives of the motion as further states."""

    _core: DerivedSensitiveEquations

    directions: CoreValue[tuple[Direction, ...]] = CoreValue(
        "The parameters and initial values by which the motion is differentiated."
    )
    of: CoreValue[tuple[str, ...]] = CoreValue("Names of the outputs whose derivatives are outputs.")


# The stage class for each class of derived equations; a subclass that is not listed has the stage class of
# its nearest base.
EQUATIONS: dict[type[DerivedEquations], type[Equations]] = {
    DerivedEquations: Equations,
    DerivedFreeSpeedEquations: FreeSpeedEquations,
    DerivedMomentumEquations: MomentumEquations,
    DerivedRedundantEquations: RedundantEquations,
    DerivedSensitiveEquations: SensitiveEquations,
}


def equations_stage(core: DerivedEquations) -> Equations:
    """Return the stage of derived equations."""
    return next(EQUATIONS[kind] for kind in type(core).__mro__ if kind in EQUATIONS)(core)
