"""The verbs of equations and models that give the equations of motion in pieces, M u̇ = f."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from armillary.untyped import DataMapping, Given

if TYPE_CHECKING:
    import numpy as np

    from armillary.algebra.named_arrays import ExpressionMatrix, ExpressionVector
    from armillary.analysis.pieces import PieceFunctions, PiecePlace
    from armillary.model.bodies.body import Body, Point
    from armillary.program.equations import DerivedEquations
    from armillary.program.pieces import Pieces


Parameters = DataMapping | None  # values by name, of one place or of each row


class EquationPieces:
    """Pieces of derived equations as expressions, with rows named after the independent speeds."""

    @cached_property
    def _pieces(self) -> Pieces:
        from armillary.program.pieces import pieces_of

        return pieces_of(cast("DerivedEquations", self))

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
        """The Jacobian of a point's velocity by the independent speeds, along the axes of the ground or of
        ``axes``; for a body, of its origin's velocity, then of its angular velocity.
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
        ``symbols={"cart.q1": "x", "pole.q1": "θ"}`` declares own ones, whose rates are ẋ and θ̇.
        """
        from armillary.program.print.documents import latex_equations

        return latex_equations(self._pieces, form, speeds, names, symbols)

    def html(
        self,
        form: str = "M u' = f",
        *,
        speeds: str = "u",
        names: str = "short",
        symbols: Mapping[str, str] | None = None,
    ) -> str:
        """The equations as HTML with MathML, which browsers show without a script or network."""
        from armillary.program.print.documents import html_equations

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
        """A document with tree, symbols, parameters and equations, in a file .html or .tex; see ``latex``."""
        from armillary.program.print.documents import write_handout

        return write_handout(cast("DerivedEquations", self), self._pieces, path, form, speeds, names, symbols)

    def _repr_html_(self) -> str:
        from armillary.program.print.documents import equations_html

        return equations_html(cast("DerivedEquations", self), lambda: self._pieces)


class ModelPieces:
    """Pieces of a model's equations as compiled functions.

    All take one place or rows of them: t, coordinates q and independent speeds u in the order of the pieces
    (``model.equations.mass_matrix.rows``), in the model's own units, or values by name in stated units;
    ``parameters`` may be arrays. Memory and ``states`` of the user's own that are left out have their initial
    values.
    """

    @cached_property
    def _piece_functions(self) -> PieceFunctions:
        from armillary.analysis.pieces import PieceFunctions

        model: Given = self
        return PieceFunctions(model, model.equations._pieces)

    def mass_matrix(
        self,
        t: object,
        q: object,
        parameters: Parameters = None,
        *,
        memory: object = None,
        states: object = None,
    ) -> np.ndarray:
        """M of M u̇ = f."""
        return self._piece_functions.matrix(
            "mass_matrix", _piece_place(t, q, None, parameters, memory, states)
        )

    def forcing(
        self,
        t: object,
        q: object,
        u: object,
        parameters: Parameters = None,
        *,
        memory: object = None,
        states: object = None,
    ) -> np.ndarray:
        """f of M u̇ = f."""
        return self._piece_functions.matrix("forcing", _piece_place(t, q, u, parameters, memory, states))

    def coriolis(
        self,
        t: object,
        q: object,
        u: object,
        parameters: Parameters = None,
        *,
        memory: object = None,
        states: object = None,
    ) -> np.ndarray:
        """c of M u̇ + c = Q: terms of velocities, and of given accelerations."""
        return self._piece_functions.matrix("coriolis", _piece_place(t, q, u, parameters, memory, states))

    def coriolis_matrix(self, t: object, q: object, u: object, parameters: Parameters = None) -> np.ndarray:
        """C with C u = c; see ``Equations.coriolis_matrix``."""
        return self._piece_functions.matrix("coriolis_matrix", _piece_place(t, q, u, parameters))

    def gravity_forces(
        self,
        t: object,
        q: object,
        parameters: Parameters = None,
        *,
        memory: object = None,
        states: object = None,
    ) -> np.ndarray:
        """Generalised forces of gravity that acts uniformly on all bodies."""
        return self._piece_functions.matrix(
            "gravity_forces", _piece_place(t, q, None, parameters, memory, states)
        )

    def elastic_forces(
        self,
        t: object,
        q: object,
        u: object,
        parameters: Parameters = None,
        *,
        memory: object = None,
        states: object = None,
    ) -> np.ndarray:
        """Generalised forces of stiffness and damping of flexible bodies."""
        return self._piece_functions.matrix(
            "elastic_forces", _piece_place(t, q, u, parameters, memory, states)
        )

    def load_forces(
        self,
        t: object,
        q: object,
        u: object,
        parameters: Parameters = None,
        *,
        memory: object = None,
        states: object = None,
    ) -> dict[str, np.ndarray]:
        """Generalised forces of each load by its name."""
        return self._piece_functions.loads(_piece_place(t, q, u, parameters, memory, states))

    def input_map(
        self,
        t: object,
        q: object,
        u: object = None,
        parameters: Parameters = None,
        *,
        memory: object = None,
        states: object = None,
    ) -> np.ndarray:
        """B of f = f₀ + B w for the declared inputs w."""
        return self._piece_functions.matrix("input_map", _piece_place(t, q, u, parameters, memory, states))

    def jacobian(
        self,
        of: Point | Body | str,
        t: object,
        q: object,
        parameters: Parameters = None,
        *,
        axes: Body | str | None = None,
    ) -> np.ndarray:
        """The Jacobian of a point or body by the independent speeds; see ``Equations.jacobian``."""
        return self._piece_functions.jacobian(of, axes, _piece_place(t, q, None, parameters))

    def kinetic_energy(self, t: object, q: object, u: object, parameters: Parameters = None) -> Given:
        """Kinetic energy of all bodies."""
        return self._piece_functions.quantity("kinetic_energy", _piece_place(t, q, u, parameters))

    def potential_energy(self, t: object, q: object, parameters: Parameters = None) -> Given:
        """Potential energy of gravity."""
        return self._piece_functions.quantity("potential_energy", _piece_place(t, q, None, parameters))

    def strain_energy(self, t: object, q: object, parameters: Parameters = None) -> Given:
        """Strain energy of flexible bodies."""
        return self._piece_functions.quantity("strain_energy", _piece_place(t, q, None, parameters))

    def total_energy(self, t: object, q: object, u: object, parameters: Parameters = None) -> Given:
        """The sum of kinetic, potential and strain energy."""
        return self._piece_functions.quantity("total_energy", _piece_place(t, q, u, parameters))

    def momentum(self, t: object, q: object, u: object, parameters: Parameters = None) -> np.ndarray:
        """Linear momentum, along the ground's axes."""
        found = self._piece_functions.quantity("momentum", _piece_place(t, q, u, parameters))
        return cast("np.ndarray", found)

    def angular_momentum(self, t: object, q: object, u: object, parameters: Parameters = None) -> np.ndarray:
        """Angular momentum about the ground's origin, along the ground's axes."""
        return cast(
            "np.ndarray",
            self._piece_functions.quantity("angular_momentum", _piece_place(t, q, u, parameters)),
        )

    def mass_centre(self, t: object, q: object, parameters: Parameters = None) -> np.ndarray:
        """Place of the mass centre of all bodies, along the ground's axes."""
        return cast(
            "np.ndarray", self._piece_functions.quantity("mass_centre", _piece_place(t, q, None, parameters))
        )


def _piece_place(*where: Given) -> PiecePlace:
    from armillary.analysis.pieces import PiecePlace

    return PiecePlace(*where)
