"""Compiled models: generated functions in this process, to be asked for values and run through time."""

from __future__ import annotations

import ctypes
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.backends.jit import Compiled
from armillary.backends.llvm import llvm_text
from armillary.errors import ArmillaryError, ParameterError, SimulationError, nearest
from armillary.mechanics.assembly import Geometry
from armillary.program.equations import Equations
from armillary.program.roots import FLIP, LOST, POOR, RANK, SWITCHING
from armillary.runtime.assembly import check_redundant, closed, consistent
from armillary.runtime.integrators import METHODS, Functions, Integration, integrate
from armillary.runtime.modes import Modes, asks_for_mode
from armillary.runtime.parameters import check_physical, number_in_text, parameter_table, plain_number
from armillary.runtime.place import Place
from armillary.runtime.progress import progress_line
from armillary.runtime.travel import Journey, Traveller

if TYPE_CHECKING:
    from armillary.results import Run

_REALS = ctypes.POINTER(ctypes.c_double)
_SIGNATURES = {
    "precompute": (_REALS, _REALS),
    "derivatives": (ctypes.c_double, _REALS, _REALS, _REALS, _REALS),
    "outputs": (ctypes.c_double, _REALS, _REALS, _REALS, _REALS),
}
_WHERE_THERE = ("geometry", "events")
_SAMPLES = 1000  # rows of an adaptive run whose sampling was not said

BACKENDS = ("llvm",)


def compile_equations(equations: Equations, backend: str = "llvm") -> CompiledModel:
    """Equations compiled by a backend."""
    if backend not in BACKENDS:
        raise ArmillaryError(
            f"unknown backend '{backend}'{nearest(backend, BACKENDS)}; there is {', '.join(BACKENDS)}"
        )
    start = time.perf_counter()
    code = Compiled(llvm_text(equations.program))
    return CompiledModel(equations, code, time.perf_counter() - start)


