"""A small language for building LLVM code: values with operators, vectors with indices, loops with `with`.

    with code.each(n) as i:
        y[i] = x[i] + h * k[i]

emits that loop. Sums of products inside `each` may be fused (multiply-add), elsewhere every operation rounds
once, so that times such as t₀ + i·h are the same numbers that NumPy computes. The number of turns of a loop
is usually a constant; LLVM unrolls and vectorises it.

With ``lanes`` above one a real is a vector of so many, a number of each of as many runs: the same words then
speak of all of them. Single reals are taken for all lanes; comparisons give one truth value per lane.

This module imports llvmlite, so it is itself imported only when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from armillary.llvm import vector_math

REAL = ir.DoubleType()
WHOLE = ir.IntType(64)
ADDRESS = ir.PointerType()
NOTHING = ir.VoidType()


class Value:
    """A number in the code being built: a real or one per lane, a whole number, or truth values."""

    def __init__(self, code: Code, raw: Any) -> None:
        self.code = code
        self.raw = raw

    @property
    def real(self) -> bool:
        return self.raw.type in (REAL, self.code.kind)

    def _operate(self, name: str, left: Operand, right: Operand) -> Value:
        a, b = self._alike(left, right)
        if self.real:
            return Value(self.code, getattr(self.code.builder, "f" + name)(a, b, flags=self.code.flags))
        return Value(self.code, getattr(self.code.builder, name)(a, b))

    def _alike(self, *operands: Operand) -> list[Any]:
        """Operands as numbers of one type: that of the lanes, if one of them is."""
        kinds = [o.raw.type for o in (self, *operands) if isinstance(o, Value)]
        kind = self.code.kind if self.code.kind in kinds else self.raw.type
        return [self.code.of_kind(kind, o).raw for o in operands]

    def _compare(self, sign: str, other: Operand) -> Value:
        build = self.code.builder
        compare = build.fcmp_ordered if self.real else build.icmp_signed
        return Value(self.code, compare(sign, *self._alike(self, other)))

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
        """True also when either is NaN."""
        return ~self.equals(other)

    def __and__(self, other: Value) -> Value:
        return Value(self.code, self.code.builder.and_(self.raw, other.raw))

    def __or__(self, other: Value) -> Value:
        return Value(self.code, self.code.builder.or_(self.raw, other.raw))

    def __invert__(self) -> Value:
        return Value(self.code, self.code.builder.not_(self.raw))

    def to_real(self) -> Value:
        return Value(self.code, self.code.builder.sitofp(self.raw, REAL))


Operand = Value | float


class Vector:
    """Consecutive reals in memory; with lanes, those of one number side by side unless ``single``."""

    def __init__(self, code: Code, address: Any, single: bool = False) -> None:
        self.code = code
        self.address = address
        self.kind = REAL if single else code.kind

    def at(self, index: Value | int) -> Any:
        """The address of one entry."""
        index = self.code.whole(index) if isinstance(index, int) else index
        return self.code.builder.gep(self.address, [index.raw], inbounds=True, source_etype=self.kind)

    def __getitem__(self, index: Value | int) -> Value:
        return Value(self.code, self.code.builder.load(self.at(index), align=8, typ=self.kind))

    def __setitem__(self, index: Value | int, value: Operand) -> None:
        self.code.builder.store(self.code.of_kind(self.kind, value).raw, self.at(index), align=8)


class Variable:
    """A local that changes; LLVM keeps it in a register."""

    def __init__(self, code: Code, start: Value) -> None:
        self.code = code
        self.type = start.raw.type
        with code.builder.goto_entry_block():
            self.address = code.builder.alloca(self.type)
        self.set(start)

    def get(self) -> Value:
        return Value(self.code, self.code.builder.load(self.address, typ=self.type))

    def set(self, value: Operand) -> None:
        self.code.builder.store(self.code.of_kind(self.type, value).raw, self.address)


class Repeat:
    """An endless loop that its body leaves or begins again."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.head = code.builder.append_basic_block("repeat")
        self.exit = code.builder.append_basic_block("done")

    def again(self) -> None:
        self.code.builder.branch(self.head)

    def leave(self) -> None:
        self.code.builder.branch(self.exit)


