"""Equations as CasADi functions: the program, node by node, as expressions of CasADi (SX), or compiled code.

    ẋ = rates(t, x, v, p)        y = outputs(t, x, v, p)

Values that the program shares are shared in CasADi's graph, and expressions of parameters alone come first,
as in the program. Numbers are in the model's own units (SI unless stated).

Compiled code has exact derivatives of first and second order:

    f(t, x, v, p)           values
    its Jacobian            ∂f/∂(t, x, v, p), sparse
    its adjoint             wᵀ ∂f/∂(t, x, v, p)
    the adjoint's Jacobian  ∂²(wᵀ f)/∂(t, x, v, p)², and ∂f/∂(t, x, v, p) by w

CasADi requests these when it differentiates an expression that calls f. Nothing is expanded into its graph,
and no C compiler is needed: each function is a callback of machine code made from the symbolic program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import checked_names, one_of, several
from armillary.algebra.expression import Expr
from armillary.algebra.walk import operands_first
from armillary.control.knot_functions import KnotFunctions, Knots
from armillary.control.plant import check_smooth, input_ports, state_ports
from armillary.control.problem import ExpressionReader
from armillary.errors import ArmillaryError, ParameterError, require
from armillary.program.equations import DerivedEquations
from armillary.program.sensitivities import outputs_of
from armillary.runtime.models.parameters import parameter_table
from armillary.runtime.start.initial import initial_memory
from armillary.untyped import LibraryObject

Ports = Mapping[str, LibraryObject]  # CasADi's sparsities of arguments or results, by name
Call = Callable[[list[np.ndarray]], list[object]]
Derivative = Callable[[str, list[str], list[str]], LibraryObject]


def make_callback(
    casadi: LibraryObject,
    label: str,
    given: Ports,
    results: Ports,
    call: Call,
    jacobian: Derivative | None = None,
    reverse: Derivative | None = None,
) -> LibraryObject:
    """Return a CasADi function that calls the Python function ``call``.

    ``call`` returns the structural nonzeros of each result. ``jacobian`` and ``reverse`` make the functions
    of the derivatives, with names that CasADi chooses. CasADi holds no reference to a callback: the caller
    must keep the returned object.
    """

    class Function(casadi.Callback):  # type: ignore[misc]  # CasADi has no types
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.construct(label, {})

        def get_n_in(self) -> int:
            return len(given)

        def get_n_out(self) -> int:
            return len(results)

        def get_name_in(self, i: int) -> str:
            return list(given)[i]

        def get_name_out(self, i: int) -> str:
            return list(results)[i]

        def get_sparsity_in(self, i: int) -> LibraryObject:
            return list(given.values())[i]

        def get_sparsity_out(self, i: int) -> LibraryObject:
            return list(results.values())[i]

        def eval(self, arguments: list[LibraryObject]) -> list[LibraryObject]:
            found = call([np.array(a, dtype=float).ravel(order="F") for a in arguments])
            arrays = [np.array(value, dtype=float, ndmin=1) for value in found]
            return [casadi.DM(s, a) for s, a in zip(results.values(), arrays, strict=True)]

        def has_jacobian(self) -> bool:
            return jacobian is not None

        def get_jacobian(
            self, name: str, inames: list[str], onames: list[str], options: object
        ) -> LibraryObject:
            assert jacobian is not None
            return jacobian(name, list(inames), list(onames))

        def has_reverse(self, count: int) -> bool:
            return reverse is not None and count == 1

        def get_reverse(
            self, count: int, name: str, inames: list[str], onames: list[str], options: object
        ) -> LibraryObject:
            assert reverse is not None
            return reverse(name, list(inames), list(onames))

    return Function()


LABELS = ("t", "x", "v", "p")


@dataclass(frozen=True, eq=False)
class Arguments:
    """Sizes of the arguments t, x, v, p, indices of v in the memory, and the memory's other values."""

    sizes: tuple[int, int, int, int]
    places: tuple[int, ...]
    memory: np.ndarray

    def knots(self, given: Sequence[np.ndarray]) -> Knots:
        """Return the arguments as a single knot."""
        t, x, v, p = given
        memory = np.array(self.memory, ndmin=2)
        memory[0, list(self.places)] = v
        return Knots(np.array(t, dtype=float), x[None], memory, p[None])

    def spans(self) -> dict[str, slice]:
        """Return the slices of the arguments among the functions' variables, whose order is x, v, p, t."""
        t, x, v, p = self.sizes
        return {
            "t": slice(x + v + p, x + v + p + t), "x": slice(0, x),
            "v": slice(x, x + v), "p": slice(x + v, x + v + p),
        }  # fmt: skip


