"""One step across a place where the constraints lose rank, such as the flat position of a parallelogram.

Several branches of motion meet there. Along each of them the motion is smooth, though its equations are 0/0
in that place, so one step of high order passes it, placed so that no stage comes near. Loops are closed at
every stage: rows that are nearly dependent would make much of a small gap.

Dormand and Prince's method of order eight has no stage between 0.34 and 0.59 of its step (Hairer, Nørsett &
Wanner 1993, II.5), so the place is put in the middle of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.errors import ArmillaryError
from armillary.runtime.integrators.records import Integration
from armillary.runtime.place import Place

if TYPE_CHECKING:
    from armillary.runtime.compiled import CompiledModel

_MIDDLE = 0.46
_LONGEST = 0.3  # radians or lengths of motion that one step may pass
_ANY = 1e6  # a tolerance that accepts the step
_TORN = 1e-6  # a gap after the step that tells that it failed


def stride_across(
    model: CompiledModel, place: Place, parameters: Mapping[str, Any] | None
) -> tuple[float, float]:
    """The length of the step across such a place ahead, and the time to it; zeros where none is near."""
    y = model.packed(place)
    rate = model.derivatives(place.t, y, parameters, memory=place.memory)
    fast = float(np.max(np.abs(rate[: len(place.q)]), initial=0.0))
    if not 0.0 < fast < np.inf:
        return 0.0, 0.0
    dt = 1e-4 / fast
    here = model.strength(place.t, y, place.memory, parameters) ** 0.5
    there = model.strength(place.t + dt, y + dt * rate, place.memory, parameters) ** 0.5
    if there >= here:
        return 0.0, 0.0
    ahead = here * dt / (here - there)
    stride = ahead / _MIDDLE
    return (stride, ahead) if stride * fast <= _LONGEST else (0.0, 0.0)


def leap(
    model: CompiledModel,
    place: Place,
    end: float,
    due: np.ndarray,
    parameters: Mapping[str, Any] | None,
) -> Integration:
    """The motion from a place to an end in one step, with rows at the times that are due."""
    from scipy.integrate import DOP853  # slow to import, and rarely needed

    memory = place.memory

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return model.derivatives(t, model.closed(t, y, parameters, memory), parameters, memory=memory)

    h = end - place.t
    solver = DOP853(rates, place.t, model.packed(place), end, max_step=h, first_step=h, rtol=_ANY, atol=_ANY)
    solver.step()
    final = model.closed(end, solver.y, parameters, memory)
    if not np.max(np.abs(final - solver.y), initial=0.0) <= _TORN:
        raise ArmillaryError(
            f"the constraints of '{model.equations.system.name}' lose rank near t = {place.t:.6g} s and the "
            "motion could not be carried across; if directions of close_loop() are fixed in different bodies, "
            "they may have become parallel: give directions of one body"
        )
    inside = solver.dense_output()
    rows = [
        list(
            model.outputs(
                t, model.closed(t, inside(t), parameters, memory), parameters, memory=memory
            ).values()
        )
        for t in due
    ]
    return Integration(
        time=due.copy(),
        samples=np.array(rows).reshape(len(due), len(model.output_names)),
        final_state=final,
        final_memory=memory.copy(),
        status="finished",
        failed_state=None,
        t_stop=end,
        events=[],
        steps=1,
        rejected=0,
        evaluations=solver.nfev,
    )