class Code:
    """One function under construction."""

    def __init__(self, function: ir.Function, lanes: int = 1) -> None:
        self.function = function
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.flags: tuple[str, ...] = ()
        self.lanes = lanes
        self.kind = REAL if lanes == 1 else ir.VectorType(REAL, lanes)

    def real(self, number: float) -> Value:
        return Value(self, ir.Constant(REAL, float(number)))

    def whole(self, number: int) -> Value:
        return Value(self, ir.Constant(WHOLE, number))

    def of_kind(self, kind: Any, value: Operand) -> Value:
        """A number as one of a type: a constant, as it is, or the same in all lanes."""
        if isinstance(value, Value):
            return value if value.raw.type == kind else self.spread(value)
        content = [value] * self.lanes if isinstance(kind, ir.VectorType) else value
        return Value(self, ir.Constant(kind, content))

    def spread(self, value: Value) -> Value:
        """One real in all lanes."""
        nothing, indices = ir.Constant(self.kind, ir.Undefined), ir.VectorType(ir.IntType(32), self.lanes)
        one = self.builder.insert_element(nothing, value.raw, ir.Constant(ir.IntType(32), 0))
        every = ir.Constant(indices, [0] * self.lanes)
        return Value(self, self.builder.shuffle_vector(one, nothing, every))

    def argument(self, index: int) -> Value:
        return Value(self, self.function.args[index])

    def give(self, value: Value | None = None) -> None:
        """The end of the function, with its result if it has one."""
        if value is None:
            self.builder.ret_void()
        else:
            self.builder.ret(value.raw)

    # Choice and repetition

    def when(self, condition: Value) -> Any:
        return self.builder.if_then(condition.raw)

    def choose(self, condition: Value, yes: Operand, no: Operand) -> Value:
        kind = self.kind if isinstance(condition.raw.type, ir.VectorType) else REAL
        kind = self.kind if self.kind in [o.raw.type for o in (yes, no) if isinstance(o, Value)] else kind
        a, b = self.of_kind(kind, yes), self.of_kind(kind, no)
        return Value(self, self.builder.select(condition.raw, a.raw, b.raw))

    def any(self, condition: Value) -> Value:
        """Whether a condition holds in some lane."""
        flags = condition.raw.type
        if not isinstance(flags, ir.VectorType):
            return condition
        name = f"llvm.vector.reduce.or.v{self.lanes}i1"
        reduce = self._declared(name, ir.FunctionType(ir.IntType(1), [flags]))
        return Value(self, self.builder.call(reduce, [condition.raw]))

    def _declared(self, name: str, kind: ir.FunctionType) -> ir.Function:
        return self.builder.module.globals.get(name) or ir.Function(self.builder.module, kind, name)

    @contextmanager
    def each(self, count: Value | int) -> Iterator[Value]:
        """A loop over 0 … count − 1; what it computes may be fused."""
        index = Variable(self, self.whole(0))
        outside, self.flags = self.flags, ("contract",)
        with self.repeat() as loop:
            with self.when(index.get() >= count):
                loop.leave()
            yield index.get()
            index.set(index.get() + 1)
        self.flags = outside

    @contextmanager
    def repeat(self) -> Iterator[Repeat]:
        loop = Repeat(self)
        loop.again()
        self.builder.position_at_end(loop.head)
        yield loop
        loop.again()
        self.builder.position_at_end(loop.exit)

    def total(self, count: int, term: Callable[[Value], Value]) -> Value:
        """Σ term(i), as four sums of every fourth term: they do not wait for one another, and the order is
        the same with and without lanes.
        """
        sums = [Variable(self, self.of_kind(self.kind, 0.0)) for _ in range(min(4, max(count, 1)))]
        with self.each(count // 4) as i:
            for j, sum_ in enumerate(sums):
                sum_.set(sum_.get() + term(i * 4 + j))
        outside, self.flags = self.flags, ("contract",)
        for j in range(count % 4):
            sums[j].set(sums[j].get() + term(self.whole(count - count % 4 + j)))
        self.flags = outside
        found = [sum_.get() for sum_ in sums]
        while len(found) > 1:
            found = [a + b for a, b in zip(found[::2], found[1::2], strict=False)] + found[
                len(found) // 2 * 2 :
            ]
        return found[0]

    # Functions

    def intrinsic(self, name: str, *operands: Operand) -> Value:
        kind = self.kind if self.kind in [o.raw.type for o in operands if isinstance(o, Value)] else REAL
        suffix = "f64" if kind == REAL else f"v{self.lanes}f64"
        raw = [self.of_kind(kind, operand).raw for operand in operands]
        function = self._declared(f"llvm.{name}.{suffix}", ir.FunctionType(kind, [kind] * len(raw)))
        return Value(self, self.builder.call(function, raw))

    def magnitude(self, x: Operand) -> Value:
        return self.intrinsic("fabs", x)

    def root(self, x: Operand) -> Value:
        return self.intrinsic("sqrt", x)

    def power(self, x: Operand, exponent: Operand) -> Value:
        """x to some power, by our own function, to be linked from ``power_text``: the C library's differs
        from machine to machine, and none is the same on lanes.
        """
        kind = ir.VectorType(REAL, self.lanes)
        function = self._declared(power_text(self.lanes)[0], ir.FunctionType(kind, [kind] * 2))
        raw = [self.of_kind(self.kind, operand).raw for operand in (x, exponent)]
        result = self.builder.call(function, [self.builder.bitcast(a, kind) for a in raw])
        return Value(self, self.builder.bitcast(result, self.kind))

    def least(self, x: Operand, y: Operand) -> Value:
        """The smaller; y when they cannot be compared."""
        return self.choose(self._first(x, y) < y, x, y)

    def most(self, x: Operand, y: Operand) -> Value:
        """The larger; y when they cannot be compared."""
        return self.choose(self._first(x, y) > y, x, y)

    def _first(self, x: Operand, y: Operand) -> Value:
        return x if isinstance(x, Value) else self.of_kind(y.raw.type if isinstance(y, Value) else REAL, x)

    def sign(self, x: Value) -> Value:
        """−1, 0 or 1; 0 for NaN."""
        return self.choose(x > 0.0, 1.0, self.choose(x < 0.0, -1.0, 0.0))

    def copy(self, count: int, source: Vector, target: Vector) -> None:
        with self.each(count) as i:
            target[i] = source[i]


def power_text(lanes: int) -> tuple[str, str]:
    """The name of the function behind ``power`` and the LLVM text that defines it."""
    name, text = vector_math.function("pow", lanes)
    return name, text.replace(
        f"define internal <{lanes} x double> @{name}", f"define <{lanes} x double> @{name}"
    )
