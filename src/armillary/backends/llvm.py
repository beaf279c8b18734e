"""A program as LLVM code: one function per section, straight-line, without calls where possible.

The text is written directly, a line per operation: that is ten times faster than building it object by
object, and readable. Multiplications and additions may be fused ("contract"); nothing else is reordered. A
long section is cut into pieces that hand values on through a work array, because LLVM's time grows faster
than the length of a function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from armillary.algebra.expression import Expr
from armillary.algebra.functions import cos, sin
from armillary.backends.lookup import lookup_function
from armillary.backends.trigonometry import real, sine_cosine_function
from armillary.program.program import Program, Section
from armillary.program.schedule import arrivals

PIECE = 800  # operations in one piece; compile time per operation is flat up to here
GROUP = 4  # angles taken together: with 8, vectors of 512 bits slowed a chain of eight by 40 %

LIBRARY = {
    "sin": 1,
    "cos": 1,
    "tan": 1,
    "asin": 1,
    "acos": 1,
    "atan": 1,
    "atan2": 2,
    "exp": 1,
    "log": 1,
    "pow": 2,
}
COMPARISONS = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}

RUN = 12  # terms of a sum from which on neighbours in the state are taken together
LANES = 4
_ATTRIBUTES = "noalias nocapture"


@dataclass
class Module:
    """LLVM text under construction: functions, and the helpers that they call, each once."""

    functions: list[str] = field(default_factory=list)
    helpers: dict[str, str] = field(default_factory=dict)

    def need(self, name: str, make: Callable[[], str]) -> str:
        """The name of a helper, written on its first use."""
        if name not in self.helpers:
            self.helpers[name] = make()
        return name

    def text(self) -> str:
        declared = [f"declare double @{f}({', '.join(['double'] * n)}) nounwind" for f, n in LIBRARY.items()]
        declared += [f"declare double @llvm.{f}.f64(double) nounwind" for f in ("fabs", "sqrt")]
        declared += [f"declare double @llvm.{f}.f64(double, double) nounwind" for f in ("minimum", "maximum")]
        likely = '!0 = !{!"branch_weights", i32 2000, i32 1}'
        helpers = _without_repeated_declarations("\n".join(self.helpers.values()))
        return "\n".join([*declared, helpers, *self.functions, likely])


def _without_repeated_declarations(text: str) -> str:
    seen: set[str] = set()
    kept = []
    for line in text.split("\n"):
        if line.startswith("declare"):
            if line in seen:
                continue
            seen.add(line)
        kept.append(line)
    return "\n".join(kept)


def llvm_text(program: Program) -> str:
    """The whole program: precompute, derivatives, outputs, and events, update, fire, normalise where there
    are any.
    """
    module = Module()
    places: dict[Expr, Any] = {program.time: "%t"}
    places |= {s: ("state", i) for i, s in enumerate(program.state)}
    places |= {s: ("constants", i) for i, s in enumerate(program.constants)}
    places |= {s: ("memory", i) for i, s in enumerate(program.memory)}
    inputs = f"double %t, ptr {_ATTRIBUTES} readonly %state, ptr {_ATTRIBUTES} readonly %constants, "
    inputs += f"ptr {_ATTRIBUTES} readonly %memory"
    given = {s: ("parameters", i) for i, s in enumerate(program.parameters)}
    _function(
        module,
        "precompute",
        program.precompute,
        f"ptr {_ATTRIBUTES} readonly %parameters, ptr {_ATTRIBUTES} %out",
        given,
        [("out", i) for i in range(len(program.constants))],
    )
    for name, section in (
        ("derivatives", program.derivatives),
        ("outputs", program.outputs),
        ("events", program.events),
        ("update", program.update),
    ):
        if section.results or name in ("derivatives", "outputs"):
            outs = [("out", i) for i in range(len(section.results))]
            _function(module, name, section, f"{inputs}, ptr {_ATTRIBUTES} %out", places, outs)
    if program.fire:
        _fire(module, program, inputs, places)
    if program.geometry.results:
        outs = [("out", i) for i in range(len(program.geometry.results))]
        _function(module, "geometry", program.geometry, f"{inputs}, ptr {_ATTRIBUTES} %out", places, outs)
    stepping = places | {s: ("state", len(program.state) + i) for i, s in enumerate(program.inputs)}
    for section in program.stepping:
        outs = [("out", i) for i in range(len(section.results))]
        _function(module, section.name, section, f"{inputs}, ptr {_ATTRIBUTES} %out", stepping, outs)
    if program.quaternions or program.corrected:
        _normalise(module, program, inputs, places)
    return module.text()


def _fire(module: Module, program: Program, inputs: str, places: dict[Expr, Any]) -> None:
    """One function per event, and the one that chooses among them."""
    n_memory = len(program.memory)
    arguments = f"{inputs}, ptr {_ATTRIBUTES} %new_memory, ptr {_ATTRIBUTES} %new_state"
    outs = [("new_memory", i) for i in range(n_memory)] + [
        ("new_state", i) for i in range(len(program.state))
    ]
    passed = "double %t, ptr %state, ptr %constants, ptr %memory, ptr %new_memory, ptr %new_state"
    cases, blocks = [], []
    for k, section in enumerate(program.fire):
        _function(module, f"fire_{k}", section, arguments, places, outs)
        cases.append(f"i64 {k}, label %event{k}")
        blocks.append(f"event{k}:\n  call void @fire_{k}({passed})\n  ret void")
    body = f"  switch i64 %k, label %none [ {' '.join(cases)} ]\n" + "\n".join(blocks) + "\nnone:\n  ret void"
    module.functions.append(f"define void @fire(i64 %k, {arguments}) nounwind {{\n{body}\n}}")


# A correction this small, relative to what it corrects, leaves an error of its square.
_CLOSE = 1e-9
# A correction as large as this is none: the place is singular, and better left as it is.
_FAR = 0.1
_TRIES = 10


def _normalise(module: Module, program: Program, inputs: str, places: dict[Expr, Any]) -> None:
    """Corrections of the coordinates, by Newton's method until they are small; then unit Euler parameters."""
    arguments = inputs.replace(" readonly %state", " %state")
    given = "double %t, ptr %state, ptr %constants, ptr %memory"
    units = ""
    if program.quaternions:
        outs = [("state", q + i) for q in program.quaternions for i in range(4)]
        _function(module, "unit_length", program.normalise, arguments, places, outs)
        units = f"  call void @unit_length({given})"
    if not program.corrected:
        module.functions.append(f"define void @normalise({arguments}) nounwind {{\n{units}\n  ret void\n}}")
        return
    count = len(program.corrected)
    outs = [("out", i) for i in range(count)]
    _function(module, "correct", program.correct, f"{inputs}, ptr {_ATTRIBUTES} %out", places, outs)
    lines = [
        "entry:", f"  %work = alloca [{count} x double], align 64", "  br label %again", "again:",
        "  %try = phi i64 [ 0, %entry ], [ %next, %store ]",
        f"  call void @correct({given}, ptr %work)",
    ]  # fmt: skip
    worst = real(0.0)
    for i, place in enumerate(program.corrected):
        lines += [
            f"  %w{i} = getelementptr inbounds double, ptr %work, i64 {i}",
            f"  %n{i} = load double, ptr %w{i}",
            f"  %s{i} = getelementptr inbounds double, ptr %state, i64 {place}",
            f"  %o{i} = load double, ptr %s{i}",
            f"  %d{i} = fsub double %n{i}, %o{i}",
            f"  %a{i} = call double @llvm.fabs.f64(double %d{i})",
            f"  %m{i} = call double @llvm.maximum.f64(double {worst}, double %a{i})",
        ]
        worst = f"%m{i}"
    # Joints follow absolute coordinates over a whole step, however far that is.
    farthest = sys.float_info.max if program.stepping else _FAR
    near = f"  %near = fcmp ole double {worst}, {real(farthest)}"
    lines += [near, "  br i1 %near, label %store, label %done", "store:"]
    lines += [f"  store double %n{i}, ptr %s{i}" for i in range(count)]
    lines += [
        units, "  %next = add i64 %try, 1", f"  %far = fcmp ogt double {worst}, {real(_CLOSE)}",
        f"  %left = icmp slt i64 %next, {_TRIES}", "  %more = and i1 %far, %left",
        "  br i1 %more, label %again, label %done", "done:", "  ret void",
    ]  # fmt: skip
    text = "\n".join(line for line in lines if line)
    module.functions.append(f"define void @normalise({arguments}) nounwind {{\n{text}\n}}")


