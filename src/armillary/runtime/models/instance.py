"""A program with one set of parameter values, evaluated at single states.

Assembly, changes of configuration and checks of singular configurations call compiled functions here, outside
the integration loop. The sections of a change of configuration are here too; see program/configurations.py.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import real, unsigned_zeros
from armillary.algebra.calculus import ValueTable
from armillary.errors import ArmillaryError
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import change_text
from armillary.mechanics.constraints.closing_thresholds import BROKEN
from armillary.mechanics.constraints.loop_closing import Geometry, GeometryLayout
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.units import state_factor
from armillary.program.configurations import ENTER, IMPULSE, LEAVE, configurations_of, with_ratings
from armillary.program.equations import DerivedEquations
from armillary.program.program import Program
from armillary.program.targets.targets import CONSTRAINT_RANK, LOST_RANK
from armillary.runtime.addresses import address, kept_with_owner
from armillary.runtime.inputs.reading import DrivenInputs
from armillary.runtime.start.initial import Place
from armillary.solver.thresholds import WEAK
from armillary.untyped import DataMapping

if TYPE_CHECKING:
    from armillary.runtime.integrators.settings import Integration
    from armillary.runtime.models.configured_program import ConfiguredProgram


_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 4)
_PRECOMPUTE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)
_NOTHING = np.zeros(1)


class ChangeCode:
    """The sections of changes of one configuration as machine code."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._code = Compiled(change_text(self.program))
        self._precompute = _PRECOMPUTE(self._code.address("precompute"))
        self.lengths = {s.name: len(s.results) for s in self.program.changes}
        self._functions: dict[str, Callable[..., None]] = {}

    def function(self, name: str) -> Callable[..., None]:
        """Return a section, a function of time and the addresses of its arrays: a motion or state, constants,
        memory and results.
        """
        if name not in self._functions:
            self._functions[name] = _FUNCTION(self._code.address(name))
        return self._functions[name]

    def address(self, name: str) -> int:
        """Return the address of a section."""
        return self._code.address(name)

    def call(
        self, name: str, t: float, given: np.ndarray, constants: np.ndarray, memory: np.ndarray
    ) -> np.ndarray:
        """Return the results of a section at a time, from a motion or state."""
        out, stored = np.empty(self.lengths[name]), memory if memory.size else _NOTHING
        y = np.ascontiguousarray(given, dtype=float)
        self.function(name)(t, *(a.ctypes.data for a in (y, constants, stored, out)))
        return out

    def constants(self, inside: np.ndarray) -> np.ndarray:
        """Return constants from values of all parameters in the model's own units."""
        constants, inside = np.zeros(max(len(self.program.constants), 1)), np.ascontiguousarray(inside)
        self._precompute(inside.ctypes.data, constants.ctypes.data)
        return constants


