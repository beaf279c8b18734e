"""The user's own distributions: SciPy's, or a function of a uniform number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from armillary.errors import ArmillaryError, ParameterError
from armillary.studies.sampling.distributions import Distribution
from armillary.untyped import DataTable, Given

_PROBES = np.linspace(0.03, 0.97, 17)  # where a function shows what it is


class UserDistribution(Distribution):
    """A distribution from whatever has `ppf`, as SciPy's frozen ones do, or from a function of a number
    between 0 and 1; either may take arrays, or one number at a time.

    Its bounds are those of SciPy's `support()`, or the function's values at 0 and 1 where it has any there.
    A function is code and no data: a study that holds one cannot be described in a file.
    """

    word = "own"
    main = ()
    sized = ()
    units = ""

    def __init__(self, given: Given) -> None:
        self.given = given
        self._function: Callable[[Given], Given] = getattr(given, "ppf", None) or given
        self.name = getattr(self._function, "__name__", type(given).__name__)
        if hasattr(given, "dist"):  # SciPy's frozen distributions
            self.name = f"scipy.stats.{given.dist.name}"
        single = np.array([self._single(u) for u in _PROBES])
        self._takes_arrays = self._agrees_on_arrays(single)
        if not np.array_equal(single, [self._single(u) for u in _PROBES]):
            raise ParameterError(
                f"{self!r} gives other values when asked again: it must depend on the uniform number alone"
            )
        self._values = single
        if hasattr(given, "support"):  # likewise
            self.low, self.high = (float(bound) for bound in given.support())
        else:
            ends = self._end(0.0), self._end(1.0)
            known = all(map(math.isfinite, ends))
            self.low, self.high = (min(ends), max(ends)) if known else (-math.inf, math.inf)

    def ppf(self, u: object) -> np.ndarray:
        u = np.asarray(u, dtype=float)
        if self._takes_arrays:
            values = np.asarray(self._function(u), dtype=float)
        else:
            values = np.array([self._single(one) for one in u.flat], dtype=float).reshape(u.shape)
        bad = ~np.isfinite(values)
        if bad.any():
            raise ParameterError(f"{self!r} is {values[bad][0]} at {u[bad][0]:.17g}; give finite numbers")
        return values

    def as_data(self) -> DataTable:
        raise ParameterError(
            f"{self!r} is code and cannot be written as data: use a distribution of Armillary's, or a list"
        )

    def identity(self) -> DataTable:
        """Its values at some places, in nine digits: equal on machines that round differently."""
        return {"own": [f"{value:.8e}" for value in self._values]}

    def __repr__(self) -> str:
        return f"the distribution '{self.name}'"

    def _single(self, u: float) -> float:
        try:
            value = float(self._function(float(u)))
        except ArmillaryError:
            raise
        except Exception as error:
            raise ParameterError(f"{self!r} fails at {u:.3g}: {type(error).__name__}: {error}") from error
        if not math.isfinite(value):
            raise ParameterError(f"{self!r} is {value} at {u:.3g}; give finite numbers between 0 and 1")
        return value

    def _agrees_on_arrays(self, single: np.ndarray) -> bool:
        try:
            together = np.asarray(self._function(_PROBES.copy()), dtype=float)
        except Exception:  # a function of numbers may say in any words that it takes no arrays
            return False
        return together.shape == single.shape and np.allclose(together, single, rtol=1e-12, atol=0)

    def _end(self, u: float) -> float:
        with np.errstate(all="ignore"):
            try:
                return self._single(u)
            except ParameterError:
                return math.nan
