"""The result of a fit: values with their uncertainty, the residuals, and warnings."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.analysis.fitting.measurements import Measured, Unknown
from armillary.results import Run
from armillary.results.plots.run_plot import COLOURS, axis_label, literal, open_figure
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.text_tables import aligned, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Statistics of unknowns from residuals and their derivatives: covariance, and undetermined unknowns.

# ρ'(z) and ρ''(z) of SciPy's losses, with z = r²: ρ = z, 2(√(1+z) − 1), Huber's, ln(1+z), arctan z.
LOSSES: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "linear": lambda z: (np.ones_like(z), np.zeros_like(z)),
    "soft_l1": lambda z: ((1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
    "huber": lambda z: (
        np.where(z <= 1, 1.0, np.maximum(z, 1) ** -0.5),
        np.where(z <= 1, 0.0, -0.5 * np.maximum(z, 1) ** -1.5),
    ),
    "cauchy": lambda z: (1 / (1 + z), -1 / (1 + z) ** 2),
    "arctan": lambda z: (1 / (1 + z**2), -2 * z / (1 + z**2) ** 2),
}

_SINGULAR = 1e-8  # singular values below this share of the largest count as zero: the accuracy of derivatives
_SHARE = 1e-4  # unknowns with elements below this share of the largest have no part in a direction
_NORMAL = 1.4826  # standard deviation of a normal distribution over its median absolute deviation


def rms(values: np.ndarray) -> float:
    """Return the root mean square, also of numbers whose squares would over- or underflow."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return largest * float(np.sqrt(np.mean((values / largest) ** 2))) if largest > 0 else 0.0


def residual_size(left: np.ndarray, loss: str) -> float:
    """Return the size of a column's residuals: their root mean square; for robust losses 1.4826 times the
    median of their magnitudes.
    """
    if loss == "linear":
        return rms(left)
    return _NORMAL * float(np.median(np.abs(left)))


def variance(residuals: np.ndarray, unknowns: int, loss: str) -> float:
    """Return the variance of residuals, Σψ²/(n − p) / (Σψ'/n)², a factor of the covariance of the unknowns.

    There are n residuals r and p unknowns; ψ is half the derivative of the loss ρ(r²) by r. For least squares
    ψ = r, and the variance is the sum of squares over the degrees of freedom. Source: Huber (1981), Robust
    Statistics, section 7.6.
    """
    n = len(residuals)
    first, second = LOSSES[loss](residuals**2)
    psi, slope = first * residuals, first + 2 * residuals**2 * second
    return float(np.sum(psi**2) / (n - unknowns) / np.mean(slope) ** 2) if n > unknowns else float("nan")


def inverse(jacobian: np.ndarray) -> tuple[np.ndarray, list[list[int]]]:
    """Return (JᵀJ)⁻¹ and the groups of columns whose unknowns the data determine only in combination.

    These columns have infinity on the diagonal of the result. All columns are first scaled to equal length,
    so that units do not matter.
    """
    n = jacobian.shape[1]
    lengths = np.linalg.norm(jacobian, axis=0)
    groups = [[int(j)] for j in np.flatnonzero(lengths == 0)]
    present = np.flatnonzero(lengths > 0)
    found = np.zeros((n, n))
    lost = {j for group in groups for j in group}
    if present.size:
        _, s, vt = np.linalg.svd(jacobian[:, present] / lengths[present], full_matrices=False)
        weak = s <= _SINGULAR * s[0]
        for v in vt[weak]:
            groups.append(present[np.abs(v) >= _SHARE * np.max(np.abs(v))].tolist())
            lost |= set(groups[-1])
        kept = vt[~weak].T / s[~weak]
        found[np.ix_(present, present)] = (kept @ kept.T) / np.outer(lengths[present], lengths[present])
    for j in lost:
        found[j, :] = found[:, j] = 0.0
        found[j, j] = np.inf
    return found, groups


def correlation(covariance: np.ndarray) -> np.ndarray:
    """Return the correlations of unknowns; NaN for unknowns without a variance, or with an infinite one."""
    with np.errstate(all="ignore"):
        sizes = np.sqrt(np.diag(covariance))
        found: np.ndarray = covariance / np.outer(sizes, sizes)
    known = np.isfinite(sizes) & (sizes > 0)
    found[~known, :] = found[:, ~known] = np.nan
    return found


def strong_correlations(correlations: np.ndarray, limit: float) -> Sequence[tuple[int, int, float]]:
    """Return (i, j, correlation) of the pairs whose correlation is at least ``limit`` in magnitude."""
    n = len(correlations)
    pairs = [(i, j, float(correlations[i, j])) for i in range(n) for j in range(i)]
    return [(i, j, c) for i, j, c in pairs if abs(c) >= limit]


