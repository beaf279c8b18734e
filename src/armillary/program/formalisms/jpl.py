"""The program of a system by one of JPL's formulations, MBDYFR, MBDYFN or MBDYFL.

In MBDYFR the values of a flexible body's coordinates and speeds are the states δ and η of its complex modes:
runs start from these states and show them. In expressions of the description, such as the motion of a node,
the symbols keep their meaning: amplitudes of the body's real shapes, and their rates.

The formulations give ẇ_0 of the reference body and the accelerations of hinges, rotors and modes. They leave
out translation, which follows from F/M and the motion of o_0, the reference body's undeformed mass centre,
relative to the mass centre of the system.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.functions import sqrt
from armillary.algebra.triples import (
    ZEROS,
    Scalar,
    Triple,
    add,
    cross_triples,
    double_cross,
    joined,
    matrix_vector,
    named,
    negative,
)
from armillary.algebra.units import MOMENT, TIME
from armillary.algebra.vectors import direction_cosines
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Configuration, Reduction, reduce_system
from armillary.mechanics.tree.build import Reader
from armillary.model.bodies.motion import time_derivative
from armillary.model.description import Description
from armillary.model.joints import Drift
from armillary.model.signals import state_rates
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import Derivation, Formalism
from armillary.program.formalisms.jpl_appendages import (
    ComplexAppendage,
    appendage,
    complex_appendage,
    spinning_appendage,
)
from armillary.program.formalisms.jpl_formulations import FORMULATIONS, Formulation, VehicleSolution, solve
from armillary.program.formalisms.jpl_substructures import (
    HingedGroup,
    HingedGroups,
    VehicleLoads,
    hinged_groups,
    reader,
    vehicle_loads,
)
from armillary.program.formalisms.jpl_vehicle import Hinge, Rotor, Substructure, Vehicle, VehicleAppendage
from armillary.program.targets.targets import OutputColumn, Targets, targets


def derive_appendages(d: Derivation) -> DerivedEquations:
    """Derive equations by one of the formulations."""
    wanted, reduction = appendage_targets(d.system, d.configuration, d.formalism.name)
    d.clock.stage(d.formalism.name)
    return d.finish(wanted, reduction, {"small": False})


def _formulation(name: str, *, partial_modes: bool = False) -> Formalism:
    judgement = (
        f"formalism '{name}' drops only the terms that JPL's program drops; use formalism='kane' or "
        "'recursive', or derive(small=False)"
    )
    return Formalism(name, "jpl", derive_appendages, judgement=judgement, partial_modes=partial_modes)


MBDYFR = _formulation("mbdyfr", partial_modes=True)
MBDYFN, MBDYFL = map(_formulation, ("mbdyfn", "mbdyfl"))


def appendage_targets(
    system: Description, configuration: Configuration, formalism: str
) -> tuple[Targets, Reduction]:
    """Return the root expressions of all sections, and the reduction from which they were made."""

    reduction = reduce_system(system, Undimensioned(), configuration)
    appendages = appendage_rates(system, reduction, formalism)
    tree_targets = targets(system, appendages.speeds, appendages.reduction)
    coordinates = reduction.coordinates(system)
    free = reduction.independent(system)
    rates = list(tree_targets.rates)
    states = [*coordinates, *free, *state_rates(system)]
    for i, state in enumerate(states):
        if state in appendages.states:
            rates[i] = as_expr(appendages.states[state])
    _check_events(system, appendages, formalism)
    first = len(tree_targets.memory)
    fires = [
        (
            *fire[:first],
            *(
                _state_after_event(s, value, appendages, reduction)
                for s, value in zip(states, fire[first:], strict=True)
            ),
        )
        for fire in tree_targets.fires
    ]
    own = {s.data.name: reduction.plain(s) for s in appendages.states}
    columns = [replace(c, expression=own.get(c.name, c.expression)) for c in tree_targets.columns]
    taken = {c.name for c in columns}
    columns += [c for c in _vehicle_columns(system, appendages) if c.name not in taken]
    return (
        replace(
            tree_targets,
            coordinates=tuple(reduction.plain(q) for q in coordinates),
            speeds=tuple(reduction.plain(u) for u in free),
            rates=tuple(rates),
            columns=tuple(columns),
            fires=tuple(fires),
        ),
        reduction,
    )


def _check_events(system: Description, found: AppendageRates, formalism: str) -> None:
    """Raise an error for events that would change complex modes, whose states are not speeds."""
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
    """Return a state after an event, which does not change complex modes."""
    return reduction.plain(state) if state in found.states else value


def _vehicle_columns(system: Description, found: AppendageRates) -> list[OutputColumn]:
    """Return the columns of the angular momentum, and of torques at prescribed hinges."""
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


@dataclass(frozen=True, eq=False)
class AppendageRates:
    """The rates of a system; ``speeds`` has the rates of speeds by index among the system's speeds.

    In MBDYFR ``states`` has the rates of δ and η, by the modal coordinates and speeds of the description,
    while ``speeds`` has the second derivatives of the amplitudes; ``reduction`` converts expressions
    accordingly. ``momentum`` is the angular momentum about the mass centre in the ground's axes. ``torques``
    are the torques at prescribed hinges by speed.
    """

    speeds: dict[int, Scalar]
    states: dict[Expr, Scalar]
    reduction: Reduction
    momentum: Triple
    torques: dict[Expr, Scalar]


def appendage_rates(system: Description, reduction: Reduction, name: str) -> AppendageRates:
    """Return all rates of a system by the formulation of this name."""
    formulation, read = FORMULATIONS[name], reader(reduction.plain)
    mechanism = hinged_groups(system, read, name)
    _check_given(system, reduction, mechanism, name)
    total = _total(mechanism)
    complex_appendages = _complex_appendages(mechanism, total) if formulation.complex_modes else {}
    for other in complex_appendages.values():
        reduction = replace(reduction, plain=reduction.plain.with_values(other.state_expressions(read)))
    loads = vehicle_loads(system, mechanism, reader(reduction.plain))
    vehicle, order = _vehicle(reduction, mechanism, total, complex_appendages, loads, system.armatures, read)
    solution = solve(vehicle, name)
    index = {u: i for i, u in enumerate(system.speeds)}
    speeds = _root_rates(system, mechanism.groups[0], solution, formulation, read, index)
    hinges, rotors = iter(solution.hinges), iter(solution.rotors)
    torques: dict[Expr, Scalar] = {}
    for g in order:
        for step, torque in zip(mechanism.groups[g].steps, _own(vehicle, solution, order, g), strict=True):
            speeds[index[step.speed]] = next(hinges)
            if step.speed in system.prescriptions:  # not for locked speeds: columns must not change in a run
                torques[step.speed] = torque
    for g in order:
        for r in mechanism.groups[g].rotors:
            speeds[index[mechanism.groups[r].steps[0].speed]] = next(rotors)
    states = _modal_rates(mechanism, order, complex_appendages, solution, speeds, index)
    axes = direction_cosines(system.ground.frame, mechanism.groups[0].body.frame)
    momentum = matrix_vector(joined(joined(read(x) for x in row) for row in axes), solution.momentum)
    return AppendageRates(speeds, states, reduction, momentum, torques)


def _check_given(system: Description, reduction: Reduction, found: HingedGroups, formulation: str) -> None:
    hinged = {step.speed for group in found.groups for step in group.steps}
    for u in system.speeds:
        if u in reduction.given and u not in hinged:
            raise ModelError(
                f"formalism '{formulation}': the speed '{u}' is given, but only speeds of hinges and "
                "rotors can be given; use formalism='kane' or 'recursive'"
            )
    for u in system.armatures:
        if u not in hinged:
            raise ModelError(
                f"formalism '{formulation}': the speed '{u}' has an armature, but only speeds of hinges can "
                "have one; use formalism='kane' or 'recursive'"
            )


def _total(found: HingedGroups) -> Scalar:
    total: Scalar = 0
    for group in found.groups:
        if group.axial is None:
            total = total + group.mass
    return total


def _complex_appendages(found: HingedGroups, total: Scalar) -> dict[str, ComplexAppendage]:
    return {body.name: complex_appendage(body, total) for group in found.groups for body in group.flexible}


def _vehicle(
    reduction: Reduction,
    found: HingedGroups,
    total: Scalar,
    complex_ones: dict[str, ComplexAppendage],
    loads: VehicleLoads,
    armatures: Mapping[Expr, Scalar],
    read: Reader,
) -> tuple[Vehicle, list[int]]:
    """Return the vehicle, and the groups that are its substructures."""
    order = [g for g, group in enumerate(found.groups) if group.axial is None]
    number = {g: k for k, g in enumerate(order)}
    parts = []
    for g in order:
        group = found.groups[g]
        inboard = group.parent
        back = found.groups[inboard].centre if inboard >= 0 else ZEROS
        appendages: list[VehicleAppendage] = []
        for body in group.flexible:
            place, pairs = found.placements[body.name], loads.nodes.get(body.name, {})
            appendages.append(
                spinning_appendage(complex_ones[body.name], place, group, pairs, read)
                if complex_ones
                else appendage(body, place, group, total, pairs, read)
            )
        parts.append(
            Substructure(
                group.name,
                group.mass,
                group.central_inertia,
                number.get(inboard, -1),
                tuple(
                    _hinge(
                        reduction, group, h, loads.hinges.get((g, h), 0), armatures.get(step.speed, 0), read
                    )
                    for h, step in enumerate(group.steps)
                ),
                add(group.place, negative(back)),
                negative(group.centre),
                group.turned,
                tuple(appendages),
                tuple(
                    _rotor(reduction, found.groups[r], loads.hinges.get((r, 0), 0), read)
                    for r in group.rotors
                ),
                loads.torques.get(g, ZEROS),
                loads.forces.get(g, ZEROS),
            )
        )
    drift = found.groups[0].body.assembly.steps[0]
    assert isinstance(drift, Drift)
    spin: Triple = joined(read(drift.angular[i]) for i in range(3))
    return Vehicle(tuple(parts), spin), order


def _hinge(
    reduction: Reduction, group: HingedGroup, h: int, torque: Scalar, armature: Scalar, read: Reader
) -> Hinge:
    step = group.steps[h]
    name = step.speed.data.name
    return Hinge(
        group.axes[h], read(step.angle), read(step.speed), fn.named(torque, f"tau_{name}"),
        _given_acceleration(reduction, step.speed, read), name, read(armature),
    )  # fmt: skip


def _rotor(reduction: Reduction, group: HingedGroup, torque: Scalar, read: Reader) -> Rotor:
    speed = group.steps[0].speed
    assert group.axial is not None
    return Rotor(group.axes[0], group.axial, read(speed), torque, _given_acceleration(reduction, speed, read))


def _given_acceleration(reduction: Reduction, speed: Expr, read: Reader) -> Scalar | None:
    given = reduction.given.get(speed)
    return None if given is None else read(time_derivative(given.value))


def _root_rates(
    system: Description,
    group: HingedGroup,
    solution: VehicleSolution,
    formulation: Formulation,
    read: Reader,
    index: dict[Expr, int],
) -> dict[int, Scalar]:
    drift = group.body.assembly.steps[0]
    assert isinstance(drift, Drift)
    w: Triple = joined(read(drift.angular[i]) for i in range(3))
    rates = {index[drift.angular[i]]: solution.spin[i] for i in range(3)}
    arm = negative(group.centre)
    a = add(solution.origin, cross_triples(solution.spin, arm))
    if formulation.rate_products:
        a = add(a, double_cross(w, arm))
    a = named(a, f"a_{group.name}")
    if drift.velocity == "body":
        v: Triple = joined(read(drift.linear[i]) for i in range(3))
        a = add(a, negative(cross_triples(w, v)))
    else:
        axes = direction_cosines(system.ground.frame, group.body.frame)
        a = matrix_vector(joined(joined(read(x) for x in row) for row in axes), a)
    return rates | {index[drift.linear[i]]: a[i] for i in range(3)}


def _own(vehicle: Vehicle, solution: VehicleSolution, order: list[int], g: int) -> list[Scalar]:
    """Return the torques at a group's hinges."""
    return [
        torque for torque, (k, _) in zip(solution.hinge_torques, vehicle.hinges, strict=True) if order[k] == g
    ]


def _modal_rates(
    found: HingedGroups,
    order: list[int],
    complex_ones: dict[str, ComplexAppendage],
    solution: VehicleSolution,
    speeds: dict[int, Scalar],
    index: dict[Expr, int],
) -> dict[Expr, Scalar]:
    """Return the rates of the states of complex modes; add the rates of modal speeds to ``speeds``."""
    bodies = [body for g in order for body in found.groups[g].flexible]
    states: dict[Expr, Scalar] = {}
    for body, gained in zip(bodies, solution.modes, strict=True):
        assert body.flex is not None
        flex = body.flex
        if body.name in complex_ones:
            N = len(flex.speeds)
            delta, eta = gained[:N], gained[N:]
            states |= dict(zip(flex.coordinates, delta, strict=True))
            states |= dict(zip(flex.speeds, eta, strict=True))
            gained = complex_ones[body.name].rate(delta, eta)
        speeds |= {index[u]: value for u, value in zip(flex.speeds, gained, strict=True)}
    return states
