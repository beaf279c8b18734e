"""Verbs of models: analyses (kinematics, efforts, operating points, linear models) and pieces of M u̇ = f as
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from armillary.stages.shared import LazyVerb, typed_verb
from armillary.untyped import DataMapping, Given

if TYPE_CHECKING:
    import numpy as np

    from armillary.analysis import efforts
    from armillary.analysis.identification import excitation
    from armillary.analysis.kinematics import solve as solve_module
    from armillary.analysis.kinematics import sweep as sweep_module
    from armillary.analysis.linear import linearize as linearize_module
    from armillary.analysis.modes import undamped_modes as undamped_modes_module
    from armillary.analysis.operating import branch
    from armillary.analysis.operating.point import OperatingPoint
    from armillary.analysis.places import PieceFunctions
    from armillary.model.bodies.body import Body, Point
    from armillary.runtime.models.compiled import CompiledModel
    from armillary.stages.equations import Equations


class ModelAnalyses:
    """Analyses of a model."""

    _core: CompiledModel

    if TYPE_CHECKING:
        inverse = typed_verb(efforts.inverse)
        sweep = typed_verb(sweep_module.sweep)
        linearize = typed_verb(linearize_module.linearize)
        undamped_modes = typed_verb(undamped_modes_module.undamped_modes)
        trace = typed_verb(branch.trace)
        regressor = typed_verb(excitation.regressor)
        solve = typed_verb(solve_module.solve)
        workspace = typed_verb(sweep_module.workspace)
    else:
        inverse = LazyVerb("armillary.analysis.efforts")
        sweep = LazyVerb("armillary.analysis.kinematics.sweep")
        linearize = LazyVerb("armillary.analysis.linear.linearize")
        undamped_modes = LazyVerb("armillary.analysis.modes.undamped_modes")
        trace = LazyVerb("armillary.analysis.operating.branch")
        regressor = LazyVerb("armillary.analysis.identification.excitation")
        solve = LazyVerb("armillary.analysis.kinematics.solve")
        workspace = LazyVerb("armillary.analysis.kinematics.sweep")

    # ------------------------------------------------------------ operating points

    def trim(
        self,
        fixed: Mapping[str, object] | None = None,
        free: Sequence[str] | None = None,
        rates: Mapping[str, object] | None = None,
        *,
        inputs: Sequence[str] | Mapping[str, object] = (),
        outputs: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
        bounds: Mapping[str, object] | None = None,
        starts: object = None,
        settle: bool = False,
        memory: Mapping[str, object] | None = None,
        t: float | str = 0.0,
    ) -> OperatingPoint:
        """Return a steady motion: a state whose rates are zero unless given, and the inputs that hold it.

        ``fixed`` are values of states, ``free`` the states to find (left out: all that are not fixed),
        ``rates`` the rates of states other than zero (None: any rate), ``inputs`` the parameters or inputs to
        find, ``outputs`` values of outputs that must be met, ``bounds`` pairs (low, high) by name. Cyclic
        coordinates, which no rate depends on, stay at their start, and their rates are conditions only if
        given. ``starts`` are values by name from which to start; a list of these, or a number of scattered
        starts, may give several ``solutions``. With ``settle`` the search begins where a heavily damped
        motion of the coordinates from the start comes to rest, which is near a stable point in most cases;
        ``stable`` of the result is true or false. Loops are closed and Euler parameters unit there.
        """
        from armillary.analysis.operating.trim import trim

        return trim(
            self._core, fixed=fixed, free=free, rates=rates, inputs=inputs, outputs=outputs,
            parameters=parameters, bounds=bounds, starts=starts, settle=settle, memory=memory, t=t,
        )  # fmt: skip

    def equilibrium(
        self,
        fixed: Mapping[str, object] | None = None,
        free: Sequence[str] | None = None,
        *,
        inputs: Sequence[str] | Mapping[str, object] = (),
        outputs: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
        bounds: Mapping[str, object] | None = None,
        starts: object = None,
        settle: bool = False,
        memory: Mapping[str, object] | None = None,
        t: float | str = 0.0,
    ) -> OperatingPoint:
        """Find a state of rest: all rates are zero, also of cyclic coordinates; otherwise as ``trim``."""
        from armillary.analysis.operating.trim import trim

        return trim(
            self._core, at_rest=True, settle=settle, fixed=fixed, free=free, inputs=inputs, outputs=outputs,
            parameters=parameters, bounds=bounds, starts=starts, memory=memory, t=t,
        )  # fmt: skip


Parameters = DataMapping | None  # values by name, of one instant or of each row
Array = object  # numbers, or values by name: of one instant, or with a leading axis of instants


class ModelPieces:
    """Pieces of a model's equations as compiled functions.

    All take one instant or rows of instants: t, coordinates q and independent speeds u in the order of the
    pieces (``model.equations.mass_matrix.rows``), in the model's own units, or values by name in stated
    units; ``parameters`` may be arrays. Memory and ``states`` of the user's own that are left out have their
    initial values.
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
        """Return the Jacobian of a point or body by the independent speeds; see ``Equations.jacobian``."""
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
        """Return the sum of kinetic, potential and strain energy."""
        return self._quantity("total_energy", t, q, u, parameters)

    def momentum(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """Linear momentum, along the ground's axes."""
        return cast("np.ndarray", self._quantity("momentum", t, q, u, parameters))

    def angular_momentum(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """Angular momentum about the ground's origin, along the ground's axes."""
        return cast("np.ndarray", self._quantity("angular_momentum", t, q, u, parameters))

    def mass_centre(self, t: Array, q: Array, parameters: Parameters = None) -> np.ndarray:
        """Position of the mass centre of all bodies, along the ground's axes."""
        return cast("np.ndarray", self._quantity("mass_centre", t, q, None, parameters))
