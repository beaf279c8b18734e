"""Units of parameters that the user left out, deduced from where they stand (Sayers 1990, Table 9.1.1)."""

from __future__ import annotations

from armillary.algebra.deduction import deduce
from armillary.algebra.expression import Expr
from armillary.algebra.units import (
    ACCELERATION,
    ENERGY,
    FORCE,
    INERTIA,
    LENGTH,
    MASS,
    MOMENT,
    SPEED,
    Dimension,
    parse_unit,
)
from armillary.model.description import Description
from armillary.model.signals.states import rate_dimension
from armillary.model.space.attraction import GRAVITATION


def parameter_units(system: Description) -> dict[str, str]:
    """Units of every parameter, stated or deduced; empty where unknown. Contradictions are errors."""
    found = parameter_dimensions(system)
    return {
        name: node.data.units or (system.units.unit_text(found[node]) if node in found else "")
        for name, node in system.parameters.items()
    }


def parameter_dimensions(system: Description) -> dict[Expr, Dimension]:
    """Dimensions of the symbols that were given none, as far as they can be deduced."""
    return deduce(_demands(system))


def _demands(system: Description) -> list[tuple[Expr, Dimension | None, str]]:
    """Expressions with the dimensions that their places require."""
    demands: list[tuple[Expr, Dimension | None, str]] = []
    for body in system.bodies.values():
        demands.append((body.mass, MASS, f"mass of body '{body.name}'"))
        demands += [(e, INERTIA, f"inertia of body '{body.name}'") for row in body.inertia for e in row]
        demands += [(e, LENGTH, f"mass centre of body '{body.name}'") for e in body.com_coordinates]
        demands += [(e, LENGTH, f"place of body '{body.name}'") for e in body.at]
    for gravity in system.gravities:
        demands.append((gravity.magnitude, ACCELERATION, "gravity"))
    demands += _space_demands(system)
    for load in system.loads.values():
        demands.append(
            (load.magnitude, FORCE if load.kind == "force" else MOMENT, f"{load.kind} '{load.name}'")
        )
    for output in system.outputs.values():
        wanted = parse_unit(output.units).dimension if output.units else None
        demands.append((output.expression, wanted, f"output '{output.name}'"))
    for memory in system.memories.values():
        if memory.update is not None:
            demands.append(
                (memory.update, memory.symbol.dimension, f"update of memory '{memory.symbol.name}'")
            )
    for state in system.states.values():
        if state.rate is not None:
            demands.append((state.rate, rate_dimension(state.symbol), f"rate of state '{state.symbol.name}'"))
    for event in system.events.values():
        demands.append((event.expression, None, f"event '{event.name}'"))
        for target, value in event.changes.items():
            demands.append((value, target.dimension, f"event '{event.name}', new value of '{target.name}'"))
    for given in system.prescriptions.values():
        demands.append((given.value, given.speed.dimension, f"prescribed speed '{given.speed.name}'"))
    for speed, inertia in system.armatures.items():
        if speed.dimension is not None:
            wanted = ENERGY / (speed.dimension * speed.dimension)
            demands.append((inertia, wanted, f"armature of '{speed.name}'"))
    return demands


def _space_demands(system: Description) -> list[tuple[Expr, Dimension | None, str]]:
    demands: list[tuple[Expr, Dimension | None, str]] = []
    for attractor in system.attractors.values():
        where = f"attractor '{attractor.name}'"
        demands.append((attractor.mu, GRAVITATION, f"mu of {where}"))
        demands += [(x, LENGTH, f"'at' of {where}") for x in attractor.place]
        if attractor.radius is not None:
            demands.append((attractor.radius, LENGTH, f"radius of {where}"))
    for name, (place, rate) in system.centres.items():
        demands += [(x, LENGTH, f"position in start_mass_centre of body '{name}'") for x in place]
        demands += [(x, SPEED, f"velocity in start_mass_centre of body '{name}'") for x in rate]
    return demands
