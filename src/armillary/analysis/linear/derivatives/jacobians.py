"""A, B, C and D of a model as compiled functions of time, state, memory and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from armillary.algebra.expression import ZERO, Expr
from armillary.algebra.walk import operands_first
from armillary.analysis.linear.derivatives.implicit import implicit_rates
from armillary.kept_results import kept_per_object
from armillary.llvm.building.routines import MatrixPlacement
from armillary.llvm.column_solution import ColumnCode
from armillary.llvm.jit import vector_doubles
from armillary.program.cost import Operations
from armillary.program.derivatives.linearization import Element, Entries, LinearForm, linear_form
from armillary.program.equations import DerivedEquations
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.programs.functions import ModelFunctions

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
        kept = "BD" if form.tangent is not None else "ABCD"  # A and C of large systems come by columns
        named = {name: (form.shapes[name], getattr(form, name)) for name in kept}
        self._code = None
        if form.solution is None:
            self._matrices = Filled(named)
            return
        for name in "AB":
            shape, entries = named[name]
            named[name] = shape, entries.known if isinstance(entries, Entries) else entries
        before = Filled(named, dense=False).computed
        self._code = ColumnCode(form.solution, before, vector_doubles())
        solved: dict[str, dict[Element, int]] = {"A": {}, "B": {}}
        for (column, k), place in self._code.places.items():
            solved[column.matrix][form.solution.rows[k], column.index] = place
        self._matrices = Filled(named, solved, dense=False)

    @cached_property
    def functions(self) -> ModelFunctions:
        """The compiled functions "matrices", of elements that vary, "dense", of all, and of large systems
        "tangent".
        """
        computed, tangent = self._matrices.computed, self.form.tangent
        placed = {"dense": self._matrices.placement("matrices")}
        if tangent is not None:
            functions = {"matrices": computed, "tangent": [*tangent.rates, *tangent.outputs]}
            return ModelFunctions(self.equations, functions, tangent.direction, search=False, placed=placed)
        if self._code is not None:  # a search finds 1 % there, and takes longer than all else
            functions, parts = {"matrices": self._code.work}, {"matrices": self._code}
            return ModelFunctions(self.equations, functions, search=False, continued=parts, placed=placed)
        search = len(operands_first(computed)) <= _SEARCHED
        return ModelFunctions(self.equations, {"matrices": computed}, search=search, placed=placed)

    @cached_property
    def _basis(self) -> tuple[Filled, ModelFunctions]:
        shape = (len(self.equations.targets.integrated), len(self.form.states))
        filled = Filled({"basis": (shape, self.form.basis)})
        return filled, filled.functions(self.equations)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation of all four matrices; of large systems those of one column."""
        return self.functions.operations["matrices" if self.form.tangent is None else "tangent"]

    def constants(self, parameters: Mapping[str, object] | None = None) -> np.ndarray:
        """Precomputed constants, to be handed to many calls with the same parameters."""
        return self.functions.constants(parameters)

    def at(
        self,
        t: float,
        state: np.ndarray,
        parameters: Mapping[str, object] | None = None,
        memory: np.ndarray | None = None,
        constants: np.ndarray | None = None,
    ) -> Matrices:
        """The matrices at one state; ``constants``, where known, replace ``parameters``."""
        if self.form.tangent is not None:
            many = self.rows(t, state[None, :], parameters, memory, constants)
            return Matrices(*(matrix[0] for matrix in many))
        numbers = self.functions("dense", t, state, parameters, memory, constants=constants)
        return Matrices(*(matrix[0] for matrix in self._matrices(numbers[None, :])))

    def rows(
        self,
        t: float | np.ndarray,
        states: np.ndarray,
        parameters: Mapping[str, object] | None = None,
        memory: np.ndarray | None = None,
        constants: np.ndarray | None = None,
    ) -> Matrices:
        """The matrices at many states, with a leading axis. Time, state, memory and parameters are those of
        all points, or have a leading axis.
        """
        tangent = self.form.tangent
        numbers = self.functions.constants(parameters) if constants is None else constants
        idle = None if tangent is None else np.zeros(len(tangent.direction))
        found = self.functions.rows("dense", t, states, None, memory, idle, numbers)
        if tangent is None:
            return Matrices(*self._matrices(found))
        B, D = self._matrices(found)
        places = np.broadcast_to(states, (len(found), states.shape[-1]))
        whole, n = self.functions.columns("tangent", t, places, memory, numbers), len(self.form.states)
        return Matrices(whole[:, :n], B, whole[:, n:], D)

    def basis(
        self,
        t: float | np.ndarray,
        states: np.ndarray,
        parameters: Mapping[str, object] | None = None,
        memory: np.ndarray | None = None,
    ) -> np.ndarray:
        """∂y/∂x of the model's whole state y by the independent variables x, with a leading axis of rows."""
        filled, functions = self._basis
        (found,) = filled(functions.rows("dense", t, states, parameters, memory))
        return found


class Filled:
    """Matrices whose elements are zero, numbers, or computed.

    ``computed`` are the results of a compiled function. Of a matrix with few zeros they are all elements; of
    one with many, or without ``dense``, they are those that vary. ``solved`` are the places of further
    elements among the results, by matrix.
    """

    def __init__(
        self,
        matrices: Mapping[str, tuple[tuple[int, int], Mapping[Element, Expr]]],
        solved: Mapping[str, Mapping[Element, int]] | None = None,
        *,
        dense: bool = True,
    ) -> None:
        self.computed: list[Expr] = []
        self._places: list[int] = []  # of all elements: among the results, or −1 − that among the numbers
        self._numbers: dict[float, int] = {}
        self._shapes = [shape for shape, _ in matrices.values()]
        for name, (shape, entries) in matrices.items():
            whole = dense and shape[0] * shape[1] <= _DENSE * (len(entries) + 16)
            known = (solved or {}).get(name, {})
            for element in np.ndindex(*shape):
                self._places.append(self._place(entries.get(element, ZERO), known.get(element), whole))

    def _place(self, x: Expr, solved: int | None, whole: bool) -> int:
        if solved is not None:
            return solved
        if x.kind == "number" and not whole:
            return -1 - self._numbers.setdefault(float(x.data), len(self._numbers))
        self.computed.append(x)
        return len(self.computed) - 1

    def placement(self, source: str) -> MatrixPlacement:
        """The step from a function of computed and solved elements to one of all elements."""
        return MatrixPlacement(source, self._places, list(self._numbers))

    def functions(self, equations: DerivedEquations) -> ModelFunctions:
        """All elements as the compiled function "dense"."""
        placed = {"dense": self.placement("elements")}
        return ModelFunctions(equations, {"elements": self.computed}, search=False, placed=placed)

    def __call__(self, rows: np.ndarray) -> list[np.ndarray]:
        """The matrices from rows of all elements."""
        found, start = [], 0
        for n, m in self._shapes:
            found.append(rows[:, start : start + n * m].reshape(len(rows), n, m))
            start += n * m
        return found


@kept_per_object
def linearization(model: CompiledModel, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Linearization:
    """The linearised equations of a model with these inputs and outputs, compiled once."""
    return Linearization(model.equations, inputs, outputs)
