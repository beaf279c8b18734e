"""The conditions of an operating point and their exact derivatives, as machine code.

Rows are the rates of all states, the gaps of closed loops, the lengths of Euler parameters and the outputs
that are asked for; columns are all states and the inputs that are looked for:

    c(x) = [ ẏ ; Φ(q) ; eᵀe − 1 ; outputs ]        x = [ q, u, z, inputs ]        C = ∂c/∂x

A problem selects rows and columns of these, so the code is compiled once for a model and the names of its
outputs and inputs. It is kept as long as the model lives. Of large systems C is not written out: one function
gives C d for a direction d, and a column of C for each unit vector.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.tangents import tangents
from armillary.algebra.walk import symbols, transform
from armillary.analysis.operating.cyclic import cyclic
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import derivation
from armillary.program.linearization import form
from armillary.runtime.models.functions import ModelFunctions

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel

_VALUES, _SLOPES = "conditions", "slopes"
_kept: WeakKeyDictionary[CompiledModel, dict[tuple[Any, ...], Conditions]] = WeakKeyDictionary()


def conditions(model: CompiledModel, outputs: Sequence[str], inputs: Sequence[str]) -> Conditions:
    """The conditions of a model with these outputs and inputs, compiled at their first use."""
    known = _kept.setdefault(model, {})
    key = (tuple(outputs), tuple(inputs))
    if key not in known:
        known[key] = Conditions(model.equations, *key)
    return known[key]


class Conditions:
    """Compiled conditions c(x) and their Jacobian.

    ``labels`` names the rows, ``names`` the columns. ``depends[i, j]`` is whether row i contains column j,
    after simplification.
    """

    def __init__(self, equations: DerivedEquations, outputs: Sequence[str], inputs: Sequence[str]) -> None:
        t = equations.targets
        self.equations, self.inputs = equations, tuple(inputs)
        self.states = tuple(s.data.name for s in t.integrated)
        self.names = (*self.states, *inputs)
        self.coordinates = len(t.coordinates)
        self.speeds = slice(self.coordinates, self.coordinates + len(t.speeds))
        kept = [row for row in equations.reduction.elimination.kept if row.gap is not None]
        columns = {c.name: c for c in t.columns}
        lengths = [sum((e * e for e in t.coordinates[i : i + 4]), as_expr(-1)) for i in t.quaternions]
        self.gaps = tuple(row.constraint for row in kept)
        self.labels = (
            *(f"rate of {name}" for name in self.states),
            *(f"constraint '{row.constraint.name}'" for row in kept),
            *(f"length of Euler parameters {self.states[i]}…" for i in t.quaternions),
            *outputs,
        )
        n = len(self.states)
        self.closed = slice(n, n + len(kept) + len(lengths))  # conditions that every state satisfies
        self.shown = slice(self.closed.stop, len(self.labels))
        with derivation():
            rows = [*t.rates, *(as_expr(row.gap) for row in kept), *lengths]
            rows += [columns[name].expression for name in outputs]
            variables, rows = _with_variables(equations, rows, inputs)
            self.by_columns = len(variables) * equations.operations.total > form.WRITTEN_OUT
            self._at, found, direction = (
                _tangent(equations, rows, variables) if self.by_columns else _written(rows, variables)
            )
        self.depends = np.zeros((len(rows), len(self.names)), dtype=bool)
        self.depends[self._at[:, 0], self._at[:, 1]] = True
        self.flat = self._at[:, 0] * len(self.names) + self._at[:, 1]
        self.at_rest = self._rates_at_rest(t.rates[: self.coordinates], t.speeds)
        held = set(symbols(*rows))
        self.depends_on_time = t.time in held
        self.memories = tuple(m.data.name for m in t.memory if m in held)
        self.code = ModelFunctions(
            equations,
            {_VALUES: rows, _SLOPES: found},
            inputs=[*variables[n:], *direction],
            search=False,
        )

    @cached_property
    def values_address(self) -> int:
        """The function of c, for compiled loops."""
        return self.code.address(_VALUES)

    @cached_property
    def slopes_address(self) -> int:
        """The function of the entries of ∂c/∂x at ``flat``, or of one column; for compiled loops."""
        return self.code.address(_SLOPES)

    def cyclic(self, rows: Collection[int] = ()) -> frozenset[int]:
        """Places of cyclic coordinates and states of the user's own; ``rows`` must not depend on them."""
        n = len(self.states)
        speeds = range(self.speeds.start, self.speeds.stop)
        groups = [range(i, i + 4) for i in self.equations.targets.quaternions]
        gaps = range(n, n + len(self.gaps))
        return cyclic(self.depends[:, :n], set(range(n)) - set(speeds), {*rows, *gaps}, groups)

    @cached_property
    def lasting(self) -> np.ndarray:
        """Places of the states that are not cyclic."""
        left_out = self.cyclic()
        return np.array([i for i in range(len(self.states)) if i not in left_out], dtype=int)

    @staticmethod
    def _rates_at_rest(rates: Sequence[Expr], speeds: Sequence[Expr]) -> bool:
        """Whether no coordinate moves where the speeds are zero: nothing is driven by time."""
        still = transform(rates, dict.fromkeys(speeds, ZERO).get)
        return all(x is ZERO for x in still)

    def instance(self, t: float, parameters: Mapping[str, Any] | None, memory: np.ndarray) -> ConditionValues:
        """The conditions at a time, with the parameters that are not looked for."""
        return ConditionValues(self, t, self.code.constants(parameters), memory)

    def dense(self, entries: np.ndarray) -> np.ndarray:
        """Derivatives as a matrix."""
        found = np.zeros(len(self.labels) * len(self.names))
        found[self.flat] = entries
        return found.reshape(len(self.labels), len(self.names))


