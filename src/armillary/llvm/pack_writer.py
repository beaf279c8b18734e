"""LLVM code of a section with packs: operations of packs on vectors, all other nodes on single doubles.

A lane of a pack's vector may hold the negative of its node. So a product of mirrored branches needs no change
of sign, and a sum needs a change of sign only in lanes in which the signs of its terms differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import cache, partial
from typing import Any
from weakref import proxy

from armillary.algebra.expression import Expr
from armillary.llvm import vector_math
from armillary.llvm.arrangement.arrangement import PAIR
from armillary.llvm.instructions import Places, ValueTypes, fused_products, number_of_bits, real
from armillary.llvm.module import Module
from armillary.llvm.node_writer import LOADED, NumberPlaces, Writer
from armillary.llvm.sines import sine_cosine_function
from armillary.program.branch_packs import Column, Pack, strip_lets
from armillary.program.packs import PACKED_CALLS, largest_size, neighbours
from armillary.program.program import ProgramSection
from armillary.untyped import Given

Signs = tuple[int, ...]
Vector = tuple[str, Signs]  # the name of a vector; by lane, the factor ±1 that gives the node


class PackWriter(Writer):
    """The lines of one function. All functions of a section share the ``signs`` of packs.

    ``home`` has the pack of each node; products of ``fused_packs`` are fused into sums.
    """

    def __init__(
        self,
        module: Module,
        places: Places,
        crossing: dict[Expr, int],
        arrival: Mapping[Expr, int],
        numbers: NumberPlaces | None,
        fused: Set[Expr],
        opposite: set[Expr],
        home: dict[Expr, Pack],
        fused_packs: Set[Pack],
        signs: dict[Pack, Signs],
    ) -> None:
        super().__init__(module, places, crossing, arrival, numbers, fused, opposite)
        self.home, self.fused_packs, self.signs = home, fused_packs, signs
        self._products: dict[str, tuple[str, str]] = {}  # names of fused products: their two factors
        self._packs: dict[Pack, Vector] = {}
        self._columns: dict[Column, Vector] = {}
        self._sines: dict[str, str] = {}
        self._array = numbers
        self._loaded: dict[tuple[float, ...], str] = {}

    # ---------------------------------------------------------------- single operations

    def multiply_add(self, a: str, b: str, c: str) -> str:
        if not self.types.single:
            v, name = self.real, f"llvm.fmuladd.{self.types.suffix}"
            self.module.need(name, lambda: f"declare {v} @{name}({v}, {v}, {v}) nounwind")
        return super().multiply_add(a, b, c)

    def signed_value(self, node: Expr) -> tuple[str, bool]:
        node = strip_lets(node)
        if node in self.values or node not in self.home:
            return super().signed_value(node)
        pack = self.home[node]
        lane = pack.lanes.index(node)
        if pack in self._packs:
            vector, signs = self._packs[pack]
            found = self.lane(vector, lane, len(pack.lanes))
        else:
            found, signs = self.load("work", self.crossing[node]), self.signs[pack]
        self.values[node] = found
        if signs[lane] < 0:
            self.opposite.add(node)
        return found, signs[lane] < 0

    def node(self, node: Expr) -> None:
        pack = self.home.get(node)
        if pack is None:
            if node.kind != "let":
                super().node(node)
        elif pack not in self._packs and pack not in self.fused_packs:
            vector, self.signs[pack] = self._packs[pack] = self._compute_pack(pack)
            if node in self.crossing:
                self.store_vector(vector, "work", self.crossing[pack.lanes[0]], len(pack.lanes))

    def sum(self, node: Expr) -> str:
        """Emit a sum. If all lanes of some packs are terms, add the packs' vectors first, then the lanes."""
        coefficients = {strip_lets(t): c for c, t in zip(node.data[1], node.args, strict=True)}
        packs = dict.fromkeys([self.home[t] for t in coefficients if t in self.home])
        whole = [p for p in packs if all([n in coefficients for n in p.lanes])]
        if not whole or len(coefficients) < len(node.args):  # a value and a `let` of it are both terms
            return super().sum(node)
        value = self._add_lanes(whole, coefficients)
        taken = {n for p in whole for n in p.lanes}
        left = [(c, t) for t, c in coefficients.items() if t not in taken]
        left.sort(key=lambda t: (self.arrival.get(t[1], 0), t[1].kind == "product", t[0] < 0))
        if node.data[0]:
            value = self.add(value, float(node.data[0]))
        return self.with_terms(node, value, False, left)

    def _add_lanes(self, packs: list[Pack], coefficients: dict[Expr, float]) -> str:
        """Emit Σ of all lanes of packs times coefficients, by adding halves of vectors repeatedly."""
        width = max([len(p.lanes) for p in packs])
        halves: list[tuple[Vector, tuple[float, ...]]] = []
        while True:
            here = [p for p in packs if len(p.lanes) == width]
            terms = [(self._vector(p.lanes), tuple([coefficients[n] for n in p.lanes])) for p in here]
            total, _ = self._add_vectors([*terms, *halves], None, vote=False)
            width //= 2
            if width == 1:
                low, high = (self.lane(total, i, 2) for i in range(2))
                return self.add(low, high)
            halves = []
            for first in (0, width):
                half = self.chosen_lanes(total, range(first, first + width), 2 * width)
                halves.append(((half, (1,) * width), (1.0,) * width))

    def trigonometry(self, angles: list[Expr]) -> None:
        """Emit sines and cosines, with angles of one pack next to each other in their vectors."""
        paired = [
            p.operands[0] for p in self.home.values() if p.kind == "call" and p.operands[0][0] in angles
        ]
        paired.sort(key=len, reverse=True)
        first = list(dict.fromkeys([a for column in paired for a in column if a in angles]))
        super().trigonometry([*first, *[a for a in angles if a not in first]])

    # ---------------------------------------------------------------- packs

    def _compute_pack(self, pack: Pack) -> Vector:
        if pack.kind == "sum":
            terms = [(self._vector(c), f) for c, f in self._by_arrival(pack)]
            offsets = tuple([float(n.data[0]) for n in pack.lanes])
            return self._add_vectors(terms, offsets if offsets[0] else None)
        if pack.kind == "product":
            return self._multiply_pack(pack)
        return self._call_pack(pack)

    def _by_arrival(self, pack: Pack) -> list[tuple[Column, tuple[float, ...]]]:
        """Return the operands of a pack with their factors, in the order of arrival.

        A sum without constant begins with an operand that needs no product, if there is one.
        """
        known, pairs = self.arrival, zip(pack.operands, pack.factors, strict=True)
        found = sorted(
            pairs,
            key=lambda t: (max([known.get(n, 0) for n in t[0]]), t[0][0].kind == "product", t[1][0] < 0),
        )
        if pack.kind == "sum" and not pack.lanes[0].data[0]:
            for i, (column, factors) in enumerate(found):
                if abs(factors[0]) == 1 and column[0].kind != "product":
                    return [found[i], *found[:i], *found[i + 1 :]]
        return found

    def _add_vectors(
        self,
        terms: list[tuple[Vector, tuple[float, ...]]],
        offsets: tuple[float, ...] | None,
        vote: bool = True,
    ) -> Vector:
        """Emit Σ of vectors times coefficients; with ``vote`` a lane has the sign of most of its terms."""
        signed = [(v, tuple([c * s for c, s in zip(f, signs, strict=True)])) for (v, signs), f in terms]
        count = len(signed[0][1])
        signs = [1] * count
        if vote:
            plain = [f for _, f in signed if abs(f[0]) == 1]
            # If all coefficients are negative, the opposite is summed: then no term needs a change of sign.
            start = -1 if max([f[0] for _, f in signed]) < 0 else 1
            signs = [start if sum([f[i] * f[0] for f in plain]) >= 0 else -start for i in range(count)]
        value = None
        if offsets is not None:
            value = self.lane_numbers(tuple([c * s for c, s in zip(offsets, signs, strict=True)]))
        with self.vectors_of(count):
            for vector, factors in signed:
                f = tuple([c * s for c, s in zip(factors, signs, strict=True)])
                minus = max(f) < 0
                if minus:
                    f = tuple([-c for c in f])
                scale = None if set(f) == {1} else self.lane_numbers(f)
                if value is None:
                    value = self.chain([*self._products.get(vector, (vector,)), *([scale] if scale else [])])
                    value = self.neg(value) if minus else value
                elif scale is None and vector not in self._products:
                    value = self.sub(value, vector) if minus else self.add(value, vector)
                else:
                    a, b = self._products.get(vector, (vector, scale or ""))
                    if vector in self._products and scale is not None:
                        a = self.times(a, scale)
                    value = self.multiply_add(self.neg(a) if minus else a, b, value)
        assert value is not None
        return value, tuple(signs)

    def _multiply_pack(self, pack: Pack) -> Vector:
        sizes = tuple([abs(float(n.data[0])) for n in pack.lanes])
        signs = tuple([1 if n.data[0] > 0 else -1 for n in pack.lanes])
        factors = []
        for column, exponents in self._by_arrival(pack):
            n = exponents[0]
            vector, own = self._vector(column, plain=n != int(n))
            if n % 2:
                signs = tuple([a * b for a, b in zip(signs, own, strict=True)])
            factors.append((vector, n))
        above = [] if set(sizes) == {1.0} and any([n > 0 for _, n in factors]) else [self.lane_numbers(sizes)]
        below: list[str] = []
        with self.vectors_of(len(signs)):
            for vector, n in factors:
                power = vector if abs(n) == 1 else self.power(vector, abs(n))
                (above if n > 0 else below).append(power)
            if pack in self.fused_packs:
                *others, last = above if len(above) > 1 else [factors[0][0]] * 2
                name = f"%product{len(self._products)}"
                self._products[name] = self.chain(others), last
                return name, signs
            value = self.chain(above)
            if below:
                value = self.div(value, self.chain(below))
        return value, signs

    def _call_pack(self, pack: Pack) -> Vector:
        plain = (1,) * len(pack.lanes)
        node = pack.lanes[0]
        if node in self.values:  # sines of plain angles are computed before
            return self.together([self.values[n] for n in pack.lanes]), plain
        args = [self._vector(column, plain=True)[0] for column in pack.operands]
        if node.data in ("sin", "cos"):
            return self.sine_pack(pack, args[0]), plain
        if node.data in PACKED_CALLS:
            return self._elementary(node.data, args[0], len(plain), _largest_operand(pack)), plain
        with self.vectors_of(len(plain), loading=bool(self.module.encodes)):
            return self.function_value(node, args), plain

    def sine_pack(self, pack: Pack, angles: str) -> str:
        """Emit sines or cosines of angles that are not plain."""
        return self._elementary(pack.lanes[0].data, angles, len(pack.lanes), _largest_operand(pack))

    def function_value(self, node: Expr, args: list[str]) -> str:
        """Return the value of a function.

        A single elementary function is computed as the first of two lanes: a library call would split the
        code around it, which then could not be scheduled as a whole.
        """
        if node.data not in PACKED_CALLS or not self.types.single or self.module.call_lanes < 2:
            return super().function_value(node, args)
        size = largest_size(node.args[0])
        if vector_math.near_function(node.data, size) is None:
            return super().function_value(node, args)
        one = self.emit(f"insertelement {PAIR} poison, double {args[0]}, i64 0")
        return self.lane(self._elementary(node.data, one, 2, size), 0, 2)

    def _elementary(self, name: str, x: str, lanes: int, size: float) -> str:
        """Emit an elementary function of a vector whose elements are at most ``size`` in magnitude.

        For angles that may be large the function has branches, so it is called, not written in line.
        """
        near = vector_math.near_function(name, size)
        if near is not None:
            with self.vectors_of(lanes, loading=True):
                return near(self, x)
        kind = f"<{lanes} x double>"
        if name == "tan":
            symbol, text = vector_math.function(name, lanes)
            return self.emit(f"call {kind} @{self.module.need(symbol, lambda: text)}({kind} {x})")
        both = f"{{ {kind}, {kind} }}"
        if x not in self._sines:
            symbol = f"sincos{lanes}"
            self.module.need(symbol, partial(sine_cosine_function, symbol, lanes))
            self._sines[x] = self.emit(f"call {both} @{symbol}({kind} {x})")
        return self.emit(f"extractvalue {both} {self._sines[x]}, {('sin', 'cos').index(name)}")

    # ---------------------------------------------------------------- columns of operands

    def _vector(self, column: Column, plain: bool = False) -> Vector:
        """Return operands as a vector; with ``plain``, lanes have the signs of the operands."""
        pack = self.home.get(column[0])
        if pack is not None and pack.lanes == column:
            found = self._pack(pack)
        else:
            if column not in self._columns:
                self._columns[column] = self._gather_column(column)
            found = self._columns[column]
        if plain and min(found[1]) < 0:
            with self.vectors_of(len(column)):
                turned = self.times(found[0], self.lane_numbers(tuple(map(float, found[1]))))
                return turned, (1,) * len(column)
        return found

    def _pack(self, pack: Pack) -> Vector:
        if pack in self.fused_packs:
            if pack not in self._packs:
                self._packs[pack] = self._multiply_pack(pack)
        elif pack not in self._packs:
            loaded = self.load_vector("work", self.crossing[pack.lanes[0]], len(pack.lanes))
            self._packs[pack] = loaded, self.signs[pack]
        return self._packs[pack]

    def _gather_column(self, column: Column) -> Vector:
        plain, count = (1,) * len(column), len(column)
        first = column[0]
        if all([n.kind == "number" for n in column]):
            return self.lane_numbers(tuple([float(n.data) for n in column])), plain
        if all([n is first for n in column]):
            return self.splat(self.value(first), count), plain
        if neighbours(column, self.places):
            array, start = self.places[first]
            return self.load_vector(array, start, count), plain
        pack = self.home.get(first)
        if pack is not None and all([self.home.get(n) is pack for n in column]):
            vector, signs = self._pack(pack)
            places = [pack.lanes.index(n) for n in column]
            chosen = self.chosen_lanes(vector, places, len(pack.lanes))
            return chosen, tuple([signs[i] for i in places])
        return self.together([self.argument(n) for n in column]), plain

    def lane(self, vector: str, lane: int, count: int) -> str:
        """Extract a lane of a vector of ``count`` lanes."""
        return self.emit(f"extractelement <{count} x double> {vector}, i64 {lane}")

    def chosen_lanes(self, vector: str, places: Sequence[int], count: int) -> str:
        """Return lanes of a vector of ``count`` lanes as another vector."""
        kind, mask = f"<{count} x double>", ", ".join([f"i32 {i}" for i in places])
        return self.emit(f"shufflevector {kind} {vector}, {kind} poison, <{len(places)} x i32> <{mask}>")

    def together(self, values: list[str]) -> str:
        """Return a vector of single values."""
        vector, kind = "poison", f"<{len(values)} x double>"
        for i, value in enumerate(values):
            vector = self.emit(f"insertelement {kind} {vector}, double {value}, i64 {i}")
        return vector

    def splat(self, value: str, count: int) -> str:
        kind = f"<{count} x double>"
        one = self.emit(f"insertelement {kind} poison, double {value}, i64 0")
        return self.emit(f"shufflevector {kind} {one}, {kind} poison, <{count} x i32> zeroinitializer")

    def lane_numbers(self, values: tuple[float, ...]) -> str:
        """Return a constant for each lane, loaded from the function's array of numbers if it has one."""
        literal = f"<{', '.join(f'double {real(v)}' for v in values)}>"
        if self._array is None:
            return literal
        if values not in self._loaded:
            if len(self._loaded) >= LOADED and not self.module.registers:
                return literal
            place = place_vector(self._array, values)
            self._loaded[values] = self.load_vector("numbers", place, len(values))
        return self._loaded[values]

    def load_vector(self, array: str, index: int, count: int) -> str:
        return self.load(array, index, f"<{count} x double>")

    def store_vector(self, value: str, array: str, index: int, count: int) -> None:
        self.store(value, array, index, f"<{count} x double>")

    @contextmanager
    def vectors_of(self, count: int, *, loading: bool = False) -> Iterator[None]:
        """Emit operations in the `with` block on vectors of ``count`` doubles.

        With ``loading``, constants are loaded from the array of numbers.
        """
        before = self.types, self.real, self.bits, self.mask, self.number, self.whole
        self.types, self.real, self.bits, self.mask, self.number, self.whole = _vector_types(count)
        if loading:
            writer = proxy(self)  # a weak reference, as in Writer
            self.number = partial(_same_number, writer, count)
            self.whole = partial(_same_bits, writer, count)
        try:
            yield
        finally:
            self.types, self.real, self.bits, self.mask, self.number, self.whole = before

    def call(self, intrinsic: str, *arguments: Given) -> str:
        if not self.types.single:
            v, name = self.real, f"llvm.{intrinsic}.{self.types.suffix}"
            taken = ", ".join([v] * len(arguments))
            self.module.need(name, lambda: f"declare {v} @{name}({taken}) nounwind")
        return super().call(intrinsic, *arguments)