class ExternalFunction:
    """One function for CasADi; ``made`` holds its callbacks, since CasADi keeps no reference to them."""

    def __init__(
        self, casadi: LibraryObject, name: str, functions: KnotFunctions, arguments: Arguments
    ) -> None:
        self.casadi, self.name, self.functions, self.arguments = casadi, name, functions, arguments
        self.length = len(functions.results)
        self.made: list[LibraryObject] = []
        dense = casadi.Sparsity.dense
        self._given = {label: dense(n, 1) for label, n in zip(LABELS, arguments.sizes, strict=True)}
        self._result = {name: dense(self.length, 1)}
        self.function = self._callback(
            name, self._given, self._result, self._values, jacobian=self._jacobian, reverse=self._reverse
        )

    # ------------------------------------------------------------ numbers

    def _values(self, a: list[np.ndarray]) -> list[np.ndarray]:
        return [self.functions.values(self.arguments.knots(a[:4]))[0]]

    def _jacobian_values(self, a: list[np.ndarray]) -> list[np.ndarray]:
        whole = self.functions.dense_jacobian(self.arguments.knots(a[:4]))[0]
        return [whole[:, span] for span in self._argument_slices()]

    def _adjoint_values(self, a: list[np.ndarray]) -> list[np.ndarray]:
        seed = a[5].reshape(-1, self.length).T if a[5].size != self.length else a[5][:, None]
        whole = self.functions.dense_jacobian(self.arguments.knots(a[:4]))[0]
        return [whole[:, span].T @ seed for span in self._argument_slices()]

    def _hessian_values(self, a: list[np.ndarray]) -> list[np.ndarray]:
        at = self.arguments.knots(a[:4])
        first = self.functions.dense_jacobian(at)[0]
        second = self.functions.dense_hessian(at, a[5][None])[0]
        found: list[np.ndarray] = []
        for row in self._argument_slices():
            found += [second[row, column] for column in self._argument_slices()]
            size = row.stop - row.start
            found += [np.zeros((size, self.length)), first[:, row].T]
        return found

    def _argument_slices(self) -> list[slice]:
        spans = self.arguments.spans()
        return [spans[label] for label in LABELS]

    # ------------------------------------------------------------ derivatives that CasADi requests

    def _jacobian(self, name: str, inames: list[str], onames: list[str]) -> LibraryObject:
        casadi, pattern = self.casadi, self.functions.jacobian_pattern
        blocks = {}
        for label, span in zip(onames, self._argument_slices(), strict=True):
            inside = (pattern.columns >= span.start) & (pattern.columns < span.stop)
            rows, columns = pattern.rows[inside].tolist(), (pattern.columns[inside] - span.start).tolist()
            blocks[label] = casadi.Sparsity.triplet(self.length, span.stop - span.start, rows, columns)
        given = dict(zip(inames, [*self._given.values(), *self._result.values()], strict=True))
        return self._callback(name, given, blocks, self._jacobian_values)

    def _reverse(self, name: str, inames: list[str], onames: list[str]) -> LibraryObject:
        dense = self.casadi.Sparsity.dense
        given = [*self._given.values(), *self._result.values(), dense(self.length, 1)]
        results = {label: dense(n, 1) for label, n in zip(onames, self.arguments.sizes, strict=True)}
        return self._callback(
            name, dict(zip(inames, given, strict=True)), results, self._adjoint_values,
            jacobian=self._adjoint_jacobian,
        )  # fmt: skip

    def _adjoint_jacobian(self, name: str, inames: list[str], onames: list[str]) -> LibraryObject:
        casadi = self.casadi
        sizes = [*self.arguments.sizes, self.length, self.length]
        given = [casadi.Sparsity.dense(n, 1) for n in (*sizes, *self.arguments.sizes)]
        shapes = [(row, column) for row in self.arguments.sizes for column in sizes]
        results = {
            label: casadi.Sparsity(*shape) if i % 6 == 4 else casadi.Sparsity.dense(*shape)
            for i, (label, shape) in enumerate(zip(onames, shapes, strict=True))
        }
        return self._callback(name, dict(zip(inames, given, strict=True)), results, self._hessian_values)

    def _callback(
        self,
        name: str,
        given: dict[str, LibraryObject],
        results: dict[str, LibraryObject],
        call: Callable[[list[np.ndarray]], list[np.ndarray]],
        jacobian: Derivative | None = None,
        reverse: Derivative | None = None,
    ) -> LibraryObject:
        places = [
            (np.array(s.row(), dtype=int), np.repeat(np.arange(s.size2()), np.diff(s.colind())))
            for s in results.values()
        ]

        def elements(arguments: list[np.ndarray]) -> list[object]:
            found = (v[:, None] if v.ndim == 1 else v for v in call(arguments))
            return [v[place] for v, place in zip(found, places, strict=True)]

        self.made.append(make_callback(self.casadi, name, given, results, elements, jacobian, reverse))
        return self.made[-1]


