"""The equations that users hold: derived equations, with the verbs that show, compile and export them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from armillary.algebra.calculus import Values
from armillary.algebra.expression import Expr
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.momentum import DerivedMomentumEquations
from armillary.program.formalisms.redundant import DerivedRedundantEquations
from armillary.program.formalisms.tree_formalisms import DerivedFreeSpeedEquations
from armillary.program.sensitivities import DerivedSensitiveEquations, Direction
from armillary.stages.shared import MotionPictures, OtherStages

if TYPE_CHECKING:
    from armillary.algebra.textbook_form import ExpressionMatrix, ExpressionVector
    from armillary.algebra.truncation import NeglectedTerms
    from armillary.analysis.identification.inertial_parameters import BaseParameters
    from armillary.control.casadi_functions import CasadiFunctions
    from armillary.mechanics.constraints.reduction import Configuration
    from armillary.model.bodies.body import Body, Point
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

    @property
    def formalism(self) -> str:
        """Name of the formalism."""
        return self._core.formalism

    @property
    def program(self) -> Program:
        """The program: sections of assignments, constants, states and memory."""
        return self._core.program

    @property
    def parameter_units(self) -> dict[str, str]:
        """Units of the parameters: stated, or deduced if none were stated."""
        return self._core.parameter_units

    @property
    def parameters(self) -> dict[str, float | None]:
        """Parameters with their defaults, in their stated units; `None` if a parameter has no default."""
        return self._core.parameters

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of the state."""
        return self._core.coordinates

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of the speeds that are states (prescribed ones are not), in the order of the state."""
        return self._core.speeds

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states of the user's own, which follow the speeds in the state."""
        return self._core.states

    @property
    def freedom(self) -> str:
        """The degrees of freedom, in words."""
        return self._core.freedom

    @property
    def dependents(self) -> dict[str, str]:
        """Dependent speeds, with the names of the constraints that eliminate them."""
        return self._core.dependents

    @property
    def redundant_constraints(self) -> tuple[str, ...]:
        """Names of the redundant constraints, which follow from others."""
        return self._core.redundant_constraints

    @property
    def configuration(self) -> Configuration:
        """The configuration in which the equations hold: locked speeds and dependent speeds."""
        return self._core.configuration

    @property
    def configurations(self) -> ConfigurationTable:
        """The configurations that a run of the system can meet: sets of locked joints that events reach,
        choices of dependent speeds that loops need. Found at first use.
        """
        from armillary.program.configurations import configurations_of

        return configurations_of(self._core)

    def find_configurations(self, limit: int = 16) -> ConfigurationTable:
        """Return the configurations that a run can meet, with another limit to their number;
        ``configurations`` is this table from then on.
        """
        from armillary.program.configurations import find_configurations

        return find_configurations(self._core, limit)

    # ------------------------------------------------------------ how they were derived, and what they cost

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation of all derivatives; precomputed constants not counted."""
        return self._core.operations

    @property
    def paired(self) -> Operations:
        """Operations of the derivatives that machine code computes two at a time, in the lanes of vectors."""
        return self._core.paired

    @property
    def neglected(self) -> NeglectedTerms:
        """Terms left out because quantities were declared small or large: printable and iterable."""
        return self._core.neglected

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of the derivation, with their seconds and operations."""
        return self._core.stages

    @property
    def gains(self) -> tuple[Gain, ...]:
        """The operations that each pass saved."""
        return self._core.gains

    @property
    def considered(self) -> tuple[Considered, ...]:
        """The formalisms that "auto" chose from, in the order of trying."""
        return self._core.considered

    @property
    def searched(self) -> tuple[Gain, ...]:
        """The operations that ``effort="high"`` saved."""
        return self._core.searched

    @property
    def contributions(self) -> dict[str, Contribution]:
        """The contribution of each branch to the equations of its hub, by name; of back substitution."""
        return self._core.contributions

    def show(self, section: str = "derivatives") -> str:
        """Return a section of the program as text, one assignment per line."""
        return self._core.show(section)

    def report(self) -> str:
        """Return a text with bodies, coordinates, operations and the seconds of each stage."""
        return self._core.report()

    # ------------------------------------------------------------ pieces, with rows named after speeds

    @cached_property
    def _pieces(self) -> Pieces:
        from armillary.program.pieces import pieces_of

        return pieces_of(self._core)

    @property
    def mass_matrix(self) -> ExpressionMatrix:
        """M of Kane's equations in the independent speeds, M u̇ = f, whatever the formalism."""
        return self._pieces.mass_matrix

    @property
    def forcing(self) -> ExpressionVector:
        """f of M u̇ = f: −c + g + elastic forces + Σ forces of loads."""
        return self._pieces.forcing

    @property
    def coriolis(self) -> ExpressionVector:
        """c of M u̇ + c = Q: terms of velocities, and of given accelerations."""
        return self._pieces.coriolis

    @property
    def coriolis_matrix(self) -> ExpressionMatrix:
        """C with C u = c, by Christoffel's symbols, where all speeds are rates of coordinates."""
        return self._pieces.coriolis_matrix

    @property
    def gravity_forces(self) -> ExpressionVector:
        """g, generalised forces of gravity that acts uniformly on all bodies."""
        return self._pieces.gravity_forces

    @property
    def elastic_forces(self) -> ExpressionVector:
        """Generalised forces of stiffness and damping of flexible bodies."""
        return self._pieces.elastic_forces

    @property
    def load_forces(self) -> dict[str, ExpressionVector]:
        """Generalised forces of each load by its name."""
        return self._pieces.load_forces

    @property
    def input_map(self) -> ExpressionMatrix:
        """B of f = f₀ + B w for the declared inputs w (``s.input``), which must enter linearly."""
        return self._pieces.input_map

    def jacobian(self, of: Point | Body | str, axes: Body | str | None = None) -> ExpressionMatrix:
        """Return the Jacobian of a point's velocity by the independent speeds, along the axes of the ground
        or of ``axes``; for a body, of its origin's velocity, then of its angular velocity.
        """
        return self._pieces.jacobian(of, axes)

    def latex(
        self,
        form: str = "M u' = f",
        *,
        speeds: str = "u",
        names: str = "short",
        symbols: Mapping[str, str] | None = None,
    ) -> str:
        """M u̇ = f as displayed equations of LaTeX (amsmath), with each cause of f below its terms.

        Forms: "M u' = f"; "M u' + h = Q", with velocity terms h on the left; "rows", one equation per speed.
        ``speeds="q'"`` writes q̇ for speeds that are rates of coordinates. ``names="short"`` numbers
        coordinates, q₁, and writes s₁ for sin q₁, c₁₂ for cos(q₁ + q₂); "full" keeps the model's names.
        ``symbols={"cart.q1": "x", "pole.q1": "θ"}`` sets symbols of your own, whose rates are ẋ and θ̇.
        """
        from armillary.program.documents import latex_equations

        return latex_equations(self._pieces, form, speeds, names, symbols)

    def html(
        self,
        form: str = "M u' = f",
        *,
        speeds: str = "u",
        names: str = "short",
        symbols: Mapping[str, str] | None = None,
    ) -> str:
        """Return the equations as HTML with MathML, which browsers show without a script or network."""
        from armillary.program.documents import html_equations

        return html_equations(self._pieces, form, speeds, names, symbols)

    def handout(
        self,
        path: str | os.PathLike[str],
        form: str = "M u' = f",
        *,
        speeds: str = "u",
        names: str = "short",
        symbols: Mapping[str, str] | None = None,
    ) -> Path:
        """Return a document with tree, symbols, parameters and equations, in a file .html or .tex; see
        ``latex``.
        """
        from armillary.program.documents import write_handout

        return write_handout(self._core, self._pieces, path, form, speeds, names, symbols)

    # ------------------------------------------------------------ to other stages

    def compile(self, backend: str = "llvm", *, tier: str = "final") -> Model:
        """Return the equations as compiled code in this process.

        Code of the tier "quick" is ready in a third to half of the time, and an evaluation takes two to three
        times as long: for the first look at a large model. Its results differ from "final" by rounding.
        """
        from armillary.runtime.models.compilation import compile_equations
        from armillary.stages.model import model_stage

        return model_stage(compile_equations(self._core, backend, tier, pictures=MotionPictures), self)

    def export(self, language: str, path: str | os.PathLike[str], **options: object) -> Path:
        """Write the equations as a program in another language ("c", "fortran", "python", "fmu", …)."""
        from armillary.export import export

        return export(self._core, language, path, **options)

    def to_casadi(
        self,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        *,
        kind: str = "expressions",
        parameters: Sequence[str] | None = None,
    ) -> CasadiFunctions:
        """CasADi functions of (t, x, v, p): the states' rates and the outputs.

        ``inputs`` names the inputs of ``s.input`` in v (left out: all; others keep their defaults),
        ``outputs`` as for ``with_sensitivities``. Numbers are in the model's own units.

        ``kind``: "expressions" (SX), which CasADi differentiates; or "external", which call our compiled code
        and have its exact Jacobians, adjoints and Hessians. The latter have the parameters named by
        ``parameters`` in p, the others at their defaults, and may hold tables and functions of your own.
        """
        from armillary.control.casadi_functions import to_casadi

        return to_casadi(self._core, inputs, outputs, kind, parameters)

    def inverse(self, rates: Values) -> dict[str, Expr]:
        """Efforts that give the speeds these rates, as expressions by the names of speeds.

        ``rates`` has expressions or numbers by speed; those left out are zero. The efforts come on top of all
        loads and can stand in the description, as moments of motors: a controller by inverse dynamics.
        """
        from armillary.analysis.effort_equations import effort_expressions

        return effort_expressions(self._core, rates)

    def base_parameters(self) -> BaseParameters:
        """Return the fewest combinations of inertial parameters on which the motion depends,
        as expressions.
        """
        from armillary.analysis.identification.inertial_parameters import base_parameters

        return base_parameters(self._core)

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

        return equations_html(self._core, lambda: self._pieces)

    def __repr__(self) -> str:
        return repr(self._core)

    def _with_core(self, core: DerivedEquations) -> Equations:
        """Return other equations of the same system as a user holds them."""
        return equations_stage(core)

    def __reduce__(self) -> tuple[object, ...]:
        return self._core.__reduce__()  # an error that names what can be pickled


