"""Values, functions and modules of LLVM as text, and a writer of instructions with branches and loops.

This is the small part of `llvmlite.ir` that builder.py needs; an instruction is a line of text, not an
object. Types are written with their LLVM names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from armillary.llvm.instructions import real

REAL = "double"
WHOLE = "i64"
ADDRESS = "ptr"
NOTHING = "void"
TRUTH = "i1"

_SIGNS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq"}


def lanes_type(element: str, lanes: int) -> str:
    """Return the type of a vector."""
    return f"<{lanes} x {element}>"


def is_vector(kind: str) -> bool:
    return kind[0] == "<"


class Raw(NamedTuple):
    """An operand: its type, and its name or literal."""

    type: str
    name: str


def constant(kind: str, number: float) -> Raw:
    """Return a constant of a type; a vector has the number in all lanes."""
    element = kind[:-1].partition(" x ")[2] if is_vector(kind) else kind
    text = real(float(number)) if element == REAL else str(int(number))
    return Raw(kind, f"splat ({element} {text})" if is_vector(kind) else text)


class FunctionType(NamedTuple):
    result: str
    arguments: tuple[str, ...]


class Callee(NamedTuple):
    """A function that can be called: its type, and its name or the name of a pointer to it."""

    kind: FunctionType
    name: str


class IRModule:
    """Functions by their names, in the order of their creation, and lines of constants before them."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.constants: list[str] = []

    def declare_function(self, name: str, kind: FunctionType) -> Function:
        """Return the function of this name; declare it if it is missing."""
        return self.functions.get(name) or Function(self, kind, name)

    def __str__(self) -> str:
        return "\n".join([*self.constants, *(str(function) for function in self.functions.values())])


class Function:
    """A function of a module: a declaration until it has a block."""

    def __init__(self, module: IRModule, kind: FunctionType, name: str) -> None:
        self.module, self.kind, self.name = module, kind, name
        self.callee = Callee(kind, f"@{name}")
        self.args = [Raw(a, f"%a{i}") for i, a in enumerate(kind.arguments)]
        self.linkage = ""
        self.attributes: list[str] = []
        self.argument_attributes: dict[int, str] = {}
        self.locals: list[str] = []  # `alloca` lines, written at the entry of the function
        self.blocks: list[Block] = []
        self.count = 0
        module.functions[name] = self

    def fresh(self) -> str:
        """Return a name that no other value or block of this function has."""
        self.count += 1
        return f"%v{self.count}"

    def __str__(self) -> str:
        if not self.blocks:
            return f"declare {self.kind.result} @{self.name}({', '.join(self.kind.arguments)})"
        given = [f"{a.type} {self.argument_attributes.get(i, '')} {a.name}" for i, a in enumerate(self.args)]
        head = f"define {self.linkage} {self.kind.result} @{self.name}({', '.join(given)})"
        entry, *others = self.blocks
        lines = [f"{head} {' '.join(self.attributes)}", "{", f"{entry.name[1:]}:", *self.locals, *entry.lines]
        for block in others:
            lines.append(f"{block.name[1:]}:")
            lines += block.lines
        return "\n".join([*lines, "}"])


class Block:
    """A basic block: instructions up to a branch or return.

    With ``on_entry``, its lines are written at the function's entry.
    """

    def __init__(self, function: Function, on_entry: bool = False) -> None:
        self.name = function.fresh()
        self.lines: list[str] = function.locals if on_entry else []
        self.ended = False
        if not on_entry:
            function.blocks.append(self)


