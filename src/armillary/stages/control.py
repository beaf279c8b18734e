"""The verbs of models that steer them: regulators, estimators, optimal motions, second derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from armillary.untyped import DataMapping, Given

if TYPE_CHECKING:
    from armillary.control.estimation import Estimate
    from armillary.control.ilqr import IteratedRegulator
    from armillary.control.regulators import Regulator
    from armillary.control.tracking import TrackingRegulator
    from armillary.results import Run
    from armillary.settings import Initial


class ModelControl:
    """Control of a model. Inputs are those that ``s.input`` declares; weights are in stated units."""

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

        ``at`` is that of ``linearize``. Q weighs states and R inputs: a number for all, numbers by name (the
        rest zero), the diagonal, or a matrix. ``armillary.control.lqr`` takes any linear model, discrete ones
        and parts of them too.
        """
        from armillary.control.regulators import lqr

        model: Given = self
        return lqr(model.linearize(at, inputs=inputs, parameters=parameters), Q, R)

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

        model: Given = self
        return lqr_along(model, run, inputs, Q, R, final, parameters)

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

        model: Given = self
        return ilqr(
            model, duration, step, inputs, Q, R, final, target, initial, guess, parameters, iterations,
            tolerance, second,
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
        """States from noisy measurements of ``outputs``: by "ekf" or "ukf", and with ``smooth`` from all data.

        ``data`` are columns by name with one called "time", a run or a data frame; NaN was not measured.
        ``inputs`` names columns of measured inputs. ``process`` is the intensity of noise on the states'
        rates, ``measurement`` the covariance of the outputs, ``covariance`` that of the ``initial`` state:
        numbers, numbers by name, diagonals or matrices. ``step`` is the longest step between measurements.
        """
        from armillary.control.estimation import estimate

        model: Given = self
        return estimate(
            model, data, outputs, process, measurement, initial, covariance, inputs, method, smooth, step,
            parameters,
        )  # fmt: skip
