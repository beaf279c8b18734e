"""Designs: the values of the varied quantities in each run."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping

import numpy as np

from armillary.algebra import arguments
from armillary.algebra.arguments import checked_names, table, whole_number
from armillary.algebra.node import plain_float
from armillary.algebra.units import is_quantity
from armillary.errors import ArmillaryError, ParameterError, nearest, outside, shown
from armillary.studies.sampling.distributions import (
    Choice,
    Distribution,
    LogNormal,
    Normal,
    Triangular,
    Uniform,
    UserDistribution,
    unit_factor,
)
from armillary.studies.sampling.points import (
    LatinHypercube,
    Morris,
    Points,
    Random,
    Saltelli,
    Sobol,
    group_size,
)
from armillary.untyped import DataMapping, DataTable, Given

# Distributions in the forms that users and files give.

_BY_WORD: dict[str, type[Distribution]] = {
    kind.word: kind for kind in (Uniform, Normal, LogNormal, Triangular, Choice)
}
_OPTIONS = {
    "normal": ("low", "high", "units"),
    "lognormal": ("low", "high", "units"),
    "choice": ("weights", "units"),
}


def as_distribution(value: Given, name: str) -> Distribution:
    """Return a distribution from a user's value: a distribution, data, a list of values, or code."""
    try:
        if isinstance(value, Distribution):
            return value
        if isinstance(value, Mapping):
            return distribution_from_data(value)
        if isinstance(value, tuple) and len(value) == 2:
            raise ParameterError(
                f"{value!r} may be bounds or two values: give Uniform{value!r}, or the list {list(value)!r}"
            )
        if isinstance(value, list | tuple | np.ndarray) or (is_quantity(value) and np.ndim(value.magnitude)):
            return Choice(value)
        if callable(getattr(value, "ppf", value)):
            return UserDistribution(value)
    except ArmillaryError as error:
        raise type(error)(f"varied '{name}': {error}") from error
    if plain_float(value) is not None or isinstance(value, str) or is_quantity(value):
        raise ParameterError(
            f"varied '{name}' is {value!r}, which does not vary: give a distribution or a list, or give it "
            "with the parameters"
        )
    raise ParameterError(
        f"varied '{name}' needs a distribution, a list of values, an object with ppf or a function of a "
        f"number between 0 and 1, not {value!r}"
    )


def distribution_from_data(data: DataMapping) -> Distribution:
    """Return a distribution from plain data: {"normal": [1000, 50], "low": 900}."""
    words = [word for word in data if word in _BY_WORD]
    if len(words) != 1:
        unknown = next((word for word in data if word not in _BY_WORD), "")
        close = nearest(str(unknown), _BY_WORD) if not words else ""
        raise ParameterError(f"a distribution has one of {', '.join(_BY_WORD)}; found {_keys(data)}{close}")
    word = words[0]
    kind, numbers = _BY_WORD[word], data[word]
    known = _OPTIONS.get(word, ("units",))
    given = {key: value for key, value in data.items() if key != word}
    options = checked_names(given, known, f"{word} has no option", ParameterError)
    if not isinstance(options.get("units", ""), str):
        raise ParameterError(f"the units of a {word} distribution must be text, not {options['units']!r}")
    if kind is Choice:
        return Choice(numbers, **options)
    if not isinstance(numbers, list | tuple) or len(numbers) != len(kind.main):
        raise ParameterError(f"{word} needs [{', '.join(kind.main)}], not {numbers!r}")
    return kind(*numbers, **options)


def _keys(data: Mapping[str, object]) -> str:
    return ", ".join(f"'{key}'" for key in data) or "nothing"


# Quantities that vary together.

_SYMMETRIC = 1e-12  # tolerance of symmetry, for typed or computed matrices


