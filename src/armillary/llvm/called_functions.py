"""Functions that sections call: lookup tables and inputs over time, by Horner's rule, and block functions."""

from __future__ import annotations

from functools import partial

import numpy as np

from armillary.algebra.block_functions import BlockFunction
from armillary.algebra.expression import Expr
from armillary.algebra.tables import Piecewise
from armillary.llvm.instructions import Instructions, Place, Places, constant_array
from armillary.llvm.module import IMPLEMENTATIONS, Module, record_text, vector_places, workspace_length
from armillary.program.branch_packs import strip_lets

# Lookup tables as LLVM functions of doubles or vectors: find the interval on each axis, then use Horner's
# rule.
#
# Breaks and coefficients, as in ``algebra/tables.py``, are constant arrays beside the code. The intervals of
# all lanes are found together, by bisection with the same number of steps in every lane. If there are few
# breaks, vector code counts the breaks that each lane has passed instead, which needs no gathers.

FEW = 32  # most breaks for which counting takes less time than bisection


def lookup_function(name: str, table: Piecewise, lanes: int = 1) -> str:
    """Return the LLVM function of a piecewise polynomial, on vectors if ``lanes`` is above one."""
    v = Instructions(lanes, single=lanes == 1)
    arguments = [f"%x{axis}" for axis in range(table.arity)]
    data = [constant_array(f"{name}_coefficients", np.ravel(table.coefficients))]
    intervals, distances = [], []
    for axis, (x, breaks) in enumerate(zip(arguments, table.breaks, strict=True)):
        array = f"{name}_breaks{axis}"
        data.append(constant_array(array, _pad_breaks(breaks)))
        if table.outside[axis] == "clamp":
            x = v.clamp(x, float(breaks[0]), float(breaks[-1]))
        else:
            x = v.add(x, 0.0)
        counting = lanes > 1 and len(breaks) <= FEW
        interval = _count_breaks(v, x, breaks) if counting else _bisect_breaks(v, x, breaks, array)
        intervals.append(interval)
        distances.append(v.sub(x, v.elements(array, interval)))
    value = _horner(v, f"{name}_coefficients", table, intervals, distances)
    for axis, x in enumerate(arguments):
        if table.coefficients.shape[table.arity + axis] == 1:  # a constant piece would turn NaN into a number
            value = v.choose(v.compare("uno", x, 0.0), x, value)
        if table.outside[axis] == "zero":
            first, last = float(table.breaks[axis][0]), float(table.breaks[axis][-1])
            outside = v.either(v.compare("olt", x, first), v.compare("ogt", x, last))
            value = v.choose(outside, 0.0, value)
    return "\n".join([*data, v.function(name, arguments, v.real, value, "noinline")])


def _pad_breaks(breaks: np.ndarray) -> np.ndarray:
    """Return the left breaks of all intervals, padded to a power of two with NaN, which no number exceeds."""
    left = np.asarray(breaks[:-1], dtype=float)
    return np.concatenate([left, np.full((1 << (len(left) - 1).bit_length()) - len(left), np.nan)])


def _count_breaks(v: Instructions, x: str, breaks: np.ndarray) -> str:
    interval = v.whole(0)
    for inner in breaks[1:-1]:
        passed = v.compare("oge", x, float(inner))
        interval = v.integer("sub", interval, v.emit(f"sext {v.mask} {passed} to {v.bits}"))
    return interval


def _bisect_breaks(v: Instructions, x: str, breaks: np.ndarray, array: str) -> str:
    interval = v.whole(0)
    step = len(_pad_breaks(breaks)) // 2
    while step:
        further = v.integer("add", interval, step)
        passed = v.compare("oge", x, v.elements(array, further))
        interval = v.emit(f"select {v.mask} {passed}, {v.bits} {further}, {v.bits} {interval}")
        step //= 2
    return interval


def _horner(v: Instructions, array: str, table: Piecewise, intervals: list[str], distances: list[str]) -> str:
    """Emit Σ coefficients · powers by Horner's rule: along the last axis for each power of the first, and
    then along the first axis.
    """
    shape = table.coefficients.shape
    degrees = shape[table.arity :]
    cell = intervals[0]
    if table.arity == 2:
        cell = v.integer("add", v.integer("mul", cell, shape[1]), intervals[1])
    base = v.integer("mul", cell, int(np.prod(degrees)))
    inner = degrees[-1]

    def coefficient(k: int) -> str:
        return v.elements(array, v.integer("add", base, k))

    values = []
    for row in range(degrees[0] if table.arity == 2 else 1):
        value = coefficient(row * inner + inner - 1)
        for power in reversed(range(inner - 1)):
            value = v.add(v.mul(value, distances[-1]), coefficient(row * inner + power))
        values.append(value)
    result = values[-1]
    for value in reversed(values[:-1]):
        result = v.add(v.mul(result, distances[0]), value)
    return result


