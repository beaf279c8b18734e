"""The matrices A, B, C, D of linear models: as compiled functions, numbers with names, and expressions; and
the descriptor form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armillary.algebra.arguments import several
from armillary.algebra.calculus import NumericValue, evaluate_all
from armillary.algebra.expression import ZERO, Expr, number
from armillary.algebra.walk import operands_first, transform
from armillary.analysis.linear.rates import implicit_rates
from armillary.analysis.result_files import SavedResult
from armillary.cache import kept_per_object
from armillary.errors import ArmillaryError, nearest
from armillary.llvm.building.routines import MatrixPlacement
from armillary.llvm.column_solution import ColumnCode
from armillary.llvm.jit import vector_doubles
from armillary.program import linearization as linearization_form
from armillary.program.equations import DerivedEquations
from armillary.program.linearization import Element, Entries, LinearForm, Variable, linear_form
from armillary.program.passes.graph import Operations
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.text_tables import html_table
from armillary.untyped import DataMapping

if TYPE_CHECKING:
    from armillary.results.plots.motion import MotionPicture

_DENSE = 4  # a matrix is computed with its zeros if it has at most this many elements per nonzero one
_SEARCHED = 3000  # most nodes for a search of common factors, which saves up to a third of the operations


class Matrices(NamedTuple):
    """A, B, C, D of δẋ = A δx + B δv, δy = C δx + D δv; with a leading axis for many points."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray


class Linearization:
    """The linearised equations of a model in the model's own units (SI unless stated), at any state.

        jacobians = Linearization(model.equations, inputs=["F"], outputs=["tip"])
        A, B, C, D = jacobians.at(t, state)
        A, B, C, D = jacobians.rows(t, states, parameters={"k": array})      one compiled loop

    ``form`` holds the variables and the expressions. One function computes the elements that are not
    constant numbers.
    """

    def __init__(
        self,
        equations: DerivedEquations,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        *,
        open_loops: bool = False,
        picture: MotionPicture | None = None,
    ) -> None:
        self.equations, self.picture = equations, picture
        self.form: LinearForm = linear_form(equations, inputs, outputs, implicit_rates, open_loops=open_loops)
        form = self.form
        kept = "BD" if form.tangent is not None else "ABCD"  # in large systems A and C come column by column
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
        """The compiled functions "matrices" (elements that vary), "dense" (all elements) and, in large
        systems, "tangent" (the product of A and C with a direction).
        """
        computed, tangent = self._matrices.computed, self.form.tangent
        placed = {"dense": self._matrices.placement("matrices")}
        if tangent is not None:
            functions = {"matrices": computed, "tangent": [*tangent.rates, *tangent.outputs]}
            return ModelFunctions(self.equations, functions, tangent.direction, search=False, placed=placed)
        if self._code is not None:  # in large systems a search saves 1 % and takes most of the time
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
        """Operations of one evaluation of all four matrices; in large systems, of one column of A and C."""
        return self.functions.operations["matrices" if self.form.tangent is None else "tangent"]

    def constants(self, parameters: Mapping[str, object] | None = None) -> np.ndarray:
        """Return the precomputed constants, for repeated calls with the same parameters."""
        return self.functions.constants(parameters)

    def at(
        self,
        t: float,
        state: np.ndarray,
        parameters: Mapping[str, object] | None = None,
        memory: np.ndarray | None = None,
        constants: np.ndarray | None = None,
    ) -> Matrices:
        """Return the matrices at one state; ``constants``, if given, replace ``parameters``."""
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
        """Return the matrices at many states, with a leading axis.

        Each of time, state, memory and parameters has a leading axis or is shared by all points.
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
        """Return ∂y/∂x of the model's whole state y by the independent variables x, with a leading axis."""
        filled, functions = self._basis
        (found,) = filled(functions.rows("dense", t, states, parameters, memory))
        return found