class FreeSpeedEquations(Equations):
    """Equations of motion in coordinates and velocities of free bodies that the derivation chose."""

    _core: DerivedFreeSpeedEquations


class MomentumEquations(Equations):
    """Equations of motion in coordinates and momenta."""

    _core: DerivedMomentumEquations

    @property
    def momenta(self) -> tuple[str, ...]:
        """Names of the momenta, in the order of the state."""
        return self._core.momenta

    @property
    def conjugate(self) -> tuple[Expr, ...]:
        """Momenta conjugate to the free speeds, over coordinates and speeds."""
        return self._core.conjugate

    @property
    def momentum_matrix(self) -> tuple[tuple[Expr, ...], ...]:
        """A, with p = A u + b for the momenta p conjugate to the free speeds u: ∂p/∂u, row by row.

        It is the mass matrix, found from momenta alone. Its symmetry is not built in but follows from the
        momenta being conjugate.
        """
        return self._core.momentum_matrix


class RedundantEquations(Equations):
    """Equations of motion in redundant coordinates."""

    _core: DerivedRedundantEquations

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints, joint by joint, in the order of the multipliers."""
        return self._core.constraints


class SensitiveEquations(Equations):
    """Equations of motion with the derivatives of the motion as further states."""

    _core: DerivedSensitiveEquations

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The parameters and initial values by which the motion is differentiated."""
        return self._core.directions

    @property
    def of(self) -> tuple[str, ...]:
        """Names of the outputs whose derivatives are outputs."""
        return self._core.of


# A formalism whose equations have a class of their own is shown as the nearest of these.
EQUATIONS: dict[type[DerivedEquations], type[Equations]] = {
    DerivedEquations: Equations,
    DerivedFreeSpeedEquations: FreeSpeedEquations,
    DerivedMomentumEquations: MomentumEquations,
    DerivedRedundantEquations: RedundantEquations,
    DerivedSensitiveEquations: SensitiveEquations,
}


def equations_stage(core: DerivedEquations) -> Equations:
    """Return derived equations as a user holds them."""
    return next(EQUATIONS[kind] for kind in type(core).__mro__ if kind in EQUATIONS)(core)
