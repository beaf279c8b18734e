"""The reference page docs/reference/api.md, made from signatures and docstrings.

    python docs/make_reference.py

A test compares the page with what this file makes of the code, so that neither drifts from the other.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import armillary
from armillary.program.cost import Operations
from armillary.program.equations import Equations
from armillary.runtime.compiled import CompiledModel

PAGE = Path(__file__).parent / "reference" / "api.md"

# Titles of the public names, by the module in which they are defined.
GROUPS = {
    "armillary.model.system": "Description",
    "armillary.model.body": "Description",
    "armillary.model.joints": "Joints",
    "armillary.model.motion": "Motion of points and bodies",
    "armillary.model.laws": "Contact and friction",
    "armillary.algebra.vectors": "Vectors",
    "armillary.algebra.functions": "Functions of scalars",
    "armillary.algebra.expression": "Expressions",
    "armillary.algebra.calculus": "Expressions",
    "armillary.algebra.walk": "Expressions",
    "armillary.algebra.latex": "Expressions",
    "armillary.algebra.tables": "User functions",
    "armillary.algebra.foreign": "User functions",
    "armillary.results": "Results",
    "armillary.errors": "Errors",
}
# Classes whose members are listed: where their objects come from, and attributes that are not in a docstring.
IN_DETAIL: tuple[tuple[type, str, tuple[str, ...]], ...] = (
    (armillary.System, "", ("name", "ground", "time", "bodies", "parameters", "coordinates", "speeds")),
    (armillary.Body, "", ()),
    (Equations, "Made by `System.derive`.", ()),
    (Operations, "Found in `Equations.operations`.", ()),
    (
        CompiledModel,
        "Made by `Equations.compile`.",
        ("equations", "coordinate_names", "speed_names", "output_names", "compile_seconds"),
    ),
    (armillary.Run, "Made by `CompiledModel.simulate`.", ()),
)
# Methods that other parts of the runtime call, and no user.
INTERNAL = {"place_at_start", "inside", "ends_a_leg", "run_functions"}
HEAD = """# Reference

One line for every public name, made from the code by `docs/make_reference.py`; `help(arm.System.body)` tells
more. Names are used as `arm.Revolute` after `import armillary as arm`. Arguments after `*` are given by name.
"""


def reference() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, names in _grouped().items():
        parts += [f"## {title}\n", _table([(_call(name, getattr(armillary, name)), name) for name in names])]
    for cls, origin, attributes in IN_DETAIL:
        parts += [f"## {cls.__name__}\n", f"{_first_paragraph(cls)} {origin}".rstrip() + "\n"]
        if dataclasses.is_dataclass(cls):
            attributes = tuple(f.name for f in dataclasses.fields(cls) if not f.name.startswith("_"))
        if attributes:
            parts.append("Attributes: " + ", ".join(f"`{name}`" for name in attributes) + ".\n")
        rows = [f"| {shown} | {about} |" for shown, about in _members(cls)]
        parts.append("\n".join(["| | |", "| --- | --- |", *rows]) + "\n")
    return "\n".join(parts)


def _grouped() -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {title: [] for title in GROUPS.values()}
    for name in armillary.__all__:
        module = getattr(armillary, name).__module__
        title = next(title for start, title in GROUPS.items() if module.startswith(start))
        groups[title].append(name)
    return groups


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [f"| {shown} | {_first_paragraph(getattr(armillary, name))} |" for shown, name in rows]
    return "\n".join(["| | |", "| --- | --- |", *lines]) + "\n"


def _members(cls: type) -> Iterator[tuple[str, str]]:
    """Public methods and properties with their first lines, in the order of the source."""
    seen: set[str] = set()
    for owner in cls.__mro__[:-1]:
        for name, member in vars(owner).items():
            if name.startswith("_") or name in seen or name in INTERNAL or not inspect.getdoc(member):
                continue
            seen.add(name)
            if isinstance(member, property):
                yield f"`{name}`", _first_paragraph(member)
            elif callable(member):
                yield _call(name, member), _first_paragraph(member)


def _call(name: str, thing: Any) -> str:
    """The name with its arguments, without types; errors and what users do not construct stand alone."""
    built = (armillary.Expr, armillary.Vector, armillary.Dyadic)
    if dataclasses.is_dataclass(thing) or thing in built or _is_error(thing):
        return f"`{name}`"
    arguments = [p for p in inspect.signature(thing).parameters.values() if p.name != "self"]
    return f"`{name}{inspect.Signature([p.replace(annotation=p.empty) for p in arguments])}`"


def _is_error(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Exception)


def _first_paragraph(thing: Any) -> str:
    paragraph = (inspect.getdoc(thing) or "").split("\n\n")[0]
    text = re.sub(r"\s+", " ", paragraph).replace("``", "`").replace("|", "\\|")
    return text if text.endswith(".") else text + "."


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(reference(), encoding="utf-8")
