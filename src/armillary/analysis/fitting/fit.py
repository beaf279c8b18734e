"""Parameters and initial values that make a model agree with measurements, by least squares.

    minimise  Σ ρ(((model − data)/σ)²)   over the unknowns x, within their bounds

with SciPy's trust-region reflective method and exact derivatives (program/sensitivities.py). If σ is not
given, two steps alternate until both converge: σ of each column is estimated from its residuals, and a fit is
made with these σ as weights. This maximises the likelihood of normal errors (Bard 1974, Nonlinear Parameter
Estimation, chapter 4).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import check_keywords, count, one_of
from armillary.analysis.fitting.measurements import (
    Measured,
    Unknown,
    Wanted,
    assignments,
    read_experiments,
    unknowns,
)
from armillary.analysis.fitting.outcome import LOSSES, Fit, Solution, outcome, residual_size, rms
from armillary.errors import ArmillaryError
from armillary.program.sensitivities import derivative_name
from armillary.results import Run
from armillary.runtime.models.compilation import CompiledSensitiveModel
from armillary.runtime.models.compiled import CompiledModel, ModelHolder, compiled_model
from armillary.runtime.progress import report_line
from armillary.settings import RunSettings, StepOptions, expanded_signature
from armillary.text_tables import counted
from armillary.untyped import LibraryObject

if TYPE_CHECKING:
    from typing import Unpack


# Residuals, model − data, of all experiments, and their derivatives by the unknowns.


def experiment_run(
    model: CompiledModel,
    measured: Measured,
    times: np.ndarray,
    steps: StepOptions,
    parameters: Mapping[str, float],
    initial: Mapping[str, float],
) -> Run:
    """Return the run of an experiment with the given values of unknown parameters and initial values."""
    given = measured.experiment
    span = {"t_end": float(measured.time[-1]), "t0": given.t0, "sample": times}
    settings, _ = RunSettings.among(span | {**steps})
    return model.run_with(
        settings,
        parameters={**given.parameters, **parameters},
        initial={**given.initial, **initial},
        memory=given.memory,
        inputs=given.inputs,
    )


@dataclass(eq=False)
class Residuals:
    """r = (model − data)/σ of all measurements, and ∂r/∂x, as functions of the unknowns x.

    One run per experiment, of the model with sensitivity equations, gives both. ``scale`` has a σ for each
    column, for experiments that give none. If a run fails, r and ∂r/∂x are NaN, so that the fit rejects x.
    """

    model: CompiledSensitiveModel
    experiments: Sequence[Measured]
    unknowns: Sequence[Unknown]
    steps: StepOptions
    scale: dict[str, float]
    evaluations: int = 0
    _at: np.ndarray | None = field(default=None, repr=False)
    _found: tuple[np.ndarray, np.ndarray] = field(default=(np.empty(0), np.empty(0)), repr=False)

    def __post_init__(self) -> None:
        self.rows = [(i, c) for i, m in enumerate(self.experiments) for c in m.columns]
        self.kept = [np.isfinite(self.experiments[i].columns[c]) for i, c in self.rows]
        self.owner = np.concatenate([np.full(k.sum(), j) for j, k in enumerate(self.kept)])

    def sigma(self) -> np.ndarray:
        """Return the σ of every measurement: the given one, or the σ of its column."""
        parts = []
        for (i, c), kept in zip(self.rows, self.kept, strict=True):
            given = self.experiments[i].sigma.get(c)
            parts.append(np.full(kept.sum(), self.scale[c]) if given is None else given[kept])
        return np.concatenate(parts)

    def plain(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return model − data and its derivatives by x, in the units of the outputs."""
        if self._at is None or not np.array_equal(self._at, x):
            self.evaluations += 1
            try:
                self._found = self._compute(x)
            except ArmillaryError as error:
                if self.evaluations == 1:
                    raise ArmillaryError(f"at the start of the fit: {error}") from error
                self._found = np.full(len(self.owner), np.nan), np.full((len(self.owner), len(x)), np.nan)
            self._at = np.array(x)
        return self._found

    def _compute(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return model − data of all measurements, and its derivatives by x."""
        differences, rows = [], []
        for i, m in enumerate(self.experiments):
            run = experiment_run(self.model, m, m.time, self.steps, *assignments(self.unknowns, x, i))
            if len(run) < len(m.time):
                raise ArmillaryError(
                    f"the run of {m.name} ends at {run.time[-1] if len(run) else m.experiment.t0:.6g} s, "
                    f"but its data end at {m.time[-1]:.6g} s"
                )
            for column, data in m.columns.items():
                kept = np.isfinite(data)
                differences.append(run[column][kept] - data[kept])
                block = np.zeros((kept.sum(), len(x)))
                for j, u in enumerate(self.unknowns):
                    if u.experiment in (None, i):
                        block[:, j] = run[derivative_name(column, u.name)][kept]
                rows.append(block)
        return np.concatenate(differences), np.vstack(rows)

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the residuals (model − data)/σ."""
        found: np.ndarray = self.plain(x)[0] / self.sigma()
        return found

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of the residuals by the unknowns."""
        found: np.ndarray = self.plain(x)[1] / self.sigma()[:, None]
        return found

    def by_column(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return model − data by column, joined from all experiments."""
        left = self.plain(x)[0]
        found: dict[str, list[np.ndarray]] = {}
        for j, (_, c) in enumerate(self.rows):
            found.setdefault(c, []).append(left[self.owner == j])
        return {c: np.concatenate(parts) for c, parts in found.items()}


Progress = bool | Callable[[int, float], None]

_TOLERANCE = 1e-12  # relative tolerance of the sum of squares, of the unknowns and of the gradient
_ROUNDS = 20  # most estimates of σ
_SETTLED = 1e-3  # relative change of σ below which it has converged
_EXACT = 1e-7  # residuals below this share of a column's spread are errors of integration, not noise
_POINTS = 400  # samples of the fitted run, in addition to the times of the data


@expanded_signature(StepOptions)
def fit(
    model: ModelHolder,
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
    """Fit parameters and initial values to data by least squares; return them with their uncertainty.

    ``data`` is one experiment or a list of them. Each is a run; a mapping, DataFrame or Dataset with "time"
    and columns named as outputs; the path of a file that ``load_run`` reads; or an ``Experiment``, which adds
    values, inputs or ``sigma`` of its own to one of these. NaN marks a missing measurement. ``parameters``
    and ``initial`` name the unknowns: as a list of names, which start from their defaults, or as
    {name: start} or {name: (start, lowest, highest)} with None for no bound. All experiments share the
    parameters; each has its own initial values. ``outputs`` selects columns of the data. ``sigma`` is the
    standard deviation of the measurements, one number or by column; if it is left out, it is estimated.
    A ``loss`` other than "linear" ("soft_l1", "huber", "cauchy", "arctan") gives outliers less weight. Step,
    method and tolerances are as for ``simulate``.
    """
    one_of(loss, LOSSES, "no loss ")
    most = count(max_evaluations, "max_evaluations")
    check_keywords(fit, how)
    began = time.perf_counter()
    base = compiled_model(model, "fit()").base
    experiments = read_experiments(base, data, outputs, sigma)
    sigma_given = _is_sigma_given(experiments)
    found = unknowns(base, parameters, initial, experiments)
    measured = sum(m.count for m in experiments)
    if measured < len(found):
        listed = ", ".join(u.label for u in found)
        raise ArmillaryError(
            f"{counted(measured, 'measurement')} cannot determine {counted(len(found), 'unknown')} ({listed})"
        )
    columns = tuple(dict.fromkeys(c for m in experiments for c in m.columns))
    sensitive = base.with_sensitivities(
        tuple(dict.fromkeys(u.name for u in found)), columns, ignore_jumps=ignore_jumps
    )
    residuals = Residuals(sensitive, experiments, found, how, _spreads(experiments, columns))
    with report_line(progress, _progress_text) as report:
        solution = _solve_least_squares(residuals, sigma_given, loss, most, report)
    runs = [
        experiment_run(base, m, _times_between(m), how, *assignments(found, solution.x, i))
        for i, m in enumerate(experiments)
    ]
    return outcome(base, experiments, found, solution, runs, time.perf_counter() - began)


def _times_between(m: Measured) -> np.ndarray:
    """Return the times of the data, with further times between them for a smooth curve."""
    return np.union1d(m.time, np.linspace(m.experiment.t0, m.time[-1], _POINTS))


def _is_sigma_given(experiments: Sequence[Measured]) -> bool:
    """Return whether σ is given; raise an error if only some experiments give it."""
    without = [m.name for m in experiments if not m.sigma]
    if without and len(without) < len(experiments):
        raise ArmillaryError(f"sigma of {without[0]} is not given; give it for all experiments or for none")
    return not without


def _spreads(experiments: Sequence[Measured], columns: Sequence[str]) -> dict[str, float]:
    """Return the first estimate of σ for each column: the standard deviation of its data."""
    found = {}
    for c in columns:
        values = np.concatenate([m.columns[c] for m in experiments if c in m.columns])
        values = values[np.isfinite(values)]
        found[c] = rms(values - np.mean(values)) or float(np.max(np.abs(values))) or 1.0
    return found


def _solve_least_squares(
    residuals: Residuals,
    sigma_given: bool,
    loss: str,
    max_evaluations: int,
    report: Callable[[int, float], None] | None,
) -> Solution:
    """Return the solution of the least squares; if σ is not given, estimate it for each column."""
    x = np.array([u.start for u in residuals.unknowns])
    with np.errstate(over="ignore"):
        if not np.isfinite(np.sum(residuals.values(x) ** 2)):
            raise ArmillaryError(
                "at the start of the fit, the model differs from the data by so many sigma that the sum of "
                "squares overflows; are data and sigma in the units of the outputs?"
            )
    apart = dict(residuals.scale)
    for _ in range(_ROUNDS):
        result = _least_squares(residuals, x, loss, max_evaluations, report)
        x = result.x
        sizes = {c: residual_size(left, loss) for c, left in residuals.by_column(x).items()}
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
