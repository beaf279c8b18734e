"""Measured tyre forces from TYDEX files, in SI units and ISO-W axes, and coefficients fitted to them.

Sections begin with ``**NAME``. A line of MEASURCHANNELS has columns of fixed width: name (10 characters),
designation (30), unit (10), factor (10), and two offsets (10 each); MEASURDATA has one row per sample, in the
order of the channels. Constants replace channels that are not measured.

Source: TYDEX-Format 1.3 (1997). Offsets other than zero are refused.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import armillary as arm
from armillary.vehicles.tyres.coefficients import find_impossible
from armillary.vehicles.tyres.magic_formula import MagicFormula
from armillary.vehicles.tyres.tir import TyreFile, read_tir, read_tyre
from armillary.vehicles.tyres.tyre import read_array

MOST = 200_000_000  # bytes of a file of measurements
# Names of columns by names of channels; forces and moments are in the W axes.
NAMES = {
    "FZW": "fz", "FZ": "fz", "LONGSLIP": "kappa", "SLIPANGL": "alpha", "INCLANGL": "gamma",
    "INFLPRES": "pressure", "FX": "fx", "FXW": "fx", "FY": "fy", "FYW": "fy", "MZ": "mz", "MZW": "mz",
}  # fmt: skip
UNITS = {
    "": 1.0, "-": 1.0, "1": 1.0, "%": 0.01, "n": 1.0, "kn": 1e3, "nm": 1.0, "n*m": 1.0, "knm": 1e3,
    "rad": 1.0, "deg": math.pi / 180, "pa": 1.0, "kpa": 1e3, "bar": 1e5, "mpa": 1e6,
}  # fmt: skip


def read_tydex(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the columns of a TYDEX file in SI units: fz, kappa, alpha, gamma, pressure, fx, fy, mz.

    `fit_tyre` accepts the file itself. Forces in the H axes (FYH and others) are refused: rotate them into
    the W axes, whose z is the normal of the road.
    """
    where, file = os.fspath(path), Path(path)
    if not file.is_file():
        raise arm.ModelError(f"{where}: there is no such file; check its name and folder")
    if file.stat().st_size > MOST:
        raise arm.ModelError(f"{where}: it has more than {MOST // 10**6} MB; take fewer rows")
    section = ""
    channels: list[tuple[str, float]] = []
    constants: dict[str, float] = {}
    rows: list[list[float]] = []
    ended, number = False, 0
    for number, line in enumerate(file.read_text(encoding="latin-1").splitlines(), start=1):
        text = line.strip()
        if text.startswith("**"):
            section = text[2:].split()[0].upper() if text[2:].split() else ""
            ended = ended or section == "END"
        elif not text or text.startswith("!"):
            continue
        elif section == "MEASURCHANNELS":
            channels.append(_read_channel(line, number, where))
        elif section == "CONSTANTS":
            name = line[:10].strip().upper()
            if name in NAMES:
                value = _number(line[50:60].split()[0] if line[50:60].split() else "", number, where)
                constants[NAMES[name]] = value * _unit(line[40:50], number, where)
        elif section == "MEASURDATA":
            values = [_number(word, number, where) for word in text.split()]
            if len(values) != len(channels):
                raise arm.ModelError(
                    f"{where}, line {number}: this row has {len(values)} numbers, but there are "
                    f"{len(channels)} channels; the file is cut off or damaged: copy it again"
                )
            rows.append(values)
    if not channels or not rows:
        lacking = "**MEASURCHANNELS" if not channels else "**MEASURDATA"
        raise arm.ModelError(f"{where}, line {number}: it has no {lacking}; is it a TYDEX file?")
    if not ended:
        raise arm.ModelError(f"{where}, line {number}: **END is missing; the file is cut off: copy it again")
    data = np.array(rows)
    found = {NAMES[name]: scale * data[:, i] for i, (name, scale) in enumerate(channels) if name in NAMES}
    turned = [name for name, _ in channels if name in ("FXH", "FYH", "FZH", "MZH")]
    if turned and not {"fx", "fy", "mz"} & set(found):
        raise arm.ModelError(f"{where}: {turned[0]} is in the H axes; turn the forces into the W axes first")
    return {**{name: np.full(len(rows), value) for name, value in constants.items()}, **found}


def _read_channel(line: str, number: int, where: str) -> tuple[str, float]:
    """Return the name of a channel and the factor to SI units."""
    name = line[:10].strip().upper()
    factor, *offsets = (line[i : i + 10].strip() for i in (50, 60, 70))
    if name in NAMES and any(_number(offset, number, where) for offset in offsets if offset):
        raise arm.ModelError(
            f"{where}, line {number}: channel {name} has an offset; add it to the data and write zero"
        )
    scale = _number(factor, number, where) if factor else 1.0
    return name, scale * (_unit(line[40:50], number, where) if name in NAMES else 1.0)


def _unit(text: str, number: int, where: str) -> float:
    unit = text.strip().lower()
    if unit not in UNITS:
        raise arm.ModelError(
            f"{where}, line {number}: the unit {text.strip()!r} is not known; use "
            f"{', '.join(filter(None, UNITS))}"
        )
    return UNITS[unit]


