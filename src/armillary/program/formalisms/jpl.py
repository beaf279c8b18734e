"""The program of a system by one of JPL's formulations, MBDYFR, MBDYFN or MBDYFL.

In MBDYFR a flexible body's coordinates and speeds are the states δ and η of its complex modes: runs start
from these and show them. In every expression of the description, such as the motion of a node, they keep
their meaning: amplitudes of the body's own shapes, and their rates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.functions import sqrt
from armillary.algebra.units import MOMENT, TIME
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Configuration, Reduction, reduce_system
from armillary.model.description import Description
from armillary.model.signals.signals import state_rates
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import Derivation, Formalism
from armillary.program.targets.targets import OutputColumn, Targets, targets

if TYPE_CHECKING:
    from armillary.program.formalisms.jpl_rates import AppendageRates


def derive_appendages(d: Derivation) -> DerivedEquations:
    """Equations by one of the formulations."""
    wanted, reduction = appendage_targets(d.system, d.configuration, d.formalism.name)
    d.clock.stage(d.formalism.name)
    return d.finish(wanted, reduction, {"small": False})


def _formulation(name: str, *, partial_modes: bool = False) -> Formalism:
    judgement = (
        f"formalism '{name}' drops what JPL's program drops, nothing else; use formalism='kane' or "
        "'recursive', or derive(small=False)"
    )
    return Formalism(name, "jpl", derive_appendages, judgement=judgement, partial_modes=partial_modes)


MBDYFR = _formulation("mbdyfr", partial_modes=True)
MBDYFN, MBDYFL = map(_formulation, ("mbdyfn", "mbdyfl"))


def appendage_targets(
    system: Description, configuration: Configuration, formalism: str
) -> tuple[Targets, Reduction]:
    """Root expressions of all sections, with the setting that they were read in."""
    from armillary.program.formalisms.jpl_rates import appendage_rates  # takes 50 ms, when it is used

    reduction = reduce_system(system, Undimensioned(), configuration)
    found = appendage_rates(system, reduction, formalism)
    wanted = targets(system, found.speeds, found.reduction)
    coordinates = reduction.coordinates(system)
    free = reduction.independent(system)
    rates = list(wanted.rates)
    states = [*coordinates, *free, *state_rates(system)]
    for i, state in enumerate(states):
        if state in found.states:
            rates[i] = as_expr(found.states[state])
    _check_events(system, found, formalism)
    first = len(wanted.memory)
    fires = [
        (
            *fire[:first],
            *(
                _state_after_event(s, value, found, reduction)
                for s, value in zip(states, fire[first:], strict=True)
            ),
        )
        for fire in wanted.fires
    ]
    own = {s.data.name: reduction.plain(s) for s in found.states}
    columns = [replace(c, expression=own.get(c.name, c.expression)) for c in wanted.columns]
    taken = {c.name for c in columns}
    columns += [c for c in _columns(system, found) if c.name not in taken]
    return (
        replace(
            wanted,
            coordinates=tuple(reduction.plain(q) for q in coordinates),
            speeds=tuple(reduction.plain(u) for u in free),
            rates=tuple(rates),
            columns=tuple(columns),
            fires=tuple(fires),
        ),
        reduction,
    )


def _check_events(system: Description, found: AppendageRates, formalism: str) -> None:
    """Errors for events that would change complex modes, whose states are not speeds."""
    for event in system.events.values():
        for state in event.changes:
            if state in found.states:
                raise ModelError(
                    f"event '{event.name}' sets '{state}', which is a state of complex modes in formalism "
                    f"'{formalism}'; it cannot be set"
                )
        if event.lock and found.states:
            raise ModelError(
                f"event '{event.name}' locks '{event.lock[0]}', whose impulse would change the complex modes "
                f"of formalism '{formalism}'; use formalism='kane', 'recursive' or 'mbdyfn'"
            )


def _state_after_event(state: Expr, value: Expr, found: AppendageRates, reduction: Reduction) -> Expr:
    """Return a state after an event: complex modes stay unchanged."""
    return reduction.plain(state) if state in found.states else value


def _columns(system: Description, found: AppendageRates) -> list[OutputColumn]:
    """The angular momentum, and torques of prescribed hinges."""
    units, about = system.units.unit_text(MOMENT * TIME), "about the system's mass centre"
    H = [as_expr(x) for x in found.momentum]
    size = sqrt(as_expr(sum((x * x for x in H), as_expr(0))))
    made = [OutputColumn("angular momentum", units, f"magnitude of the angular momentum {about}", size)]
    made += [
        OutputColumn(
            f"angular momentum {axis}", units, f"angular momentum {about}, along the ground's {axis}", x
        )
        for axis, x in zip("xyz", H, strict=True)
    ]
    torque = system.units.unit_text(MOMENT)
    return made + [
        OutputColumn(f"torque({u.data.name})", torque, f"torque that gives {u.data.name}", as_expr(value))
        for u, value in found.torques.items()
    ]
