"""The result of a fit: values with their uncertainty, what is left of the data, and how far to trust it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.fitting.experiments import Measured
from armillary.analysis.fitting.statistics import (
    correlation,
    inverse,
    rms,
    spread,
    strong_correlations,
    variance,
)
from armillary.analysis.fitting.unknowns import Unknown
from armillary.columns import aligned, counted
from armillary.results import Run
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STRONG = 0.99  # correlation from which on a warning names two unknowns
_PLAIN = 1e7  # from where on numbers are written with exponents
_EXPLAINED = 0.95  # of the spread of the data: with residuals as large as this nothing is explained
_MOST = 12  # digits of a number that is known exactly
_AT_BOUND = 1e-8  # of the distance between bounds, or of the value


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of least squares: residuals over σ and their derivatives at x."""

    x: np.ndarray
    residuals: np.ndarray
    jacobian: np.ndarray
    scale: dict[str, float]
    sigma_given: bool
    loss: str
    evaluations: int
    converged: bool
    plain: np.ndarray  # model − data


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """Parameters and initial values found from data.

        fit.values["k"], fit.standard_errors["k"]      and fit.intervals["k"], which holds it with 95 %
        print(fit.report())                            all of it as a table
        model.simulate(…, parameters=fit.parameters, initial=fit.initial)

    ``covariance`` and ``correlation`` have rows and columns in the order of ``names``. What the data do not
    determine has an infinite standard error, what is held by a bound none (NaN); ``warnings`` names both.
    """

    system: str
    names: tuple[str, ...]
    values: dict[str, float]
    standard_errors: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    units: dict[str, str]
    starts: dict[str, float]
    covariance: np.ndarray
    chi2: float
    dof: int
    sigma: dict[str, float]  # of the columns, estimated; empty where it was given
    warnings: tuple[str, ...]
    converged: bool
    evaluations: int
    seconds: float
    experiments: tuple[Measured, ...]
    runs: tuple[Run, ...]  # of the model that was found, one per experiment
    residuals: tuple[dict[str, np.ndarray], ...]  # model − data by experiment and column; NaN where missing
    _unknowns: tuple[Unknown, ...] = field(repr=False)

    @property
    def correlation(self) -> np.ndarray:
        """Correlations of the unknowns, in the order of ``names``."""
        return correlation(self.covariance)

    @property
    def run(self) -> Run:
        """The run of the model that was found, for the first experiment."""
        return self.runs[0]

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters that were found, for ``simulate``."""
        return {u.name: self.values[u.label] for u in self._unknowns if u.parameter}

    @property
    def initial(self) -> dict[str, float]:
        """The initial values that were found, for ``simulate``; those of the first experiment."""
        found = [u for u in self._unknowns if not u.parameter and u.experiment == 0]
        return {u.name: self.values[u.label] for u in found}

    def report(self) -> str:
        """Values with standard errors, 95 % intervals and units, residuals by column, and warnings."""
        count = sum(m.count for m in self.experiments)
        of = f"{len(self.experiments)} experiments" if len(self.experiments) > 1 else self.experiments[0].name
        end = "converged" if self.converged else "not converged"
        lines = [
            f"Fit of '{self.system}' to {of}: {counted(count, 'measurement')}, "
            f"{counted(len(self.names), 'unknown')}; {end} after {counted(self.evaluations, 'evaluation')}"
        ]
        rows = [["", "value", "standard error", "95 % interval", "", "started at", ""]]
        for n in self.names:
            error = self.standard_errors[n]
            value, low, high = (rounded_to_error(x, error) for x in (self.values[n], *self.intervals[n]))
            rows.append(
                [n, value, f"{error:.3g}", low, high, f"{self.starts[n]:.6g}", label_units(self.units[n])]
            )
        lines += [f"  {line}" for line in aligned(rows, "<>>>>><")]
        lines += ["", *(f"  {line}" for line in aligned(self._columns(), "<>>" + ">" * bool(self.sigma)))]
        if not self.sigma and self.dof > 0:
            ratio = self.chi2 / self.dof
            lines.append(
                f"\n  chi2 / degrees of freedom: {self.chi2:.5g} / {self.dof} = {f'{ratio:#.5g}'.rstrip('.')}"
            )
        return "\n".join([*lines, *(f"  warning: {note}" for note in self.warnings)])

    def _columns(self) -> list[list[str]]:
        rows = [["", "measurements", "rms residual", *(["estimated sigma"] if self.sigma else []), ""]]
        for c, left in _by_column(self.residuals).items():
            sigma = [f"{self.sigma[c]:.4g}"] if self.sigma else []
            rows.append([c, str(len(left)), f"{rms(left):.4g}", *sigma, label_units(self.runs[0].units[c])])
        return rows

    def plot(self, *columns: str, path: str | os.PathLike[str] | None = None, show: bool = False) -> Figure:
        """A figure of the data and of the model that was found, a panel for each column."""
        from armillary.analysis.fitting.fit_plot import fit_plot

        return fit_plot(self, columns, path, show)

    def __repr__(self) -> str:
        return self.report()


def outcome(
    model: CompiledModel,
    experiments: Sequence[Measured],
    unknowns: Sequence[Unknown],
    solution: Solution,
    runs: Sequence[Run],
    seconds: float,
) -> Fit:
    """The statistics of a solution."""
    names = [u.label for u in unknowns]
    held = np.array([_is_at_bound(u, v) for u, v in zip(unknowns, solution.x, strict=True)])
    count, free = len(solution.residuals), int(np.sum(~held))
    known = solution.sigma_given and solution.loss == "linear"
    scale = 1.0 if known else variance(solution.residuals, free, solution.loss)
    covariance = np.full((len(names), len(names)), np.nan)
    inner, groups = inverse(solution.jacobian[:, ~held])
    with np.errstate(invalid="ignore"):
        covariance[np.ix_(~held, ~held)] = np.where(np.isinf(inner), np.inf, inner * scale)
    errors = np.sqrt(np.diag(covariance))
    half = _quantile(count - free, solution.sigma_given) * errors
    x = solution.x.tolist()
    free_places = np.flatnonzero(~held)
    groups_by_name = [[names[free_places[j]] for j in group] for group in groups]
    notes = _warnings(unknowns, held, groups_by_name, correlation(covariance), solution, count - free)
    residuals = _by_experiment(experiments, solution.plain)
    for c in _unexplained(experiments, residuals, solution.loss):
        units = label_units(runs[0].units[c])
        notes.append(
            f"the model explains nothing of '{c}': what is left of it varies as much as the data do; "
            f"are they in {units or 'its units'}, and is the start close?"
        )
    sigma = {} if solution.sigma_given else {c: s * float(np.sqrt(scale)) for c, s in solution.scale.items()}
    squares = float(np.sum(solution.residuals**2))
    return Fit(
        system=model.equations.system.name,
        names=tuple(names),
        values=dict(zip(names, x, strict=True)),
        standard_errors=dict(zip(names, errors.tolist(), strict=True)),
        intervals={n: (v - float(h), v + float(h)) for n, v, h in zip(names, x, half, strict=True)},
        units={u.label: u.units for u in unknowns},
        starts={u.label: u.start for u in unknowns},
        covariance=covariance,
        chi2=squares if solution.sigma_given else squares / (scale or 1.0),
        dof=count - free,
        sigma=sigma,
        warnings=tuple(notes),
        converged=solution.converged,
        evaluations=solution.evaluations,
        seconds=seconds,
        experiments=tuple(experiments),
        runs=tuple(runs),
        residuals=residuals,
        _unknowns=tuple(unknowns),
    )


def _is_at_bound(u: Unknown, value: float) -> bool:
    """Whether a bound holds an unknown."""
    size = u.high - u.low if np.isfinite(u.high - u.low) else abs(value)
    return min(value - u.low, u.high - value) <= _AT_BOUND * max(size, 1e-300)


def _quantile(dof: int, sigma_given: bool) -> float:
    """Standard errors to either side that hold a value with 95 %: Student's where σ is estimated."""
    from scipy.special import ndtri, stdtrit

    if sigma_given:
        return float(ndtri(0.975))
    return float(stdtrit(dof, 0.975)) if dof > 0 else float("nan")


