"""L D Lᵀ factors and inertia of sparse symmetric indefinite matrices whose variables are ordered in time.

This is a frontal method. The elements of one group of variables after another are added to a dense matrix,
the front. Variables of the front that no later group contains are *open*: they are eliminated by pivots of
one or two rows. A pivot too small for stability stays in the front until others have been eliminated. D has
as many negative eigenvalues as the matrix; their number distinguishes a minimum from a saddle.

The variables of later groups come first in the front, then the open ones. Rows of open variables have both
triangles, so that a search for pivots reads contiguous rows. Each pivot updates these rows at once; the rest
of the front is updated once per group, four pivots at a time. This takes 0.4 of the time of a method in
which every pivot updates the whole front, and factors are stored element by element.

If delayed pivots make a front larger than its arrays, the matrix is scaled to a largest element near 1 in
each row. Unscaled, a step with δ_w = 1e5 has rows with pivots of 1e-5 and an element near 1 in the column of
a free duration. The duration's group is last, so the pivots of all these rows would be delayed to the end.

Sources: Duff and Reid (1983), The multifrontal solution of indefinite sparse symmetric linear systems, ACM
Transactions on Mathematical Software 9, 302–325, for the test of pivots; Bunch and Kaufman (1977); Ruiz
(2001), A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
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
_SCALINGS = 6  # rounds of equilibration; a ratio r of elements becomes r^(1/64)
_COUNTS = ("positive", "negative", "zero", "wide")

_LAYOUT = RoutineLayout(
    numbers=("order", "groups", "elements", "width", "stride"),
    addresses=(
        *("starts", "rows", "columns", "values"),  # elements of the lower triangle, group by group
        "scale",  # factor of each row and column before elimination
        "group",  # number of the group of each variable
        *("plans", "planned", "later"),  # by group: first index; variables; how many are of later groups
        *("place", "members", "front"),  # index of a variable in the front; variable at an index; the matrix
        *("carried", "carry"),  # variables left by the last group, and their matrix
        *("pulled", "scaled"),  # rows of a group's pivots, before and after division by D
        *("sizes", "firsts", "listed"),  # by group: number of members at its end, first column of L, members
        *("begins", "factors"),  # L by columns: first index; elements, for members before the pivot
        *("kinds", "diagonal"),  # by column: 1, or 2 and 3 for a pair; D
        *("counts", "state", "right", "found", "rest", "own"),
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
        self.place = np.empty(len(rows), dtype=int)  # index of each element in ``values``
        self.place[self._sorted] = np.arange(len(rows))
        self.values = np.zeros(max(len(rows), 1))
        self._rows, self._columns = (whole_array(a[self._sorted]) for a in (rows, columns))
        starts = np.searchsorted(entered[self._sorted], np.arange(self.groups + 1))
        first = np.array(group)
        np.minimum.at(first, rows, entered)
        np.minimum.at(first, columns, entered)
        each = group - first + 1  # number of groups that need each variable
        variable = np.repeat(np.arange(self.order), each)
        needed = np.arange(len(variable)) - np.repeat(np.cumsum(each) - each - first, each)
        plan = np.lexsort((variable, group[variable] == needed, needed))
        plans = np.searchsorted(needed[plan], np.arange(self.groups + 1))
        later = np.bincount(needed[group[variable] > needed], minlength=self.groups)
        n = self.order
        self._right, self._found, self._rest = (np.zeros(n) for _ in range(3))
        self._scale, self._equilibrates = np.ones(n), False
        self._counts, self._sizes = (np.zeros(k, dtype=np.int64) for k in (len(_COUNTS), self.groups))
        self._work: dict[str, int | np.ndarray] = {
            "order": n, "groups": self.groups, "elements": len(rows), "starts": whole_array(starts),
            "rows": self._rows, "columns": self._columns, "values": self.values, "scale": self._scale,
            "group": whole_array(group), "place": np.empty(n, dtype=np.int64),
            "plans": whole_array(plans), "planned": whole_array(variable[plan]), "later": whole_array(later),
            "sizes": self._sizes, "begins": np.empty(n + 1, dtype=np.int64),
            "firsts": np.zeros(self.groups + 1, dtype=np.int64), "kinds": np.empty(n, dtype=np.int64),
            "diagonal": np.empty(3 * n), "counts": self._counts, "state": np.zeros(3, dtype=np.int64),
            "right": self._right, "found": self._found, "rest": self._rest,
        }  # fmt: skip
        self._allocate(int(np.diff(plans).max(initial=1)) * 3 // 2 + 8)

    def _allocate(self, width: int) -> None:
        self._width = width = min(width, self.order)
        stride = (width + 7) // 4 * 4
        whole, square = {"members", "carried"}, {"front", "carry"}
        self._work |= {"width": width, "stride": stride, "own": np.zeros(stride)}
        self._work |= {name: np.empty(width, dtype=np.int64) for name in whole}
        self._work |= {name: np.zeros((width, stride)) for name in square}
        self._work |= {name: np.zeros((width + 4, stride)) for name in ("pulled", "scaled")}
        self._work |= {
            "listed": np.empty(self.groups * width, dtype=np.int64), "factors": np.empty(self.order * width)
        }  # fmt: skip
        fields, method = _LAYOUT.fields(self._work), _method()
        self._factor = method.bind("factor_symmetric", fields)
        self._solve = method.bind("solve_refined", fields)

    def factor(self, values: np.ndarray | None = None) -> Inertia:
        """Factor the matrix with given elements, by default those in ``values``; return its inertia."""
        if values is not None:
            self.values[: len(self._sorted)] = values[self._sorted]
        if self._equilibrates:
            self._equilibrate()
        while True:
            self._factor()
            positive, negative, zero, wide = self._counts.tolist()
            if not wide or self._width == self.order:
                return Inertia(positive, negative, zero)
            if self._equilibrates:
                self._allocate(2 * self._width)
            else:
                self._equilibrates = True
                self._equilibrate()

    @property
    def widest_front(self) -> int:
        """The largest number of variables in a front of the last factors."""
        return int(self._sizes.max(initial=0))

    def _equilibrate(self) -> None:
        """Choose powers of two that make the largest element of each row about 1."""
        rows, columns, scale = self._rows, self._columns, np.ones(self.order)
        sizes = np.abs(self.values[: len(rows)])
        for _ in range(_SCALINGS):
            scaled, most = sizes * scale[rows] * scale[columns], np.zeros(self.order)
            np.maximum.at(most, rows, scaled)
            np.maximum.at(most, columns, scaled)
            scale /= np.sqrt(np.where((most > 0) & np.isfinite(most), most, 1.0))
        self._scale[:] = np.exp2(np.round(np.log2(scale)))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return the solution for one right-hand side, with iterative refinement."""
        self._right[:] = right
        self._solve()
        return self._found.copy()