class CompiledModel:
    """One system's equations as machine code, freed with this object."""

    def __init__(self, equations: Equations, code: Compiled, seconds: float) -> None:
        self.equations = equations
        self.compile_seconds = seconds
        self._code = code
        self._table = parameter_table(equations)
        program = equations.program
        self._functions = {
            name: ctypes.CFUNCTYPE(None, *types)(code.address(name)) for name, types in _SIGNATURES.items()
        }
        for name in _WHERE_THERE:
            if address := self.address(name):
                self._functions[name] = ctypes.CFUNCTYPE(None, *_SIGNATURES["outputs"])(address)
        self._modes: Modes | None = None
        self.coordinate_names = equations.coordinates
        self.speed_names = equations.speeds
        self.output_names = tuple(c.name for c in equations.targets.columns)
        self._state_index = {s.data.name: i for i, s in enumerate(program.state)}
        self._default_constants: np.ndarray | None = None

    # ------------------------------------------------------------ what it is made of

    @property
    def parameters(self) -> dict[str, float | None]:
        """Parameters with their defaults, in their stated units."""
        return self.equations.parameters

    @property
    def formalism(self) -> str:
        """Name of the formalism behind the code."""
        return self.equations.formalism

    def address(self, name: str) -> int:
        """Address of a generated function ("derivatives", "outputs", …); 0 where the model has none."""
        program = self.equations.program
        absent = {
            "events": not program.events.results,
            "update": not program.update.results,
            "fire": not program.fire,
            "normalise": not program.quaternions and not program.corrected,
            "geometry": not program.geometry.results,
            "solve": not program.stepping,
            "residuals": not program.stepping,
        }
        return 0 if absent.get(name) else self._code.address(name)

    def constants(self, parameters: Mapping[str, Any] | None = None) -> np.ndarray:
        """Precomputed constants for a parameter set, as the generated functions take them."""
        if not parameters and self._default_constants is not None:
            return self._default_constants
        inside = self._table.inside(self._table.values(parameters))
        constants = np.zeros(max(len(self.equations.program.constants), 1))
        self._functions["precompute"](_pointer(inside), _pointer(constants))
        if not parameters:
            constants.setflags(write=False)
            self._default_constants = constants
        return constants

    # ------------------------------------------------------------ values

    def derivatives(
        self, t: float, state: Any, parameters: Mapping[str, Any] | None = None, *, memory: Any = None
    ) -> np.ndarray:
        """[q̇, u̇] at a state [q, u]."""
        y = self._vector(state, len(self._state_index), "state")
        out = np.empty_like(y)
        self._call("derivatives", t, y, parameters, memory, out)
        return out

    def accelerations(
        self, t: float, q: Any, u: Any, parameters: Mapping[str, Any] | None = None, *, memory: Any = None
    ) -> np.ndarray:
        """u̇ at coordinates q and speeds u."""
        q = self._vector(q, len(self.coordinate_names), "coordinates")
        u = self._vector(u, len(self.speed_names), "speeds")
        return self.derivatives(t, np.concatenate([q, u]), parameters, memory=memory)[len(q) :]

    def outputs(
        self, t: float, state: Any, parameters: Mapping[str, Any] | None = None, *, memory: Any = None
    ) -> dict[str, float]:
        """All outputs at a state, by name."""
        y = self._vector(state, len(self._state_index), "state")
        out = np.empty(len(self.output_names))
        self._call("outputs", t, y, parameters, memory, out)
        return dict(zip(self.output_names, out.tolist(), strict=True))

    def _call(
        self, name: str, t: float, y: np.ndarray, parameters: Any, memory: Any, out: np.ndarray
    ) -> None:
        constants = self.constants(parameters)
        stored = (
            self._initial_memory()
            if memory is None
            else self._vector(memory, len(self._memory_names), "memory")
        )
        stored = stored if stored.size else np.zeros(1)
        self._functions[name](float(t), _pointer(y), _pointer(constants), _pointer(stored), _pointer(out))

    @property
    def _memory_names(self) -> list[str]:
        return list(self.equations.system.memories)

    def _initial_memory(self) -> np.ndarray:
        return np.array([m.initial for m in self.equations.system.memories.values()], dtype=float)

    @staticmethod
    def _vector(values: Any, length: int, what: str) -> np.ndarray:
        try:
            vector = np.array(values, dtype=float)
        except (TypeError, ValueError):
            raise ArmillaryError(f"the {what} must be {length} numbers, not {values!r}") from None
        if vector.shape != (length,):
            raise ArmillaryError(f"the {what} must be {length} numbers, not an array of shape {vector.shape}")
        return vector

    def state(
        self,
        initial: Mapping[str, float] | Sequence[float] | None = None,
        parameters: Mapping[str, Any] | None = None,
        t: float = 0.0,
    ) -> np.ndarray:
        """A state from values by name (the rest as described), or from all values in order. Euler parameters
        are made unit, loops are closed, and speeds made to agree with the constraints.
        """
        return self.packed(self._start(initial, parameters, t, self._initial_memory()))

    def _start(
        self,
        initial: Mapping[str, float] | Sequence[float] | None,
        parameters: Mapping[str, Any] | None,
        t: float,
        memory: np.ndarray,
    ) -> Place:
        """The place where a run starts."""
        q, u, named = self._named_values(initial)
        place = Place(t, self._unit_quaternions(q), u, memory)
        return self._constrained(place, named, parameters) if self.equations.setting.rows else place

    def _named_values(
        self, initial: Mapping[str, float] | Sequence[float] | None
    ) -> tuple[np.ndarray, np.ndarray, set[str]]:
        """All coordinates and speeds, and the names of those that the user gave."""
        system = self.equations.system
        values = {s.data.name: value for s, value in system.initial.items()}
        if initial is not None and not isinstance(initial, Mapping):
            given = self._vector(initial, len(self._state_index), "initial state")
            values |= dict(zip(self._state_index, given.tolist(), strict=True))
            named = {name: values[name] for name in self._independent_names()}
        else:
            named = {}
            dimensions = {s.data.name: s.dimension for s in system.initial}
            for name, value in [(str(key), value) for key, value in (initial or {}).items()]:
                where = f"the initial value of '{name}'"
                self._check_place(name)
                if isinstance(value, str):
                    value = number_in_text(value, where)
                named[name] = plain_number(value, where, system.units, dimensions.get(name))
        values |= named
        for name, value in values.items():
            if not np.isfinite(value):
                raise ParameterError(f"the initial value of '{name}' is not a finite number")
        q = np.array([values[name] for name in self.coordinate_names], dtype=float)
        u = np.array([values[s.data.name] for s in system.speeds], dtype=float)
        return q, u, set(named)

    def _independent_names(self) -> list[str]:
        """States that the constraints leave free; in a whole state the others are first guesses."""
        moved = {q.data.name for q in self.equations.setting.corrections}
        return [name for name in self._state_index if name not in moved]

    def _unit_quaternions(self, q: np.ndarray) -> np.ndarray:
        for start in self.equations.program.quaternions:
            length = float(np.linalg.norm(q[start : start + 4]))
            if length == 0.0:
                raise ParameterError(
                    f"the Euler parameters from '{self.coordinate_names[start]}' on are all zero"
                )
            q[start : start + 4] /= length
        return q

    def _constrained(self, place: Place, named: set[str], parameters: Mapping[str, Any] | None) -> Place:
        geometry, setting = self.geometry(parameters, place.memory), self.equations.setting
        names = list(self.coordinate_names)
        at = {i for i, name in enumerate(names) if name in named}
        q = closed(geometry, setting, place.t, place.q, at, names)
        check_redundant(geometry, setting, place.t, q)
        guessed = [
            f"{names[i]} from {place.q[i]:.6g} to {q[i]:.6g}"
            for i in sorted(at)
            if abs(q[i] - place.q[i]) > 1e-6
        ]
        speeds = [s.data.name for s in self.equations.system.speeds]
        moved = {j for j, name in enumerate(speeds) if name in named}
        u = consistent(geometry, setting, place.t, q, place.u, moved, speeds)
        return replace(
            place, q=q, u=u, note=f"loops closed by moving {', '.join(guessed)}" if guessed else ""
        )

    def reassembled(self, place: Place, named: set[str], parameters: Mapping[str, Any] | None) -> Place:
        """The place with its loops closed anew and its speeds made to agree, what is named kept as it is."""
        return self._constrained(place, named, parameters)

    def _check_place(self, name: str) -> None:
        system = self.equations.system
        known = [*self.coordinate_names, *(u.data.name for u in system.speeds)]
        given = {p.speed.data.name for p in self.equations.setting.given.values()}
        if name in given or (name not in known and any(name == q.data.name for q in system.coordinates)):
            raise ParameterError(f"'{name}' is prescribed, so it has no initial value")
        if name not in known:
            raise ParameterError(f"there is no coordinate or speed '{name}'{nearest(name, known)}")

    # ------------------------------------------------------------ places, in no program's terms

    def packed(self, place: Place) -> np.ndarray:
        """The state of this program at a place."""
        index = {u.data.name: j for j, u in enumerate(self.equations.system.speeds)}
        return np.concatenate([place.q, place.u[[index[name] for name in self.speed_names]]])

    def place(
        self, t: float, state: np.ndarray, memory: np.ndarray, parameters: Mapping[str, Any] | None
    ) -> Place:
        """All coordinates and speeds of a state of this program."""
        out = np.empty(len(self.output_names))
        self._call("outputs", t, state, parameters, memory, out)
        column = {name: i for i, name in enumerate(self.output_names)}
        u = out[[column[s.data.name] for s in self.equations.system.speeds]]
        return Place(t, state[: len(self.coordinate_names)].copy(), u, memory)

    def geometry(self, parameters: Mapping[str, Any] | None, memory: np.ndarray) -> Geometry:
        """The constraints as numbers, for a parameter set."""
        layout = self.equations.setting.layout
        assert layout is not None
        length, speeds = len(self.equations.program.geometry.results), np.zeros(len(self.speed_names))

        def values(t: float, q: np.ndarray) -> np.ndarray:
            out = np.empty(length)
            self._call("geometry", t, np.concatenate([q, speeds]), parameters, memory, out)
            return out

        return Geometry(layout, values)

    def quality(self, place: Place, parameters: Mapping[str, Any] | None) -> float:
        """How well the dependent speeds of this program are told by the others at a place; 0: not at all."""
        return self._watched(SWITCHING, place.t, self.packed(place), place.memory, parameters) + POOR

    def strength(
        self, t: float, state: np.ndarray, memory: np.ndarray, parameters: Mapping[str, Any] | None
    ) -> float:
        """What is left of the weakest constraint at a state, of 1 as elsewhere, squared; 0: rank is lost."""
        return max(self._watched(RANK, t, state, memory, parameters) + LOST, 0.0)

    def closed(
        self, t: float, state: np.ndarray, parameters: Mapping[str, Any] | None, memory: np.ndarray
    ) -> np.ndarray:
        """The state with its loops closed and unit Euler parameters."""
        y, constants = np.array(state, dtype=float), self.constants(parameters)
        stored = memory if memory.size else np.zeros(1)
        if address := self.address("normalise"):
            normalise = ctypes.CFUNCTYPE(None, ctypes.c_double, _REALS, _REALS, _REALS)(address)
            normalise(float(t), _pointer(y), _pointer(constants), _pointer(stored))
        return y

    def _watched(
        self, name: str, t: float, state: np.ndarray, memory: np.ndarray, parameters: Mapping[str, Any] | None
    ) -> float:
        watched = [e.name for e in self.equations.targets.watched]
        out = np.empty(len(watched))
        self._call("events", t, state, parameters, memory, out)
        return float(out[watched.index(name)])

    def values_at(self, place: Place, parameters: Mapping[str, Any] | None) -> dict[str, float]:
        """Values of all that expressions can hold at a place, by name."""
        system, table = self.equations.system, self._table
        inside = table.inside(table.values(parameters))
        values = dict(zip(table.names, inside.tolist(), strict=True))
        values |= dict(zip(self.coordinate_names, place.q.tolist(), strict=True))
        values |= {s.data.name: float(x) for s, x in zip(system.speeds, place.u, strict=True)}
        values |= dict(zip(self._memory_names, place.memory.tolist(), strict=True))
        return values | {system.time.data.name: place.t}

    # ------------------------------------------------------------ runs

    def simulate(
        self,
        t_end: float,
        *,
        step: float | None = None,
        method: str | None = None,
        initial: Mapping[str, float] | Sequence[float] | None = None,
        parameters: Mapping[str, Any] | None = None,
        memory: Mapping[str, float] | None = None,
        t0: float = 0.0,
        sample: float | Sequence[float] | None = None,
        rtol: float = 1e-9,
        atol: float | Sequence[float] = 1e-11,
        max_step: float = float("inf"),
        max_steps: int = 1_000_000_000,
        progress: bool | Callable[[float], None] = True,
    ) -> Run:
        """The motion from ``t0`` to ``t_end``.

        With a ``step`` the method is "rk4" unless another is named, without one "dop853". For an adaptive
        method ``step`` is the first one it tries, and ``rtol`` and ``atol`` are the errors it tolerates; a
        method of fixed step has no use for those. ``sample`` is the time between rows, or the times
        themselves; left out, fixed steps give a row each and adaptive methods a thousand; more than 4 GiB of
        rows are refused. ``progress`` shows a line on a terminal when a run takes long, or calls a function
        with the time reached. A run that diverges, or an event of which comes faster and faster without end,
        raises a SimulationError whose ``run`` holds the data so far; Ctrl-C returns what was computed.
        """
        chosen = method or ("rk4" if step is not None else "dop853")
        values = self._table.values(parameters)
        check_physical(self.equations.system, self._table, values)
        start = self._start(initial, parameters, t0, self._memory(memory, t0))
        adaptive = chosen in METHODS and METHODS[chosen].adaptive
        if sample is None and adaptive and t_end > t0:
            sample = (t_end - t0) / _SAMPLES
        how: dict[str, Any] = {
            "step": step, "sample": sample, "rtol": rtol, "atol": atol, "max_step": max_step,
            "max_steps": max_steps,
        }  # fmt: skip
        with progress_line(progress, t0, t_end) as report:
            how["progress"] = report
            if self._changes_mode:
                self._modes = self._modes or Modes(self)
                journey = Traveller(
                    self._modes, start, t_end, method=chosen, parameters=parameters, **how
                ).travel()
            else:
                journey = self._straight(start, t_end, chosen, parameters, how)
        result = self._with_last_row(journey, parameters)
        tolerances = {"rtol": rtol, "atol": str(atol)} if adaptive else {}
        run = self._run(result, values, {"method": chosen, "step": step or 0.0, **tolerances}, journey, start)
        if journey.failure:
            raise SimulationError(f"{journey.failure}; the data so far are in the error's .run", run)
        raise_for(result, run, journey.model.culprit(result, parameters), adaptive)
        return run

    def _with_last_row(self, journey: Journey, parameters: Mapping[str, Any] | None) -> Integration:
        """The result with a row at its end where an event ended it between rows."""
        result = journey.result()
        if result.status != "event" or (len(result.time) and result.time[-1] >= result.t_stop):
            return result
        row = journey.model.outputs(result.t_stop, result.final_state, parameters, memory=result.final_memory)
        return replace(
            result,
            time=np.append(result.time, result.t_stop),
            samples=np.vstack([result.samples, list(row.values())]),
        )

    @property
    def _changes_mode(self) -> bool:
        """Whether a run may need another program of the same system."""
        watched = self.equations.targets.watched
        return any(e.name in (SWITCHING, RANK, FLIP) or asks_for_mode(e, self.equations) for e in watched)

    def _straight(
        self,
        start: Place,
        t_end: float,
        method: str,
        parameters: Mapping[str, Any] | None,
        how: dict[str, Any],
    ) -> Journey:
        """A run through this program alone."""
        result = integrate(
            self.run_functions(),
            method,
            t0=start.t,
            t_end=t_end,
            state=self.packed(start),
            memory=start.memory,
            constants=self.constants(parameters),
            **how,
        )
        watched = self.equations.targets.watched
        events = [(t, watched[k].name) for t, k in result.events if not watched[k].hidden]
        return Journey(self, [result], events)

    def culprit(self, result: Integration, parameters: Mapping[str, Any] | None) -> str:
        """The event that accumulates, or the state that a run failed in: the one whose own rate is not
        finite,
        before those it spoiled.
        """
        if result.failed_event is not None:
            return self.equations.targets.watched[result.failed_event].name
        if result.failed_state is None:
            return ""
        rates = self.derivatives(result.t_stop, result.final_state, parameters, memory=result.final_memory)
        strange = np.flatnonzero(~np.isfinite(rates))
        place = int(strange[0]) if strange.size and result.status == "diverged" else result.failed_state
        return self.equations.program.state[place].data.name

    def _memory(self, given: Mapping[str, float] | None, t0: float) -> np.ndarray:
        system, stored = self.equations.system, self._initial_memory()
        for i, memory in enumerate(system.memories.values()):
            if memory.period is not None:
                stored[i] = t0 + memory.period
        for name, value in [(str(key), value) for key, value in (given or {}).items()]:
            if name not in self._memory_names:
                raise ParameterError(f"there is no memory '{name}'{nearest(name, self._memory_names)}")
            known = system.memories[name].symbol.dimension
            number = plain_number(value, f"memory '{name}'", system.units, known)
            stored[self._memory_names.index(name)] = number
        return stored

    def run_functions(self) -> Functions:
        """Addresses and sizes of the generated functions, for an integrator."""
        program, events = self.equations.program, self.equations.targets.watched
        return Functions(
            derivatives=self.address("derivatives"),
            outputs=self.address("outputs"),
            events=self.address("events"),
            update=self.address("update"),
            fire=self.address("fire"),
            normalise=self.address("normalise"),
            solve=self.address("solve"),
            residuals=self.address("residuals"),
            n_states=len(program.state),
            n_outputs=len(self.output_names),
            n_memory=len(program.memory),
            n_events=len(program.fire),
            event_directions=tuple(e.direction for e in events),
            event_terminal=tuple(e.stop or asks_for_mode(e, self.equations) for e in events),
            owner=self._code,
        )

    def _run(
        self,
        result: Integration,
        values: dict[str, float],
        how: dict[str, Any],
        journey: Journey,
        start: Place,
    ) -> Run:
        from armillary.results import Event, Run

        columns = self.equations.targets.columns
        info = {
            **_versions(),
            "formalism": self.formalism,
            **how,
            "status": result.status,
            "steps": result.steps,
            "rejected": result.rejected,
            "evaluations": result.evaluations,
            **({"modes": "; ".join(journey.notes)} if journey.notes else {}),
            **({"assembly": start.note} if start.note else {}),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return Run(
            system=self.equations.system.name,
            time=result.time,
            values=result.samples,
            names=self.output_names,
            units={c.name: c.units for c in columns},
            descriptions={c.name: c.about for c in columns},
            parameters=values,
            parameter_units=dict(zip(self._table.names, self._table.units, strict=True)),
            info=info,
            events=tuple(Event(t, name) for t, name in journey.events),
        )

    def __repr__(self) -> str:
        return f"CompiledModel({self.equations.system.name!r}, {self.formalism}, {self.equations.operations})"


@cache
def _versions() -> dict[str, str]:
    """Versions that a run depends on; reading them takes a millisecond."""
    return {
        "armillary": version("armillary"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "llvmlite": version("llvmlite"),
    }


def _pointer(array: np.ndarray) -> Any:
    return array.ctypes.data_as(_REALS)


_REMEDIES = {
    "diverged": "a value is no longer finite: look for a singularity, or check the loads and parameters",
    "step too small": "no step is small enough for the tolerance: look for a singularity or a stiff part "
    "(method='scipy:Radau'), or loosen rtol and atol",
    "too many steps": "raise max_steps, or loosen rtol and atol",
    "too many rows": "give sample=, the time between rows",
}
_REMEDIES_FIXED_STEP = _REMEDIES | {
    "diverged": "a value is no longer finite: use a smaller step or check the loads and parameters",
    "too many steps": "raise max_steps, or use a larger step",
}
_ACCUMULATES = "its effects come faster and faster; end the run there with stop=True, or use a contact force"


def raise_for(result: Integration, run: Run, culprit: str, adaptive: bool) -> None:
    """An error for a run that had to stop, with the data so far."""
    if result.status == "events accumulate":
        what = f"event '{culprit}' accumulates at t = {result.t_stop:.6g} s: {_ACCUMULATES}"
    elif result.status in _REMEDIES:
        remedy = (_REMEDIES if adaptive else _REMEDIES_FIXED_STEP)[result.status]
        where = f" in '{culprit}'" if culprit else ""
        what = (
            f"simulation of '{run.system}' stopped at t = {result.t_stop:.6g} s "
            f"({result.status}{where}): {remedy}"
        )
    else:
        return
    raise SimulationError(f"{what}; the data so far are in the error's .run", run)
