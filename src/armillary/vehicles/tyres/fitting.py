"""Coefficients of the Magic Formula from measured forces, by least squares with exact derivatives."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import armillary as arm
from armillary.vehicles.tyres.coefficients import find_impossible
from armillary.vehicles.tyres.magic_formula import MagicFormula
from armillary.vehicles.tyres.reading import read_tyre
from armillary.vehicles.tyres.tir import TyreFile, read_tir
from armillary.vehicles.tyres.tydex import read_tydex

INPUTS = ("fz", "kappa", "alpha", "gamma", "pressure")
CHANNELS = ("fx", "fy", "mz")
MOST = 200_000_000  # bytes of a file of measurements

# Coefficients that a sweep of one slip at several loads shows, by channel; others are named by the caller.
SHOWN = {
    "fx": ("PCX1", "PDX1", "PDX2", "PEX1", "PEX2", "PKX1", "PKX2", "PKX3", "PHX1", "PVX1"),
    "fy": ("PCY1", "PDY1", "PDY2", "PEY1", "PEY2", "PKY1", "PKY2", "PHY1", "PVY1"),
    "mz": ("QBZ1", "QBZ2", "QCZ1", "QDZ1", "QDZ2", "QEZ1", "QHZ1", "QDZ6"),
}


@dataclass(frozen=True)
class TyreFit:
    """A fitted tyre: the file to write, and how well it describes the data."""

    file: TyreFile
    tyre: MagicFormula = field(repr=False)
    values: Mapping[str, float]
    errors: Mapping[str, float]  # standard errors of the values
    deviation: Mapping[str, float]  # root mean square over the largest measured value, by channel

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the tyre as a .tir file."""
        self.file.write(path)


def fit_tyre(
    start: str | os.PathLike[str] | TyreFile,
    data: str | os.PathLike[str] | Mapping[str, object],
    names: Sequence[str] | None = None,
    *,
    convention: str = "tno",
) -> TyreFit:
    """Fit coefficients of a tyre file to measured forces and return the fitted tyre.

    start   a file with values to start from; coefficients that are not fitted keep its values
    data    columns fz, kappa, alpha (gamma, pressure) and some of fx, fy, mz in SI units and ISO-W axes, as
            arrays, as the headings of a CSV file, or a TYDEX file (.tdx)
    names   coefficients to fit; if left out, all that a sweep of slip at several loads shows

    Each channel is scaled by its largest value. Derivatives by the coefficients come from the formulas.
    """
    from scipy.optimize import least_squares

    file = start if isinstance(start, TyreFile) else read_tir(start)
    tyre = read_tyre(file, convention=convention)
    columns = _columns(data)
    channels = [name for name in CHANNELS if name in columns]
    chosen = tuple(names) if names is not None else tuple(n for c in channels for n in SHOWN[c])
    unknown = [name for name in chosen if name not in tyre.coefficients]
    if unknown or not chosen:
        raise arm.ModelError(f"fit_tyre: there is no coefficient {unknown[0]!r}" if unknown else
                             "fit_tyre: name at least one coefficient to fit")  # fmt: skip
    size = {name: float(np.max(np.abs(columns[name]))) or 1.0 for name in channels}
    inputs = {name: columns[name] for name in INPUTS if name in columns}

    scratch = arm.System("fit")
    symbols = {name: scratch.parameter(name, 1.0) for name in (*inputs, *chosen)}
    free = {name: symbols[name] for name in chosen}
    general = replace(tyre, coefficients={**tyre.coefficients, **free})
    forces = general.forces(**{name: symbols[name] for name in inputs})._asdict()
    slopes = {c: [arm.derivative(forces[c], symbol) for symbol in free.values()] for c in channels}

    def at(x: np.ndarray) -> dict[str, np.ndarray | float]:
        return {**inputs, **dict(zip(chosen, map(float, x), strict=True))}

    def misfit(x: np.ndarray) -> np.ndarray:
        return np.concatenate([(arm.evaluate(forces[c], at(x)) - columns[c]) / size[c] for c in channels])

    def jacobian(x: np.ndarray) -> np.ndarray:
        ones = np.ones(len(columns["fz"]))
        return np.concatenate(
            [np.stack([arm.evaluate(d, at(x)) * ones / size[c] for d in slopes[c]], axis=1) for c in channels]
        )

    x0 = np.array([float(tyre.coefficients[name]) for name in chosen])
    with np.errstate(all="ignore"):
        found = least_squares(misfit, x0, jac=jacobian, x_scale=np.maximum(np.abs(x0), 0.01), xtol=1e-14,
                              ftol=1e-14, gtol=1e-14, max_nfev=200)  # fmt: skip
    values = dict(zip(chosen, map(float, found.x), strict=True))
    wrong = find_impossible({**file.values, **values})
    if wrong:
        raise arm.ModelError(
            f"fit_tyre: the fit leads to {wrong[0]}: {wrong[1]}; fit fewer coefficients, or give data that "
            "show them: sweeps beyond the peak at several loads"
        )
    made = replace(file, values={**file.values, **values})
    freedom = max(len(found.fun) - len(chosen), 1)
    covariance = np.linalg.pinv(found.jac.T @ found.jac) * float(found.fun @ found.fun) / freedom
    errors = dict(zip(chosen, map(float, np.sqrt(np.diag(covariance))), strict=True))
    parts = np.split(found.fun, len(channels))
    deviation = {c: float(np.sqrt(np.mean(part**2))) for c, part in zip(channels, parts, strict=True)}
    return TyreFit(made, read_tyre(made, convention=convention), values, errors, deviation)


def _columns(data: str | os.PathLike[str] | Mapping[str, object]) -> dict[str, np.ndarray]:
    """Measured columns by name, of equal length, finite, with the inputs that are needed."""
    where = "fit_tyre" if isinstance(data, Mapping) else os.fspath(data)
    if not isinstance(data, Mapping) and Path(data).suffix.lower() in (".tdx", ".tydex"):
        data = read_tydex(data)
    if isinstance(data, Mapping):
        given = {str(name): np.asarray(value, dtype=float).ravel() for name, value in data.items()}
    else:
        path = Path(data)
        if not path.is_file():
            raise arm.ModelError(f"{where}: there is no such file; check its name and folder")
        if path.stat().st_size > MOST:
            raise arm.ModelError(f"{where}: it has more than {MOST // 10**6} MB; take fewer rows")
        try:
            table = np.genfromtxt(path, delimiter=",", names=True, encoding="utf-8")
        except ValueError as error:
            raise arm.ModelError(f"{where}: its rows cannot be read as numbers: {error}") from None
        given = {name: np.atleast_1d(table[name]) for name in table.dtype.names or ()}
    columns = {name.lower(): values for name, values in given.items()}
    lacking = [name for name in ("fz", "kappa", "alpha") if name not in columns]
    if lacking:
        raise arm.ModelError(f"{where}: column {lacking[0]!r} is missing; needed are fz, kappa and alpha")
    if not any(name in columns for name in CHANNELS):
        raise arm.ModelError(f"{where}: no column of fx, fy or mz; give at least one")
    used = {name: columns[name] for name in (*INPUTS, *CHANNELS) if name in columns}
    if len({len(values) for values in used.values()}) > 1:
        lengths = ", ".join(f"{name} {len(values)}" for name, values in used.items())
        raise arm.ModelError(f"{where}: columns have different lengths: {lengths}")
    for name, values in used.items():
        if not np.all(np.isfinite(values)):
            row = int(np.argmin(np.isfinite(values)))
            raise arm.ModelError(f"{where}: column {name!r} has no number in row {row + 1} of the data")
    return used
