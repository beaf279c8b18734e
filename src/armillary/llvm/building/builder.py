"""A small language for building LLVM code: values with operators, vectors with indices, loops with `with`.

    with code.each(n) as i:
        y[i] = x[i] + h * k[i]

emits that loop. Sums and differences with products inside `each` are fused (multiply-add) if the machine can:
a·b + c·d is fma(a, b, c·d). Outside `each` every operation rounds once, so that times such as t₀ + i·h are
the numbers that NumPy computes. This module, not LLVM, decides which operations are fused, so loops over one
run and over lanes give the same digits.

With ``lanes`` above one a real is a vector with one number of each run, so the same code computes all runs.
Single reals are copied to all lanes; comparisons give one truth value per lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from armillary.llvm import vector_math
from armillary.llvm.building.emitter import (
    NOTHING,
    REAL,
    TRUTH,
    WHOLE,
    Block,
    Function,
    FunctionType,
    InstructionWriter,
    Raw,
    constant,
    is_vector,
    lanes_type,
)
from armillary.llvm.jit import quick, waits_for_parts

_ALIGNED = ", align 8"


class Value:
    """A number in the code being built: a real or one per lane, a whole number, or truth values."""

    def __init__(self, code: Code, raw: Raw) -> None:
        self.code = code
        self.raw = raw
        self.product: tuple[Raw, Raw] | None = None  # its factors, if it may be fused into a sum

    @property
    def real(self) -> bool:
        return self.raw.type in (REAL, self.code.kind)

    def _operate(self, name: str, left: Operand, right: Operand) -> Value:
        a, b = self._alike(left, right)
        builder = self.code.builder
        if not self.real:
            return Value(self.code, builder.operate(name, a, b))
        if not self.code.fuses or name == "div":
            return Value(self.code, builder.operate("f" + name, a, b))
        if name == "mul":
            made = Value(self.code, builder.operate("fmul", a, b))
            made.product = a, b
            return made
        for operand, raw, other in ((left, a, b), (right, b, a)):
            if isinstance(operand, Value) and operand.product and operand.raw.type == raw.type:
                x, y = operand.product
                if name == "sub" and operand is left:
                    other = builder.negative(other)
                elif name == "sub":
                    x = builder.negative(x)
                return Value(self.code, self.code.fused_product_sum(x, y, other))
        return Value(self.code, builder.operate("f" + name, a, b))

    def _alike(self, *operands: Operand) -> list[Raw]:
        """Return operands converted to one type: the type of vectors if one of them has it."""
        kinds = [o.raw.type for o in (self, *operands) if isinstance(o, Value)]
        kind = self.code.kind if self.code.kind in kinds else self.raw.type
        return [self.code.of_kind(kind, o).raw for o in operands]

    def _compare(self, sign: str, other: Operand) -> Value:
        a, b = self._alike(self, other)
        return Value(self.code, self.code.builder.compare(sign, a, b, reals=self.real))

    def __add__(self, other: Operand) -> Value:
        return self._operate("add", self, other)

    def __radd__(self, other: Operand) -> Value:
        return self._operate("add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return self._operate("sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self._operate("sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self._operate("mul", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self._operate("mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self._operate("div", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self._operate("div", other, self)

    def whole_quotient(self, other: Value) -> Value:
        """Return the quotient of two whole numbers, without its fraction."""
        return Value(self.code, self.code.builder.operate("sdiv", self.raw, other.raw))

    def __lt__(self, other: Operand) -> Value:
        return self._compare("<", other)

    def __le__(self, other: Operand) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: Operand) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: Operand) -> Value:
        return self._compare(">=", other)

    def equals(self, other: Operand) -> Value:
        return self._compare("==", other)

    def differs(self, other: Operand) -> Value:
        """Return the negation of ``equals``: true also if either is NaN."""
        return ~self.equals(other)

    def _combine(self, name: str, other: Value) -> Value:
        """Combine truth values; one of them may be the same for all lanes."""
        a, b = self, other
        if a.raw.type != b.raw.type:
            a, b = (x if is_vector(x.raw.type) else self.code.spread(x) for x in (a, b))
        return Value(self.code, self.code.builder.operate(name, a.raw, b.raw))

    def __and__(self, other: Value) -> Value:
        return self._combine("and", other)

    def __or__(self, other: Value) -> Value:
        return self._combine("or", other)

    def __invert__(self) -> Value:
        return Value(self.code, self.code.builder.opposite(self.raw))

    def to_real(self) -> Value:
        return Value(self.code, self.code.builder.convert("sitofp", self.raw, REAL))

    def to_whole(self) -> Value:
        """Return a real truncated to a whole number."""
        return Value(self.code, self.code.builder.convert("fptosi", self.raw, WHOLE))


Operand = Value | float


class Span:
    """Consecutive reals in memory; the lanes of a number are side by side, unless ``single``."""

    def __init__(self, code: Code, address: Raw, single: bool = False) -> None:
        self.code = code
        self.address = address
        self.single = single

    @property
    def kind(self) -> str:
        return REAL if self.single else self.code.kind

    def at(self, index: Value | int) -> Raw:
        """Return the address of one element."""
        index = self.code.whole(index) if isinstance(index, int) else index
        return self.code.builder.place(self.address, index.raw, self.kind)

    def __getitem__(self, index: Value | int) -> Value:
        return Value(self.code, self.code.builder.load(self.at(index), self.kind, _ALIGNED))

    def __setitem__(self, index: Value | int, value: Operand) -> None:
        self.code.builder.store(self.code.of_kind(self.kind, value).raw, self.at(index), _ALIGNED)

    def one_by_one(self, index: Value) -> Value:
        """Return the lanes of an element, loaded separately on x86-64.

        After separate stores a single load of all lanes would wait until the stores have reached the cache,
        after all earlier ones. LLVM does not merge volatile loads.
        """
        code, lanes = self.code, self.code.lanes
        if not waits_for_parts():
            return self[index]
        each, first = Span(code, self.address, single=True), index * lanes
        made = Raw(self.kind, "poison")
        for i in range(lanes):
            one = code.builder.load(each.at(first + i), REAL, _ALIGNED, volatile=True)
            made = code.builder.insert(made, one, i)
        return Value(code, made)


class Local:
    """A mutable local variable; LLVM keeps it in a register."""

    def __init__(self, code: Code, start: Value) -> None:
        self.code = code
        self.type = start.raw.type
        self.address = code.builder.local(self.type)
        self.set(start)

    def get(self) -> Value:
        return Value(self.code, self.code.builder.load(self.address, self.type))

    def set(self, value: Operand) -> None:
        self.code.builder.store(self.code.of_kind(self.type, value).raw, self.address)


class Repeat:
    """An endless loop; its body can leave it or restart it."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.head, self.exit = Block(code.function), Block(code.function)

    def again(self) -> None:
        self.code.builder.branch(self.head)

    def leave(self) -> None:
        self.code.builder.branch(self.exit)