def _written(
    rows: Sequence[Expr], variables: Sequence[Expr]
) -> tuple[np.ndarray, list[Expr], tuple[Expr, ...]]:
    """Places of the derivatives that are not zero, and these."""
    slopes = [tangents(rows, {v: UNIT}) for v in variables]
    places = [(i, j) for j, column in enumerate(slopes) for i, x in enumerate(column) if x is not ZERO]
    return np.array(places, dtype=int).reshape(-1, 2), [slopes[j][i] for i, j in places], ()


def _tangent(
    equations: DerivedEquations, rows: Sequence[Expr], variables: Sequence[Expr]
) -> tuple[np.ndarray, list[Expr], tuple[Expr, ...]]:
    """Places where a row contains a variable, the derivatives along a direction, and its symbols."""
    owner = equations.system.identity
    direction = tuple(symbol(f"d({v.data.name})", "variable", owner=owner) for v in variables)
    column = {v: j for j, v in enumerate(variables)}
    places = [(i, column[s]) for i, row in enumerate(rows) for s in symbols(row) if s in column]
    found = tangents(rows, dict(zip(variables, direction, strict=True)))
    return np.array(places, dtype=int).reshape(-1, 2), found, direction


def _with_variables(
    equations: DerivedEquations, rows: Sequence[Expr], inputs: Sequence[str]
) -> tuple[list[Expr], list[Expr]]:
    """States and inputs as symbols, and the rows with these in the place of parameters and memories."""
    system, t = equations.system, equations.targets
    memories = dict(zip(system.memories, t.memory, strict=True))
    replaced: dict[Expr, Expr] = {}
    for name in inputs:
        old = (
            equations.reduction.plain(system.parameters[name])
            if name in system.parameters
            else memories[name]
        )
        replaced[old] = symbol(name, "variable", owner=system.identity, about=f"input {name}")
    found = transform(rows, replaced.get) if replaced else list(rows)
    return [*t.integrated, *replaced.values()], found


@dataclass(frozen=True, eq=False)
class ConditionValues:
    """The conditions of a model at one time, with one set of parameters."""

    of: Conditions
    t: float
    constants: np.ndarray
    memory: np.ndarray

    def values(self, x: np.ndarray) -> np.ndarray:
        """c at x = [state, inputs], in the model's units; outputs in their stated units."""
        y = np.concatenate([x, np.zeros(len(x))]) if self.of.by_columns else x
        return self.of.code(_VALUES, self.t, y, memory=self.memory, constants=self.constants)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """∂c/∂x."""
        if self.of.by_columns:
            how: dict[str, Any] = {"memory": self.memory, "constants": self.constants}
            return self.of.code.rows(_SLOPES, self.t, x, inputs=np.eye(len(x)), **how).T
        return self.of.dense(self.of.code(_SLOPES, self.t, x, memory=self.memory, constants=self.constants))

    def many(self, xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c and ∂c/∂x at the rows of xs, in one compiled loop each."""
        how: dict[str, Any] = {"memory": self.memory, "constants": self.constants}
        if self.of.by_columns:
            count, m = xs.shape
            units = np.tile(np.eye(m), (count, 1))
            found = self.of.code.rows(_SLOPES, self.t, np.repeat(xs, m, axis=0), inputs=units, **how)
            slopes = found.reshape(count, m, -1).transpose(0, 2, 1)
            return np.array([self.values(x) for x in xs]), slopes
        n = len(self.of.states)
        if xs.shape[1] > n:
            how["inputs"] = xs[:, n:]
        values = self.of.code.rows(_VALUES, self.t, xs[:, :n], **how)
        slopes = self.of.code.rows(_SLOPES, self.t, xs[:, :n], **how)
        return values, np.array([self.of.dense(row) for row in slopes])
