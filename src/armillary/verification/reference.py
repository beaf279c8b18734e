"""Reference data, models and measures of difference that the cases share."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from types import ModuleType

import numpy as np

from armillary.run_files.models import example_module
from armillary.stages.equations import Equations
from armillary.untyped import DataMapping, DataTable

# References are integrated to 1e-12 and repeat themselves to 1e-11; ours runs at the same tolerance.
TIGHT: DataTable = {"method": "dop853", "rtol": 1e-13, "atol": 1e-14}
# Rounding of one evaluation with a condition number of the mass matrix up to about 1e5.
ACCELERATIONS = 1e-10
TRAJECTORIES = 1e-8


def reference(name: str) -> DataTable:
    """The reference data of a case; `data/README.md` lists their sources."""
    file = resources.files("armillary.verification").joinpath("data", f"{name}.json")
    found: DataTable = json.loads(file.read_text(encoding="utf-8"))
    return found


def example(name: str) -> ModuleType:
    """The module of an example."""
    return example_module(name)


@cache
def equations(name: str, **options: object) -> Equations:
    """The equations of an example by the formalism that `derive` chooses, derived once."""
    found: Equations = example(name).system(**options).derive()
    return found


def columns(record: DataMapping, rows: str = "data") -> dict[str, np.ndarray]:
    """A recorded trajectory as columns by name."""
    data = np.array(record[rows])
    return {name: data[:, i] for i, name in enumerate(record["columns"])}


def largest(*numbers: object) -> float:
    """The largest of numbers or arrays of them; NaN where any is, which the built-in `max` would drop."""
    return float(np.max(np.concatenate([np.atleast_1d(np.asarray(x, float)).ravel() for x in numbers])))


def relative_difference(found: object, expected: object) -> float:
    """The largest difference, of every number relative to itself."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    return largest(np.abs(found - expected) / np.where(expected == 0, 1.0, np.abs(expected)))


def largest_difference(found: object, expected: object) -> float:
    """The largest difference."""
    return largest(np.abs(np.asarray(found, float) - np.asarray(expected, float)))


def scaled_difference(found: object, expected: object) -> float:
    """The largest difference relative to the largest magnitude, per column."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    scale = np.max(np.abs(expected), axis=0)
    return largest(np.abs(found - expected) / np.where(scale > 0, scale, 1.0))


def drift(values: np.ndarray, scale: float | None = None) -> float:
    """The largest change of a constant from its first value, relative to that value or to a scale."""
    return largest(np.abs(values - values[0])) / float(abs(values[0]) if scale is None else scale)


def counts(eom: Equations) -> tuple[int, int, int]:
    """(additions, multiplications and divisions, functions) of one derivative evaluation."""
    made = eom.operations
    return made.additions, made.multiplications + made.divisions, made.functions
