"""Inputs over time on a card: their data in one array, and steps that end where they jump."""

from __future__ import annotations

import numpy as np

from armillary.ensembles.engines.gpu.device import Device
from armillary.ensembles.plan import Plan
from armillary.errors import ArmillaryError
from armillary.runtime.inputs.blocks import DrivenInputs
from armillary.runtime.loop.layout import SNAP
from armillary.runtime.loop.stops import before_stop

_SHARE = 0.5  # of the card's free memory that data may take


class SignalData:
    """The blocks of all inputs for ``export/cuda/templates/signals.txt``, and their numbers by run."""

    def __init__(self, inputs: DrivenInputs, device: Device, real: np.dtype) -> None:
        self.inputs = inputs
        self._first: dict[str, int] = {}
        numbers: list[np.ndarray] = []
        begins: list[float] = []
        end = sum(len(b.numbers) for b in inputs.blocks.values())
        for name, block in inputs.blocks.items():
            self._first[name] = len(begins)
            breaks, end = end, end + len(block.breaks)
            rows = block.numbers.copy()
            places = end + rows.shape[1] * np.arange(len(rows))
            rows[:, 0] = breaks - places
            begins += places.tolist()
            end += rows.size
            # As the kernel has the time, so that a step that begins at a jump is behind it.
            numbers += [block.breaks.astype(real).astype(float), rows.ravel()]
        if 8 * end > _SHARE * device.free():
            raise ArmillaryError(
                f"the data of inputs take {8 * end / 2**30:.3g} GiB, more than half of what the GPU has "
                "free; give fewer instants or fewer runs, or run with device='cpu'"
            )
        self._data = device.cupy.asarray(np.concatenate([np.array(begins, dtype=float), *numbers]))
        self.address = np.array([self._data.data.ptr], dtype=np.uint64)

    def numbered(self, memory: np.ndarray, first: int) -> np.ndarray:
        """Memory of runs from ``first`` on, with the numbers of blocks in place of their addresses."""
        memory = memory.copy()
        for name, place in self.inputs.places.items():
            several = len(self.inputs.blocks[name].numbers) > 1
            own = first + np.arange(memory.shape[1]) if several else 0
            memory[place] = self._first[name] + own
        return memory


def stopped(plan: Plan, real: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grid points, the steps between them, and what is due at each, with steps that end just before the
    times at which inputs jump, by a few roundings of ``real``; as ``runtime/loop/stops.py`` has them.
    """
    rounding = float(np.finfo(real).eps)
    assert plan.grid is not None and plan.steps is not None
    due = _due(plan)
    if plan.stops is None:
        return plan.grid, plan.steps, due
    near = SNAP * float(plan.settings.fixed_step or 0.0)
    points, steps, wanted = [float(plan.grid[0])], [], [int(due[0])]
    ahead = iter([*plan.stops.tolist(), np.inf])
    stop = next(ahead)
    for target, step, now in zip(plan.grid[1:].tolist(), plan.steps.tolist(), due[1:].tolist(), strict=True):
        t = points[-1]
        while stop < target - near:
            steps.append(before_stop(t, stop, rounding) - t)
            points.append(stop)
            wanted.append(0)
            t, stop, step = stop, next(ahead), target - stop
        met = stop <= target + near
        steps.append(before_stop(t, min(stop, target), rounding) - t if met else step)
        points.append(max(stop, target) if met else target)
        wanted.append(now)
        while stop <= points[-1]:
            stop = next(ahead)
    return np.array(points), np.array(steps), np.array(wanted, dtype=np.int32)


def _due(plan: Plan) -> np.ndarray:
    """A code for each grid point: twice the number of a kept row, from 1, plus 1 if metrics use it."""
    assert plan.row_at is not None
    due = np.zeros(len(plan.row_at), dtype=np.int32)
    on = plan.row_at >= 0
    rows = plan.row_at[on]
    kept = plan.kept[rows] & bool(plan.history)
    number = np.where(kept, np.cumsum(plan.kept)[rows], 0)
    due[on] = 2 * number + (plan.measured[rows] & bool(plan.metrics))
    return due
