"""Settings of a run: one record, which command line, files, signatures and integrators share.

Each field of `RunSettings` has a `Setting`. The keys of run and study files, their JSON schemas, the options
of ``armillary run``, echo files, the identity of a study and the signatures of ``simulate`` and similar verbs
are made from the fields. A new setting needs one field here and, for editors, its type in `SettingOptions`.
`runtime/integrators/settings.py` adds what integrators need besides. This file is not in `runtime`, so that
help texts load quickly.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from math import inf, isfinite
from typing import Self, TypedDict, TypeVar, Unpack

import numpy as np

from armillary.algebra.arguments import check_keywords, reals
from armillary.algebra.node import plain_float
from armillary.errors import ArmillaryError, shown
from armillary.model.reading.kinds import (
    NUMBER,
    QUANTITY,
    WORDS,
    Described,
    Either,
    Kind,
    ListOf,
    whole_number,
)
from armillary.model.units import BadValueError, check_finite, in_seconds, read_seconds
from armillary.untyped import DataMapping, DataTable, Given

Verb = TypeVar("Verb", bound=Callable[..., object])

KEPT = 32  # most records that are kept: few, since each may hold the times of all rows


@dataclass(frozen=True)
class Setting:
    """The data of one setting for files, editors and the command line."""

    help: str
    kind: Kind
    read: Callable[[Given], Given]  # checks a value of a file and converts it for `RunSettings`
    key: str = ""  # in the table [run] of a file, if it differs from the name of the field
    units: str = ""
    examples: tuple[Given, ...] = ()
    option: bool = False  # whether `armillary run` has an option for it

    @property
    def file_kind(self) -> Described:
        """The kind of a setting's values in a file, with a description for editors."""
        return Described(self.kind, self.help, self.examples)


# ------------------------------------------------------------------------------------- values in files


def _positive_seconds(value: object) -> float:
    seconds = read_seconds(value)
    if seconds <= 0.0:
        raise BadValueError(f"must be positive, not {shown(value)}")
    return seconds


def _duration(value: object) -> float:
    seconds = read_seconds(value)
    if seconds < 0.0:
        raise BadValueError(f"must not be negative, not {shown(value)}")
    return seconds


def _largest_step(value: object) -> float:
    return inf if value == inf else _positive_seconds(value)


def _read_sample(value: object) -> float | list[float]:
    return [read_seconds(v) for v in value] if isinstance(value, list) else _positive_seconds(value)


_TEXTS = ("t_end", "t0", "step", "sample", "max_step")  # settings that may be text with a unit


def _tolerance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValueError(f"needs a number, not {shown(value)}")
    number = check_finite(value)
    if number < 0.0:
        raise BadValueError(f"must not be negative, not {number}")
    return number


def _tolerances(value: object) -> float | list[float]:
    return [_tolerance(v) for v in value] if isinstance(value, list) else _tolerance(value)


def _read_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadValueError(f"needs a whole number, at least 1, not {shown(value)}")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise BadValueError(f"must be a name, not {shown(value)}")
    return value


_TIMES: tuple[Given, ...] = (0.01, "10 ms", "2 min")


# ------------------------------------------------------------------------------------------ the record


def _setting(*what: Given, **more: Given) -> dict[str, Setting]:
    """Return the metadata of a field."""
    return {"setting": Setting(*what, **more)}


