"""A section of a program as ordered assignments of text, for any language.

    inputs    symbols that the section reads: identifier, the array that holds it, and its index there
    angles    sine and cosine of a plain angle (one symbol), if the language computes them together
    steps     one assignment each, in the order of the schedule
    results   text of each result, in order

A value that is used once is written in place. A value that is shared, is named in the derivation, or
would make a line too long is assigned to a name. A block function (algebra/block_functions.py) is a step that
makes an array of its results; following steps read each result that is used.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra.block_functions import is_block, is_block_part
from armillary.algebra.expression import Expr
from armillary.export.text.printer import CHOICE, Operand, Printer
from armillary.mechanics.constraints import closing_thresholds
from armillary.mechanics.constraints.closing_thresholds import CORRECTIONS
from armillary.program.equations import assigned_names
from armillary.program.program import ProgramSection

# Identifiers that a language accepts: of letters, digits and underscores, unique, and not keywords.

# Greek letters are common in names of angles and have no ASCII decomposition.
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "ο": "omicron",
    "π": "pi", "ρ": "rho", "σ": "sigma", "ς": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi",
    "ψ": "psi", "ω": "omega",
}  # fmt: skip


def plain_identifier(text: str, otherwise: str = "x") -> str:
    """Return a text reduced to letters, digits and single underscores, beginning with a letter."""
    spelled = "".join(_spell_greek(character) for character in text)
    decomposed = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    name = re.sub(r"_+", "_", re.sub(r"\W", "_", decomposed)).strip("_")
    if not name:
        return otherwise
    return name if name[0].isalpha() else f"{otherwise}_{name}"


def _spell_greek(character: str) -> str:
    greek = _GREEK.get(character.lower())
    if greek is None:
        return character
    return greek if character.islower() else greek.capitalize()


def field_names(
    names: Iterable[str], reserved: Iterable[str] = (), *, folded: bool = False
) -> tuple[str, ...]:
    """Return names by which a user sets values: the model's names, changed if the language requires it."""
    namer = Namer(reserved, folded=folded)
    return tuple(namer.fresh(name) for name in names)


class Namer:
    """A generator of names that differ from all names given before."""

    def __init__(self, reserved: Iterable[str] = (), *, folded: bool = False, longest: int = 63) -> None:
        self.folded, self.longest = folded, longest
        self.taken = {self._key(name) for name in reserved}
        self._numbers: dict[str, int] = {}

    def _key(self, name: str) -> str:
        return name.casefold() if self.folded else name

    def fresh(self, wish: str, otherwise: str = "x") -> str:
        """Return the wished name, followed by a number if it is taken."""
        stem = plain_identifier(wish, otherwise)[: self.longest]
        name = stem
        while self._key(name) in self.taken:
            number = self._numbers.get(stem, 0) + 1
            self._numbers[stem] = number
            tail = f"_{number}"
            name = stem[: self.longest - len(tail)] + tail
        self.taken.add(self._key(name))
        return name

    def number_names(self, stem: str) -> Iterator[str]:
        """Yield stem1, stem2, … that are not taken."""
        number = 0
        while True:
            number += 1
            name = f"{stem}{number}"
            if self._key(name) not in self.taken:
                self.taken.add(self._key(name))
                yield name

    def copy(self) -> Namer:
        """Return a copy with the same names taken, for an inner scope."""
        other = Namer(folded=self.folded, longest=self.longest)
        other.taken, other._numbers = set(self.taken), dict(self._numbers)
        return other


Place = tuple[str, int]  # an array's name and an index, from 0


@dataclass(frozen=True)
class Input:
    """A symbol that a section reads."""

    name: str
    array: str
    index: int
    symbol: Expr


@dataclass(frozen=True)
class Angle:
    """A plain angle and the names of its sine and cosine; unused ones have names, too."""

    angle: str
    sine: str
    cosine: str