# Inputs over time as LLVM functions: find the piece that contains a time, then use Horner's rule.
#
# The data belong to a run, not to the code: the memory of an input holds the address of a block of doubles,
#
#     block   [address of the breaks, their number n, 1 / spacing or 0, coefficients m of a piece,
#              coefficients of piece 0, …, of piece n]
#     u(t) = Σ cₖ (t − b)ᵏ        k = 0 … m − 1
#
# Piece 0 lies before the first break, piece i begins at break i. b is the break at which the piece begins,
# for piece 0 the first break. If the breaks are evenly spaced, the index of the piece is computed from t, and
# corrected by comparing neighbouring breaks; otherwise it is found by bisection. In a lane without a run the
# address is 0, and so is the input. `runtime/inputs/reading.py` makes the blocks.

HEAD = 4  # numbers before the coefficients of a block

_SCALAR = f"""\
declare double @llvm.maxnum.f64(double, double) nounwind
declare double @llvm.minnum.f64(double, double) nounwind
define internal double @signal(double %t, double %place) noinline nounwind {{
check:
  %there = fcmp ogt double %place, 0.0
  br i1 %there, label %entry, label %idle
idle:
  ret double 0.0
entry:
  %address = fptoui double %place to i64
  %data = inttoptr i64 %address to ptr
  %breaks_number = load double, ptr %data
  %breaks_address = fptoui double %breaks_number to i64
  %breaks = inttoptr i64 %breaks_address to ptr
  %n_at = getelementptr inbounds double, ptr %data, i64 1
  %n_real = load double, ptr %n_at
  %n = fptosi double %n_real to i64
  %rate_at = getelementptr inbounds double, ptr %data, i64 2
  %rate = load double, ptr %rate_at
  %m_at = getelementptr inbounds double, ptr %data, i64 3
  %m_real = load double, ptr %m_at
  %m = fptosi double %m_real to i64
  %first = load double, ptr %breaks
  %even = fcmp ogt double %rate, 0.0
  br i1 %even, label %guess, label %halve
guess:
  %after = fsub double %t, %first
  %counted = fmul double %after, %rate
  %next = fadd double %counted, 1.0
  %low = call double @llvm.maxnum.f64(double %next, double 0.0)
  %bounded = call double @llvm.minnum.f64(double %low, double %n_real)
  %guessed = fptosi double %bounded to i64
  br label %down
down:
  %i = phi i64 [ %guessed, %guess ], [ %i_less, %too_far ]
  %positive = icmp sgt i64 %i, 0
  br i1 %positive, label %look_down, label %up
look_down:
  %i_less = sub i64 %i, 1
  %begin_at = getelementptr inbounds double, ptr %breaks, i64 %i_less
  %begin = load double, ptr %begin_at
  %before = fcmp olt double %t, %begin
  br i1 %before, label %too_far, label %up
too_far:
  br label %down
up:
  %j = phi i64 [ %i, %down ], [ %i, %look_down ], [ %j_more, %too_near ]
  %inside = icmp slt i64 %j, %n
  br i1 %inside, label %look_up, label %found
look_up:
  %end_at = getelementptr inbounds double, ptr %breaks, i64 %j
  %end = load double, ptr %end_at
  %beyond = fcmp oge double %t, %end
  br i1 %beyond, label %too_near, label %found
too_near:
  %j_more = add i64 %j, 1
  br label %up
halve:
  %a = phi i64 [ 0, %entry ], [ %a_new, %halved ]
  %b = phi i64 [ %n, %entry ], [ %b_new, %halved ]
  %open = icmp slt i64 %a, %b
  br i1 %open, label %halved, label %found
halved:
  %sum = add i64 %a, %b
  %middle = lshr i64 %sum, 1
  %middle_at = getelementptr inbounds double, ptr %breaks, i64 %middle
  %middle_time = load double, ptr %middle_at
  %passed = fcmp oge double %t, %middle_time
  %middle_more = add i64 %middle, 1
  %a_new = select i1 %passed, i64 %middle_more, i64 %a
  %b_new = select i1 %passed, i64 %b, i64 %middle
  br label %halve
found:
  %piece = phi i64 [ %j, %up ], [ %j, %look_up ], [ %a, %halve ]
  %is_first = icmp eq i64 %piece, 0
  %previous = sub i64 %piece, 1
  %own = select i1 %is_first, i64 0, i64 %previous
  %own_at = getelementptr inbounds double, ptr %breaks, i64 %own
  %start = load double, ptr %own_at
  %s = fsub double %t, %start
  %row = mul i64 %piece, %m
  %offset = add i64 %row, {HEAD}
  %coefficients = getelementptr inbounds double, ptr %data, i64 %offset
  br label %horner
horner:
  %left = phi i64 [ %m, %found ], [ %k, %horner ]
  %value = phi double [ 0.0, %found ], [ %value_new, %horner ]
  %k = sub i64 %left, 1
  %c_at = getelementptr inbounds double, ptr %coefficients, i64 %k
  %c = load double, ptr %c_at
  %scaled = fmul double %value, %s
  %value_new = fadd double %scaled, %c
  %more = icmp sgt i64 %k, 0
  br i1 %more, label %horner, label %done
done:
  %unknown = fcmp uno double %t, 0.0
  %result = select i1 %unknown, double %t, double %value_new
  ret double %result
}}
"""