_STRONG = 0.99  # a warning names two unknowns with at least this correlation
_PLAIN = 1e7  # numbers from this on are written with exponents
_EXPLAINED = 0.95  # if residuals exceed this share of the data's spread, the model explains nothing
_MOST = 12  # most digits of a printed number
_AT_BOUND = 1e-8  # a distance to a bound below this share of the range or of the value counts as zero


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of least squares: the unknowns x, and at x the residuals (divided by σ) and their
    derivatives.
    """

    x: np.ndarray
    residuals: np.ndarray
    jacobian: np.ndarray
    scale: dict[str, float]  # σ by column
    sigma_given: bool
    loss: str
    evaluations: int
    converged: bool
    plain: np.ndarray  # model − data, not divided by σ


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """Parameters and initial values found from data.

        fit.values["k"], fit.standard_errors["k"]      and the 95 % interval fit.intervals["k"]
        print(fit.report())                            values, errors and intervals as a table
        model.simulate(…, parameters=fit.parameters, initial=fit.initial)

    ``covariance`` and ``correlation`` have rows and columns in the order of ``names``. An unknown that the
    data do not determine has an infinite standard error, an unknown at a bound NaN; ``warnings`` names both.
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
    sigma: dict[str, float]  # estimated σ of the columns; empty if σ was given
    warnings: tuple[str, ...]
    converged: bool
    evaluations: int
    seconds: float
    experiments: tuple[Measured, ...]
    runs: tuple[Run, ...]  # runs of the fitted model, one per experiment
    residuals: tuple[dict[str, np.ndarray], ...]  # model − data by experiment and column; NaN if missing
    _unknowns: tuple[Unknown, ...] = field(repr=False)

    @property
    def correlation(self) -> np.ndarray:
        """Correlations of the unknowns, in the order of ``names``."""
        return correlation(self.covariance)

    @property
    def run(self) -> Run:
        """The run of the fitted model for the first experiment."""
        return self.runs[0]

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted parameters, for ``simulate(parameters=…)``."""
        return {u.name: self.values[u.label] for u in self._unknowns if u.parameter}

    @property
    def initial(self) -> dict[str, float]:
        """The fitted initial values of the first experiment, for ``simulate(initial=…)``."""
        found = [u for u in self._unknowns if not u.parameter and u.experiment == 0]
        return {u.name: self.values[u.label] for u in found}

    def report(self) -> str:
        """Return values with standard errors, 95 % intervals and units, residuals by column, and warnings."""
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
        """Draw a figure of the data and of the fitted model, with a panel for each column."""
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
    """Return the fit of a solution, with its statistics."""
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
    half = half_width(count - free, solution.sigma_given) * errors
    x = solution.x.tolist()
    free_places = np.flatnonzero(~held)
    groups_by_name = [[names[free_places[j]] for j in group] for group in groups]
    notes = _warnings(unknowns, held, groups_by_name, correlation(covariance), solution, count - free)
    residuals = _by_experiment(experiments, solution.plain)
    for c in _unexplained_columns(experiments, residuals, solution.loss):
        units = label_units(runs[0].units[c])
        notes.append(
            f"the model explains nothing of '{c}': its residuals vary as much as the data do; "
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
    """Return whether an unknown is at one of its bounds."""
    size = u.high - u.low if np.isfinite(u.high - u.low) else abs(value)
    return min(value - u.low, u.high - value) <= _AT_BOUND * max(size, 1e-300)


def half_width(dof: int, sigma_given: bool = False) -> float:
    """Return half the width of a 95 % interval in standard errors, by Student's distribution if σ is
    estimated.
    """
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


def _unexplained_columns(
    experiments: Sequence[Measured], residuals: Sequence[Mapping[str, np.ndarray]], loss: str
) -> list[str]:
    """Return the columns whose residuals are not smaller than the deviations of the data from their mean."""
    middle = np.mean if loss == "linear" else np.median
    data = _by_column([m.columns for m in experiments])
    left = _by_column(residuals)
    apart = {c: residual_size(values - middle(values), loss) for c, values in data.items()}
    return [c for c in data if 0 < apart[c] * _EXPLAINED <= residual_size(left[c], loss)]


def _by_column(tables: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the finite numbers of each column, joined from all experiments."""
    names = dict.fromkeys(c for table in tables for c in table)
    parts = {c: np.concatenate([table[c] for table in tables if c in table]) for c in names}
    return {c: values[np.isfinite(values)] for c, values in parts.items()}


def _by_experiment(experiments: Sequence[Measured], left: np.ndarray) -> tuple[dict[str, np.ndarray], ...]:
    """Return residuals by experiment and column; NaN for missing measurements."""
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
    """Return a value as text, with digits down to the second digit of its standard error."""
    if not (math.isfinite(error) and error > 0 and math.isfinite(value)):
        return f"{value:.6g}"
    last = math.floor(math.log10(error)) - 1  # the place of the last digit
    digits = math.floor(math.log10(max(abs(value), error))) - last + 1
    if digits > _MOST:
        return f"{value:.{_MOST}g}"
    if last >= -9 and abs(value) < _PLAIN:
        return f"{round(value, -last) + 0.0:.{max(0, -last)}f}"
    return f"{value:.{digits - 1}e}"


# The figure of data and fitted model.

_PALE = "#9aa4ad"


def fit_plot(fit: Fit, columns: Sequence[str], path: str | os.PathLike[str] | None, show: bool) -> Figure:
    """Draw pale points for measurements and a line for the model, with a colour for each experiment."""
    known = list(dict.fromkeys(c for m in fit.experiments for c in m.columns))
    shown = list(checked_names(columns, known, "no data of", after=" were fitted")) or known
    several = len(fit.experiments) > 1
    with open_figure((8.0, 1.4 + 2.2 * len(shown)), path, show=show) as figure:
        axes = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        for ax, c in zip(axes, shown, strict=True):
            for i, (m, run) in enumerate(zip(fit.experiments, fit.runs, strict=True)):
                if c in m.columns:
                    colour = COLOURS[i % len(COLOURS)]
                    points = {"color": colour, "alpha": 0.35} if several else {"color": _PALE}
                    ax.plot(m.time, m.columns[c], ".", markersize=4, zorder=2, **points)
                    ax.plot(
                        run.time,
                        run[c],
                        color=colour,
                        zorder=3,
                        label=literal(m.name) if several else "model",
                    )
            ax.set_ylabel(literal(axis_label(c, fit.runs[0].units[c])))
            ax.plot([], [], ".", color=_PALE, markersize=4, label="data")
        axes[0].legend(loc="best")
        axes[0].set_title(literal(fit.system))
        axes[-1].set_xlabel("time (s)")
        figure.align_ylabels(axes)
    return figure
