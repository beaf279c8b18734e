"""Verbs of models: analyses (kinematics, efforts, operating points, linear models) and pieces of M u̇ = f as
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from armillary.settings import SettingOptions, expanded_signature, run_settings
from armillary.stages.shared import LazyVerb, typed_verb
from armillary.untyped import DataMapping, Given

if TYPE_CHECKING:
    from typing import Unpack

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
    from armillary.control import estimation, plant, tracking
    from armillary.control import ilqr as ilqr_module
    from armillary.control.jax_functions import JaxFunctions
    from armillary.control.optimum import Optimum
    from armillary.control.predictive import PredictiveRegulator
    from armillary.control.regulators import Regulator
    from armillary.control.run_gradient import RunGradient
    from armillary.control.torch_functions import TorchFunctions
    from armillary.model.bodies.body import Body, Point
    from armillary.runtime.models.compiled import CompiledModel
    from armillary.settings import Initial
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
        estimate = typed_verb(estimation.estimate)
        second_derivatives = typed_verb(plant.second_derivatives)
    else:
        lqr_along = LazyVerb("armillary.control.tracking")
        ilqr = LazyVerb("armillary.control.ilqr")
        estimate = LazyVerb("armillary.control.estimation")
        second_derivatives = LazyVerb("armillary.control.plant")

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

        ``at`` is as for ``linearize``. Q weighs states and R inputs: a number for all, numbers by name (the
        rest zero), the diagonal, or a matrix. ``armillary.control.lqr`` takes any linear model, discrete ones
        and parts of them too.
        """
        from armillary.analysis.linear.linearize import linearize
        from armillary.control.regulators import lqr

        return lqr(linearize(self._core, at, inputs, parameters=parameters), Q, R)

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

        ``inputs`` are names, or names with limits (low, high). Q, R and ``final`` weigh states and inputs of
        every step and the last state (left out: the cost of LQR); ``at`` is as for ``linearize``. The solver
        makes a fixed number of ``passes`` at every state, so its time is bounded; ``expressions(system)`` of
        the result puts the law into a description, for runs, live pages and exported C.
        """
        from armillary.analysis.linear.linearize import linearize
        from armillary.control.predictive import mpc

        linear = linearize(self._core, at, list(inputs), parameters=parameters).discretize(step)
        limits = inputs if isinstance(inputs, Mapping) else {}
        limits = {name: pair for name, pair in limits.items() if pair is not None}
        return mpc(linear, Q, R, horizon, limits, final=final, passes=passes)

    @expanded_signature(SettingOptions)
    def gradient(
        self,
        t_end: float | str,
        to: Sequence[object],
        *,
        cost: object = None,
        final_cost: object = None,
        sample_cost: object = None,
        initial: Initial = None,
        parameters: DataMapping | None = None,
        memory: Mapping[str, float] | None = None,
        inputs: object = None,
        ignore_jumps: bool = False,
        **settings: Unpack[SettingOptions],
    ) -> RunGradient:
        """Return the derivatives of ∫ ``cost`` dt + Σ ``sample_cost`` + ``final_cost`` of a run, by the
        adjoint.

        This takes one run and one backward pass, however many names ``to`` has: parameters, initial values
        and inputs. An input with data in ``inputs`` gives a derivative by each of its values. Costs are texts
        or expressions as for ``optimize``; ``sample_cost`` is summed over the rows of the run. Derivatives
        are exact for the steps taken, by methods "rk4", "midpoint", "dopri5" and "dop853". Other arguments
        are as in ``simulate``, ``ignore_jumps`` as in ``with_sensitivities``. Events and contacts are
        refused.
        """
        from armillary.control.run_gradient import run_gradient

        made = run_settings(ModelControl.gradient, t_end, **settings)
        return run_gradient(
            self._core, made, to, cost, final_cost, sample_cost, initial=initial, parameters=parameters,
            memory=memory, inputs=inputs, ignore_jumps=ignore_jumps,
        )  # fmt: skip

    def to_jax(
        self,
        inputs: Sequence[str] | None = None,
        parameters: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        *,
        step: float | None = None,
        method: str = "rk4",
        parts: int = 1,
        ignore_jumps: bool = False,
    ) -> JaxFunctions:
        """Return rates, outputs, a step and a whole run as functions of JAX that it differentiates both ways.

        ``inputs`` are names of inputs v (left out: all), ``parameters`` of parameters p (left out: none),
        ``outputs`` as for ``with_sensitivities``. Inputs are held for a ``step``, which is made of ``parts``
        equal steps of an explicit ``method``. `jax.jit`, `grad`, `jvp` and `vmap` work; the code runs on the
        CPU.
        """
        from armillary.control.array_functions import ArrayFunctions
        from armillary.control.jax_functions import to_jax

        how = (step, method, parts, ignore_jumps)
        return to_jax(ArrayFunctions(self._core, inputs, parameters, outputs, *how))

    def to_torch(
        self,
        inputs: Sequence[str] | None = None,
        parameters: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        *,
        step: float | None = None,
        method: str = "rk4",
        parts: int = 1,
        ignore_jumps: bool = False,
    ) -> TorchFunctions:
        """Return rates, outputs, a step and a whole run as functions of PyTorch that it differentiates both
        ways.

        Arguments are as for ``to_jax``. Tensors must be on the CPU, and their memory is not copied;
        `torch.func.vmap` and leading axes become runs of one compiled loop.
        """
        from armillary.control.array_functions import ArrayFunctions
        from armillary.control.torch_functions import to_torch

        how = (step, method, parts, ignore_jumps)
        return to_torch(ArrayFunctions(self._core, inputs, parameters, outputs, *how))

    def optimize(
        self,
        cost: object = None,
        *,
        duration: object,
        inputs: Sequence[str] | Mapping[str, object],
        initial: Mapping[str, object] | None = None,
        final: Mapping[str, object] | None = None,
        bounds: Mapping[str, object] | None = None,
        path: Mapping[str, object] | None = None,
        final_cost: object = None,
        free: Mapping[str, object] | None = None,
        periodic: Sequence[str] | Mapping[str, str] = (),
        guess: object = None,
        intervals: int = 20,
        method: str = "hermite-simpson",
        tolerance: float = 1e-8,
        accuracy: float | None = 1e-6,
        refinements: int = 5,
        iterations: int = 500,
        solver: str = "embedded",
        parameters: DataMapping | None = None,
        t0: float = 0.0,
    ) -> Optimum:
        """Return the motion that minimises ∫ ``cost`` dt + ``final_cost``, by collocation or shooting.

        Costs are texts or expressions of states, inputs, parameters and t; ``cost=1`` is the time.
        ``duration`` is a number or (low, high). ``inputs`` are names, or names with limits. ``initial`` and
        ``final`` have values or limits of states, inputs and expressions at both ends; values that
        ``initial`` does not name are as for ``simulate``, and None leaves one free. ``bounds`` hold for
        states along the motion, ``path`` for expressions, ``free`` for parameters that are unknowns too.
        States of ``periodic`` end as they begin; as a mapping it gives values at the beginning as expressions
        of the end, such as those after an impact. Limits are pairs, None for no limit.
        ``control.optimize_phases`` joins phases.

        ``guess`` is a run, an earlier optimum, or columns by name over equal times, "duration" among them.
        ``method`` is "hermite-simpson" or "radau" (collocation), or "multiple shooting": RK4 steps
        integrate over intervals, in which inputs are linear. The mesh is refined until the error
        of the states is estimated below ``accuracy`` of their sizes (None: not at all). ``solver`` "ipopt"
        needs CasADi.
        Interrupted by Ctrl-C it returns the best point so far.
        """
        from armillary.control.optimize import Search, optimize

        search = Search(method, tolerance, accuracy, refinements, iterations, solver)
        return optimize(
            self._core, cost, search, duration=duration, inputs=inputs, initial=initial, final=final,
            bounds=bounds, path=path, final_cost=final_cost, free=free, periodic=periodic, guess=guess,
            intervals=intervals, parameters=parameters, t0=t0,
        )  # fmt: skip
