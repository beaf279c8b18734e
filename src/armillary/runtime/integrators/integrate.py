"""One integration by the compiled loop.

Each call of the loop takes about a tenth of a second, so that Ctrl-C takes effect and progress can be shown.
The results do not depend on the number of calls: the loop continues exactly where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from armillary.errors import ArmillaryError
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.settings import (
    Functions,
    Integration,
    IntegrationSettings,
    IntegrationStatus,
    RunChanges,
    Stepping,
)
from armillary.solver.llvm.layout import Reason
from armillary.solver.thresholds import FIRST_STEPS

Lasts = Callable[[float, np.ndarray, np.ndarray], bool]  # a function of time, state and memory
Supply = Callable[[CompiledRun], RunChanges]  # returns tables with the entry that a run lacks
CHUNK_SECONDS = 0.1
# These members of an enumeration are constants of the module, since each access to a member takes time.
_LACKING, _PAUSED, _OTHER_METHOD = Reason.LACKING, Reason.PAUSED, Reason.OTHER_METHOD
_STATUS: dict[Reason, IntegrationStatus] = {
    Reason.FINISHED: "finished",
    Reason.EVENT: "event",
    Reason.DIVERGED: "diverged",
    Reason.TOO_SMALL: "step too small",
    Reason.ACCUMULATES: "events accumulate",
    Reason.FULL: "too many rows",
    Reason.LACKING: "event",  # if there is no `supply` that adds the missing table entry
}
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

    If the settings have no ``sample``, there is a row at the end of every step. ``max_steps`` counts rejected
    steps too. ``progress`` is called about ten times a second with the time reached. ``stepping`` is for
    redundant coordinates, with methods "staggered" and "projected". ``stops`` are times at which steps must
    end, since inputs jump or have kinks there. ``changes`` has the configurations that the run may enter,
    ``supply`` adds further ones, and ``begin`` chooses the first one. ``lasts`` is a function of time, state
    and memory; the run ends one step after it becomes false.

    The last step is shortened if necessary. Memory is updated at the start of every step. A row shows the
    state and memory with which the next step begins; at an event, these are state and memory after the event.
    Divergence, Ctrl-C, events that come faster and faster, and more rows than the computer can store end the
    run with a status. Errors are raised only for wrong input, and for Ctrl-C while the loop is compiled, when
    there are no results to keep.
    """
    state = _vector("state", state, functions.n_states)
    memory = _vector("memory", memory, functions.n_memory)
    constants = np.ascontiguousarray(constants, dtype=float)
    run = CompiledRun(
        functions, settings, state=state, memory=memory, constants=constants, stepping=stepping, stops=stops,
        changes=changes,
    )  # fmt: skip
    if begin is not None:
        run = begin(run)
    return drive(run, settings.max_steps, progress, lasts, supply=supply)


def _vector(name: str, values: object, length: int) -> np.ndarray:
    if type(values) is np.ndarray and values.dtype is _REAL and values.shape == (length,):
        return values
    vector = np.array(values, dtype=float)
    if vector.shape != (length,):
        raise ArmillaryError(f"the {name} must be {length} numbers, not an array of shape {vector.shape}")
    return vector


def drive(
    run: CompiledRun,
    max_steps: int,
    progress: Callable[[float], None] | None,
    lasts: Lasts | None = None,
    *,
    supply: Supply | None = None,
) -> Integration:
    """Advance a run to its end or until it is interrupted; return its results.

    If ``lasts`` is given, the run ends one step after this function becomes false. ``supply`` adds table
    entries that the run lacks for a change of configuration; if it raises an error, the run ends there, and
    the message is the ``failure`` of the result. A run by `auto` begins with an explicit method; a linearly
    implicit method takes over while the run is stiff (solver/linearly_implicit.py).
    """
    failure = ""
    taken: list[tuple[float, str]] = []
    while (status := _advance_to_end(run, max_steps, progress, lasts, supply)) is None:
        if run.control.status == Reason.LACKING:
            assert supply is not None
            try:
                run = run.change_tables(supply(run))
            except KeyboardInterrupt:
                status = "interrupted"
                break
            except ArmillaryError as error:
                status, failure = "event", str(error)
                break
            run.try_change_again()
            continue
        run.change_method()
        taken.append((run.control.t, run.method))
    result = run.result(status)
    if taken:
        result.changeovers = taken
    if failure:
        result.failure = failure
    return result


def _advance_to_end(
    run: CompiledRun,
    max_steps: int,
    progress: Callable[[float], None] | None,
    lasts: Lasts | None,
    supply: Supply | None,
) -> IntegrationStatus | None:
    """Advance a run to its end; return how it ended.

    Return None if the other method is to continue, or if a run with a ``supply`` lacks a table entry.
    """
    chunk = FIRST_STEPS if lasts is None else 1
    try:
        while run.tried < max_steps:
            began = time.perf_counter()
            reason = run.advance(min(chunk, max_steps - run.tried))
            # This time excludes the reports of progress, so that slow reports do not shorten the chunks.
            seconds = max(time.perf_counter() - began, 1e-6)
            if reason is _OTHER_METHOD or (reason is _LACKING and supply):
                return None
            if progress:
                progress(run.control.t)
            if reason is not _PAUSED:
                return _STATUS[reason]
            if lasts is None:
                chunk = max(1, int(chunk * min(max(CHUNK_SECONDS / seconds, 0.1), 10.0)))
            elif not lasts(*run.reached):
                run.control.t_end = min(run.control.t_end, run.control.t + run.control.h)
    except KeyboardInterrupt:
        return "interrupted"
    return "too many steps"
