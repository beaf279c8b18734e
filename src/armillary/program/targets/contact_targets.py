"""Contacts without compliance: one set of equations of motion for all their statuses.

Loads contain the forces λ of contacts as symbols, so the derived accelerations are u̇(λ) = u̇₀ + D λ, with
D = ∂u̇/∂λ = M⁻¹ Jᵀ in every formalism, also under constraints. The relative accelerations at contacts are

    z = A λ + b        A = J D        b = J u̇₀ + J̇ u

λ follows from A, b and the statuses, which are memories of the run (``mechanics/contact``). So one derivation
serves all combinations of statuses. A is not written out: the solver of contacts takes J and D, for any
number of contacts.

``contact_drift`` removes the drift of closed contacts after each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.calculus import directional_derivatives
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr
from armillary.algebra.triples import Scalar, plus, times, total
from armillary.algebra.units import ONE
from armillary.algebra.walk import Undimensioned, symbols, transform
from armillary.mechanics.constraints.loop_closing import Sizes, speed_kind, unit_sizes
from armillary.mechanics.constraints.reduction import Reduction
from armillary.mechanics.contact.blocks import ContactBlock, ContactShape
from armillary.mechanics.contact.decision import ContactRows, Loads, decide
from armillary.mechanics.contact.few_rows import (
    MOST_ROWS,
    bound_few_normals,
    few_force_sizes,
    find_few_forces,
    inverse_if,
    share_few_forces,
)
from armillary.mechanics.contact.state import (
    BACK_IN_PLANE,
    CANCELLED,
    CREEP,
    DRIFT,
    GENTLE,
    LEAST,
    ROUNDED,
    SLOW,
    STILL_IN_PLANE,
    TICK,
    TURNING,
    UNNOTICED,
    UNSEEN,
    WEAK,
    ContactState,
    term_sizes,
)
from armillary.model.description import (
    AMBIGUOUS,
    ENDS_STATUS,
    FAILED,
    FINDS_LOWEST,
    JAMMED,
    WITHOUT_REBOUND,
    Description,
    EventRecord,
    RigidContact,
)
from armillary.program.targets.contact_drift import remove_drift


@dataclass(frozen=True, eq=False)
class ContactGeometry:
    """A contact or brake as a constraint: its status, its gap and the velocities of its rows."""

    status: Expr
    gap: Expr | None
    closing: Expr | None
    sliding: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class ContactTargets:
    """The targets of contacts.

    ``rates`` has the rates of all speeds by index, ``forces`` the forces by their symbols, and ``guards`` the
    functions of the ``events``. ``changes`` has the new values of memories and speeds after such an event,
    and ``corrected`` the coordinates and speeds after the removal of drift.
    """

    rates: dict[int, Expr]
    forces: dict[Expr, Expr]
    events: tuple[EventRecord, ...]
    guards: tuple[Expr, ...]
    changes: dict[Expr, Expr]
    geometry: tuple[ContactGeometry, ...]
    corrected: dict[Expr, Expr]

    @property
    def statuses(self) -> tuple[Expr, ...]:
        return tuple(contact.status for contact in self.geometry)


@dataclass(frozen=True, eq=False)
class _Row:
    """A row: the symbol of its force, its velocity and its acceleration."""

    force: Expr
    velocity: Expr
    acceleration: Expr


def contact_targets(
    system: Description, rates: Mapping[int, Scalar], reduction: Reduction
) -> ContactTargets | None:
    """Return the targets of contacts in a system whose speeds have these rates; None without contacts."""
    if not system.contacts:
        return None
    plain = reduction.plain
    rows, places = _rows(system, plain)
    speeds = list(rates)
    given = [as_expr(rates[i]) for i in speeds]
    free_rates = transform(given, {row.force: ZERO for row in rows}.get)
    unknown = [plain(system.accelerations[system.speeds[i]]) for i in speeds]
    J = [directional_derivatives([row.acceleration for row in rows], {a: UNIT}) for a in unknown]
    moving = [s for s, column in enumerate(J) if any(x is not ZERO for x in column)]
    D = [directional_derivatives(given, {row.force: UNIT}) for row in rows]
    shape = ContactShape(places, len(moving))
    matrices = ContactRows(
        [fn.named(J[s][i], "contact_row") for i in range(len(rows)) for s in moving],
        [fn.named(D[i][s], "contact_column") for i in range(len(rows)) for s in moving],
        ContactBlock("contact_rates", shape),
        ContactBlock("contact_forces", shape),
        ContactBlock("contact_problem", shape),
        ContactBlock("contact_problem", ContactShape(_apart(places), len(moving))),
    )
    loose = dict(zip(unknown, free_rates, strict=True))
    b = [fn.named(x, "contact_free") for x in transform([row.acceleration for row in rows], loose.get)]
    velocities = [fn.named(row.velocity, "contact_velocity") for row in rows]

    def sized_states(driven: Sequence[Scalar], pushed: Sequence[Scalar]) -> list[ContactState]:
        return _states(
            system,
            plain,
            places,
            b,
            velocities,
            [[J[s][i] for s in moving] for i in range(len(rows))],
            D,
            [system.speeds[i] for i in speeds],
            free_rates,
            moving,
            driven,
            pushed,
        )

    none = [0] * len(moving)
    states = sized_states(none, none)
    held, weight, offset = _held_rows(states, len(rows))
    symmetric = _act_alone(system)
    forces = _find_forces(matrices, states, b, held, weight, offset, symmetric=symmetric)
    loads, row_forces, sizes = forces.loads, forces.forces, forces.sizes
    brakes = [i for normal, slip in places if normal is None for i in slip]
    if len(places) > 1:  # forces of brakes are loads for the other contacts
        driven = [total([times(D[i][s], row_forces[i]) for i in brakes]) for s in moving]
        states = sized_states(driven if len(brakes) < len(rows) else none, forces.changes)
    order = {s: k for k, s in enumerate(moving)}

    def change(k: int, loads: Loads) -> Scalar:
        """Return the change of speed k by loads; the solver gives this change for the moving speeds."""
        if k in order:
            return loads.changes[order[k]]
        return total([times(d[k], x) for d, x in zip(D, loads.forces, strict=True)])

    with_forces = {i: as_expr(plus(free_rates[k], change(k, loads))) for k, i in enumerate(speeds)}

    position_of = {i: k for k, i in enumerate(speeds)}
    independent = [(plain(u), position_of[system.speeds.index(u)]) for u in reduction.independent(system)]

    def speeds_after(impulses: Loads) -> dict[Expr, Expr]:
        return {u: as_expr(plus(u, change(k, impulses))) for u, k in independent}

    def rows_after(impulses: Loads) -> tuple[list[Expr], list[Expr]]:
        # Speeds are made intermediate values, since each row would repeat the sums of impulses of its speeds.
        new = {u: fn.named(x, "contact_kicked") for u, x in speeds_after(impulses).items() if x is not u}
        after = transform([*b, *velocities], new.get) if new else [*b, *velocities]
        return after[: len(b)], after[len(b) :]

    contacts = system.contacts.values()
    law = next((c.law for c in contacts if c.push is not None), "newton")
    most = [
        fn.named(as_expr(state.jam_bound(x)), "contact_most")
        for state, x in zip(states, forces.most, strict=True)
    ]
    jams = [_jams(state, row_forces, x) for state, x in zip(states, most, strict=True)]
    made = decide(matrices, states, velocities, plain(system.time), law, rows_after, jams)
    spoiled = fn.sqrt(times(-1, as_expr(made.failed)))  # NaN if no outcome is admissible
    changes = {u: as_expr(plus(x, spoiled)) for u, x in speeds_after(made.impulses).items()}
    changes |= {m: as_expr(fn.select(made.failed, m, x)) for m, x in made.memories.items()}
    changes |= {
        plain(c.size): as_expr(state.length)
        for c, state in zip(contacts, states, strict=True)
        if c.size is not None
    }
    failed = plain(system.memories[FAILED].symbol)
    changes[failed] = as_expr(fn.maximum(failed, made.failed))
    counted = {AMBIGUOUS: made.ambiguous, JAMMED: made.jammed, WITHOUT_REBOUND: made.without_rebound}
    for name, happens in counted.items():
        count = plain(system.memories[name].symbol)
        changes[count] = as_expr(plus(count, fn.select(happens, 1, 0)))
    events, guards = _events(states, row_forces, sizes, most)
    corrected = remove_drift(system, reduction, matrices, states, velocities, change, speeds, independent)
    return ContactTargets(
        with_forces,
        {row.force: x for row, x in zip(rows, row_forces, strict=True)},
        events,
        guards,
        changes,
        tuple(
            ContactGeometry(
                state.status,
                None if c.gap is None else plain(c.gap),
                None if state.normal is None else rows[state.normal].velocity,
                tuple(rows[row].velocity for row in state.slip),
            )
            for c, state in zip(contacts, states, strict=True)
        ),
        corrected,
    )


def _apart(places: Sequence[tuple[int | None, tuple[int, ...]]]) -> list[tuple[int | None, tuple[int, ...]]]:
    """Return the normal rows and then the slip rows of all contacts, as if they were separate contacts."""
    normals: list[tuple[int | None, tuple[int, ...]]] = [(n, ()) for n, _ in places if n is not None]
    return normals + [(None, slip) for _, slip in places if slip]


def decision_event(system: Description) -> str:
    """Return the name of one event of contacts: every such event decides on all contacts."""
    first = next(iter(system.contacts.values()))
    return f"{first.name}_grip" if first.gap is None else f"{first.name}_touch"


def _rows(
    system: Description, plain: Undimensioned
) -> tuple[list[_Row], list[tuple[int | None, tuple[int, ...]]]]:
    """Return the rows of all contacts, and for each contact the rows of its normal and its slip."""
    rows: list[_Row] = []
    places: list[tuple[int | None, tuple[int, ...]]] = []
    for c in system.contacts.values():
        normal = None
        if c.push is not None:
            assert c.closing is not None and c.closing_rate is not None
            normal = len(rows)
            rows.append(_Row(plain(c.push), plain(c.closing), plain(c.closing_rate)))
        first = len(rows)
        for drag, speed, rate in zip(c.drag, c.sliding, c.sliding_rate, strict=True):
            rows.append(_Row(plain(drag), plain(speed), plain(rate)))
        places.append((normal, tuple(range(first, len(rows)))))
    return rows, places


def _states(
    system: Description,
    plain: Undimensioned,
    places: Sequence[tuple[int | None, tuple[int, ...]]],
    free: Sequence[Expr],
    velocities: Sequence[Expr],
    J: Sequence[Sequence[Expr]],
    D: Sequence[Sequence[Expr]],
    speeds: Sequence[Expr],
    rates: Sequence[Expr],
    moving: Sequence[int],
    driven: Sequence[Scalar],
    pushed: Sequence[Scalar],
) -> list[ContactState]:
    """Return the states of contacts without dimensions, with thresholds from sizes in this run.

    ``rates`` of the ``speeds`` exclude forces of contacts. J has columns for the ``moving`` speeds alone. For
    these speeds, ``driven`` are the rates by forces of brakes alone, and ``pushed`` those by forces of all
    contacts. These may be the only load of a contact: a slope on which a body rests pushes it against a wall.
    Drift is removed in each step, before these forces are known, so its threshold is without them. Velocities
    and accelerations of a contact may be small differences of large terms, as for two bodies that fall
    together. So sizes are sums of magnitudes, Σ |J| |u| and Σ |J| |u̇|.
    """
    units = unit_sizes(system)
    every_quick = [fn.named(fn.absolute(plain(u)), "contact_speed") for u in speeds]
    quick = [every_quick[s] for s in moving]
    turning = [k for k, s in enumerate(moving) if speed_kind(speeds[s]) == ONE]
    instant = fn.absolute(plain(system.time))
    # An acceleration is negligible if it would move a contact by UNSEEN of its length in the time of the run.
    squared = fn.named(times(instant, instant), "contact_time_squared")
    later = squared > 0
    since = fn.select(later, squared, 1)
    quickness = [
        fn.named(plus(fn.absolute(rates[s]), fn.absolute(x)), "contact_rate")
        for s, x in zip(moving, driven, strict=True)
    ]
    states = []
    for c, (normal, slip) in zip(system.contacts.values(), places, strict=True):
        own = [*(() if normal is None else (normal,)), *slip]
        reach = [total([fn.absolute(J[row][k]) for row in own]) for k in range(len(moving))]
        hard = total([fn.absolute(free[row]) for row in own])
        hard = plus(hard, total([times(r, a) for r, a in zip(reach, quickness, strict=True)]))
        push = total([times(r, fn.absolute(x)) for r, x in zip(reach, pushed, strict=True)])
        speed_changes: tuple[tuple[Scalar, Scalar], ...] = ()
        if normal is None:  # add the acceleration by the brake's own force
            assert c.friction is not None and c.held is not None
            capacity = fn.maximum(plain(c.friction), plain(c.held))
            acting = [times(x, D[own[0]][s]) for x, s in zip(J[own[0]], moving, strict=True)]
            hard = plus(hard, times(capacity, total(acting)))
            changes = [fn.absolute(d) for d in D[own[0]]]
            gains = [plus(fn.absolute(a), times(capacity, d)) for a, d in zip(rates, changes, strict=True)]
            speed_changes = tuple(
                (d, times(UNNOTICED, plus(u, times(instant, gain))))
                for d, u, gain in zip(changes, every_quick, gains, strict=True)
                if d is not ZERO
            )
            # A brake has no geometry: its length is its motion by ``hard`` in about a tenth of the time.
            length, pace = times(0.01, times(hard, squared)), times(0.1, times(hard, instant))
            own_pace = pace
        else:
            length = _length(c, plain, units, [reach[s] for s in turning])
            pace = fn.sqrt(as_expr(times(length, plus(hard, push))))
            own_pace = fn.sqrt(as_expr(times(length, hard)))
        still, back = (STILL_IN_PLANE, BACK_IN_PLANE) if len(slip) > 1 else (SLOW, SLOW)
        fast = total([times(r, u) for r, u in zip(reach, quick, strict=True)])
        least = plus(times(SLOW, fast), times(TICK, times(plus(hard, push), instant)))
        faint = fn.select(later, times(UNSEEN / LEAST, length) / since, 0)
        cancelled = times(CANCELLED / LEAST, hard)
        read = {"gap": c.gap, "friction": c.friction, "held": c.held, "restitution": c.restitution,
                "last": c.last, "opened": c.opened, "longest": c.longest}  # fmt: skip
        states.append(
            ContactState(
                c.name, normal, slip, plain(c.status),
                closing=0 if normal is None else velocities[normal],
                sliding=tuple(velocities[row] for row in slip),
                length=fn.named(as_expr(length), f"{c.name}_length"),
                reversal=fn.named(as_expr(plus(times(back, pace), least)), f"{c.name}_reversal"),
                slow=fn.named(as_expr(plus(times(still, pace), least)), f"{c.name}_slow"),
                gentle=fn.named(as_expr(plus(times(GENTLE, pace), least)), f"{c.name}_gentle"),
                drift=fn.named(as_expr(times(DRIFT, plus(own_pace, fast))), f"{c.name}_drift"),
                natural=0 if normal is None or not slip else fn.named(as_expr(hard), f"{c.name}_natural"),
                least=fn.named(as_expr(plus(faint, cancelled)), f"{c.name}_least"),
                rounded=0 if normal is None else times(ROUNDED / LEAST, times(fast, fast)) / as_expr(length),
                speed_changes=speed_changes,
                turning=fn.named(as_expr(times(TURNING, pace)), f"{c.name}_turning"),
                direction=tuple(plain(d) for d in c.direction),
                pressed=0 if c.pressed is None else plain(c.pressed),
                settle=c.settle,
                **{name: fn.named(plain(x), f"{c.name}_{name}") for name, x in read.items() if x is not None},
            )
        )  # fmt: skip
    return states


SMALLEST = 1e-9  # metres or radians: the least length of a contact


def _length(c: RigidContact, plain: Undimensioned, units: Sizes, levers: Sequence[Scalar]) -> Scalar:
    """Return the length by which gaps of a contact are judged.

    It is the sum of the magnitudes of the terms of the gap and of the levers (velocities of the contact's
    rows per radian per second), now or at an earlier event if larger.
    """
    assert c.gap is not None and c.size is not None
    least = times(SMALLEST, units.get(c.gap.dimension, 1.0))
    now = plus(term_sizes(plain(c.gap)), total(levers))
    return as_expr(fn.maximum(fn.maximum(plain(c.size), now), least))


def _held_rows(states: Sequence[ContactState], count: int) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return (held, weight, offset) by row.

    ``held`` is 1 if the row holds. The force of a sliding row is offset − weight · normal force.
    """
    held: list[Scalar] = [0] * count
    weight: list[Scalar] = [0] * count
    offset: list[Scalar] = [0] * count
    for state in states:
        if state.normal is not None:
            held[state.normal] = fn.select(state.closed, 1, 0)
        if not state.slip:
            continue
        direction = state.slide_direction(state.sliding)
        for row, e in zip(state.slip, direction, strict=True):
            held[row] = fn.select(state.sticks, 1, 0)
            if state.is_brake:
                offset[row] = times(-1, times(state.friction, e))
            else:
                weight[row] = fn.select(state.slides, times(state.friction, e), 0)
    return held, weight, offset


