"""A small language for building LLVM code: values with operators, vectors with indices, loops with `with`.

    with code.each(n) as i:
        y[i] = x[i] + h * k[i]

emits that loop. Sums of products inside `each` may be fused (multiply-add), elsewhere every operation rounds
once, so that times such as t₀ + i·h are the same numbers that NumPy computes. The number of turns of a loop
is usually a constant; LLVM unrolls and vectorises it.

This module imports llvmlite, so it is itself imported only when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

REAL = ir.DoubleType()
WHOLE = ir.IntType(64)
ADDRESS = ir.PointerType()
NOTHING = ir.VoidType()


class Value:
    """A scalar in the code being built: a real, a whole number or a truth value."""

    def __init__(self, code: Code, raw: Any) -> None:
        self.code = code
        self.raw = raw

    @property
    def real(self) -> bool:
        return self.raw.type == REAL

    def _operate(self, name: str, left: Operand, right: Operand) -> Value:
        a, b = self._like(left), self._like(right)
        if self.real:
            return Value(self.code, getattr(self.code.builder, "f" + name)(a, b, flags=self.code.flags))
        return Value(self.code, getattr(self.code.builder, name)(a, b))

    def _like(self, other: Operand) -> Any:
        return other.raw if isinstance(other, Value) else ir.Constant(self.raw.type, other)

    def _compare(self, sign: str, other: Operand) -> Value:
        build = self.code.builder
        compare = build.fcmp_ordered if self.real else build.icmp_signed
        return Value(self.code, compare(sign, self.raw, self._like(other)))

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
    """Consecutive reals in memory."""

    def __init__(self, code: Code, address: Any) -> None:
        self.code = code
        self.address = address

    def at(self, index: Value | int) -> Any:
        """The address of one entry."""
        index = self.code.whole(index) if isinstance(index, int) else index
        return self.code.builder.gep(self.address, [index.raw], inbounds=True, source_etype=REAL)

    def __getitem__(self, index: Value | int) -> Value:
        return Value(self.code, self.code.builder.load(self.at(index), typ=REAL))

    def __setitem__(self, index: Value | int, value: Operand) -> None:
        self.code.builder.store(self.code.as_real(value).raw, self.at(index))


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
        raw = value.raw if isinstance(value, Value) else ir.Constant(self.type, value)
        self.code.builder.store(raw, self.address)


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

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.flags: tuple[str, ...] = ()

    def real(self, number: float) -> Value:
        return Value(self, ir.Constant(REAL, float(number)))

    def whole(self, number: int) -> Value:
        return Value(self, ir.Constant(WHOLE, number))

    def as_real(self, value: Operand) -> Value:
        return value if isinstance(value, Value) else self.real(value)

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
        a, b = self.as_real(yes), self.as_real(no)
        return Value(self, self.builder.select(condition.raw, a.raw, b.raw))

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
        """Σ term(i); the order of summation is LLVM's, so that it can be a vector sum."""
        sum_ = Variable(self, self.real(0.0))
        with self.each(count) as i:
            part = term(i)
            self.flags = ("contract", "reassoc")
            sum_.set(sum_.get() + part)
        return sum_.get()

    # Functions

    def intrinsic(self, name: str, *operands: Operand) -> Value:
        raw = [self.as_real(operand).raw for operand in operands]
        function = self.builder.module.declare_intrinsic(
            f"llvm.{name}", [REAL], ir.FunctionType(REAL, [REAL] * len(raw))
        )
        return Value(self, self.builder.call(function, raw))

    def magnitude(self, x: Operand) -> Value:
        return self.intrinsic("fabs", x)

    def root(self, x: Operand) -> Value:
        return self.intrinsic("sqrt", x)

    def power(self, x: Operand, exponent: Operand) -> Value:
        return self.intrinsic("pow", x, exponent)

    def least(self, x: Operand, y: Operand) -> Value:
        """The smaller; y when they cannot be compared."""
        return self.choose(self.as_real(x) < y, x, y)

    def most(self, x: Operand, y: Operand) -> Value:
        """The larger; y when they cannot be compared."""
        return self.choose(self.as_real(x) > y, x, y)

    def sign(self, x: Value) -> Value:
        """−1, 0 or 1; 0 for NaN."""
        return self.choose(x > 0.0, 1.0, self.choose(x < 0.0, -1.0, 0.0))

    def copy(self, count: int, source: Vector, target: Vector) -> None:
        with self.each(count) as i:
            target[i] = source[i]