class Correlated:
    """Several distributions, correlated as in a multivariate normal distribution (a Gaussian copula):

        zᵢ = Φ⁻¹(uᵢ),   xᵢ = Fᵢ⁻¹(Φ((L z)ᵢ)),   L Lᵀ = correlation

    with independent uniform numbers uᵢ, the standard normal distribution Φ and the quantities' distributions
    Fᵢ, so that each quantity keeps its own distribution. For normal distributions `correlation` is the
    correlation of the quantities; for others it is the correlation of the normal variables L z, and the
    correlation of the quantities is close to it.

        arm.Correlated({"Cf": arm.Normal(80e3, 5e3), "Cr": arm.Normal(90e3, 5e3)}, [[1, 0.8], [0.8, 1]])
    """

    def __init__(self, distributions: Mapping[str, object], correlation: object) -> None:
        self.distributions: dict[str, Distribution] = {
            name: as_distribution(value, name)
            for name, value in table(distributions, "what varies together", ParameterError).items()
        }
        self.correlation = _check_correlation(correlation, tuple(self.distributions))
        self._factor = np.linalg.cholesky(self.correlation)

    @staticmethod
    def from_data(data: Mapping[str, object]) -> Correlated:
        """Make the object from data {"correlated": {name: distribution, …}, "correlation": [[…]]}."""
        if set(data) != {"correlated", "correlation"} or not isinstance(data["correlated"], Mapping):
            raise ParameterError("what varies together needs a table 'correlated' and a matrix 'correlation'")
        return Correlated(data["correlated"], data["correlation"])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.distributions)

    def mixed(self, u: np.ndarray) -> np.ndarray:
        """Return correlated uniform numbers (names, runs) from independent ones."""
        from scipy.special import ndtr, ndtri

        z = ndtri(u)
        # Term by term: the rounding of a matrix product would depend on the number of runs in the block.
        found: np.ndarray = ndtr(
            [sum(row[j] * z[j] for j in range(i + 1)) for i, row in enumerate(self._factor)]
        )
        return found

    def __repr__(self) -> str:
        return f"Correlated({', '.join(self.names)})"


