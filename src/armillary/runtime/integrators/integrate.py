"""One integration: settings and a start, to the compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from armillary.errors import ArmillaryError
from armillary.runtime.integrators import STIFF
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.driving import Lasts, Supply, drive
from armillary.runtime.integrators.records import Functions, Integration, RunChanges, Stepping
from armillary.runtime.integrators.settings import IntegrationSettings

_REAL = np.dtype(float)


def integrate(
    functions: Functions,
    settings: IntegrationSettings,
    *,
    state: object,
    memory: object = (),
    constants: object = (),
    progress: Callable[[float], None] | None = None,
    stepping: Stepping | None = None,
    stops: np.ndarray | None = None,
    changes: RunChanges | None = None,
    supply: Supply | None = None,
    begin: Callable[[CompiledRun], CompiledRun] | None = None,
    lasts: Lasts | None = None,
) -> Integration:
    """Integrate a motion with settings made by `complete_settings`.

    Without ``sample`` there is a row at the end of every step. ``max_steps`` counts rejected steps too.
    ``progress`` is called about ten times a second with the time reached; ``stepping`` is for redundant
    coordinates, whose methods are "staggered" and "projected"; ``stops`` are the times at which inputs jump,
    which no step leads across, and ``changes`` the configurations that the run may enter, to which ``supply``
    adds; ``begin`` chooses the one in which the run begins. A run with ``lasts`` ends soon after this
    function of the time, state and memory reached becomes false.

    A last step that does not fit is shortened. Memory is updated at the start of every step. A row shows the
    state and memory as the next step begins with them, so at an event the ones after it. Divergence and
    Ctrl-C end the run with a status, and so do events that come faster and faster and more rows than memory
    should hold (Ctrl-C while its loop is still being compiled is raised: there is nothing to keep); nothing
    is raised but errors of the input.
    """
    state = _vector("state", state, functions.n_states)
    memory = _vector("memory", memory, functions.n_memory)
    constants = np.ascontiguousarray(constants, dtype=float)
    begins = settings.integrator.begins_with
    run = CompiledRun(
        functions, replace(settings, method=begins) if begins else settings, state=state, memory=memory,
        constants=constants, stepping=stepping, stops=stops, changes=changes, watched=bool(begins),
    )  # fmt: skip
    if begin is not None:
        run = begin(run)
    methods = (begins, STIFF) if begins else None
    return drive(run, settings.max_steps, progress, lasts, supply=supply, methods=methods)


def _vector(name: str, values: object, length: int) -> np.ndarray:
    if type(values) is np.ndarray and values.dtype is _REAL and values.shape == (length,):
        return values
    vector = np.array(values, dtype=float)
    if vector.shape != (length,):
        raise ArmillaryError(f"the {name} must be {length} numbers, not an array of shape {vector.shape}")
    return vector