class Changes:
    """The sections of changes of one configuration, for the parameters of a run.

    A motion is [coordinates, all speeds, the user's states].
    """

    def __init__(self, code: ChangeCode, inside: Callable[[], np.ndarray]) -> None:
        self._code, self.inside = code, inside

    @kept_with_owner
    def constants(self) -> np.ndarray:
        return self._code.constants(self.inside())

    def leave(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """Return the motion of a state."""
        return self._call(LEAVE, t, state, memory)

    def enter(self, t: float, motion: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """Return the state of a motion that satisfies the constraints and locks of this configuration."""
        return self._call(ENTER, t, motion, memory)

    def impulse(self, t: float, motion: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """Return all speeds after the impulse by which the locks of this configuration close in a motion."""
        return self._call(IMPULSE, t, motion, memory)

    def _call(self, name: str, t: float, given: np.ndarray, memory: np.ndarray) -> np.ndarray:
        return unsigned_zeros(self._code.call(name, t, given, self.constants, memory))


@dataclass(frozen=True)
class RatedChoices:
    """The choices of dependent speeds with one set of locks, with the code of their ratings."""

    configurations: tuple[Configuration, ...]
    code: ChangeCode


def rated_choices(equations: DerivedEquations, locked: frozenset[str]) -> RatedChoices | None:
    """Return the listed choices of dependent speeds for a set of locks; `None` if there is only one."""
    table = configurations_of(equations)
    ratings = table.ratings(locked)
    if not ratings:
        return None
    choices = tuple(table[number].configuration for number in table.groups[locked])
    return RatedChoices(choices, ChangeCode(with_ratings(equations, ratings)))


_FIRE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_double, *[ctypes.c_void_p] * 5)
_NORMALISE = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 3)
_FARTHER = 10.0  # a link may slide to this many times its distance at the start of a run


@dataclass(frozen=True, eq=False)
class Instance:
    """A compiled model and the parameters of a run."""

    model: ConfiguredProgram
    parameters: DataMapping | None = None
    inputs: DrivenInputs | None = None  # inputs over time; the memory has the addresses of their data
    known: np.ndarray | None = None  # the constants of these parameters, if computed before
    inside: np.ndarray | None = None  # all parameters in the model's own units, if known
    # one number: the rows that failures.py has searched for jumps of speeds in all runs
    searched: list[int] = field(default_factory=lambda: [0], repr=False)

    @property
    def equations(self) -> DerivedEquations:
        return self.model.equations

    @kept_with_owner
    def constants(self) -> np.ndarray:
        if self.known is not None:
            return self.known
        if self.inside is not None:
            return self.model.constants_inside(self.inside)
        return self.model.constants(self.parameters)

    @cached_property
    def _constants_address(self) -> int:
        return self.constants.ctypes.data

    def call(self, name: str, length: int, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """Return the results of a generated function, by name."""
        out, y = np.empty(length), np.ascontiguousarray(state, dtype=float)
        self.model.function(name)(
            t if type(t) is float else real(t, "the time"),
            address(y),
            self._constants_address,
            address(memory),
            address(out),
        )
        out += 0.0  # −0.0 becomes 0.0
        return out

    def derivatives(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        return self.call("derivatives", len(state), t, state, memory)

    def outputs(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        return self.call("outputs", len(self.model.output_names), t, state, memory)

    def events(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        return self.call("events", len(self.equations.targets.watched), t, state, memory)

    def fire_event(
        self, k: int, t: float, state: np.ndarray, memory: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return state and memory after an event."""
        new_state, new_memory = np.array(state, dtype=float), np.array(memory, dtype=float)
        arrays = (np.array(state, dtype=float), self.constants, memory, new_memory, new_state)
        padded = [a if a.size else np.zeros(1) for a in arrays]
        _FIRE(self.model.address("fire"))(k, float(t), *(a.ctypes.data for a in padded))
        return padded[4], padded[3][: len(memory)]

    @cached_property
    def masses_suffice(self) -> bool:
        """Whether no pivot of the mass matrix can be weak on any run with these parameters.

        Pivots are divided by inertias, which grow as a link slides outwards. With a sliding link the result
        holds up to ten times its initial distance.
        """
        masses, _ = self.model.masses
        start = {s.data.name: value for s, value in self.equations.system.initial.items()}
        least = masses.least_share(self.model.inside(self.parameters) | start)
        return least > WEAK * (1.0 if masses.links.constant_lengths else _FARTHER**2)

    @kept_with_owner
    def changes(self) -> Changes:
        """The sections of changes of this configuration, for these parameters."""
        inside = self.inside
        return Changes(
            self.model.change_code,
            lambda: self.model.parameters_inside(self.parameters) if inside is None else inside,
        )

    def check(self, place: Place, reached: bool = False) -> None:
        """Raise an error if a place violates constraints, or if the independent speeds do not determine the
        others. Speeds of a place that this program has ``reached`` are not checked.
        """
        if not self.equations.reduction.rows:
            return
        if not place.holds and not self.model.loops.hold(self, place):
            raise ArmillaryError(self._broken_constraint(place))
        if reached:
            return
        sizes, _ = self._sizes
        u = place.u / sizes
        scale = 1.0 + float(np.abs(u).max(initial=0.0))
        again = self.place(place.t, self.pack_state(place), place.memory).u / sizes
        if not np.abs(again - u)[self._free_speeds].max(initial=0.0) < 1e-3 * scale:
            raise ArmillaryError(
                f"at t = {place.t:.6g} s the constraints of '{self.equations.system.name}' lose rank, so the "
                "motion can continue in more than one way; start a little away from there"
            )

    def holds_at_end(self, result: Integration) -> bool:
        """Return whether all constraints hold at the end of a run."""
        if not self.equations.reduction.rows:
            return True
        t, state, memory = result.t_stop, result.final_state, result.final_memory
        shown = bool(len(result.time)) and result.time[-1] == t
        u = self._speeds(result.samples[-1] if shown else self.outputs(t, state, memory))
        return self.model.loops.hold(self, Place(t, state[: len(self.model.coordinate_names)], u, memory))

    def _broken_constraint(self, place: Place) -> str:
        """Return the message about the first constraint that does not hold at a place."""
        layout, u = self._layout, place.u / self._sizes[0]
        scale = 1.0 + float(np.abs(u).max(initial=0.0))
        _, row, speed, _ = layout.owners
        numbers = self._factors * self._geometry_numbers(place.t, place.q, place.memory)
        gaps, start = len(layout.gaps), len(layout.gaps) + layout.rows
        off = np.abs(numbers[:start])
        products = numbers[start : start + len(row)] * u[speed]
        off[gaps:] = np.abs(numbers[gaps:start] + np.bincount(row, products, layout.rows)) / scale
        rows = [*layout.gaps, *range(layout.rows)]
        constraint = self.equations.reduction.rows[rows[int(np.argmin(off < BROKEN))]].constraint
        return (
            f"at t = {place.t:.6g} s constraint '{constraint.name}' ({constraint.about}) does not hold any "
            "more: it was redundant or prescribed and now contradicts other constraints, or a loop cannot "
            "follow a prescribed motion"
        )

    @cached_property
    def _free_speeds(self) -> np.ndarray:
        """Flags of the speeds that are not prescribed or locked."""
        given = self.equations.reduction.given
        return np.array([u not in given for u in self.equations.system.speeds], dtype=bool)

    def close_state(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """Return the state with closed loops and unit Euler parameters."""
        y = np.array(state, dtype=float)
        if place := self.model.address("normalise"):
            _NORMALISE(place)(t, address(y), self._constants_address, address(memory))
        return y

    # ------------------------------------------------------------ coordinates and speeds

    def pack_state(self, place: Place) -> np.ndarray:
        """Return the state of this program at a place."""
        u = place.u.take(self.model.independent_speeds)
        if self.model.plain_state:
            return np.concatenate((place.q, u, place.states))
        second = self.model.second_half(self, place.t, place.q, u, place.memory)
        return np.concatenate([place.q, second, place.states, self.model.further_states(self, place)])

    def place(self, t: float, state: np.ndarray, memory: np.ndarray) -> Place:
        """Return all coordinates and speeds of a state of this program."""
        u = self._speeds(self.outputs(t, state, memory))
        q = state[: len(self.model.coordinate_names)].copy()
        first = len(q) + len(self.model.speed_names)
        own = state[first : first + len(self.model.state_names)].copy()
        return Place(t, q, u, memory, own, along=self.model.along(self, t, state, memory))

    def _speeds(self, row: np.ndarray) -> np.ndarray:
        """Return all speeds of a row of outputs."""
        speeds = self.model.speeds
        found: np.ndarray = row.take(speeds.columns) * speeds.factors
        return found

    def row_place(self, t: float, row: np.ndarray, memory: np.ndarray) -> Place:
        """Return all coordinates and speeds of a row of a run."""
        shown = dict(zip(self.model.output_names, row, strict=True))
        system = self.equations.system
        states = system.moving()
        inside = {s.data.name: shown[s.data.name] * state_factor(s) for s in states}
        q = np.array([inside[name] for name in self.model.coordinate_names])
        own = np.array([inside[name] for name in self.model.state_names])
        return Place(t, q, np.array([inside[s.data.name] for s in system.speeds]), memory, own)

    def values(self, place: Place) -> ValueTable:
        """Return the values of all symbols of expressions at a place, by name."""
        system = self.equations.system
        values: ValueTable = self.model.inside(self.parameters)
        values |= dict(zip(self.model.coordinate_names, place.q.tolist(), strict=True))
        values |= {s.data.name: float(x) for s, x in zip(system.speeds, place.u, strict=True)}
        values |= dict(zip(self.model.state_names, place.states.tolist(), strict=True))
        own = place.memory[: len(system.memories)]  # derivatives of memories may follow
        values |= dict(zip(system.memories, own.tolist(), strict=True))
        values |= self.inputs.values(place.t) if self.inputs is not None else {}
        return values | {system.time.data.name: place.t}

    # ------------------------------------------------------------ constraints

    def geometry(self, memory: np.ndarray) -> Geometry:
        """Return the constraints as functions of time and coordinates."""
        numbers = self._geometry_numbers
        return Geometry(self._layout, lambda t, q: numbers(t, q, memory), *self._sizes)

    def _geometry_numbers(self, t: float, q: np.ndarray, memory: np.ndarray) -> np.ndarray:
        program = self.equations.program
        state = np.zeros(len(q) + len(program.state))
        state[: len(q)] = q
        return self.call("geometry", len(program.geometry.results), t, state, memory)

    @property
    def _layout(self) -> GeometryLayout:
        layout = self.equations.reduction.layout
        assert layout is not None
        return layout

    @cached_property
    def _factors(self) -> np.ndarray:
        return self._layout.sized(*self._sizes)

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of the speeds, and of the rows of constraints."""
        return self.model.loops.sizes(self.constants)

    @cached_property
    def state_sizes(self) -> np.ndarray:
        """Sizes of the coordinates and the independent speeds, with these parameters."""
        sizes = np.array(self.equations.reduction.state_sizes(self.equations.system))
        for state, place in self.equations.size_constants.items():
            sizes[state] = self.constants[place]
        return sizes

    def sized_rates(self, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """Return rates of the coordinates at a place and of all other states, divided by their sizes."""
        rates = self.derivatives(place.t, self.pack_state(place), place.memory)
        rates[: len(self.state_sizes)] /= self.state_sizes
        return rates[: len(place.q)], rates[len(place.q) :]

    def close_loops(self, place: Place, named: set[str], at_event: bool = False) -> Place:
        """Return a place with closed loops and speeds that satisfy constraints.

        Values that are ``named`` stay; they are values set by events if ``at_event``.
        """
        return self.model.loops.close_loops(self, place, named, at_event)

    def determines_speeds(self, place: Place, state: np.ndarray) -> bool:
        """Return whether the independent speeds determine this program's dependent speeds well at a place.

        They do not if the choice of dependent speeds is poor there, or if the constraints are about to lose
        rank. ``state`` is the state at the place.
        """
        if not self.model.weakening:
            return True
        watched = np.empty(len(self.equations.targets.watched))
        places = address(state), self._constants_address, address(place.memory), address(watched)
        self.model.function("events")(place.t, *places)
        return all([watched[k] > least for k, least in self.model.weakening])

    def strength(self, t: float, state: np.ndarray, memory: np.ndarray) -> float:
        """Return the squared strength of the weakest constraint at a state: usually 1, and 0 at lost rank."""
        found = self.events(t, state, memory)[self.model.watched_index[CONSTRAINT_RANK]]
        return max(float(found) + LOST_RANK, 0.0)
