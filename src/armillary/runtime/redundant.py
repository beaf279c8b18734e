"""Compiled models in redundant coordinates: they start from the joints' values and are advanced by methods of
their own.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import as_expr
from armillary.algebra.walk import Undimensioned
from armillary.backends.jit import Compiled
from armillary.backends.llvm import llvm_text
from armillary.errors import ArmillaryError, ParameterError, nearest
from armillary.program.redundant import EXACT, RedundantEquations
from armillary.runtime.compiled import BACKENDS, CompiledModel, raise_for
from armillary.runtime.integrators import Stepping, integrate
from armillary.runtime.modes import Journey
from armillary.runtime.parameters import check_physical, number_in_text, plain_number
from armillary.runtime.progress import progress_line
from armillary.runtime.scheme import RIGID, Scheme

if TYPE_CHECKING:
    from armillary.results import Run

# ε in units of time over the total mass: constraints may then slip by 1e-10 of what their forces would do to the
# whole system in a second.
EPSILON = 1e-10
_TRIES = 50
_CLOSED = 1e-10
_STARTED = 1e-9  # speeds off their constraints by more than this part are made to agree


def compile_redundant(equations: RedundantEquations, backend: str = "llvm") -> RedundantModel:
    """Equations in redundant coordinates compiled by a backend."""
    if backend not in BACKENDS:
        raise ArmillaryError(
            f"unknown backend '{backend}'{nearest(backend, BACKENDS)}; there is {', '.join(BACKENDS)}"
        )
    start = time.perf_counter()
    code = Compiled(llvm_text(equations.program))
    return RedundantModel(equations, code, time.perf_counter() - start)


class RedundantModel(CompiledModel):
    """One system's equations in redundant coordinates as machine code.

    A state is [coordinates, speeds] by the names of ``coordinate_names`` and ``speed_names``: absolute
    coordinates and those of the joints, then absolute speeds. ``state(initial)`` makes one from the joints'
    values; accelerations and multipliers may follow, as runs hand them on.
    """

    equations: RedundantEquations

    def __init__(self, equations: RedundantEquations, code: Compiled, seconds: float) -> None:
        super().__init__(equations, code, seconds)
        for section in equations.program.stepping:
            kind = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.POINTER(ctypes.c_double)] * 4)
            self._functions[section.name] = kind(code.address(section.name))
        assert equations.redundant is not None
        self._redundant = equations.redundant
        self._layout = self._scheme("staggered", 1, False)

    def _scheme(self, kind: str, passes: int, implicit: bool) -> Scheme:
        r = self._redundant
        return Scheme(
            kind,
            translations=tuple(len(p.d) for p in r.parts.parts),
            joints=len(r.joints),
            joint_speeds=len(r.joint_speeds),
            rows=len(r.rows),
            passes=passes,
            implicit=implicit,
        )

    # ------------------------------------------------------------ values

    def _vector(self, values: Any, length: int, what: str) -> np.ndarray:  # type: ignore[override]
        """Numbers as a vector; a state without accelerations and multipliers gets zeros for them."""
        if what == "state" and np.ndim(values) == 1 and len(values) == self._layout.first_acceleration:
            values = [*values, *[0.0] * (length - len(values))]
        return CompiledModel._vector(values, length, what)

    def derivatives(
        self, t: float, state: Any, parameters: Mapping[str, Any] | None = None, *, memory: Any = None
    ) -> np.ndarray:
        """Rates of [coordinates, speeds] that keep all constraints."""
        rates = super().derivatives(t, state, parameters, memory=memory)
        return rates[: self._layout.first_acceleration]

    def joint_accelerations(
        self, t: float, state: Any, parameters: Mapping[str, Any] | None = None, *, memory: Any = None
    ) -> dict[str, float]:
        """Rates of the joints' speeds at a state, by name: u̇ as the description's other formalisms give it."""
        v_dot = self.derivatives(t, state, parameters, memory=memory)[self._layout.first_speed :]
        r, system = self._redundant, self.equations.system
        names = [*self.coordinate_names, *self.speed_names]
        values = self._parameter_values(parameters) | dict(zip(names, np.asarray(state, float), strict=False))
        values |= {a.data.name: x for a, x in zip(r.accelerations, v_dot, strict=True)}
        values |= {system.time.data.name: t}
        found = evaluate_all(r.joint_accelerations.values(), values)
        return {u.data.name: float(x) for u, x in zip(system.speeds, found, strict=True)}

    def _parameter_values(self, parameters: Mapping[str, Any] | None) -> dict[str, float]:
        table = self._table
        return dict(zip(table.names, table.inside(table.values(parameters)).tolist(), strict=True))

    # ------------------------------------------------------------ where a run starts

    def state(
        self,
        initial: Mapping[str, float] | Sequence[float] | None = None,
        parameters: Mapping[str, Any] | None = None,
        t: float = 0.0,
    ) -> np.ndarray:
        """[coordinates, speeds] from the joints' coordinates and speeds by name (the rest as described), or from
        all of them in order. Loops are closed, and speeds made to agree with the constraints.
        """
        return self._begin(initial, parameters, t, self._initial_memory())[: self._layout.first_acceleration]

    def _begin(
        self,
        initial: Mapping[str, float] | Sequence[float] | None,
        parameters: Mapping[str, Any] | None,
        t: float,
        memory: np.ndarray,
    ) -> np.ndarray:
        q, u = self._joint_values(initial, parameters, t)
        y = self._placed(q, u, parameters, t, memory)
        gaps = self._residuals(y, parameters, t, memory)
        if np.max(np.abs(gaps), initial=0.0) > _CLOSED * max(1.0, float(np.max(np.abs(y)))):
            y = self._agreeing(initial, parameters, t, memory, y)
        return y

    def _agreeing(
        self, initial: Any, parameters: Mapping[str, Any] | None, t: float, memory: np.ndarray, y: np.ndarray
    ) -> np.ndarray:
        """Values that keep the user's constraints: chosen as the minimal equations do where those can be had,
        which leaves alone what the user named; then by projection.
        """
        system = self.equations.system
        if isinstance(initial, Mapping) or initial is None:
            model = system.derive().compile()
            place = model._start(initial, parameters, t, memory)
            named = dict(zip(model.coordinate_names, place.q.tolist(), strict=True))
            q, _ = self._joint_values(named, parameters, t)
            y = self._placed(q, place.u, parameters, t, memory)
        return self._projected(y, parameters, t, memory)

    def _joint_values(
        self, initial: Mapping[str, float] | Sequence[float] | None, parameters: Any, t: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """All joints' coordinates and speeds."""
        system = self.equations.system
        symbols = [*system.coordinates, *system.speeds]
        values = {s.data.name: float(system.initial[s]) for s in symbols}
        if initial is not None and not isinstance(initial, Mapping):
            given = CompiledModel._vector(initial, len(values), "initial state")
            values = dict(zip(values, given.tolist(), strict=True))
        else:
            dimensions = {s.data.name: s.dimension for s in symbols}
            prescribed = {str(s) for p in system.prescriptions.values() for s in (p.speed, p.coordinate)}
            for name, value in [(str(key), value) for key, value in (initial or {}).items()]:
                where = f"the initial value of '{name}'"
                if name in prescribed:
                    raise ParameterError(f"'{name}' is prescribed, so it has no initial value")
                if name not in values:
                    raise ParameterError(f"there is no coordinate or speed '{name}'{nearest(name, values)}")
                number = number_in_text(value, where) if isinstance(value, str) else value
                values[name] = plain_number(number, where, system.units, dimensions[name])
        plain = Undimensioned()
        known = self._parameter_values(parameters) | {system.time.data.name: t}
        for p in system.prescriptions.values():
            if p.coordinate is not None and p.position is not None:
                values[p.coordinate.data.name] = float(evaluate_all([plain(as_expr(p.position))], known)[0])
        bad = [name for name, value in values.items() if not np.isfinite(value)]
        if bad:
            raise ParameterError(f"the initial value of '{bad[0]}' is not a finite number")
        q = np.array([values[s.data.name] for s in system.coordinates])
        return self._unit(q), np.array([values[s.data.name] for s in system.speeds])

    def _unit(self, q: np.ndarray) -> np.ndarray:
        """Joints' coordinates with unit Euler parameters."""
        first = self._layout.coordinates
        for start in self.equations.program.quaternions:
            if start < first:
                continue
            e = q[start - first : start - first + 4]
            length = float(np.linalg.norm(e))
            if length == 0.0:
                name = self.coordinate_names[start]
                raise ParameterError(f"the Euler parameters from '{name}' on are all zero")
            e /= length
        return q

    def _placed(
        self, q: np.ndarray, u: np.ndarray, parameters: Any, t: float, memory: np.ndarray
    ) -> np.ndarray:
        """The state for these joints' values."""
        layout = self._layout
        work = np.zeros(layout.work)
        work[layout.coordinates : layout.first_speed] = q
        work[layout.states : layout.first_given] = u
        out = np.empty(layout.coordinates + layout.speeds)
        self._call("place", t, work, parameters, memory, out)
        y = np.zeros(layout.states)
        y[: layout.coordinates] = out[: layout.coordinates]
        y[layout.coordinates : layout.first_speed] = q
        y[layout.first_speed : layout.first_acceleration] = out[layout.coordinates :]
        return y

    def _residuals(self, y: np.ndarray, parameters: Any, t: float, memory: np.ndarray) -> np.ndarray:
        """Positions, then speeds, of all constraints."""
        work = np.zeros(self._layout.work)
        work[: len(y)] = y
        gaps = np.empty(2 * self._layout.rows)
        self._call("residuals", t, work, parameters, memory, gaps)
        return gaps

    def _projected(self, y: np.ndarray, parameters: Any, t: float, memory: np.ndarray) -> np.ndarray:
        """The state with its coordinates, then its speeds, projected onto the constraints."""
        layout, soft = self._layout, EXACT / self._total_mass(parameters)
        y = y.copy()
        for _ in range(_TRIES):
            gaps = self._residuals(y, parameters, t, memory)[: layout.rows]
            if np.max(np.abs(gaps), initial=0.0) <= 1e-3 * _CLOSED:
                break
            change = self._change(y, -gaps, soft, RIGID, parameters, t, memory)
            for x, v, count in layout.parts():
                own = change[v - layout.first_speed : v - layout.first_speed + count + 3]
                y[x : x + count] += own[:count]
                e = y[x + count : x + count + 4]
                e[:] = _turned(e, own[count:])
            self._normalised(y, parameters, t, memory)
        worst = int(np.argmax(np.abs(gaps))) if layout.rows else 0
        if layout.rows and not abs(gaps[worst]) <= _CLOSED:
            raise ParameterError(
                f"the initial values cannot be brought together: constraint '{self.equations.constraints[worst]}' "
                f"is off by {abs(gaps[worst]):.3g}; start closer, or check the lengths that close it"
            )
        gaps = self._residuals(y, parameters, t, memory)[layout.rows :]
        v = slice(layout.first_speed, layout.first_acceleration)
        y[v] += self._change(y, -gaps, soft, soft, parameters, t, memory)
        return y

    def _change(
        self,
        y: np.ndarray,
        targets: np.ndarray,
        soft: float,
        soft_speeds: float,
        parameters: Any,
        t: float,
        memory: np.ndarray,
    ) -> np.ndarray:
        """The smallest change of coordinates or speeds that brings the constraints to these targets."""
        layout = self._layout
        work, out = np.zeros(layout.work), np.empty(layout.speeds + layout.rows)
        work[: len(y)] = y
        work[layout.first_target : layout.weight] = targets
        work[layout.weight :] = (0.0, soft, soft_speeds)
        self._call("solve", t, work, parameters, memory, out)
        return out[: layout.speeds]

    def _normalised(self, y: np.ndarray, parameters: Any, t: float, memory: np.ndarray) -> None:
        kind = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 3)
        stored = memory if memory.size else np.zeros(1)
        constants = self.constants(parameters)
        kind(self.address("normalise"))(t, y.ctypes.data, constants.ctypes.data, stored.ctypes.data)

    def _total_mass(self, parameters: Any) -> float:
        mass = evaluate_all([self._redundant.total_mass], self._parameter_values(parameters))[0]
        return float(mass) if mass > 0 else 1.0

    def dependent_constraints(
        self, state: Any, parameters: Mapping[str, Any] | None = None, t: float = 0.0
    ) -> list[str]:
        """Constraints that say, at this state, nothing that those before them do not say."""
        r = self._redundant
        names = [*self.coordinate_names, *self.speed_names]
        values = self._parameter_values(parameters) | dict(zip(names, np.asarray(state, float), strict=False))
        values[self.equations.system.time.data.name] = t
        index = {v: i for i, v in enumerate(r.speeds)}
        places = [(k, index[v]) for k, form in enumerate(r.forms) for v in form]
        B = np.zeros((len(r.rows), len(index)))
        found = evaluate_all([as_expr(c) for form in r.forms for c in form.values()], values)
        for place, value in zip(places, found, strict=True):
            B[place] = value
        basis: list[np.ndarray] = []
        dependent = []
        for row, name in zip(B, self.equations.constraints, strict=True):
            size = float(np.linalg.norm(row))
            left = row.copy()
            for _ in range(2):  # twice, so that rounding of the first round goes too
                for b in basis:
                    left -= (b @ left) * b
            if np.linalg.norm(left) <= 1e-9 * max(size, 1e-300):
                dependent.append(name)
            else:
                basis.append(left / np.linalg.norm(left))
        return dependent

    # ------------------------------------------------------------ runs

    def simulate(  # type: ignore[override]
        self,
        t_end: float,
        *,
        step: float | None = None,
        method: str = "staggered",
        initial: Mapping[str, float] | Sequence[float] | None = None,
        parameters: Mapping[str, Any] | None = None,
        memory: Mapping[str, float] | None = None,
        t0: float = 0.0,
        sample: float | Sequence[float] | None = None,
        epsilon: float | None = None,
        passes: int = 1,
        translation: str = "implicit",
        max_steps: int = 1_000_000_000,
        progress: bool | Callable[[float], None] = True,
    ) -> Run:
        """The motion from ``t0`` to ``t_end`` with steps of one size.

        ``initial`` holds values of the joints' coordinates and speeds. Method "staggered" is that of Park and
        Chiou: ``epsilon`` is their ε (constraints slip by ε times their multiplier; by default 1e-10 over the
        total mass), ``passes`` the number of corrector passes (none: first order), ``translation`` "explicit"
        (central differences) or "implicit" (mid-point rule). Method "projected" is rk4 with a projection onto
        all constraints after each step. Sampling, events, memory and errors are those of other models.
        """
        if translation not in ("explicit", "implicit"):
            raise ArmillaryError(f"translation='{translation}' is neither 'explicit' nor 'implicit'")
        if not isinstance(passes, int) or passes < 0:
            raise ArmillaryError(f"passes={passes!r} is not a number of corrector passes: 0, 1, 2 …")
        values = self._table.values(parameters)
        check_physical(self.equations.system, self._table, values)
        mass = self._total_mass(parameters)
        slip = EPSILON / mass if epsilon is None else float(epsilon)
        if not 0.0 < slip < np.inf:
            raise ArmillaryError(f"epsilon={epsilon!r} is not a positive number")
        stored = self._memory(memory, t0)
        y = self._begin(initial, parameters, t0, stored)
        how: dict[str, Any] = {"method": method, "step": step or 0.0}
        if method == "staggered":
            how |= {"epsilon": slip, "passes": passes, "translation": translation}
        elif self.equations.system.constraints:
            dependent = self.dependent_constraints(y, parameters, t0)
            how |= {"dependent constraints": "; ".join(dependent)} if dependent else {}
        scheme = self._scheme(method, passes, translation == "implicit")
        with progress_line(progress, t0, t_end) as report:
            result = integrate(
                self.run_functions(),
                method,
                t0=t0,
                t_end=t_end,
                state=y,
                memory=stored,
                constants=self.constants(parameters),
                step=step,
                sample=sample,
                max_steps=max_steps,
                progress=report,
                stepping=Stepping(scheme, slip, EXACT / mass),
            )
        watched = self.equations.targets.watched
        events = [(t, watched[k].name) for t, k in result.events if not watched[k].hidden]
        run = self._run(result, values, how, Journey(self, [result], events))
        raise_for(result, run, self.culprit(result, parameters), False)
        return run

    def __repr__(self) -> str:
        return f"RedundantModel({self.equations.system.name!r}, {self.equations.operations})"


def _turned(e: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Euler parameters after a small turn in body axes."""
    e0, g = e[0], e[1:]
    rate = 0.5 * np.concatenate([[-(g @ angle)], e0 * angle + np.cross(g, angle)])
    return (e + rate) / np.linalg.norm(e + rate)
