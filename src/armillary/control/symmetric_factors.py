"""L D Lᵀ factors and inertia of sparse symmetric indefinite matrices whose variables are ordered in time.

This is a frontal method. The elements of one group of variables after another are added to a dense matrix,
the front, and the variables that no later group contains are eliminated from it by pivots of one or two rows.
A pivot too small for stability stays in the front until others have been eliminated. D has as many negative
eigenvalues as the matrix; their number distinguishes a minimum from a saddle.

Sources: Duff and Reid (1983), The multifrontal solution of indefinite sparse symmetric linear systems, ACM
Transactions on Mathematical Software 9, 302–325, for the test of pivots; Bunch and Kaufman (1977).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import NOTHING, REAL, WHOLE, IRModule
from armillary.llvm.building.routines import (
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    routine,
    whole_array,
)

_THRESHOLD = 1e-3  # least size of a pivot, relative to the norm of the other elements of its row
_EMPTY = 1e-300  # pivots of smaller magnitude count as zero
_REFINEMENTS, _EXACT = 2, 1e-14  # most refinements of a solution; relative residual that needs none
_COUNTS = ("positive", "negative", "zero", "filled", "wide")

_LAYOUT = RoutineLayout(
    numbers=("order", "groups", "elements", "width", "stride"),
    addresses=(
        *("starts", "rows", "columns", "values"),  # elements of the lower triangle, group by group
        "group",  # number of the group of each variable
        *("place", "members", "front"),  # index of a variable in the front; variable at an index; the matrix
        *("begins", "beside", "factors"),  # L by columns: first element, row variables, values
        *("pivots", "kinds", "diagonal"),  # by column: variable; 1, or 2 and 3 for a pair; D
        *("counts", "state", "right", "found", "rest"),
    ),
)


class Inertia(NamedTuple):
    """Numbers of eigenvalues by sign."""

    positive: int
    negative: int
    zero: int


class SymmetricFactors:
    """The factors of matrices with one pattern: ``rows`` and ``columns`` of the lower triangle.

    ``group`` has the number of each variable's group; groups are eliminated in this order.
    """

    def __init__(self, rows: np.ndarray, columns: np.ndarray, group: np.ndarray) -> None:
        self.order, self.groups = len(group), int(group.max(initial=0)) + 1
        entered = np.minimum(group[rows], group[columns])
        self._sorted = np.argsort(entered, kind="stable")
        self.place = np.empty(len(rows), dtype=int)  # of each element in ``values``
        self.place[self._sorted] = np.arange(len(rows))
        self.values = np.zeros(max(len(rows), 1))
        self._starts = whole_array(np.searchsorted(entered[self._sorted], np.arange(self.groups + 1)))
        first = np.full(self.order, self.groups)
        np.minimum.at(first, rows, entered)
        np.minimum.at(first, columns, entered)
        active = np.zeros(self.groups + 1, dtype=int)
        np.add.at(active, first, 1)
        np.add.at(active, group + 1, -1)
        n = self.order
        self._right, self._found, self._rest = (np.zeros(n) for _ in range(3))
        self._counts = np.zeros(len(_COUNTS), dtype=np.int64)
        self._work: dict[str, int | np.ndarray] = {
            "order": n, "groups": self.groups, "elements": len(rows), "starts": self._starts,
            "rows": whole_array(rows[self._sorted]), "columns": whole_array(columns[self._sorted]),
            "values": self.values, "group": whole_array(group), "place": np.empty(n, dtype=np.int64),
            "begins": np.empty(n + 1, dtype=np.int64), "pivots": np.empty(n, dtype=np.int64),
            "kinds": np.empty(n, dtype=np.int64), "diagonal": np.empty(3 * n), "counts": self._counts,
            "state": np.zeros(3, dtype=np.int64), "right": self._right, "found": self._found,
            "rest": self._rest,
        }  # fmt: skip
        self._allocate(int(np.cumsum(active).max(initial=1)) * 3 // 2 + 8)

    def _allocate(self, width: int) -> None:
        self._width = min(width, self.order)
        capacity, stride = self.order * self._width, (self._width + 7) // 4 * 4
        self._work |= {
            "width": self._width, "stride": stride, "members": np.empty(self._width, dtype=np.int64),
            "front": np.zeros((self._width, stride)), "beside": np.empty(capacity, dtype=np.int64),
            "factors": np.empty(capacity),
        }  # fmt: skip
        self._fields = _LAYOUT.fields(self._work)

    def factor(self, values: np.ndarray | None = None) -> Inertia:
        """Factor the matrix with given elements, by default those in ``values``; return its inertia."""
        if values is not None:
            self.values[: len(self._sorted)] = values[self._sorted]
        while True:
            _method()("factor_symmetric", self._fields)
            positive, negative, zero, _, wide = self._counts.tolist()
            if not wide or self._width == self.order:
                return Inertia(positive, negative, zero)
            self._allocate(2 * self._width)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return the solution for one right-hand side, with iterative refinement."""
        self._right[:] = right
        _method()("solve_refined", self._fields)
        return self._found.copy()