def _warnings(
    unknowns: Sequence[Unknown],
    held: np.ndarray,
    groups: Sequence[Sequence[str]],
    correlations: np.ndarray,
    solution: Solution,
    dof: int,
) -> list[str]:
    notes = [] if solution.converged else ["not converged: raise max_evaluations, or start closer"]
    for u, at_bound, value in zip(unknowns, held, solution.x, strict=True):
        if at_bound:
            notes.append(f"'{u.label}' is held by its bound {value:.6g}: it has no standard error")
    for group in groups:
        if len(group) == 1:
            notes.append(f"the data do not determine '{group[0]}': nothing measured depends on it")
        else:
            listed = ", ".join(f"'{n}'" for n in group)
            notes.append(f"the data determine only combinations of {listed}: hold one of them fixed")
    for i, j, c in strong_correlations(correlations, _STRONG):
        pair = f"'{unknowns[j].label}' and '{unknowns[i].label}'"
        notes.append(f"the data hardly separate {pair}: their correlation is {c:.4f}")
    if dof == 0:
        notes.append("as many unknowns as measurements: there are no residuals to find standard errors from")
    return notes


def _unexplained(
    experiments: Sequence[Measured], residuals: Sequence[Mapping[str, np.ndarray]], loss: str
) -> list[str]:
    """Columns whose residuals are no smaller than the deviations of the data from their middle."""
    middle = np.mean if loss == "linear" else np.median
    data = _by_column([m.columns for m in experiments])
    left = _by_column(residuals)
    apart = {c: spread(values - middle(values), loss) for c, values in data.items()}
    return [c for c in data if 0 < apart[c] * _EXPLAINED <= spread(left[c], loss)]


def _by_column(tables: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The numbers of each column, of all experiments together."""
    names = dict.fromkeys(c for table in tables for c in table)
    parts = {c: np.concatenate([table[c] for table in tables if c in table]) for c in names}
    return {c: values[np.isfinite(values)] for c, values in parts.items()}


def _by_experiment(experiments: Sequence[Measured], left: np.ndarray) -> tuple[dict[str, np.ndarray], ...]:
    found, place = [], 0
    for m in experiments:
        own = {}
        for c, data in m.columns.items():
            kept = np.isfinite(data)
            own[c] = np.full(len(data), np.nan)
            own[c][kept] = left[place : place + kept.sum()]
            place += int(kept.sum())
        found.append(own)
    return tuple(found)


def rounded_to_error(value: float, error: float) -> str:
    """A value down to two digits of its standard error."""
    if not (math.isfinite(error) and error > 0 and math.isfinite(value)):
        return f"{value:.6g}"
    last = math.floor(math.log10(error)) - 1  # the place of the last digit
    digits = math.floor(math.log10(max(abs(value), error))) - last + 1
    if digits > _MOST:
        return f"{value:.{_MOST}g}"
    if last >= -9 and abs(value) < _PLAIN:
        return f"{round(value, -last) + 0.0:.{max(0, -last)}f}"
    return f"{value:.{digits - 1}e}"