# ---------------------------------------------------------------------------------------- code


class _Front:
    """Emits access to the front in one routine: its size, its rows, and the rows of a group's pivots."""

    def __init__(self, f: Routine) -> None:
        self.f, self.stride = f, f["stride"]
        self._matrices = {name: f.vector(name) for name in ("front", "carry", "pulled", "scaled")}

    def row(self, i: Value, matrix: str = "front") -> Span:
        return Span(self.f, self._matrices[matrix].at(i * self.stride))

    def _state(self, place: int) -> Value:
        return self.f.index("state", self.f.whole(place))

    def _put_state(self, place: int, value: Value) -> None:
        self.f.put_index("state", self.f.whole(place), value)

    def size(self) -> Value:
        return self._state(0)

    def set_size(self, size: Value) -> None:
        self._put_state(0, size)

    def steps(self) -> Value:
        """Return the number of columns of L."""
        return self._state(1)

    def set_steps(self, steps: Value) -> None:
        self._put_state(1, steps)

    def open_variables(self) -> Value:
        """Return the number of variables that the last group has left."""
        return self._state(2)

    def set_open_variables(self, held: Value) -> None:
        self._put_state(2, held)

    def subtract(self, i: Value, count: Value, *products: tuple[Value, Span]) -> None:
        """Subtract products of numbers and rows from the first elements of a row, four at a time."""
        own, fours = self.row(i), (count + 3).whole_quotient(self.f.whole(4))
        for k in self.f.each_pair(fours):
            value = own[k]
            for factor, row in products:
                value = value - factor * row[k]
            own[k] = value


