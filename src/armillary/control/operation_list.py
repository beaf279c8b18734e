"""Expressions as a list of operations, which one routine for all models carries out for many points together.

An operation makes a row of numbers, one for each point of a block, from rows:

    add      c = a + b            fuse     d = a·b + c           take     d = c − a·b
    call     c = f(a, b), a function of the C library, point by point

No code is compiled for a model: preparing a list takes a few microseconds per operation, compilation by LLVM
some thirty. The routine decodes each operation once for a block of points (16 with AVX-512). So from about
ten points on, a list is as fast as machine code without optimisation; optimised code is several times as
fast. Rows that depend on parameters alone are computed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.walk import operands_first
from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import ADDRESS, REAL, WHOLE, Callee, FunctionType, IRModule
from armillary.llvm.building.routines import (
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    real_array,
    routine_function,
    whole_array,
)
from armillary.llvm.jit import LIBRARY_FUNCTIONS, library_addresses, register_doubles

_VECTORS = 2  # vector registers per row: the processor overlaps their operations
_WORDS = 5  # words of an operation: its kind, the row of its result, and three rows or numbers

_LAYOUT = RoutineLayout(
    numbers=(
        *("points", "fixed", "operations", "results", "state_inputs", "memory_inputs"),
        *("time_row", "time_stride", "state_stride", "memory_stride", "out_stride"),
    ),
    addresses=(
        *("code", "room", "library", "state_places", "state_rows", "memory_places", "memory_rows"),
        *("result_rows", "times", "states", "memory", "out"),
    ),
)

Emit = Callable[[Routine, Value, Value, Value], Value]


def _truth(f: Routine, flag: Value) -> Value:
    return f.choose(flag, f.of_kind(f.kind, 1.0), f.of_kind(f.kind, 0.0))


_OPERATIONS: Mapping[str, tuple[int, Emit]] = {  # number of operands, and the code that makes the result
    "add": (2, lambda f, a, b, c: a + b),
    "sub": (2, lambda f, a, b, c: a - b),
    "mul": (2, lambda f, a, b, c: a * b),
    "div": (2, lambda f, a, b, c: a / b),
    "fuse": (3, lambda f, a, b, c: Value(f, f.fused_product_sum(a.raw, b.raw, c.raw))),
    "take": (3, lambda f, a, b, c: Value(f, f.fused_product_sum(f.builder.negative(a.raw), b.raw, c.raw))),
    "sqrt": (1, lambda f, a, b, c: f.root(a)),
    "abs": (1, lambda f, a, b, c: f.magnitude(a)),
    "floor": (1, lambda f, a, b, c: f.intrinsic("floor", a)),
    "ceil": (1, lambda f, a, b, c: f.intrinsic("ceil", a)),
    "sign": (1, lambda f, a, b, c: f.choose(a > 0.0, 1.0, f.choose(a < 0.0, -1.0, a))),  # 0 or NaN
    "min": (2, lambda f, a, b, c: f.intrinsic("minimum", a, b)),
    "max": (2, lambda f, a, b, c: f.intrinsic("maximum", a, b)),
    "lt": (2, lambda f, a, b, c: _truth(f, a < b)),
    "le": (2, lambda f, a, b, c: _truth(f, a <= b)),
    "gt": (2, lambda f, a, b, c: _truth(f, a > b)),
    "ge": (2, lambda f, a, b, c: _truth(f, a >= b)),
    "eq": (2, lambda f, a, b, c: _truth(f, a.equals(b))),
    "ne": (2, lambda f, a, b, c: _truth(f, a.differs(b))),
    "and": (2, lambda f, a, b, c: _truth(f, a.differs(0.0) & b.differs(0.0))),
    "or": (2, lambda f, a, b, c: _truth(f, a.differs(0.0) | b.differs(0.0))),
    "not": (1, lambda f, a, b, c: _truth(f, a.equals(0.0))),
    "select": (3, lambda f, a, b, c: f.choose(a.differs(0.0), b, c)),
}
_CODES = {name: i for i, name in enumerate(_OPERATIONS)}
_CALL = len(_CODES)  # kind of a call with one argument; _CALL + 1 is a call with two
_LIBRARY = {name: i for i, name in enumerate(LIBRARY_FUNCTIONS)}
_CALLED = {*_LIBRARY} - {"floor", "ceil", "fma", "fmod"}

Operation = list[int]


class OperationList:
    """The operations of some results; ``operation_list`` returns `None` if they need other operations.

    ``states``, ``memory`` and ``parameters`` are the symbols of inputs, in the order of their values.
    """

    def __init__(
        self,
        results: Sequence[Expr],
        time: Expr,
        states: Sequence[Expr],
        memory: Sequence[Expr],
        parameters: Sequence[Expr],
    ) -> None:
        writer = _Writer(results, {time, *states, *memory}, parameters)
        at = {s: i for i, s in enumerate(states)}, {s: i for i, s in enumerate(memory)}
        found = [writer.value(r) for r in results]
        self._parameters = [(writer.rows[s], i) for i, s in enumerate(parameters) if s in writer.rows]
        self.needed = frozenset(s.data.name for s in parameters if s in writer.rows)
        used = [[(rows[s], i) for s, i in own.items() if s in rows] for own in at for rows in [writer.rows]]
        entered = [row for inputs in used for row, _ in inputs]
        if time in writer.rows:
            entered.append(writer.rows[time])
        place, self._rows = _allocate(writer, entered, found)
        self._numbers = [(place[row], number) for number, row in writer.numbers.items()]
        self._parameters = [(place[row], i) for row, i in self._parameters]
        code = [_fill_words(operation, place) for operation in (*writer.fixed, *writer.varying)]
        rows = [whole_array([place[row] for row, _ in inputs]) for inputs in used]
        self._arrays = {
            "code": whole_array(np.array(code, dtype=np.int64).ravel()),
            "library": whole_array([library_addresses()[name] for name in _LIBRARY]),
            "state_places": whole_array([i for _, i in used[0]]), "state_rows": rows[0],
            "memory_places": whole_array([i for _, i in used[1]]), "memory_rows": rows[1],
            "result_rows": whole_array([place[row] for row in found]),
        }  # fmt: skip
        self._sizes = {
            "fixed": len(writer.fixed), "operations": len(code), "results": len(found),
            "state_inputs": len(used[0]), "memory_inputs": len(used[1]),
            "time_row": place[writer.rows[time]] if time in writer.rows else -1,
        }  # fmt: skip
        self.length = len(found)

    def bind(
        self, parameters: Sequence[float], t: np.ndarray, states: np.ndarray, memory: np.ndarray,
        out: np.ndarray,
    ) -> Callable[[], None]:  # fmt: skip
        """Return a function that evaluates the results, into ``out``, at the rows of arrays.

        The arrays must not be reallocated. Parameters are numbers in the model's own units.
        """
        width = register_doubles() * _VECTORS
        room = real_array(np.zeros(self._rows * width))
        table = room.reshape(-1, width)
        for row, number in self._numbers:
            table[row] = number
        for row, i in self._parameters:
            table[row] = parameters[i]
        arrays = {"times": t, "states": states, "memory": memory, "out": out, "room": room}
        strides = {f"{name}_stride": a.strides[0] // 8 for name, a in
                   (("time", t), ("state", states), ("memory", memory), ("out", out))}  # fmt: skip
        fields = _LAYOUT.fields({"points": len(t), **self._sizes, **strides, **self._arrays, **arrays})
        _method()("fill_fixed_rows", fields)
        run = _method().bind("evaluate_points", fields)

        def evaluate(kept: object = (arrays, self._arrays)) -> None:
            run()

        return evaluate


def operation_list(
    results: Sequence[Expr],
    time: Expr,
    states: Sequence[Expr],
    memory: Sequence[Expr],
    parameters: Sequence[Expr],
) -> OperationList | None:
    """Return the list of some results; `None` if they hold lookup tables or functions of the user."""
    try:
        return OperationList(results, time, states, memory, parameters)
    except _NotListedError:
        return None


class _NotListedError(Exception):
    """The error for an expression with a function that is not among the operations."""


# ---------------------------------------------------------------------------------------- from expressions


class _Writer:
    """A writer of operations for expressions; each result gets a new row, in the order of writing."""

    def __init__(
        self, results: Sequence[Expr], inputs: Collection[Expr], parameters: Collection[Expr]
    ) -> None:
        self.rows: dict[Expr, int] = {}
        self.numbers: dict[float, int] = {}
        self.fixed: list[Operation] = []
        self.varying: list[Operation] = []
        self.count = 0
        self._is_fixed: set[int] = set()
        self._known: dict[tuple[int, ...], int] = {}
        self._inputs, self._constant = inputs, set(parameters)
        order = operands_first(results)
        self._within_sums = _single_products(order, results)
        for node in order:
            if node not in self._within_sums:
                self.rows[node] = self._row_of(node)

    def value(self, node: Expr) -> int:
        """Return the row of a node."""
        return self.rows[node]

    def _fresh(self, fixed: bool) -> int:
        row = self.count
        self.count += 1
        if fixed:
            self._is_fixed.add(row)
        return row

    def number(self, value: float) -> int:
        """Return the row of a number."""
        value = float(value)
        row = self.numbers.get(value)
        if row is None:
            row = self.numbers[value] = self._fresh(True)
        return row

    def make(self, kind: int, *operands: int) -> int:
        """Return the row of an operation's result, made once."""
        key = (kind, *operands)
        row = self._known.get(key)
        if row is None:
            rows = operands[1:] if kind >= _CALL else operands
            fixed = self._is_fixed.issuperset(rows)
            row = self._known[key] = self._fresh(fixed)
            (self.fixed if fixed else self.varying).append([kind, row, *operands])
        return row

    def operate(self, name: str, *operands: int) -> int:
        """Return the row of the result of a named operation."""
        return self.make(_CODES[name], *operands)

    def _row_of(self, node: Expr) -> int:
        kind = node.kind
        if kind == "product":
            return self._product(node)
        if kind == "sum":
            return self._sum(node)
        if kind == "let":
            return self.rows[node.args[0]]
        if kind == "number":
            return self.number(node.data)
        if kind == "symbol" and (node in self._inputs or node in self._constant):
            return self._fresh(node in self._constant)
        name, args = node.data, [self.rows[a] for a in node.args]
        if isinstance(name, str) and name in _CODES:
            return self.operate(name, *args)
        if isinstance(name, str) and name in _CALLED:
            return self._call(name, *args)
        if name == "mod":
            return self._modulo(*args)
        raise _NotListedError

    def _sum(self, node: Expr) -> int:
        """Write constant + Σ cᵢ xᵢ, beginning with a term that needs no operation; products are fused."""
        constant, coefficients = node.data
        total = self.number(constant) if constant else None
        terms: list[tuple[float, int, int | None]] = []
        for c, x in zip(coefficients, node.args, strict=True):
            if x in self._within_sums:
                size, first, last = self._factors(x)
                c *= size
                if abs(c) != 1:
                    first = self.operate("mul", first, self.number(abs(c)))
                terms.append((c, first, last))
            elif total is None and c == 1:
                total = self.rows[x]
            else:
                terms.append((c, self.rows[x], None if abs(c) == 1 else self.number(abs(c))))
        if total is None:
            total, terms = self._first_term(terms)
        for c, a, b in terms:
            if b is None:
                total = self.operate("add" if c > 0 else "sub", total, a)
            else:
                total = self.operate("fuse" if c > 0 else "take", a, b, total)
        return total

    def _first_term(
        self, terms: list[tuple[float, int, int | None]]
    ) -> tuple[int, list[tuple[float, int, int | None]]]:
        """Return the row of one term, which is positive if any term is, and the other terms."""
        i = next((i for i, (c, _, _) in enumerate(terms) if c > 0), 0)
        c, a, b = terms[i]
        row = a if b is None else self.operate("mul", a, b)
        if c < 0:
            row = self.operate("sub", self.number(0.0), row)
        return row, terms[:i] + terms[i + 1 :]

    def _factors(self, node: Expr) -> tuple[float, int, int]:
        """Return the coefficient of a product of first powers, and two rows whose product is the rest."""
        rows = [self.rows[a] for a in node.args]
        if len(rows) == 1:
            rows = rows * 2  # a square
        first = rows[0]
        for row in rows[1:-1]:
            first = self.operate("mul", first, row)
        return float(node.data[0]), first, rows[-1]

    def _product(self, node: Expr) -> int:
        coefficient, exponents = node.data
        above: int | None = None if abs(coefficient) == 1 else self.number(abs(coefficient))
        below: int | None = None
        for n, base in zip(exponents, node.args, strict=True):
            factor = self._power(self.rows[base], abs(n))
            if n > 0:
                above = factor if above is None else self.operate("mul", above, factor)
            else:
                below = factor if below is None else self.operate("mul", below, factor)
        row = self.number(1.0) if above is None else above
        if below is not None:
            row = self.operate("div", row, below)
        return row if coefficient > 0 else self.operate("sub", self.number(0.0), row)

    def _call(self, name: str, *args: int) -> int:
        return self.make(_CALL + len(args) - 1, _LIBRARY[name], *args)

    def _modulo(self, a: int, b: int) -> int:
        """Write the remainder with the sign of the divisor; C's ``fmod`` has the sign of the dividend."""
        rest = self._call("fmod", a, b)
        apart = self.operate("mul", self.operate("sign", rest), self.operate("sign", b))
        other = self.operate("lt", apart, self.number(0.0))
        return self.operate("select", other, self.operate("add", rest, b), rest)

    def _power(self, base: int, exponent: float) -> int:
        whole = int(exponent)
        if exponent - whole not in (0, 0.5):
            return self._call("pow", base, self.number(exponent))
        result = self.operate("sqrt", base) if exponent != whole else None
        square = base
        while whole:
            if whole & 1:
                result = square if result is None else self.operate("mul", result, square)
            whole >>= 1
            if whole:
                square = self.operate("mul", square, square)
        assert result is not None
        return result


