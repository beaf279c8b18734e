"""The targets of a system's program, as expressions of time, state, memory and parameters alone.

``converted_targets`` makes the targets of programs that have momenta or other states in place of speeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.functions import sqrt
from armillary.algebra.node import truncate_new_nodes
from armillary.algebra.triples import Scalar
from armillary.algebra.truncation import NeglectedTerms, Truncation
from armillary.algebra.units import FORCE, MOMENT
from armillary.algebra.walk import Undimensioned, symbols, transform
from armillary.errors import ModelError
from armillary.mechanics.constraints.constrained_equations import placeholders, reaction_values
from armillary.mechanics.constraints.loop_closing import speed_kind
from armillary.mechanics.constraints.reduction import Reduction
from armillary.model.description import ENDS_STATUS, UNDECIDED, Description, EventRecord
from armillary.model.signals import state_rates
from armillary.model.units import state_factor
from armillary.program.targets.contact_targets import ContactGeometry, ContactTargets, contact_targets


@dataclass(frozen=True)
class OutputColumn:
    """One output of a run: its name, units, description, and its value in these units."""

    name: str
    units: str
    about: str
    expression: Expr


@dataclass(frozen=True, repr=False)
class StepSection:
    """A further section that integrators call: its name, and its results with their labels."""

    name: str
    labels: tuple[str, ...]
    results: tuple[Expr, ...]
    search: bool = False  # whether passes search for common factors and pairs


@dataclass(frozen=True, repr=False)
class Targets:
    """Expressions for every section of a system's program."""

    time: Expr
    coordinates: tuple[Expr, ...]
    speeds: tuple[Expr, ...]
    memory: tuple[Expr, ...]
    rates: tuple[Expr, ...]
    columns: tuple[OutputColumn, ...]
    watched: tuple[EventRecord, ...]  # events of the description and of contacts, then internal ones
    events: tuple[Expr, ...]
    updates: tuple[Expr, ...]
    fires: tuple[tuple[Expr, ...], ...]
    normalised: tuple[Expr, ...]
    quaternions: tuple[int, ...]
    renewed: tuple[int, ...] = ()  # indices in the state of the values in ``normalised``
    corrected: tuple[int, ...] = ()
    corrections: tuple[Expr, ...] = ()
    geometry: tuple[Expr, ...] = ()
    sizes: tuple[Expr, ...] = ()  # sizes of the corrected coordinates, then of all speeds
    row_sizes: tuple[Expr, ...] = ()  # sizes of the rows of constraints
    forces: Mapping[Expr, Expr] = field(default_factory=dict)  # of contacts, by their symbols in loads
    contacts: tuple[ContactGeometry, ...] = ()  # contacts and brakes as constraints
    states: tuple[Expr, ...] = ()  # the user's own states, after the speeds
    carried: tuple[Expr, ...] = ()  # further states without rates, which each step passes to the next
    inputs: tuple[Expr, ...] = ()  # inputs of stepping sections, after the state
    stepping: tuple[StepSection, ...] = ()
    search: bool = True  # whether passes search the rates for common factors and pairs

    @property
    def shown_events(self) -> list[EventRecord]:
        """Events of the user and of contacts, which precede the internal events in every configuration."""
        return [e for e in self.watched if e.name not in INTERNAL_EVENTS]

    @property
    def integrated(self) -> tuple[Expr, ...]:
        """All states that have rates: coordinates, speeds or momenta, and the user's own states."""
        return (*self.coordinates, *self.speeds, *self.states)


