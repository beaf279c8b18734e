"""FMUs that change their configuration: what their states are, and how fast these change.

The states of such an FMU are the motion: all coordinates, all speeds of the system and the user's own states.
They are the same in every configuration, while the states of its equations are some of them; a dependent or
locked speed follows from these. Rates of a motion x = leave(t, y) with ẏ = f(t, y) are

    ẋ = ∂leave/∂t + ∂leave/∂y · f
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.calculus import directional_derivatives
from armillary.algebra.expression import UNIT, Expr
from armillary.export.text.description import StateDescription, state_description
from armillary.export.text.source import Source
from armillary.program.configuration_changes import LEAVE
from armillary.program.formalisms.formalism import derivation
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.configurations.changes import ChangeCode, Changes


def every(source: Source) -> list[Source]:
    """All configurations."""
    return [source, *source.others]


def check_states(source: Source) -> None:
    """An error where the states of configurations are no part of a motion."""
    if source.changing:
        source.equations.check_use("FMU with locks")


@dataclass(frozen=True)
class ExchangedMotion:
    """The states of an FMU: descriptions, and of each configuration the places of its own states."""

    states: tuple[StateDescription, ...]
    places: tuple[tuple[int, ...], ...]


def motion_of(source: Source, values: Sequence[float], state: Sequence[float]) -> ExchangedMotion:
    """The motion of a system, with start values for some parameters, in the user's units, and some state of
    the first configuration.
    """
    equations = source.equations
    targets, system = equations.targets, equations.system
    found = [*targets.coordinates, *system.speeds, *targets.states]
    kinds = [
        *["coordinate"] * len(targets.coordinates),
        *["speed"] * len(system.speeds),
        *["state"] * len(targets.states),
    ]
    names = [s.data.name for s in found]
    model = compile_equations(equations, tier="quick")
    given = dict(zip((p.name for p in source.description.parameters), values, strict=True))
    changes = Changes(ChangeCode(equations.program), lambda: model.parameters_inside(given))
    memory = np.array([m.initial for m in source.description.memory])
    start = changes.leave(0.0, np.array(state), memory)[: len(found)]
    return ExchangedMotion(
        tuple(state_description(s, k, x) for s, k, x in zip(found, kinds, start.tolist(), strict=True)),
        tuple(tuple(names.index(s.data.name) for s in one.program.state) for one in every(source)),
    )


def motion_rates(source: Source) -> tuple[list[str], list[Expr]]:
    """Rates of the states of an FMU, with labels: of the motion where there are several configurations,
    without the speeds at its end that events set while they release them.
    """
    program = source.program
    leave = next((s for s in program.changes if s.name == LEAVE), None)
    if leave is None:
        return list(program.derivatives.labels), list(program.derivatives.results)
    along = dict(zip(program.state, program.derivatives.results, strict=True))
    with derivation():
        count = len(source.equations.motion_names)
        rates = directional_derivatives(list(leave.results[:count]), {program.time: UNIT, **along})
    return [f"rate of {label}" for label in leave.labels[:count]], list(rates)
