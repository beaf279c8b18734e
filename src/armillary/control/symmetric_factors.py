"""L D Lᵀ of symmetric indefinite matrices whose variables follow one another in time, with their inertia.

A frontal method: the elements of one group of variables after the other are added to a dense matrix, the
front, and the variables that no later group touches are eliminated from it by pivots of one or two rows. A
pivot that is too small for stability waits in the front until others have been eliminated. D has as many
negative eigenvalues as the matrix, which tells a minimum from a saddle.

Sources: Duff and Reid (1983), The multifrontal solution of indefinite sparse symmetric linear systems, ACM
Transactions on Mathematical Software 9, 302–325, for the test of pivots; Bunch and Kaufman (1977).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import NOTHING, WHOLE, IRModule
from armillary.llvm.building.routines import (
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    routine,
    whole_array,
)

_THRESHOLD = 1e-3  # a pivot's least size, of the norm of the elements beside it
_EMPTY = 1e-300  # the size from which on a pivot counts as zero
_COUNTS = ("positive", "negative", "zero", "filled", "wide")

_LAYOUT = RoutineLayout(
    numbers=("order", "groups", "width", "capacity"),
    addresses=(
        *("starts", "rows", "columns", "values"),  # elements of the lower triangle, group by group
        "group",  # of each variable
        *("place", "members", "front"),  # of variables in the front, and back; the matrix
        *("begins", "beside", "factors"),  # L by columns
        *("pivots", "kinds", "diagonal"),  # of each column: variable, 1 or 2 or 3 (of a pair), D
        *("counts", "state", "right"),
    ),
)


class Inertia(NamedTuple):
    """Numbers of eigenvalues by sign."""

    positive: int
    negative: int
    zero: int


class SymmetricFactors:
    """The factors of matrices with one pattern: ``rows`` and ``columns`` of the lower triangle.

    ``group`` has for each variable the number of its group in time; the last group is eliminated last.
    """

    def __init__(self, rows: np.ndarray, columns: np.ndarray, group: np.ndarray) -> None:
        self.order, self.groups = len(group), int(group.max(initial=0)) + 1
        entered = np.minimum(group[rows], group[columns])
        self._sorted = np.argsort(entered, kind="stable")
        self._group = whole_array(group)
        self._rows, self._columns = whole_array(rows[self._sorted]), whole_array(columns[self._sorted])
        self._starts = whole_array(np.searchsorted(entered[self._sorted], np.arange(self.groups + 1)))
        first = np.full(self.order, self.groups)
        np.minimum.at(first, rows, entered)
        np.minimum.at(first, columns, entered)
        active = np.zeros(self.groups + 1, dtype=int)
        np.add.at(active, first, 1)
        np.add.at(active, group + 1, -1)
        self._allocate(int(np.cumsum(active).max(initial=1)) * 3 // 2 + 8)

    def _allocate(self, width: int) -> None:
        self._width = min(width, self.order)
        capacity = self.order * self._width
        self._work = {
            "place": np.empty(self.order, dtype=np.int64), "members": np.empty(self._width, dtype=np.int64),
            "front": np.empty(self._width**2), "begins": np.empty(self.order + 1, dtype=np.int64),
            "beside": np.empty(capacity, dtype=np.int64), "factors": np.empty(capacity),
            "pivots": np.empty(self.order, dtype=np.int64), "kinds": np.empty(self.order, dtype=np.int64),
            "diagonal": np.empty(3 * self.order), "counts": np.zeros(len(_COUNTS), dtype=np.int64),
            "state": np.zeros(3, dtype=np.int64), "starts": self._starts, "rows": self._rows,
            "columns": self._columns, "group": self._group,
        }  # fmt: skip

    def factor(self, values: np.ndarray) -> Inertia:
        """Factor the matrix with these elements; return the signs of its eigenvalues."""
        ordered = np.ascontiguousarray(values[self._sorted], dtype=float)
        while True:
            fields = self._fields({"values": ordered, "right": ordered})
            _method()("factor_symmetric", fields)
            found = dict(zip(_COUNTS, self._work["counts"].tolist(), strict=True))
            if not found["wide"] or self._width == self.order:
                return Inertia(found["positive"], found["negative"], found["zero"])
            self._allocate(2 * self._width)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return the solution for one right-hand side."""
        found = np.array(right, dtype=float)
        _method()("solve_symmetric", self._fields({"values": found, "right": found}))
        return found

    def _fields(self, further: dict[str, np.ndarray]) -> np.ndarray:
        sizes: dict[str, int | np.ndarray] = {
            "order": self.order, "groups": self.groups, "width": self._width,
            "capacity": self.order * self._width,
        }  # fmt: skip
        return _LAYOUT.fields({**sizes, **self._work, **further})


# ---------------------------------------------------------------------------------------- code


class _Front:
    """The words of the front in one routine: its size, its rows, and which variables may be eliminated."""

    def __init__(self, f: Routine) -> None:
        self.f, self.width = f, f["width"]
        self._front = f.vector("front")

    def row(self, i: Value) -> Span:
        return Span(self.f, self._front.at(i * self.width))

    def size(self) -> Value:
        return self.f.index("state", self.f.whole(0))

    def set_size(self, size: Value) -> None:
        self.f.put_index("state", self.f.whole(0), size)

    def open(self, i: Value, group: Value) -> Value:
        """Return whether the variable at a place has all its elements, so that it may be eliminated."""
        return self.f.index("group", self.f.index("members", i)) <= group


