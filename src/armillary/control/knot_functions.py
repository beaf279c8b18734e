"""Functions of a model at many knots of a motion, with exact first and second derivatives.

    y = r(z)      z = the states, inputs, unknown parameters and time that occur in r

Jacobians and Hessians hold only the elements that can differ from zero, with one pattern for all knots.
Values, Jacobian and Hessian are one compiled function each, evaluated at all knots in one compiled loop. The
Jacobian of a model's rates is in the form with the fewest operations:

    trees without constraints    M δu̇ = −δτ with u̇ held in τ(q, u, u̇), M factorised once for all columns
    other models                 elimination of the nodes between rates and symbols (``algebra/jacobians.py``)

For arms and legged robots, the first form takes 0.6 times the operations of a Jacobian made column by column.
If loads are the larger part of the rates, as with the tyres of a car, the second form is quicker: it takes
0.75 times the time of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol, TypeVar

import numpy as np

from armillary.algebra.arguments import unsigned_zeros
from armillary.algebra.calculus import gradient, tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol, total
from armillary.algebra.jacobians import Element, jacobian, nest_products
from armillary.algebra.walk import held_indices, operands_first, transform
from armillary.analysis.linear.rates import TreeRates, tree_rates
from armillary.cache import kept_per_object
from armillary.control.operation_list import OperationList, operation_list
from armillary.errors import ArmillaryError, ExpressionError
from armillary.llvm import jit
from armillary.mechanics.tree.mass_matrix import speed_rates
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.rate_columns import ColumnSolution, SolvedColumn
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.runtime.models.parameters import ParameterTable, parameter_table
from armillary.untyped import DataTable

# Most nodes for the search for common factors, which saves a third of the operations at best.
_SEARCHED = 3000


Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Knots:
    """Points at which functions are evaluated, a row each.

    ``unknowns`` are values, in the model's own units, of symbols that replace parameters.
    """

    t: np.ndarray
    states: np.ndarray
    memory: np.ndarray
    unknowns: np.ndarray

    def __len__(self) -> int:
        return len(self.states)


@dataclass(frozen=True, eq=False)
class Pattern:
    """Rows and columns of the elements that can differ from zero."""

    rows: np.ndarray
    columns: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)


class PointFunction(Protocol):
    """Results of a model at points, given as rows of arrays."""

    def bind(
        self, parameters: DataTable, t: np.ndarray, states: np.ndarray, memory: np.ndarray, out: np.ndarray
    ) -> Callable[[], None]:
        """Return a function that evaluates the results into ``out``; no array may be reallocated."""

    def rows(self, at: Knots, given: np.ndarray, parameters: DataTable) -> np.ndarray:
        """Return the results, a row for each knot; ``given`` are further inputs, after the states."""


@dataclass(frozen=True, eq=False)
class CompiledFunction:
    """Results that machine code computes: the function "knot" of ``functions``."""

    functions: ModelFunctions

    def bind(
        self, parameters: DataTable, t: np.ndarray, states: np.ndarray, memory: np.ndarray, out: np.ndarray
    ) -> Callable[[], None]:
        """Return a function that evaluates the results into ``out``."""
        arrays = (t, states, self.functions.constants(parameters), memory, out)
        strides = [1, states.shape[1], 0, memory.shape[1], out.shape[1]]
        places = [a.ctypes.data for a in arrays]

        def evaluate(kept: object = arrays) -> None:
            self.functions.fill_rows("knot", len(t), strides, places)

        return evaluate

    def rows(self, at: Knots, given: np.ndarray, parameters: DataTable) -> np.ndarray:
        """Return the results, a row for each knot."""
        constants = self.functions.constants(parameters)
        return self.functions.rows("knot", at.t, at.states, None, at.memory, given, constants)


@dataclass(frozen=True, eq=False)
class ListedFunction:
    """Results that a list of operations computes, without compilation."""

    operations: OperationList
    table: ParameterTable

    def bind(
        self, parameters: DataTable, t: np.ndarray, states: np.ndarray, memory: np.ndarray, out: np.ndarray
    ) -> Callable[[], None]:
        """Return a function that evaluates the results into ``out``."""
        numbers = self._default_numbers
        if parameters:
            numbers = tuple(self.table.inside_columns(parameters).values())
        return self.operations.bind(numbers, t, states, memory, out)

    @cached_property
    def _default_numbers(self) -> tuple[float, ...]:
        return tuple(self.table.inside_columns(None).values())

    def rows(self, at: Knots, given: np.ndarray, parameters: DataTable) -> np.ndarray:
        """Return the results, a row for each knot."""
        n = len(at)
        out = np.empty((n, self.operations.length))
        states = np.hstack([at.states, given]) if given.size else np.ascontiguousarray(at.states)
        memory = np.ascontiguousarray(np.broadcast_to(at.memory, (n, at.memory.shape[-1])))
        self.bind(parameters, np.ascontiguousarray(at.t), states, memory, out)()
        return unsigned_zeros(out)


class KnotFunctions:
    """Functions ``results`` of a model, and their derivatives by the symbols ``by``.

    ``unknowns`` are the symbols, besides state and memory, whose values are given at each call. In the
    ``tier`` "quick" results are lists of operations; results with lookup tables or functions of the user,
    which lists cannot have, are compiled, without a search for common factors and without LLVM's
    optimisation.
    """

    def __init__(
        self,
        equations: DerivedEquations,
        results: Sequence[Expr],
        by: Sequence[Expr],
        unknowns: Sequence[Expr] = (),
        tier: str = "final",
    ) -> None:
        self.equations, self.results, self.by = equations, tuple(results), tuple(by)
        self._unknowns, self._tier = tuple(unknowns), tier
        owner = equations.system.identity
        self._weights = [symbol(f"weight_{i + 1}", "variable", owner=owner) for i in range(len(self.results))]

    # ------------------------------------------------------------ values

    @cached_property
    def value_functions(self) -> ModelFunctions:
        """The compiled function "knot" of the results."""
        return self._compile(self.results)

    def values(self, at: Knots, parameters: object = None) -> np.ndarray:
        """Return the results, a row for each knot."""
        if self.fixed_values is not None:
            return np.tile(self.fixed_values, (len(at), 1))
        return self._rows(self.value_function, at, parameters)

    @cached_property
    def value_function(self) -> PointFunction:
        """The results at points."""
        return self._point_function(self.results, compiled=lambda: self.value_functions)

    @cached_property
    def fixed_values(self) -> np.ndarray | None:
        """The results, if they are numbers; else `None`."""
        if not all(r.kind == "number" for r in self.results):
            return None
        return np.array([float(r.data) for r in self.results])

    # ------------------------------------------------------------ first derivatives

    @cached_property
    def _differentiated(self) -> tuple[list[Expr], dict[Element, Expr]]:
        return self._differentiate(lambda: values_and_jacobian(self.equations, self.results, self.by))

    @property
    def _entries(self) -> list[tuple[int, int, Expr]]:
        """The elements column by column.

        Columns share more intermediate values than rows: this order takes 0.92 times the time for a car.
        """
        elements = self._differentiated[1]
        return [(i, j, elements[i, j]) for i, j in sorted(elements, key=lambda place: place[::-1])]

    def with_jacobian(self, name: str) -> tuple[Pattern, ModelFunctions]:
        """Return the results and then the elements of the Jacobian, as one compiled function."""

        def compile_both(elements: list[Expr]) -> ModelFunctions:
            both = [*self._differentiated[0], *elements]
            return ModelFunctions(self.equations, {name: both}, self._unknowns, search=False, many=True)

        return self.jacobian_pattern, compile_both([x for _, _, x in self._entries])

    @cached_property
    def jacobian_pattern(self) -> Pattern:
        """Elements ∂results[row]/∂by[column] that can differ from zero."""
        return _pattern(self._entries)

    @cached_property
    def jacobian_function(self) -> PointFunction:
        """The elements of the Jacobian at points."""
        return self._point_function([x for _, _, x in self._entries])

    def jacobian(self, at: Knots, parameters: object = None) -> np.ndarray:
        """Return the values of the pattern's elements, a row for each knot."""
        if not self._entries:
            return np.empty((len(at), 0))
        return self._rows(self.jacobian_function, at, parameters)

    def dense_jacobian(self, at: Knots, parameters: object = None) -> np.ndarray:
        """Return ∂results/∂by as full matrices, with a leading axis of knots."""
        pattern = self.jacobian_pattern
        found = np.zeros((len(at), len(self.results), len(self.by)))
        found[:, pattern.rows, pattern.columns] = self.jacobian(at, parameters)
        return found

    # ------------------------------------------------------------ second derivatives

    @cached_property
    def _second(self) -> tuple[Pattern, list[Expr]]:
        """The lower triangle of the Hessian of Σ weight · result, by tangents of its gradient."""
        slopes = self._weighted_gradient
        held = held_indices(slopes, self.by)
        entries: list[tuple[int, int, Expr]] = []
        for j, s in enumerate(self.by):
            rows = [i for i in range(j, len(self.by)) if j in held[i]]
            column = self._differentiate(partial(tangents, [slopes[i] for i in rows], {s: UNIT}))
            entries += [(i, j, x) for i, x in zip(rows, column, strict=True) if x is not ZERO]
        return _pattern(entries), [x for _, _, x in entries]

    @cached_property
    def _weighted_gradient(self) -> list[Expr]:
        with derivation():
            pairs = zip(self._weights, self.results, strict=True)
            whole = total([(1, weight * result) for weight, result in pairs])
        return self._differentiate(lambda: gradient(whole, self.by))

    @property
    def hessian_pattern(self) -> Pattern:
        """Elements of the lower triangle of ∂²(Σ weight · result)/∂by² that can differ from zero."""
        return self._second[0]

    @cached_property
    def hessian_function(self) -> PointFunction:
        """The elements of the Hessian at points; its last inputs are the weights."""
        return self._point_function(self._second[1], self._weights)

    def hessian(self, at: Knots, weights: np.ndarray, parameters: object = None) -> np.ndarray:
        """Return the values of the pattern's elements, a row per knot; ``weights`` has a row per knot."""
        if not len(self._second[0]):
            return np.empty((len(at), 0))
        return self._rows(self.hessian_function, at, parameters, weights)

    def dense_hessian(self, at: Knots, weights: np.ndarray, parameters: object = None) -> np.ndarray:
        """Return ∂²(Σ weight · result)/∂by² as full matrices, with a leading axis of knots."""
        pattern, n = self._second[0], len(self.by)
        found = np.zeros((len(at), n, n))
        values = self.hessian(at, weights, parameters)
        found[:, pattern.rows, pattern.columns] = values
        found[:, pattern.columns, pattern.rows] = values
        return found

    @cached_property
    def _product(self) -> PointFunction:
        """The Hessian of Σ weight · result times one direction: the tangent of the gradient along it."""
        owner = self.equations.system.identity
        moves = [symbol(f"move_{j + 1}", "variable", owner=owner) for j in range(len(self.by))]
        rates = dict(zip(self.by, moves, strict=True))
        found = self._differentiate(lambda: tangents(self._weighted_gradient, rates))
        return self._point_function(found, [*self._weights, *moves])

    def hessian_product(
        self, at: Knots, weights: np.ndarray, direction: np.ndarray, parameters: object = None
    ) -> np.ndarray:
        """Return ∂²(Σ weight · result)/∂by² · direction, a row for each knot, without the matrix."""
        return self._rows(self._product, at, parameters, np.concatenate([weights, direction], axis=1))

    # ------------------------------------------------------------ compilation

    def _point_function(
        self,
        results: Sequence[Expr],
        further: Sequence[Expr] = (),
        compiled: Callable[[], ModelFunctions] | None = None,
    ) -> PointFunction:
        """Return machine code or, in the quick tier, a list of operations if these suffice."""
        if self._tier == "quick":
            equations = self.equations
            program, forces = equations.program, equations.targets.forces
            listed = operation_list(
                transform(results, forces.get) if forces else results, equations.targets.time,
                (*program.state, *self._unknowns, *further), program.memory, program.parameters,
            )  # fmt: skip
            if listed is not None:
                return ListedFunction(listed, replace(parameter_table(equations), needed=listed.needed))
        return CompiledFunction(compiled() if compiled else self._compile(results, further))

    def _compile(self, results: Sequence[Expr], further: Sequence[Expr] = ()) -> ModelFunctions:
        search = self._tier == "final" and len(operands_first(results)) <= _SEARCHED
        inputs = (*self._unknowns, *further)
        with jit.tier(self._tier):
            return ModelFunctions(self.equations, {"knot": results}, inputs, search=search, many=True)

    def _rows(
        self, function: PointFunction, at: Knots, parameters: object, further: np.ndarray | None = None
    ) -> np.ndarray:
        given = at.unknowns if further is None else np.concatenate([at.unknowns, further], axis=1)
        return function.rows(at, given, parameters if isinstance(parameters, dict) else {})

    def _differentiate(self, make: Callable[[], Made]) -> Made:
        try:
            with derivation():
                return make()
        except ExpressionError as error:
            raise ArmillaryError(
                f"'{self.equations.system.name}' cannot be differentiated: {error}"
            ) from error