def text() -> str:
    """Return the LLVM text of ``armillary_factor_symmetric`` and ``armillary_solve_refined``."""
    module = IRModule()
    begin, finish = _begin_text(module), _finish_text(module)
    swap, square = _swap_text(module), _square_text(module)
    single, double = _single_text(module), _double_text(module)
    choose = _choose_text(module, swap, square, single, double)
    _factor_text(module, begin, choose, finish)
    _refine_text(module, _solve_text(module))
    return str(module)


def _count(f: Routine, name: str, more: Value | int) -> None:
    place = f.whole(_COUNTS.index(name))
    f.put_index("counts", place, f.index("counts", place) + more)


def _begin_text(module: IRModule) -> Routine:
    """Emit: assemble the front of a group from the rest of the previous front and the group's elements.

    Delayed variables come last.
    """
    f = routine(module, _LAYOUT, "begin_group", NOTHING, WHOLE)
    front, group = _Front(f), f.argument(1)
    size, held = Local(f, f.whole(0)), front.open_variables()

    def enter(variable: Value) -> None:
        with f.when(size.get() >= f["width"]):
            f.put_index("counts", f.whole(_COUNTS.index("wide")), f.whole(1))
            f.give()
        f.put_index("members", size.get(), variable)
        f.put_index("place", variable, size.get())
        size.set(size.get() + 1)

    with f.span(f.index("plans", group), f.index("plans", group + 1)) as e:
        enter(f.index("planned", e))
    with f.each(held) as i:
        variable = f.index("carried", i)
        with f.when(f.index("group", variable) < group):
            enter(variable)
    with f.each(size.get()) as i:
        row = front.row(i)
        for k in f.each_pair((size.get() + 3).whole_quotient(f.whole(4))):
            row[k] = 0.0

    def add(i: Value, j: Value, value: Value) -> None:
        row = front.row(i)
        row[j] = row[j] + value

    with f.each(held) as i:
        place, row = f.index("place", f.index("carried", i)), front.row(i, "carry")
        own = front.row(place)
        with f.each(i + 1) as j:
            other = f.index("place", f.index("carried", j))
            own[other] = row[j]
            front.row(other)[place] = row[j]
    values, scale = f.vector("values"), f.vector("scale")
    with f.span(f.index("starts", group), f.index("starts", group + 1)) as e:
        r, c = f.index("rows", e), f.index("columns", e)
        i, j = f.index("place", r), f.index("place", c)
        value = values[e] * (scale[r] * scale[c])
        add(i, j, value)
        with f.when(i.differs(j)):
            add(j, i, value)
    front.set_size(size.get())
    f.give()
    return f


