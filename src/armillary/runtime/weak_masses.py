"""Runs that came to a place where some motion moves no mass: the joint and the time, for an error.

Looked for only after a run that failed, or whose speeds became enormous: the loop itself has no part in it.
The mass matrix is evaluated on the way from the last rows before the speeds jumped. Systems with constraints
are left out: there the constraints decide what is singular (see leap.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from armillary.algebra.walk import Undimensioned
from armillary.mechanics.constrained import with_given
from armillary.mechanics.massless import Masses
from armillary.mechanics.tree import plant
from armillary.runtime.instance import Instance
from armillary.runtime.integrators import Integration
from armillary.runtime.place import Place

_ENORMOUS = 1e6  # a speed, in any units, from which on a look at the mass matrix is worth its time
_JUMP = 10.0  # by which speeds grow from one row to the next, beyond all earlier rows, at a singular place
_WEAK = 1e-6  # of the inertias that a pivot is made of: nothing, as far as a step is concerned
_ROWS = 20  # before the jump, from which the motion is followed
_AHEAD = 0.5  # radians or lengths of motion over which it is followed, at most
_COARSE, _FINE = 64, 400  # looks at each way, and about the weakest of them
_REMEDY = (
    "give the body, or one that hangs on it, mass or inertia there, keep the motion away from this position, "
    "or use a joint without it (Spherical in place of three angles)"
)


def weakness(instance: Instance, result: Integration) -> tuple[int, str]:
    """(the number of sound rows, what to say) of a run through a place without mass; "" for any other."""
    equations = instance.equations
    if equations.system.constraints or equations.formalism == "redundant":
        return len(result.time), ""
    sizes = _speeds(instance, result)
    failed = result.status in ("diverged", "step too small")
    if not failed and bool(np.all(sizes < _ENORMOUS)):
        return len(result.time), ""
    before = np.maximum.accumulate(sizes[:-1])
    jumps = np.flatnonzero(~(sizes[1:] < _JUMP * (before + 1e-3 * np.max(before, initial=0.0))))
    end = int(jumps[0]) + 1 if jumps.size else len(sizes)
    ways = []
    for k in range(max(0, end - _ROWS), end):
        following = result.time[k + 1] if k + 1 < len(result.time) else result.t_stop
        place = instance.row_place(float(result.time[k]), result.samples[k], result.final_memory)
        ways.append(_Way(instance, place, 2 * float(following - place.t)))
    if failed and not jumps.size:
        ways.append(_Way(instance, instance.place(result.t_stop, result.final_state, result.final_memory)))
    ways = [way for way in ways if way.known]
    return (end, _told(instance, ways)) if ways else (len(result.time), "")


class _Way:
    """The motion as it would go on from a place, in a straight line."""

    def __init__(self, instance: Instance, place: Place, within: float = np.inf) -> None:
        names = instance.model.coordinate_names
        self.t = place.t
        self.values = instance.values(place)
        self.known = bool(np.all(np.isfinite(place.q)) and np.all(np.isfinite(place.u)))
        rates = instance.derivatives(place.t, instance.packed(place), place.memory)[: len(names)]
        rates = np.where(np.isfinite(rates), rates, 0.0)
        fastest = np.max(np.abs(rates), initial=0.0)
        self.ahead = min(_AHEAD / fastest, within) if fastest > 0.0 else 0.0
        self.start = dict(zip(names, place.q, strict=True))
        self.rates = dict(zip(names, rates, strict=True))

    def at(self, times: np.ndarray, time_name: str) -> dict[Any, Any]:
        """Values of all symbols, so long after the place."""
        moved = {name: q + self.rates[name] * times for name, q in self.start.items()}
        return {**self.values, **moved, time_name: self.t + times}


def _told(instance: Instance, ways: list[_Way]) -> str:
    """The weakest place on the ways in words, "" where all masses are sound."""
    system = instance.equations.system
    plain, given = with_given(system, Undimensioned(), instance.equations.mode)
    masses = Masses(system, plant(system, plain, given=given, parted=True))
    time = system.time.data.name
    shares = np.linspace(0.0, 1.0, _COARSE)
    looks = [(masses.weakest(way.at(way.ahead * shares, time)), way) for way in ways]
    known = [(found[0], found[1], way) for found, way in looks if found is not None]
    if not known:
        return ""
    _, k, way = min(known, key=lambda each: each[0])
    near = way.ahead * np.linspace(shares[max(k - 1, 0)], shares[min(k + 1, _COARSE - 1)], _FINE)
    found = masses.weakest(way.at(near, time))
    if found is None or found[0] > _WEAK:
        return ""
    share, k, motion = found
    return (
        f"near t = {way.t + near[k]:.6g} s {motion.line()}: the mass matrix becomes singular there (a pivot "
        f"is {share:.1g} of the inertias that it is made of); {_REMEDY}"
    )


def _speeds(instance: Instance, result: Integration) -> np.ndarray:
    """The largest speed of each row, whatever its units."""
    column = {name: i for i, name in enumerate(instance.model.output_names)}
    speeds = [column[u.data.name] for u in instance.equations.system.speeds]
    return np.max(np.abs(result.samples[:, speeds]), axis=1, initial=0.0)


def sound_part(instance: Instance, result: Integration) -> tuple[Integration, str]:
    """The result of a run that was not stopped without what follows a place where some motion moves no mass,
    and what to say of it.
    """
    if result.status not in ("finished", "event"):
        return result, ""
    count, why = weakness(instance, result)
    if not why:
        return result, ""
    sound = replace(result, time=result.time[:count], samples=result.samples[:count])
    return sound, f"simulation of '{instance.equations.system.name}' stopped: {why}"