@dataclass(frozen=True, eq=False)
class CasadiFunctions:
    """CasADi functions of (t, x, v, p): rates of the states, and outputs.

    ``states``, ``inputs``, ``parameters`` and ``output_names`` name the elements of x, v, p and y;
    ``defaults`` are the parameters' values, NaN if the description has none. Outputs are in stated units
    (those of the description), all other numbers in the model's own units. Keep this object as long as
    CasADi uses functions of kind "external": its field ``kept`` holds their callbacks.
    """

    rates: LibraryObject
    outputs: LibraryObject
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    output_names: tuple[str, ...]
    defaults: np.ndarray
    kept: tuple[object, ...] = ()


KINDS = ("expressions", "external")


def to_casadi(
    equations: DerivedEquations,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    *,
    kind: str = "expressions",
    parameters: Sequence[str] | None = None,
) -> CasadiFunctions:
    """Return CasADi functions of (t, x, v, p): the states' rates and the outputs.

    ``inputs`` names the inputs (``s.input``) that form v, by default all; other inputs keep their defaults.
    ``outputs`` selects outputs as in ``with_sensitivities``. Numbers are in the model's own units.

    ``kind`` is "expressions" (SX), which CasADi differentiates, or "external": functions that call compiled
    code and have exact Jacobians, adjoints and Hessians. In external functions p consists of the parameters
    named by ``parameters``, the others have their defaults, and the model may have tables and user functions.
    """
    one_of(kind, KINDS, "kind=")
    casadi = require("casadi", extra="casadi", purpose="to make functions of CasADi")
    check_smooth(equations)
    if kind == "external":
        return _external(casadi, equations, inputs, outputs, parameters)
    if parameters is not None:
        raise ParameterError(
            "parameters= is for kind='external'; functions of kind='expressions' take all parameters"
        )
    system, program = equations.system, equations.program
    known = [name for name, m in system.memories.items() if m.input]
    names = known if inputs is None else [str(name) for name in several(inputs, "inputs=")]
    checked_names(names, known, f"'{system.name}' has no input", ParameterError)
    steered = input_ports(equations, names) if names else ()
    wanted = outputs_of(equations, None if outputs is None else tuple(outputs))
    table = parameter_table(equations)
    t, x = casadi.SX.sym("t"), casadi.SX.sym("x", len(program.state))
    v, p = casadi.SX.sym("v", len(steered)), casadi.SX.sym("p", len(program.parameters))
    values: dict[Expr, LibraryObject] = {program.time: t}
    values |= {s: x[i] for i, s in enumerate(program.state)}
    values |= {s: p[i] for i, s in enumerate(program.parameters)}
    start = dict(zip(program.memory, initial_memory(equations), strict=True))
    values |= {s: casadi.SX(float(number)) for s, number in start.items()}
    values |= {port.symbol: v[j] for j, port in enumerate(steered)}
    _evaluate(casadi, program.precompute.results, values)
    values |= {
        c: values[r]
        for c, r in zip(program.constants, program.precompute.results, strict=True)
        if r in values
    }
    rates = _evaluate(casadi, program.derivatives.results, values)
    columns = {c.name: i for i, c in enumerate(equations.targets.columns)}
    shown = [program.outputs.results[columns[name]] for name in wanted]
    found = _evaluate(casadi, shown, values)
    arguments, labels = [t, x, v, p], ["t", "x", "v", "p"]

    def function(name: str, results: list[LibraryObject]) -> LibraryObject:
        return casadi.Function(name, arguments, [casadi.vertcat(*results)], labels, [name])

    defaults = [math.nan if d is None else float(d) for d in table.defaults]
    return CasadiFunctions(
        function("rates", rates), function("outputs", found),
        tuple(port.name for port in state_ports(equations)), tuple(names),
        tuple(s.data.name for s in program.parameters), wanted,
        np.array(defaults) * np.array(table.factors),
    )  # fmt: skip


