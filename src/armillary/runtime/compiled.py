"""Compiled models: generated functions in this process, to be asked for values and run through time."""

from __future__ import annotations

import ctypes
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.backends.jit import Compiled
from armillary.backends.llvm import llvm_text
from armillary.errors import ArmillaryError, ParameterError, SimulationError, nearest
from armillary.program.equations import Equations
from armillary.runtime.integrators import METHODS, Functions, Integration, integrate
from armillary.runtime.parameters import check_physical, number_in_text, parameter_table, plain_number
from armillary.runtime.progress import progress_line

if TYPE_CHECKING:
    from armillary.results import Run

_REALS = ctypes.POINTER(ctypes.c_double)
_SIGNATURES = {
    "precompute": (_REALS, _REALS),
    "derivatives": (ctypes.c_double, _REALS, _REALS, _REALS, _REALS),
    "outputs": (ctypes.c_double, _REALS, _REALS, _REALS, _REALS),
}
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
            "normalise": not program.quaternions,
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

    def state(self, initial: Mapping[str, float] | Sequence[float] | None = None) -> np.ndarray:
        """A state from values by name (the rest as described), or from all values in order. Euler
        parameters are made unit.
        """
        system, program = self.equations.system, self.equations.program
        if initial is not None and not isinstance(initial, Mapping):
            y = self._vector(initial, len(self._state_index), "initial state")
        else:
            by_name = {s.data.name: value for s, value in system.initial.items()}
            y = np.array([by_name[s.data.name] for s in program.state], dtype=float)
            dimensions = {s.data.name: s.dimension for s in system.initial}
            for name, value in [(str(key), value) for key, value in (initial or {}).items()]:
                where = f"the initial value of '{name}'"
                if isinstance(value, str):
                    value = number_in_text(value, where)
                y[self._place(name)] = plain_number(value, where, system.units, dimensions.get(name))
        if not np.all(np.isfinite(y)):
            bad = program.state[int(np.argmin(np.isfinite(y)))].data.name
            raise ParameterError(f"the initial value of '{bad}' is not a finite number")
        for start in program.quaternions:
            length = float(np.linalg.norm(y[start : start + 4]))
            if length == 0.0:
                raise ParameterError(
                    f"the Euler parameters from '{program.state[start].data.name}' on are all zero"
                )
            y[start : start + 4] /= length
        return y

    def _place(self, name: str) -> int:
        if name not in self._state_index:
            if any(name == str(p) for p in self.equations.system.prescriptions):
                raise ParameterError(f"'{name}' is prescribed, so it has no initial value")
            raise ParameterError(
                f"there is no coordinate or speed '{name}'{nearest(name, self._state_index)}"
            )
        return self._state_index[name]

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
        y0 = self.state(initial)
        m0 = self._memory(memory, t0)
        adaptive = chosen in METHODS and METHODS[chosen].adaptive
        if sample is None and adaptive and t_end > t0:
            sample = (t_end - t0) / _SAMPLES
        with progress_line(progress, t0, t_end) as report:
            result = integrate(
                self._run_functions(),
                chosen,
                t0=t0,
                t_end=t_end,
                state=y0,
                memory=m0,
                constants=self.constants(parameters),
                step=step,
                sample=sample,
                rtol=rtol,
                atol=atol,
                max_step=max_step,
                max_steps=max_steps,
                progress=report,
            )
        tolerances = {"rtol": rtol, "atol": str(atol)} if adaptive else {}
        run = self._run(result, values, {"method": chosen, "step": step or 0.0, **tolerances})
        _raise_for(result, run, self._culprit(result, parameters), adaptive)
        return run

    def _culprit(self, result: Integration, parameters: Mapping[str, Any] | None) -> str:
        """The event that accumulates, or the state that a run failed in: the one whose own rate is not
        finite,
        before those it spoiled.
        """
        if result.failed_event is not None:
            return list(self.equations.system.events)[result.failed_event]
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

    def _run_functions(self) -> Functions:
        program, events = self.equations.program, self.equations.system.events.values()
        return Functions(
            derivatives=self.address("derivatives"),
            outputs=self.address("outputs"),
            events=self.address("events"),
            update=self.address("update"),
            fire=self.address("fire"),
            normalise=self.address("normalise"),
            n_states=len(program.state),
            n_outputs=len(self.output_names),
            n_memory=len(program.memory),
            n_events=len(program.fire),
            event_directions=tuple(e.direction for e in events),
            event_terminal=tuple(e.stop for e in events),
            owner=self._code,
        )

    def _run(self, result: Integration, values: dict[str, float], how: dict[str, Any]) -> Run:
        from armillary.results import Event, Run

        columns = self.equations.targets.columns
        known = list(self.equations.system.events.values())
        info = {
            **_versions(),
            "formalism": self.formalism,
            **how,
            "status": result.status,
            "steps": result.steps,
            "rejected": result.rejected,
            "evaluations": result.evaluations,
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
            events=tuple(Event(t, known[k].name) for t, k in result.events if not known[k].hidden),
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


def _raise_for(result: Integration, run: Run, culprit: str, adaptive: bool) -> None:
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