Place = tuple[str, int]


def _function(
    module: Module,
    name: str,
    section: Section,
    arguments: str,
    places: dict[Expr, Any],
    outs: Sequence[Place],
) -> None:
    """A section as a function, or as several with a work array between them."""
    angles = _angles(section)
    pieces = _pieces(section)
    crossing = _crossing(pieces)
    arrival = arrivals(section.nodes)
    if len(pieces) == 1:
        writer = _Writer(module, places, {}, arrival)
        writer.trigonometry(angles)
        for node in pieces[0]:
            writer.node(node)
        writer.results(section, outs)
        module.functions.append(
            f"define void @{name}({arguments}) nounwind {{\n{writer.body()}\n  ret void\n}}"
        )
        return
    passed = ", ".join(a.split()[0] + " " + a.split()[-1] for a in arguments.split(", "))
    calls = []
    last = len(pieces) - 1
    home = {node: k for k, piece in enumerate(pieces) for node in piece}
    by_piece: dict[int, list[int]] = {}
    for i, result in enumerate(section.results):  # given values are stored by the last piece
        by_piece.setdefault(home.get(result, last), []).append(i)
    for k, piece in enumerate(pieces):
        writer = _Writer(module, places, crossing, arrival)
        if k == 0:
            writer.trigonometry(angles)
        for node in piece:
            writer.node(node)
        writer.results(section, outs, by_piece.get(k, []))
        inside = f"define internal void @{name}_{k}({arguments}, ptr {_ATTRIBUTES} %work) noinline nounwind"
        module.functions.append(f"{inside} {{\n{writer.body()}\n  ret void\n}}")
        calls.append(f"  call void @{name}_{k}({passed}, ptr %work)")
    body = f"  %work = alloca [{len(crossing)} x double], align 64\n" + "\n".join(calls)
    module.functions.append(f"define void @{name}({arguments}) nounwind {{\n{body}\n  ret void\n}}")


