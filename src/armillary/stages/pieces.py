"""The verbs of models that evaluate the equations of motion in pieces, M u̇ = f."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from armillary.untyped import DataMapping, Given

if TYPE_CHECKING:
    import numpy as np

    from armillary.analysis.places import PieceFunctions
    from armillary.model.bodies.body import Body, Point
    from armillary.runtime.models.compiled import CompiledModel
    from armillary.stages.equations import Equations


Parameters = DataMapping | None  # values by name, of one place or of each row
Array = object  # numbers, or values by name: of one place, or with a leading axis of many


class ModelPieces:
    """Pieces of a model's equations as compiled functions.

    All take one place or rows of them: t, coordinates q and independent speeds u in the order of the pieces
    (``model.equations.mass_matrix.rows``), in the model's own units, or values by name in stated units;
    ``parameters`` may be arrays. Memory and ``states`` of the user's own that are left out have their initial
    values.
    """

    _core: CompiledModel
    equations: Equations

    @cached_property
    def _piece_functions(self) -> PieceFunctions:
        from armillary.analysis.places import PieceFunctions

        return PieceFunctions(self._core, self.equations._pieces)

    def _matrix(self, name: str, *place: Given) -> np.ndarray:
        from armillary.analysis.places import PiecePlace

        return self._piece_functions.matrix(name, PiecePlace(*place))

    def _quantity(self, name: str, *place: Given) -> Given:
        from armillary.analysis.places import PiecePlace

        return self._piece_functions.quantity(name, PiecePlace(*place))

    def mass_matrix(
        self, t: Array, q: Array, parameters: Parameters = None, *, memory: Array = None, states: Array = None
    ) -> np.ndarray:
        """M of M u̇ = f."""
        return self._matrix("mass_matrix", t, q, None, parameters, memory, states)

    def forcing(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> np.ndarray:  # fmt: skip
        """f of M u̇ = f."""
        return self._matrix("forcing", t, q, u, parameters, memory, states)

    def coriolis(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> np.ndarray:  # fmt: skip
        """c of M u̇ + c = Q: terms of velocities, and of given accelerations."""
        return self._matrix("coriolis", t, q, u, parameters, memory, states)

    def coriolis_matrix(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """C with C u = c; see ``Equations.coriolis_matrix``."""
        return self._matrix("coriolis_matrix", t, q, u, parameters)

    def gravity_forces(
        self, t: Array, q: Array, parameters: Parameters = None, *, memory: Array = None, states: Array = None
    ) -> np.ndarray:
        """Generalised forces of gravity that acts uniformly on all bodies."""
        return self._matrix("gravity_forces", t, q, None, parameters, memory, states)

    def elastic_forces(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> np.ndarray:  # fmt: skip
        """Generalised forces of stiffness and damping of flexible bodies."""
        return self._matrix("elastic_forces", t, q, u, parameters, memory, states)

    def load_forces(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Generalised forces of each load by its name."""
        from armillary.analysis.places import PiecePlace

        return self._piece_functions.loads(PiecePlace(t, q, u, parameters, memory, states))

    def input_map(
        self, t: Array, q: Array, u: Array = None, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> np.ndarray:  # fmt: skip
        """B of f = f₀ + B w for the declared inputs w."""
        return self._matrix("input_map", t, q, u, parameters, memory, states)

    def jacobian(
        self, of: Point | Body | str, t: Array, q: Array, parameters: Parameters = None, *,
        axes: Body | str | None = None,
    ) -> np.ndarray:  # fmt: skip
        """The Jacobian of a point or body by the independent speeds; see ``Equations.jacobian``."""
        from armillary.analysis.places import PiecePlace

        return self._piece_functions.jacobian(of, axes, PiecePlace(t, q, None, parameters))

    def kinetic_energy(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> Given:
        """Kinetic energy of all bodies."""
        return self._quantity("kinetic_energy", t, q, u, parameters)

    def potential_energy(self, t: Array, q: Array, parameters: Parameters = None) -> Given:
        """Potential energy of gravity."""
        return self._quantity("potential_energy", t, q, None, parameters)

    def strain_energy(self, t: Array, q: Array, parameters: Parameters = None) -> Given:
        """Strain energy of flexible bodies."""
        return self._quantity("strain_energy", t, q, None, parameters)

    def total_energy(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> Given:
        """The sum of kinetic, potential and strain energy."""
        return self._quantity("total_energy", t, q, u, parameters)

    def momentum(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """Linear momentum, along the ground's axes."""
        return cast("np.ndarray", self._quantity("momentum", t, q, u, parameters))

    def angular_momentum(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """Angular momentum about the ground's origin, along the ground's axes."""
        return cast("np.ndarray", self._quantity("angular_momentum", t, q, u, parameters))

    def mass_centre(self, t: Array, q: Array, parameters: Parameters = None) -> np.ndarray:
        """Place of the mass centre of all bodies, along the ground's axes."""
        return cast("np.ndarray", self._quantity("mass_centre", t, q, None, parameters))