# ---------------------------------------------------------------------------------------- code


class _Front:
    """Emits access to the front in one routine: its size, its rows, and variables that may be eliminated.

    Rows hold the lower triangle; elements right of the diagonal have no meaning and may change.
    """

    def __init__(self, f: Routine) -> None:
        self.f, self.stride = f, f["stride"]
        self._front = f.vector("front")

    def row(self, i: Value) -> Span:
        return Span(self.f, self._front.at(i * self.stride))

    def size(self) -> Value:
        return self.f.index("state", self.f.whole(0))

    def set_size(self, size: Value) -> None:
        self.f.put_index("state", self.f.whole(0), size)

    def open(self, i: Value, group: Value) -> Value:
        """Return whether the variable at an index has all its elements, so that it may be eliminated."""
        return self.f.index("group", self.f.index("members", i)) <= group

    def subtract(self, i: Value, *products: tuple[Value, Span]) -> None:
        """Subtract products of numbers and rows from a row up to its diagonal, four elements at a time."""
        own, fours = self.row(i), (i + 4).whole_quotient(self.f.whole(4))
        for k in self.f.each_pair(fours):
            value = own[k]
            for factor, row in products:
                value = value - factor * row[k]
            own[k] = value


def text() -> str:
    """Return the LLVM text of ``armillary_factor_symmetric`` and ``armillary_solve_refined``."""
    module = IRModule()
    enter, swap, square = _enter_text(module), _swap_text(module), _square_text(module)
    single, double = _single_text(module), _double_text(module)
    choose = _choose_text(module, swap, square, single, double)
    _factor_text(module, enter, choose)
    _refine_text(module, _solve_text(module))
    return str(module)


def _count(f: Routine, name: str, more: Value | int) -> None:
    place = f.whole(_COUNTS.index(name))
    f.put_index("counts", place, f.index("counts", place) + more)


def _enter_text(module: IRModule) -> Routine:
    """Emit: return a variable's index in the front, which it enters with zeros; −1 if the front is full."""
    f = routine(module, _LAYOUT, "enter_front", WHOLE, WHOLE)
    front, variable = _Front(f), f.argument(1)
    known = f.index("place", variable)
    with f.when(known >= 0):
        f.give(known)
    size = front.size()
    with f.when(size >= f["width"]):
        f.put_index("counts", f.whole(_COUNTS.index("wide")), f.whole(1))
        f.give(f.whole(-1))
    last = front.row(size)
    with f.each(size + 1) as k:
        last[k] = 0.0
    f.put_index("place", variable, size)
    f.put_index("members", size, variable)
    front.set_size(size + 1)
    f.give(size)
    return f


def _swap_text(module: IRModule) -> Routine:
    """Emit: swap two variables of the front; the first index is not larger than the second."""
    f = routine(module, _LAYOUT, "swap_places", NOTHING, WHOLE, WHOLE)
    front, i, j = _Front(f), f.argument(1), f.argument(2)

    def exchange(one: Span, at: Value, other: Span, there: Value) -> None:
        kept = one[at]
        one[at] = other[there]
        other[there] = kept

    with f.when(i.differs(j)):
        a, b = front.row(i), front.row(j)
        with f.each(i) as k:
            exchange(a, k, b, k)
        with f.span(i + 1, j) as k:
            exchange(front.row(k), i, b, k)
        exchange(a, i, b, j)
        with f.span(j + 1, front.size()) as k:
            row = front.row(k)
            exchange(row, i, row, j)
        one, other = f.index("members", i), f.index("members", j)
        f.put_index("members", i, other)
        f.put_index("members", j, one)
        f.put_index("place", other, i)
        f.put_index("place", one, j)
    f.give()
    return f


def _square_text(module: IRModule) -> Routine:
    """Emit: return the sum of the squares of a variable's elements outside of the diagonal."""
    f = routine(module, _LAYOUT, "square_beside", REAL, WHOLE)
    front, i = _Front(f), f.argument(1)
    row = front.row(i)
    found = Local(f, f.dot(i, row, row))
    with f.span(i + 1, front.size()) as k:
        value = front.row(k)[i]
        found.set(found.get() + value * value)
    f.give(found.get())
    return f