def targets(system: Description, speed_rates: Mapping[int, Scalar], reduction: Reduction) -> Targets:
    """Return the root expressions of a system; ``speed_rates`` has the rates of all speeds by index."""
    plain = reduction.plain
    contacts = contact_targets(system, speed_rates, reduction)
    forces = {} if contacts is None else contacts.forces
    speed_rates = speed_rates if contacts is None else contacts.rates
    accelerations = forces | {
        plain(system.accelerations[u]): as_expr(speed_rates[i]) for i, u in enumerate(system.speeds)
    }

    asked = [c.expression for c in columns(system)] + [e.expression for e in system.events.values()]
    asked += [m.update for m in system.memories.values() if m.update is not None]
    asked += [value for e in system.events.values() for value in e.changes.values()]
    user_rates = state_rates(system)
    asked += user_rates.values()
    wanted = placeholders(system) & set(symbols(*asked))
    check_rates(system, speed_rates.values(), plain)
    reactions = reaction_values(system, reduction, speed_rates, wanted)
    resolved_reactions = transform(reactions.values(), forces.get) if forces else list(reactions.values())
    accelerations |= {plain(s): value for s, value in zip(reactions, resolved_reactions, strict=True)}

    def resolve_expressions(expressions: list[Expr]) -> list[Expr]:
        """Return expressions without dimensions; replace given and dependent speeds and accelerations."""
        return transform([plain(e) for e in expressions], accelerations.get)

    def decide_events(expressions: list[Expr]) -> list[Expr]:
        """Resolve expressions without truncation, so that zeros of event functions are exact."""
        with truncate_new_nodes(None):
            return transform([plain.exact(e) for e in expressions], accelerations.get)

    free, coordinates = reduction.independent(system), reduction.coordinates(system)
    index = {u: i for i, u in enumerate(system.speeds)}
    rates = resolve_expressions([system.rates[q] for q in coordinates])
    rates += [as_expr(speed_rates[index[u]]) for u in free]
    rates += resolve_expressions(list(user_rates.values()))
    described_columns = columns(system)
    outputs = resolve_expressions([c.expression for c in described_columns])
    memory = [m.symbol for m in system.memories.values()]
    state = [*coordinates, *free, *user_rates]
    own_events, switching = list(system.events.values()), _switching(reduction)
    watched = [*own_events, *(contacts.events if contacts else ()), *switching]
    guards = decide_events([e.expression for e in own_events])
    guards += [*(contacts.guards if contacts else ()), *decide_events([e.expression for e in switching])]
    fires = [tuple(decide_events([event.changes.get(s, s) for s in [*memory, *state]])) for event in watched]
    if contacts is not None:
        fires = _with_contacts(contacts, watched, fires, [plain(s) for s in [*memory, *state]])
    quaternions = _quaternions(system, coordinates)
    plain_coordinates = [plain(q) for q in coordinates]
    corrected = [(i, q) for i, q in enumerate(plain_coordinates) if q in reduction.corrections]
    renewed = _renewed_states(
        [*plain_coordinates, *(plain(u) for u in free)],
        quaternions,
        {} if contacts is None else contacts.corrected,
    )
    return Targets(
        time=plain(system.time),
        coordinates=tuple(plain_coordinates),
        speeds=tuple(plain(u) for u in free),
        memory=tuple(plain(m) for m in memory),
        rates=tuple(rates),
        columns=tuple(
            OutputColumn(c.name, c.units, c.about, e) for c, e in zip(described_columns, outputs, strict=True)
        ),
        watched=tuple(watched),
        events=tuple(guards),
        updates=tuple(
            decide_events([m.symbol if m.update is None else m.update for m in system.memories.values()])
        )
        if any(m.update is not None for m in system.memories.values())
        else (),
        fires=tuple(fires),
        normalised=renewed[1],
        renewed=renewed[0],
        quaternions=tuple(quaternions),
        corrected=tuple(i for i, _ in corrected),
        corrections=tuple(q + reduction.corrections[q] for _, q in corrected),
        geometry=reduction.geometry,
        sizes=_sizes(system, reduction, [coordinates[i] for i, _ in corrected]),
        row_sizes=tuple(map(as_expr, reduction.row_sizes)),
        forces=forces,
        contacts=() if contacts is None else contacts.geometry,
        states=tuple(plain(s) for s in user_rates),
    )