def _finish_text(module: IRModule) -> Routine:
    """Emit: update the variables of later groups by the pivots of a group, store its columns of L.

    The variables that are left are copied for the next group.
    """
    f = routine(module, _LAYOUT, "finish_group", NOTHING, WHOLE)
    front, group = _Front(f), f.argument(1)
    left, first = front.size(), f.index("firsts", group)
    pivots = front.steps() - first
    size = left + pivots
    blocks = (pivots + 3).whole_quotient(f.whole(4))
    with f.span(pivots, blocks * 4) as p:
        for name in ("pulled", "scaled"):
            row = front.row(p, name)
            for k in f.each_pair((left + 3).whole_quotient(f.whole(4))):
                row[k] = 0.0
    with f.each(f.index("later", group)) as i, f.each(blocks) as block:
        rows = [block * 4 + k for k in range(4)]
        front.subtract(i, i + 1, *((front.row(p, "scaled")[i], front.row(p, "pulled")) for p in rows))
    with f.each(left) as i:
        row, kept = front.row(i), front.row(i, "carry")
        for k in f.each_pair((i + 4).whole_quotient(f.whole(4))):
            kept[k] = row[k]
        f.put_index("carried", i, f.index("members", i))
    front.set_open_variables(left)
    f.put_index("sizes", group, size)
    listed = group * f["width"]
    with f.each(size) as i:
        f.put_index("listed", listed + i, f.index("members", i))
    factors, filled = f.vector("factors"), Local(f, f.index("begins", first))
    with f.each(pivots) as p:
        row, step = front.row(p, "scaled"), first + p
        f.put_index("begins", step, filled.get())
        count = _column_length(f, size, step, p)
        with f.each(count) as k:
            factors[filled.get() + k] = row[k]
        filled.set(filled.get() + count)
    f.put_index("begins", first + pivots, filled.get())
    f.put_index("firsts", group + 1, first + pivots)
    f.give()
    return f


def _column_length(f: Routine, size: Value, step: Value, p: Value) -> Value:
    """Return the number of elements in the p-th column of a group; a pair's first has none for its second."""
    found = Local(f, size - 1 - p)
    with f.when(f.index("kinds", step).equals(2)):
        found.set(found.get() - 1)
    return found.get()


def _swap_text(module: IRModule) -> Routine:
    """Emit: swap two open variables of the front, also in the rows of the group's ``pivots``."""
    f = routine(module, _LAYOUT, "swap_places", NOTHING, WHOLE, WHOLE, WHOLE, WHOLE)
    front, later, pivots, i, j = _Front(f), *(f.argument(k) for k in range(1, 5))

    def exchange(one: Span, at: Value, other: Span, there: Value) -> None:
        kept = one[at]
        one[at] = other[there]
        other[there] = kept

    with f.when(i.differs(j)):
        size, a, b = front.size(), front.row(i), front.row(j)
        for k in f.each_pair((size + 3).whole_quotient(f.whole(4))):
            exchange(a, k, b, k)
        with f.span(later, size) as k:
            row = front.row(k)
            exchange(row, i, row, j)
        with f.each(pivots) as p:
            for name in ("pulled", "scaled"):
                row = front.row(p, name)
                exchange(row, i, row, j)
        one, other = f.index("members", i), f.index("members", j)
        f.put_index("members", i, other)
        f.put_index("members", j, one)
    f.give()
    return f


def _square_text(module: IRModule) -> Routine:
    """Emit: return the sum of the squares of an open variable's elements outside of the diagonal."""
    f = routine(module, _LAYOUT, "square_beside", REAL, WHOLE)
    front, i = _Front(f), f.argument(1)
    row = front.row(i)
    behind = Span(f, row.at(i + 1))
    f.give(f.dot(i, row, row) + f.dot(front.size() - i - 1, behind, behind))
    return f


def _keep_pivots(f: Routine, front: _Front, group: Value, rows: list[Span], size: Value) -> list[Span]:
    """Emit: copy the first elements of eliminated rows; return the rows to be filled for L."""
    step = front.steps()
    p = step - f.index("firsts", group)
    fours = (size + 3).whole_quotient(f.whole(4))
    for i, row in enumerate(rows):
        kept = front.row(p + i, "pulled")
        for k in f.each_pair(fours):
            kept[k] = row[k]
        f.put_index("kinds", step + i, f.whole(i + len(rows)))
    front.set_steps(step + len(rows))
    front.set_size(size)
    return [front.row(p + i, "scaled") for i in range(len(rows))]


