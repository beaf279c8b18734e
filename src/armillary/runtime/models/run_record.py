"""Checked parameters of runs, and the record of a run for the user."""

from __future__ import annotations

import platform
import time
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from armillary.errors import SimulationError
from armillary.runtime.integrators.settings import Integration
from armillary.runtime.models.configurations import Configurations
from armillary.runtime.models.failures import doubtful_contacts, raise_for, sound_part
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.legs import RunLegs
from armillary.solver.methods.registry import METHODS
from armillary.untyped import DataMapping, DataTable
from armillary.version import VERSION

if TYPE_CHECKING:
    from armillary.results import Run
    from armillary.runtime.models.configured_program import ConfiguredProgram
    from armillary.runtime.models.repeated_runs import RepeatedRuns


Key = tuple[tuple[str, ...], bytes]
_PLAIN, _FLOAT = {str, float}, {float}

MANY_STEPS = 1_000_000  # explicit steps above which a run's info proposes another method


@dataclass(frozen=True)
class KnownParameters:
    """Data that depend on the parameters of a run: all values by name, in stated units, and the programs."""

    given: Key | None  # the given parameters, if all are plain numbers
    key: Key
    values: dict[str, float]
    instance: Instance
    configurations: Configurations

    # Repeated runs by the identity of their settings (see repeated_runs.py), and the settings of the last
    # run.
    repeated: dict[int, RepeatedRuns] = field(default_factory=dict, compare=False, repr=False)
    last: list[object] = field(default_factory=lambda: [None], compare=False, repr=False)

    def same(self, parameters: DataMapping | None) -> bool:
        """Return whether the given parameters certainly equal these, including signs of zeros."""
        given = {} if parameters is None else parameters
        if self.given is None or type(given) is not dict or not {*map(type, given.values())} <= _FLOAT:
            return False  # other types may not be comparable
        names, bits = self.given
        if tuple(given) == names:
            return array("d", given.values()).tobytes() == bits
        return given.keys() == {*names} and array("d", [given[name] for name in names]).tobytes() == bits

    @cached_property
    def blank(self) -> Run:
        """A run without rows."""
        return blank_run(self.instance.model, self.values)


def plain_key(parameters: DataMapping | None) -> Key | None:
    """Return `key_of` parameters if all are plain numbers, else `None`."""
    given = {} if parameters is None else parameters
    if type(given) is not dict:
        return None
    if given and {*map(type, given), *map(type, given.values())} != _PLAIN:
        return None
    return key_of(given)


def key_of(values: Mapping[str, float]) -> Key:
    """Return a key that is equal for equal values by name in the same order; −0.0 differs from 0.0."""
    return tuple(values), array("d", values.values()).tobytes()


def blank_run(model: ConfiguredProgram, values: Mapping[str, float]) -> Run:
    """Return a run without rows, with values of the parameters."""
    from armillary.results import Run

    equations = model.equations
    columns = equations.targets.columns
    return Run(
        system=equations.system.name,
        time=np.empty(0),
        values=np.empty((0, len(columns))),
        names=model.output_names,
        units={c.name: c.units for c in columns},
        descriptions={c.name: c.about for c in columns},
        parameters=values,
        parameter_units=equations.parameter_units,
        info={**_versions(), "formalism": model.formalism},
        outputs=tuple(equations.system.outputs),
        picture=model.picture,
    )


def run_info(blank: Run, how: DataMapping, tier: str) -> DataTable:
    """Return the part of a run's info that is known before the run."""
    return {**blank.info, **how, **({"tier": tier} if tier != "final" else {})}


def finished_run(blank: Run, result: Integration, stated: DataMapping, legs: RunLegs, assembly: str) -> Run:
    """Return the record of a finished run; ``assembly`` notes how its loops were closed."""
    info = {
        **stated,
        "status": result.status,
        "steps": result.steps,
        "rejected": result.rejected,
        "evaluations": result.evaluations,
    }
    if result.changeovers:
        info["stiffness"] = "; ".join(f"{name} from t = {t:.6g} s on" for t, name in result.changeovers)
    elif result.steps >= MANY_STEPS and (method := METHODS[info["method"]]).adaptive and method.tableau:
        info["stiffness"] = f"{result.steps} explicit steps: if a part is stiff, method='auto' takes fewer"
    if legs.notes:
        info["configurations"] = "; ".join(legs.notes)
    if assembly:
        info["assembly"] = assembly
    if doubts := doubtful_contacts(result, legs.instance):
        info["contacts"] = doubts
    info["created"] = _date(int(time.time()))
    return blank.filled(result.time, result.samples, info, legs.events)


def recorded_run(
    blank: Run, result: Integration, stated: DataMapping, legs: RunLegs, assembly: str, adaptive: bool
) -> Run:
    """Return the record of a run; raise an error if the run failed or stopped before the requested end."""
    result, weakness = sound_part(legs.instance, result, adaptive)
    legs.failure = legs.failure or weakness
    run = finished_run(blank, result, stated, legs, assembly)
    if legs.failure:
        raise SimulationError(f"{legs.failure}; the data so far are in the error's .run", run)
    raise_for(result, run, legs.instance, adaptive)
    return run


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat(timespec="seconds")


@cache
def _versions() -> dict[str, str]:
    """Return the versions of programs on which a run depends."""
    import llvmlite

    return {
        "armillary": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "llvmlite": llvmlite.__version__,
    }
