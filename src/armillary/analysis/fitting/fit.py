"""Parameters and initial values that make a model agree with measurements, by least squares.

    minimise  Σ ρ(((model − data)/σ)²)   over the unknowns x, within their bounds

with SciPy's trust-region reflective method and exact derivatives (program/derivatives/sensitivities). Where
σ is not given, that of each column is estimated from its residuals, and the columns are weighed by it in turn
until neither changes: the maximum of the likelihood of normal errors (Bard 1974, Nonlinear Parameter
Estimation, chapter 4).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import check_keywords, one_of
from armillary.algebra.node import positive_whole
from armillary.analysis.fitting.experiments import Measured, measured
from armillary.analysis.fitting.outcome import Fit, Solution, outcome
from armillary.analysis.fitting.residuals import Residuals, experiment_run
from armillary.analysis.fitting.statistics import LOSSES, rms, spread
from armillary.analysis.fitting.unknowns import Wanted, assignments, unknowns
from armillary.columns import counted
from armillary.errors import ArmillaryError
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.progress import report_line
from armillary.settings import StepOptions, expanded_signature
from armillary.untyped import LibraryObject

if TYPE_CHECKING:
    from typing import Unpack

Progress = bool | Callable[[int, float], None]

_TOLERANCE = 1e-12  # of the sum of squares, of the unknowns and of the gradient
_ROUNDS = 20  # of weighing columns
_SETTLED = 1e-3  # relative change of σ
_EXACT = 1e-7  # of the spread of a column: residuals so small are the integrator's, not noise
_POINTS = 400  # of a curve beside the data


@expanded_signature(StepOptions)
def fit(
    model: CompiledModel,
    data: object,
    parameters: Wanted = None,
    initial: Wanted = None,
    *,
    outputs: Sequence[str] | None = None,
    sigma: object = None,
    loss: str = "linear",
    max_evaluations: int = 200,
    ignore_jumps: bool = False,
    progress: Progress = True,
    **how: Unpack[StepOptions],
) -> Fit:
    """Parameters and initial values with which the model agrees with data, and their uncertainty.

    ``data`` is a run, a mapping, DataFrame or Dataset with "time" and columns named as outputs, the path of
    a file that ``load_run`` reads, or an ``Experiment`` that adds circumstances to one of these; or a list of
    them. NaN is a measurement that was not made. ``parameters`` and ``initial`` name what is looked for: a
    list of names, which start from their defaults, or {name: start} or {name: (start, lowest, highest)} with
    None for no bound. Parameters are shared by all experiments, initial values are each one's own.
    ``outputs`` chooses among the columns. ``sigma`` is the standard deviation of the measurements, a number
    or by column; left out, it is estimated. ``loss`` other than "linear" ("soft_l1", "huber", "cauchy",
    "arctan") gives outliers less weight. All else is as for ``simulate``: step, method and tolerances.
    """
    if not isinstance(model, CompiledModel):
        raise ArmillaryError(f"fit() needs a compiled model, not {model!r}; give s.derive().compile()")
    one_of(loss, LOSSES, "no loss ")
    most = positive_whole(max_evaluations)
    if most is None:
        raise ArmillaryError(f"max_evaluations must be a positive whole number, not {max_evaluations!r}")
    check_keywords(fit, how)
    began = time.perf_counter()
    base = model.base
    experiments = measured(base, data, outputs, sigma)
    sigma_given = _is_sigma_given(experiments)
    found = unknowns(base, parameters, initial, experiments)
    count = sum(m.count for m in experiments)
    if count < len(found):
        listed = ", ".join(u.label for u in found)
        raise ArmillaryError(
            f"{counted(count, 'measurement')} cannot determine {counted(len(found), 'unknown')} ({listed})"
        )
    columns = tuple(dict.fromkeys(c for m in experiments for c in m.columns))
    sensitive = base.with_sensitivities(
        tuple(dict.fromkeys(u.name for u in found)), columns, ignore_jumps=ignore_jumps
    )
    residuals = Residuals(sensitive, experiments, found, how, _spreads(experiments, columns))
    with report_line(progress, _progress_text) as report:
        solution = _solved(residuals, sigma_given, loss, most, report)
    runs = [
        experiment_run(base, m, _times_between(m), how, *assignments(found, solution.x, i))
        for i, m in enumerate(experiments)
    ]
    return outcome(base, experiments, found, solution, runs, time.perf_counter() - began)


def _times_between(m: Measured) -> np.ndarray:
    """The times of the data and times between them, for a smooth curve."""
    return np.union1d(m.time, np.linspace(m.experiment.t0, m.time[-1], _POINTS))


def _is_sigma_given(experiments: Sequence[Measured]) -> bool:
    """Whether σ is given; an error where it is so in some experiments only."""
    without = [m.name for m in experiments if not m.sigma]
    if without and len(without) < len(experiments):
        raise ArmillaryError(f"sigma of {without[0]} is not given; give it for all experiments or for none")
    return not without


def _spreads(experiments: Sequence[Measured], columns: Sequence[str]) -> dict[str, float]:
    """The spread of the data of each column: the scale on which they are compared at first."""
    found = {}
    for c in columns:
        values = np.concatenate([m.columns[c] for m in experiments if c in m.columns])
        values = values[np.isfinite(values)]
        found[c] = rms(values - np.mean(values)) or float(np.max(np.abs(values))) or 1.0
    return found


def _solved(
    residuals: Residuals,
    sigma_given: bool,
    loss: str,
    max_evaluations: int,
    report: Callable[[int, float], None] | None,
) -> Solution:
    """The least squares; without a given σ, columns are weighed by the size of their residuals."""
    x = np.array([u.start for u in residuals.unknowns])
    with np.errstate(over="ignore"):
        if not np.isfinite(np.sum(residuals.values(x) ** 2)):
            raise ArmillaryError(
                "from where the fit starts: the model lies so far from the data, in terms of sigma, that the "
                "sum of squares is not a number; are data and sigma in the units of the outputs?"
            )
    apart = dict(residuals.scale)
    for _ in range(_ROUNDS):
        result = _least_squares(residuals, x, loss, max_evaluations, report)
        x = result.x
        sizes = {c: spread(left, loss) for c, left in residuals.by_column(x).items()}
        exact = all(size <= _EXACT * apart[c] for c, size in sizes.items())
        if (
            sigma_given
            or exact
            or (loss == "linear" and len(sizes) == 1)
            or residuals.evaluations >= max_evaluations
        ):
            break
        sizes = {c: max(size, _EXACT * apart[c]) for c, size in sizes.items()}
        settled = all(abs(sizes[c] / residuals.scale[c] - 1) <= _SETTLED for c in sizes)
        residuals.scale.update(sizes)
        if settled:
            break
    return Solution(
        x,
        residuals.values(x),
        residuals.jacobian(x),
        dict(residuals.scale),
        sigma_given,
        loss,
        residuals.evaluations,
        bool(result.status > 0),
        residuals.plain(x)[0],
    )


def _least_squares(
    residuals: Residuals,
    x: np.ndarray,
    loss: str,
    max_evaluations: int,
    report: Callable[[int, float], None] | None,
) -> LibraryObject:
    from scipy.optimize import least_squares  # slow to import

    def values(x: np.ndarray) -> np.ndarray:
        found = residuals.values(x)
        if report:
            report(residuals.evaluations, float(np.sqrt(np.mean(found**2))))
        return found

    low, high = (np.array([getattr(u, side) for u in residuals.unknowns]) for side in ("low", "high"))
    return least_squares(
        values,
        x,
        residuals.jacobian,
        bounds=(low, high),
        x_scale="jac",
        loss=loss,
        ftol=_TOLERANCE,
        xtol=_TOLERANCE,
        gtol=_TOLERANCE,
        max_nfev=max(1, max_evaluations - residuals.evaluations),
    )


def _progress_text(_: float, evaluations: int, size: float) -> str:
    return f"  fit: evaluation {evaluations}, residuals {size:.4g} of sigma "
