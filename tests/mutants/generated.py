"""Faults made by rule from the syntax of ``src``, drawn by seed: nobody chooses what is planted.

Each place of a file where a rule applies is one fault: an operator, a comparison, a number, a condition, a
slice, a sign or a function in place of its opposite. Text is changed in place, so that lines keep their
numbers and the sources that are read rather than run (``solver``) are changed as well.

Left out: annotations, decorators, overloads, assertions and ``strict=`` of zip, sums of texts and of lists,
what is inside of f-strings, which have no place in the file in Python 3.11, and the places at which a fault
cannot change anything (``idle.py``).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from heapq import nsmallest
from itertools import pairwise
from pathlib import Path

from tests.mutants.idle import found_lengths, idle_places, is_tolerance, named_thresholds, named_tolerances
from tests.mutants.planting import ROOT

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Pow: ("**", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_PAIRS = (
    *(("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("sin", "cos")),
    *(("floor", "ceil"), ("sum", "prod"), ("append", "extend"), ("zeros", "ones"), ("hstack", "vstack")),
)
OPPOSITES = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_TEXTS = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)


@dataclass(frozen=True)
class GeneratedFault:
    """A change of bytes ``begin`` to ``end`` of a file."""

    file: str
    begin: int
    end: int
    faulty: str
    line: int
    original_line: str
    faulty_line: str

    @property
    def code_lines(self) -> tuple[str, str]:
        """The line as it is and with the fault, without comments, which change more often than code."""
        original, faulty = (re.sub(r" # .*", "", line) for line in (self.original_line, self.faulty_line))
        return original, faulty

    def plant(self, sound: bytes) -> bytes:
        return sound[: self.begin] + self.faulty.encode() + sound[self.end :]

    @property
    def package(self) -> str:
        parts = Path(self.file).parts
        return parts[2] if len(parts) > 3 else "armillary"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n    - {self.original_line}\n    + {self.faulty_line}"


class _Source:
    """The text of a file and the places of its nodes in bytes."""

    def __init__(self, file: str, text: bytes, tree: ast.Module) -> None:
        self.file, self.text = file, text
        self.lengths, self.tolerances = found_lengths(tree), named_tolerances(tree)
        self.thresholds = named_thresholds(tree)
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def begin(self, node: ast.expr) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.expr) -> str:
        return self.text[self.begin(node) : self.end(node)].decode()

    def fault(self, begin: int, end: int, faulty: str) -> GeneratedFault:
        line = self.text.count(b"\n", 0, begin)
        first, last = self._starts[line], self.text.find(b"\n", end)
        shown = self.text[first:begin] + faulty.encode() + self.text[end:last]
        original, changed = " ".join(self.text[first:last].decode().split()), " ".join(shown.decode().split())
        return GeneratedFault(self.file, begin, end, faulty, line + 1, original, changed)

    def whole(self, node: ast.expr, faulty: str) -> GeneratedFault:
        return self.fault(self.begin(node), self.end(node), faulty)

    def between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[GeneratedFault]:
        """The operator between two operands; none where a comment stands there."""
        if type(operator) not in OPERATORS:
            return
        sign, faulty = OPERATORS[type(operator)]
        gap = self.text[self.end(left) : self.begin(right)]
        if gap.count(sign.encode()) == 1 and b"#" not in gap:
            begin = self.end(left) + gap.index(sign.encode())
            yield self.fault(begin, begin + len(sign), faulty)


def _faults_at(source: _Source, node: ast.AST) -> Iterator[GeneratedFault]:
    match node:
        case ast.BinOp(left, operator, right):
            if not any(isinstance(x, _TEXTS) or _is_text(x) for x in (left, right)):
                yield from source.between(left, right, operator)
        case ast.BoolOp(operator, values):
            for left, right in pairwise(values):
                yield from source.between(left, right, operator)
        case ast.Compare(first, operators, others):
            for left, comparison, right in zip([first, *others], operators, others, strict=False):
                if not (isinstance(comparison, _ORDER) and _bounded(source, left, right)):
                    yield from source.between(left, right, comparison)
        case ast.AugAssign(target, ast.Add() | ast.Sub() as operator, value) if not isinstance(value, _TEXTS):
            gap = source.text[source.end(target) : source.begin(value)]
            sign, faulty = OPERATORS[type(operator)]
            begin = source.end(target) + gap.index(sign.encode())
            yield source.fault(begin, begin + 1, faulty)
        case ast.Constant(bool()):
            yield source.whole(node, str(not node.value))
        case ast.Constant(int() as value) if value > 16:  # sizes and budgets, of which more is nothing
            yield source.whole(node, str(value // 16))
        case ast.Constant(int() as value):
            if node not in source.lengths:
                yield source.whole(node, str(value + 1))
            if value:
                yield source.whole(node, str(value - 1))
        case ast.Constant(float() as value) if 0.0 < value < 1e-5 or node in source.thresholds:
            # tolerances, in which two is nothing
            yield source.whole(node, repr(1000.0 * value))
        case ast.Constant(float() as value):
            yield source.whole(node, repr(2.0 * value) if value else "1.0")
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            yield source.whole(node, f"({source.of(operand)})")
        case ast.If(test) | ast.While(test) | ast.IfExp(test):
            if not (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"):
                yield source.whole(test, f"(not ({source.of(test)}))")
                yield source.whole(test, f"(({source.of(test)}) and False)")
        case ast.Slice(lower, upper):
            for bound in (lower, upper):
                if bound is not None and not isinstance(bound, ast.Constant):
                    yield source.whole(bound, f"({source.of(bound)}) + 1")
        case ast.Call(ast.Name("range"), [*_, last], []) if not isinstance(last, ast.Constant):
            yield source.whole(last, f"({source.of(last)}) - 1")
        case ast.Call(ast.Name(name) | ast.Attribute(_, name)) if name in OPPOSITES:
            end = source.end(node.func)
            yield source.fault(end - len(name), end, OPPOSITES[name])


def _bounded(source: _Source, left: ast.expr, right: ast.expr) -> bool:
    return any(is_tolerance(one, source.tolerances) for one in (left, right))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _code(node: ast.AST, idle: set[ast.AST]) -> Iterator[ast.AST]:
    """A node and what is below it, without what is left out."""
    if node in idle:
        return
    if isinstance(node, ast.FunctionDef) and any(ast.unparse(d) == "overload" for d in node.decorator_list):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            asserted = isinstance(child, ast.Assert) or (
                isinstance(child, ast.keyword) and child.arg == "strict"
            )
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr) and not asserted:
                yield from _code(child, idle)


def faults_of(file: str, text: bytes, lines: Collection[int] = ()) -> list[GeneratedFault]:
    """All faults of a file that are another program, or those in statements of the module that hold some
    lines.
    """
    tree = ast.parse(text)
    source = _Source(file, text, tree)
    if lines:
        tree.body = [
            node
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            or any(node.lineno <= line <= (node.end_lineno or 0) for line in lines)
        ]
    idle = idle_places(tree)
    made = (fault for node in _code(tree, idle) for fault in _faults_at(source, node))
    return sorted(set(made), key=lambda fault: (fault.begin, fault.end, fault.faulty))


def draw_faults(seed: int, count: int, only: str = "") -> list[GeneratedFault]:
    """So many faults of all files, each as likely as any other: those with the least hashes with the seed,
    so that a change of the code leaves the draw from the rest as it is.
    """
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if only in file:
            found += faults_of(file, path.read_bytes())

    def rank(fault: GeneratedFault) -> tuple[bytes, int]:
        text = f"{seed} {fault.file} {fault.original_line} {fault.faulty_line}"
        return sha256(text.encode()).digest(), fault.begin

    return nsmallest(count, found, key=rank)


def is_equivalent(fault: GeneratedFault) -> bool:
    """Whether a fault is one of those that are known to change nothing."""
    own = fault.file, *fault.code_lines
    named = any(own == (one["file"], one["original"], one["faulty"]) for one in read_equivalents())
    return named or fault.begin in _places_of_estimates(fault.file)


@cache
def read_equivalents(kind: str = "fault") -> list[dict[str, str]]:
    """Faults, or functions of estimates, that change no number, text or error, each with the reason."""
    path = Path(__file__).with_name("equivalent.toml")
    found: list[dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8")).get(kind, [])
    return found


@cache
def _places_of_estimates(file: str) -> frozenset[int]:
    """Where the numbers, operators and comparisons of a file's estimates begin; their conditions, slices and
    indices are planted as everywhere, since another way through a function may end in an error.
    """
    names = {one["function"] for one in read_equivalents("estimate") if one["file"] == file}
    if not names:
        return frozenset()
    text = (ROOT / file).read_bytes()
    tree = ast.parse(text)
    source = _Source(file, text, tree)
    return frozenset(
        fault.begin
        for name, function in named_functions(tree)
        if name in names
        for node in _arithmetic(function)
        for fault in _faults_at(source, node)
    )


def named_functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions of a file, and those of its classes as ``Class.function``."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{f.name}", f) for f in node.body if isinstance(f, ast.FunctionDef))


def _arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.BinOp, ast.Compare, ast.Constant, ast.AugAssign)):
        yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(node, ast.Subscript) or child is node.value:
            yield from _arithmetic(child)
