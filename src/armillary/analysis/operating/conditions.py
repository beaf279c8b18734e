"""The conditions of an operating point and their exact derivatives, as machine code.

Rows are the rates of all states, the gaps of closed loops, the lengths of Euler parameters, gaps, slips and
their velocities of rigid contacts, and the outputs that are requested; columns are all states and the inputs
that are looked for:

    c(x) = [ ẏ ; Φ(q) ; eᵀe − 1 ; contacts ; outputs ]        x = [ q, u, z, inputs ]        C = ∂c/∂x

A problem selects rows and columns of these, so the code is compiled once for a model and the names of its
outputs and inputs. It is kept as long as the model lives. Of large systems, and with rigid contacts, C is not
written out: one function gives C d for a direction d; columns that share no row come from one direction
(Curtis, Powell & Reid 1974, J. Inst. Math. Appl. 13, 117–119). Where such a system rests, u = 0 is put into c
and C d, which takes half of the time. A box with 8 corners is compiled in a sixth of the time so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.derivatives.tangents import tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.units.dimension import ONE
from armillary.algebra.walk import held_places, symbols, transform
from armillary.analysis.operating.condition_values import SLOPES, VALUES, ConditionCode, ConditionValues
from armillary.analysis.operating.contacts.contact_conditions import contact_conditions
from armillary.analysis.operating.rate_units import rate_units
from armillary.analysis.operating.search.cyclic import cyclic
from armillary.kept_results import kept_per_object
from armillary.mechanics.constraints.sizes import speed_kind, unit_sizes
from armillary.model.units import state_factor
from armillary.program.derivatives.linearization import form
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import derivation
from armillary.runtime.models.programs.functions import ModelFunctions

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


@kept_per_object
def conditions(model: CompiledModel, outputs: tuple[str, ...], inputs: tuple[str, ...]) -> Conditions:
    """The conditions of a model with these outputs and inputs, compiled at their first use."""
    return Conditions(model.equations, outputs, inputs)


class Conditions:
    """Compiled conditions c(x) and their Jacobian.

    ``labels`` names the rows, ``names`` the columns.
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
        n = len(self.states)
        self.closed = slice(n, n + len(kept) + len(lengths))  # conditions that every state satisfies
        touching, self.contacts = contact_conditions(equations, self.closed.stop)
        self.labels = (
            *(f"rate of {name}" for name in self.states),
            *(f"constraint '{row.constraint.name}'" for row in kept),
            *(f"length of Euler parameters {self.states[i]}…" for i in t.quaternions),
            *touching,
            *outputs,
        )
        self.shown = slice(self.closed.stop + len(touching), len(self.labels))
        with derivation():
            rows = [*t.rates, *(as_expr(row.gap) for row in kept), *lengths, *touching.values()]
            rows += [columns[name].expression for name in outputs]
            self._variables, self._rows = _with_variables(equations, rows, inputs)
            operations = len(self._variables) * equations.operations.total
            # Forces of contacts are solutions, whose derivatives are as many more for each column.
            self.by_columns = operations > form.WRITTEN_OUT or bool(self.contacts)
        held = set(symbols(*self._rows))
        self.depends_on_time = t.time in held
        self.memories = tuple(m.data.name for m in t.memory if m in held)
        self.at_rest = self._rates_at_rest(t.rates[: self.coordinates], t.speeds)
        self._codes: dict[bool, ConditionCode] = {}
        self._cyclic: dict[frozenset[int], frozenset[int]] = {}

    @cached_property
    def depends(self) -> np.ndarray:
        """``depends[i, j]``: whether row i contains column j, after simplification."""
        if not self.by_columns:
            return self.code().pattern
        return _pattern(self._rows, self._variables)

    def code(self, still: bool = False) -> ConditionCode:
        """The compiled functions; where all speeds are zero and stay so, those of rest."""
        still = still and self.by_columns
        if still not in self._codes:
            make = self._by_columns if self.by_columns else self._written
            with derivation():
                self._codes[still] = make(still)
        return self._codes[still]

    def _written(self, still: bool) -> ConditionCode:
        """Every derivative that is not zero."""
        n, rows, variables = len(self.states), self._rows, self._variables
        slopes = [tangents(rows, {v: UNIT}) for v in variables]
        places = [(i, j) for j, column in enumerate(slopes) for i, x in enumerate(column) if x is not ZERO]
        pattern = np.zeros((len(rows), len(variables)), dtype=bool)
        at = np.array(places, dtype=int).reshape(-1, 2)
        pattern[at[:, 0], at[:, 1]] = True
        functions = {VALUES: rows, SLOPES: [slopes[j][i] for i, j in places]}
        code = ModelFunctions(self.equations, functions, inputs=variables[n:], search=False)
        return ConditionCode(code, pattern, at[:, 0] * len(variables) + at[:, 1])

    def _by_columns(self, still: bool) -> ConditionCode:
        """The derivatives along a direction, whose elements are inputs."""
        owner, variables, rows = self.equations.system.identity, self._variables, self._rows
        direction = [symbol(f"d({v.data.name})", "variable", owner=owner) for v in variables]
        found = tangents(rows, dict(zip(variables, direction, strict=True)))
        if still:
            zero = dict.fromkeys(self.equations.targets.speeds, ZERO)
            rows, found = transform(rows, zero.get), transform(found, zero.get)
        inputs = [*variables[len(self.states) :], *direction]
        code = ModelFunctions(self.equations, {VALUES: rows, SLOPES: found}, inputs=inputs, search=False)
        return ConditionCode(code, _pattern(found, direction))

    def cyclic(self, rows: Collection[int] = ()) -> frozenset[int]:
        """Places of cyclic coordinates and states of the user's own; ``rows`` must not depend on them."""
        n = len(self.states)
        speeds = range(self.speeds.start, self.speeds.stop)
        groups = [range(i, i + 4) for i in self.equations.targets.quaternions]
        gaps = range(n, n + len(self.gaps))
        key = frozenset(rows)
        if key not in self._cyclic:
            candidates = set(range(n)) - set(speeds)
            self._cyclic[key] = cyclic(self.depends[:, :n], candidates, {*rows, *gaps}, groups)
        return self._cyclic[key]

    @cached_property
    def held(self) -> frozenset[int]:
        """Places of coordinates that only locked and prescribed speeds move, and no load."""
        reduction, system = self.equations.reduction, self.equations.system
        names = {q.data.name for q in reduction.held_coordinates(system)}
        return frozenset(i for i, name in enumerate(self.states[: self.coordinates]) if name in names)

    def noncyclic(self, rows: Collection[int] = ()) -> np.ndarray:
        """Places of the states that are not cyclic, without locked coordinates, as in linear models; none of
        the rows depends on those that are left out.
        """
        rates = self.equations.targets.rates
        left_out = self.cyclic(rows) | {i for i in self.held if rates[i] is ZERO}
        return np.array([i for i in range(len(self.states)) if i not in left_out], dtype=int)

    @cached_property
    def kind_sizes(self) -> np.ndarray:
        """The size of each column by its kind, in the model's units: where loops have lengths, the motion
        that moves them as far as a radian does, else a unit of the SI.
        """
        system = self.equations.system
        kinds = {**unit_sizes(system), **self.equations.reduction.usual_sizes}
        own = {s.data.name: s for s in system.moving()}
        found = []
        for name in self.names:
            s = own.get(name)
            kind = None if s is None else speed_kind(s) if s.data.role == "speed" else s.dimension
            found.append(float(kinds.get(kind, 1.0)))
        return np.array(found)

    @cached_property
    def row_units(self) -> tuple[tuple[float, str], ...]:
        """Of each row the factor of its units to those of the model, and their text."""
        own = {s.data.name: s for s in self.equations.system.moving()}
        columns = {c.name: c.units for c in self.equations.targets.columns}
        rates = [(state_factor(own[name]), rate_units(own[name].data.units or "")) for name in self.states]
        shown = [(1.0, columns[name]) for name in self.labels[self.shown]]
        return (*rates, *[(1.0, "")] * (self.shown.start - len(rates)), *shown)

    @cached_property
    def angles(self) -> np.ndarray:
        """The columns that are angles."""
        own = {s.data.name: s for s in self.equations.system.coordinates}
        return np.array([name in own and own[name].dimension is ONE for name in self.names])

    @staticmethod
    def _rates_at_rest(rates: Sequence[Expr], speeds: Sequence[Expr]) -> bool:
        """Whether no coordinate moves where the speeds are zero: nothing is driven by time."""
        still = transform(rates, dict.fromkeys(speeds, ZERO).get)
        return all(x is ZERO for x in still)

    def instance(
        self, t: float, parameters: Mapping[str, object] | None, memory: np.ndarray, still: bool = False
    ) -> ConditionValues:
        """The conditions at a time, with the parameters that are not looked for; ``still``: at rest."""
        code = self.code(still)
        return ConditionValues(self, code, t, code.functions.constants(parameters), memory, still)


def _pattern(rows: Sequence[Expr], variables: Sequence[Expr]) -> np.ndarray:
    """Where a row contains a variable."""
    found = np.zeros((len(rows), len(variables)), dtype=bool)
    for i, places in enumerate(held_places(rows, variables)):
        found[i, places] = True
    return found


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
