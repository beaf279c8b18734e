"""The fields of a record of the small language: name, type, meaning, and the features that require it.

The text of record.py is the one declaration of a run. The structures, classes and trees of exported programs
and the process's block of scalars and workspace (solver/llvm/layout.py) are all made from these fields.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FILES = "armillary.solver"


@dataclass(frozen=True)
class Field:
    """A part of a run: its type and meaning, and the conditions under which it is declared."""

    name: str
    type: str
    about: str
    conditions: tuple[ast.expr, ...] = ()

    def is_there(self, features: Collection[str]) -> bool:
        """Return whether a program with some features has the field."""
        return all(_holds(condition, features) for condition in self.conditions)


def read_source(name: str) -> str:
    """Read a file of the solver; a name `package:file` is a file of another package."""
    package, _, file = name.rpartition(":")
    return files(package or _FILES).joinpath(file).read_text(encoding="utf-8")


@cache
def read_fields(name: str = "record.py") -> tuple[Field, ...]:
    """Read all fields of the first class of a file, in order; ``name`` may list files, with commas."""
    found: list[Field] = []
    for text in map(read_source, name.split(",")):
        record = next(n for n in ast.parse(text).body if isinstance(n, ast.ClassDef))
        found += _fields_of(record.body, text.splitlines(), ())
    return tuple(found)


def _fields_of(body: list[ast.stmt], lines: list[str], conditions: tuple[ast.expr, ...]) -> list[Field]:
    found = []
    for node in body:
        if isinstance(node, ast.If):
            found += _fields_of(node.body, lines, (*conditions, node.test))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            about = lines[node.lineno - 1].partition("#")[2].strip()
            found.append(Field(node.target.id, ast.unparse(node.annotation), about, conditions))
    return found


def _holds(condition: ast.expr, features: Collection[str]) -> bool:
    match condition:
        case ast.Name(id=name):
            return name in features
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _holds(inner, features)
        case ast.BoolOp(op=operator, values=values):
            found = [_holds(value, features) for value in values]
            return any(found) if isinstance(operator, ast.Or) else all(found)
    raise AssertionError(ast.unparse(condition))
