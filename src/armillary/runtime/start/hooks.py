"""A function of the user's that is called at the start of a run: it sees all values and may change some.

Source: Sayers (1990), Appendix A, add-subroutine with where = init.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from armillary.algebra import arguments
from armillary.errors import ArmillaryError, ParameterError, nearest
from armillary.model.units import state_factor
from armillary.runtime.start.initial import initial_memory, state_number, vector
from armillary.settings import Initial
from armillary.untyped import DataMapping

if TYPE_CHECKING:
    from armillary.runtime.models.programs.configured_program import ConfiguredProgram

Memory = Mapping[str, float] | None
OnStart = Callable[[dict[str, float]], DataMapping | None]


def values_from_hook(
    model: ConfiguredProgram,
    function: OnStart | None,
    parameters: Mapping[str, float],
    initial: Initial,
    memory: Memory,
    t0: float,
) -> tuple[Initial, Memory]:
    """Initial values and memory of a run as ``function`` leaves them, in stated units; as they are without
    one.
    """
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
    return _changed(model, initial, rest), {**(memory or {}), **own} if own else memory


def _initial_values(model: ConfiguredProgram, initial: Initial) -> dict[str, float]:
    """All initial values by name, in stated units."""
    system = model.equations.system
    symbols = {s.data.name: s for s in system.moving()}
    inside = {name: float(system.initial[s]) for name, s in symbols.items()}
    if isinstance(initial, Mapping):
        given = {str(name): value for name, value in initial.items()}
        known = {name: value for name, value in given.items() if name in symbols}  # others are reported later
        inside |= {n: state_number(symbols[n], v, f"the initial value of '{n}'") for n, v in known.items()}
    elif initial is not None:
        order = model.equations.start_names
        inside |= dict(zip(order, vector(initial, len(order), "initial state").tolist(), strict=True))
    return {name: value / state_factor(symbols[name]) for name, value in inside.items() if name in symbols}


def _changed(model: ConfiguredProgram, initial: Initial, changes: DataMapping) -> Initial:
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