def _single_products(order: Sequence[Expr], results: Sequence[Expr]) -> set[Expr]:
    """Return plain products and squares that occur only once, in a sum."""
    uses = Counter(results)
    for node in order:
        uses.update(node.args)
    return {
        x
        for node in order
        if node.kind == "sum"
        for x in node.args
        if x.kind == "product" and uses[x] == 1 and (x.data[1] == (2,) or _all_first(x))
    }


def _all_first(product: Expr) -> bool:
    """Return whether a product has two factors or more, all of them first powers."""
    exponents = product.data[1]
    return len(exponents) > 1 and all([n == 1 for n in exponents])


# ---------------------------------------------------------------------------------------- rows


def _operand_rows(operation: Operation) -> list[int]:
    return operation[3:] if operation[0] >= _CALL else operation[2:]


def _allocate(writer: _Writer, entered: Sequence[int], results: Sequence[int]) -> tuple[list[int], int]:
    """Return the storage place of each row, and the number of places.

    A place is used again after the last use of its row. Rows of numbers, of parameters and of results of
    these alone keep their places.
    """
    last = dict.fromkeys(results, len(writer.varying))
    for i in range(len(writer.varying) - 1, -1, -1):
        for row in _operand_rows(writer.varying[i]):
            last.setdefault(row, i)
    place = [-1] * writer.count
    moving = {*entered, *(operation[1] for operation in writer.varying)}
    count = 0
    for row in range(writer.count):
        if row not in moving or row in entered:
            place[row] = count
            count += 1
    free: list[int] = []
    for i, operation in enumerate(writer.varying):
        for row in {*_operand_rows(operation)}:
            if row in moving and last[row] == i:
                free.append(place[row])
        if not free:
            free.append(count)
            count += 1
        place[operation[1]] = free.pop()
        if operation[1] not in last:  # no operation and no result reads it
            free.append(place[operation[1]])
    return place, count


