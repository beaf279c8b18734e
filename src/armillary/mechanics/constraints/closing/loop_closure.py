"""The speeds that may move to close the loops of a system, and error texts for open loops.

Runs in the process (runtime/start/assembly.py) and exported programs (export/text/start.py) share
them.
"""

from __future__ import annotations

import numpy as np

from armillary.algebra.walk import symbols
from armillary.mechanics.constraints.closing.assembly import GeometryLayout
from armillary.mechanics.constraints.reduction import Reduction


def movable_speeds(
    layout: GeometryLayout, reduction: Reduction, held: np.ndarray, *, positions: bool = False
) -> list[np.ndarray]:
    """Speeds that may move, attempt by attempt; for ``positions`` only those that rows of positions hold."""
    rows = set(layout.gaps) if positions else set(range(layout.rows))
    kept = [reduction.rows.index(row) for row in reduction.elimination.kept]
    dependent = np.zeros(layout.speeds, dtype=bool)
    dependent[[step.speed for step in reduction.elimination.steps if kept[step.row] in rows]] = True
    holding = np.zeros(layout.speeds, dtype=bool)
    holding[[j for i, j in layout.jacobian if i in rows]] = True
    return [dependent & ~held, holding & ~held]


def gap_text(reduction: Reduction, i: int) -> tuple[str, str]:
    """The words before and after the number of an open row."""
    row = reduction.rows[i]
    assert row.gap is not None
    sets = [s.data.name for s in symbols(row.gap) if s.data.role == "parameter"]
    by = f", set by {', '.join(sets)}" if sets else ""
    return f"'{row.constraint.name}': {row.constraint.about}: ", f" remains{by}"


def redundant_text(reduction: Reduction) -> str:
    """The error where redundant constraints are not redundant."""
    redundant = [f"'{row.constraint.name}'" for row in reduction.elimination.redundant]
    first = (
        f"constraint {redundant[0]} is" if len(redundant) == 1 else f"constraints {', '.join(redundant)} are"
    )
    return (
        f"{first} redundant at the default parameters, but not at these: the system has fewer "
        "degrees of freedom here; give the parameters defaults that are meant, and derive again"
    )
