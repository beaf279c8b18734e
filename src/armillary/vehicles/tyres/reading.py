"""From a tyre file to a tyre."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping

import armillary as arm
from armillary.vehicles.tyres.coefficients import complete, find_impossible
from armillary.vehicles.tyres.magic_formula import MagicFormula
from armillary.vehicles.tyres.tir import TyreFile, read_tir, require_needed


def read_tyre(
    file: str | os.PathLike[str] | TyreFile,
    *,
    convention: str = "tno",
    side: str | None = None,
    version: str | None = None,
    changes: Mapping[str, float] | None = None,
    limit_curvature: bool = False,
    limit_inputs: bool = False,
) -> MagicFormula:
    """Return the Magic Formula tyre of a .tir file.

    convention       "tno", as MF-Tyre computes (default), or "book", as Pacejka (2012) prints
    side             "left" or "right" of the vehicle: mirrored if the file was measured on the other one
    version          "5.2", "6.1" or "6.2", which replaces the version in the file
    changes          coefficients in SI units that replace or complete the coefficients in the file
    limit_curvature  keep all curvature factors E at or below one
    limit_inputs     keep slips, camber, load and pressure in the ranges of the file

    One warning names the coefficients of forces that the file lacks, with the values used for them; see
    `TyreFile.taken`.
    """
    found = file if isinstance(file, TyreFile) else read_tir(file, version=version)
    values = {**found.values, **(changes or {})}
    require_needed(found, values)
    wrong = find_impossible(values)
    if wrong:
        raise arm.ModelError(f"{found.where(wrong[0])}: {wrong[0]}: {wrong[1]}; give another value")
    if side not in (None, "left", "right"):
        raise arm.ModelError(f"side={side!r} is not known; use 'left' or 'right'")
    _name_missing(found, values)
    mirrored = values.get("USE_MODE", 0) < 0
    if side is not None and found.side not in ("unknown", side):
        mirrored = not mirrored
    return MagicFormula(
        complete(values, found.version, convention),
        found.version,
        convention,
        mirrored,
        limit_curvature,
        limit_inputs,
        found.path,
    )


def _name_missing(file: TyreFile, values: Mapping[str, float]) -> None:
    """Warn of all missing coefficients at once; old files lack many, of Mx and My alone."""
    taken = {name: value for name, value in file.taken.items() if name not in values}
    if taken:
        zero = [name for name, value in taken.items() if value == 0]
        other = [f"{name} = {value:g}" for name, value in taken.items() if value != 0]
        words = [f"taken as 0: {', '.join(zero)}"] if zero else []
        words += [f"taken as {', '.join(other)}"] if other else []
        warnings.warn(
            f"{file.path}: {len(taken)} coefficients of version {file.version} are missing, so that their "
            f"effects are left out; {'; '.join(words)}. Give them with changes= if they are known",
            arm.ImportedWarning,
            stacklevel=3,
        )