class Filled:
    """Matrices whose elements are zero, numbers, or computed.

    ``computed`` are the results of a compiled function: all elements of a matrix with few zeros, but only the
    varying elements of a matrix with many zeros, and of every matrix if not ``dense``. The elements in
    ``solved`` are computed by other code; ``solved`` gives the index of each in the results, by matrix and
    element.
    """

    def __init__(
        self,
        matrices: Mapping[str, tuple[tuple[int, int], Mapping[Element, Expr]]],
        solved: Mapping[str, Mapping[Element, int]] | None = None,
        *,
        dense: bool = True,
    ) -> None:
        self.computed: list[Expr] = []
        self._places: list[int] = []  # index of each element in the results, or −1 − its index in the numbers
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
        """Return the placement that turns computed and solved elements into all elements."""
        return MatrixPlacement(source, self._places, list(self._numbers))

    def functions(self, equations: DerivedEquations) -> ModelFunctions:
        """Return all elements as the compiled function "dense"."""
        placed = {"dense": self.placement("elements")}
        return ModelFunctions(equations, {"elements": self.computed}, search=False, placed=placed)

    def __call__(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the matrices from rows of all elements."""
        found, start = [], 0
        for n, m in self._shapes:
            found.append(rows[:, start : start + n * m].reshape(len(rows), n, m))
            start += n * m
        return found


@kept_per_object
def linearization(model: CompiledModel, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Linearization:
    """Return the linearised equations of a model with these inputs and outputs, compiled once."""
    return Linearization(model.equations, inputs, outputs, picture=model.picture)


# The numbers and names of a linear model, on which its analyses work.


@dataclass(frozen=True, eq=False, repr=False)
class LinearMatrices(SavedResult):
    """Matrices, names, units and the operating point of a linear model.

    Analyses work on this record. `LinearModel`, which users hold, adds the methods that call the analyses.
    """

    _kind, _mark = "a linear model", "armillary_linear_model"
    _of_process = ("linearization",)

    system: str
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    variables: tuple[tuple[Variable, ...], tuple[Variable, ...], tuple[Variable, ...]]
    time: NumericValue = 0.0
    state: np.ndarray = field(default_factory=lambda: np.empty(0))
    memory: np.ndarray = field(default_factory=lambda: np.empty(0))
    parameters: DataMapping = field(default_factory=dict)
    operating_point: DataMapping = field(default_factory=dict)
    input_values: DataMapping = field(default_factory=dict)  # of the inputs at the operating point
    linearization: Linearization | None = None  # the compiled functions behind A, B, C and D
    step: float | None = None  # seconds between samples of a discrete model; None for continuous time
    note: str = ""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return tuple(v.name for v in self.variables[0])

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(v.name for v in self.variables[1])

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(v.name for v in self.variables[2])

    @property
    def units(self) -> dict[str, str]:
        """Units of states, inputs and outputs by name."""
        return {v.name: v.units for group in self.variables for v in group}

    @property
    def many(self) -> bool:
        """Whether there are many operating points."""
        return self.A.ndim == 3

    def __len__(self) -> int:
        """The number of operating points."""
        return len(self.A) if self.many else 1

    def single(self, what: str) -> None:
        """Raise an error if there are many operating points."""
        if self.many:
            raise ArmillaryError(
                f"{what} needs one operating point, but this linear model has {len(self)}; take one, lin[0]"
            )

    def poles(self) -> np.ndarray:
        """Eigenvalues of A, per second (of a discrete model: per step); a row for each operating point."""
        return np.linalg.eigvals(self.A).astype(complex)

    def _continuous(self, what: str) -> None:
        self.single(what)
        if self.step is not None:
            raise ArmillaryError(f"{what} needs a continuous model; call it before discretize")

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Return tables with a row for each rate of a state and each output, and a column per state and
        input.
        """
        columns = [*self.variables[0], *self.variables[1]]
        found = []
        for title, rows, left, right in (
            ("rates of states", self.variables[0], self.A, self.B),
            ("outputs", self.variables[2], self.C, self.D),
        ):
            if not rows:
                continue
            values = np.hstack([left, right])
            labels = [f"{v.name}'" if rows is self.variables[0] else _label_with_units(v) for v in rows]
            body = [[label, *(f"{x:.5g}" for x in row)] for label, row in zip(labels, values, strict=True)]
            found.append((title, ["", *(_label_with_units(v) for v in columns)], body))
        return found


def _label_with_units(v: Variable) -> str:
    units = label_units(v.units)
    return f"{v.name} ({units})" if units else v.name


# Linear models as expressions of the parameters.

Rows = tuple[tuple[Expr, ...], ...]
_NOTHING = 1e-12  # coordinates and speeds below this count as zero


@dataclass(frozen=True, eq=False, repr=False)
class SymbolicLinearModel:
    """A, B, C and D as rows of expressions, in the stated units of states, inputs and outputs.

    The expressions contain parameters and the variables named in ``keep``; ``at`` evaluates them.
    """

    system: str
    A: Rows
    B: Rows
    C: Rows
    D: Rows
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def at(self, values: Mapping[str, float]) -> dict[str, np.ndarray]:
        """Return A, B, C and D as arrays for these values of the symbols, in the model's own units."""
        found = {}
        for name, shape in self._shapes().items():
            flat = [x for row in getattr(self, name) for x in row]
            found[name] = np.array(evaluate_all(flat, values), dtype=float).reshape(shape)
        return found

    def _shapes(self) -> dict[str, tuple[int, int]]:
        n, m, p = len(self.states), len(self.inputs), len(self.outputs)
        return {"A": (n, n), "B": (n, m), "C": (p, n), "D": (p, m)}

    def _lines(self) -> list[list[str]]:
        """Return the nonzero elements as [output or rate, variable, expression]."""
        columns = (*self.states, *self.inputs)
        lines = []
        for rows, names, left, right in (
            ("'", self.states, self.A, self.B),
            ("", self.outputs, self.C, self.D),
        ):
            for i, name in enumerate(names):
                values = (*left[i], *right[i])
                lines += [
                    [f"{name}{rows}", by, str(x)]
                    for by, x in zip(columns, values, strict=True)
                    if x is not ZERO
                ]
        return lines

    def __repr__(self) -> str:
        return "\n".join(f"∂({of})/∂({by}) = {x}" for of, by, x in self._lines())

    def _repr_html_(self) -> str:
        return html_table(["of", "by", ""], self._lines(), "<<<", caption=f"Linear model of {self.system}")


def symbolic(lin: LinearMatrices, keep: Sequence[str] = ()) -> SymbolicLinearModel:
    """Return the linear model as expressions of the parameters.

    Coordinates, speeds, states, memories and time are replaced by their values at the operating point; the
    variables named in ``keep`` stay symbols.
    """
    lin.single("symbolic")
    if lin.linearization is None:
        raise ArmillaryError(
            "this linear model has only numbers (it was loaded, reduced, discretised or cut); call "
            "symbolic() on the result of model.linearize"
        )
    form, t = lin.linearization.form, lin.linearization.equations.targets
    if len(form.states) * lin.linearization.equations.operations.total > linearization_form.WRITTEN_OUT:
        raise ArmillaryError(
            f"the matrices of '{lin.system}' are too long to be written out: {len(form.states)} states, with "
            f"{lin.linearization.equations.operations.total} operations for their rates; lin.A has numbers"
        )
    kept = {str(name) for name in several(keep, "keep=")}
    symbols = [*t.integrated, *t.memory, t.time]
    names = [s.data.name for s in symbols]
    for name in kept - set(names):
        raise ArmillaryError(f"keep=: there is no variable '{name}'{nearest(name, names)}")
    values = [*np.atleast_1d(lin.state), *np.atleast_1d(lin.memory), float(lin.time)]
    at = {
        s: number(0 if abs(x) < _NOTHING else float(x))
        for s, x in zip(symbols, values, strict=True)
        if s.data.name not in kept
    }

    def rows(entries: Mapping[Element, Expr], above: Sequence[Variable], right: Sequence[Variable]) -> Rows:
        found = dict(zip(entries, transform(entries.values(), at.get), strict=True))

        def element(i: int, j: int) -> Expr:
            x, factor = found.get((i, j), ZERO), right[j].factor / above[i].factor
            return x if factor == 1.0 else x * factor

        return tuple(tuple(element(i, j) for j in range(len(right))) for i in range(len(above)))

    x, v, y = form.states, form.inputs, form.outputs
    return SymbolicLinearModel(
        lin.system, rows(form.A, x, x), rows(form.B, x, v), rows(form.C, y, x), rows(form.D, y, v),
        lin.states, lin.inputs, lin.outputs,
    )  # fmt: skip


# Linear models with open loops: all positions are states, and constraints are rows of the equations.
#
#     E δẋ = A δx + B δv          δy = C δx + D δv
#
# E is diagonal: 1 for states that have a rate, 0 for positions that a constraint determines. The row of such
# a position is the constraint's gap, 0 = ∂Φ/∂q δq + ∂Φ/∂v δv. The finite eigenvalues belong to the
# independent states.


@dataclass(frozen=True, eq=False, repr=False)
class DescriptorModel:
    """E, A, B, C and D in stated units; rows of constraints in the model's own units."""

    system: str
    E: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constrained: tuple[str, ...]  # positions whose rows are constraints

    def poles(self) -> np.ndarray:
        """Return the finite eigenvalues of (A, E)."""
        from scipy.linalg import eigvals

        above, below = eigvals(self.A, self.E, homogeneous_eigvals=True)
        size = np.abs(above) + np.abs(below)
        order = np.argsort(-np.abs(below) / np.where(size > 0, size, 1.0))
        finite = order[: len(self.states) - len(self.constrained)]
        return np.asarray(above[finite] / below[finite])

    def __repr__(self) -> str:
        states = f"{len(self.states)} states, {len(self.constrained)} determined by constraints"
        return f"DescriptorModel({self.system!r}: {states})"


def descriptor(lin: LinearMatrices) -> DescriptorModel:
    """Return E δẋ = A δx + B δv with open loops: all positions are states, and constraints are rows."""
    lin.single("descriptor")
    if lin.linearization is None:
        raise ArmillaryError(
            "this linear model has only numbers (it was loaded, reduced, discretised or cut); call "
            "descriptor() on the result of model.linearize"
        )
    made = Linearization(lin.linearization.equations, lin.inputs, lin.outputs, open_loops=True)
    form = made.form
    A, B, C, D = made.at(float(lin.time), lin.state, lin.parameters, lin.memory)
    x, v, y = (np.array([v.factor for v in group]) for group in (form.states, form.inputs, form.outputs))
    left = x.copy()
    left[list(form.algebraic)] = 1.0
    E = np.eye(len(x))
    E[form.algebraic, form.algebraic] = 0.0
    states, inputs, outputs = (
        tuple(v.name for v in group) for group in (form.states, form.inputs, form.outputs)
    )
    constrained = tuple(states[i] for i in form.algebraic)
    A, B = A * x / left[:, None], B * v / left[:, None]
    C, D = C * x / y[:, None], D * v / y[:, None]
    return DescriptorModel(lin.system, E, A, B, C, D, states, inputs, outputs, constrained)
