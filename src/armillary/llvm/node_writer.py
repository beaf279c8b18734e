"""The nodes of a section as lines of LLVM code, on single doubles or on vectors of them.

With ``lanes`` above one every value is a vector with a number of each run, so the program evaluates all runs
at once. Arrays hold the lanes of a quantity side by side, so that one load takes them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias
from weakref import proxy

from armillary.algebra.block_functions import BlockFunction, BlockPart
from armillary.algebra.expression import Expr
from armillary.algebra.functions import cos, sin
from armillary.algebra.tables import Piecewise
from armillary.llvm import vector_math
from armillary.llvm.called_functions import BlockCalls, lookup_function, signal_function
from armillary.llvm.instructions import Operand, Place, Places, is_plain, real
from armillary.llvm.module import Module
from armillary.program.branch_packs import strip_lets
from armillary.program.packs import largest_size
from armillary.program.program import ProgramSection


@dataclass(frozen=True)
class Driven:
    """The place of an input over time: the index of its data's address in the memory."""

    index: int


GROUP = 4  # angles in one vector: with 8, vectors of 512 bits slowed a chain of eight links by 40 %

COMPARISONS = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}

RUN = 12  # least terms of a sum in which neighbouring array elements are multiplied as vectors
LANES = 4  # numbers in one of these vectors
Terms: TypeAlias = list[tuple[float, Expr]]  # of a sum: coefficients and operands
Products: TypeAlias = Any  # vector of sums of products in progress: by writer a name or two; None at first
# Index in the array of numbers, by number, or by a vector of numbers and the lane.
NumberPlaces: TypeAlias = dict[float | tuple[tuple[float, ...], int], int]

INSTANT = (0, 0.5, 1, 2)  # magnitudes of constants that are part of instructions, or make them simpler
LOADED = 400  # most numbers that a function loads from an array; LLVM's time grows faster than their count


