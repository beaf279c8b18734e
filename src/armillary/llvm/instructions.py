"""Straight-line LLVM code as text, a line per operation, on single doubles or on vectors of them.

The nodes of sections, elementary functions and lookup tables are written with the same instructions; writing
lines is ten times faster than building them object by object. For code with loops and branches see
builder.py.

Products are fused into sums: ±a·b ± c is one operation if the machine has it. A product that is used only as
a term of sums then needs no separate operation, since each of these sums multiplies the product's factors
itself. But if all terms of a sum could be fused products, one of them must be computed first. The number of

    operations = Σ (terms − 1) over sums + computed products

is thus least for the smallest set of computed products that contains one term of each such sum. This hitting
set is found greedily.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from armillary.algebra.expression import Expr
from armillary.algebra.node import PRODUCT_OF_TWO
from armillary.program.branch_packs import strip_lets
from armillary.untyped import Given

Operand = str | float  # the name of a value, or a number for every lane
Values = Callable[[], list[str]]
Place = tuple[str, int]  # an array and an index
Places: TypeAlias = dict[Expr, Any]  # where values are: the name of a register, or an array and an index

# A label, across which LLVM's schedulers move no operation, and the declarations that labels need.
LABEL = "  call void @llvm.codeview.annotation(metadata !1)"
LABEL_TEXT = '!1 = !{!"order"}\ndeclare void @llvm.codeview.annotation(metadata)'


def real(value: float) -> str:
    """Return a double as LLVM writes it: its bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def number_of_bits(bits: int) -> float:
    """Return the double with given bits, so that a whole number can be loaded like a double."""
    found: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return found


def constant_array(name: str, values: Given) -> str:
    """Return the text of a constant array of doubles."""
    items = ", ".join(f"double {real(float(v))}" for v in values)
    return f"@{name} = internal constant [{len(values)} x double] [{items}], align 64"


@dataclass(frozen=True)
class ValueTypes:
    """The LLVM types of values: vectors of ``lanes`` doubles, or ``single`` doubles."""

    lanes: int
    single: bool = False

    def of(self, element: str) -> str:
        return element if self.single else f"<{self.lanes} x {element}>"

    @property
    def real(self) -> str:
        return self.of("double")

    @property
    def suffix(self) -> str:
        """The end of the names of LLVM's own functions."""
        return "f64" if self.single else f"v{self.lanes}f64"

    def number(self, value: float) -> str:
        """Return a number as an operand."""
        return real(value) if self.single else f"splat (double {real(value)})"

    def whole(self, value: int) -> str:
        return str(value) if self.single else f"splat (i64 {value})"


