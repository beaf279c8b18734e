"""The rates of a system's own coordinates and speeds by one of JPL's formulations.

The reference body's three angular speeds take ẇ_0, hinges and rotors their accelerations, modes theirs. Its
translation is not in JPL's programs; it follows from F/M and the motion of o_0 about the system's mass
centre.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr
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
from armillary.algebra.vectors import direction_cosines
from armillary.errors import ModelError
from armillary.mechanics.constraints.reduction import Reduction
from armillary.mechanics.tree.build import Reader
from armillary.model.bodies.motion import time_derivative
from armillary.model.description import Description
from armillary.model.joints import Drift
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


@dataclass(frozen=True, eq=False)
class AppendageRates:
    """Rates by index among the system's speeds, and the different modal states of MBDYFR.

    There ``states`` has the rates of modal coordinates and speeds, which are δ and η, while ``speeds`` has
    the second rates of the amplitudes that expressions mean; ``reduction`` reads expressions so. ``momentum``
    is the angular momentum about the mass centre in the ground's axes. ``torques`` are the torques of
    prescribed hinges by speed.
    """

    speeds: dict[int, Scalar]
    states: dict[Expr, Scalar]
    reduction: Reduction
    momentum: Triple
    torques: dict[Expr, Scalar]


def appendage_rates(system: Description, reduction: Reduction, name: str) -> AppendageRates:
    """All rates of a system by the formulation of this name."""
    formulation, read = FORMULATIONS[name], reader(reduction.plain)
    found = hinged_groups(system, read, name)
    _check_given(system, reduction, found, name)
    total = _total(found)
    turned = _complex_appendages(found, total) if formulation.complex_modes else {}
    for other in turned.values():
        reduction = replace(reduction, plain=reduction.plain.with_values(other.state_expressions(read)))
    loads = vehicle_loads(system, found, reader(reduction.plain))
    vehicle, order = _vehicle(reduction, found, total, turned, loads, system.armatures, read)
    solution = solve(vehicle, name)
    index = {u: i for i, u in enumerate(system.speeds)}
    speeds = _root_rates(system, found.groups[0], solution, formulation, read, index)
    hinges, rotors = iter(solution.hinges), iter(solution.rotors)
    torques: dict[Expr, Scalar] = {}
    for g in order:
        for step, torque in zip(found.groups[g].steps, _own(vehicle, solution, order, g), strict=True):
            speeds[index[step.speed]] = next(hinges)
            if step.speed in system.prescriptions:  # not what events lock: columns stay the same in a run
                torques[step.speed] = torque
    for g in order:
        for r in found.groups[g].rotors:
            speeds[index[found.groups[r].steps[0].speed]] = next(rotors)
    states = _modal_rates(found, order, turned, solution, speeds, index)
    axes = direction_cosines(system.ground.frame, found.groups[0].body.frame)
    momentum = matrix_vector(joined(joined(read(x) for x in row) for row in axes), solution.momentum)
    return AppendageRates(speeds, states, reduction, momentum, torques)


def _check_given(system: Description, reduction: Reduction, found: HingedGroups, formulation: str) -> None:
    hinged = {step.speed for group in found.groups for step in group.steps}
    for u in system.speeds:
        if u in reduction.given and u not in hinged:
            raise ModelError(
                f"formalism '{formulation}': the speed '{u}' is given, but only those of hinges and "
                "rotors can be; formalism='kane' or 'recursive' takes it"
            )
    for u in system.armatures:
        if u not in hinged:
            raise ModelError(
                f"formalism '{formulation}': the speed '{u}' has an armature, but only those of hinges can "
                "have one; formalism='kane' or 'recursive' takes it"
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
    turned: dict[str, ComplexAppendage],
    loads: VehicleLoads,
    armatures: Mapping[Expr, Scalar],
    read: Reader,
) -> tuple[Vehicle, list[int]]:
    """The vehicle, and the groups that are its substructures."""
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
                spinning_appendage(turned[body.name], place, group, pairs, read)
                if turned
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
    """Torques at a group's hinges."""
    return [
        torque for torque, (k, _) in zip(solution.hinge_torques, vehicle.hinges, strict=True) if order[k] == g
    ]


def _modal_rates(
    found: HingedGroups,
    order: list[int],
    turned: dict[str, ComplexAppendage],
    solution: VehicleSolution,
    speeds: dict[int, Scalar],
    index: dict[Expr, int],
) -> dict[Expr, Scalar]:
    """Return rates of modal states for complex modes; add the rates of modal speeds to ``speeds``."""
    bodies = [body for g in order for body in found.groups[g].flexible]
    states: dict[Expr, Scalar] = {}
    for body, gained in zip(bodies, solution.modes, strict=True):
        assert body.flex is not None
        flex = body.flex
        if body.name in turned:
            N = len(flex.speeds)
            delta, eta = gained[:N], gained[N:]
            states |= dict(zip(flex.coordinates, delta, strict=True))
            states |= dict(zip(flex.speeds, eta, strict=True))
            gained = turned[body.name].rate(delta, eta)
        speeds |= {index[u]: value for u, value in zip(flex.speeds, gained, strict=True)}
    return states