def _fill_words(operation: Operation, place: Sequence[int]) -> Operation:
    """Return an operation with the places of its rows, filled up with zeros to `_WORDS` words."""
    kind, row, *operands = operation
    kept = operands[:1] if kind >= _CALL else []
    found = [kind, place[row], *kept, *(place[a] for a in operands[len(kept) :])]
    return [*found, *[0] * (_WORDS - len(found))]


# ---------------------------------------------------------------------------------------- the routine


def text(lanes: int) -> str:
    """Return the LLVM text of ``fill_fixed_rows`` and ``evaluate_points``."""
    module = IRModule()
    carry_out = _carry_out_text(module, lanes)
    f = Routine(routine_function(module, "fill_fixed_rows", public=True), _LAYOUT)
    f.run(carry_out, f.whole(0), f["fixed"], f.whole(lanes * _VECTORS))
    f.give()
    width = lanes * _VECTORS
    f = Routine(routine_function(module, "evaluate_points", public=True), _LAYOUT)
    points, room, out = f["points"], f.vector("room"), f.vector("out")
    with f.each((points + (width - 1)).whole_quotient(f.whole(width))) as block:
        first = block * width
        left = points - first
        active = Value(f, f.builder.select((left < width).raw, left.raw, f.whole(width).raw))
        with f.when(f["time_row"] >= 0), f.each(active) as j:
            room[f["time_row"] * width + j] = f.vector("times")[(first + j) * f["time_stride"]]
        for name, array in (("state", "states"), ("memory", "memory")):
            values, stride = f.vector(array), f[f"{name}_stride"]
            with f.each(f[f"{name}_inputs"]) as i:
                row, place = f.index(f"{name}_rows", i) * width, f.index(f"{name}_places", i)
                with f.each(active) as j:
                    room[row + j] = values[(first + j) * stride + place]
        f.run(carry_out, f["fixed"], f["operations"], active)
        with f.each(f["results"]) as i:
            row = f.index("result_rows", i) * width
            with f.each(active) as j:
                out[(first + j) * f["out_stride"] + i] = room[row + j]
    f.give()
    return str(module)