def _store_column(f: Routine, step: Value, kind: int, place: Value, count: Value, value: Span) -> None:
    """Emit: store one column of L, as its non-zero elements and their variables."""
    filled = Local(f, f.index("state", f.whole(2)))
    f.put_index("begins", step, filled.get())
    f.put_index("pivots", step, f.index("members", place))
    f.put_index("kinds", step, f.whole(kind))
    factors = f.vector("factors")
    with f.each(count) as k, f.when(value[k].differs(0.0)):
        factors[filled.get()] = value[k]
        f.put_index("beside", filled.get(), f.index("members", k))
        filled.set(filled.get() + 1)
    f.put_index("begins", step + 1, filled.get())
    f.put_index("state", f.whole(2), filled.get())


def _single_text(module: IRModule) -> Routine:
    """Emit: eliminate the last variable of the front."""
    f = routine(module, _LAYOUT, "single_pivot", NOTHING)
    front = _Front(f)
    last, step = front.size() - 1, f.index("state", f.whole(1))
    row = front.row(last)
    pivot = row[last]
    diagonal = f.vector("diagonal")
    diagonal[step * 3] = pivot
    with f.when(pivot > 0.0):
        _count(f, "positive", 1)
    with f.when(pivot < 0.0):
        _count(f, "negative", 1)
    inverse = f.real(1.0) / pivot
    with f.each(last) as i:
        factor = row[i] * inverse
        with f.when(factor.differs(0.0)):
            front.subtract(i, (factor, row))
    with f.each(last) as i:
        row[i] = row[i] * inverse
    _store_column(f, step, 1, last, last, row)
    front.set_size(last)
    f.put_index("state", f.whole(1), step + 1)
    f.give()
    return f


def _double_text(module: IRModule) -> Routine:
    """Emit: eliminate the last two variables of the front together."""
    f = routine(module, _LAYOUT, "double_pivot", NOTHING)
    front = _Front(f)
    last, step = front.size() - 1, f.index("state", f.whole(1))
    second = last - 1
    one, two = front.row(last), front.row(second)
    a, b, c = one[last], one[second], two[second]
    det = a * c - b * b
    diagonal = f.vector("diagonal")
    for place, value in enumerate((a, b, c)):
        diagonal[step * 3 + place] = value
    with f.when(det < 0.0):
        _count(f, "positive", 1)
        _count(f, "negative", 1)
    with f.when(det > 0.0):
        with f.when(a + c > 0.0):
            _count(f, "positive", 2)
        with f.when(a + c < 0.0):
            _count(f, "negative", 2)
    with f.each(second) as i:
        x, y = one[i], two[i]
        p, q = (c * x - b * y) / det, (a * y - b * x) / det
        with f.when(p.differs(0.0) | q.differs(0.0)):
            front.subtract(i, (p, one), (q, two))
    with f.each(second) as i:
        x, y = one[i], two[i]
        one[i] = (c * x - b * y) / det
        two[i] = (a * y - b * x) / det
    _store_column(f, step, 2, last, second, one)
    _store_column(f, step + 1, 3, second, second, two)
    front.set_size(second)
    f.put_index("state", f.whole(1), step + 2)
    f.give()
    return f


def _choose_text(
    module: IRModule, swap: Routine, square: Routine, single: Routine, double: Routine
) -> Routine:
    """Emit: eliminate one or two variables that have all their elements; return 0 without a good pivot."""
    f = routine(module, _LAYOUT, "choose_pivot", WHOLE, WHOLE)
    front, group = _Front(f), f.argument(1)
    size = front.size()
    with f.each(size) as back:
        i = size - 1 - back
        with f.when(front.open(i, group)):
            row = front.row(i)
            own, beside = f.magnitude(row[i]), f.run(square, i)
            with f.when((own >= f.root(beside) * _THRESHOLD) & (own > _EMPTY)):
                f.run(swap, i, size - 1)
                f.run(single)
                f.give(f.whole(1))
            partner, reach = Local(f, f.whole(-1)), Local(f, f.real(_EMPTY))

            def prefer(k: Value, value: Value, partner: Local = partner, reach: Local = reach) -> None:
                with f.when((value > reach.get()) & front.open(k, group)):
                    reach.set(value)
                    partner.set(k)

            with f.each(i) as k:
                prefer(k, f.magnitude(row[k]))
            with f.span(i + 1, size) as k:
                prefer(k, f.magnitude(front.row(k)[i]))
            with f.when(partner.get() >= 0):
                _try_pair(f, front, (i, partner.get()), beside, (swap, square, double))
    f.give(f.whole(0))
    return f