@dataclass(frozen=True)
class BlockCall:
    """A call of a block function; ``given`` is the name of its array of arguments."""

    function: str
    given: str
    arguments: tuple[str, ...]
    results: int  # number of results


@dataclass(frozen=True)
class Step:
    """One assignment, and the names that it reads (inputs, angles and earlier steps)."""

    name: str
    text: str
    reads: frozenset[str]
    block: BlockCall | None = None  # if set, ``name`` is the array of its results
    is_part: bool = False  # reads a result of a block before it; both must be in the same function


@dataclass(frozen=True)
class SectionText:
    """A section as text."""

    section: ProgramSection
    inputs: tuple[Input, ...]
    angles: tuple[Angle, ...]
    steps: tuple[Step, ...]
    results: tuple[str, ...]
    result_reads: tuple[frozenset[str], ...]
    paired_angles: int = 1  # number of angles that are computed together


def section_text(
    section: ProgramSection,
    printer: Printer,
    places: Mapping[Expr, Place],
    identifiers: Mapping[Expr, str],
    namer: Namer,
) -> SectionText:
    """Return a section as text.

    ``places`` has the arrays and indices of its symbols ("" is the time), ``identifiers`` their names, and
    ``namer`` the names already in use.
    """
    return _Builder(section, printer, places, identifiers, namer.copy()).build()


