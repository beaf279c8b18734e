"""Settings of a run with all that an integrator needs: a method, plain numbers, the times of rows."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property, lru_cache
from math import inf
from operator import attrgetter

import numpy as np

from armillary.algebra.arguments import count, one_of, reals
from armillary.errors import ArmillaryError
from armillary.runtime.integrators import (
    FORMER_METHODS,
    METHODS,
    Method,
    check_family,
    replace_former_method,
    usual_method,
)
from armillary.runtime.integrators.sampling import SampleTimes
from armillary.runtime.loop.thresholds.event_thresholds import LONGEST_WITH_CONTACTS
from armillary.settings import KEPT, RunSettings
from armillary.untyped import Given

ROWS = 1000  # of an adaptive run whose sampling is not given; metrics see as many


class IntegrationSettings(RunSettings):
    """The settings of one integration, made by `complete_settings`; a part of a run has some of its times."""

    def __post_init__(self) -> None:
        super().__post_init__()
        method = one_of(self.method, METHODS, "no integration method ")
        if self.step is None and not METHODS[method].adaptive:
            raise ArmillaryError(f"method '{method}' takes steps of one size: give it, e.g. step=1e-3")
        _ = self.samples  # errors of sampling

    @property
    def integrator(self) -> Method:
        """The method."""
        return METHODS[str(self.method)]

    @property
    def fixed_step(self) -> float | None:
        """The step, where all steps have this size."""
        return None if self.integrator.adaptive else self.step

    @cached_property
    def samples(self) -> SampleTimes:
        """The times of rows."""
        return SampleTimes(self.sample, self.t0, self.t_end)

    @cached_property
    def on_grid(self) -> bool:
        """Whether rows are at the ends of fixed steps, so that none lies inside of one."""
        return self.samples.on_grid(self.step or inf)

    @cached_property
    def sampled(self) -> IntegrationSettings:
        """The same with times of rows, where an adaptive method is to give a number of them."""
        if self.sample is not None or not self.integrator.adaptive or not self.t_end > self.t0:
            return self
        return replace(self, sample=(self.t_end - self.t0) / ROWS)

    @cached_property
    def row_times(self) -> np.ndarray:
        """Times of all rows, which cannot be written to; without ``sample`` the ends of steps."""
        times = self.samples if not self.samples.every_step else SampleTimes(self.step, self.t0, self.t_end)
        found = times.times(0, times.count)
        if self.samples.every_step and not (len(found) and found[-1] >= self.t_end):
            found = np.append(found, self.t_end)
        if times.given is None and not np.all(np.diff(found) > 0):
            raise ArmillaryError(
                f"times that are {times.interval:g} s apart vanish beside t0 = {self.t0:g} s: numbers there "
                f"are {np.spacing(max(abs(self.t0), abs(self.t_end))):.2g} s apart; start at a "
                "t0 nearer to zero"
            )
        found.flags.writeable = False
        return found

    @cached_property
    def at_times(self) -> IntegrationSettings:
        """The same with the times of rows themselves."""
        return replace(self, sample=np.maximum(self.row_times, self.t0))

    @cached_property
    def summary(self) -> dict[str, str | int | float]:
        """The settings of a run for its ``info``."""
        tolerances: dict[str, str | float] = {"rtol": self.rtol, "atol": str(self.atol)}
        step = self.step or 0.0
        step = step if type(step) in (int, float) else float(step)
        return {
            "method": self.integrator.name, "step": step, **(tolerances if self.integrator.adaptive else {}),
        }  # fmt: skip

    def tolerances(self, states: int) -> float | np.ndarray:
        """Return the absolute tolerances: one number, or one per state."""
        if type(self.atol) is float:
            return self.atol
        found = reals(self.atol, "atol").copy()
        if found.shape not in ((), (states,)):
            raise ArmillaryError(f"atol must be one number or {states}, one per state")
        return found


def complete_settings(
    settings: RunSettings, family: str = "", *, contacts: bool = False
) -> IntegrationSettings:
    """Return settings with a method, which must belong to the family, and with plain numbers."""
    if type(settings.method) is str and settings.method in FORMER_METHODS:
        settings = replace(settings, method=replace_former_method(settings.method))
    values = (*_in_order(settings), family, contacts)
    try:
        return _kept(*values)
    except TypeError:  # of an array or a list, which may change
        return _complete(*values)


_NAMES = tuple(f.name for f in fields(RunSettings))
_in_order = attrgetter(*_NAMES)


def _complete(*values: Given) -> IntegrationSettings:
    *own, family, contacts = values
    given = dict(zip(_NAMES, own, strict=True))
    # A zero has no sign where users see it: −0.0 + 0.0 is 0.0.
    given |= {name: float(given[name]) + 0.0 for name in ("t0", "t_end", "rtol", "max_step")}
    if given["method"] is None:
        given["method"] = usual_method(given["step"] is not None, family)
    given["max_steps"] = count(given["max_steps"], "max_steps")
    made = IntegrationSettings(**given)
    check_family(made.integrator, family)
    if contacts and made.integrator.adaptive and made.max_step == inf and made.t_end > made.t0:
        made = replace(made, max_step=LONGEST_WITH_CONTACTS * (made.t_end - made.t0))
    return made


_kept = lru_cache(maxsize=KEPT, typed=True)(_complete)