@dataclass(frozen=True, eq=False)
class RunSettings:
    """The settings of a run, as ``simulate`` takes them, without its values (parameters, initial values,
    memory). Numbers are kept as given; times in text ("5 s", "10 ms") become seconds. A wrong value raises an
    error when the record is made.
    """

    t_end: float = field(metadata=_setting(
        "Length of the run: seconds, or text such as '2 min'.", QUANTITY, _duration, key="duration",
        units="s", examples=_TIMES, option=True,
    ))  # fmt: skip
    t0: float = field(default=0.0, metadata=_setting(
        "Time at which the run starts; 0 by default.", QUANTITY, read_seconds, key="start", units="s",
        examples=_TIMES,
    ))  # fmt: skip
    step: float | None = field(default=None, metadata=_setting(
        "Step of a fixed-step method, first step of an adaptive one.", QUANTITY, _positive_seconds,
        units="s", examples=_TIMES, option=True,
    ))  # fmt: skip
    method: str | None = field(default=None, metadata=_setting(
        "Integration method, such as dopri5 or rodas5p; by default rk4 with a step, dop853 without.",
        WORDS, _name, examples=("rk4", "midpoint", "dopri5", "dop853", "rodas5p"), option=True,
    ))  # fmt: skip
    sample: float | Sequence[float] | np.ndarray | None = field(default=None, metadata=_setting(
        "Time between rows of the results, or the times of rows.", Either((QUANTITY, ListOf(QUANTITY))),
        _read_sample, units="s", examples=_TIMES, option=True,
    ))  # fmt: skip
    rtol: float = field(default=1e-9, metadata=_setting(
        "Relative error that an adaptive method tolerates.", NUMBER, _tolerance,
    ))  # fmt: skip
    atol: float | Sequence[float] = field(default=1e-11, metadata=_setting(
        "Absolute error that an adaptive method tolerates: one number, or one per state.",
        Either((NUMBER, ListOf(NUMBER))), _tolerances,
    ))  # fmt: skip
    max_step: float = field(default=inf, metadata=_setting(
        "Largest step of an adaptive method.", QUANTITY, _largest_step, units="s", examples=_TIMES,
    ))  # fmt: skip
    max_steps: int = field(default=1_000_000_000, metadata=_setting(
        "Number of steps after which the run ends.", whole_number(1), _read_count,
    ))  # fmt: skip

    def __post_init__(self) -> None:
        for name in _TEXTS:
            value = getattr(self, name)
            read = in_seconds(name, value)
            if read is not value:
                object.__setattr__(self, name, read)
        for name in ("t0", "t_end", "step"):
            value = getattr(self, name)
            if (value is not None or name != "step") and plain_float(value) is None:
                raise ArmillaryError(f"{name} must be a number of seconds, not {shown(value)}")
        if isinstance(self.sample, bool):
            raise ArmillaryError(f"sample must be a number of seconds, or several, not {self.sample}")
        if not (isfinite(self.t0) and isfinite(self.t_end) and self.t0 <= self.t_end):
            raise ArmillaryError(
                f"t0 and t_end must be finite, and t_end not before t0; "
                f"t0 is {self.t0} and t_end {self.t_end}"
            )
        if self.step is not None and not 0.0 < self.step < inf:
            raise ArmillaryError(f"the step must be positive, not {self.step}")
        for name in ("rtol", "max_step"):
            if plain_float(getattr(self, name)) is None:
                raise ArmillaryError(f"{name} must be a number, not {getattr(self, name)!r}")
        if not self.max_step > 0.0:
            raise ArmillaryError(f"the largest step must be positive, not {self.max_step}")
        rtol, atol = self.rtol, reals(self.atol, "atol")
        if not (rtol >= 0.0 and np.all(atol >= 0.0) and (rtol > 0.0 or np.all(atol > 0.0))):
            raise ArmillaryError(f"tolerances must be positive; rtol is {rtol} and atol {self.atol}")

    @classmethod
    def from_file(cls, values: DataMapping) -> Self:
        """Return the record of values by the keys of a file, which `Setting.read` has converted."""
        given = {name: values[key] for name, key in FILE_KEYS.items() if key in values}
        start = given.get("t0", 0.0)
        return cls(**{**given, "t0": start, "t_end": start + given["t_end"]})

    @classmethod
    def among(cls, arguments: DataMapping) -> tuple[Self, DataTable]:
        """Separate arguments by name into a record of settings and the other arguments."""
        own = {name: value for name, value in arguments.items() if name in SETTINGS}
        return cls(**own), {name: value for name, value in arguments.items() if name not in SETTINGS}

    def non_defaults(self) -> DataTable:
        """Return the settings that differ from their defaults, by name."""
        return {
            f.name: value for f in fields(self) if not _is_default(value := getattr(self, f.name), f.default)
        }


def _is_default(value: Given, default: Given) -> bool:
    return value is None or (np.ndim(value) == 0 and bool(value == default))


SETTINGS: dict[str, Setting] = {f.name: f.metadata["setting"] for f in fields(RunSettings)}
FILE_KEYS: dict[str, str] = {name: setting.key or name for name, setting in SETTINGS.items()}
FORMALISM = Setting(
    "Formalism, such as kane or recursive; by default the cheapest.", WORDS, _name, option=True
)
RUN_TABLE: dict[str, Setting] = {FILE_KEYS[name]: setting for name, setting in SETTINGS.items()}
RUN_TABLE["formalism"] = FORMALISM
EFFORT = Setting('"high" searches for fewer operations, up to a minute.', WORDS, _name, option=True)
RUN_TABLE["effort"] = EFFORT
TIER = Setting('"quick": code that compiles faster and runs slower.', WORDS, _name, option=True)
RUN_TABLE["tier"] = TIER


# ----------------------------------------------------------- keywords of ``simulate`` and similar verbs


Sample = float | str | Sequence[float | str] | np.ndarray | None  # time between rows of a run, or their times
Initial = Mapping[str, float] | Sequence[float] | None  # values at the start: by name, or all in order


class StepOptions(TypedDict, total=False):
    """Settings that concern steps."""

    step: float | str | None
    method: str | None
    rtol: float
    atol: float | Sequence[float]
    max_step: float | str
    max_steps: int


class SettingOptions(StepOptions, total=False):
    """All settings except the end of a run."""

    t0: float | str
    sample: Sample


class RunOptions(SettingOptions, total=False):
    """All keywords of ``simulate`` except ``on_start``."""

    initial: Initial
    parameters: DataMapping | None
    memory: Mapping[str, float] | None
    inputs: Given
    progress: bool | Callable[[float], None]


_settings: Callable[..., RunSettings] = RunSettings  # typed to accept times as text, which it converts
_kept_settings: Callable[..., RunSettings] = lru_cache(maxsize=KEPT, typed=True)(RunSettings)


def run_settings(
    verb: Callable[..., object], t_end: float | str, **given: Unpack[SettingOptions]
) -> RunSettings:
    """Return the settings of a verb's call as a record, the same object for the same values and types. Arrays
    and lists, which may change, are read each time.
    """
    try:
        return _kept_settings(t_end, **given)
    except TypeError:
        check_keywords(verb, given)
        return _settings(t_end, **given)


def expanded_signature(options: type) -> Callable[[Verb], Verb]:
    """Return a decorator for a verb with ``**settings: Unpack[options]``: its signature shows each of these
    settings with its default.
    """

    def expand(verb: Verb) -> Verb:
        own = inspect.signature(verb)
        *others, last = own.parameters.values()
        assert last.kind is last.VAR_KEYWORD
        first = [p for p in others if p.kind is not p.KEYWORD_ONLY]
        settings = [
            inspect.Parameter(f.name, last.KEYWORD_ONLY, default=f.default, annotation=hint.__forward_arg__)
            for f in fields(RunSettings)
            if (hint := options.__annotations__.get(f.name)) is not None
        ]
        parameters = [*first, *settings, *others[len(first) :]]
        vars(verb)["__signature__"] = own.replace(parameters=parameters)
        return verb

    return expand