class Instructions:
    """Code under construction: its ``lines``, the ``declarations`` of the intrinsics that they call, and the
    texts of further functions that they call (``helpers``).

    ``add``, ``sub``, ``mul``, ``div`` and ``fused_product_sum`` round once, on every machine; with ``fma``
    and ``arithmetic`` the machine decides whether a product is rounded before the addition.
    """

    wide = False  # whether most operations are independent of each other, so that latencies matter little

    def __init__(self, lanes: int, single: bool = False) -> None:
        self.types = ValueTypes(lanes, single)
        self.lanes = lanes
        self.real, self.bits, self.mask = self.types.real, self.types.of("i64"), self.types.of("i1")
        self.number, self.whole = self.types.number, self.types.whole
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        self.helpers: list[str] = []
        self.count = 0

    def emit(self, operation: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def operand(self, value: Operand) -> str:
        return value if isinstance(value, str) else self.number(value)

    # ---------------------------------------------------------------- arithmetic

    def arithmetic(self, operation: str, a: Operand, b: Operand, flags: str = "contract ") -> str:
        first = a if isinstance(a, str) else self.number(a)
        second = b if isinstance(b, str) else self.number(b)
        return self.emit(f"{operation} {flags}{self.real} {first}, {second}")

    def add(self, a: Operand, b: Operand) -> str:
        return self.arithmetic("fadd", a, b, "")

    def sub(self, a: Operand, b: Operand) -> str:
        return self.arithmetic("fsub", a, b, "")

    def mul(self, a: Operand, b: Operand) -> str:
        return self.arithmetic("fmul", a, b, "")

    def div(self, a: Operand, b: Operand) -> str:
        return self.arithmetic("fdiv", a, b, "")

    def neg(self, a: str) -> str:
        return self.emit(f"fneg {self.real} {a}")

    def fused_product_sum(self, a: Operand, b: Operand, c: Operand) -> str:
        """Emit a·b + c with one rounding, on every machine."""
        return self.call("fma", a, b, c)

    def fma(self, a: Operand, b: Operand, c: Operand) -> str:
        """Emit a·b + c, fused if the machine can."""
        return self.call("fmuladd", a, b, c)

    def polynomial(self, z: str, coefficients: Sequence[float], square: str = "") -> str:
        """Emit Σ cᵢ zⁱ: pair neighbouring terms until three are left (Estrin), then use Horner's rule.

        For six terms the latency is half of Horner's. ``square`` is z², if it is computed already. ``wide``
        code uses Horner's rule alone, which needs fewer instructions.
        """
        terms: list[Operand] = list(coefficients)
        while len(terms) > 3 and not self.wide:
            pairs: list[Operand] = [self.fma(b, z, a) for a, b in zip(terms[::2], terms[1::2], strict=False)]
            terms = pairs + terms[2 * len(pairs) :]
            z, square = square or self.mul(z, z), ""
        value = terms[-1]
        for term in reversed(terms[:-1]):
            value = self.fma(value, z, term)
        return self.operand(value)

    def sum_of(self, a: Operand, b: Operand) -> tuple[str, str]:
        """Emit a + b rounded, and its rounding error, for a = 0 or |a| ≥ |b| (Dekker 1971)."""
        total = self.add(a, b)
        return total, self.add(self.sub(a, total), b)

    def product_of(self, a: Operand, b: Operand) -> tuple[str, str]:
        """Emit a·b rounded, and its rounding error."""
        product = self.mul(a, b)
        return product, self.fused_product_sum(a, b, self.neg(product))

    # ---------------------------------------------------------------- intrinsics, choices, bits

    def call(self, intrinsic: str, *arguments: Operand) -> str:
        v, name = self.real, f"@llvm.{intrinsic}.{self.types.suffix}"
        self.declarations[f"declare {v} {name}({', '.join([v] * len(arguments))})"] = None
        return self.emit(f"call {v} {name}({', '.join(f'{v} {self.operand(a)}' for a in arguments)})")

    def size(self, a: Operand) -> str:
        return self.call("fabs", a)

    def signed_as(self, size: Operand, sign: Operand) -> str:
        return self.call("copysign", size, sign)

    def compare(self, how: str, a: Operand, b: Operand) -> str:
        """Emit the mask of lanes in which a and b compare as ``how`` says."""
        return self.emit(f"fcmp {how} {self.real} {self.operand(a)}, {self.operand(b)}")

    def both(self, a: str, b: str) -> str:
        return self.emit(f"and {self.mask} {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.emit(f"or {self.mask} {a}, {b}")

    def choose(self, mask: str, a: Operand, b: Operand) -> str:
        """Emit a where the mask is set, else b."""
        return self.emit(
            f"select {self.mask} {mask}, {self.real} {self.operand(a)}, {self.real} {self.operand(b)}"
        )

    def clamp(self, a: str, low: float, high: float) -> str:
        """Emit the value from ``low`` to ``high`` that is nearest to a; NaN stays NaN."""
        a = self.choose(self.compare("olt", a, low), low, a)
        return self.choose(self.compare("ogt", a, high), high, a)

    def as_bits(self, a: Operand) -> str:
        return self.emit(f"bitcast {self.real} {self.operand(a)} to {self.bits}")

    def as_reals(self, a: str) -> str:
        return self.emit(f"bitcast {self.bits} {a} to {self.real}")

    def integer(self, operation: str, a: str, b: str | int) -> str:
        if isinstance(b, int):  # shift counts are part of the instruction; other numbers may be in registers
            b = self.types.whole(b) if operation in ("shl", "lshr") else self.whole(b)
        return self.emit(f"{operation} {self.bits} {a}, {b}")

    # ---------------------------------------------------------------- branches and functions

    def elements(self, array: str, places: str) -> str:
        """Emit loads of an element of a constant array for each lane."""
        p = self.emit(f"getelementptr inbounds double, ptr @{array}, {self.bits} {places}")
        if self.types.single:
            return self.emit(f"load double, ptr {p}")
        pointers, name = self.types.of("ptr"), f"@llvm.masked.gather.v{self.lanes}f64.v{self.lanes}p0"
        self.declarations[f"declare {self.real} {name}({pointers}, i32, {self.mask}, {self.real})"] = None
        mask = f"{self.mask} splat (i1 true)"
        return self.emit(f"call {self.real} {name}({pointers} {p}, i32 8, {mask}, {self.real} undef)")

    def all_of(self, mask: str) -> str:
        """Emit one bit: whether all lanes of a mask are set."""
        name = f"@llvm.vector.reduce.and.v{self.lanes}i1"
        self.declarations[f"declare i1 {name}({self.mask})"] = None
        return self.emit(f"call i1 {name}({self.mask} {mask})")

    def select_rare(self, mask: str, usual: Sequence[str], rare: Values) -> list[str]:
        """Emit the usual values in lanes of the mask and the rare ones in others.

        A branch skips the rare values if no lane needs them; no lane depends on its neighbours.
        """
        self.lines.insert(0, "first:")
        bit = self.all_of(mask)
        self.lines.append(f"  br i1 {bit}, label %done, label %rare\nrare:")
        other = [self.choose(mask, a, b) for a, b in zip(usual, rare(), strict=True)]
        self.lines.append("  br label %done\ndone:")
        ways = zip(usual, other, strict=True)
        return [self.emit(f"phi {self.real} [ {a}, %first ], [ {b}, %rare ]") for a, b in ways]

    def library(self, function: str, name: str, x: str) -> str:
        """Emit a call of the library's function on each lane, in a cold function ``name``."""
        v = self.real
        lines = []
        value = "undef"
        for i in range(self.lanes):
            lines.append(f"  %x{i} = extractelement {v} %x, i64 {i}")
            lines.append(f"  %y{i} = call double @{function}(double %x{i})")
            lines.append(f"  %r{i} = insertelement {v} {value}, double %y{i}, i64 {i}")
            value = f"%r{i}"
        body = "\n".join(lines)
        self.helpers.append(
            f"define internal {v} @{name}({v} %x) noinline cold nounwind {{\n{body}\n  ret {v} {value}\n}}"
        )
        return self.emit(f"call {v} @{name}({v} {x})")

    def function(self, name: str, arguments: Sequence[str], kind: str, result: str, attribute: str) -> str:
        """Return the text of a function with these lines, after the texts of the functions that it calls."""
        taken = ", ".join(f"{self.real} {a}" for a in arguments)
        head = f"define internal {kind} @{name}({taken}) {attribute} nounwind {{"
        body = [head, *self.lines, f"  ret {kind} {result}", "}"]
        return "\n".join([*self.declarations, *self.helpers, *body]) + "\n"


_PLAIN = frozenset((1, -1))  # coefficients that only give a term its sign


def fused_products(
    nodes: Sequence[Expr],
    results: Iterable[Expr],
    arrival: Mapping[Expr, int],
    vectors: Set[Expr] = frozenset(),
) -> set[Expr]:
    """Return the products of a section that are fused into its sums.

    ``arrival`` has the time at which each node is available. ``vectors`` are nodes that are computed in
    vectors; products that they use are computed, not fused.
    """
    found = _terms_alone(nodes, results, vectors)
    hits: dict[Expr, set[int]] = {}  # by product: the sums that could begin with it
    waiting: dict[int, Sequence[Expr]] = {}  # sums without a first term, and their products
    scaled: set[int] = set()  # sums that could begin with a term with a coefficient
    for k, node in enumerate(nodes):
        if node.kind != "sum" or node.data[0] or node in vectors:
            continue
        terms: Sequence[Expr] = node.args
        if not _PLAIN.issuperset(node.data[1]):
            terms = [term for c, term in zip(node.data[1], terms, strict=True) if c in _PLAIN]
        if not found.issuperset(terms):
            terms = [strip_lets(term) for term in terms]
        if terms and found.issuperset(terms):
            waiting[k] = terms
            if len(terms) < len(node.args):
                scaled.add(k)
            for term in terms:
                hits.setdefault(term, set()).add(k)
    shared = [(-len(users), arrival.get(p, 0), i, p) for i, (p, users) in enumerate(hits.items())]
    heapq.heapify(shared)
    while shared:
        count, known, i, product = heapq.heappop(shared)
        users = hits[product]
        if not users:
            continue
        if len(users) < -count:  # some of these sums have got a first term
            heapq.heappush(shared, (-len(users), known, i, product))
            continue
        if count == -1 and users <= scaled:
            continue
        found.discard(product)
        for k in list(users):
            for term in waiting.pop(k):
                hits[term].discard(k)
    return found


def _terms_alone(nodes: Sequence[Expr], results: Iterable[Expr], vectors: Set[Expr]) -> set[Expr]:
    """Return products of two or more factors that are used only as terms of sums, with coefficients ±1."""
    used: set[Expr] = set(results)
    others = []  # operands of nodes that need values
    for node in nodes:
        kind = node.kind
        if kind == "sum" and node not in vectors:
            if not _PLAIN.issuperset(node.data[1]):
                used.update([t for c, t in zip(node.data[1], node.args, strict=True) if c not in _PLAIN])
        elif kind != "let":
            others.append(node.args)
    used.update(chain.from_iterable(others))
    used.update([strip_lets(a) for a in used if a.kind == "let"])
    products = [n for n in nodes if n.kind == "product" and n not in used and n not in vectors]
    return {n for n in products if n.data is PRODUCT_OF_TWO or is_plain(n)}


def is_plain(node: Expr) -> bool:
    """Return whether a product is a square, a number times one factor, or several factors to the power 1."""
    coefficient, exponents = node.data
    if len(exponents) == 1:
        found: bool = exponents[0] == 2 or (exponents[0] == 1 and coefficient != 1 and coefficient != -1)
        return found
    return all([n == 1 for n in exponents])
