"""Settings of a run: one record, from the command line and the signatures of models down to the integrators.

Each field of `RunSettings` has a `Setting`. The keys of run and study files, their JSON schemas, the options
of ``armillary run``, echo files and the identity of a study are made from these. A new setting is one field
here and, for users, one keyword of ``simulate``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf, isfinite
from typing import Any, TypedDict

import numpy as np

from armillary.algebra.arguments import count, reals
from armillary.algebra.arithmetic import plain_float
from armillary.algebra.units.dimension import TIME
from armillary.errors import ArmillaryError, nearest, shown
from armillary.model.unit_system import SYSTEMS
from armillary.runtime.integrators import METHODS, Method, check_kind
from armillary.runtime.integrators.sampling import SampleTimes
from armillary.runtime.values import BadValueError, finite, read_number

_SCHEMA_TIME = {"type": ["number", "string"], "examples": [0.01, "10 ms", "2 min"]}
_SCHEMA_NUMBER = {"type": "number"}


@dataclass(frozen=True)
class Setting:
    """What files, editors and the command line need of one setting."""

    help: str
    read: Callable[[Any], Any]  # a value in a file, checked, as `RunSettings` holds it
    schema: Mapping[str, Any]
    key: str = ""  # in the table [run] of a file, where it is not the name of the field
    units: str = ""
    option: bool = False  # whether `armillary run` has an option for it

    @property
    def json_schema(self) -> dict[str, Any]:
        """The schema of its key in a file."""
        return {**self.schema, "description": self.help}


# ------------------------------------------------------------------------------------- values in files


def _seconds(value: Any) -> float:
    return read_number(value, "s", SYSTEMS["SI"], TIME)


def _positive_seconds(value: Any) -> float:
    seconds = _seconds(value)
    if seconds <= 0.0:
        raise BadValueError(f"must be positive, not {shown(value)}")
    return seconds


def _duration(value: Any) -> float:
    seconds = _seconds(value)
    if seconds < 0.0:
        raise BadValueError(f"must not be negative, not {shown(value)}")
    return seconds


def _largest_step(value: Any) -> float:
    return inf if value == inf else _positive_seconds(value)


def _sample(value: Any) -> float | list[float]:
    return [_seconds(v) for v in value] if isinstance(value, list) else _positive_seconds(value)


def _tolerance(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValueError(f"needs a number, not {shown(value)}")
    number = finite(value)
    if number < 0.0:
        raise BadValueError(f"must not be negative, not {number}")
    return number


def _tolerances(value: Any) -> float | list[float]:
    return [_tolerance(v) for v in value] if isinstance(value, list) else _tolerance(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadValueError(f"needs a whole number, at least 1, not {shown(value)}")
    return value


def one_of(value: Any, known: Iterable[str], kind: str) -> str:
    """A name in a file that must be one of several."""
    if not isinstance(value, str):
        raise BadValueError(f"must be the name of a {kind}, not {shown(value)}")
    if value not in known:
        near = nearest(value, known) or f"; there are {', '.join(known)}"
        raise ArmillaryError(f"there is no {kind} '{value}'{near}")
    return value


def _method(value: Any) -> str:
    return one_of(value, METHODS, "method")


# ------------------------------------------------------------------------------------------ the record


def _setting(*what: Any, **more: Any) -> dict[str, Setting]:
    """The metadata of a field."""
    return {"setting": Setting(*what, **more)}


@dataclass(frozen=True, eq=False)
class RunSettings:
    """How a run is made, as ``simulate`` takes it; the values of a run (parameters, initial values, memory)
    are apart. Values are kept as they were given; what is wrong with one is an error when the record is made.
    """

    t_end: float = field(metadata=_setting(
        "Length of the run: seconds, or text such as '2 min'.", _duration, _SCHEMA_TIME, key="duration",
        units="s", option=True,
    ))  # fmt: skip
    t0: float = field(default=0.0, metadata=_setting(
        "Time at which the run starts; 0 by default.", _seconds, _SCHEMA_TIME, key="start", units="s",
    ))  # fmt: skip
    step: float | None = field(default=None, metadata=_setting(
        "Step of a fixed-step method, first step of an adaptive one.", _positive_seconds, _SCHEMA_TIME,
        units="s", option=True,
    ))  # fmt: skip
    method: str | None = field(default=None, metadata=_setting(
        "Integration method: rk4, midpoint, dopri5, dop853, scipy:Radau, …; "
        "by default rk4 with a step, dop853 without.",
        _method, {"type": "string", "examples": list(METHODS)}, option=True,
    ))  # fmt: skip
    sample: float | Sequence[float] | np.ndarray | None = field(default=None, metadata=_setting(
        "Time between rows of the results, or the times of rows.", _sample,
        {"anyOf": [_SCHEMA_TIME, {"type": "array", "items": _SCHEMA_TIME}]}, units="s", option=True,
    ))  # fmt: skip
    rtol: float = field(default=1e-9, metadata=_setting(
        "Relative error that an adaptive method tolerates.", _tolerance, _SCHEMA_NUMBER,
    ))  # fmt: skip
    atol: float | Sequence[float] = field(default=1e-11, metadata=_setting(
        "Absolute error that an adaptive method tolerates: one number, or one per state.", _tolerances,
        {"anyOf": [_SCHEMA_NUMBER, {"type": "array", "items": _SCHEMA_NUMBER}]},
    ))  # fmt: skip
    max_step: float = field(default=inf, metadata=_setting(
        "Largest step of an adaptive method.", _largest_step, _SCHEMA_TIME, units="s",
    ))  # fmt: skip
    max_steps: int = field(default=1_000_000_000, metadata=_setting(
        "Number of steps after which the run ends.", _count, {"type": "integer", "minimum": 1},
    ))  # fmt: skip

    def __post_init__(self) -> None:
        method, step = self.method, self.step
        if method is not None and (not isinstance(method, str) or method not in METHODS):
            raise ArmillaryError(
                f"no integration method '{method}'{nearest(method, METHODS)}; there are {', '.join(METHODS)}"
            )
        for name in ("t0", "t_end", "step"):
            value = getattr(self, name)
            if (value is not None or name != "step") and plain_float(value) is None:
                raise ArmillaryError(f"{name} must be a number of seconds, not {shown(value)}")
        if not (isfinite(self.t0) and isfinite(self.t_end) and self.t0 <= self.t_end):
            raise ArmillaryError(
                f"a run must lead from one finite time to a later one, not from {self.t0} to {self.t_end}"
            )
        if method is not None and step is None and not METHODS[method].adaptive:
            raise ArmillaryError(f"method '{method}' takes steps of one size: give it, e.g. step=1e-3")
        if step is not None and not 0.0 < step < inf:
            raise ArmillaryError(f"the step must be positive, not {step}")
        for name in ("rtol", "max_step"):
            if plain_float(getattr(self, name)) is None:
                raise ArmillaryError(f"{name} must be a number, not {getattr(self, name)!r}")
        if not self.max_step > 0.0:
            raise ArmillaryError(f"the largest step must be positive, not {self.max_step}")
        rtol, atol = self.rtol, reals(self.atol, "atol")
        if not (rtol >= 0.0 and np.all(atol >= 0.0) and (rtol > 0.0 or np.all(atol > 0.0))):
            raise ArmillaryError(f"tolerances must be positive; rtol is {rtol} and atol {self.atol}")
        _ = self.samples

    @classmethod
    def from_file(cls, values: Mapping[str, Any]) -> RunSettings:
        """The record from values by the keys of files, read by `Setting.read`."""
        given = {name: values[key] for name, key in FILE_KEYS.items() if key in values}
        start = given.get("t0", 0.0)
        return cls(**{**given, "t0": start, "t_end": start + given["t_end"]})

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> tuple[RunSettings, dict[str, Any]]:
        """The record of the settings among arguments by name, and the other arguments."""
        own = {name: value for name, value in arguments.items() if name in SETTINGS}
        return cls(**own), {name: value for name, value in arguments.items() if name not in SETTINGS}

    def completed(self, *, redundant: bool = False) -> RunSettings:
        """The same with a method, which must be one for these coordinates, and with plain numbers."""
        usual = "staggered" if redundant else "rk4" if self.step is not None else "dop853"
        method = self.method or usual
        made = replace(
            self,
            method=method,
            t0=float(self.t0),
            t_end=float(self.t_end),
            rtol=float(self.rtol),
            max_step=float(self.max_step),
            max_steps=count(self.max_steps, "max_steps"),
        )
        check_kind(METHODS[method], redundant)
        return made

    @property
    def integrator(self) -> Method:
        """The method of a completed record."""
        assert self.method is not None
        return METHODS[self.method]

    @property
    def fixed_step(self) -> float | None:
        """The step, where all steps have this size."""
        return None if self.integrator.adaptive else self.step

    @cached_property
    def samples(self) -> SampleTimes:
        """The times of rows."""
        return SampleTimes(self.sample, float(self.t0), float(self.t_end))

    def tolerances(self, states: int) -> np.ndarray:
        """The absolute tolerances: one number, or one per state."""
        found = reals(self.atol, "atol").copy()
        if found.shape not in ((), (states,)):
            raise ArmillaryError(f"atol must be one number or {states}, one per state")
        return found

    def changed(self) -> dict[str, Any]:
        """The settings that are not as they are by default, by name."""
        return {
            f.name: value for f in fields(self) if not _is_default(value := getattr(self, f.name), f.default)
        }


def _is_default(value: Any, default: Any) -> bool:
    return value is None or (np.ndim(value) == 0 and bool(value == default))


SETTINGS: dict[str, Setting] = {f.name: f.metadata["setting"] for f in fields(RunSettings)}
FILE_KEYS: dict[str, str] = {name: setting.key or name for name, setting in SETTINGS.items()}


# ------------------------------------------------------- keywords of verbs that hand them to ``simulate``


class StepOptions(TypedDict, total=False):
    """Keywords of ``simulate`` that concern steps."""

    step: float | None
    method: str | None
    rtol: float
    atol: float | Sequence[float]
    max_step: float
    max_steps: int


class RunOptions(StepOptions, total=False):
    """All keywords of ``simulate`` but ``on_start``."""

    initial: Mapping[str, float] | Sequence[float] | None
    parameters: Mapping[str, Any] | None
    memory: Mapping[str, float] | None
    t0: float
    sample: float | Sequence[float] | None
    progress: bool | Callable[[float], None]
