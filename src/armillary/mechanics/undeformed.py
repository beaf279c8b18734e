"""A look at a flexible system as it stands at first: whether every speed moves some mass.

The formalisms see a pivot that is zero by its form. The inertia of a slender boom about its own axis is zero
only while it is straight, which is where runs start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.constrained import Setting
from armillary.mechanics.impulse import full_mass_matrix
from armillary.mechanics.tree import numeric
from armillary.model.system import System
from armillary.model.unit_system import default_value

_SINGULAR = 1e-13  # of the mass matrix with ones on its diagonal


def check_undeformed(system: System, setting: Setting) -> None:
    """An error that names the speed where the mass matrix is singular at the start of runs.

    Systems with constraints are left out: these may hold what has no mass.
    """
    if not system.flexibles or system.constraints:
        return
    free = [i for i, u in enumerate(system.speeds) if u not in setting.given]
    start = _values(system, setting.plain)
    loose = _null_speed(system, setting, free, start)
    if loose is None:
        return
    # Joints may be singular where they start, as angles are; what modes alone make singular is so elsewhere.
    chance = np.random.default_rng(1975)
    modes = {setting.plain(q) for flex in system.flexibles.values() for q in flex.coordinates}
    moving = {setting.plain(q) for q in system.coordinates} - modes
    away = {s: v + float(chance.uniform(0.1, 0.4)) if s in moving else v for s, v in start.items()}
    if _null_speed(system, setting, free, away) is not None:
        raise _singular(loose)


def _null_speed(system: System, setting: Setting, free: list[int], values: dict[Expr, Any]) -> Expr | None:
    """A speed that moves no mass at a place, None where all do."""
    with np.errstate(all="ignore"):
        tree = numeric(setting.tree, values)
        M = full_mass_matrix(tree, len(system.speeds))[np.ix_(free, free)]
    if not np.all(np.isfinite(M)):
        return None
    inertia = np.diag(M)
    if np.any(inertia <= 0):
        return system.speeds[free[int(np.argmin(inertia))]]
    scale = 1 / np.sqrt(inertia)
    sizes, vectors = np.linalg.eigh(M * np.outer(scale, scale))
    return system.speeds[free[int(np.argmax(np.abs(vectors[:, 0])))]] if sizes[0] < _SINGULAR else None


def _values(system: System, plain: Undimensioned) -> dict[Expr, Any]:
    """Numbers for all symbols at the start; parameters without a default are of size one."""
    values: dict[Expr, Any] = {system.time: 0.0}
    for parameter in system.parameters.values():
        default = default_value(parameter)
        values[parameter] = 1.0 if default is None else default
    values |= {memory.symbol: memory.initial for memory in system.memories.values()}
    values |= {q: system.initial[q] for q in system.coordinates}
    values |= dict.fromkeys(system.speeds, 0.0)
    # What is given or locked reads as its expression, which is no symbol and needs no number.
    return {plain(s): value for s, value in values.items() if plain(s).kind == "symbol"}


def _singular(speed: Expr) -> ModelError:
    return ModelError(
        f"speed '{speed}' ({speed.data.about}) moves no mass where runs start, with all flexible bodies "
        "straight: the mass matrix is singular there; give what it moves mass or inertia (a Beam: polar=, "
        "its moment of inertia per length about its axis), or fix the joint"
    )
