"""Initial values: given by name or in order, from the description, mass centres, contacts or a hook.

A ``Place`` of a motion has all coordinates and speeds, whichever of them are states of a program.

The hook ``on_start`` is a user function that reads all start values and may change some (Sayers 1990,
Appendix A, add-subroutine with where = init).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armillary.algebra import arguments
from armillary.algebra.arguments import checked_names, table
from armillary.algebra.calculus import ValueTable, derivative, evaluate, evaluate_all
from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.units import LENGTH, ONE
from armillary.algebra.walk import symbols
from armillary.errors import ArmillaryError, ParameterError, nearest, shown
from armillary.mechanics.contact.decision import OVERLAPS
from armillary.mechanics.contact.state import OVERLAP, term_sizes
from armillary.model.description import FAILED, UNDECIDED, Description, Memory
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.targets.contact_targets import decision_event
from armillary.runtime.models.parameters import model_number
from armillary.settings import Initial
from armillary.untyped import DataMapping, DataTable

if TYPE_CHECKING:
    from armillary.runtime.models.configured_program import ConfiguredProgram
    from armillary.runtime.models.instance import Instance

_FLOATS = {float, np.float64}


def vector(values: object, length: int, what: str) -> np.ndarray:
    """Return values as an array of ``length`` numbers; raise an error if they have another form."""
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ArmillaryError(f"the {what} must be {length} numbers, not {shown(values)}") from None
    if found.shape != (length,):
        raise ArmillaryError(f"the {what} must be {length} numbers, not an array of shape {found.shape}")
    return found


def initial_values(equations: DerivedEquations, initial: Initial) -> tuple[np.ndarray, np.ndarray, set[str]]:
    """Return all coordinates, with unit Euler parameters, all speeds, and the names that the user gave."""
    q, u, _, named = whole_start(equations, initial)
    return q, u, named


def whole_start(
    equations: DerivedEquations, initial: Initial
) -> tuple[np.ndarray, np.ndarray, np.ndarray, set[str]]:
    """Return all coordinates, with unit Euler parameters, all speeds, the user's own states, and the names
    that the user gave.
    """
    given = {} if initial is None else initial
    places, described = equations.start_indices
    found, named = described.copy(), set(given) if type(given) is dict else set()
    try:
        for key in named:
            number, factor = places[key]
            found[number] = given[key] * factor
        plain = type(given) is dict and {*map(type, given.values())} <= _FLOATS and all(map(isfinite, found))
    except (KeyError, TypeError, OverflowError):
        plain = False
    if not plain:  # not plain numbers by name, or a value that is not finite
        values, named = given_values(equations, initial)
        found = [*map(values.__getitem__, equations.motion_names)]
    y = np.array(found, dtype=float)
    first, last = len(equations.coordinates), len(y) - len(equations.states)
    return _unit_quaternions(equations, y[:first]), y[first:last], y[last:], named


def initial_states(equations: DerivedEquations, initial: Initial) -> np.ndarray:
    """Return the user's own states."""
    if not equations.states:
        return np.empty(0)
    values, _ = given_values(equations, initial)
    return np.array([values[name] for name in equations.states], dtype=float)


def given_values(equations: DerivedEquations, initial: Initial) -> tuple[dict[str, float], set[str]]:
    """Return initial values of all coordinates, speeds and states by name, and the names that the user
    gave.
    """
    values = dict(equations.described_start)
    if initial is not None and not isinstance(initial, Mapping):
        state = [*equations.coordinates, *equations.speeds, *equations.states]
        whole = vector(initial, len(state), "initial state")
        values |= dict(zip(state, whole.tolist(), strict=True))
        # In a whole state, coordinates that constraints decide are first guesses.
        guessed = {q.data.name for q in equations.reduction.corrections}
        named = set(state) - guessed
    else:
        given, factors = initial or {}, equations.start_factors
        named = {str(key) for key in given}
        for key, value in given.items():
            if isinstance(value, float) and type(key) is str and key in factors:
                values[key] = value * factors[key]
            else:
                values[str(key)] = _start_number(equations, str(key), value)
        if not all(map(isfinite, values.values())):
            for key, value in given.items():
                _start_number(equations, str(key), value)  # raises an error about a given value
    if not all(map(isfinite, values.values())):
        name = next(name for name, value in values.items() if not isfinite(value))
        raise ParameterError(f"the initial value of '{name}' is not a finite number")
    return values, named


def _start_number(equations: DerivedEquations, name: str, value: object) -> float:
    symbol = equations.startable.get(name)
    if symbol is None:
        raise _no_initial_value(equations, name)
    return state_number(symbol, value, f"the initial value of '{name}'")