@dataclass(frozen=True, eq=False)
class _Forces:
    """Forces for given statuses: loads for the rates, forces by row with their sizes, limits of jamming.

    ``most`` has the normal forces above which contacts jam. ``changes`` has the same values as
    ``loads.changes``, but comes from the same solution as ``forces``: guards read both, and with
    ``loads.changes`` they would call the solver twice.
    """

    loads: Loads
    changes: list[Scalar]
    forces: list[Expr]
    sizes: list[Scalar]
    most: list[Scalar]


def _act_alone(system: Description) -> bool:
    """Return whether the forces of contacts occur only in the contacts' own loads.

    Then D = M⁻¹ Jᵀ, and J D is symmetric.
    """
    labels = {}
    for c in system.contacts.values():
        for force in (*(() if c.push is None else (c.push,)), *c.drag):
            labels[force] = force.data.name.removesuffix(" contact")
    for load in system.loads.values():
        for force in symbols(load.magnitude, *map(as_expr, load.vector.terms.values())):
            label = labels.get(force, load.name)
            own = (label, f"{label}_reaction", label.replace("_friction", "_rolling"))
            if load.name not in own and not load.name.startswith(f"{label}_on_"):
                return False
    return True


def _find_forces(
    rows: ContactRows,
    states: Sequence[ContactState],
    free: Sequence[Expr],
    held: Sequence[Scalar],
    weight: Sequence[Scalar],
    offset: Sequence[Scalar],
    *,
    symmetric: bool,
) -> _Forces:
    """Return the forces for the present statuses.

    Rates do not need the shares of redundant rows in a force, which take longer to compute. Problems with few
    rows are solved by formulas, and the solver is called only if the formulas may fail.
    """
    problem: dict[str, Sequence[Scalar]] = {
        **rows.given,
        "free": free,
        "held": held,
        "weight": weight,
        "offset": offset,
        "static": [0 if state.is_brake or not state.slip else state.held for state in states],
        "static_capacity": [state.held if state.is_brake else 0 for state in states],
    }
    limits: dict[str, Sequence[Scalar]] = {
        "least": [0] * len(states),
        "natural": [state.natural for state in states],
    }
    shape = rows.forces.shape
    # Rounding errors make forces even in a contact without a load, so there is a least acceleration by row.
    least: list[Scalar] = [0] * shape.count
    for state in states:
        for row in (*(() if state.normal is None else (state.normal,)), *state.slip):
            least[row] = times(LEAST / WEAK, state.least)
    if shape.count > MOST_ROWS:
        rates = rows.rates.solve(**problem, asked=rows.ask(1))
        solution = rows.forces.solve(**problem, **limits, asked=rows.ask(1))
        loads = Loads(list(rates["force"]), list(rates["loaded"]))
        sizes = _add_least_sizes(rows, solution["force_size"], least)
        changes: list[Scalar] = list(solution["loaded"])
        return _Forces(loads, changes, _name_forces(solution["force"]), sizes, list(solution["most"]))
    holds = [as_expr(x) > 0 for x in held]
    few = find_few_forces(
        shape, rows.jacobian, rows.columns, free, holds, weight, offset, symmetric=symmetric
    )
    sizes = few_force_sizes(shape, rows.jacobian, free, least, few)

    def replace(condition: fn.Operand, found: Sequence[Scalar], own: Sequence[Scalar]) -> list[Scalar]:
        return [fn.select(condition, x, y) for x, y in zip(found, own, strict=True)]

    doubt = fn.rarely(as_expr(few.doubtful), "contact_doubt")
    rates = rows.rates.solve(**problem, asked=rows.ask(doubt))
    loads = Loads(replace(doubt, rates["force"], few.forces), replace(doubt, rates["loaded"], few.changes))
    shares = share_few_forces(shape, few, problem["static"], problem["static_capacity"])
    most, exceeded = bound_few_normals(shape, few, holds, weight, limits["natural"], shares)
    several = fn.or_(doubt, fn.or_(few.redundant_count > 1, exceeded))
    several = fn.rarely(as_expr(several), "contact_several")
    solution = rows.forces.solve(**problem, **limits, asked=rows.ask(several))
    with_least = _add_least_sizes(rows, solution["force_size"], least)
    return _Forces(
        loads,
        replace(doubt, solution["loaded"], few.changes),
        _name_forces(replace(several, solution["force"], shares)),
        replace(several, with_least, sizes),
        replace(several, solution["most"], most),
    )