def _single_text(module: IRModule) -> Routine:
    """Emit: eliminate the last variable of the front."""
    f = routine(module, _LAYOUT, "single_pivot", NOTHING, WHOLE)
    front, group = _Front(f), f.argument(1)
    last = front.size() - 1
    row = front.row(last)
    pivot = row[last]
    f.vector("diagonal")[front.steps() * 3] = pivot
    with f.when(pivot > 0.0):
        _count(f, "positive", 1)
    with f.when(pivot < 0.0):
        _count(f, "negative", 1)
    inverse = f.real(1.0) / pivot
    (scaled,) = _keep_pivots(f, front, group, [row], last)
    for k in f.each_pair((last + 3).whole_quotient(f.whole(4))):
        scaled[k] = row[k] * inverse
    with f.span(f.index("later", group), last) as i:
        factor = scaled[i]
        with f.when(factor.differs(0.0)):
            front.subtract(i, last, (factor, row))
    f.give()
    return f


def _double_text(module: IRModule) -> Routine:
    """Emit: eliminate the last two variables of the front together."""
    f = routine(module, _LAYOUT, "double_pivot", NOTHING, WHOLE)
    front, group = _Front(f), f.argument(1)
    last = front.size() - 1
    second = last - 1
    one, two = front.row(last), front.row(second)
    a, b, c = one[last], one[second], two[second]
    det = a * c - b * b
    diagonal, step = f.vector("diagonal"), front.steps()
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
    inverse = f.real(1.0) / det
    p, q, r = c * inverse, b * inverse, a * inverse
    x, y = _keep_pivots(f, front, group, [one, two], second)
    for k in f.each_pair((second + 3).whole_quotient(f.whole(4))):
        x[k] = p * one[k] - q * two[k]
        y[k] = r * two[k] - q * one[k]
    with f.span(f.index("later", group), second) as i, f.when(x[i].differs(0.0) | y[i].differs(0.0)):
        front.subtract(i, second, (x[i], one), (y[i], two))
    f.give()
    return f


def _choose_text(
    module: IRModule, swap: Routine, square: Routine, single: Routine, double: Routine
) -> Routine:
    """Emit: eliminate one or two open variables; return their number, 0 if no pivot is large enough."""
    f = routine(module, _LAYOUT, "choose_pivot", WHOLE, WHOLE)
    front, group = _Front(f), f.argument(1)
    size, later = front.size(), f.index("later", group)
    pivots = front.steps() - f.index("firsts", group)
    with f.each(size - later) as back:
        i = size - 1 - back
        row = front.row(i)
        own, beside = f.magnitude(row[i]), f.run(square, i)
        with f.when((own >= f.root(beside) * _THRESHOLD) & (own > _EMPTY)):
            f.run(swap, later, pivots, i, size - 1)
            f.run(single, group)
            f.give(f.whole(1))
        partner, reach = Local(f, f.whole(-1)), Local(f, f.real(_EMPTY))
        with f.span(later, size) as k:
            value = f.magnitude(row[k])
            with f.when((value > reach.get()) & k.differs(i)):
                reach.set(value)
                partner.set(k)
        with f.when(partner.get() >= 0):
            j = partner.get()
            low, high = Local(f, i), Local(f, j)
            with f.when(i > j):
                low.set(j)
                high.set(i)
            other = front.row(j)
            a, b, c = row[i], row[j], other[j]
            det = f.magnitude(a * c - b * b)
            first = f.root(f.most(beside - b * b, 0.0))
            second = f.root(f.most(f.run(square, j) - b * b, 0.0))
            needed = f.most(
                f.magnitude(c) * first + f.magnitude(b) * second,
                f.magnitude(b) * first + f.magnitude(a) * second,
            )
            with f.when((det >= needed * _THRESHOLD) & (det > _EMPTY)):
                f.run(swap, later, pivots, high.get(), size - 1)
                f.run(swap, later, pivots, low.get(), size - 2)
                f.run(double, group)
                f.give(f.whole(2))
    f.give(f.whole(0))
    return f