def signal_function(lanes: int) -> str:
    """Return LLVM code of ``signal(t, place)``, the input at time t whose block has the address ``place``.

    For vectors the code also has ``signals``, which calls ``signal`` for each lane.
    """
    if lanes == 1:
        return _SCALAR
    v = f"<{lanes} x double>"
    lines, value = [], "undef"
    for i in range(lanes):
        lines += [
            f"  %t{i} = extractelement {v} %t, i64 {i}",
            f"  %p{i} = extractelement {v} %place, i64 {i}",
            f"  %u{i} = call double @signal(double %t{i}, double %p{i})",
            f"  %r{i} = insertelement {v} {value}, double %u{i}, i64 {i}",
        ]
        value = f"%r{i}"
    head = f"define internal {v} @signals({v} %t, {v} %place) noinline nounwind {{"
    return "\n".join([_SCALAR, head, *lines, f"  ret {v} {value}", "}"]) + "\n"


COPIED = 240  # most arguments of a block that one function copies

_MEMSET = "@llvm.memset.p0.i64"


def is_number_zero(node: Expr) -> bool:
    """Return whether a node is the number zero, as many elements of matrices are."""
    return node.kind == "number" and node.data == 0


class BlockCalls(Instructions):
    """The part of a writer of sections that calls block functions."""

    module: Module
    places: Places

    def value(self, node: Expr) -> str:
        """Return the value of a node."""
        raise NotImplementedError

    def block(self, node: Expr) -> str:
        """Emit the calls of a block function, one for each run; return the address of their workspaces."""
        block: BlockFunction = node.data
        name = IMPLEMENTATIONS[block.name]()
        record = f"record_{block.digest:x}"
        self.module.need(record, lambda: record_text(block, record))
        self.module.need(name, lambda: f"declare void @{name}(ptr, ptr) nounwind")
        places, length, lanes = vector_places(block), workspace_length(block), self.module.lanes
        slots = [places[v] + i for v in block.takes for i in range(block.vectors[v])]
        given = [(slot, a) for slot, a in zip(slots, node.args, strict=True) if not is_number_zero(a)]
        condition = self.block_condition(block, node)
        copied = self.copied_arguments(given, 1 if condition else COPIED // 4)
        values = [(slot, self.value(a)) for slot, a in given if slot not in copied]
        first, last = min(slots), max(slots) + 1
        room = self.emit(f"alloca [{length * lanes} x double], align 64")
        self.lines.insert(0, self.lines.pop())  # allocate at the function's entry, as part of its frame
        self.module.need("llvm.memset", lambda: f"declare void {_MEMSET}(ptr, i8, i64, i1)")
        for k in range(lanes):
            if condition:
                one = (
                    self.emit(f"extractelement {self.real} {condition}, i64 {k}") if lanes > 1 else condition
                )
                idle = self.emit(f"fcmp oeq double {one}, 0.0")
                label = idle.removeprefix("%")
                ways = f"label %after_{label}, label %call_{label}"
                self.lines += [f"  br i1 {idle}, {ways}, !prof !0", f"call_{label}:"]
            own = self.emit(f"getelementptr inbounds double, ptr {room}, i64 {k * length}")
            zeros = self.emit(f"getelementptr inbounds double, ptr {own}, i64 {first}")
            self.lines.append(f"  call void {_MEMSET}(ptr {zeros}, i8 0, i64 {8 * (last - first)}, i1 false)")
            self.lines += [
                f"  call void @{copy}(ptr {own}, {taken})" for copy, taken in copied.values() if copy
            ]
            for slot, value in values:
                if lanes > 1:
                    value = self.emit(f"extractelement {self.real} {value}, i64 {k}")
                at = self.emit(f"getelementptr inbounds double, ptr {own}, i64 {slot}")
                self.lines.append(f"  store double {value}, ptr {at}, align 8")
            self.lines.append(f"  call void @{name}(ptr @{record}, ptr {own})")
            if condition:
                self.lines += [f"  br label %after_{label}", f"after_{label}:"]
        return room

    def block_condition(self, block: BlockFunction, node: Expr) -> str:
        """Return the value of a block's condition, or "" if the block is always called."""
        if block.condition is None:
            return ""
        before = block.takes[: block.takes.index(block.condition)]
        given = node.args[sum(block.vectors[v] for v in before)]
        return "" if given.kind == "number" else self.value(given)

    def copied_arguments(self, given: list[tuple[int, Expr]], least: int) -> dict[int, tuple[str, str]]:
        """Write functions that copy shared values to slots of a workspace; return their calls by slot.

        A call is a pair: the name of a function, and the arrays that it takes. It is returned for the first
        slot that the function fills; for its other slots both entries are "". Copied values need no registers
        before the call of the block. Fewer than ``least`` values are stored one by one.

        All blocks of a model take the same constraint rows, so most functions serve several calls. LLVM's
        time grows with the square of the stores in one function: 40 contacts would have 1,440 stores in each
        of six calls.
        """
        found: dict[int, tuple[str, str]] = {}
        if self.module.lanes > 1:
            return found
        for start in range(0, len(given), COPIED):
            pairs = [(slot, self.places.get(strip_lets(a))) for slot, a in given[start : start + COPIED]]
            shared = [(s, p) for s, p in pairs if isinstance(p, tuple) and p[0] in self.module.shared_arrays]
            if len(shared) < least:
                continue
            arrays = sorted({array for _, (array, _) in shared})
            name = self.module.copies.setdefault(tuple(shared), f"copy_values_{len(self.module.copies)}")
            self.module.need(name, partial(_copy_function, name, shared, arrays))
            found |= {slot: ("", "") for slot, _ in shared}
            found[shared[0][0]] = name, ", ".join(f"ptr %{array}" for array in arrays)
        return found

    def block_part(self, block: BlockFunction, index: int, room: str) -> str:
        """Emit the load of a result of a block function."""
        places, length = vector_places(block), workspace_length(block)
        slots = [places[v] + i for v in block.gives for i in range(block.vectors[v])]
        value = "zeroinitializer"
        for k in range(self.module.lanes):
            at = self.emit(f"getelementptr inbounds double, ptr {room}, i64 {k * length + slots[index]}")
            one = self.emit(f"load double, ptr {at}, align 8")
            if self.module.lanes == 1:
                return one
            value = self.emit(f"insertelement {self.real} {value}, double {one}, i64 {k}")
        return value


def _copy_function(name: str, pairs: list[tuple[int, Place]], arrays: list[str]) -> str:
    """Return a function that copies elements of arrays into slots of a workspace.

    The indices are in tables: a load and a store of each element by itself would take LLVM ten times as long.
    """
    head = ", ".join(f"ptr noalias nocapture readonly %{array}" for array in arrays)
    lines = [f"define internal void @{name}(ptr noalias nocapture %out, {head}) noinline nounwind {{"]
    tables = []
    before = "entry"
    lines.append(f"{before}:")
    for a, array in enumerate(arrays):
        own = [(index, slot) for slot, (of, index) in pairs if of == array]
        numbers = ", ".join(f"i32 {x}" for pair in own for x in pair)
        tables.append(f"@{name}_{a} = internal constant [{2 * len(own)} x i32] [{numbers}]")
        lines += [
            f"  br label %next{a}",
            f"next{a}:",
            f"  %k{a} = phi i64 [ 0, %{before} ], [ %more{a}, %next{a} ]",
            f"  %p{a} = getelementptr inbounds i32, ptr @{name}_{a}, i64 %k{a}",
            f"  %q{a} = getelementptr inbounds i32, ptr %p{a}, i64 1",
            f"  %index{a} = load i32, ptr %p{a}, align 4",
            f"  %slot{a} = load i32, ptr %q{a}, align 4",
            f"  %from{a} = getelementptr inbounds double, ptr %{array}, i32 %index{a}",
            f"  %value{a} = load double, ptr %from{a}, align 8",
            f"  %to{a} = getelementptr inbounds double, ptr %out, i32 %slot{a}",
            f"  store double %value{a}, ptr %to{a}, align 8",
            f"  %more{a} = add nuw nsw i64 %k{a}, 2",
            f"  %left{a} = icmp ult i64 %more{a}, {2 * len(own)}",
            f"  br i1 %left{a}, label %next{a}, label %end{a}",
            f"end{a}:",
        ]
        before = f"end{a}"
    return "\n".join([*tables, *lines, "  ret void", "}"])