class _Builder:
    def __init__(
        self,
        section: ProgramSection,
        printer: Printer,
        places: Mapping[Expr, Place],
        identifiers: Mapping[Expr, str],
        namer: Namer,
    ) -> None:
        self.section, self.printer, self.places = section, printer, places
        self.identifiers, self.namer = identifiers, namer
        self.numbers = namer.number_names("z")
        self.inputs: dict[Expr, Input] = {}
        self.operands: dict[Expr, Operand] = {}
        self.reads: dict[Expr, frozenset[str]] = {}
        self.steps: list[Step] = []

    def build(self) -> SectionText:
        section = self.section
        names = assigned_names(section)
        bases = _bases(section.nodes)
        chosen = {n.args[0]: names[n] for n in section.nodes if n.kind == "let" and n in names}
        parts: dict[Expr, list[Expr]] = {n: [] for n in section.nodes if is_block(n)}
        for node in section.nodes if parts else ():
            if is_block_part(node):
                parts[node.args[0]].append(node)
        arrival = section.arrival
        angles = self.name_sine_pairs() if self.printer.paired_angles else ()
        for node in section.nodes:
            if node in self.operands:
                continue
            if is_block(node):
                self.call_block(node, parts[node], names, chosen)
                continue
            operands = [self.operand(a) for a in node.args]
            operand = self.printer.node(node, operands, arrival)
            reads = self.reads_of(node.args)
            # A name of the derivation belongs to the node itself or to its let.
            wanted = node in names or node in bases
            wanted = wanted or (len(operand.text) > self.printer.inline and node not in chosen)
            if wanted and not operand.text.isidentifier():  # an identifier needs no further name
                name = self.next_name(chosen.get(node) or names.get(node))
                self.steps.append(Step(name, self.printer.at(operand, CHOICE), reads))
                operand, reads = Operand(name), frozenset((name,))
            self.operands[node], self.reads[node] = operand, reads
        results = tuple(self.printer.at(self.operand(r), CHOICE) for r in section.results)
        reads_of_results = tuple(self.reads_of([r]) for r in section.results)
        used = frozenset().union(*(s.reads for s in self.steps), *reads_of_results)
        used |= {a.angle for a in angles}
        order = {array: k for k, array in enumerate(dict.fromkeys(p[0] for p in self.places.values()))}
        inputs = tuple(
            sorted(
                (i for i in self.inputs.values() if i.name in used), key=lambda i: (order[i.array], i.index)
            )
        )
        group = self.printer.paired_angles
        return SectionText(section, inputs, angles, tuple(self.steps), results, reads_of_results, group)

    def call_block(
        self, node: Expr, parts: Sequence[Expr], names: Mapping[Expr, str], chosen: Mapping[Expr, str]
    ) -> None:
        """Add the step of a block, and a step for each result that is read."""
        arguments = tuple(self.printer.at(self.operand(a), CHOICE) for a in node.args)
        function = self.printer.block(node.data)
        array = self.namer.fresh(f"{node.data.name}_found")
        call = BlockCall(function, self.namer.fresh(f"{node.data.name}_given"), arguments, node.data.count)
        self.steps.append(Step(array, "", self.reads_of(node.args), call))
        for part in parts:
            name = self.next_name(chosen.get(part) or names.get(part))
            text = self.printer.element(array, part.data.index)
            self.steps.append(Step(name, text, frozenset((array,)), is_part=True))
            self.operands[part], self.reads[part] = Operand(name), frozenset((name,))
        # Only the steps of the parts read the array of the block.
        self.operands[node], self.reads[node] = Operand(array), frozenset()

    def next_name(self, wish: str | None) -> str:
        """Return the wished name, or the next of "z1", "z2", … without one."""
        if wish is None or (wish[0] == "z" and wish[1:].isdigit()):
            return next(self.numbers)
        return self.namer.fresh(wish)

    def operand(self, node: Expr) -> Operand:
        known = self.operands.get(node)
        if known is not None:
            return known
        if node.kind == "number":
            known = self.printer.number(float(node.data))
            self.reads[node] = frozenset()
        else:
            array, index = self.places[node]
            name = self.identifiers[node]
            self.inputs[node] = Input(name, array, index, node)
            known = Operand(name)
            self.reads[node] = frozenset((name,))
        self.operands[node] = known
        return known

    def reads_of(self, nodes: Iterable[Expr]) -> frozenset[str]:
        return frozenset().union(*(self.reads[n] for n in nodes))

    def name_sine_pairs(self) -> tuple[Angle, ...]:
        """Return the plain angles, with names for their sines and cosines."""
        found: dict[Expr, dict[str, Expr]] = {}
        for node in self.section.nodes:
            if node.kind == "call" and node.data in ("sin", "cos") and node.args[0].kind == "symbol":
                found.setdefault(node.args[0], {})[node.data] = node
        angles = []
        for symbol, calls in found.items():
            name = self.operand(symbol).text
            sine, cosine = self.namer.fresh(f"sin_{name}"), self.namer.fresh(f"cos_{name}")
            angles.append(Angle(name, sine, cosine))
            for function, text in (("sin", sine), ("cos", cosine)):
                if function in calls:
                    self.operands[calls[function]] = Operand(text)
                    self.reads[calls[function]] = frozenset((text,))
        return tuple(angles)


def _bases(nodes: Sequence[Expr]) -> set[Expr]:
    """Return the bases of powers that are printed as products, such as x*x*x, in which the base repeats."""
    return {
        base
        for node in nodes
        if node.kind == "product"
        for base, n in zip(node.args, node.data[1], strict=True)
        if abs(n) > 1 and (abs(n) - int(abs(n)) in (0, 0.5))
    }


# Thresholds of loop closing after each step, for the templates of all languages.


def closing(precision: str = "double", attempts: int = CORRECTIONS) -> dict[str, str]:
    """Return the thresholds; with the precision "either" C code chooses them by the size of its type."""

    def number(name: str) -> str:
        double: float = getattr(closing_thresholds, name)
        single = closing_thresholds.SINGLE.get(name, double)
        if precision == "either" and single != double:
            return f"(sizeof(double) == 4 ? {single!r} : {double!r})"
        return repr(single if precision == "single" else double)

    return {
        "attempts": str(attempts),
        "closed": number("SMALL_CORRECTION"),
        "far": number("LARGE_CORRECTION"),
        "part": number("CLOSED_START"),
    }