def _no_initial_value(equations: DerivedEquations, name: str) -> ParameterError:
    system = equations.system
    known = equations.motion_names
    given = {p.speed.data.name for p in equations.reduction.given.values()}
    if name in given or (name not in known and any(name == q.data.name for q in system.coordinates)):
        how = "locked" if name in equations.configuration.locked else "prescribed"
        return ParameterError(f"'{name}' is {how}, so it has no initial value")
    return ParameterError(f"there is no coordinate, speed or state '{name}'{nearest(name, known)}")


def state_number(symbol: Expr, value: object, where: str) -> float:
    """Return a symbol's value in the model's units, from a number or text in stated units, or a quantity."""
    data = symbol.data
    factor, system = state_factor(symbol), data.owner.units
    return model_number(value, where, data.units or "", factor, system, symbol.dimension)


def _unit_quaternions(equations: DerivedEquations, q: np.ndarray) -> np.ndarray:
    for start in equations.program.quaternions:
        length = float(np.linalg.norm(q[start : start + 4]))
        if length == 0.0:
            raise ParameterError(
                f"the Euler parameters from '{equations.coordinates[start]}' on are all zero"
            )
        q[start : start + 4] /= length
    return q


def initial_memory(
    equations: DerivedEquations, given: Mapping[str, float] | None = None, t0: float | None = None
) -> np.ndarray:
    """Return the memory with which a run starts; clocks of periodic updates show one period after ``t0``."""
    system = equations.system
    if not system.memories and given is None:
        return np.empty(0)
    names = list(system.memories)
    stored = np.array([m.initial for m in system.memories.values()], dtype=float)
    for i, memory in enumerate(system.memories.values()):
        if memory.period is not None and t0 is not None:
            stored[i] = t0 + memory.period
    values = table(given, "memory=", ParameterError)
    for name, value in checked_memories(values, system).items():
        stored[names.index(name)] = memory_number(system, system.memories[name], value)
    return stored


def checked_memories(given: Iterable[str], system: Description) -> DataTable:
    """Return values by names of memories; raise an error if a name is unknown.

    The error for a former name, such as ``tip_mode``, gives the present one, ``tip_status``.
    """
    for name in map(str, given):
        renamed = name.removesuffix("_mode") + "_status"
        if name.endswith("_mode") and name not in system.memories and renamed in system.memories:
            raise ParameterError(f"there is no memory '{name}'; it is called '{renamed}'")
    return checked_names(given, system.memories, "there is no memory", ParameterError)


def memory_number(system: Description, memory: Memory, value: object) -> float:
    """Return a memory's value in the model's units, from a number or text in stated units, or a quantity."""
    symbol, where = memory.symbol, f"memory '{memory.symbol}'"
    units = symbol.data.units or ""
    return model_number(value, where, units, memory.factor, system.units, symbol.dimension)


_NONE = np.empty(0)


class Place(NamedTuple):
    """Time, all coordinates and all speeds, memory, and the user's own states."""

    t: float
    q: np.ndarray
    u: np.ndarray
    memory: np.ndarray
    states: np.ndarray = _NONE
    note: str = ""  # how the start was changed to close loops, for the run's info
    along: np.ndarray | None = None  # derivatives of q, u and states, one row each; sensitivities.py
    holds: bool = False  # whether it was computed so that all constraints hold

    @property
    def motion(self) -> np.ndarray:
        """[coordinates, all speeds, states]: the argument of the sections that change the configuration."""
        return np.concatenate([self.q, self.u, self.states])


_STATUSES = (0, 1, 2, -2, UNDECIDED)


def with_started_memory(instance: Instance, place: Place) -> Place:
    """Return the place, in which memories with a start expression have the value of this expression."""
    if all(memory.start is None for memory in instance.equations.system.memories.values()):
        return place
    stored = started_memory(instance.equations, place.memory, lambda: instance.values(place))
    return place._replace(memory=stored)


def started_memory(
    equations: DerivedEquations, given: np.ndarray, values: Callable[[], ValueTable]
) -> np.ndarray:
    """Return the memory with the values of start expressions: a vector of one run, or a column per run."""
    stored = given.copy()
    for i, memory in enumerate(equations.system.memories.values()):
        if memory.start is not None and np.any(stored[i] == memory.initial):
            stored[i] = np.where(stored[i] == memory.initial, evaluate(memory.start, values()), stored[i])
    return stored


def with_decided_contacts(instance: Instance, place: Place) -> Place:
    """Decide the contact statuses that are not given and return the place; approaching contacts bounce."""
    if not instance.equations.system.contacts:
        return place
    _check_given_statuses(instance, place)
    decided = _decide_contacts(instance, place.t, instance.pack_state(place), place.memory)
    if decided is None:
        return place
    state, memory, failed = decided
    if failed == OVERLAPS:
        _refuse_overlap(instance, place)
    return instance.place(place.t, state, memory)._replace(note=place.note)


