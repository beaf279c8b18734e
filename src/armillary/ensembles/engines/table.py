"""The choice of the engine that makes the runs of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from armillary.ensembles.engines.engine import Engine
from armillary.ensembles.engines.lanes.engines import AdaptiveLanes, Lanes
from armillary.ensembles.engines.lanes.with_events import LanesWithEvents
from armillary.ensembles.engines.python import PythonEngine
from armillary.ensembles.engines.scalar.engine import Scalar
from armillary.ensembles.plan import Plan
from armillary.errors import ArmillaryError


def _cpu() -> tuple[type[Engine], ...]:
    return Lanes, AdaptiveLanes, LanesWithEvents, Scalar, PythonEngine


def _gpu() -> tuple[type[Engine], ...]:
    from armillary.ensembles.engines.gpu import FixedSteps, Queued  # what prints CUDA takes time to import

    return FixedSteps, Queued


# By device; the fastest first.
ENGINES: Mapping[str, Callable[[], tuple[type[Engine], ...]]] = {"cpu": _cpu, "gpu": _gpu}


def engine_for(plan: Plan, device: str = "cpu", precision: str = "double") -> Engine:
    """The fastest engine of a device that can make the runs of a plan."""
    why = ""
    for kind in ENGINES[device]():
        if not (why := kind.refusal(plan)):
            return kind.made_for(plan, precision)
    raise ArmillaryError(f"not on the {device.upper()}: {why}; or run with device='cpu'")
