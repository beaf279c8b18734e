"""A, B, C and D of a model as compiled functions of time, state, memory and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from armillary.algebra.expression import ZERO, Expr
from armillary.algebra.walk import operands_first
from armillary.analysis.linear.implicit import implicit_rates
from armillary.llvm.column_solution import ColumnCode
from armillary.llvm.jit import vector_doubles
from armillary.program.cost import Operations
from armillary.program.equations import DerivedEquations
from armillary.program.linearization.form import Element, Entries, LinearForm, linear_form
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.functions import ModelFunctions

_DENSE = 4  # elements of a matrix for each that is not zero, up to which all are computed
_SEARCHED = 3000  # nodes up to which common factors are searched for: a third of the operations at best


class Matrices(NamedTuple):
    """δẋ = A δx + B δv, δy = C δx + D δv; with a leading axis where there are many points."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray


class Linearization:
    """The linearised equations of a model in the model's own units (SI unless stated), at any of its places.

        jacobians = Linearization(model.equations, inputs=["F"], outputs=["tip"])
        A, B, C, D = jacobians.at(t, state)
        A, B, C, D = jacobians.rows(t, states, parameters={"k": array})      one compiled loop

    ``form`` holds the variables and the expressions. Only elements that are neither zero nor a number are
    computed, all in one function.
    """

    def __init__(
        self,
        equations: DerivedEquations,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        *,
        open_loops: bool = False,
    ) -> None:
        self.equations = equations
        self.form: LinearForm = linear_form(equations, inputs, outputs, implicit_rates, open_loops=open_loops)
        form = self.form
        named = (("A", form.A), ("B", form.B), ("C", form.C), ("D", form.D))
        self._code = None
        if form.solution is None:
            self._matrices = Filled({name: (form.shapes[name], entries) for name, entries in named})
            self._computed = self._matrices.computed
            return
        known = {
            name: (form.shapes[name], entries.known if isinstance(entries, Entries) else entries)
            for name, entries in named
        }
        before = Filled(known, dense=False).computed
        self._code = ColumnCode(form.solution, before, vector_doubles())
        solved: dict[str, dict[Element, int]] = {"A": {}, "B": {}}
        for (column, k), place in self._code.places.items():
            solved[column.matrix][form.solution.rows[k], column.index] = place
        self._matrices = Filled(known, solved, dense=False)
        self._computed = self._code.work

    @cached_property
    def functions(self) -> ModelFunctions:
        """The compiled function "matrices" and, of large systems, "tangent"."""
        computed, tangent = self._computed, self.form.tangent
        if tangent is not None:
            functions = {"matrices": computed, "tangent": [*tangent.rates, *tangent.outputs]}
            return ModelFunctions(self.equations, functions, tangent.direction, search=False)
        if self._code is not None:  # a search finds 1 % there, and takes longer than all else
            parts = {"matrices": self._code}
            return ModelFunctions(self.equations, {"matrices": computed}, search=False, continued=parts)
        search = len(operands_first(computed)) <= _SEARCHED
        return ModelFunctions(self.equations, {"matrices": computed}, search=search)

    @cached_property
    def _basis(self) -> tuple[Filled, ModelFunctions]:
        shape = (len(self.equations.targets.integrated), len(self.form.states))
        filled = Filled({"basis": (shape, self.form.basis)})
        return filled, ModelFunctions(self.equations, {"basis": filled.computed}, search=False)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation of all four matrices; of large systems those of one column."""
        return self.functions.operations["matrices" if self.form.tangent is None else "tangent"]

    def constants(self, parameters: Mapping[str, Any] | None = None) -> np.ndarray:
        """Precomputed constants, to be handed to many calls with the same parameters."""
        return self.functions.constants(parameters)

    def at(
        self,
        t: float,
        state: np.ndarray,
        parameters: Mapping[str, Any] | None = None,
        memory: np.ndarray | None = None,
        constants: np.ndarray | None = None,
    ) -> Matrices:
        """The matrices at one state; ``constants``, where known, replace ``parameters``."""
        if self.form.tangent is not None:
            many = self.rows(t, state[None, :], parameters, memory, constants)
            return Matrices(*(matrix[0] for matrix in many))
        numbers = self.functions("matrices", t, state, parameters, memory, constants=constants)
        return Matrices(*self._matrices(numbers[None, :], first=True))

    def rows(
        self,
        t: float | np.ndarray,
        states: np.ndarray,
        parameters: Mapping[str, Any] | None = None,
        memory: np.ndarray | None = None,
        constants: np.ndarray | None = None,
    ) -> Matrices:
        """The matrices at many states, with a leading axis. Time, state, memory and parameters are those of
        all points, or have a leading axis.
        """
        tangent = self.form.tangent
        numbers = self.functions.constants(parameters) if constants is None else constants
        idle = None if tangent is None else np.zeros(len(tangent.direction))
        found = self.functions.rows("matrices", t, states, None, memory, idle, numbers)
        A, B, C, D = self._matrices(found)
        if tangent is not None:
            A, C = self._by_columns(len(found), t, states, memory, numbers)
        return Matrices(A, B, C, D)

    def _by_columns(
        self,
        count: int,
        t: float | np.ndarray,
        states: np.ndarray,
        memory: np.ndarray | None,
        constants: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and C from the tangent along each unit vector, a point after another."""
        n, units = len(self.form.states), np.eye(len(self.form.states))
        times = np.broadcast_to(np.asarray(t, dtype=float), (count,))
        places = np.broadcast_to(states, (count, states.shape[-1]))
        kept = None if memory is None else np.broadcast_to(memory, (count, np.shape(memory)[-1]))
        numbers = np.broadcast_to(constants, (count, constants.shape[-1]))
        A, C = np.empty((count, n, n)), np.empty((count, len(self.form.outputs), n))
        for i in range(count):
            stored = None if kept is None else kept[i]
            state = np.ascontiguousarray(places[i])
            columns = self.functions.rows(
                "tangent", float(times[i]), state, None, stored, units, np.ascontiguousarray(numbers[i])
            )
            A[i], C[i] = columns[:, :n].T, columns[:, n:].T
        return A, C

    def basis(
        self,
        t: float | np.ndarray,
        states: np.ndarray,
        parameters: Mapping[str, Any] | None = None,
        memory: np.ndarray | None = None,
    ) -> np.ndarray:
        """∂y/∂x of the model's whole state y by the independent variables x, with a leading axis of rows."""
        filled, functions = self._basis
        (found,) = filled(functions.rows("basis", t, states, parameters, memory))
        return found