def _number(text: str, number: int, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise arm.ModelError(f"{where}, line {number}: {text!r} is not a number") from None


# Coefficients of the Magic Formula from measured forces, by least squares with exact derivatives.


INPUTS = ("fz", "kappa", "alpha", "gamma", "pressure")
CHANNELS = ("fx", "fy", "mz")

# Default coefficients by channel: sweeps of one slip at several loads determine them.
DEFAULTS = {
    "fx": ("PCX1", "PDX1", "PDX2", "PEX1", "PEX2", "PKX1", "PKX2", "PKX3", "PHX1", "PVX1"),
    "fy": ("PCY1", "PDY1", "PDY2", "PEY1", "PEY2", "PKY1", "PKY2", "PHY1", "PVY1"),
    "mz": ("QBZ1", "QBZ2", "QCZ1", "QDZ1", "QDZ2", "QEZ1", "QHZ1", "QDZ6"),
}


@dataclass(frozen=True)
class TyreFit:
    """A fitted tyre: the file to write, and its deviation from the data."""

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
    names   coefficients to fit; by default those in DEFAULTS for the channels in the data

    Each channel is scaled by its largest value. Derivatives with respect to the coefficients are exact.
    """
    from scipy.optimize import least_squares

    file = start if isinstance(start, TyreFile) else read_tir(start)
    tyre = read_tyre(file, convention=convention)
    columns = _columns(data)
    channels = [name for name in CHANNELS if name in columns]
    chosen = tuple(names) if names is not None else tuple(n for c in channels for n in DEFAULTS[c])
    unknown = [name for name in chosen if name not in tyre.coefficients]
    if unknown or not chosen:
        raise arm.ModelError(f"fit_tyre: there is no coefficient {unknown[0]!r}" if unknown else
                             "fit_tyre: name at least one coefficient to fit")  # fmt: skip
    if len(set(chosen)) < len(chosen):
        raise arm.ModelError(f"fit_tyre: names={list(chosen)} name a coefficient twice")
    if len(columns["fz"]) * len(channels) < len(chosen):
        raise arm.ModelError(
            f"fit_tyre: {len(columns['fz'])} rows of {', '.join(channels)} do not determine {len(chosen)} "
            "coefficients; give more data, or name fewer coefficients"
        )
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
    silent = [name for name, column in zip(chosen, found.jac.T, strict=True) if not np.any(column)]
    if silent:
        raise arm.ModelError(
            f"fit_tyre: the data do not depend on {silent[0]}; leave it out, or give data that show it"
        )
    parts = np.split(found.fun, len(channels))
    errors = dict(zip(chosen, _standard_errors(np.split(found.jac, len(channels)), parts), strict=True))
    deviation = {c: float(np.sqrt(np.mean(part**2))) for c, part in zip(channels, parts, strict=True)}
    return TyreFit(made, read_tyre(made, convention=convention), values, errors, deviation)


def _standard_errors(jacobians: Sequence[np.ndarray], residuals: Sequence[np.ndarray]) -> list[float]:
    """Return the standard errors of values fitted to channels whose noise differs.

        C = H⁻¹ (Σ s² JᵀJ) H⁻¹,   H = Σ JᵀJ,   s² = rᵀr/(n − tr(J H⁻¹ Jᵀ)) of each channel

    Source: Davidson and MacKinnon, Econometric Theory and Methods (2004), section 5.5, with one variance for
    each channel.
    """
    squares = [jacobian.T @ jacobian for jacobian in jacobians]
    inverse = np.linalg.pinv(sum(squares))
    middle = np.zeros_like(inverse)
    for square, residual in zip(squares, residuals, strict=True):
        freedom = max(len(residual) - float(np.trace(square @ inverse)), 1.0)
        middle += square * (float(residual @ residual) / freedom)
    return [float(x) for x in np.sqrt(np.diag(inverse @ middle @ inverse))]


def _columns(data: str | os.PathLike[str] | Mapping[str, object]) -> dict[str, np.ndarray]:
    """Return measured columns by name, after checks for equal lengths, finite values and needed inputs."""
    where = "fit_tyre" if isinstance(data, Mapping) else os.fspath(data)
    if not isinstance(data, Mapping) and Path(data).suffix.lower() in (".tdx", ".tydex"):
        data = read_tydex(data)
    if isinstance(data, Mapping):
        given = {str(name): read_array(f"{where}: {name}", value).ravel() for name, value in data.items()}
    else:
        path = Path(data)
        if not path.is_file():
            raise arm.ModelError(f"{where}: there is no such file; check its name and folder")
        if path.stat().st_size > MOST:
            raise arm.ModelError(f"{where}: it has more than {MOST // 10**6} MB; take fewer rows")
        if not path.read_bytes().strip():
            raise arm.ModelError(
                f"{where}: the file is empty; it needs a line of headings and rows of numbers"
            )
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
    if not len(used["fz"]):
        raise arm.ModelError(f"{where}: it has no rows of data")
    for name, values in used.items():
        if not np.all(np.isfinite(values)):
            row = int(np.argmin(np.isfinite(values)))
            raise arm.ModelError(f"{where}: column {name!r} has no number in row {row + 1} of the data")
    return used