class Writer(BlockCalls):
    """Lines of one function; each node's value is an LLVM name or constant.

    With ``numbers``, the indices of constants in the array "numbers", constants are loaded from this array;
    new constants are appended.
    """

    def __init__(
        self,
        module: Module,
        places: Places,
        crossing: dict[Expr, int],
        arrival: Mapping[Expr, int],
        numbers: NumberPlaces | None = None,
        fused: Set[Expr] = frozenset(),
        opposite: set[Expr] | None = None,
    ) -> None:
        super().__init__(module.lanes, single=module.lanes == 1)
        if numbers is not None:  # a weak reference: a cycle would keep expressions until garbage collection
            self.number = partial(Writer.loaded_number, proxy(self), numbers, {})
        self.module = module
        self.arrival = arrival
        self.places = places
        self.crossing = crossing
        self.fused_products = fused
        self.opposite: set[Expr] = set() if opposite is None else opposite
        self.turned: dict[Expr, str] = {}
        self.splits: dict[Expr, tuple[str, str, bool]] = {}
        self.encoded = False  # whether the body calls Armillary's machine code
        self.values: dict[Expr, str] = {}
        self.vectors: dict[Place, str] = {}
        self.powers: dict[tuple[str, float], str] = {}
        self.flags: dict[str, str] = {}  # names of comparisons, by the names of their values 1 or 0

    def body(self, name: str) -> str:
        """Return the lines of the function."""
        return "\n".join(self.lines)

    # ---------------------------------------------------------------- operands

    def value(self, node: Expr) -> str:
        """Return the value of a node."""
        value, opposite = self.signed_value(node)
        if not opposite:
            return value
        node = strip_lets(node)
        if node not in self.turned:
            self.turned[node] = self.neg(value)
        return self.turned[node]

    def signed_value(self, node: Expr) -> tuple[str, bool]:
        """Return a node's value (computed, constant or loaded now), and whether it is the node's negative."""
        if node.kind == "let":
            node = strip_lets(node)
        found = self.values.get(node)
        if found is None:
            found = self.values[node] = self.find_value(node)
        return found, node in self.opposite

    def find_value(self, node: Expr) -> str:
        """Return a value that the lines so far do not compute: a number, input, or value of another piece."""
        if node.kind == "number":
            return self.number(float(node.data))
        if node in self.fused_products:  # a fused product whose value is needed nevertheless
            return self.product(node)
        if node not in self.places:
            return self.load("work", self.crossing[node])
        place = self.places[node]
        if isinstance(place, Driven):
            return self.driven_input(place.index)
        return place if isinstance(place, str) else self.load(*place)

    def loaded_number(self, numbers: NumberPlaces, known: dict[float, str], value: float) -> str:
        """Load a constant from the array once; if it is simple or the array is full, write it in the code."""
        found = known.get(value)
        if found is None:
            if value == 0 or (not self.module.registers and (abs(value) in INSTANT or len(known) >= LOADED)):
                return self.types.number(value)
            found = known[value] = self.load("numbers", numbers.setdefault(value, len(numbers)))
        return found

    def driven_input(self, index: int) -> str:
        """Emit the value of an input over time, whose memory holds the address of its data."""
        lanes = self.module.lanes
        self.module.need("signal", lambda: signal_function(lanes))
        name, place = "signal" if lanes == 1 else "signals", self.load("memory", index)
        return self.emit(f"call {self.real} @{name}({self.real} %t, {self.real} {place})")

    def load(self, array: str, index: int, kind: str = "") -> str:
        """Emit the load of an array element, or of the elements of a vector of type ``kind``."""
        return self.emit(f"load {kind or self.module.real}, ptr {self.element(array, index)}, align 8")

    def element(self, array: str, index: int) -> str:
        if not index:
            return f"%{array}"
        return self.emit(f"getelementptr inbounds {self.module.real}, ptr %{array}, i64 {index}")

    def store(self, value: str, array: str, index: int, kind: str = "") -> None:
        pointer = self.element(array, index)
        self.lines.append(f"  store {kind or self.module.real} {value}, ptr {pointer}, align 8")

    def results(
        self, section: ProgramSection, outs: Sequence[Place], only: Sequence[int] | None = None
    ) -> None:
        chosen = range(len(section.results)) if only is None else only
        values = [(self.result(section, i), outs[i]) for i in chosen]
        for value, place in values:
            self.store(self.unsigned_zero(value) if section.name == "outputs" else value, *place)

    def unsigned_zero(self, value: str) -> str:
        """Emit a value that users see: a zero gets no sign, since −0.0 + 0.0 is 0.0.

        NumPy, after the run, would take 6 to 25 ns for a row of 18 numbers, and its vectors of 512 bits lower
        the clock of Skylake cores: the next 1,000 steps of the Stanford arm took 5 % longer.
        """
        return self.add(value, self.zero()) if value[0] == "%" else value

    def zero(self) -> str:
        return self.types.number(0.0)

    def result(self, section: ProgramSection, i: int) -> str:
        """Return a result's value; for an input over time, sections that renew the memory return the address
        of its data.
        """
        place = self.places.get(section.results[i])
        if isinstance(place, Driven) and section.name.startswith(("update", "fire")):
            return self.load("memory", place.index)
        return self.value(section.results[i])

    # ---------------------------------------------------------------- nodes

    def node(self, node: Expr) -> None:
        if node.kind == "let" or node in self.fused_products:
            return
        if node not in self.values:
            self.values[node] = self.compute(node)
        place = self.crossing.get(node)
        if place is not None:
            self.store(self.values[node], "work", place)

    def compute(self, node: Expr) -> str:
        if node.kind == "sum":
            return self.sum(node)
        if node.kind == "product":
            return self.product(node)
        return self.function_node(node)

    def times(self, a: Operand, b: Operand) -> str:
        return self.mul(a, b)

    def sum(self, node: Expr) -> str:
        """Emit a sum. Its terms are added in the order of their arrival, so that only one operation follows
        the last of them. The sum begins with the first term that is not a fused product.
        """
        constant, coefficients = node.data
        arrival = self.arrival
        terms = list(zip(coefficients, node.args, strict=True))
        if len(terms) != 2 or arrival.get(terms[0][1], 0) >= arrival.get(terms[1][1], 0):
            terms.sort(key=lambda t: (arrival.get(t[1], 0), t[1].kind == "product", t[0] < 0))
        value = self.number(float(constant)) if constant else None
        if len(terms) >= RUN and self.module.lanes == 1:
            terms, value = self.runs(terms, value)
        opposite = False  # whether ``value`` is the negative of the sum so far
        if value is None:
            c, term = terms.pop(self.beginning(terms))
            value, opposite = self.signed_value(term)
            if c != 1 and c != -1:
                value = self.times(value, abs(float(c)))
            opposite ^= c < 0
        return self.with_terms(node, value, opposite, terms)

    def with_terms(self, node: Expr, value: str, opposite: bool, terms: list[tuple[float, Expr]]) -> str:
        """Emit the sum of ``value``, or of its negative if ``opposite``, and further terms."""
        for c, term in terms:
            if term.kind == "let":
                term = strip_lets(term)
            b: str | None = None
            if term in self.fused_products:
                a, b, minus = self.split(term)
            else:
                a, minus = self.signed_value(term)
                if c != 1 and c != -1:
                    b = self.number(abs(float(c)))
            minus ^= c < 0
            value = self.add_product(value, opposite, a, b, minus)
            opposite = opposite and minus
        if opposite:
            self.opposite.add(node)
        return value

    def beginning(self, terms: list[tuple[float, Expr]]) -> int:
        """Return the index of the first term that is not a fused product, if possible with coefficient ±1.

        Return −1, for the last term, if all are fused products.
        """
        scaled = 0
        for i, (c, term) in enumerate(terms):
            if strip_lets(term) not in self.fused_products:
                if c == 1 or c == -1:
                    return i
                scaled = scaled or i + 1
        return scaled - 1

    def add_product(self, value: str, opposite: bool, a: str, b: str | None, minus: bool) -> str:
        """Emit ±value ± a·b, or ±value ± a; with two minus signs emit the negative of this."""
        if b is None:
            if opposite == minus:
                return self.add(value, a)
            return self.sub(a, value) if opposite else self.sub(value, a)
        if opposite and not minus:
            value = self.neg(value)
        elif minus and not opposite:
            a = self.neg(a)
        return self.multiply_add(a, b, value)

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """Emit a·b + c, fused if the machine can."""
        v = self.real
        return self.emit(f"call {v} @llvm.fmuladd.{self.types.suffix}({v} {a}, {v} {b}, {v} {c})")

    def split(self, product: Expr) -> tuple[str, str, bool]:
        """Return a product's last factor, the product of the others, and whether the sign is negative."""
        found = self.splits.get(product)
        if found is None:
            values, minus = self.factors(product)
            found = self.splits[product] = values[-1], self.chain(values[:-1]), minus
        return found

    def factors(self, product: Expr) -> tuple[list[str], bool]:
        """Return the factors of a plain product (`is_plain`), and whether its sign is negative."""
        coefficient, exponents = product.data
        arrival = self.arrival
        bases: Sequence[Expr] = product.args
        if len(bases) != 2 or arrival.get(bases[1], 0) < arrival.get(bases[0], 0):
            bases = sorted(bases, key=lambda f: arrival.get(f, 0))
        size = abs(float(coefficient))
        values = [self.number(size)] if size != 1 else []
        minus = coefficient < 0
        for base in bases:
            value, other = self.signed_value(base)
            minus ^= other
            values.append(value)
        if exponents == (2,):
            values, minus = [*values, values[-1]], coefficient < 0
        return values, minus

    def runs(self, terms: Terms, value: str | None) -> tuple[Terms, str | None]:
        """Emit products of neighbours in an array, LANES at a time; return the other terms and the sum.

        The modes of a flexible body are such neighbours, and most of its operations are sums of such
        products. These sums then need a quarter of the instructions.
        """
        by_place = {self.places[t]: (c, t) for c, t in terms if self.in_array(t)}
        taken: set[Expr] = set()
        products: Products = None
        for array, first in sorted(by_place):
            chunk = [by_place.get((array, first + i)) for i in range(LANES)]
            found = [item for item in chunk if item is not None]
            if len(found) < LANES or any(t in taken for _, t in found):
                continue
            taken.update(t for _, t in found)
            products = self.with_run(products, array, first, [float(c) for c, _ in found])
        if products is None:
            return terms, value
        return [(c, t) for c, t in terms if t not in taken], self.run_total(products, value)

    def with_run(self, products: Products, array: str, first: int, factors: list[float]) -> Products:
        """Emit the addition of LANES neighbours times their factors to a vector of sums."""
        listed = ", ".join(f"double {real(c)}" for c in factors)
        x = self.neighbours(array, first)
        product = self.emit(f"fmul contract <{LANES} x double> {x}, <{listed}>")
        if products is None:
            return product
        return self.emit(f"fadd contract <{LANES} x double> {products}, {product}")

    def run_total(self, products: Products, value: str | None) -> str:
        """Emit the sum of all lanes of a vector and a value."""
        reduce = f"llvm.vector.reduce.fadd.v{LANES}f64"
        self.module.need(reduce, lambda: f"declare double @{reduce}(double, <{LANES} x double>) nounwind")
        start = value if value is not None else real(-0.0)
        return self.emit(f"call reassoc double @{reduce}(double {start}, <{LANES} x double> {products})")

    def in_array(self, node: Expr) -> bool:
        return isinstance(self.places.get(node), tuple)

    def neighbours(self, array: str, first: int) -> str:
        """Return neighbours of an input array as a vector, loaded once."""
        key = (array, first)
        if key not in self.vectors:
            pointer = self.element(array, first)
            self.vectors[key] = self.emit(f"load <{LANES} x double>, ptr {pointer}, align 8")
        return self.vectors[key]

    def product(self, node: Expr) -> str:
        coefficient, exponents = node.data
        if is_plain(node):
            values, minus = self.factors(node)
            if minus:
                self.opposite.add(node)
            return self.chain(values)
        above: list[str] = []
        below: list[str] = []
        arrival = self.arrival
        minus = coefficient < 0
        bases = zip(node.args, exponents, strict=True)
        for base, n in sorted(bases, key=lambda f: arrival.get(f[0], 0)) if len(exponents) > 1 else bases:
            if n % 2 == 1:
                value, other = self.signed_value(base)
                minus ^= other
            else:
                value = self.value(base)
            (above if n > 0 else below).append(value if n == 1 else self.power(value, abs(n)))
        size = abs(float(coefficient))
        if size != 1 or not above:
            above.insert(0, self.number(size))
        value = self.chain(above)
        if below:
            value = self.div(value, self.chain(below))
        if minus:
            self.opposite.add(node)
        return value

    def chain(self, factors: list[str]) -> str:
        value = factors[0]
        for factor in factors[1:]:
            value = self.times(value, factor)
        return value

    def power(self, base: str, exponent: float) -> str:
        """Return a power, computed once for all products that contain it."""
        found = self.powers.get((base, exponent))
        if found is None:
            found = self.powers[base, exponent] = self._new_power(base, exponent)
        return found

    def _new_power(self, base: str, exponent: float) -> str:
        whole = int(exponent)
        value = self.whole_power(base, whole) if whole else None
        if exponent == whole:
            assert value is not None
            return value
        if exponent - whole != 0.5:
            return self.library_call("pow", base, self.number(float(exponent)))
        root = self.call("sqrt", base)
        return root if value is None else self.times(value, root)

    def whole_power(self, base: str, n: int) -> str:
        """Emit base^n by squaring."""
        result: str | None = None
        square = base
        while n:
            if n & 1:
                result = square if result is None else self.times(result, square)
            n >>= 1
            if n:
                square = self.times(square, square)
        assert result is not None
        return result

    # ---------------------------------------------------------------- functions

    def function_node(self, node: Expr) -> str:
        if isinstance(node.data, BlockFunction):
            return self.block(node)
        return self.function_value(node, [self.argument(a) for a in node.args])

    def argument(self, node: Expr) -> str:
        return self.value(node)

    def function_value(self, node: Expr, args: list[str]) -> str:
        kind = node.data
        if not isinstance(kind, str):
            return self.special(node, args)
        if kind in COMPARISONS:
            return self.truth(self.compare(COMPARISONS[kind], args[0], args[1]))
        if kind in ("and", "or"):
            flags = [self.flag(a) for a in args]
            return self.truth((self.both if kind == "and" else self.either)(*flags))
        if kind == "not":
            return self.truth(self.compare("oeq", args[0], 0.0))
        if kind == "select":
            return self.choose(self.flag(args[0]), args[1], args[2])
        if kind in ("min", "max"):  # these propagate NaN from both arguments
            return self.call(f"{kind}imum", *args)
        if kind == "abs":
            return self.size(args[0])
        if kind in ("floor", "ceil"):
            return self.call(kind, args[0])
        if kind == "mod":  # exact, as fmod of C, with the sign of the divisor
            rest = self.arithmetic("frem", args[0], args[1], "")
            apart = self.mul(self.signed_as(1.0, rest), self.signed_as(1.0, args[1]))
            other = self.compare("olt", apart, 0.0)
            moved = self.choose(other, self.add(rest, args[1]), rest)
            return self.choose(self.compare("oeq", rest, 0.0), rest, moved)
        if kind == "sign":
            up = self.compare("ogt", args[0], 0.0)
            down = self.compare("olt", args[0], 0.0)
            return self.choose(up, 1.0, self.choose(down, -1.0, args[0]))  # 0 or NaN
        if kind in ("sin", "cos") and self.module.lanes > 1:
            if bounded := vector_math.bounded_sine(kind, largest_size(node.args[0])):
                return self.library_call(bounded, args[0])  # the same code for vectors of any length
            self.sines([node.args[0]], [args[0]])
            return self.values[node]
        return self.library_call(kind, *args)

    def flag(self, value: str) -> str:
        """Return the comparison that is set if a value is not zero."""
        return self.flags.get(value) or self.compare("une", value, 0.0)

    def truth(self, flag: str) -> str:
        """Emit 1 or 0 from a comparison."""
        value = self.emit(f"uitofp {self.mask} {flag} to {self.real}")
        self.flags[value] = flag
        return value

    def library_call(self, name: str, *args: str) -> str:
        """Emit a call of the C library, or of the vector function in its place."""
        if self.module.lanes > 1:
            symbol, text = vector_math.function(name, self.module.lanes)
            name = self.module.need(symbol, lambda: text)
        passed = ", ".join(f"{self.real} {a}" for a in args)
        return self.emit(f"call {self.real} @{name}({passed})")

    def special(self, node: Expr, args: list[str]) -> str:
        """Emit calls of lookup tables, foreign functions and parts of blocks."""
        lanes, table = self.module.lanes, node.data
        if isinstance(table, BlockPart):
            return self.block_part(node.args[0].data, table.index, args[0])
        passed = ", ".join(f"{self.real} {a}" for a in args)
        if isinstance(table, Piecewise):
            name = f"table_{table.digest:x}"
            self.module.need(name, lambda: lookup_function(name, table, lanes))
            return self.emit(f"call {self.real} @{name}({passed})")
        pointer = self.emit(f"inttoptr i64 {table.address} to ptr")
        if lanes == 1:
            return self.emit(f"call double {pointer}({passed})")
        value = "zeroinitializer"
        for i in range(lanes):
            single = [self.emit(f"extractelement {self.real} {a}, i64 {i}") for a in args]
            result = self.emit(f"call double {pointer}({', '.join(f'double {a}' for a in single)})")
            value = self.emit(f"insertelement {self.real} {value}, double {result}, i64 {i}")
        return value

    # ---------------------------------------------------------------- sines and cosines

    def trigonometry(self, angles: list[Expr]) -> None:
        """Emit sines and cosines of all plain angles, GROUP angles at a time, or of all runs at once."""
        size = GROUP if self.module.lanes == 1 else 1
        for start in range(0, len(angles), size):
            group = angles[start : start + size]
            self.sines(group, [self.value(angle) for angle in group])

    def sines(self, angles: list[Expr], values: list[str]) -> None:
        """Emit sines and cosines of some angles by one call."""
        alone = self.module.lanes == 1
        lanes = _lanes(len(angles)) if alone else self.module.lanes
        name = self.module.sines(lanes)
        vector = f"<{lanes} x double>"
        packed = "zeroinitializer" if alone else values[0]
        for i, value in enumerate(values if alone else []):
            packed = self.emit(f"insertelement {vector} {packed}, double {value}, i64 {i}")
        both = self.emit(f"call {{ {vector}, {vector} }} @{name}({vector} {packed})")
        for part, function in ((0, sin), (1, cos)):
            found = self.emit(f"extractvalue {{ {vector}, {vector} }} {both}, {part}")
            for i, angle in enumerate(angles):
                one = self.emit(f"extractelement {vector} {found}, i64 {i}") if alone else found
                self.values[function(angle)] = one


def _lanes(n: int) -> int:
    """Return the vector length for n angles: the next power of two."""
    lanes = 1
    while lanes < n:
        lanes *= 2
    return lanes