class Filled:
    """Matrices whose elements are zero, numbers, or computed.

    ``computed`` are the results of a compiled function. Of a matrix with few zeros they are all elements, row
    by row, so that it needs no copy; of one with many, or without ``dense``, they are those that vary.
    ``solved`` are the places of further elements among the results, by matrix.
    """

    def __init__(
        self,
        matrices: Mapping[str, tuple[tuple[int, int], Mapping[Element, Expr]]],
        solved: Mapping[str, Mapping[Element, int]] | None = None,
        *,
        dense: bool = True,
    ) -> None:
        self.computed: list[Expr] = []
        self._plans: list[tuple[np.ndarray, Any, Any, Any]] = []
        for name, (shape, entries) in matrices.items():
            start = len(self.computed)
            fixed = np.zeros(shape)
            if dense and shape[0] * shape[1] <= _DENSE * (len(entries) + 16):
                self.computed += [entries.get((i, j), ZERO) for i in range(shape[0]) for j in range(shape[1])]
                self._plans.append((fixed, None, None, slice(start, len(self.computed))))
                continue
            for place, x in entries.items():
                if x.kind == "number":
                    fixed[place] = float(x.data)
            varying = {place: x for place, x in entries.items() if x.kind != "number"}
            self.computed += varying.values()
            numbers = {place: start + i for i, place in enumerate(varying)} | dict(
                (solved or {}).get(name, {})
            )
            rows, cols = np.array(list(numbers), dtype=int).reshape(-1, 2).T
            self._plans.append((fixed, rows, cols, np.array(list(numbers.values()), dtype=int)))

    def __call__(self, numbers: np.ndarray, *, first: bool = False) -> list[np.ndarray]:
        found = []
        for fixed, rows, cols, columns in self._plans:
            if rows is None:
                matrix = numbers[:, columns].reshape(len(numbers), *fixed.shape)
            else:
                matrix = np.empty((len(numbers), *fixed.shape))
                matrix[:] = fixed
                matrix[:, rows, cols] = numbers[:, columns]
            found.append(matrix[0] if first else matrix)
        return found


_KNOWN: WeakKeyDictionary[CompiledModel, dict[Any, Linearization]] = WeakKeyDictionary()


def linearization(model: CompiledModel, inputs: Sequence[str], outputs: Sequence[str]) -> Linearization:
    """The linearised equations of a model with these inputs and outputs, compiled once."""
    known = _KNOWN.setdefault(model, {})
    key = (tuple(inputs), tuple(outputs))
    if key not in known:
        known[key] = Linearization(model.equations, *key)
    return known[key]
