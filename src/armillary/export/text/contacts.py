"""The solver of contacts in exported code, as in the process.

The algorithm is in mechanics/contact/problem.py; the printer of each language writes it. Its data are here:
sizes, tables and lengths of vectors for the contacts of one system, and the functions that sections call
(block functions): each takes an array of arguments and gives an array of results.

Names of the solver begin with ``contact``, since the solvers of runs and of loops also have some of them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property

from armillary.algebra.block_functions import BlockFunction
from armillary.mechanics.contact.blocks import FIELDS, ContactBlock
from armillary.runtime.language.fields import Field
from armillary.runtime.language.translator import Solver, SolverFunction, read_contacts

# Parts of the record whose names are words of some language.
_OTHER_FIELDS = {"static": "static_friction", "free": "free_motion", "size": "row_size"}
# Thresholds in single precision, whose roundings are 5e8 times as large.
SINGLE = {
    "CONTACT_SOFT": 1e-3, "CONTACT_PRECISE": 2e-6, "CONTACT_MASSLESS": 2e-6, "CONTACT_ADMISSIBLE": 1e-5,
    "CONTACT_HOLDS": 1e-3, "CONTACT_REDUNDANT_ROW": 1e-5, "CONTACT_NEARLY": 1e-2, "CONTACT_STRAIGHT": 1e-5,
}  # fmt: skip


@dataclass(frozen=True)
class Passage:
    """Numbers that go from an array to a vector of the record, or back: where the first is in the array."""

    field: str
    first: int
    length: int


@dataclass(frozen=True, eq=False)
class ContactSource:
    """The solver for contacts of one kind: how many, and which rows they have."""

    called: Mapping[str, ContactBlock]  # functions that sections call, by their names
    tag: str  # at the end of names, where a program has several of these

    @property
    def block(self) -> ContactBlock:
        """Any of the functions: all have the same sizes, vectors and tables."""
        return next(iter(self.called.values()))

    @cached_property
    def solver(self) -> Solver:
        """The functions of the algorithm."""
        return _rename_functions(read_contacts([block.entry for block in self.called.values()]), self.tag)

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by their names in the description."""
        return dict(self.block.sizes)

    @cached_property
    def lengths(self) -> dict[str, int]:
        """Lengths of vectors by their kinds, at least 1."""
        return {FIELDS[name]: max(1, length) for name, length in self.block.vectors.items()}

    def whole_tables(self, first: int) -> dict[str, list[int]]:
        """Tables of numbers in a language whose indices begin with ``first``; that before it is for none."""
        counts = ("SLIP_END",)
        return {
            name: [i + (0 if name in counts else first) for i in numbers]
            for name, numbers in self.block.tables.items()
        }

    def entry(self, name: str) -> str:
        """Return the solver's function that is the entry of a block function."""
        return _contact_function(self.called[name].entry, self.tag)

    def takes(self, name: str) -> list[Passage]:
        """Return the places of a function's arguments, in order."""
        return _passages(self.called[name], self.called[name].takes)

    def gives(self, name: str) -> list[Passage]:
        """Return the places of a function's results, in order."""
        return _passages(self.called[name], self.called[name].gives)


def contact_sources(blocks: Mapping[BlockFunction, str], code: str = "") -> list[ContactSource]:
    """Return the solvers that the block functions in a text need; without a text, in the whole program."""
    groups: dict[object, dict[str, ContactBlock]] = {}
    for block, name in blocks.items():
        assert isinstance(block, ContactBlock), block
        kind = tuple(block.sizes.items()), tuple(block.tables.items())
        group = groups.setdefault(kind, {})
        if not code or f"{name}(" in code:
            group[name] = block
    tags = ("" if k == 1 else f"_{k}" for k in range(1, len(groups) + 1))
    return [ContactSource(called, tag) for called, tag in zip(groups.values(), tags, strict=True) if called]


def contact_constants(sources: Sequence[ContactSource], precision: str = "double") -> dict[str, float]:
    """Return the numbers that the solvers of a program read, in a precision."""
    found = {name: value for source in sources for name, value in source.solver.constants.items()}
    return found | {k: v for k, v in SINGLE.items() if k in found} if precision == "single" else found


def _passages(block: ContactBlock, fields: Sequence[str]) -> list[Passage]:
    found, first = [], 0
    for name in fields:
        found.append(Passage(_OTHER_FIELDS.get(name, name), first, block.vectors[name]))
        first += block.vectors[name]
    return found


def _contact_function(function: str, tag: str) -> str:
    return f"contact_{function}{tag}"


def _rename_functions(solver: Solver, tag: str) -> Solver:
    """Return the functions under names that nothing else in a program has."""
    functions: dict[str, SolverFunction] = {}
    comments: dict[ast.stmt, str] = {}
    names = _Names(solver, tag)
    for f in solver.functions.values():
        memo: dict[int, object] = {}
        body = _with_own_indices([names.visit(node) for node in deepcopy(list(f.body), memo)])
        for node, comment in solver.comments.items():
            copied = memo.get(id(node))
            if isinstance(copied, ast.stmt):
                comments[copied] = comment
        name = names.functions[f.name]
        functions[name] = replace(f, name=name, body=body, locals=_types(body))
    fields = [Field(_OTHER_FIELDS.get(f.name, f.name), f.type, f.about) for f in solver.fields]
    constants = {names.constants[name]: value for name, value in solver.constants.items()}
    return Solver(fields, functions, constants, comments)


def _with_own_indices(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements in which no variable of a loop has the name of another local: some languages have types for
    indices, and declare a name once in a function.
    """
    taken = {name for name, kind in _types(body).items() if kind != "index"}
    nodes = [node for statement in body for node in ast.walk(statement)]
    for node in reversed([node for node in nodes if isinstance(node, ast.For)]):  # inner loops first
        if isinstance(node.target, ast.Name) and (name := node.target.id) in taken:
            inside = [n for statement in node.body for n in ast.walk(statement)]
            for n in [node.target, *inside]:
                if isinstance(n, ast.Name) and n.id == name:
                    n.id = f"{name}_index"
    return body


def _types(body: Sequence[ast.stmt]) -> dict[str, str]:
    """Return the types of locals; a declared type takes precedence over the index of a loop."""
    found: dict[str, str] = {}
    for node in [node for statement in body for node in ast.walk(statement)]:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = ast.unparse(node.annotation)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, "index")
    return found


class _Names(ast.NodeTransformer):
    """Functions, constants and parts of the record under other names."""

    def __init__(self, solver: Solver, tag: str) -> None:
        self.functions = {name: _contact_function(name, tag) for name in solver.functions}
        self.constants = {name: f"CONTACT_{name}" for name in solver.constants}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.functions.get(node.id) or self.constants.get(node.id) or node.id
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        node.attr = _OTHER_FIELDS.get(node.attr, node.attr)
        return node