class Code:
    """One function under construction."""

    def __init__(self, function: Function, lanes: int = 1) -> None:
        self.function = function
        self.builder = InstructionWriter(function)
        self.fuses = False
        self.lanes = lanes
        self.kind = REAL if lanes == 1 else lanes_type(REAL, lanes)

    def real(self, number: float) -> Value:
        return Value(self, constant(REAL, number))

    def whole(self, number: int) -> Value:
        return Value(self, constant(WHOLE, number))

    def of_kind(self, kind: str, value: Operand) -> Value:
        """Convert a number to a type: make a constant, or copy a single real to all lanes."""
        if isinstance(value, Value):
            return value if value.raw.type == kind else self.spread(value)
        return Value(self, constant(kind, value))

    def spread(self, value: Value) -> Value:
        """Return one real in all lanes."""
        return Value(self, self.builder.spread(value.raw, self.lanes))

    def argument(self, index: int) -> Value:
        return Value(self, self.function.args[index])

    def give(self, value: Value | None = None) -> None:
        """Return from the function, with its result if it has one."""
        self.builder.give(None if value is None else value.raw)

    # Choice and repetition

    def when(self, condition: Value) -> AbstractContextManager[None]:
        return self.builder.when(condition.raw)

    def choose(self, condition: Value, yes: Operand, no: Operand) -> Value:
        kind = self.kind if is_vector(condition.raw.type) else REAL
        kind = self.kind if self.kind in [o.raw.type for o in (yes, no) if isinstance(o, Value)] else kind
        a, b = self.of_kind(kind, yes), self.of_kind(kind, no)
        return Value(self, self.builder.select(condition.raw, a.raw, b.raw))

    def any(self, condition: Value) -> Value:
        """Return whether a condition holds in some lane."""
        flags = condition.raw.type
        if not is_vector(flags):
            return condition
        name = f"llvm.vector.reduce.or.v{self.lanes}i1"
        return Value(self, self._call_function(name, TRUTH, [condition.raw]))

    def _call_function(self, name: str, result: str, operands: list[Raw]) -> Raw:
        """Emit a call of a function by its name."""
        kind = FunctionType(result, tuple([a.type for a in operands]))
        return self.builder.call(self.function.module.declare_function(name, kind).callee, operands)

    @contextmanager
    def each(self, count: Value | int) -> Iterator[Value]:
        """Loop over 0 … count − 1, with fused operations."""
        outside, self.fuses = self.fuses, not quick()
        before = self.builder.block
        with self.repeat() as loop:
            index, arrive = self.builder.arriving(self.whole(0).raw, before)
            with self.when(Value(self, index) >= count):
                loop.leave()
            yield Value(self, index)
            arrive((Value(self, index) + 1).raw)
        self.fuses = outside

    @contextmanager
    def repeat(self) -> Iterator[Repeat]:
        loop = Repeat(self)
        loop.again()
        self.builder.block = loop.head
        yield loop
        loop.again()
        self.builder.block = loop.exit

    def total(self, count: int, term: Callable[[Value], Value]) -> Value:
        """Return Σ term(i) from four sums, each of every fourth term.

        The four sums do not depend on each other. Their order is the same with and without lanes.
        """
        sums = [Local(self, self.of_kind(self.kind, 0.0)) for _ in range(min(4, max(count, 1)))]
        with self.each(count // 4) as i:
            for j, sum_ in enumerate(sums):
                sum_.set(sum_.get() + term(i * 4 + j))
        outside, self.fuses = self.fuses, not quick()
        for j in range(count % 4):
            sums[j].set(sums[j].get() + term(self.whole(count - count % 4 + j)))
        self.fuses = outside
        found = [sum_.get() for sum_ in sums]
        while len(found) > 1:
            found = [a + b for a, b in zip(found[::2], found[1::2], strict=False)] + found[
                len(found) // 2 * 2 :
            ]
        return found[0]

    def each_pair(self, fours: Value) -> Iterator[Value]:
        """Loop over 4·``fours`` reals as pairs, at least once; emit the body twice, for neighbouring pairs.

        Vectors of four are not used: products of four doubles lower the clock of Skylake servers by a seventh
        for 2/3 ms, so a few in each stage slowed down whole runs.
        """
        outside, index = (self.fuses, self.lanes, self.kind), Local(self, self.whole(0))
        with self.repeat() as loop:
            for j in range(2):
                place = index.get() * 2 + j
                self.fuses, self.lanes, self.kind = not quick(), 2, lanes_type(REAL, 2)
                yield place
                self.fuses, self.lanes, self.kind = outside
            index.set(index.get() + 1)
            with self.when(index.get() >= fours):
                loop.leave()

    def total_of_fours(self, count: Value, term: Callable[[Value], Value]) -> Value:
        """Return Σ term(i) over pairs i of `each_pair`, added in the order of ``total``."""
        pairs = [Local(self, Value(self, constant(lanes_type(REAL, 2), 0.0))) for _ in range(2)]
        for pair, i in zip(pairs, self.each_pair(count), strict=True):
            pair.set(pair.get() + term(i))
        a, b, c, d = (Value(self, self.builder.lane(pair.get().raw, j)) for pair in pairs for j in range(2))
        return (a + b) + (c + d)

    # Functions

    def intrinsic(self, name: str, *operands: Operand) -> Value:
        kind = self.kind if self.kind in [o.raw.type for o in operands if isinstance(o, Value)] else REAL
        suffix = "f64" if kind == REAL else f"v{self.lanes}f64"
        raw = [self.of_kind(kind, operand).raw for operand in operands]
        return Value(self, self._call_function(f"llvm.{name}.{suffix}", kind, raw))

    def fused_product_sum(self, x: Raw, y: Raw, z: Raw) -> Raw:
        """Emit x·y + z, rounded once if the machine can."""
        suffix = f"v{self.lanes}f64" if is_vector(x.type) else "f64"
        return self._call_function(f"llvm.fmuladd.{suffix}", x.type, [x, y, z])

    def magnitude(self, x: Operand) -> Value:
        return self.intrinsic("fabs", x)

    def root(self, x: Operand) -> Value:
        return self.intrinsic("sqrt", x)

    def power(self, x: Operand, exponent: Operand) -> Value:
        """Emit x to some power by the function of ``power_text``, which must be linked.

        The C library's function differs between machines, and from the function for lanes.
        """
        kind = lanes_type(REAL, self.lanes)
        raw = [self.of_kind(self.kind, operand).raw for operand in (x, exponent)]
        operands = [self.builder.convert("bitcast", a, kind) for a in raw]
        result = self._call_function(power_text(self.lanes)[0], kind, operands)
        return Value(self, self.builder.convert("bitcast", result, self.kind))

    def least(self, x: Operand, y: Operand) -> Value:
        """Return the smaller; y if one is NaN."""
        return self.choose(self._first(x, y) < y, x, y)

    def most(self, x: Operand, y: Operand) -> Value:
        """Return the larger; y if one is NaN."""
        return self.choose(self._first(x, y) > y, x, y)

    def _first(self, x: Operand, y: Operand) -> Value:
        return x if isinstance(x, Value) else self.of_kind(y.raw.type if isinstance(y, Value) else REAL, x)

    def sign(self, x: Value) -> Value:
        """Return −1, 0 or 1; 0 for NaN."""
        return self.choose(x > 0.0, 1.0, self.choose(x < 0.0, -1.0, 0.0))

    def expect_stores(self, row: Span, length: Value) -> None:
        """Emit a prefetch of the memory of the next row.

        Rows are stored in order. Without a prefetch the first store to a cache line that is not in the cache
        delays the stores of the next stages: 4 of 15 ns for a row of the Stanford arm.
        """
        lines = (length + 7).whole_quotient(self.whole(8))
        with self.each(lines) as i:
            place = row.at(length + i * 8)
            how = [Raw("i32", number) for number in ("1", "3", "1")]  # for writing, high locality, data cache
            self._call_function("llvm.prefetch.p0", NOTHING, [place, *how])

    def copy(self, count: Value | int, source: Span, target: Span) -> None:
        with self.each(count) as i:
            target[i] = source[i]


def power_text(lanes: int) -> tuple[str, str]:
    """Return the name of the function behind ``power`` and the LLVM text that defines it."""
    name, text = vector_math.function("pow", lanes)
    return name, text.replace(
        f"define internal <{lanes} x double> @{name}", f"define <{lanes} x double> @{name}"
    )
