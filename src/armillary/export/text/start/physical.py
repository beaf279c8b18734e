"""Masses, moments of inertia, armatures and coefficients of contacts that must not be negative, checked
before an exported run.
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.walk import symbols
from armillary.export.text.printing.layout import one_line
from armillary.program.equations import DerivedEquations
from armillary.program.program import ProgramSection, section
from armillary.runtime.models.parameters import physical_quantities


@dataclass(frozen=True)
class Physical:
    """Quantities that depend on parameters, and the text before the value of one that is negative."""

    section: ProgramSection
    texts: tuple[str, ...]


def physical(equations: DerivedEquations) -> Physical | None:
    """Quantities of a system that parameters could make negative; None where there are none."""
    system, plain = equations.system, equations.reduction.plain
    known = [
        (f"{where}: its {what}", value)
        for where, quantities in physical_quantities(system)
        for what, value in quantities.items()
    ]
    known += [(f"the armature of '{speed}'", value) for speed, value in system.armatures.items()]
    found: dict[Expr, str] = {}  # equal moments of inertia once
    for words, value in known:
        node = plain(as_expr(value))
        if any(s.data.role == "parameter" for s in symbols(node)):
            found.setdefault(node, one_line(words))
    if not found:
        return None
    texts = tuple(found.values())
    return Physical(section("physical", texts, list(found), constant=True), texts)