def _external(
    casadi: LibraryObject,
    equations: DerivedEquations,
    inputs: Sequence[str] | None,
    outputs: Sequence[str] | None,
    parameters: Sequence[str] | None,
) -> CasadiFunctions:
    """Return functions that call compiled code."""
    system, t = equations.system, equations.targets
    known = [name for name, m in system.memories.items() if m.input]
    names = known if inputs is None else [str(name) for name in several(inputs, "inputs=")]
    checked_names(names, known, f"'{system.name}' has no input", ParameterError)
    steered = input_ports(equations, names) if names else ()
    free = dict.fromkeys([str(p) for p in several(parameters or (), "parameters=")], (None, None))
    reader = ExpressionReader(equations, free, None, "parameters=")
    states = state_ports(equations)
    unknown = [p.symbol for p in reader.ports]
    by = [*(p.symbol for p in states), *(p.symbol for p in steered), *unknown, t.time]
    wanted = outputs_of(equations, None if outputs is None else tuple(outputs))
    columns = {c.name: c.expression for c in t.columns}
    memories = list(system.memories)
    sizes = (1, len(states), len(steered), len(unknown))
    places = tuple(memories.index(p.name) for p in steered)
    made = [
        ExternalFunction(
            casadi, label, KnotFunctions(equations, reader.substitute_unknowns(list(results)), by, unknown),
            Arguments(sizes, places, initial_memory(equations)),
        )
        for label, results in (("rates", t.rates), ("outputs", [columns[name] for name in wanted]))
    ]  # fmt: skip
    table = dict(zip((s.data.name for s in equations.program.parameters), parameter_table(equations).defaults,
                     strict=True))  # fmt: skip
    defaults = [math.nan if (d := table.get(p.name)) is None else float(d) * p.factor for p in reader.ports]
    return CasadiFunctions(
        made[0].function, made[1].function, tuple(p.name for p in states), tuple(names),
        tuple(p.name for p in reader.ports), wanted, np.array(defaults), tuple(made),
    )  # fmt: skip


def _evaluate(
    casadi: LibraryObject, results: Iterable[Expr], values: dict[Expr, LibraryObject]
) -> list[LibraryObject]:
    """Return the results as expressions of CasADi; each node is made once and kept in ``values``."""
    results = list(results)
    functions = _functions(casadi)
    for node in operands_first(results, values):
        if node in values:
            continue
        if node.kind == "number":
            values[node] = casadi.SX(float(node.data))
        elif node.kind == "symbol":
            raise ArmillaryError(f"'{node}' has no value in CasADi's functions")
        else:
            values[node] = _node(node, [values[a] for a in node.args], functions)
    return [values[r] for r in results]


def _node(
    node: Expr, args: list[LibraryObject], functions: dict[str, Callable[..., LibraryObject]]
) -> LibraryObject:
    if node.kind == "sum":
        constant, coefficients = node.data
        whole: LibraryObject = constant
        for c, x in zip(coefficients, args, strict=True):
            whole = whole + (x if c == 1 else -x if c == -1 else c * x)
        return whole
    if node.kind == "product":
        coefficient, exponents = node.data
        whole = float(coefficient)
        for n, x in zip(exponents, args, strict=True):
            factor = x if abs(n) == 1 else x**0.5 if abs(n) == 0.5 else x ** abs(n)
            whole = whole * factor if n > 0 else whole / factor
        return whole
    if node.kind == "let":
        return args[0]
    if isinstance(node.data, str) and node.data in functions:
        return functions[node.data](*args)
    raise ArmillaryError(
        f"'{node}' calls a table or a function of the user, which CasADi's expressions do not have; "
        "use kind='external', whose functions call compiled code"
    )


def _functions(casadi: LibraryObject) -> dict[str, Callable[..., LibraryObject]]:
    """Return CasADi's functions by the names in our expressions."""
    same = (
        "sin",
        "cos",
        "tan",
        "tanh",
        "asin",
        "acos",
        "atan",
        "exp",
        "log",
        "sign",
        "floor",
        "ceil",
        "atan2",
    )
    found = {name: getattr(casadi, name) for name in same}
    return found | {
        "abs": casadi.fabs,
        "pow": casadi.power,
        "min": casadi.fmin,
        "max": casadi.fmax,
        "mod": lambda x, y: x - y * casadi.floor(x / y),
        "select": lambda c, a, b: casadi.if_else(c, a, b),
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "and": casadi.logic_and,
        "or": casadi.logic_or,
        "not": casadi.logic_not,
    }
