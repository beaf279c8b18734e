"""TYDEX files: measured forces of tyres, read to SI units in ISO-W axes.

Sections begin with ``**NAME``. A line of MEASURCHANNELS has columns of fixed width: name (10 characters),
designation (30), unit (10), factor (10), and two offsets (10 each); MEASURDATA has one row per sample, in the
order of the channels. Constants stand for channels that are not measured.

Source: TYDEX-Format 1.3 (1997). Offsets other than zero are refused.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

import armillary as arm

MOST = 200_000_000  # bytes
# Our names by those of channels; forces and moments are those of the W axes.
NAMES = {
    "FZW": "fz", "FZ": "fz", "LONGSLIP": "kappa", "SLIPANGL": "alpha", "INCLANGL": "gamma",
    "INFLPRES": "pressure", "FX": "fx", "FXW": "fx", "FY": "fy", "FYW": "fy", "MZ": "mz", "MZW": "mz",
}  # fmt: skip
UNITS = {
    "": 1.0, "-": 1.0, "1": 1.0, "%": 0.01, "n": 1.0, "kn": 1e3, "nm": 1.0, "n*m": 1.0, "knm": 1e3,
    "rad": 1.0, "deg": math.pi / 180, "pa": 1.0, "kpa": 1e3, "bar": 1e5, "mpa": 1e6,
}  # fmt: skip


def read_tydex(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the columns fz, kappa, alpha, gamma, pressure, fx, fy, mz that a TYDEX file has, in SI units.

    `fit_tyre` takes the file itself. Forces of the H axes (FYH and others) are refused: they must be turned
    into the W axes, whose z is the normal of the road.
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