def _carry_out_text(module: IRModule, lanes: int) -> Routine:
    """Emit: carry out the operations first … end − 1; call library functions for ``active`` points only."""
    function = routine_function(module, "carry_out", WHOLE, WHOLE, WHOLE)
    f = Routine(function, _LAYOUT, lanes)
    first, end, active = (f.argument(i) for i in (1, 2, 3))
    width = lanes * _VECTORS
    room, single = f.vector("room"), Span(f, f["room"].raw, single=True)
    code = f["code"].raw

    def word(i: Value) -> Value:
        return Value(f, f.builder.load(f.builder.place(code, i.raw, WHOLE), WHOLE))

    with f.each(end - first) as k:
        i = (first + k) * _WORDS
        kind, row = word(i), word(i + 1)
        for name, (count, emit) in _OPERATIONS.items():
            with f.when(kind.equals(_CODES[name])):
                rows = [word(i + (2 + j)) * _VECTORS for j in range(count)]
                rows += rows[:1] * (3 - count)
                found = [emit(f, *(room[a + j] for a in rows)) for j in range(_VECTORS)]
                for j, value in enumerate(found):
                    room[row * _VECTORS + j] = value
        for count in (1, 2):
            with f.when(kind.equals(_CALL + count - 1)):
                address = f.builder.convert("inttoptr", f.index("library", word(i + 2)).raw, ADDRESS)
                callee = Callee(FunctionType(REAL, (REAL,) * count), address.name)
                rows = [word(i + (3 + j)) * width for j in range(count)]
                with f.each(active) as point:
                    given = [single[a + point].raw for a in rows]
                    single[row * width + point] = Value(f, f.builder.call(callee, given))
    f.give()
    return f


@cache
def _method() -> RoutineMethod:
    lanes = register_doubles()
    entries = ("fill_fixed_rows", "evaluate_points")
    return compiled_method(
        f"operation lists {lanes}", lambda: text(lanes), [Path(__file__)], entries, of_all_models=True
    )