def place_vector(numbers: NumberPlaces, values: tuple[float, ...]) -> int:
    """Return the index of a vector in the array of numbers, a multiple of its length.

    A vector across two lines of the cache takes two loads, and offsets that are such multiples are shorter.
    """
    if (values, 0) not in numbers:
        while len(numbers) % len(values):
            numbers[(), len(numbers)] = len(numbers)  # left free
        for i in range(len(values)):
            numbers[values, i] = len(numbers)
    return numbers[values, 0]


def fused_packs(section: ProgramSection, arrival: Mapping[Expr, int]) -> set[Pack]:
    """Return the packs of products that are fused into sums (multiply–add) and need no value of their own."""
    if not section.packs:
        return set()
    home = {node: pack for pack in section.packs for node in pack.lanes}
    apart = {strip_lets(result) for result in section.results}  # nodes whose own value is needed
    for node in section.nodes:
        if node.kind != "let" and node not in home:
            apart.update(map(strip_lets, node.args))
    for pack in section.packs:
        for column in pack.operands:
            if column[0] not in home or home[column[0]].lanes != column:
                apart.update(column)
    firsts = [node for node in section.nodes if node in home and home[node].lanes[0] is node]
    wanted = [home[n].lanes[0] for n in apart if n in home]
    return {home[node] for node in fused_products(firsts, wanted, arrival)}


@cache
def _vector_types(count: int) -> tuple[Any, ...]:  # texts, and a method that takes the place of `number`
    types = ValueTypes(count)
    return types, types.real, types.of("i64"), types.of("i1"), types.number, types.whole


def _largest_operand(pack: Pack) -> float:
    return max([largest_size(a) for a in pack.operands[0]])


def _same_number(writer: PackWriter, count: int, value: float) -> str:
    return writer.lane_numbers((value,) * count)


def _same_bits(writer: PackWriter, count: int, value: int) -> str:
    """Return a whole number for each lane, loaded as the double with the same bits."""
    return writer.as_bits(_same_number(writer, count, number_of_bits(value)))
