"""Distributions of one varied quantity: the inverse of the distribution function, bounds and units."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import ClassVar

import numpy as np

from armillary.errors import ParameterError
from armillary.studies.sampling.numbers import in_one_unit
from armillary.untyped import DataTable, Given

_SHOWN = 6  # numbers of a list that a message or a digest shows; of longer lists the length


class Distribution:
    """The distribution of a varied quantity.

    `ppf(u)` is the value below which the quantity lies with probability u, for numbers or arrays u from 0 to
    1; `low` and `high` are its bounds, which may be infinite. Numbers without `units` are in those of the
    parameter or initial value they are given for.
    """

    word: ClassVar[str]  # its name as data
    main: ClassVar[tuple[str, ...]]  # fields that always are given, in order
    sized: ClassVar[tuple[str, ...]]  # fields that have the units of the quantity

    low: float
    high: float
    units: str

    def ppf(self, u: object) -> np.ndarray:
        """Values at the probabilities u."""
        raise NotImplementedError

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def scaled(self, factor: float) -> Distribution:
        """The same in other units, which are those of what it is given for."""
        sizes = {name: getattr(self, name) * factor for name in self.sized}
        # mypy: all subclasses are dataclasses.
        return replace(self, **sizes, units="")  # type: ignore[type-var]

    def as_data(self) -> DataTable:
        """The distribution as plain data, for TOML and JSON: {"normal": [1000, 50], "low": 900}."""
        return {self.word: self._numbers()} | {k: _data(value) for k, value in self._options().items()}

    def identity(self) -> DataTable:
        """Plain data that differ where distributions differ, for digests; long lists by their checksum."""
        return {name: _digest(value) for name, value in self.as_data().items()}

    def _numbers(self) -> list[float]:
        return [getattr(self, name) for name in self.main]

    def _options(self) -> DataTable:
        """Fields that were given beyond the main ones."""
        # mypy: all subclasses are dataclasses.
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.main}  # type: ignore[arg-type]
        return {name: value for name, value in own.items() if _given(value)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and self.identity() == other.identity()

    def __hash__(self) -> int:
        return hash(json.dumps(self.identity(), sort_keys=True))

    def __repr__(self) -> str:
        shown = [_shown(getattr(self, name)) for name in self.main]
        shown += [f"{name}={_shown(value)}" for name, value in self._options().items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _settle(self, **changed: object) -> None:
        """Fields set once, while a frozen object is being made."""
        for name, value in changed.items():
            object.__setattr__(self, name, value)

    def _read(self) -> None:
        """The fields with units as plain numbers in one unit."""
        given = {name: getattr(self, name) for name in self.sized}
        given = {name: value for name, value in given.items() if name == "values" or not _infinite(value)}
        numbers, units = in_one_unit(given, self.units, type(self).__name__)
        self._settle(**self._one_each(numbers), units=units)

    def _bounds_or_none(self) -> None:
        """A bound given as None is none."""
        self._settle(
            low=-math.inf if self.low is None else self.low,
            high=math.inf if self.high is None else self.high,
        )

    def _one_each(self, numbers: DataTable) -> DataTable:
        """The numbers, if each is one; except for lists of values and weights."""
        for name, number in numbers.items():
            is_list = name in ("values", "weights")
            if np.ndim(number) != is_list:
                what = "a list of numbers" if is_list else "one number"
                raise ParameterError(f"{type(self).__name__}: {name} must be {what}")
        return numbers

    def _require(self, condition: bool, what: str) -> None:
        if not condition:
            raise ParameterError(f"{self!r}: {what}")

    def _require_order(self) -> None:
        self._require(self.low < self.high, f"low = {self.low:g} must be below high = {self.high:g}")

    def _require_finite(self, *names: str) -> None:
        for name in names:
            self._require(math.isfinite(getattr(self, name)), f"{name} must be finite")


@dataclass(frozen=True, eq=False, repr=False)
class Uniform(Distribution):
    """Any value between two bounds, all equally likely."""

    low: float
    high: float
    units: str = ""
    word = "uniform"
    main = ("low", "high")
    sized = main

    def __post_init__(self) -> None:
        self._read()
        self._require_finite("low", "high")
        self._require_order()

    def ppf(self, u: object) -> np.ndarray:
        u = np.asarray(u)
        found: np.ndarray = self.low * (1 - u) + self.high * u  # exact at both ends, and no overflow between
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Normal(Distribution):
    """The normal distribution; with `low` or `high`, truncated there (not heaped up at the bounds)."""

    mean: float
    sd: float
    low: float = -math.inf
    high: float = math.inf
    units: str = ""
    word = "normal"
    main = ("mean", "sd")
    sized = ("mean", "sd", "low", "high")

    def __post_init__(self) -> None:
        self._bounds_or_none()
        self._read()
        self._require_finite("mean", "sd")
        self._require(self.sd > 0, "the standard deviation sd must be positive")
        self._require_order()

    def ppf(self, u: object) -> np.ndarray:
        """With a and b the bounds in standard deviations from the mean, and p between Φ(a) and Φ(b):

            x = mean + sd·Φ⁻¹(p),   p = (1 − u) Φ(a) + u Φ(b)

        in logarithms and in the lower tail, so that bounds far from the mean keep their digits.
        """
        from scipy.special import log_ndtr, ndtri, ndtri_exp

        u = np.asarray(u, dtype=float)
        if self.low == -math.inf and self.high == math.inf:
            unbounded: np.ndarray = self.mean + self.sd * ndtri(u)
            return unbounded
        a, b = (self.low - self.mean) / self.sd, (self.high - self.mean) / self.sd
        side = 1.0
        if a > 0:
            side, a, b, u = -1.0, -b, -a, 1 - u
        with np.errstate(divide="ignore"):  # log 0 at the ends themselves
            p = np.logaddexp(log_ndtr(a) + np.log1p(-u), log_ndtr(b) + np.log(u))
        found: np.ndarray = np.clip(
            self.mean + side * self.sd * ndtri_exp(np.minimum(p, 0.0)), self.low, self.high
        )
        return found


@dataclass(frozen=True, eq=False, repr=False)
class LogNormal(Distribution):
    """A positive quantity whose logarithm is normal: half the values below `median`, and about two thirds
    of them between median/exp(sigma) and median·exp(sigma).

    With `low` or `high` it is truncated there, as a normal one; median and sigma are those of the whole.
    """

    median: float
    sigma: float
    low: float = -math.inf  # none: 0
    high: float = math.inf
    units: str = ""
    word = "lognormal"
    main = ("median", "sigma")
    sized = ("median", "low", "high")

    def __post_init__(self) -> None:
        self._settle(**self._one_each(in_one_unit({"sigma": self.sigma}, "", "LogNormal")[0]))
        self._bounds_or_none()
        self._read()
        self._require_finite("median", "sigma")
        self._require(self.median > 0, "the median must be positive")
        self._require(self.sigma > 0, "sigma, the standard deviation of the logarithm, must be positive")
        self._require(self.low >= 0 or _infinite(self.low), "low must not be negative")
        self._settle(low=max(self.low, 0.0))
        self._require_order()

    def _options(self) -> DataTable:
        return {name: value for name, value in super()._options().items() if name != "low" or value > 0}

    def ppf(self, u: object) -> np.ndarray:
        with np.errstate(divide="ignore"):  # log 0 of no lower bound
            low, high = np.log([self.low / self.median, self.high / self.median]).tolist()
        values = self.median * np.exp(Normal(0.0, self.sigma, low, high).ppf(u))
        found: np.ndarray = np.clip(values, self.low, self.high)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Triangular(Distribution):
    """Values between two bounds, most likely at `mode`, with a density that falls linearly to the bounds."""

    low: float
    mode: float
    high: float
    units: str = ""
    word = "triangular"
    main = ("low", "mode", "high")
    sized = main

    def __post_init__(self) -> None:
        self._read()
        self._require_finite(*self.main)
        self._require_order()
        self._require(self.low <= self.mode <= self.high, "mode must lie between low and high")

    def ppf(self, u: object) -> np.ndarray:
        u = np.asarray(u, dtype=float)
        width, rise, fall = self.high - self.low, self.mode - self.low, self.high - self.mode
        rising = self.low + np.sqrt(u * width * rise)
        falling = self.high - np.sqrt((1 - u) * width * fall)
        found: np.ndarray = np.clip(np.where(u * width < rise, rising, falling), self.low, self.high)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Distribution):
    """One of several values, equally likely or by `weights`; in a grid, all of them in turn."""

    values: Given
    weights: Given = None
    units: str = ""
    word = "choice"
    main = ("values",)
    sized = main

    def __post_init__(self) -> None:
        self._read()
        if self.weights is not None:
            self._settle(**self._one_each(in_one_unit({"weights": self.weights}, "", "Choice")[0]))
        self._require(self.values.size > 0, "there must be one value at least")
        likely = self.values
        if self.weights is not None:
            self._require(
                self.weights.shape == self.values.shape,
                f"{self.values.size} values need as many weights, not {self.weights.size}",
            )
            self._require(
                bool(np.all(self.weights >= 0) and np.any(self.weights > 0)),
                "weights must be positive, or zero for some",
            )
            likely = self.values[self.weights > 0]
        self._settle(low=float(likely.min()), high=float(likely.max()))

    def _numbers(self) -> list[float]:
        found: list[float] = self.values.tolist()
        return found

    def ppf(self, u: object) -> np.ndarray:
        """In the order of the list, which need not rise: equal weights give each an equal part of u."""
        u = np.asarray(u, dtype=float)
        if self.weights is None:
            places = np.minimum((u * self.values.size).astype(np.intp), self.values.size - 1)
        else:
            shares = np.cumsum(self.weights) / np.sum(self.weights)
            last = np.flatnonzero(self.weights)[-1]
            places = np.minimum(np.searchsorted(shares, u, side="right"), last)
        found: np.ndarray = self.values[places]
        return found


def _given(value: object) -> bool:
    """Whether an option was given: not "", None or an infinite bound."""
    return bool(value) if value is None or isinstance(value, str) else not _infinite(value)


def _infinite(value: object) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _data(value: object) -> Given:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _digest(value: object) -> Given:
    if not isinstance(value, list) or len(value) <= _SHOWN:
        return value
    checksum = blake2b(np.asarray(value, dtype="<f8").tobytes(), digest_size=16)
    return f"{len(value)} numbers, {checksum.hexdigest()}"


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, np.ndarray):
        more = ", …" if value.size > _SHOWN else ""
        return f"[{', '.join(f'{v:g}' for v in value[:_SHOWN])}{more}]"
    return f"{value:g}"
