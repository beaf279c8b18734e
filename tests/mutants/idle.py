"""Places of a program at which a fault cannot change a number, a text or an error: none is planted there.

Each rule is one of syntax and holds wherever it applies, so that nobody has to judge single faults:

- a constant that is stored and replaced on every path before it is read. The solver's small language declares
  a variable by a value of its type (``two: real = 0.0``) long before it gets its first;
- the size 0 of ``zeros`` and ``ones``: an array without elements has no values;
- ``-2`` in place of ``-1`` as a length of ``reshape``: NumPy finds any negative one;
- ``<`` in place of ``<=`` at a tolerance below 1e-3: they differ where a result is the bound to its last bit;
- numbers below 1e-100, which stand for zero in divisions and maxima, where any tiny number serves;
- tolerances of the checks of published cases: like assertions, a check that asks less fails no test;
- widths, sizes and colours of lines in Matplotlib's figures and in its settings (``"lines.linewidth": 1.6``),
  which are a matter of taste.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.mutants.planting import ROOT

_TOLERANCE = 1e-3  # bounds below are tolerances, those above may be meant to the last bit, as 0.5 or 1
_THRESHOLD = 1e-2  # constants below are thresholds, of which twice as much is often as good
_NOTHING = 1e-100  # numbers below are in place of zero
_CHECKS = {"difference": 1, "value": 2, "differs": 3}  # of verification/rows.py: the place of the tolerance
_STYLE_TEXT = """
alpha capsize color colors dpi ecolor edgecolor elinewidth facecolor figsize fontsize labelpad linestyle
linewidth linewidths lw markeredgewidth markerfacecolor markersize pad s zorder
"""
_STYLE = frozenset(_STYLE_TEXT.split())
_SETTINGS = _STYLE | {
    "labelsize",
    "size",
    "titlesize",
    "xmargin",
    "ymargin",
}  # after a dot, as in "font.size"


def idle_places(tree: ast.Module) -> set[ast.AST]:
    """Nodes at which no fault is planted, with what is below them."""
    found: set[ast.AST] = set()
    nodes = list(ast.walk(tree))
    imported = set(_imported(nodes))
    figures = any("matplotlib" in name for name in imported)
    checks = "armillary.verification.rows" in imported
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.update(replaced_constants(node))
            case ast.Call(ast.Attribute(_, "zeros" | "ones"), [size, *_]):
                sizes = size.elts if isinstance(size, ast.Tuple) else [size]
                if any(isinstance(one, ast.Constant) and one.value == 0 for one in sizes):
                    found.add(node)
            case ast.Constant(float() as number) if 0.0 < number < _NOTHING:
                found.add(node)
            case ast.Call(ast.Name(name), given, keywords) if checks and name in _CHECKS:
                found.update(given[_CHECKS[name] : _CHECKS[name] + 1])
                found.update(word.value for word in keywords if word.arg == "tolerance")
            case ast.Call(_, _, keywords) if figures:
                found.update(word.value for word in keywords if word.arg in _STYLE)
            case ast.Dict(keys, values) if figures:
                found.update(v for key, v in zip(keys, values, strict=True) if _is_style_setting(key))
    return found


def _is_style_setting(key: ast.expr | None) -> bool:
    """Whether a key of a dictionary is the name of one of Matplotlib's settings of taste."""
    if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
        return False
    group, _, name = key.value.partition(".")
    return bool(group) and name in _SETTINGS


def found_lengths(tree: ast.Module) -> set[ast.AST]:
    """The numbers 1 of ``-1`` as a length of ``reshape``: a larger one is the same."""
    return {
        length.operand
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reshape"
        for argument in node.args
        for length in (argument.elts if isinstance(argument, ast.Tuple) else [argument])
        if isinstance(length, ast.UnaryOp) and isinstance(length.op, ast.USub)
    }


def named_tolerances(tree: ast.Module) -> frozenset[str]:
    """Constants of the file that are tolerances, its own and those that it imports."""
    own = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and is_tolerance(node.value, frozenset())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("armillary.")
        for alias in node.names
        if alias.name.isupper() and alias.name in _tolerances_of(node.module or "")
    }
    return frozenset(own | imported)


