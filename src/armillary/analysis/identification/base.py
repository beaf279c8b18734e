"""Base parameters: the fewest combinations of inertial parameters on which the motion depends.

Regrouping (``mechanics/tree/structure/regroup.py``) leaves those that a joint cannot distinguish with one
link. What is left may still have no effect, or effects that are not independent, because of parallel axes, of
planes, or of a joint on the ground along gravity. The columns of Y at random places show both: a column that
depends linearly on others gives its parameter to theirs,

    Y κ = Y_i (κ_i + C κ_d),     Y_d = Y_i C

Source: Gautier (1991), Numerical calculation of the base inertial parameters of robots; the grouping of
regrouped symbols in place of the bodies' own numbers is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import place
from armillary.algebra.derivatives.calculus import evaluate_all
from armillary.algebra.expression import Expr, scale, total
from armillary.analysis.identification.link_parameters import (
    DEPENDENT,
    LinearEfforts,
    independent_columns,
    linear_efforts,
)
from armillary.columns import aligned, counted, html_table
from armillary.errors import ArmillaryError
from armillary.model.units import default_value
from armillary.program.equations import DerivedEquations
from armillary.results.record import label_units

_PLACES = 4  # of random places, as many times the number of parameters over that of speeds
_LONG = re.compile(r"\d+\.\d{13,}(?:e[-+]?\d+)?")  # numbers with more digits than are shown
_WIDTH = 72  # characters of an expression in a table


@dataclass(frozen=True, eq=False)
class BaseParameter:
    """One base parameter: what it is of the description's parameters, and of its bodies' inertial numbers.

    ``value`` is that of the parameters' defaults, NaN where one has none.
    """

    name: str
    expression: Expr
    of_bodies: Expr
    value: float
    units: str

    def __str__(self) -> str:
        text = str(self.of_bodies if self.expression.kind == "number" else self.expression)
        return _LONG.sub(lambda m: f"{float(m[0]):.12g}", text)  # 0.16 for 0.4²


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters:
    """The base parameters of a system, in the order of the columns of its regressor.

        base = eom.base_parameters()
        base["A.Jzz"].expression, base["A.Jzz"].value
        base.names, base.values

    ``without_effect`` names inertial parameters of links that no effort depends on.
    """

    system: str
    parameters: tuple[BaseParameter, ...]
    without_effect: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names, such as A.Jzz."""
        return tuple(p.name for p in self.parameters)

    @property
    def values(self) -> np.ndarray:
        """Values for the defaults of the parameters."""
        return np.array([p.value for p in self.parameters])

    def __len__(self) -> int:
        return len(self.parameters)

    def __iter__(self) -> Iterator[BaseParameter]:
        return iter(self.parameters)

    def __getitem__(self, name: str) -> BaseParameter:
        return self.parameters[place(name, self.names, f"base parameters of '{self.system}' have no")]

    def _rows(self) -> list[list[str]]:
        def short(text: str) -> str:
            return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"

        return [
            [p.name, "" if np.isnan(p.value) else f"{p.value:.6g}", label_units(p.units), short(str(p))]
            for p in self.parameters
        ]

    def __repr__(self) -> str:
        lines = [f"{counted(len(self), 'base parameter')} of '{self.system}':"]
        lines += [f"  {line}" for line in aligned(self._rows(), "<><<")]
        if self.without_effect:
            lines.append(f"  without effect: {', '.join(self.without_effect)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title = f"{counted(len(self), 'base parameter')} of '{self.system}'"
        return html_table(["", "value", "units", "grouping"], self._rows(), "<><<", caption=title)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Independent columns of Y by place, and the shares C that they take of dependent ones."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    shares: np.ndarray  # (independent, dependent)
    without_effect: tuple[int, ...]


def base_parameters(equations: DerivedEquations) -> BaseParameters:
    """The base parameters of a system; see ``Equations.base_parameters``."""
    efforts = linear_efforts(equations)
    if has_loops(equations):
        raise ArmillaryError(
            f"base parameters of '{equations.system.name}' cannot be found at random places, which do not "
            "close its loops; use those of its compiled model, model.regressor(q).parameters"
        )
    return grouped_parameters(efforts, grouping(random_regressor(efforts)))


def has_loops(equations: DerivedEquations) -> bool:
    """Whether coordinates have to satisfy conditions."""
    return any(c.position is not None for c in equations.system.constraints.values())


def places_needed(efforts: LinearEfforts) -> int:
    """The number of random places that show the independent columns of Y."""
    return 1 + _PLACES * len(efforts.parameters) // max(len(efforts.rows), 1)


def grouped_parameters(efforts: LinearEfforts, groups: Grouping) -> BaseParameters:
    """Base parameters of the groups."""
    system, given = efforts.expressions.equations.system, efforts.parameters
    plain = efforts.expressions.reduction.plain
    known = {plain(p): default_value(p) for p in system.parameters.values()}
    values = {p: float("nan") if value is None else value for p, value in known.items()}
    made = []
    for row, i in enumerate(groups.independent):
        shares = zip(groups.dependent, groups.shares[row], strict=True)
        terms = [(1.0, given[i])] + [(float(c), given[d]) for d, c in shares if c]
        expression, of_bodies = (
            total([(1, scale(getattr(p, which), c)) for c, p in terms]) for which in ("value", "of_bodies")
        )
        (value,) = evaluate_all([expression], values)
        units = system.units.unit_text(given[i].dimension)
        made.append(BaseParameter(given[i].name, expression, of_bodies, float(value), units))
    return BaseParameters(system.name, tuple(made), tuple(given[k].name for k in groups.without_effect))


def grouping(columns: np.ndarray) -> Grouping:
    """Independent columns of a matrix of many rows, the first of those that depend on each other."""
    sizes = np.linalg.norm(columns, axis=0)
    largest = float(np.max(sizes, initial=0.0))
    nothing = [k for k in range(columns.shape[1]) if sizes[k] <= DEPENDENT * largest]
    chosen, rest, shares = independent_columns(columns, nothing)
    return Grouping(chosen, rest, shares, tuple(nothing))


def random_regressor(
    efforts: LinearEfforts, states: np.ndarray | None = None, times: np.ndarray | None = None
) -> np.ndarray:
    """Y at random places, or at these states and times with random rates, row under row; parameters without a
    default are random too. Where motion is prescribed, Y depends on time.
    """
    equations = efforts.expressions.equations
    system, targets, plain = equations.system, equations.targets, equations.reduction.plain
    rng = np.random.default_rng(0)
    count = places_needed(efforts) if states is None else len(states)
    values: dict[Expr, np.ndarray | float] = {}
    for s in (*targets.coordinates, *targets.speeds, *targets.states, *efforts.expressions.rates):
        values[s] = rng.uniform(-1.0, 1.0, count)
    if states is not None:
        values |= dict(zip(targets.integrated, states.T, strict=True))
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            four = [plain(q) for q in body.coordinates[start : start + 4]]
            length = np.sqrt(sum(values[q] ** 2 for q in four if q in values))
            values |= {q: values[q] / length for q in four if q in values}
    for m in system.memories.values():
        values[plain(m.symbol)] = m.initial
    for p in system.parameters.values():
        value = default_value(p)
        values[plain(p)] = rng.uniform(0.5, 1.5) if value is None else value
    values[targets.time] = rng.uniform(0.0, 1.0, count) if times is None else times
    flat = [e for row in efforts.rows for e in row]
    found = [np.broadcast_to(np.asarray(x, dtype=float), count) for x in evaluate_all(flat, values)]
    shape = (len(efforts.rows), len(efforts.parameters), count)
    return np.moveaxis(np.reshape(found, shape), 2, 0).reshape(-1, len(efforts.parameters))