def _check_correlation(correlation: object, names: tuple[str, ...]) -> np.ndarray:
    where = f"Correlated({', '.join(names)})"
    if len(names) < 2:
        raise ParameterError(f"{where} needs two names at least; one alone is correlated with nothing")
    try:
        matrix = np.array(correlation, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{where}: the correlation must be a matrix of numbers") from None
    size = len(names)
    if matrix.shape != (size, size):
        raise ParameterError(f"{where}: the correlation must be {size}×{size}, not of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ParameterError(f"{where}: the correlation holds numbers that are not finite")
    for i in range(size):
        if abs(matrix[i, i] - 1) > _SYMMETRIC:
            raise ParameterError(f"{where}: '{names[i]}' has correlation {matrix[i, i]:g} with itself, not 1")
        for j in range(i):
            pair = f"'{names[j]}' and '{names[i]}'"
            if abs(matrix[i, j] - matrix[j, i]) > _SYMMETRIC:
                values = f"{matrix[j, i]:g} above the diagonal and {matrix[i, j]:g} below"
                raise ParameterError(f"{where}: the correlation of {pair} is {values}; it must be symmetric")
            if abs(matrix[i, j]) >= 1:
                raise ParameterError(
                    f"{where}: the correlation of {pair} is {matrix[i, j]:g}; it must lie between -1 and 1, "
                    "and quantities that depend entirely on others should be computed in the model"
                )
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest <= _SYMMETRIC:
        raise ParameterError(
            f"{where}: no quantities can have these correlations: the matrix is not positive definite "
            f"(smallest eigenvalue {smallest:.3g}); bring some of them closer to zero"
        )
    matrix.flags.writeable = False
    return matrix


KINDS = ("random", "lhs", "sobol", "grid", "list", "morris", "saltelli")
OPEN_ENDED = ("random", "sobol", "morris", "saltelli")  # first runs do not depend on the number of runs
MOST = 2**30  # runs: the limit of SciPy's Sobol' sequence and of our permutations
_LEVELS = 4  # default number of levels for `morris`, Morris' own choice


class Design:
    """The values of varied parameters and initial values, run by run.

        design = Design({"m": Normal(1000, 50), "mu": Uniform(0.4, 1.0)}, "sobol", runs=4096, seed=1)
        design.block(0, 100)["m"]      # of the first hundred runs
        design.values(123)             # of one run

    | kind | runs |
    | --- | --- |
    | `random` | independent |
    | `lhs` | Latin hypercube: one run in each of `runs` equally likely slices of each distribution |
    | `sobol` | the scrambled sequence of Sobol', spread more evenly; best in powers of two |
    | `grid` | every combination of lists or `levels` values between bounds; the last name varies fastest |
    | `list` | lists of equal length, run by run |
    | `morris` | trajectories for Morris screening on `levels` levels; runs in groups of n + 1 for n names |
    | `saltelli` | for Sobol' indices; runs in groups of n + 2, or 2 n + 2 with `second_order`, for n names |

    The values of a run depend only on the seed and the run's number: any block can be made alone, on any
    machine. In `random` and `lhs` a name keeps its numbers if other names change. `units` gives the units of
    values by name; it is needed only for distributions with units.
    """

    def __init__(
        self,
        vary: Mapping[str, object],
        kind: str = "random",
        runs: int | None = None,
        seed: int = 0,
        *,
        levels: int | Mapping[str, int] | None = None,
        second_order: bool = False,
        units: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(kind, str) or kind not in KINDS:
            raise ParameterError(
                f"there is no design '{kind}'{nearest(str(kind), KINDS) or '; use ' + ', '.join(KINDS)}"
            )
        self.kind = kind
        self.seed = whole_number(seed, "the seed", ParameterError)
        self.distributions, self.correlated = _read_distributions(
            vary, arguments.table(units, "units=", ParameterError)
        )
        self.names = tuple(self.distributions)
        self._check(levels, arguments.flag(second_order, "second_order=", ParameterError))
        self.levels = {str(n): v for n, v in levels.items()} if isinstance(levels, Mapping) else levels
        self.second_order = second_order
        self._axes = self._grid_axes() if kind == "grid" else {}
        self.runs = self._count(runs)
        self._points = self._unit_points()

    @property
    def group(self) -> int:
        """Number of runs that belong together: a trajectory, or two points and their mixtures; else 1."""
        return group_size(self.kind, len(self.names), self.second_order)

    @property
    def open_ended(self) -> bool:
        """Whether a design of more runs begins with the runs of this one."""
        return self.kind in OPEN_ENDED

    @property
    def portable(self) -> bool:
        """Whether the design can be written as data, since it has no code of the user."""
        return not any(isinstance(each, UserDistribution) for each in self.distributions.values())

    def block(self, i0: int, i1: int) -> dict[str, np.ndarray]:
        """Return values by name, of the runs from i0 up to, not including, i1."""
        self._check_runs(i0, i1)
        if self.kind == "list":
            # mypy: the distributions of a list are all lists.
            return {name: each.values[i0:i1] for name, each in self.distributions.items()}  # type: ignore[attr-defined]
        if self.kind == "grid":
            places = np.unravel_index(np.arange(i0, i1), [axis.size for axis in self._axes.values()])
            return {name: axis[at] for (name, axis), at in zip(self._axes.items(), places, strict=True)}
        u = dict(zip(self.names, self.points(i0, i1), strict=True))
        for together in self.correlated.values():
            mixed = together.mixed(np.array([u[name] for name in together.names]))
            u |= dict(zip(together.names, mixed, strict=True))
        return {name: each.ppf(u[name]) for name, each in self.distributions.items()}

    def values(self, run: int) -> dict[str, float]:
        """Return the values of one run, by name."""
        if not isinstance(run, int | np.integer) or not 0 <= run < self.runs:
            raise ParameterError(f"there is no run {run}: the design has runs 0 to {self.runs - 1}")
        return {name: float(values[0]) for name, values in self.block(run, run + 1).items()}

    def points(self, i0: int, i1: int) -> np.ndarray:
        """Return the points in the unit cube, (names, runs), from which the runs' values are made."""
        if self._points is None:
            raise ParameterError(f"a {self.kind} design has values, but no points in the unit cube")
        self._check_runs(i0, i1)
        return self._points(i0, i1)

    def _check_runs(self, i0: Given, i1: Given) -> None:
        whole = all(isinstance(i, int | np.integer) for i in (i0, i1))
        if not whole or not 0 <= i0 < i1 <= self.runs:
            raise ParameterError(
                f"there are no runs {shown(i0)} to {shown(i1)}: the design has runs 0 to {self.runs - 1}"
            )

    def as_data(self) -> DataTable:
        """Return the design as plain data, for TOML and JSON; from_data() makes it again."""
        return self._as_data({name: _data_of(name, each) for name, each in self.distributions.items()})

    def identity(self) -> DataTable:
        """Return plain data that identify the design, for digests."""
        data = self._as_data({name: each.identity() for name, each in self.distributions.items()})
        return data | {"names": list(self.names)}  # in their order: other keys may be sorted

    @staticmethod
    def from_data(data: Mapping[str, object], units: Mapping[str, str] | None = None) -> Design:
        """Return a design from plain data: {"kind": "lhs", "runs": 100, "vary": {"m": {"normal":
        [1, 0.1]}}}.
        """
        known = ("vary", "kind", "runs", "seed", "levels", "second_order")
        table = arguments.table(data, "a design", ParameterError)
        given = arguments.checked_names(table, known, "a design has no", ParameterError)
        return Design(**{"vary": {}, **given}, units=units)

    def __repr__(self) -> str:
        return f"Design({', '.join(self.names)}: {self.kind}, {self.runs} runs, seed {self.seed})"

    def _as_data(self, members: DataTable) -> DataTable:
        vary: DataTable = {}
        labels = {name: label for label, each in self.correlated.items() for name in each.names}
        for name in self.names:  # the order matters, for sequences and for grids
            if name not in labels:
                vary[name] = members[name]
            else:
                together = self.correlated[labels[name]]
                vary[labels[name]] = {
                    "correlated": {each: members[each] for each in together.names},
                    "correlation": together.correlation.tolist(),
                }
        data: DataTable = {"vary": vary, "kind": self.kind, "runs": self.runs, "seed": self.seed}
        if self.levels is not None:
            data["levels"] = self.levels
        return data | ({"second_order": True} if self.second_order else {})

    def _check(self, levels: object, second_order: bool) -> None:
        if levels is not None and self.kind not in ("grid", "morris"):
            raise ParameterError(f"levels are for the designs grid and morris, not for {self.kind}")
        if second_order and self.kind != "saltelli":
            raise ParameterError(f"second_order is for the design saltelli, not for {self.kind}")
        if self.correlated and self.kind in ("grid", "list", "morris", "saltelli"):
            together = next(iter(self.correlated.values()))
            raise ParameterError(
                f"{together!r}: a {self.kind} design varies each quantity alone; use random, lhs or sobol"
            )
        for name, each in self.distributions.items():
            if self.kind == "list" and (not isinstance(each, Choice) or each.weights is not None):
                raise ParameterError(
                    f"varied '{name}' is {each!r}: a list design needs its values run by run"
                )
            if self.kind == "morris" and not each.bounded:
                raise ParameterError(
                    f"varied '{name}' is {each!r}, without bounds: morris steps between the lowest and the "
                    f"highest value{_remedy(each)}"
                )

    def _grid_axes(self) -> dict[str, np.ndarray]:
        every = dict.fromkeys(self.names, self.levels)
        given = self.levels if isinstance(self.levels, Mapping) else every
        after = ", which does not vary"
        given = arguments.checked_names(given, self.names, "levels for", ParameterError, after=after)
        axes = {}
        for name, each in self.distributions.items():
            if isinstance(each, Choice):
                axes[name] = each.values
                continue
            if not each.bounded:
                raise ParameterError(
                    f"varied '{name}' is {each!r}, without bounds: a grid needs a list of values, or "
                    f"bounds between which its levels lie{_remedy(each)}"
                )
            if given.get(name) is None:
                raise ParameterError(f"a grid over '{name}', {each!r}, needs levels=, or a list of values")
            axes[name] = np.linspace(
                each.low, each.high, whole_number(given[name], f"levels of '{name}'", ParameterError, least=2)
            )
        return axes

    def _count(self, runs: object) -> int:
        """Return the number of runs: as requested, or the number of a grid or list."""
        if self.kind == "list":
            found = _common_length(self.distributions)
        elif self.kind == "grid":
            found = math.prod(axis.size for axis in self._axes.values())
        else:
            found = None
        if runs is None and found is None:
            raise ParameterError(f"a {self.kind} design needs runs=, the number of runs")
        count = found if runs is None else whole_number(runs, "runs", ParameterError, least=1)
        assert count is not None
        if found is not None and count != found:
            raise ParameterError(f"the {self.kind} has {found} runs, not {count}; leave runs out")
        if count > MOST:
            raise ParameterError(f"{count} runs are too many for one design: {MOST} at most")
        self._check_groups(count)
        return count

    def _check_groups(self, runs: int) -> None:
        groups, rest = divmod(runs, self.group)
        if rest or (not groups and self.group > 1):
            best = self._powers(groups) if self.kind == "saltelli" else (groups, groups + 1)
            near = " or ".join(f"{self.group * count}" for count in best if count)
            hint = ", best with a power of two of groups" if self.kind == "saltelli" else ""
            raise ParameterError(
                f"runs of a {self.kind} design of {len(self.names)} names come in groups of {self.group}"
                f"{hint}: {runs} is not a multiple; use {near}"
            )
        if self.kind in ("sobol", "saltelli") and groups & (groups - 1):
            low, high = (self.group * count for count in self._powers(groups))
            warnings.warn(
                f"{runs} runs of a {self.kind} design are less evenly spread than a power of two"
                f"{f' times {self.group}' if self.group > 1 else ''}: {low} or {high}",
                stacklevel=outside(),
            )

    @staticmethod
    def _powers(count: int) -> tuple[int, int]:
        """Return the powers of two around a number; 0 and 1 around zero."""
        return (0, 1) if count == 0 else (2 ** (count.bit_length() - 1), 2 ** count.bit_length())

    def _unit_points(self) -> Points | None:
        if self.kind == "sobol":
            return Sobol(len(self.names), self.seed)
        if self.kind == "saltelli":
            return Saltelli(self.names, self.seed, self.second_order)
        if self.kind == "morris":
            self.levels = (
                _LEVELS
                if self.levels is None
                else whole_number(self.levels, "levels", ParameterError, least=2)
            )
            if self.levels % 2:
                raise ParameterError(f"morris needs an even number of levels, not {self.levels}")
            return Morris(self.names, self.seed, self.levels)
        if self.kind == "lhs":
            return LatinHypercube(self.names, self.runs, self.seed)
        return Random(self.names, self.seed) if self.kind == "random" else None


def _read_distributions(
    vary: Mapping[str, object], units: Mapping[str, str]
) -> tuple[dict[str, Distribution], dict[str, Correlated]]:
    """Return distributions by name, in the units that ``units`` gives, and correlations by label."""
    if not isinstance(vary, Mapping):
        raise ParameterError(f"vary needs a table of names and distributions, not {vary!r}")
    distributions: dict[str, Distribution] = {}
    correlated: dict[str, Correlated] = {}
    for label, given in ((str(label), given) for label, given in vary.items()):
        if isinstance(given, Mapping) and "correlated" in given:
            given = Correlated.from_data(given)
        if isinstance(given, Correlated):
            correlated[label] = given
            found = given.distributions
        else:
            found = {label: as_distribution(given, label)}
        for name, each in found.items():
            if name in distributions:
                raise ParameterError(f"'{name}' is varied twice, the second time in '{label}': leave one out")
            if each.units:
                each = each.scaled(unit_factor(each.units, units.get(name, ""), f"varied '{name}'"))
            distributions[name] = each
    if not distributions:
        raise ParameterError("nothing varies: give vary={'name': distribution, …}")
    return distributions, correlated


def _common_length(distributions: Mapping[str, Distribution]) -> int:
    # mypy: the distributions of a list are all lists.
    lengths = {name: each.values.size for name, each in distributions.items()}  # type: ignore[attr-defined]
    length: int
    (first, length), *others = lengths.items()
    for name, other in others:
        if other != length:
            raise ParameterError(
                f"lists of a design must have equal lengths: '{first}' has {length} values, '{name}' {other}"
            )
    return length


def _data_of(name: str, distribution: Distribution) -> DataTable:
    try:
        return distribution.as_data()
    except ParameterError as error:
        raise ParameterError(f"varied '{name}': {error}") from error


def _remedy(distribution: Distribution) -> str:
    if isinstance(distribution, Normal | LogNormal):
        return "; give it low and high"
    return "; use a distribution with bounds, such as Uniform"