def _name_forces(forces: Sequence[Scalar]) -> list[Expr]:
    return [fn.named(as_expr(x), "contact_force") for x in forces]


def _jams(state: ContactState, forces: Sequence[Scalar], most: Scalar) -> Scalar:
    """Return whether the normal force of a slide has grown so large that the contact jams."""
    if state.normal is None or not state.slip:
        return 0
    return as_expr(fn.and_(state.slides, fn.and_(most > 0, forces[state.normal] >= most)))


def _add_least_sizes(rows: ContactRows, sizes: Sequence[Scalar], least: Sequence[Scalar]) -> list[Scalar]:
    """Return the sizes of forces by row, plus sizes from the ``least`` accelerations."""
    found = []
    s = rows.forces.shape.speeds
    for row, (size, rate) in enumerate(zip(sizes, least, strict=True)):
        own = range(row * s, (row + 1) * s)
        product = total([times(rows.jacobian[k], rows.columns[k]) for k in own])
        A = fn.named(as_expr(product), "contact_product")
        found.append(plus(size, times(rate, inverse_if(A > 0, A))))
    return found


def _events(
    states: Sequence[ContactState], forces: Sequence[Scalar], sizes: Sequence[Scalar], most: Sequence[Scalar]
) -> tuple[tuple[EventRecord, ...], tuple[Expr, ...]]:
    """Return the events that end the statuses: ``name_touch`` and ``name_grip``."""
    events, guards = [], []
    for state, bound in zip(states, most, strict=True):
        push: Scalar = 0
        size: Scalar = 0
        if state.normal is not None:
            push, size = forces[state.normal], sizes[state.normal]
            about = f"{state.name} closes or opens"
            guards.append(as_expr(state.normal_guard(push, size, bound)))
            events.append(EventRecord(f"{state.name}_touch", guards[-1], ENDS_STATUS, {}, False, about))
            # CREEP is added since velocities at rest are rounding errors, whose changes of sign each step
            # would locate.
            rising = plus(state.closing, times(CREEP, state.gentle))
            guards.append(as_expr(fn.select(state.open, rising, 1)))
            about = f"the gap of {state.name} is lowest"
            name = f"{state.name}_lowest"
            events.append(EventRecord(name, guards[-1], FINDS_LOWEST, {}, False, about, hidden=True))
        if state.slip:
            about = f"{state.name} begins to stick or to slide"
            more = total([sizes[row] for row in state.slip])
            whole = plus(more, times(state.held, size)) if not state.is_brake else plus(more, state.held)
            friction = [forces[row] for row in state.slip]
            guards.append(as_expr(state.slip_guard(push, friction, whole)))
            events.append(EventRecord(f"{state.name}_grip", guards[-1], ENDS_STATUS, {}, False, about))
    return tuple(events), tuple(guards)