@cache
def _tolerances_of(module: str) -> frozenset[str]:
    path = ROOT / "src" / Path(*module.split("."))
    path = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    return named_tolerances(ast.parse(path.read_bytes()))


def named_thresholds(tree: ast.Module) -> set[ast.AST]:
    """The numbers below 1e-2 that are constants of the file by name."""
    found: set[ast.AST] = set()
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(name)], ast.Constant(float() as number) as value):
                if name.isupper() and 0.0 < number < _THRESHOLD:
                    found.add(value)
    return found


def is_tolerance(node: ast.expr, named: frozenset[str]) -> bool:
    """Whether a bound is a small number, or a product with one."""
    match node:
        case ast.Constant(float() as value):
            return 0.0 < value < _TOLERANCE
        case ast.Name(name):
            return name in named
        case ast.BinOp(left, ast.Mult(), right):
            return is_tolerance(left, named) or is_tolerance(right, named)
    return False


def replaced_constants(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    """Constants of assignments to one local name that no path leads to a use of."""
    inside = list(ast.walk(function))
    stored: list[tuple[str, ast.stmt, ast.expr]] = []
    for node in inside:
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                if _is_number(value):
                    stored.append((name, node, value))
    hidden = (ast.Try, ast.Match, ast.Global, ast.Nonlocal, ast.Delete, ast.With, ast.NamedExpr)
    if not stored or any(isinstance(node, hidden) for node in inside):
        return  # paths that are not followed here
    captured = {
        name.id
        for node in inside
        if node is not function and isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef))
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }
    for name, statement, value in stored:
        if name not in captured and not _Paths(name, statement).use(function.body):
            yield value


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float))


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


class _Paths:
    """Whether the value that one statement stores is read on any path of a function.

    ``follow`` takes whether the name may hold the value before some statements, and gives whether it may
    after them; None where nothing comes after.
    """

    def __init__(self, name: str, stored: ast.stmt) -> None:
        self._name, self._stored = name, stored
        self._used = False
        self._left: list[list[bool]] = []  # of each loop around: what break and continue leave with

    def use(self, body: Sequence[ast.stmt]) -> bool:
        self._follow(body, False)
        return self._used

    def _follow(self, body: Sequence[ast.stmt], held: bool | None) -> bool | None:
        for statement in body:
            if held is None:
                return None
            held = self._after(statement, held)
        return held

    def _after(self, node: ast.stmt, held: bool) -> bool | None:
        if node is self._stored:
            return True
        match node:
            case ast.If(test, body, orelse):
                self._read([test], held)
                return _either(self._follow(body, held), self._follow(orelse, held))
            case ast.For(target, over, body, orelse):
                self._read([over], held)
                return self._loop(body, orelse, held, target)
            case ast.While(test, body, orelse):
                return self._loop(body, orelse, held, test)
            case ast.Return() | ast.Raise():
                self._read([node], held)
                return None
            case ast.Break() | ast.Continue():
                self._left[-1].append(held)
                return None
            case ast.AugAssign(ast.Name(self._name)):
                self._used |= held
                return held
        self._read([node], held)
        return held and not self._stores(node)

    def _loop(self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], held: bool, head: ast.expr) -> bool:
        before = held
        for _ in range(2):  # what one pass leaves, the next begins with
            self._read([head], before)
            self._left.append([])
            after = self._follow(body, before)
            before = before or bool(after) or any(self._left.pop())
        self._read([head], before)
        after = self._follow(orelse, before)
        return before or bool(after)

    def _read(self, nodes: Iterable[ast.AST], held: bool) -> None:
        if held:
            self._used |= any(
                isinstance(one, ast.Name) and one.id == self._name and isinstance(one.ctx, ast.Load)
                for node in nodes
                for one in ast.walk(node)
            )

    def _stores(self, node: ast.stmt) -> bool:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            stored = [e for t in targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
            return any(isinstance(one, ast.Name) and one.id == self._name for one in stored)
        return False


def _either(one: bool | None, other: bool | None) -> bool | None:
    return other if one is None else one if other is None else one or other