def decided_statuses(instance: Instance, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """Return the memory after deciding undecided contact statuses at a state.

    If no decision is possible, as at an overlap, return the memory unchanged: undecided contacts act as open.
    """
    decided = _decide_contacts(instance, t, state, memory)
    return memory if decided is None or decided[2] else decided[1]


def _decide_contacts(
    instance: Instance, t: float, state: np.ndarray, memory: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Decide contacts; return state, memory and the code of a failure; `None` if no contact is undecided."""
    system = instance.equations.system
    names = list(system.memories)
    statuses = [names.index(c.status.data.name) for c in system.contacts.values()]
    if not any(memory[i] == UNDECIDED for i in statuses):
        return None
    k = instance.model.watched_index[decision_event(system)]
    new_state, new_memory = instance.fire_event(k, t, state, memory)
    return new_state, new_memory, float(new_memory[names.index(FAILED)])


def _check_given_statuses(instance: Instance, place: Place) -> None:
    """Raise an error for an unknown status, or for a closed contact that overlaps."""
    system = instance.equations.system
    names = list(system.memories)
    given = {c.name: float(place.memory[names.index(c.status.data.name)]) for c in system.contacts.values()}
    for name, status in given.items():
        if status not in _STATUSES:
            raise ParameterError(
                f"memory '{name}_status' of '{system.name}' is {status:g}; a status is 0 (open), 1 (closed "
                "or sticking), 2 or -2 (sliding)"
            )
    closed = [c for c in system.contacts.values() if c.gap is not None and given[c.name] in (1, 2, -2)]
    if closed:
        values = instance.values(place)
        for c in closed:
            assert c.gap is not None
            size = float(evaluate(as_expr(term_sizes(c.gap)), values))
            if float(evaluate(c.gap, values)) < -OVERLAP * size:
                _refuse_overlap(instance, place)


def _refuse_overlap(instance: Instance, place: Place) -> None:
    """Raise an error that names the contacts that overlap, and by how much."""
    system, values = instance.equations.system, instance.values(place)
    gaps = {c.name: c.gap for c in system.contacts.values() if c.gap is not None}
    depths = {name: -float(evaluate(gap, values)) for name, gap in gaps.items()}
    deep = {name: depth for name, depth in depths.items() if depth > 0} or depths
    name, depth = max(deep.items(), key=lambda item: item[1])
    unit = _gap_unit(system, gaps[name])
    for other, gap in gaps.items():  # two gaps with a constant negative sum cannot both be open
        room = -depth - depths[other]
        both = gaps[name] + gap
        if other != name and room < 0 and all(derivative(both, q) is ZERO for q in _coordinates(both)):
            raise ParameterError(
                f"contacts '{name}' and '{other}' of '{system.name}' contradict each other: where one "
                f"touches the other overlaps by {-room:.6g} {unit}; move one of them, so that there is room "
                "between them"
            )
    others = f" ({len(deep) - 1} more overlap too)" if len(deep) > 1 else ""
    raise ParameterError(
        f"contact '{name}' of '{system.name}' overlaps by {depth:.6g} {unit} where the run starts{others}: "
        "its gap must not be negative; give initial= coordinates at which bodies are apart or touch"
    )


def _gap_unit(system: Description, gap: Expr) -> str:
    """Return the model's unit of a gap, by its dimension or, if unknown, by its coordinates' dimension."""
    kinds = [gap.dimension, *(q.dimension for q in _coordinates(gap)), LENGTH]
    kind = next(kind for kind in kinds if kind is not None)
    return "rad" if kind is ONE else system.units.unit_text(kind)


def _coordinates(expression: Expr) -> list[Expr]:
    return [s for s in symbols(expression) if s.data.role == "coordinate"]


def with_mass_centres(instance: Instance, place: Place, initial: Initial) -> Place:
    """Return the place with joints set such that mass centres move as ``start_mass_centre`` requires.

    An initial state given as a sequence stays unchanged.
    """
    equations = instance.equations
    if not equations.system.centres or (initial is not None and not isinstance(initial, Mapping)):
        return place
    q, u = place.q.copy(), place.u.copy()
    place_mass_centres(equations, q, u, lambda: instance.values(place), initial or ())
    return place._replace(q=q, u=u, holds=False)


def place_mass_centres(
    equations: DerivedEquations,
    q: np.ndarray,
    u: np.ndarray,
    values_there: Callable[[], ValueTable],
    named: Collection[object],
) -> None:
    """Write the values that ``start_mass_centre`` requires into q and u, for one run, or a column per run."""
    starts = equations.mass_centre_starts
    if not starts:
        return
    values = values_there()
    for given in equations.reduction.given.values():
        pairs = ((given.speed, given.value), (given.coordinate, given.position))
        values |= {s.data.name: evaluate(x, values) for s, x in pairs if s is not None and x is not None}
    coordinates = {name: i for i, name in enumerate(equations.coordinates)}
    speeds = {u.data.name: i for i, u in enumerate(equations.system.speeds)}
    for start in starts:
        found = evaluate_all([as_expr(x) for x in (*start.places, *start.rates)], values)
        for s, value in zip((*start.coordinates, *start.speeds), found, strict=True):
            name = s.data.name
            if any(str(key) == name for key in named):
                raise ParameterError(
                    f"initial gives '{name}' a value, but start_mass_centre places the mass centre of "
                    f"'{start.body.name}'; leave '{name}' out, or give a whole state"
                )
            if any(s in (given.speed, given.coordinate) for given in equations.reduction.given.values()):
                raise ParameterError(
                    f"'{name}' is prescribed or locked, so the mass centre of '{start.body.name}' cannot be "
                    "placed by start_mass_centre"
                )
            if s in start.coordinates:
                q[coordinates[name]] = value
            else:
                u[speeds[name]] = value


MemoryValues = Mapping[str, float] | None


OnStart = Callable[[dict[str, float]], DataMapping | None]


def values_from_hook(
    model: ConfiguredProgram,
    function: OnStart | None,
    parameters: Mapping[str, float],
    initial: Initial,
    memory: MemoryValues,
    t0: float,
) -> tuple[Initial, MemoryValues]:
    """Return initial values and memory with the changes that ``function`` returns, in stated units."""
    if function is None:
        return initial, memory
    arguments.function(function, "on_start=")
    if model is not model.base:
        raise ArmillaryError(
            "on_start is a function of Python, which has no derivatives; give the initial values themselves "
            "to a run with sensitivities"
        )
    system = model.equations.system
    kept = {name: m for name, m in system.memories.items() if m.period is None and not m.hidden}
    stored = dict(zip(system.memories, initial_memory(model.equations, memory, t0), strict=True))
    values = {**parameters, **_initial_values(model, initial)}
    values |= {name: float(stored[name]) / m.factor for name, m in kept.items()}
    changes = function(dict(values))
    if changes is None:
        return initial, memory
    if not isinstance(changes, Mapping):
        raise ArmillaryError(
            f"on_start must return initial values by name, or None, not {type(changes).__name__}"
        )
    found = {str(name): value for name, value in changes.items()}
    moving = {s.data.name: s for s in system.moving()}
    for name in found:
        if name not in moving and name not in kept:
            hint = nearest(name, [*moving, *kept])
            if name in parameters:
                hint = "; it is a parameter: give it in parameters="
            raise ParameterError(f"on_start sets '{name}', which has no initial value{hint}")
    own = {name: value for name, value in found.items() if name in kept}
    rest = {name: value for name, value in found.items() if name not in kept}
    return _with_changes(model, initial, rest), {**(memory or {}), **own} if own else memory


def _initial_values(model: ConfiguredProgram, initial: Initial) -> dict[str, float]:
    """Return all initial values by name, in stated units."""
    system = model.equations.system
    symbols = {s.data.name: s for s in system.moving()}
    inside = {name: float(system.initial[s]) for name, s in symbols.items()}
    if isinstance(initial, Mapping):
        given = {str(name): value for name, value in initial.items()}
        known = {name: value for name, value in given.items() if name in symbols}  # others fail later
        inside |= {n: state_number(symbols[n], v, f"the initial value of '{n}'") for n, v in known.items()}
    elif initial is not None:
        order = model.equations.start_names
        inside |= dict(zip(order, vector(initial, len(order), "initial state").tolist(), strict=True))
    return {name: value / state_factor(symbols[name]) for name, value in inside.items() if name in symbols}


def _with_changes(model: ConfiguredProgram, initial: Initial, changes: DataMapping) -> Initial:
    if not changes:
        return initial
    if initial is None or isinstance(initial, Mapping):
        return {**{str(name): value for name, value in (initial or {}).items()}, **changes}
    order = model.equations.start_names
    symbols = {s.data.name: s for s in model.equations.system.moving()}
    state = vector(initial, len(order), "initial state")
    for name, value in changes.items():
        if name not in order:
            raise ParameterError(f"on_start sets '{name}', which is not part of the initial state")
        state[order.index(name)] = state_number(symbols[name], value, f"the initial value of '{name}'")
    found: Initial = state.tolist()
    return found
