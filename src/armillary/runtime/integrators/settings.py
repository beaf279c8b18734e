"""Settings of a run with all that an integrator needs: a method, plain numbers, the times of rows."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from math import inf

import numpy as np

from armillary.algebra.arguments import count, reals
from armillary.errors import ArmillaryError, nearest
from armillary.runtime.integrators import METHODS, Method, check_kind, usual_method
from armillary.runtime.integrators.sampling import SampleTimes
from armillary.settings import RunSettings


class IntegrationSettings(RunSettings):
    """The settings of one integration, made by `completed`; a part of a run has a part of its times."""

    def __post_init__(self) -> None:
        super().__post_init__()
        method = self.method
        if not isinstance(method, str) or method not in METHODS:
            raise ArmillaryError(
                f"no integration method '{method}'{nearest(method, METHODS)}; there are {', '.join(METHODS)}"
            )
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

    def tolerances(self, states: int) -> np.ndarray:
        """The absolute tolerances: one number, or one per state."""
        found = reals(self.atol, "atol").copy()
        if found.shape not in ((), (states,)):
            raise ArmillaryError(f"atol must be one number or {states}, one per state")
        return found


# Of a run, the longest step of an adaptive method where there are contacts, unless the run says otherwise. A
# body in free flight allows any step, in which a corner would touch the floor and leave it again unseen.
_LONGEST_WITH_CONTACTS = 1e-3


def completed(
    settings: RunSettings, *, redundant: bool = False, contacts: bool = False
) -> IntegrationSettings:
    """Settings with a method, which must be one for these coordinates, and with plain numbers."""
    usual = usual_method(settings.step is not None, redundant)
    given = {f.name: getattr(settings, f.name) for f in fields(settings)}
    given |= {name: float(given[name]) for name in ("t0", "t_end", "rtol", "max_step")}
    given["method"] = usual if settings.method is None else settings.method
    given["max_steps"] = count(settings.max_steps, "max_steps")
    made = IntegrationSettings(**given)
    check_kind(made.integrator, redundant)
    if contacts and made.integrator.adaptive and made.max_step == inf and made.t_end > made.t0:
        made = replace(made, max_step=_LONGEST_WITH_CONTACTS * (made.t_end - made.t0))
    return made
