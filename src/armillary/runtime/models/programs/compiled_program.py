"""The machine code of a program: its functions by name, for runs too, and constants for parameter values."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property

import numpy as np

from armillary.errors import ArmillaryError
from armillary.llvm.jit import Compiled
from armillary.model.recording.records import EventRecord
from armillary.program.equations import NOT_PICKLED, DerivedEquations
from armillary.program.targets.targets import CONSTRAINT_RANK, DEPENDENT_SPEEDS, INTERNAL_EVENTS, POOR_PIVOT
from armillary.runtime.integrators import Functions
from armillary.runtime.loop.thresholds.event_thresholds import LANDING
from armillary.runtime.models.configurations.configurations import NEARLY, changes_configuration
from armillary.runtime.models.parameters import parameter_table
from armillary.runtime.models.speeds import SpeedPlaces, speed_places
from armillary.untyped import DataMapping

_REALS = ctypes.POINTER(ctypes.c_double)
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 4)


class CompiledProgram:
    """One program as machine code, freed with this object."""

    def __init__(self, equations: DerivedEquations, code: Compiled, seconds: float) -> None:
        self.equations = equations
        self.compile_seconds = seconds
        self._code = code
        self.parameter_table = parameter_table(equations)
        self.coordinate_names = equations.coordinates
        self.speed_names = equations.speeds
        self.state_names = equations.states
        self.output_names = tuple(c.name for c in equations.targets.columns)
        self._default_constants: np.ndarray | None = None
        self._addresses: dict[str, int] = {}
        self._functions: dict[str, Callable[..., None]] = {}

    @property
    def parameters(self) -> dict[str, float | None]:
        """Parameters with their defaults, in their stated units."""
        return self.equations.parameters

    @property
    def tier(self) -> str:
        """ "final", or "quick": code that was ready sooner and runs longer; see ``Equations.compile``."""
        return self._code.tier

    @property
    def formalism(self) -> str:
        """Name of the formalism behind the code."""
        return self.equations.formalism

    def address(self, name: str) -> int:
        """Address of a generated function ("derivatives", "outputs", …); 0 where the model has none."""
        if name not in self._addresses:
            program = self.equations.program
            absent = {
                "events": not program.events.results,
                "update": not program.update.results,
                "fire": not program.fire,
                "normalise": not program.normalises,
                "geometry": not program.geometry.results,
                "solve": all(s.name != "solve" for s in program.stepping),
                "residuals": all(s.name != "residuals" for s in program.stepping),
                "partial_rates": not program.partial_rates,
            }
            self._addresses[name] = 0 if absent.get(name) else self._code.address(name)
        return self._addresses[name]

    def function(self, name: str) -> Callable[..., None]:
        """A generated function of a time and the addresses of state, constants, memory and results."""
        if name not in self._functions:
            self._functions[name] = _FUNCTION(self.address(name))
        return self._functions[name]

    def constants(self, parameters: DataMapping | None = None) -> np.ndarray:
        """Precomputed constants for a parameter set, as the generated functions take them."""
        if parameters is None and self._default_constants is not None:
            return self._default_constants
        constants = self.constants_inside(self.parameters_inside(parameters))
        if not parameters:
            constants.setflags(write=False)
            self._default_constants = constants
        return constants

    def parameters_inside(self, parameters: DataMapping | None) -> np.ndarray:
        """Values of all parameters in the model's own units, in their order."""
        return self.parameter_table.inside(self.parameter_table.values(parameters))

    def constants_inside(self, inside: np.ndarray) -> np.ndarray:
        """Precomputed constants for values of all parameters in the model's own units, in their order."""
        constants = np.zeros(max(len(self.equations.program.constants), 1))
        inside = np.ascontiguousarray(inside)
        precompute = ctypes.CFUNCTYPE(None, _REALS, _REALS)(self.address("precompute"))
        precompute(inside.ctypes.data_as(_REALS), constants.ctypes.data_as(_REALS))
        return constants

    def inside(self, parameters: DataMapping | None = None) -> dict[str, float]:
        """Values of all parameters in the model's own units."""
        return dict(zip(self.parameter_table.names, self.parameters_inside(parameters).tolist(), strict=True))

    # ------------------------------------------------------------ for runs

    @cached_property
    def speeds(self) -> SpeedPlaces:
        """Where all speeds of the system are among the outputs."""
        return speed_places(self.equations, self.output_names)

    @cached_property
    def independent_speeds(self) -> np.ndarray:
        """The speeds of the system that are states of this program, in the order of the state."""
        number = {u.data.name: j for j, u in enumerate(self.equations.system.speeds)}
        return np.array([number[name] for name in self.speed_names], dtype=int)

    @cached_property
    def watched_index(self) -> dict[str, int]:
        """Numbers of the watched events, by name."""
        return {e.name: k for k, e in enumerate(self.equations.targets.watched)}

    @cached_property
    def weakening(self) -> list[tuple[int, float]]:
        """Numbers of the events at which dependent speeds are chosen again or constraints lose rank, and
        values of their functions above which neither is near.
        """
        near = {DEPENDENT_SPEEDS: (NEARLY - 1.0) * POOR_PIVOT, CONSTRAINT_RANK: 0.0}
        numbers = self.watched_index
        return [(numbers[name], least) for name, least in near.items() if name in numbers]

    @cached_property
    def changes_configuration(self) -> bool:
        """Whether a run may need another program of the same system."""
        return any(self.may_change_configuration)

    @cached_property
    def may_change_configuration(self) -> list[bool]:
        """For each watched event, whether a run may need another program after it."""
        watched = self.equations.targets.watched
        return [e.name in INTERNAL_EVENTS or changes_configuration(e, self.equations) for e in watched]

    def _ends(self, event: EventRecord) -> bool:
        """Whether the compiled loop returns at an event."""
        return event.stop or changes_configuration(event, self.equations)

    def ends_a_leg(self, k: int) -> bool:
        """Whether the compiled loop returns at an event, by its number."""
        return self._ends(self.equations.targets.watched[k])

    @property
    def own_states(self) -> int:
        """How many states are of the motion, before its derivatives."""
        return len(self.equations.program.state)

    @cached_property
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
            partial_rates=self.address("partial_rates"),
            structure=program.structure,
            driven=bool(program.driven),
            n_states=len(program.state),
            n_own=self.own_states,
            n_outputs=len(self.output_names),
            n_memory=len(program.memory),
            n_events=len(program.fire),
            event_directions=tuple(e.direction for e in events),
            event_terminal=tuple(
                LANDING if e.name in INTERNAL_EVENTS else float(self._ends(e)) for e in events
            ),
            speed_kinds=self.speeds.table,
            owner=self._code,
        )

    def __reduce__(self) -> tuple[object, ...]:
        raise ArmillaryError(NOT_PICKLED.format(what="compiled equations", name=self.equations.system.name))

    def __repr__(self) -> str:
        system, operations = self.equations.system.name, self.equations.operations
        return f"{type(self).__name__}({system!r}, {self.formalism}, {operations})"
