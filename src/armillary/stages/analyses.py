"""Verbs of models: analyses (kinematics, efforts, operating points, linear models) and pieces of M u̇ = f as
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from armillary.algebra.arguments import several
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
    from armillary.analysis.operating import trim as trim_module
    from armillary.analysis.places import PieceFunctions
    from armillary.control import (
        estimation,
        jax_functions,
        plant,
        receding,
        run_gradient,
        torch_functions,
        tracking,
    )
    from armillary.control import ilqr as ilqr_module
    from armillary.control import optimize as optimize_module
    from armillary.control.predictive import PredictiveRegulator
    from armillary.control.regulators import Regulator
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
        trim = typed_verb(trim_module.trim)
        equilibrium = typed_verb(trim_module.equilibrium)
        regressor = typed_verb(excitation.regressor)
        solve = typed_verb(solve_module.solve)
        workspace = typed_verb(sweep_module.workspace)
    else:
        inverse = LazyVerb("armillary.analysis.efforts")
        sweep = LazyVerb("armillary.analysis.kinematics.sweep")
        linearize = LazyVerb("armillary.analysis.linear.linearize")
        undamped_modes = LazyVerb("armillary.analysis.modes.undamped_modes")
        trace = LazyVerb("armillary.analysis.operating.branch")
        trim = LazyVerb("armillary.analysis.operating.trim")
        equilibrium = LazyVerb("armillary.analysis.operating.trim")
        regressor = LazyVerb("armillary.analysis.identification.excitation")
        solve = LazyVerb("armillary.analysis.kinematics.solve")
        workspace = LazyVerb("armillary.analysis.kinematics.sweep")


Parameters = DataMapping | None  # values by name, of one instant or of each row
Array = object  # numbers, or values by name: of one instant, or with a leading axis of instants


class ModelPieces:
    """Pieces of a model's equations as compiled functions.

    All take one instant or rows of instants: t, coordinates q and independent speeds u, in the model's own
    units and in the order of ``model.equations.mass_matrix.rows``, or values by name in stated units.
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
        """Return the generalised forces of gravity that acts uniformly on all bodies."""
        return self._matrix("gravity_forces", t, q, None, parameters, memory, states)

    def elastic_forces(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the generalised forces of stiffness and damping of flexible bodies."""
        return self._matrix("elastic_forces", t, q, u, parameters, memory, states)

    def load_forces(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Return the generalised forces of each load by its name."""
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
        """Return the kinetic energy of all bodies."""
        return self._quantity("kinetic_energy", t, q, u, parameters)

    def potential_energy(self, t: Array, q: Array, parameters: Parameters = None) -> Given:
        """Return the potential energy of gravity."""
        return self._quantity("potential_energy", t, q, None, parameters)

    def strain_energy(self, t: Array, q: Array, parameters: Parameters = None) -> Given:
        """Return the strain energy of flexible bodies."""
        return self._quantity("strain_energy", t, q, None, parameters)

    def total_energy(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> Given:
        """Return the sum of kinetic, potential and strain energy."""
        return self._quantity("total_energy", t, q, u, parameters)

    def momentum(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """Return the linear momentum, along the ground's axes."""
        return cast("np.ndarray", self._quantity("momentum", t, q, u, parameters))

    def angular_momentum(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """Return the angular momentum about the ground's origin, along the ground's axes."""
        return cast("np.ndarray", self._quantity("angular_momentum", t, q, u, parameters))

    def mass_centre(self, t: Array, q: Array, parameters: Parameters = None) -> np.ndarray:
        """Return the position of the mass centre of all bodies, along the ground's axes."""
        return cast("np.ndarray", self._quantity("mass_centre", t, q, None, parameters))


class ModelControl:
    """Control of a model. ``s.input`` declares its inputs; weights are in stated units."""

    _core: CompiledModel

    if TYPE_CHECKING:
        lqr_along = typed_verb(tracking.lqr_along)
        ilqr = typed_verb(ilqr_module.ilqr)
        nmpc = typed_verb(receding.nmpc)
        estimate = typed_verb(estimation.estimate)
        second_derivatives = typed_verb(plant.second_derivatives)
        gradient = typed_verb(run_gradient.gradient)
        optimize = typed_verb(optimize_module.optimize)
        to_jax = typed_verb(jax_functions.to_jax)
        to_torch = typed_verb(torch_functions.to_torch)
    else:
        lqr_along = LazyVerb("armillary.control.tracking")
        ilqr = LazyVerb("armillary.control.ilqr")
        nmpc = LazyVerb("armillary.control.receding")
        estimate = LazyVerb("armillary.control.estimation")
        second_derivatives = LazyVerb("armillary.control.plant")
        gradient = LazyVerb("armillary.control.run_gradient")
        optimize = LazyVerb("armillary.control.optimize")
        to_jax = LazyVerb("armillary.control.jax_functions")
        to_torch = LazyVerb("armillary.control.torch_functions")

    def lqr(
        self,
        inputs: Sequence[str],
        Q: object,
        R: object,
        at: object = None,
        *,
        parameters: Mapping[str, object] | None = None,
    ) -> Regulator:
        """Return the gain K of v = −K x that minimises ∫ (xᵀ Q x + vᵀ R v) dt about an operating point.

        ``at`` is as for ``linearize``, and must be steady: an equilibrium, or a motion in which no coordinate
        changes except those on which no rate depends. Q weighs states and R inputs: a number for all, numbers
        by name (the rest zero), the diagonal, or a matrix. ``armillary.control.lqr`` takes any linear model,
        also discrete models, parts of models, and models at points that are not steady.
        """
        from armillary.analysis.linear.linearize import linearize
        from armillary.control.regulators import check_steady, lqr

        linear = linearize(self._core, at, inputs, parameters=parameters)
        regulator = lqr(linear, Q, R)
        check_steady(self._core, linear, "lqr")
        return regulator

    def mpc(
        self,
        inputs: Sequence[str] | Mapping[str, object],
        Q: object,
        R: object,
        *,
        step: float,
        horizon: int,
        final: object = None,
        at: object = None,
        passes: int = 20,
        parameters: Mapping[str, object] | None = None,
    ) -> PredictiveRegulator:
        """Return a predictive regulator about an operating point: the best inputs over ``horizon`` steps.

        ``inputs`` are names, or names with limits (low, high). Q and R weigh the states and inputs of every
        step, ``final`` weighs the last state (by default with the cost of LQR); ``at`` is as for ``lqr``. The
        solver makes a fixed number of ``passes`` (iterations) at every state, so its time is bounded.
        ``expressions(system)`` of the result puts the control law into a description, for runs, live pages
        and exported C.
        """
        from armillary.analysis.linear.linearize import linearize
        from armillary.control.predictive import mpc
        from armillary.control.regulators import check_steady

        names = several(inputs, "inputs=")
        linear = linearize(self._core, at, names, parameters=parameters)
        limits = inputs if isinstance(inputs, Mapping) else {}
        law = mpc(linear.discretize(step), Q, R, horizon, limits, final=final, passes=passes)
        check_steady(self._core, linear, "mpc")
        return law
