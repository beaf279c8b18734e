"""Tables about a description: its tree of bodies, what moves, and its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from armillary.algebra.expression import Expr
from armillary.algebra.notation.printing import text
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.program.print.documents import DocumentTable

_SHOWN = 40  # characters of an expression in a cell


def bodies(system: Description) -> DocumentTable:
    """All bodies, each below its parent and further in, with joint, coordinates and mass."""
    children: dict[str, list[Body]] = {}
    for body in system.bodies.values():
        children.setdefault(body.parent.name if body.parent else "", []).append(body)
    rows = []
    stack = [(body, 0) for body in reversed(children.get(system.ground.name, []))]
    while stack:
        body, depth = stack.pop()
        names = ", ".join(q.data.name for q in body.coordinates)
        rows.append([
            "\u2003" * (depth - 1) + "└ " * (depth > 0) + body.name,
            body.joint.describe(),
            names,
            text(body.mass, limit=_SHOWN),
        ])  # fmt: skip
        stack += [(child, depth + 1) for child in reversed(children.get(body.name, []))]
    return DocumentTable("Bodies", ["body", "joint", "coordinates", "mass"], rows)


def moving(symbols: Sequence[Expr]) -> DocumentTable:
    """Coordinates, speeds and states."""
    rows = [[s.data.name, s.data.units or "", s.data.about] for s in symbols]
    return DocumentTable("Coordinates and speeds", ["name", "units", "meaning"], rows)


def parameters(system: Description, units: Mapping[str, str] | None = None) -> DocumentTable:
    """All parameters with their defaults in their units: stated ones, or those of a table."""
    from armillary.model.parameter_meanings import parameter_descriptions

    about = parameter_descriptions(system)
    rows = []
    for name, p in system.parameters.items():
        default = "" if p.data.default is None else f"{p.data.default:.9g}"
        rows.append([name, default, (units or {}).get(name, p.data.units or ""), about[name]])
    return DocumentTable("Parameters", ["name", "default", "units", "meaning"], rows)