def text() -> str:
    """Return the LLVM text of ``armillary_factor_symmetric(fields)`` and
    ``armillary_solve_symmetric(fields)``.
    """
    module = IRModule()
    enter, swap = _enter_text(module), _swap_text(module)
    single, double = _single_text(module), _double_text(module)
    choose = _choose_text(module, swap, single, double)
    _factor_text(module, enter, choose)
    _solve_text(module)
    return str(module)


def _count(f: Routine, name: str, more: Value | int) -> None:
    place = f.whole(_COUNTS.index(name))
    f.put_index("counts", place, f.index("counts", place) + more)


def _enter_text(module: IRModule) -> Routine:
    """Return the place of a variable in the front, which it enters with zeros; −1 if the front is full."""
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
        front.row(k)[size] = 0.0
    f.put_index("place", variable, size)
    f.put_index("members", size, variable)
    front.set_size(size + 1)
    f.give(size)
    return f


def _swap_text(module: IRModule) -> Routine:
    """Two variables of the front change places."""
    f = routine(module, _LAYOUT, "swap_places", NOTHING, WHOLE, WHOLE)
    front, i, j = _Front(f), f.argument(1), f.argument(2)
    with f.when(i.differs(j)):
        a, b = front.row(i), front.row(j)
        with f.each(front.size()) as k:
            kept = a[k]
            a[k] = b[k]
            b[k] = kept
        with f.each(front.size()) as k:
            row = front.row(k)
            kept = row[i]
            row[i] = row[j]
            row[j] = kept
        one, other = f.index("members", i), f.index("members", j)
        f.put_index("members", i, other)
        f.put_index("members", j, one)
        f.put_index("place", other, i)
        f.put_index("place", one, j)
    f.give()
    return f


def _store_column(f: Routine, step: Value, kind: int, place: Value, count: Value, value: Span) -> None:
    """Keep one column of L: its elements that are not zero, and their variables."""
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
    """Eliminate the last variable of the front."""
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
            own = front.row(i)
            with f.each(last) as k:
                own[k] = own[k] - factor * row[k]
    with f.each(last) as i:
        row[i] = row[i] * inverse
    _store_column(f, step, 1, last, last, row)
    front.set_size(last)
    f.put_index("state", f.whole(1), step + 1)
    f.give()
    return f


def _double_text(module: IRModule) -> Routine:
    """Eliminate the last two variables of the front together."""
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
            own = front.row(i)
            with f.each(second) as k:
                own[k] = own[k] - (p * one[k] + q * two[k])
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


def _size_beside(f: Routine, row: Span, size: Value, *own: Value) -> Value:
    """Return the Euclidean norm of a row without some of its elements, as sums that do not wait for one
    another.
    """
    rest = f.dot(size, row, row)
    for value in own:
        rest = rest - value * value
    return f.root(f.most(rest, 0.0))


def _choose_text(module: IRModule, swap: Routine, single: Routine, double: Routine) -> Routine:
    """Eliminate one or two variables that have all their elements; 0 if no pivot is large enough."""
    f = routine(module, _LAYOUT, "choose_pivot", WHOLE, WHOLE)
    front, group = _Front(f), f.argument(1)
    size = front.size()
    with f.each(size) as back:
        i = size - 1 - back
        with f.when(front.open(i, group)):
            row = front.row(i)
            own = f.magnitude(row[i])
            beside = _size_beside(f, row, size, row[i])
            with f.when((own >= beside * _THRESHOLD) & (own > _EMPTY)):
                f.run(swap, i, size - 1)
                f.run(single)
                f.give(f.whole(1))
            partner, reach = Local(f, f.whole(-1)), Local(f, f.real(_EMPTY))
            with f.each(size) as k:
                larger = f.magnitude(row[k]) > reach.get()
                with f.when(k.differs(i) & front.open(k, group) & larger):
                    reach.set(f.magnitude(row[k]))
                    partner.set(k)
            with f.when(partner.get() >= 0):
                j = partner.get()
                other = front.row(j)
                a, b, c = row[i], row[j], other[j]
                det = f.magnitude(a * c - b * b)
                first = _size_beside(f, row, size, a, b)
                second = _size_beside(f, other, size, b, c)
                needed = f.most(
                    f.magnitude(c) * first + f.magnitude(b) * second,
                    f.magnitude(b) * first + f.magnitude(a) * second,
                )
                with f.when((det >= needed * _THRESHOLD) & (det > _EMPTY)):
                    moved = Local(f, j)
                    with f.when(j.equals(size - 1)):
                        moved.set(i)
                    f.run(swap, i, size - 1)
                    f.run(swap, moved.get(), size - 2)
                    f.run(double)
                    f.give(f.whole(2))
    f.give(f.whole(0))
    return f


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
            row = front.row(i)
            row[j] = row[j] + values[e]
            with f.when(i.differs(j)):
                other = front.row(j)
                other[i] = other[i] + values[e]
        with f.repeat() as loop, f.when(f.run(choose, group).equals(0)):
            loop.leave()
    _count(f, "zero", front.size())
    f.give()


def _solve_text(module: IRModule) -> None:
    f = routine(module, _LAYOUT, "solve_symmetric", NOTHING, public=True)
    x, factors, diagonal = f.vector("right"), f.vector("factors"), f.vector("diagonal")
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


@cache
def _method() -> RoutineMethod:
    entries = ("factor_symmetric", "solve_symmetric")
    return compiled_method("symmetric factors", text, [Path(__file__)], entries, of_all_models=True)
