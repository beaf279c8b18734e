"""The start of a run in redundant coordinates, from values of joints; all constraints hold there."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import as_expr
from armillary.algebra.walk import Undimensioned
from armillary.errors import ParameterError
from armillary.program.formalisms.redundant import EXACT
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.initial import state_number, vector
from armillary.settings import Initial
from armillary.solver.llvm.layout import RIGID
from armillary.untyped import DataMapping

if TYPE_CHECKING:
    from armillary.runtime.models.compilation import CompiledRedundantModel


_TRIES = 50  # most steps of the projection
_CLOSED = 1e-10  # largest remaining gaps and residual speeds, times the largest value of the state


def joint_values(
    model: CompiledRedundantModel, initial: Initial, parameters: DataMapping | None, t: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all joints' coordinates and speeds, and the user's states: the given values, or by default those
    of the description.
    """
    system = model.equations.system
    symbols = system.moving()
    values = {s.data.name: float(system.initial[s]) for s in symbols}
    if initial is not None and not isinstance(initial, Mapping):
        given = vector(initial, len(values), "initial state")
        values = dict(zip(values, given.tolist(), strict=True))
    else:
        by_name = {s.data.name: s for s in symbols}
        prescribed = {str(s) for p in system.prescriptions.values() for s in (p.speed, p.coordinate)}
        for name, value in [(str(key), value) for key, value in (initial or {}).items()]:
            where = f"the initial value of '{name}'"
            if name in prescribed:
                raise ParameterError(f"'{name}' is prescribed, so it has no initial value")
            [name] = checked_names([name], values, "there is no coordinate, speed or state", ParameterError)
            values[name] = state_number(by_name[name], value, where)
    plain = Undimensioned()
    known = model.inside(parameters) | {system.time.data.name: t}
    for p in system.prescriptions.values():
        if p.coordinate is not None and p.position is not None:
            values[p.coordinate.data.name] = float(evaluate_all([plain(as_expr(p.position))], known)[0])
    bad = [name for name, value in values.items() if not np.isfinite(value)]
    if bad:
        raise ParameterError(f"the initial value of '{bad[0]}' is not a finite number")
    q = np.array([values[s.data.name] for s in system.coordinates])
    u = np.array([values[s.data.name] for s in system.speeds])
    return _unit_parameters(model, q), u, np.array([values[name] for name in model.state_names])


def _unit_parameters(model: CompiledRedundantModel, q: np.ndarray) -> np.ndarray:
    """Return joints' coordinates with unit Euler parameters."""
    first = model.layout.coordinates
    for start in model.equations.program.quaternions:
        if start < first:
            continue
        e = q[start - first : start - first + 4]
        length = float(np.linalg.norm(e))
        if length == 0.0:
            name = model.coordinate_names[start]
            raise ParameterError(f"the Euler parameters from '{name}' on are all zero")
        e /= length
    return q


