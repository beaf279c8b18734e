"""Efforts as expressions of a description, so that a controller by inverse dynamics is part of its model."""

from __future__ import annotations

from collections.abc import Mapping

from armillary.algebra.arguments import checked_names
from armillary.algebra.calculus import Values
from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.intermediate import measured
from armillary.algebra.units import FORCE, SPEED
from armillary.algebra.walk import transform
from armillary.analysis.inverse.equations import inverse_equations
from armillary.errors import ArmillaryError, shown
from armillary.program.equations import DerivedEquations


def effort_expressions(equations: DerivedEquations, rates: Values) -> dict[str, Expr]:
    """Efforts along all speeds that are not dependent, by name; see ``Equations.inverse``."""
    if not isinstance(rates, Mapping):
        raise ArmillaryError(
            f"inverse() of equations needs the wanted rates by speed, {{'A.u1': …}}, not {shown(rates)}"
        )
    found = inverse_equations(equations)
    system, plain = found.equations.system, found.reduction.plain
    free = {
        system.speeds[i].data.name: symbol for i, symbol in zip(found.independent, found.rates, strict=True)
    }
    wanted = dict.fromkeys(free.values(), ZERO)
    given = checked_names(rates, free, "inverse():", after=" is not an independent speed", listed=True)
    for name, value in given.items():
        if not isinstance(value, Expr | int | float):
            raise ArmillaryError(
                f"inverse(): the rate of '{name}' must be an expression or a number, not {shown(value)}; "
                "s.expression(…) makes one of a text"
            )
        wanted[free[name]] = as_expr(plain(value))
    speeds = [system.speeds[i] for i in (*found.independent, *found.given)]
    efforts = transform([*found.along_independent, *found.along_given], wanted.get)
    return {
        u.data.name: measured(e, FORCE * SPEED / (u.dimension or SPEED), f"effort {u.data.name}")
        for u, e in zip(speeds, efforts, strict=True)
    }