def _factor_text(module: IRModule, begin: Routine, choose: Routine, finish: Routine) -> None:
    f = routine(module, _LAYOUT, "factor_symmetric", NOTHING, public=True)
    front = _Front(f)
    for k in range(len(_COUNTS)):
        f.put_index("counts", f.whole(k), f.whole(0))
    for k in range(3):
        f.put_index("state", f.whole(k), f.whole(0))
    for name in ("begins", "firsts"):
        f.put_index(name, f.whole(0), f.whole(0))
    with f.each(f["groups"]) as group:
        f.run(begin, group)
        with f.when(f.index("counts", f.whole(_COUNTS.index("wide"))) > 0):
            f.give()
        with f.repeat() as loop, f.when(f.run(choose, group).equals(0)):
            loop.leave()
        f.run(finish, group)
    _count(f, "zero", front.size())
    f.give()


def _solve_text(module: IRModule) -> Routine:
    """Emit: replace ``rest`` by the solution with right-hand side ``rest``."""
    f = routine(module, _LAYOUT, "solve_rest", NOTHING)
    x, y, factors, diagonal, scale = map(f.vector, ("rest", "own", "factors", "diagonal", "scale"))

    def gather(group: Value, size: Value) -> None:
        with f.each(size) as i:
            y[i] = x[f.index("listed", group * f["width"] + i)]

    def scatter(group: Value, first: Value, size: Value) -> None:
        with f.span(first, size) as i:
            x[f.index("listed", group * f["width"] + i)] = y[i]

    def column(size: Value, step: Value, p: Value) -> tuple[Span, Value]:
        return Span(f, factors.at(f.index("begins", step))), _column_length(f, size, step, p)

    with f.each(f["order"]) as i:
        x[i] = x[i] * scale[i]
    with f.each(f["groups"]) as group:
        size, first = f.index("sizes", group), f.index("firsts", group)
        pivots = f.index("firsts", group + 1) - first
        gather(group, size)
        with f.each(pivots) as p:
            own, count = column(size, first + p, p)
            value = y[size - 1 - p]
            with f.each(count) as k:
                y[k] = y[k] - own[k] * value
        with f.each(pivots) as p:
            step, i = first + p, size - 1 - p
            kind = f.index("kinds", step)
            with f.when(kind.equals(1)):
                y[i] = y[i] / diagonal[step * 3]
            with f.when(kind.equals(2)):
                a, b, c = (diagonal[step * 3 + k] for k in range(3))
                det, one, two = a * c - b * b, y[i], y[i - 1]
                y[i] = (c * one - b * two) / det
                y[i - 1] = (a * two - b * one) / det
        scatter(group, f.whole(0), size)
    with f.each(f["groups"]) as back:
        group = f["groups"] - 1 - back
        size, first = f.index("sizes", group), f.index("firsts", group)
        pivots = f.index("firsts", group + 1) - first
        gather(group, size)
        with f.each(pivots) as later:
            p = pivots - 1 - later
            own, count = column(size, first + p, p)
            y[size - 1 - p] = y[size - 1 - p] - f.dot(count, own, y)
        scatter(group, size - pivots, size)
    with f.each(f["order"]) as i:
        x[i] = x[i] * scale[i]
    f.give()
    return f


def _refine_text(module: IRModule, solve: Routine) -> None:
    """Emit: ``found`` = A⁻¹ ``right``, with refinements until the residual is small, at most _REFINEMENTS."""
    f = routine(module, _LAYOUT, "solve_refined", NOTHING, public=True)
    right, found, rest, values = map(f.vector, ("right", "found", "rest", "values"))
    order, size = f["order"], Local(f, f.real(0.0))
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