@dataclass(frozen=True, eq=False)
class RedundantStart:
    """The beginning of one run: its model, parameters, time and memory."""

    model: CompiledRedundantModel
    parameters: DataMapping | None
    t: float
    memory: np.ndarray

    def state(self, initial: Initial) -> np.ndarray:
        """Return the state from initial values, with zeros for accelerations and multipliers."""
        y = self._state_of_joints(*joint_values(self.model, initial, self.parameters, self.t))
        if self.model.equations.system.centres:
            y = self._choose_values(initial, y)
        gaps = self._residuals(y)
        if np.max(np.abs(gaps), initial=0.0) > _CLOSED * max(1.0, float(np.max(np.abs(y)))):
            y = self._project(self._choose_values(initial, y))
        return y

    def _choose_values(self, initial: Initial, y: np.ndarray) -> np.ndarray:
        """Return a state that satisfies the constraints, by the model in minimal coordinates.

        Values that ``initial`` names are kept.
        """
        if initial is not None and not isinstance(initial, Mapping):
            return y
        model = self.model.minimal
        place = model.place_at_start(Instance(model, self.parameters), initial, self.t, self.memory)
        named = dict(zip(model.coordinate_names, place.q.tolist(), strict=True))
        q, _, _ = joint_values(self.model, named, self.parameters, self.t)
        return self._state_of_joints(q, place.u, place.states)

    def _state_of_joints(self, q: np.ndarray, u: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return the state from values of joints."""
        layout = self.model.layout
        work = np.zeros(layout.work)
        work[layout.coordinates : layout.first_speed] = q
        work[layout.states : layout.first_given] = u
        out = self._call_section("place", work, layout.coordinates + layout.speeds)
        y = np.zeros(layout.states)
        y[: layout.coordinates] = out[: layout.coordinates]
        y[layout.coordinates : layout.first_speed] = q
        y[layout.first_speed : layout.first_own] = out[layout.coordinates :]
        y[layout.first_own : layout.first_acceleration] = own
        return y

    def _call_section(self, name: str, work: np.ndarray, length: int) -> np.ndarray:
        return Instance(self.model, self.parameters).call(name, length, self.t, work, self.memory)

    def _residuals(self, y: np.ndarray) -> np.ndarray:
        """Return residuals of all constraints: on positions, then on speeds."""
        layout = self.model.layout
        work = np.zeros(layout.work)
        work[: len(y)] = y
        return self._call_section("residuals", work, 2 * layout.rows)

    def _project(self, y: np.ndarray) -> np.ndarray:
        """Project coordinates, then speeds, onto the constraints."""
        layout = self.model.layout
        soft = EXACT / self.model.total_mass(self.parameters)
        y = y.copy()
        for _ in range(_TRIES):
            gaps = self._residuals(y)[: layout.rows]
            if np.max(np.abs(gaps), initial=0.0) <= 1e-3 * _CLOSED:
                break
            change = self._change(y, -gaps, soft, RIGID)
            for x, v, count in layout.parts():
                own = change[v - layout.first_speed : v - layout.first_speed + count + 3]
                y[x : x + count] += own[:count]
                y[x + count : x + count + 4] = _turn_parameters(y[x + count : x + count + 4], own[count:])
            self._normalise(y)
        worst = int(np.argmax(np.abs(gaps)))
        if not abs(gaps[worst]) <= _CLOSED:
            raise ParameterError(
                "the initial values cannot be changed so that all constraints hold: constraint "
                f"'{self.model.equations.constraints[worst]}' is off by {abs(gaps[worst]):.3g}; give initial "
                "values with smaller gaps, or check the lengths in this constraint"
            )
        speeds = self._residuals(y)[layout.rows :]
        y[layout.first_speed : layout.first_own] += self._change(y, -speeds, soft, soft)
        return y

    def _change(self, y: np.ndarray, targets: np.ndarray, soft: float, soft_speeds: float) -> np.ndarray:
        """Return the smallest change of coordinates or speeds that changes the constraints by ``targets``."""
        layout = self.model.layout
        work = np.zeros(layout.work)
        work[: len(y)] = y
        work[layout.first_target : layout.weight] = targets
        work[layout.weight :] = (0.0, soft, soft_speeds)
        return self._call_section("solve", work, layout.answer)[: layout.speeds]

    def _normalise(self, y: np.ndarray) -> None:
        kind = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 3)
        stored = self.memory if self.memory.size else np.zeros(1)
        constants = self.model.constants(self.parameters)
        addresses = (a.ctypes.data for a in (y, constants, stored))
        kind(self.model.address("normalise"))(self.t, *addresses)


def _turn_parameters(e: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Turn Euler parameters by a small angle in body axes."""
    g = e[1:]
    rate = 0.5 * np.concatenate([[-(g @ angle)], e[0] * angle + np.cross(g, angle)])
    return np.asarray((e + rate) / np.linalg.norm(e + rate))