def _try_pair(
    f: Routine,
    front: _Front,
    pair: tuple[Value, Value],
    beside: Value,
    routines: tuple[Routine, Routine, Routine],
) -> None:
    """Emit: eliminate two variables together, if their pivot is large enough."""
    (i, j), (swap, square, double), size = pair, routines, front.size()
    low, high = Local(f, i), Local(f, j)
    with f.when(i > j):
        low.set(j)
        high.set(i)
    a, b, c = front.row(i)[i], front.row(high.get())[low.get()], front.row(j)[j]
    det = f.magnitude(a * c - b * b)
    first = f.root(f.most(beside - b * b, 0.0))
    second = f.root(f.most(f.run(square, j) - b * b, 0.0))
    needed = f.most(
        f.magnitude(c) * first + f.magnitude(b) * second,
        f.magnitude(b) * first + f.magnitude(a) * second,
    )
    with f.when((det >= needed * _THRESHOLD) & (det > _EMPTY)):
        f.run(swap, high.get(), size - 1)
        f.run(swap, low.get(), size - 2)
        f.run(double)
        f.give(f.whole(2))


def _factor_text(module: IRModule, enter: Routine, choose: Routine) -> None:
    f = routine(module, _LAYOUT, "factor_symmetric", NOTHING, public=True)
    front = _Front(f)
    for k in range(len(_COUNTS)):
        f.put_index("counts", f.whole(k), f.whole(0))
    for k in range(3):
        f.put_index("state", f.whole(k), f.whole(0))
    f.put_index("begins", f.whole(0), f.whole(0))
    with f.each(f["order"]) as i:
        f.put_index("place", i, f.whole(-1))
    values = f.vector("values")
    with f.each(f["groups"]) as group:
        with f.span(f.index("starts", group), f.index("starts", group + 1)) as e:
            i, j = f.run(enter, f.index("rows", e)), f.run(enter, f.index("columns", e))
            with f.when((i < 0) | (j < 0)):
                f.give()
            low, high = Local(f, i), Local(f, j)
            with f.when(i > j):
                low.set(j)
                high.set(i)
            row, at = front.row(high.get()), low.get()
            row[at] = row[at] + values[e]
        with f.repeat() as loop, f.when(f.run(choose, group).equals(0)):
            loop.leave()
    _count(f, "zero", front.size())
    f.give()


def _solve_text(module: IRModule) -> Routine:
    """Emit: replace ``rest`` by the solution with right-hand side ``rest``."""
    f = routine(module, _LAYOUT, "solve_rest", NOTHING)
    x, factors, diagonal = f.vector("rest"), f.vector("factors"), f.vector("diagonal")
    order = f["order"]
    with f.each(order) as step:
        value = x[f.index("pivots", step)]
        with f.span(f.index("begins", step), f.index("begins", step + 1)) as e:
            i = f.index("beside", e)
            x[i] = x[i] - factors[e] * value
    with f.each(order) as step:
        kind, i = f.index("kinds", step), f.index("pivots", step)
        with f.when(kind.equals(1)):
            x[i] = x[i] / diagonal[step * 3]
        with f.when(kind.equals(2)):
            j = f.index("pivots", step + 1)
            a, b, c = (diagonal[step * 3 + k] for k in range(3))
            det, p, q = a * c - b * b, x[i], x[j]
            x[i] = (c * p - b * q) / det
            x[j] = (a * q - b * p) / det
    with f.each(order) as back:
        step = order - 1 - back
        left = Local(f, x[f.index("pivots", step)])
        with f.span(f.index("begins", step), f.index("begins", step + 1)) as e:
            left.set(left.get() - factors[e] * x[f.index("beside", e)])
        x[f.index("pivots", step)] = left.get()
    f.give()
    return f


def _refine_text(module: IRModule, solve: Routine) -> None:
    """Emit: ``found`` = A⁻¹ ``right``, with refinements until the residual is small, at most _REFINEMENTS."""
    f = routine(module, _LAYOUT, "solve_refined", NOTHING, public=True)
    right, found, rest, values = (f.vector(name) for name in ("right", "found", "rest", "values"))
    order = f["order"]
    size = Local(f, f.real(0.0))
    with f.each(order) as i:
        size.set(f.most(f.magnitude(right[i]), size.get()))
        found[i] = 0.0
        rest[i] = right[i]
    f.run(solve)
    with f.each(order) as i:
        found[i] = rest[i]
    for _ in range(_REFINEMENTS):
        with f.each(order) as i:
            rest[i] = right[i]
        with f.each(f["elements"]) as e:
            i, j, value = f.index("rows", e), f.index("columns", e), values[e]
            rest[i] = rest[i] - value * found[j]
            with f.when(i.differs(j)):
                rest[j] = rest[j] - value * found[i]
        left = Local(f, f.real(0.0))
        with f.each(order) as i:
            left.set(f.most(f.magnitude(rest[i]), left.get()))
        with f.when(left.get() <= size.get() * _EXACT):
            f.give()
        f.run(solve)
        with f.each(order) as i:
            found[i] = found[i] + rest[i]
    f.give()


@cache
def _method() -> RoutineMethod:
    entries = ("factor_symmetric", "solve_refined")
    return compiled_method("symmetric factors", text, [Path(__file__)], entries, of_all_models=True)