def _angles(section: Section) -> list[Expr]:
    """Symbols whose sine or cosine the section needs, in order; they are grouped and come first."""
    found: dict[Expr, None] = {}
    for node in section.nodes:
        if node.kind == "call" and node.data in ("sin", "cos") and node.args[0].kind == "symbol":
            found[node.args[0]] = None
    return list(found)


def _grouped_call(node: Expr) -> bool:
    return node.kind == "call" and node.data in ("sin", "cos") and node.args[0].kind == "symbol"


def _pieces(section: Section) -> list[list[Expr]]:
    nodes = list(section.nodes)
    early = [n for n in nodes if _grouped_call(n)]
    rest = [n for n in nodes if not _grouped_call(n)]
    sizes = [_size(n) for n in rest]
    count = max(1, round(sum(sizes) / PIECE))
    share = sum(sizes) / count
    cut: list[list[Expr]] = [[]]
    filled = 0
    for node, size in zip(rest, sizes, strict=True):
        if filled >= share * len(cut) and len(cut) < count:
            cut.append([])
        cut[-1].append(node)
        filled += size
    return [early + cut[0], *cut[1:]]


def _size(node: Expr) -> int:
    """Instructions of a node, roughly, in units of a sum or product of a few operands."""
    return 1 + len(node.args) // 8


def _crossing(pieces: list[list[Expr]]) -> dict[Expr, int]:
    """Work-array places of the values that one piece computes and a later one uses."""
    if len(pieces) == 1:
        return {}
    home = {node: k for k, piece in enumerate(pieces) for node in piece}
    found: dict[Expr, int] = {}
    for k, piece in enumerate(pieces):
        for node in piece:
            for a in node.args:
                if home.get(a, k) != k and a not in found:
                    found[a] = len(found)
    return found


