"""The verbs of models that steer them: regulators, estimators, optimal motions, second derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from armillary.untyped import DataMapping

if TYPE_CHECKING:
    import numpy as np

    from armillary.control.estimation import Estimate
    from armillary.control.ilqr import IteratedRegulator
    from armillary.control.optimum import Optimum
    from armillary.control.regulators import Regulator
    from armillary.control.tracking import TrackingRegulator
    from armillary.results import Run
    from armillary.runtime.models.compiled import CompiledModel
    from armillary.settings import Initial


class ModelControl:
    """Control of a model. ``s.input`` declares its inputs; weights are in stated units."""

    _core: CompiledModel

    def lqr(
        self,
        inputs: Sequence[str],
        Q: object,
        R: object,
        at: object = None,
        *,
        parameters: Mapping[str, object] | None = None,
    ) -> Regulator:
        """The gain K of v = −K x that minimises ∫ (xᵀ Q x + vᵀ R v) dt about an operating point.

        ``at`` is as for ``linearize``. Q weighs states and R inputs: a number for all, numbers by name (the
        rest zero), the diagonal, or a matrix. ``armillary.control.lqr`` takes any linear model, discrete ones
        and parts of them too.
        """
        from armillary.analysis.linear.linearize import linearize
        from armillary.control.regulators import lqr

        return lqr(linearize(self._core, at, inputs, parameters=parameters), Q, R)

    def lqr_along(
        self,
        run: Run,
        inputs: Sequence[str],
        Q: object,
        R: object,
        final: object = None,
        *,
        parameters: DataMapping | None = None,
    ) -> TrackingRegulator:
        """The gains that keep the model near a run: v = v̄(t) − K(t) (x − x̄(t)).

        Q, R and ``final``, the weight of the last deviation (left out: Q), are as for ``lqr``. The linear
        model is exact at every sample of the run; sample it closely.
        """
        from armillary.control.tracking import lqr_along

        return lqr_along(self._core, run, inputs, Q, R, final, parameters)

    def ilqr(
        self,
        duration: float,
        *,
        step: float,
        inputs: Sequence[str] | Mapping[str, object],
        Q: object,
        R: object,
        final: object,
        target: Mapping[str, object] | None = None,
        initial: Initial = None,
        guess: object = None,
        parameters: DataMapping | None = None,
        iterations: int = 200,
        tolerance: float = 1e-9,
        second: bool = False,
    ) -> IteratedRegulator:
        """The inputs, held over each ``step``, that minimise ½ ∫ (δᵀ Q δ + vᵀ R v) dt + ½ δᵀ S δ at the end.

        δ = x − ``target``, zero where it names nothing; S is ``final``. ``inputs`` are names, or names with
        limits (low, high). ``guess`` are inputs for each step to begin with (left out: zero). Derivatives of
        steps are exact; with ``second`` the curvature of the rates counts, too (DDP). Interrupted by Ctrl-C
        it returns the best motion so far.
        """
        from armillary.control.ilqr import ilqr

        return ilqr(
            self._core, duration, step, inputs, Q, R, final, target, initial, guess, parameters,
            iterations, tolerance, second,
        )  # fmt: skip

    def estimate(
        self,
        data: object,
        outputs: Sequence[str],
        *,
        process: object,
        measurement: object,
        initial: Initial = None,
        covariance: object = 0.0,
        inputs: Sequence[str] = (),
        method: str = "ekf",
        smooth: bool = False,
        step: float | None = None,
        parameters: DataMapping | None = None,
    ) -> Estimate:
        """States from noisy measurements of ``outputs``, by "ekf" or "ukf"; ``smooth`` takes all data.

        ``data`` are columns by name with one called "time", a run or a data frame; NaN was not measured.
        ``inputs`` names columns of measured inputs. ``process`` is the intensity of noise on the states'
        rates, ``measurement`` the covariance of the outputs, ``covariance`` the covariance of the ``initial``
        state: numbers, numbers by name, diagonals or matrices. ``step`` is the longest step between
        measurements.
        """
        from armillary.control.estimation import estimate

        return estimate(
            self._core, data, outputs, process, measurement, initial, covariance, inputs, method,
            smooth, step, parameters,
        )  # fmt: skip

    def second_derivatives(
        self,
        at: object = None,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        *,
        weights: object = None,
        along: object = None,
        parameters: DataMapping | None = None,
    ) -> np.ndarray:
        """Exact second derivatives of the states' rates and of outputs, by states and inputs, at one place.

        All of them: an array of rates and outputs × variables × variables, in stated units. With ``weights``
        of rates and outputs the Hessian of their weighted sum; with ``along``, a direction of states and
        inputs, the product of each Hessian with it, without making the matrices. ``at`` is as for
        ``linearize``, states as for ``model.derivatives``.
        """
        from armillary.control.second_derivatives import second_derivatives

        return second_derivatives(self._core, at, inputs, outputs, weights, along, parameters)

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
        periodic: Sequence[str] = (),
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
        """The motion that minimises ∫ ``cost`` dt + ``final_cost``, by direct collocation.

        Costs are texts or expressions of states, inputs, parameters and t; ``cost=1`` is the time.
        ``duration`` is a number or (low, high). ``inputs`` are names, or names with limits. ``initial`` and
        ``final`` have values or limits of states, inputs and expressions at both ends; what ``initial`` does
        not name starts as for ``simulate``, None leaves it free. ``bounds`` hold for states along the
        motion, ``path`` for expressions, ``free`` for parameters that are unknowns too. States of
        ``periodic`` end as they begin. Limits are pairs, None for no limit.

        ``guess`` is a run, an earlier optimum, or columns by name over equal times, "duration" among them.
        ``method`` is "hermite-simpson" or "radau". The mesh is refined until the error of the states is
        estimated below ``accuracy`` of their sizes (None: not at all). ``solver`` "ipopt" needs CasADi.
        Interrupted by Ctrl-C it returns the best point so far.
        """
        from armillary.control.optimize import optimize

        return optimize(
            self._core, cost, duration=duration, inputs=inputs, initial=initial, final=final,
            bounds=bounds, path=path, final_cost=final_cost, free=free, periodic=periodic, guess=guess,
            intervals=intervals, method=method, tolerance=tolerance, accuracy=accuracy,
            refinements=refinements, iterations=iterations, solver=solver, parameters=parameters, t0=t0,
        )  # fmt: skip
