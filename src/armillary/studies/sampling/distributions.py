"""Distributions of one varied quantity: the inverse distribution function, bounds and units."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import ClassVar

import numpy as np

from armillary.algebra.node import plain_float
from armillary.algebra.units import is_quantity, magnitude_in_si, parse_unit, si_text
from armillary.errors import ArmillaryError, ParameterError, UnitsError, shorten_message
from armillary.model.units import about_value, arithmetic, number_and_unit
from armillary.untyped import DataTable, Given

# Numbers of a distribution: plain, as text, or with units; all converted to one unit.


def in_one_unit(given: Mapping[str, object], units: str, where: str) -> tuple[DataTable, str]:
    """Return floats and arrays of floats by name, and their common unit.

    A number may be plain, a text ("pi/2", "55 mile/hour") or a Pint quantity. Plain numbers are in `units`.
    If `units` is empty, either all numbers have units or none has; plain numbers are then in the units of the
    varied quantity.
    """
    read = {name: _read_value(value, f"{where}: {name}") for name, value in given.items()}
    own = [unit for _, unit in read.values() if unit is not None]
    if not own:
        return {name: number for name, (number, _) in read.items()}, units
    plain = [name for name, (_, unit) in read.items() if unit is None]
    if plain and not units:
        raise UnitsError(f"{where}: {', '.join(plain)} has no units and the rest has; give all or none")
    target = units or own[0]
    return {
        name: number * unit_factor(unit, target, f"{where}: {name}") if unit is not None else number
        for name, (number, unit) in read.items()
    }, target


def unit_factor(source: str, target: str, where: str) -> float:
    """Return the conversion factor from one unit to another."""
    one, other = parse_unit(source), parse_unit(target)
    if one.dimension is not other.dimension:
        raise UnitsError(f"{where} is given in {source}, but is in {target or 'no units'}")
    return 1.0 if source == target else one.scale / other.scale


def _read_value(value: object, where: str) -> tuple[Given, str | None]:
    """Return a float or an array of floats, and the unit if there is one."""
    number: Given
    unit: str | None
    if is_quantity(value):
        number, unit = _quantity(value, where)
    elif isinstance(value, str):
        number, unit = _number_from_text(value, where)
    elif isinstance(value, list | tuple):
        return _list(value, where)
    elif isinstance(value, np.ndarray):
        number, unit = value, None
    else:
        number, unit = plain_float(value), None
    if isinstance(number, np.ndarray) and number.ndim:
        return _finite_array(number, where), unit
    plain = None if isinstance(value, bool) else plain_float(number)
    if plain is None:
        raise ParameterError(f"{where} needs a number, not {value!r}")
    if math.isnan(plain):
        raise ParameterError(f"{where} is not a number (NaN)")
    return plain, unit


def _quantity(value: Given, where: str) -> tuple[Given, str]:
    if type(value)(0.0, value.units).to_base_units().magnitude != 0:
        raise UnitsError(f"{where} is in {value.units}, whose zero is not zero: give it in kelvin")
    number, dimension = magnitude_in_si(value)
    return number, si_text(dimension)


def _number_from_text(value: str, where: str) -> tuple[float, str | None]:
    number, unit = number_and_unit(value)
    try:
        parse_unit(unit)
        return arithmetic(number, unit), unit or None
    except ArmillaryError as error:
        raise ParameterError(about_value(where, error)) from None


def _list(values: list[Given] | tuple[object, ...], where: str) -> tuple[np.ndarray, str | None]:
    if all(type(value) is float or type(value) is int for value in values):  # fast for a million numbers
        return _finite_array(np.asarray(values), where), None
    if any(isinstance(value, list | tuple | np.ndarray) for value in values):
        raise ParameterError(f"{where} needs a plain list of numbers, not lists in a list")
    numbers, unit = in_one_unit({f"number {i}": value for i, value in enumerate(values, 1)}, "", where)
    return _finite_array(np.asarray(list(numbers.values())), where), unit or None


def _finite_array(values: np.ndarray, where: str) -> np.ndarray:
    if values.ndim != 1:
        raise ParameterError(f"{where} needs a plain list of numbers, not an array of shape {values.shape}")
    try:
        numbers = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(shorten_message(f"{where} needs numbers, not {values!r}")) from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ParameterError(f"{where}: number {bad[0] + 1} is {numbers[bad[0]]}; give finite numbers")
    numbers.flags.writeable = False
    return numbers


_SHOWN = 6  # most numbers of a list that a message or an identity shows


class Distribution:
    """The distribution of a varied quantity.

    `ppf(u)` is the value below which the quantity lies with probability u, for numbers or arrays u from 0 to
    1; `low` and `high` are its bounds, which may be infinite. Without `units`, numbers are in the units of
    the parameter or initial value.
    """

    word: ClassVar[str]  # name of the distribution in data
    main: ClassVar[tuple[str, ...]]  # required fields, in order
    sized: ClassVar[tuple[str, ...]]  # fields with the units of the quantity

    low: float
    high: float
    units: str

    def ppf(self, u: object) -> np.ndarray:
        """Return the values at the probabilities u."""
        raise NotImplementedError

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def scaled(self, factor: float) -> Distribution:
        """Return this distribution converted to the parameter's units."""
        sizes = {name: getattr(self, name) * factor for name in self.sized}
        # mypy: all subclasses are dataclasses.
        return replace(self, **sizes, units="")  # type: ignore[type-var]

    def as_data(self) -> DataTable:
        """Return the distribution as plain data, for TOML and JSON: {"normal": [1000, 50], "low": 900}."""
        return {self.word: self._numbers()} | {k: _plain_value(value) for k, value in self._options().items()}

    def identity(self) -> DataTable:
        """Return plain data that identify the distribution, for digests; long lists by their checksum."""
        return {name: _digest(value) for name, value in self.as_data().items()}

    def _numbers(self) -> list[float]:
        return [getattr(self, name) for name in self.main]

    def _options(self) -> DataTable:
        """Return optional fields that were given."""
        # mypy: all subclasses are dataclasses.
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.main}  # type: ignore[arg-type]
        return {name: value for name, value in own.items() if _is_given(value)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and self.identity() == other.identity()

    def __hash__(self) -> int:
        return hash(json.dumps(self.identity(), sort_keys=True))

    def __repr__(self) -> str:
        shown = [_short_text(getattr(self, name)) for name in self.main]
        shown += [f"{name}={_short_text(value)}" for name, value in self._options().items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _settle(self, **changed: object) -> None:
        """Set fields while a frozen object is being made."""
        for name, value in changed.items():
            object.__setattr__(self, name, value)

    def _read(self) -> None:
        """Replace the values of the fields ``sized`` by plain numbers in one unit."""
        given = {name: getattr(self, name) for name in self.sized}
        given = {name: value for name, value in given.items() if name == "values" or not _infinite(value)}
        numbers, units = in_one_unit(given, self.units, type(self).__name__)
        self._settle(**self._one_each(numbers), units=units)

    def _bounds_or_none(self) -> None:
        """Replace bounds given as None by infinite ones."""
        self._settle(
            low=-math.inf if self.low is None else self.low,
            high=math.inf if self.high is None else self.high,
        )

    def _one_each(self, numbers: DataTable) -> DataTable:
        """Return the numbers after a check: lists of values and weights, and single numbers otherwise."""
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
        return self.low * (1 - u) + self.high * u  # exact at both ends, and no overflow between


@dataclass(frozen=True, eq=False, repr=False)
class Normal(Distribution):
    """The normal distribution; with `low` or `high`, values beyond these bounds are excluded."""

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
        """Quantile function, with a and b the bounds in standard deviations from the mean:

            x = mean + sd·Φ⁻¹(p),   p = (1 − u) Φ(a) + u Φ(b)

        computed with logarithms and in the lower tail, so that bounds far from the mean do not lose digits.
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
        with np.errstate(divide="ignore"):  # log 0 at the ends
            p = np.logaddexp(log_ndtr(a) + np.log1p(-u), log_ndtr(b) + np.log(u))
        found: np.ndarray = np.clip(
            self.mean + side * self.sd * ndtri_exp(np.minimum(p, 0.0)), self.low, self.high
        )
        return found


@dataclass(frozen=True, eq=False, repr=False)
class LogNormal(Distribution):
    """A positive quantity whose logarithm is normal: half of the values are below `median`, and about two
    thirds between median/exp(sigma) and median·exp(sigma).

    With `low` or `high` it is truncated there; `median` and `sigma` are the values before truncation.
    """

    median: float
    sigma: float
    low: float = -math.inf  # -inf: no bound, the same as 0
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
        with np.errstate(divide="ignore"):  # log 0 without a lower bound
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
        return np.clip(np.where(u * width < rise, rising, falling), self.low, self.high)


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Distribution):
    """One of several values, equally likely or with `weights`; a grid takes each of them."""

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
        self._require(self.values.size > 0, "there must be at least one value")
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
        """Return values in the order of the list, which need not increase; equal weights divide u equally."""
        u = np.asarray(u, dtype=float)
        if self.weights is None:
            places = np.minimum((u * self.values.size).astype(np.intp), self.values.size - 1)
        else:
            shares = np.cumsum(self.weights) / np.sum(self.weights)
            last = np.flatnonzero(self.weights)[-1]
            places = np.minimum(np.searchsorted(shares, u, side="right"), last)
        found: np.ndarray = self.values[places]
        return found


def _is_given(value: object) -> bool:
    """Return whether an option was given: not "", not None, not an infinite bound."""
    return bool(value) if value is None or isinstance(value, str) else not _infinite(value)


def _infinite(value: object) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _plain_value(value: object) -> Given:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _digest(value: object) -> Given:
    if not isinstance(value, list) or len(value) <= _SHOWN:
        return value
    checksum = blake2b(np.asarray(value, dtype="<f8").tobytes(), digest_size=16)
    return f"{len(value)} numbers, {checksum.hexdigest()}"


def _short_text(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, np.ndarray):
        more = ", …" if value.size > _SHOWN else ""
        return f"[{', '.join(f'{v:g}' for v in value[:_SHOWN])}{more}]"
    return f"{value:g}"


# The user's own distributions: objects of SciPy, or functions of a uniform number.

_PROBES = np.linspace(0.03, 0.97, 17)  # where a function is evaluated to examine it


class UserDistribution(Distribution):
    """A distribution from an object with `ppf`, such as SciPy's frozen distributions, or from a function of a
    number between 0 and 1; either may take arrays, or one number at a time.

    SciPy's `support()` gives the bounds, otherwise the values at 0 and 1, if they are finite. A function is
    code and not data: a study with one cannot be described in a file.
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
                f"{self!r} gives other values when evaluated again: it must depend only on the uniform number"
            )
        self._values = single
        if hasattr(given, "support"):  # SciPy's frozen distributions
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
        """Return its values at some points, with nine digits, so that rounding does not matter."""
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
        except Exception:  # a function of numbers may raise any error for an array
            return False
        return together.shape == single.shape and np.allclose(together, single, rtol=1e-12, atol=0)

    def _end(self, u: float) -> float:
        with np.errstate(all="ignore"):
            try:
                return self._single(u)
            except ParameterError:
                return math.nan