@kept_per_object
def knot_functions(
    model: CompiledModel,
    results: tuple[Expr, ...],
    by: tuple[Expr, ...],
    unknowns: tuple[Expr, ...],
) -> KnotFunctions:
    """Return functions that are differentiated and compiled once for all problems of a model."""
    return KnotFunctions(model.equations, results, by, unknowns, tier="quick")


def _pattern(entries: Sequence[tuple[int, int, Expr]]) -> Pattern:
    rows = np.array([i for i, _, _ in entries], dtype=int)
    return Pattern(rows, np.array([j for _, j, _ in entries], dtype=int))


# -------------------------------------------------------------------------------------- Jacobians


Elements = dict[Element, Expr]
_LOADED = 0.25  # largest ratio of nodes of loads to nodes of rates for the form of trees


def values_and_jacobian(
    equations: DerivedEquations, results: Sequence[Expr], by: Sequence[Expr]
) -> tuple[list[Expr], Elements]:
    """Return expressions equal to the results, and the derivatives that can be non-zero.

    The keys of the derivatives are the indices (result, symbol). If the first results are the rates of the
    states, the form for trees may be used.
    """
    count = len(equations.targets.rates)
    tree = _tree(equations) if tuple(results[:count]) == equations.targets.rates else None
    if tree is None:
        values = nest_products(results, by)
        return values, jacobian(values, by)
    first = len(equations.targets.coordinates)
    end = first + len(tree.order)
    speeds = speed_rates(tree.tree, dict(tree.unknowns))
    others = nest_products([*results[:first], *results[end:]], by)
    values = [*others[:first], *(as_expr(speeds[i]) for i in tree.order), *others[first:]]
    elements = _speed_elements(tree, first, by)
    for (i, j), x in jacobian(others, by).items():
        elements[i if i < first else i + len(tree.order), j] = x
    return values, dict(sorted(elements.items(), key=lambda item: item[0]))


def _tree(equations: DerivedEquations) -> TreeRates | None:
    """Return the rates of a tree in the described states; None if loads are a large part of the rates."""
    if not equations.described_states or equations.system.contacts:
        return None
    found = tree_rates(equations)
    if found is None:
        return None
    forces, wrenches = found.applied.forces.values(), found.applied.wrenches.values()
    loads = [as_expr(x) for x in (*forces, *(x for n, f in wrenches for x in (*n, *f)))]
    small = len(operands_first(loads)) <= _LOADED * len(operands_first(equations.targets.rates))
    return found if small else None


def _speed_elements(tree: TreeRates, first: int, by: Sequence[Expr]) -> Elements:
    """Return the derivatives of the rates of the speeds, whose rows begin at ``first``."""
    rows = {k: first + i for i, k in enumerate(tree.order)}
    elements: Elements = {}
    solved = []
    for j, s in enumerate(by):
        right, added = tree.parts({s: UNIT})
        if right:
            solved.append(SolvedColumn("A", j, right, added))
        else:
            elements |= {(rows[k], j): x for k, x in added.items()}
    return elements | ColumnSolution(tree.factors, rows, tuple(solved)).expressions("A")