def _with_contacts(
    contacts: ContactTargets, watched: list[EventRecord], fires: list[tuple[Expr, ...]], before: list[Expr]
) -> list[tuple[Expr, ...]]:
    """Return memory and state after each event; events that set values also decide the contacts again."""
    decided = tuple(contacts.changes.get(s, s) for s in before)
    found = []
    for event, after in zip(watched, fires, strict=True):
        if event.direction == ENDS_STATUS:
            found.append(decided)
        elif event.changes:
            new = {s: x for s, x in zip(before, after, strict=True) if s is not x}
            if any(s.data.role in ("coordinate", "speed") for s in event.changes):
                new = dict.fromkeys(contacts.statuses, as_expr(UNDECIDED)) | new
            found.append(tuple(transform(decided, new.get)))
        else:
            found.append(after)
    return found


def _sizes(system: Description, reduction: Reduction, corrected: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the sizes of the corrected coordinates, then of all speeds."""
    if not reduction.rows:
        return ()
    kinds = [*(q.dimension for q in corrected), *(speed_kind(u) for u in system.speeds)]
    return tuple(as_expr(reduction.sizes[kind]) for kind in kinds)


def check_rates(system: Description, rates: Iterable[Scalar], plain: Undimensioned) -> None:
    """Raise an error if loads depend on reactions or accelerations, which follow from the loads."""
    of_loads = symbols(*(load.magnitude for load in system.loads.values()))
    rates_of_speeds = {plain(s) for s in of_loads if s.data.role == "acceleration"}
    stand_ins = {plain(s) for s in placeholders(system)} | rates_of_speeds
    found = symbols(*(rate for rate in rates if isinstance(rate, Expr))) if stand_ins else []
    for s in found:
        if s in rates_of_speeds:
            raise ModelError(
                f"a load depends on '{s}', an acceleration, which itself depends on the loads; use a "
                "memory that takes its value at each step, or armature() for inertia that turns with a joint"
            )
        if s in stand_ins:
            raise ModelError(
                f"a load depends on '{s}', a reaction, which itself depends on the loads; use a "
                "memory that takes its value at each step"
            )


# If the squared share of a pivot in its row is below this, another choice of dependent speeds is made. At
# this share the error of dependent speeds is about four times that of independent speeds; the methods of runs
# control only the latter.
POOR_PIVOT = 0.05
DEPENDENT_SPEEDS = "dependent speeds"
# If the strength of the weakest constraint (reduction.py) is below this, constraints are about to lose rank
# with every choice of dependent speeds.
LOST_RANK = 0.25
CONSTRAINT_RANK = "rank of constraints"
# The event is a zero of the factor of a dependent speed in its row, where the choice is singular.
PIVOT_SIGN = "sign of pivots"
INTERNAL_EVENTS = (
    DEPENDENT_SPEEDS,
    CONSTRAINT_RANK,
    PIVOT_SIGN,
)  # handled by runs, not shown to users


def _switching(reduction: Reduction) -> list[EventRecord]:
    """Return the internal events: a poor choice of dependent speeds, a loss of rank, the sign of a pivot."""
    watched = (
        (DEPENDENT_SPEEDS, reduction.quality, POOR_PIVOT, -1),
        (CONSTRAINT_RANK, reduction.strength, LOST_RANK, -1),
        *((PIVOT_SIGN, pivot, 0.0, 0) for pivot in reduction.pivots),
    )
    return [
        EventRecord(name, value - least, direction, {}, True, "", hidden=True)
        for name, value, least, direction in watched
        if value is not None
    ]


def columns(system: Description) -> list[OutputColumn]:
    """Return coordinates, speeds, states, memories, loads and the user's outputs, each name once.

    A user's output replaces another column of the same name.
    """
    by_name: dict[str, OutputColumn] = {}
    for s in system.moving():
        factor = state_factor(s)
        shown = s if factor == 1.0 else s / factor
        by_name[s.data.name] = OutputColumn(s.data.name, s.data.units or "", s.data.about, shown)
    for memory in (m for m in system.memories.values() if m.period is None and not m.hidden):
        s, factor = memory.symbol, memory.factor
        shown = s if factor == 1.0 else s / factor
        by_name[s.data.name] = OutputColumn(s.data.name, s.data.units or "", s.data.about, shown)
    for load in system.loads.values():
        units = system.units.unit_text(FORCE if load.kind == "force" else MOMENT)
        by_name[load.name] = OutputColumn(
            load.name, units, f"magnitude of {load.kind} {load.name}", load.magnitude
        )
    for c in system.contacts.values():  # forces without a load of their name
        drags = [
            (drag, f"{c.name}_friction{i if len(c.drag) > 1 else ''}")
            for i, drag in enumerate(c.drag, start=1)
        ]
        for force, name in ((c.push, c.name), *drags):
            if force is not None and name not in by_name and c.name not in by_name:
                units = system.units.unit_text(force.dimension)
                by_name[name] = OutputColumn(name, units, f"force of contact {name}", force)
    for output in system.outputs.values():
        value = output.expression if output.scale == 1.0 else output.expression * output.scale
        by_name[output.name] = OutputColumn(output.name, output.units, output.about, value)
    return list(by_name.values())


def _quaternions(system: Description, coordinates: list[Expr]) -> list[int]:
    index = {q: i for i, q in enumerate(coordinates)}
    return [
        index[body.coordinates[start]]
        for body in system.bodies.values()
        for start in body.assembly.quaternions
    ]


def _renewed_states(
    state: list[Expr], quaternions: list[int], corrected: Mapping[Expr, Expr]
) -> tuple[tuple[int, ...], tuple[Expr, ...]]:
    """Return (indices, values) of the states that change at the end of a step.

    The drift of closed contacts is removed, and Euler parameters get unit length.
    """
    moved = [corrected.get(s, s) for s in state]
    units = [start + i for start in quaternions for i in range(4)]
    found = dict(zip(units, normalise_quaternions(moved, quaternions), strict=True))
    found |= {i: x for i, x in enumerate(moved) if x is not state[i] and i not in found}
    return tuple(found), tuple(found.values())


def normalise_quaternions(state: list[Expr], quaternions: list[int]) -> list[Expr]:
    """Return the Euler parameters of all bodies, divided by their lengths."""
    result: list[Expr] = []
    for start in quaternions:
        e = state[start : start + 4]
        length = sqrt(as_expr(sum((x * x for x in e), as_expr(0))))
        result += [x / length for x in e]
    return result


# Small and large quantities in a derivation: the converter of expressions, the truncation of results, and the
# error if a declaration makes an equation vanish.


@dataclass(frozen=True, eq=False)
class Judged:
    """Quantities declared small (1) or large (−1), orders kept above the leading one, and dropped terms."""

    declared: dict[Expr, int] = field(default_factory=dict)
    keep: int = 1
    neglected: NeglectedTerms = field(default_factory=NeglectedTerms)

    def __bool__(self) -> bool:
        return bool(self.declared)

    def lines(self) -> list[str]:
        """Return notes on the truncation for readers of the equations; none if nothing was declared."""
        if not self.declared:
            return []
        names = {order: [str(e) for e, o in self.declared.items() if o == order] for order in (1, -1)}
        lines = [f"{word}: {', '.join(names[order])}" for word, order in _WORDS if names[order]]
        lines.append(f"kept in each sum: its leading order and {self.keep} above")
        return [*lines, f"neglected: {self.neglected.summary()}"]


_WORDS = (("small", 1), ("large", -1))


def reader(declared: dict[Expr, int], keep: int) -> Undimensioned:
    """Return the converter of a description's expressions; it truncates only if quantities are declared."""
    if not isinstance(keep, int) or keep < 0:
        raise ModelError(f"keep={keep!r} is not a number of orders; give 1, or more to keep smaller terms")
    return Undimensioned(declared, Truncation(keep)) if declared else Undimensioned()


def truncated_targets(
    plain: Undimensioned, make: Callable[[], Targets]
) -> tuple[Targets, NeglectedTerms | None]:
    """Return targets made with the converter's truncation, and the neglected terms.

    Terms that no result needs are dropped afterwards.
    """
    if plain.truncation is None:
        return make(), None
    truncation = Truncation(plain.truncation.keep)
    with truncate_new_nodes(truncation):
        made = make()
        columns = truncation.drop_small_terms([c.expression for c in made.columns])
        made = replace(
            made,
            rates=tuple(truncation.drop_small_terms(made.rates)),
            columns=tuple(replace(c, expression=e) for c, e in zip(made.columns, columns, strict=True)),
        )
    return made, truncation.neglected


def check_vanished(judged: Judged, wanted: Targets, full: Callable[[], Targets]) -> None:
    """Raise an error if the rate of a speed or state vanishes in the truncated model alone."""
    start = len(wanted.coordinates)
    lost = [i for i, rate in enumerate(wanted.rates[start:], start=start) if rate is ZERO]
    if not judged or not lost:
        return
    rates = full().rates
    for i in lost:
        if rates[i] is not ZERO:
            s = wanted.integrated[i]
            what = "state" if s in wanted.states else "speed"
            raise ModelError(_vanishing_message(f"the equation of {what} '{s.data.name}' vanishes", judged))


def _vanishing_message(what: str, judged: Judged) -> str:
    lines = "\n".join(f"  {line}" for line in judged.lines())
    return (
        f"{what} if negligible terms are dropped\n{lines}\n"
        f"  remedy: keep more orders, derive(keep={judged.keep + 1}), or do not declare all of these"
    )


def explain_singular(error: ModelError, judged: Judged, full: Callable[[], object]) -> ModelError:
    """Return the error; if the full model has none, return one that names the declarations as the cause."""
    if not judged:
        return error
    try:
        full()
    except ModelError:
        return error
    return ModelError(_vanishing_message(f"the full model has a solution, but {error}", judged))


def converted_targets(
    wanted: Targets,
    states: Mapping[Expr, Expr],
    *,
    names: Sequence[str],
    speeds: Sequence[Expr],
    by_states: Sequence[Expr],
    by_speeds: Sequence[Expr],
    accelerations: Sequence[Expr],
    inputs: Mapping[Expr, Expr],
) -> Targets:
    """Return the targets with ``states`` (and their rates) in place of the independent speeds.

    ``by_states`` are the independent speeds as functions of the states, and ``by_speeds`` the states as
    functions of ``speeds``. ``inputs`` has, by speed, its symbol in the section "momenta", which converts
    speeds to states.
    """
    first = len(wanted.memory)
    end, count = first + len(wanted.coordinates), len(wanted.coordinates)
    last = end + len(speeds)
    before = (*wanted.coordinates, *by_states)

    def fire_event(after: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return memory and state after an event, from memory, coordinates and speeds after it."""
        if all(x is y for x, y in zip(before, after[first:last], strict=True)):
            return (*after[:end], *states, *after[last:])
        new = dict(zip((*wanted.coordinates, *speeds), after[first:last], strict=True))
        return (*after[:end], *transform(list(by_speeds), new.get), *after[last:])

    return replace(
        wanted,
        speeds=tuple(states),
        rates=(*wanted.rates[:count], *states.values(), *wanted.rates[count + len(states) :]),
        fires=tuple(map(fire_event, wanted.fires)),
        inputs=tuple(inputs.values()),
        stepping=(
            StepSection("momenta", tuple(names), tuple(transform(list(by_speeds), inputs.get))),
            StepSection("accelerations", tuple(f"{u.data.name}'" for u in speeds), tuple(accelerations)),
        ),
    )
