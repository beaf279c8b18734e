"""Values of many runs as users give them: one for all, or one per run."""

from __future__ import annotations

from collections.abc import Callable, Sized

import numpy as np

from armillary.algebra.node import positive_whole
from armillary.algebra.units import is_quantity, magnitude_in_si
from armillary.errors import ArmillaryError, ParameterError, UnitsError
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import DataMapping, DataTable, Given

_MOST = 2**30  # runs of a batch


def differs(value: Given) -> bool:
    """Whether a value is one per run."""
    if isinstance(value, str):
        return False
    if isinstance(value, list | tuple):
        return True
    size = value.magnitude if is_quantity(value) else value
    return isinstance(size, Sized) and np.asarray(size).ndim > 0


def of_run(inside: DataMapping, i: int) -> dict[str, float]:
    return {name: float(v[i]) if np.ndim(v) else float(v) for name, v in inside.items()}


def values_by_name(what: str, given: Given) -> DataTable:
    """Values by name, of symbols too."""
    if given is not None and not hasattr(given, "items"):  # a Series of pandas has them, too
        raise ArmillaryError(f"{what}= must hold values by name, {{'name': values, …}}, not {given!r}")
    return {str(name): value for name, value in (given or {}).items()}


def initial_by_name(model: CompiledModel, initial: object) -> DataTable:
    """Initial values by name, from a mapping or from whole states, a row per run."""
    if initial is None:
        return {}
    if hasattr(initial, "items"):  # likewise
        return {str(name): value for name, value in initial.items()}
    names = [*model.coordinate_names, *model.speed_names, *model.state_names]
    try:
        states = np.asarray(initial, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ArmillaryError(f"initial states must be numbers, {len(names)} for each run") from None
    if states.ndim not in (1, 2) or states.shape[-1] != len(names):
        raise ArmillaryError(
            f"initial states must be {len(names)} numbers or an array of shape (runs, {len(names)}), "
            f"not one of shape {states.shape}"
        )
    return {name: states[..., i] for i, name in enumerate(names)}


def without_texts(value: Given, read: Callable[[str], float]) -> Given:
    """The values of all runs with texts such as "3 mm" read one by one."""
    texts = isinstance(value, list | tuple) or getattr(value, "dtype", np.dtype(float)).kind in "UO"
    return [read(v) if isinstance(v, str) else v for v in value] if texts else value


def column_of(value: Given, where: str, factor: float, units: Given, dimension: object) -> np.ndarray:
    """One number per run, in stated units, of which ``factor`` makes the model's own."""
    if is_quantity(value):
        size, own = magnitude_in_si(value)
        if dimension is not None and own is not dimension:
            raise UnitsError(f"{where} has dimension [{dimension}], but what is given has [{own}]")
        value = np.asarray(size, dtype=float) / units.scale(own) / factor
    if isinstance(value, list | tuple) and any(is_quantity(v) for v in value):
        raise ParameterError(f"{where} is a list of quantities; give one quantity with an array of numbers")
    try:
        column = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{where} needs numbers, or texts such as '3 mm', one per run") from None
    if column.ndim != 1:
        raise ParameterError(f"{where} needs one number or one per run, not an array of shape {column.shape}")
    strange = np.flatnonzero(~np.isfinite(column))
    if strange.size:
        raise ParameterError(f"{where} is {column[strange[0]]} in run {strange[0]}; give finite numbers")
    return column


def run_count(lengths: dict[str, int], runs: int | None) -> int:
    """The number of runs; an error where the arrays do not agree."""
    found = dict(lengths)
    if runs is not None:
        wanted = positive_whole(runs)
        if wanted is None:
            raise ArmillaryError(f"runs= must be a positive whole number, not {runs!r}")
        found["runs="] = wanted
    if not found:
        raise ArmillaryError(
            "nothing differs between the runs: give an array of parameters or initial values, or runs="
        )
    (first, count), *others = found.items()
    for name, other in others:
        if other != count:
            raise ArmillaryError(
                f"mismatched shapes: {first} is {count} and {name} is {other}; there must be one per run"
                if "runs=" in (first, name)
                else f"mismatched shapes: {first} has {count} values and {name} has {other}; "
                "there must be one per run"
            )
    if count > _MOST:
        raise ArmillaryError(f"{count:,} runs are more than a batch can hold, {_MOST:,}; use a Study")
    if count == 0:
        raise ArmillaryError(f"{first} has no values: there are no runs to make")
    return count
