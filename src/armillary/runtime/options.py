"""How a run is made, for verbs that make runs on the way to something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict


class StepOptions(TypedDict, total=False):
    """Arguments of ``CompiledModel.simulate`` that say how steps are taken."""

    step: float | None
    method: str | None
    rtol: float
    atol: float | Sequence[float]
    max_step: float
    max_steps: int


class RunOptions(StepOptions, total=False):
    """Those and all others."""

    initial: Mapping[str, float] | Sequence[float] | None
    parameters: Mapping[str, Any] | None
    memory: Mapping[str, float] | None
    t0: float
    sample: float | Sequence[float] | None
    progress: bool | Callable[[float], None]