class _Writer:
    """Lines of one function; each node's value is an LLVM name or constant."""

    def __init__(
        self, module: Module, places: dict[Expr, Any], crossing: dict[Expr, int], arrival: dict[Expr, int]
    ) -> None:
        self.module = module
        self.arrival = arrival
        self.places = places
        self.crossing = crossing
        self.lines: list[str] = []
        self.values: dict[Expr, str] = {}
        self.vectors: dict[Place, str] = {}
        self.count = 0

    def body(self) -> str:
        return "\n".join(self.lines)

    def emit(self, operation: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {operation}")
        return name

    # ---------------------------------------------------------------- operands

    def value(self, node: Expr) -> str:
        """The value of a node: at hand, a number, or loaded now."""
        known = self.values.get(node)
        if known is not None:
            return known
        if node.kind == "number":
            found = real(float(node.data))
        elif node in self.places:
            place = self.places[node]
            found = place if isinstance(place, str) else self.load(*place)
        else:
            found = self.load("work", self.crossing[node])
        self.values[node] = found
        return found

    def load(self, array: str, index: int) -> str:
        return self.emit(f"load double, ptr {self.element(array, index)}")

    def element(self, array: str, index: int) -> str:
        return (
            self.emit(f"getelementptr inbounds double, ptr %{array}, i64 {index}") if index else f"%{array}"
        )

    def store(self, value: str, array: str, index: int) -> None:
        pointer = self.element(array, index)
        self.lines.append(f"  store double {value}, ptr {pointer}")

    def results(self, section: Section, outs: Sequence[Place], only: Sequence[int] | None = None) -> None:
        chosen = range(len(section.results)) if only is None else only
        values = [(self.value(section.results[i]), outs[i]) for i in chosen]
        for value, place in values:
            self.store(value, *place)

    # ---------------------------------------------------------------- nodes

    def node(self, node: Expr) -> None:
        if node not in self.values:
            self.values[node] = self.compute(node)
        place = self.crossing.get(node)
        if place is not None:
            self.store(self.values[node], "work", place)

    def compute(self, node: Expr) -> str:
        if node.kind == "let":
            return self.value(node.args[0])
        if node.kind == "sum":
            return self.sum(node)
        if node.kind == "product":
            return self.product(node)
        return self.call(node)

    def times(self, a: str, b: str) -> str:
        return self.emit(f"fmul contract double {a}, {b}")

    def sum(self, node: Expr) -> str:
        """Terms in the order in which they are known, so that the last one waits for one operation only."""
        constant, coefficients = node.data
        arrival = self.arrival
        terms = sorted(
            zip(coefficients, node.args, strict=True),
            key=lambda t: (arrival.get(t[1], 0), t[1].kind == "product", t[0] < 0),
        )
        value = real(float(constant)) if constant else None
        if len(terms) >= RUN:
            terms, value = self.runs(terms, value)
        for c, term in terms:
            operand = self.value(term)
            if c != 1 and c != -1:
                operand = self.times(operand, real(abs(float(c))))
            if value is None:
                value = operand if c > 0 else self.emit(f"fneg double {operand}")
            else:
                value = self.emit(f"{'fadd' if c > 0 else 'fsub'} contract double {value}, {operand}")
        assert value is not None
        return value

    def runs(self, terms: list[tuple[float, Expr]], value: str | None) -> tuple[list[Any], str | None]:
        """Terms without those that are neighbours in the state, whose products are taken LANES at a time.

        The modes of a flexible body are such neighbours, and most of its work is such sums: a quarter of the
        instructions, to compile and to run.
        """
        by_place = {self.places[t]: (c, t) for c, t in terms if self.in_array(t)}
        taken: set[Expr] = set()
        products: str | None = None
        for array, first in sorted(by_place):
            chunk = [by_place.get((array, first + i)) for i in range(LANES)]
            found = [item for item in chunk if item is not None]
            if len(found) < LANES or any(t in taken for _, t in found):
                continue
            taken.update(t for _, t in found)
            factors = ", ".join(f"double {real(float(c))}" for c, _ in found)
            x = self.lanes(array, first)
            product = self.emit(f"fmul contract <{LANES} x double> {x}, <{factors}>")
            if products is not None:
                product = self.emit(f"fadd contract <{LANES} x double> {products}, {product}")
            products = product
        if products is None:
            return terms, value
        reduce = f"llvm.vector.reduce.fadd.v{LANES}f64"
        self.module.need(reduce, lambda: f"declare double @{reduce}(double, <{LANES} x double>) nounwind")
        start = value if value is not None else real(-0.0)
        total = self.emit(f"call reassoc double @{reduce}(double {start}, <{LANES} x double> {products})")
        return [(c, t) for c, t in terms if t not in taken], total

    def in_array(self, node: Expr) -> bool:
        return isinstance(self.places.get(node), tuple)

    def lanes(self, array: str, first: int) -> str:
        """Neighbours of an input array as a vector, loaded once."""
        key = (array, first)
        if key not in self.vectors:
            pointer = self.element(array, first)
            self.vectors[key] = self.emit(f"load <{LANES} x double>, ptr {pointer}, align 8")
        return self.vectors[key]

    def product(self, node: Expr) -> str:
        coefficient, exponents = node.data
        above: list[str] = []
        below: list[str] = []
        arrival = self.arrival
        for base, n in sorted(zip(node.args, exponents, strict=True), key=lambda f: arrival.get(f[0], 0)):
            (above if n > 0 else below).append(self.power(self.value(base), abs(n)))
        size = abs(float(coefficient))
        if size != 1 or not above:
            above.insert(0, real(size))
        value = self.chain(above)
        if below:
            value = self.emit(f"fdiv contract double {value}, {self.chain(below)}")
        return self.emit(f"fneg double {value}") if coefficient < 0 else value

    def chain(self, factors: list[str]) -> str:
        value = factors[0]
        for factor in factors[1:]:
            value = self.times(value, factor)
        return value

    def power(self, base: str, exponent: float) -> str:
        whole = int(exponent)
        value = self.whole_power(base, whole) if whole else None
        if exponent == whole:
            assert value is not None
            return value
        if exponent - whole != 0.5:
            return self.emit(f"call double @pow(double {base}, double {real(float(exponent))})")
        root = self.emit(f"call double @llvm.sqrt.f64(double {base})")
        return root if value is None else self.times(value, root)

    def whole_power(self, base: str, n: int) -> str:
        """base^n by squaring."""
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

    def call(self, node: Expr) -> str:
        args = [self.value(a) for a in node.args]
        kind = node.data
        if not isinstance(kind, str):
            return self.special(node, args)
        if kind in COMPARISONS:
            return self.truth(f"fcmp {COMPARISONS[kind]} double {args[0]}, {args[1]}")
        if kind in ("and", "or"):
            flags = [self.emit(f"fcmp une double {a}, 0.0") for a in args]
            return self.truth(f"{kind} i1 {flags[0]}, {flags[1]}")
        if kind == "not":
            return self.truth(f"fcmp oeq double {args[0]}, 0.0")
        if kind == "select":
            flag = self.emit(f"fcmp une double {args[0]}, 0.0")
            return self.emit(f"select i1 {flag}, double {args[1]}, double {args[2]}")
        if kind in ("min", "max"):  # these hand NaN on, whichever argument it is
            return self.emit(f"call double @llvm.{kind}imum.f64(double {args[0]}, double {args[1]})")
        if kind == "abs":
            return self.emit(f"call double @llvm.fabs.f64(double {args[0]})")
        if kind == "sign":
            up = self.emit(f"fcmp ogt double {args[0]}, 0.0")
            down = self.emit(f"fcmp olt double {args[0]}, 0.0")
            rest = self.emit(f"select i1 {down}, double -1.0, double {args[0]}")  # 0 or NaN
            return self.emit(f"select i1 {up}, double 1.0, double {rest}")
        return self.emit(f"call double @{kind}({', '.join('double ' + a for a in args)})")

    def truth(self, operation: str) -> str:
        """1 or 0 from a comparison."""
        return self.emit(f"uitofp i1 {self.emit(operation)} to double")

    def special(self, node: Expr, args: list[str]) -> str:
        """Lookup tables and foreign functions."""
        passed = ", ".join("double " + a for a in args)
        if hasattr(node.data, "breaks"):
            name = f"table_{node.data.digest:x}"
            self.module.need(name, lambda: lookup_function(name, node.data))
            return self.emit(f"call double @{name}({passed})")
        pointer = self.emit(f"inttoptr i64 {node.data.address} to ptr")
        return self.emit(f"call double {pointer}({passed})")

    def trigonometry(self, angles: list[Expr]) -> None:
        """Sines and cosines of all plain angles, group by group."""
        for start in range(0, len(angles), GROUP):
            group = angles[start : start + GROUP]
            lanes = _lanes(len(group))
            name = self.module.need(f"sincos{lanes}", partial(sine_cosine_function, f"sincos{lanes}", lanes))
            vector = f"<{lanes} x double>"
            packed = "zeroinitializer"
            for i, angle in enumerate(group):
                packed = self.emit(f"insertelement {vector} {packed}, double {self.value(angle)}, i64 {i}")
            both = self.emit(f"call {{ {vector}, {vector} }} @{name}({vector} {packed})")
            for part, function in ((0, sin), (1, cos)):
                values = self.emit(f"extractvalue {{ {vector}, {vector} }} {both}, {part}")
                for i, angle in enumerate(group):
                    self.values[function(angle)] = self.emit(f"extractelement {vector} {values}, i64 {i}")


def _lanes(n: int) -> int:
    """The vector length for n angles: the next power of two."""
    lanes = 1
    while lanes < n:
        lanes *= 2
    return lanes