class InstructionWriter:
    """A writer of instructions at the end of a block."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.block = Block(function)

    def _value(self, kind: str, operation: str) -> Raw:
        function = self.function
        function.count += 1
        name = f"%v{function.count}"
        self.block.lines.append(f"{name} = {operation}")
        return Raw(kind, name)

    # Arithmetic

    def operate(self, operation: str, a: Raw, b: Raw) -> Raw:
        return self._value(a.type, f"{operation} {a.type} {a.name}, {b.name}")

    def negative(self, a: Raw) -> Raw:
        return self._value(a.type, f"fneg {a.type} {a.name}")

    def compare(self, sign: str, a: Raw, b: Raw, *, reals: bool) -> Raw:
        """Emit the comparison as a truth value; False if either real is NaN."""
        what = f"fcmp o{_SIGNS[sign]}" if reals else f"icmp {'' if sign == '==' else 's'}{_SIGNS[sign]}"
        kind = lanes_type(TRUTH, int(a.type[1:].partition(" ")[0])) if is_vector(a.type) else TRUTH
        return self._value(kind, f"{what} {a.type} {a.name}, {b.name}")

    def opposite(self, a: Raw) -> Raw:
        true = "splat (i1 true)" if is_vector(a.type) else "true"
        return self._value(a.type, f"xor {a.type} {a.name}, {true}")

    def convert(self, operation: str, a: Raw, kind: str) -> Raw:
        return a if a.type == kind else self._value(kind, f"{operation} {a.type} {a.name} to {kind}")

    def select(self, condition: Raw, yes: Raw, no: Raw) -> Raw:
        what = f"{condition.type} {condition.name}, {yes.type} {yes.name}, {no.type} {no.name}"
        return self._value(yes.type, f"select {what}")

    def spread(self, a: Raw, lanes: int) -> Raw:
        """Emit a vector with a number in all lanes."""
        kind = lanes_type(a.type, lanes)
        if a.name[0] != "%" and is_vector(kind):  # a constant
            return Raw(kind, f"splat ({a.type} {a.name})")
        one = self._value(kind, f"insertelement {kind} undef, {a.type} {a.name}, i32 0")
        indices = f"{lanes_type('i32', lanes)} zeroinitializer"
        return self._value(kind, f"shufflevector {kind} {one.name}, {kind} undef, {indices}")

    def lane(self, a: Raw, index: int) -> Raw:
        """Emit the extraction of a lane."""
        return self._value(REAL, f"extractelement {a.type} {a.name}, i32 {index}")

    def insert(self, a: Raw, number: Raw, index: int) -> Raw:
        """Emit a vector with another number in one lane."""
        return self._value(a.type, f"insertelement {a.type} {a.name}, double {number.name}, i32 {index}")

    def shuffle(self, a: Raw, b: Raw, order: Sequence[int]) -> Raw:
        """Emit a vector of lanes of two vectors; ``order`` numbers lanes of ``b`` after those of ``a``."""
        lanes = ", ".join(f"i32 {j}" for j in order)
        what = f"shufflevector {a.type} {a.name}, {b.type} {b.name}, <{len(order)} x i32> <{lanes}>"
        return self._value(a.type, what)

    # Memory

    def place(self, address: Raw, index: Raw, kind: str) -> Raw:
        """Emit the address of an array element; the elements have the type ``kind``."""
        where = f"ptr {address.name}, {index.type} {index.name}"
        return self._value(ADDRESS, f"getelementptr inbounds {kind}, {where}")

    def load(self, address: Raw, kind: str, align: str = "", *, volatile: bool = False) -> Raw:
        what = "load volatile" if volatile else "load"
        return self._value(kind, f"{what} {kind}, ptr {address.name}{align}")

    def store(self, a: Raw, address: Raw, align: str = "") -> None:
        self.block.lines.append(f"store {a.type} {a.name}, ptr {address.name}{align}")

    @contextmanager
    def on_entry(self) -> Iterator[None]:
        """Emit the code of the `with` block at the entry of the function, where it runs once."""
        here, self.block = self.block, Block(self.function, on_entry=True)
        yield
        self.block = here

    def local(self, kind: str, align: str = "") -> Raw:
        """Allocate a variable; return its address."""
        name = self.function.fresh()
        self.function.locals.append(f"{name} = alloca {kind}{align}")
        return Raw(ADDRESS, name)

    # Calls and branches

    def call(self, callee: Callee, operands: Sequence[Raw]) -> Raw:
        given = ", ".join([f"{a.type} {a.name}" for a in operands])
        what = f"call {callee.kind.result} {callee.name}({given})"
        if callee.kind.result != NOTHING:
            return self._value(callee.kind.result, what)
        self.block.lines.append(what)
        return Raw(NOTHING, "")

    def _end(self, line: str) -> None:
        assert not self.block.ended
        self.block.lines.append(line)
        self.block.ended = True

    def arriving(self, first: Raw, before: Block) -> tuple[Raw, Callable[[Raw], None]]:
        """Emit a value at the head of a loop; it is ``first`` if the loop is entered from ``before``.

        Return the value, and a function to call at the end of the loop's body with the next value.
        """
        lines, place = self.block.lines, len(self.block.lines)
        found = self._value(first.type, "")

        def arrive(following: Raw) -> None:
            ends = ((first, before), (following, self.block))
            ways = ", ".join(f"[ {value.name}, {block.name} ]" for value, block in ends)
            lines[place] = f"{found.name} = phi {first.type} {ways}"

        return found, arrive

    def branch(self, target: Block) -> None:
        self._end(f"br label {target.name}")

    def give(self, result: Raw | None = None) -> None:
        self._end("ret void" if result is None else f"ret {result.type} {result.name}")

    def unreachable(self) -> None:
        self._end("unreachable")

    @contextmanager
    def when(self, condition: Raw) -> Iterator[None]:
        """Emit the code of the `with` block so that it runs if the condition holds."""
        inside, after = Block(self.function), Block(self.function)
        self._end(f"br i1 {condition.name}, label {inside.name}, label {after.name}")
        self.block = inside
        yield
        if not self.block.ended:
            self.branch(after)
        self.block = after
