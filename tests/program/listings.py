"""Listings read back by Python's own parser: an independent account of what a program computes and costs."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from armillary.program.passes.graph import Operations

FUNCTIONS: dict[str, Any] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "abs": abs,
    "sign": lambda x: float(x > 0) - float(x < 0),
    "min": min,
    "max": max,
    "select": lambda c, a, b: a if c else b,
}


def assignments(listing: str) -> Iterator[tuple[str, ast.expr]]:
    """(name, expression) of every line after the heading, names with their dots as underscores."""
    for line in listing.splitlines()[1:]:
        name, _, expression = line.partition(" = ")
        plain = _plain(expression).replace("^", "**")
        yield _plain(name.strip()), ast.parse(plain, mode="eval").body


def _plain(text: str) -> str:
    return re.sub(r"(?<=[A-Za-z_0-9])\.(?=[A-Za-z_])", "__", text)


def run_listing(
    listing: str, values: Mapping[str, float], functions: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """Every assigned name with its value, computed line by line."""
    known: dict[str, Any] = {_plain(name): value for name, value in values.items()}
    inputs = dict(known)
    found: dict[str, float] = {}
    names = {**FUNCTIONS, **(functions or {})}
    for name, expression in assignments(listing):
        code = compile(ast.Expression(expression), "listing", "eval")
        found[name] = float(eval(code, names, known))
        if name not in inputs:  # a memory's new value leaves the old one in place
            known[name] = found[name]
    return found


def recounted(listing: str) -> Operations:
    """Operations of a listing by the rule of program/passes/graph.py, from its text alone."""
    total = Operations()
    for _, expression in assignments(listing):
        for node in ast.walk(expression):
            total = total + _operations(node)
    return total


def _operations(node: ast.AST) -> Operations:
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Sub):
            return Operations(additions=1)
        if isinstance(node.op, ast.Mult):
            return Operations(multiplications=1)
        if isinstance(node.op, ast.Div):
            return Operations(divisions=1)
        return _power(node.right)
    if isinstance(node, ast.Call):
        root = isinstance(node.func, ast.Name) and node.func.id == "sqrt"
        return Operations(divisions=1) if root else Operations(functions=1)
    if isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        return Operations(functions=1)
    return Operations()


def _power(exponent: ast.expr) -> Operations:
    if not isinstance(exponent, ast.Constant):
        return Operations(functions=1)
    whole, half = divmod(float(exponent.value), 1)
    if half not in (0.0, 0.5):
        return Operations(functions=1)
    squarings = len(format(int(whole), "b")) - 1
    products = format(int(whole), "b").count("1") - 1
    return Operations(multiplications=squarings + products + (half > 0), divisions=int(half > 0))
