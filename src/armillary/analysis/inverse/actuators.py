"""Actuators: what acts with unknown strength, and the strengths that a motion takes.

With r the efforts that are left along the independent speeds where no actuator acts, and B the change of r
per unit of each,

    B e = r,     e = B⁺ r

so that e has the least norm where there are more actuators than freedoms. Where B e = r cannot be met, the
motion cannot be held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armillary.algebra.calculus import gradient
from armillary.algebra.expression import ZERO, Expr, scale, symbol
from armillary.algebra.units import FORCE, MOMENT
from armillary.algebra.walk import substitute, symbols, transform
from armillary.analysis.inverse.equations import InverseEquations, inverse_equations
from armillary.columns import counted
from armillary.errors import ArmillaryError, ModelError, nearest
from armillary.model.recording.records import Load
from armillary.model.space.attraction import all_loads
from armillary.program.equations import DerivedEquations
from armillary.runtime.models.parameters import parameter_table

_HELD = 1e-8  # of the efforts at a place: what may be left of them
_RANK = 1e-10  # of the largest singular value of B


@dataclass(frozen=True, eq=False)
class Actuator:
    """Something of unknown strength: the symbol for it, its units, and the factor from the model's units."""

    name: str
    symbol: Expr
    units: str
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class Actuated:
    """The equations in which actuators act: what is left along independent speeds without them, and B."""

    actuators: tuple[Actuator, ...]
    expressions: InverseEquations
    left: tuple[Expr, ...]
    gains: tuple[Expr, ...]  # B, row by row
    replaced: Mapping[Expr, Expr]

    def acting(self, expressions: Sequence[Expr]) -> list[Expr]:
        """Expressions in which the strengths stand for what they replace."""
        return transform(expressions, self.replaced.get) if self.replaced else list(expressions)


def actuated(equations: DerivedEquations, names: Sequence[str], units: Mapping[str, str]) -> Actuated:
    """The equations with actuators: names of speeds, of loads, or of inputs and parameters of loads."""
    system = equations.system
    speeds = {u.data.name: i for i, u in enumerate(system.speeds)}
    made: list[Actuator] = []
    acting: dict[int, Expr] = {}
    loads: dict[str, Load] = {load.name: load for load in all_loads(system)}
    replaced: dict[Expr, Expr] = {}
    for name in names:
        if any(name == other.name for other in made):
            raise ArmillaryError(f"inverse(): actuators= names '{name}' twice")
        e = symbol(f"strength of {name}", owner=system.identity)
        if name in speeds:
            acting[speeds[name]] = e
            made.append(Actuator(name, e, units[name]))
        elif name in system.loads:
            load = loads[name] = _unknown(loads[name], e)
            dimension = FORCE if load.kind == "force" else MOMENT
            made.append(Actuator(name, e, system.units.unit_text(dimension)))
        elif name in system.memories and system.memories[name].input:
            memory = system.memories[name]
            replaced[equations.reduction.plain(memory.symbol)] = e
            made.append(Actuator(name, e, memory.symbol.data.units or "", 1.0 / memory.factor))
        elif name in system.parameters:
            p = system.parameters[name]
            replaced[equations.reduction.plain(p)] = e
            table = parameter_table(equations)
            factor = table.factors[table.names.index(name)]
            made.append(Actuator(name, e, equations.parameter_units.get(name, ""), 1.0 / factor))
        else:
            inputs = [n for n, m in system.memories.items() if m.input]
            known = [*speeds, *system.loads, *inputs, *system.parameters]
            raise ArmillaryError(
                f"inverse(): there is no speed, load, input or parameter '{name}' to act"
                f"{nearest(name, known)}"
            )
    found = inverse_equations(equations, list(loads.values()), acting)
    return _linear(made, found, replaced)


def _unknown(load: Load, e: Expr) -> Load:
    if load.axis is None:
        raise ModelError(
            f"inverse(): load '{load.name}' has no direction of its own, so it is not an actuator; make it a "
            "force, a moment or a strut, or name a speed"
        )
    return replace(load, magnitude=e, vector=load.axis * e)


def _linear(made: Sequence[Actuator], found: InverseEquations, replaced: Mapping[Expr, Expr]) -> Actuated:
    """r without actuators and −∂r/∂e; an error where r is not linear in the strengths, or does not change."""
    strengths = [a.symbol for a in made]
    whole = transform(found.along_independent, replaced.get) if replaced else found.along_independent
    slopes = [gradient(r, strengths) for r in whole]
    gains = [scale(slope, -1) for row in slopes for slope in row]
    held = set(symbols(*gains))
    for k, actuator in enumerate(made):
        if actuator.symbol in held:
            raise ArmillaryError(
                f"inverse(): the equations of motion are not linear in '{actuator.name}', or depend on "
                "products of actuators; name the load or the speed along which it acts"
            )
        if all(row[k] is ZERO for row in slopes):
            raise ArmillaryError(
                f"inverse(): actuator '{actuator.name}' does not act: no equation of motion depends on it"
            )
    none = dict.fromkeys(strengths, ZERO)
    left = tuple(substitute(r, none) for r in whole)
    return Actuated(tuple(made), found, left, tuple(gains), replaced)


def strengths(
    left: np.ndarray, gains: np.ndarray, speeds: Sequence[str], units: Mapping[str, str]
) -> tuple[np.ndarray, bool]:
    """Rows of e, and whether they are a choice of least norm; an error where a motion cannot be held."""
    e = np.einsum("nkr,nr->nk", np.linalg.pinv(gains, rcond=_RANK), left)
    missing = left - np.einsum("nrk,nk->nr", gains, e)
    allowed = _HELD * (np.max(np.abs(left), axis=1, initial=0.0) + np.finfo(float).tiny)
    bad = np.flatnonzero(np.max(np.abs(missing), axis=1, initial=0.0) > allowed)
    if bad.size:
        row = int(bad[0])
        short = [
            f"'{speeds[r]}' by {missing[row, r]:.4g} {units[speeds[r]]}"
            for r in np.argsort(-np.abs(missing[row]))
            if abs(missing[row, r]) > allowed[row]
        ]
        where = f" in row {row + 1}" if len(left) > 1 else ""
        raise ArmillaryError(
            f"inverse(): {counted(gains.shape[2], 'actuator')} cannot give these rates to "
            f"{counted(gains.shape[1], 'freedom')}{where}: efforts fall short along {', '.join(short[:4])}"
            f"{' and others' if len(short) > 4 else ''}; add an actuator there, or give rates that the "
            "motion has without one"
        )
    sizes = np.linalg.svd(gains, compute_uv=False)
    rank = np.sum(sizes > _RANK * np.max(sizes, axis=1, keepdims=True, initial=0.0), axis=1)
    return e, bool(np.any(rank < gains.shape[2]))
