"""Motions that were computed knot by knot, as runs: all outputs of the model, in stated units."""

from __future__ import annotations

import numpy as np

from armillary.cache import kept_per_object
from armillary.control.knot_functions import KnotFunctions, Knots
from armillary.control.plant import Plant
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.run_record import blank_run
from armillary.untyped import DataMapping, DataTable


@kept_per_object
def _outputs(model: CompiledModel) -> KnotFunctions:
    equations = model.equations
    return KnotFunctions(equations, [c.expression for c in equations.targets.columns], ())


def motion_run(
    model: CompiledModel,
    motion: Plant,
    time: np.ndarray,
    x: np.ndarray,
    v: np.ndarray,
    parameters: DataMapping | None,
    info: DataTable,
) -> Run:
    """Return the run of states and inputs at given times, in the model's own units."""
    at = Knots(time, x, motion.memory(v), np.empty((len(x), 0)))
    values = _outputs(model).values(at, dict(parameters or {}))
    table = model.parameter_table
    stated = table.values(table.check_given(parameters))
    blank = blank_run(model, stated)
    return blank.filled(np.array(time), values, {**blank.info, "status": "finished", **info}, ())
