"""Statuses of all contacts and velocities after an event.

An event of a contact is the end of its status. Then three problems, each for all contacts together, give the
new velocities and statuses:

    impact          M (u⁺ − u⁻) = Jᵀ P        γ⁺ = γ⁻ + A P        A = J M⁻¹ Jᵀ
    accelerations   decide which of the contacts that touch and do not separate open, stick or slide
    rest            remaining velocities of rows that hold, and of slips that begin, are set to zero

P are impulses and γ relative velocities, with the subscript N for normals and T for slips; a ⟂ b states that
a or b is zero. A row is one of these relative velocities; a row holds if its impulse or force keeps it at
zero. An impact includes every contact that touches, whether it is struck, is already closed or separates.
Newton's law, with the coefficient of restitution e of each contact that is struck and e = 0 for the others,
is

    0 ≤ P_N ⟂ γ_N⁺ + e γ_N⁻ ≥ 0

By Poisson's law the impact has two phases. Compression ends with velocities γᶜ. The second phase,
restitution, gives back at least the share e of the normal impulses of compression:

    0 ≤ P_Nᶜ ⟂ γ_Nᶜ ≥ 0        P_N = P_Nᶜ + e P_Nᶜ + x,    0 ≤ x ⟂ γ_N⁺ ≥ 0

Friction obeys Coulomb's law between impulses, |P_T| ≤ μ P_N, with γ_T = 0 where it sticks; by Poisson's law
each phase has its own friction impulse. With friction the energy after both phases may exceed the energy
before the impact. In this case one factor reduces the impulses of the second phase so that the two energies
are equal. By the energetic law the factor is such that the second phase gives back e² of the work that each
normal impulse has taken (Stronge 1990); the slip may have any direction. Brakes have bounded forces and no
impulses.

Rebounds may contradict each other, as when a slide touches two stops, or when the friction of one contact
acts along the normal of another. If no impulses agree with the rebounds, the impact has no rebound.

While contacts slide, there may be no admissible forces, though nothing approaches (Painlevé's paradox): the
friction of such a contact presses it onto its surface, in proportion to its normal force. The contact jams:
an impulse stops its slip and its normal motion, as the limit of a stiff contact without restitution does
(impact without collision). A contact also jams if its force grows without bound while it slides (dynamic
jam). It also jams if its slip reverses where its bodies reach farthest along the slip, and the friction after
the reversal would press it onto its surface. The status "jams" has no duration; the event that ends it
applies the impulse.

Bounces that come faster and faster end after a finite time. A contact settles if all following flights, each
e (at least ½) times as long as the previous one, would end within SETTLED times the longest flight since the
contact was last closed, or within ``settle`` seconds. Then all contacts that touch lose their normal
velocity.

Sources: Glocker & Pfeiffer (1996), Multibody dynamics with unilateral contacts, chapters 6 to 8; Moreau
(1988), Unilateral contact and dry friction in finite freedom dynamics, for several contacts by Newton's law;
Génot & Brogliato (1999), New results on Painlevé paradoxes, Eur. J. Mech. A/Solids 18, 653–677.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Scalar, minus, plus, times, total
from armillary.mechanics.contact.blocks import DOUBTFUL, NOT_FOUND, WITHOUT_REBOUND, ContactBlock
from armillary.mechanics.contact.state import WITHIN, ContactState, length_of
from armillary.model.description import JAMS
from armillary.model.loads.rigid import NEVER

SETTLED = 1e-6  # share of the longest flight in which all following flights must end
LAST_BOUNCES = 100  # a slip of at most this times a negligible speed of approach stops with the last bounce
SLOWLY = 1e4  # if no other statuses are found, slips up to this times a negligible slip may stick
FORCES, IMPULSES, OVERLAPS = 1, 2, 3  # values of ``failed``


@dataclass(frozen=True, eq=False)
class Loads:
    """Forces (or impulses) by row, and the changes of the rates of speeds (or of speeds) that they cause."""

    forces: list[Scalar]
    changes: list[Scalar]

    def __add__(self, other: Loads) -> Loads:
        forces = [plus(x, y) for x, y in zip(self.forces, other.forces, strict=True)]
        return Loads(forces, [plus(x, y) for x, y in zip(self.changes, other.changes, strict=True)])


@dataclass(frozen=True, eq=False)
class ContactRows:
    """The matrices J and Dᵀ = J M⁻¹ of all contacts, as lists row after row, and functions that solve
    problems with these rows.
    """

    jacobian: list[Scalar]
    columns: list[Scalar]
    rates: ContactBlock
    forces: ContactBlock
    problem: ContactBlock
    apart: ContactBlock  # the problem with normals and slips as separate contacts

    @property
    def count(self) -> int:
        """The number of contacts."""
        return len(self.forces.shape.rows)

    @property
    def given(self) -> dict[str, list[Scalar]]:
        """The arguments that all problems share. ``unloaded``, the speeds (or rates) without forces, is zero,
        so that the results are changes of speeds (or rates).
        """
        unloaded: list[Scalar] = [0] * self.forces.shape.speeds
        return {"jacobian": self.jacobian, "columns": self.columns, "unloaded": unloaded}

    def ask(self, condition: fn.Operand) -> list[Scalar]:
        """Return the argument ``asked`` of a block that is called only under a condition."""
        return [fn.select(condition, 1, 0), *[0] * (self.count - 1)]

    def hold(self, free: Sequence[Scalar], held: Sequence[Scalar], wanted: fn.Operand = 1) -> Loads:
        """Return the forces (or impulses) in the rows ``held`` that cancel their accelerations (or
        velocities) ``free``; zero in other rows, and zero everywhere unless ``wanted``.
        """
        none, unlimited = [0] * len(held), [0] * self.count
        given = {**self.given, "free": free, "held": held, "weight": none, "offset": none}
        limits = {"static": unlimited, "static_capacity": unlimited}
        found = self.rates.solve(**given, **limits, asked=self.ask(wanted))
        forces, changes = ([fn.select(wanted, x, 0) for x in found[name]] for name in ("force", "loaded"))
        return Loads(forces, changes)

    def solve(
        self,
        free: Sequence[Scalar],
        contacts: Sequence[_Choice],
        rebound: Sequence[Scalar] | None = None,
        *,
        apart: bool = False,
    ) -> dict[str, list[Expr]]:
        """Return the solution of a problem of complementarity."""
        names = ("active", "rests", "friction", "static", "capacity", "static_capacity", "before", "least")
        allowed = {name: [getattr(c, name) for c in contacts] for name in names}
        direction: list[Scalar] = [0] * len(free)
        for c in contacts:
            for row, e in zip(c.slip, c.direction, strict=True):
                direction[row] = e
        return (self.apart if apart else self.problem).solve(
            **self.given,
            free=free,
            rebound=rebound or [0] * len(free),
            direction=direction,
            **allowed,
        )


@dataclass(frozen=True, eq=False)
class _Choice:
    """The statuses that a contact may take in a problem; `Contacts` in problem.py explains the fields."""

    slip: tuple[int, ...]
    active: Scalar
    rests: Scalar = 1
    friction: Scalar = 0
    static: Scalar = 0
    capacity: Scalar = 0
    static_capacity: Scalar = 0
    before: Scalar = 0
    direction: tuple[Scalar, ...] = ()
    least: Scalar = 0


@dataclass(frozen=True, eq=False)
class Decision:
    """The effects of an event: impulses, and new values of memories by their symbols."""

    impulses: Loads
    memories: dict[Expr, Scalar]
    failed: Scalar  # 0, FORCES, IMPULSES or OVERLAPS
    ambiguous: Scalar  # whether other statuses are possible too
    jammed: Scalar  # whether contacts jammed
    without_rebound: Scalar  # whether rebounds were left out


# A function that returns the relative accelerations and velocities by row after given impulses.
Moved = Callable[[Loads], tuple[Sequence[Scalar], Sequence[Scalar]]]


def decide(
    rows: ContactRows,
    contacts: Sequence[ContactState],
    velocities: Sequence[Scalar],
    time: Scalar,
    law: str,
    moved: Moved,
    jams: Sequence[Scalar],
) -> Decision:
    """Return the statuses after an event, and the impulses that lead to them.

    ``jams`` states for each contact whether its force grows without bound. ``moved`` gives the accelerations
    and velocities after impulses.
    """
    one_sided = [c for c in contacts if not c.is_brake]
    hits = {c.name: fn.named(_is_struck(c), f"{c.name}_hit") for c in one_sided}
    jammed = fn.named(_any(c.jams for c in one_sided if c.slip), "contact_jams")
    happens = fn.named(fn.or_(_any(hits.values()), jammed), "contact_impact")
    soon = [fn.and_(hits[c.name], _settles(c, time)) for c in one_sided]
    calm = fn.named(_any(soon), "contact_calm")
    failed: Scalar = 0
    without: Scalar = 0
    impulses = Loads([0] * len(velocities), [0] * rows.forces.shape.speeds)
    if one_sided:
        found, failed, without = _impact(rows, contacts, velocities, hits, calm, law)
        without = fn.and_(happens, without)
        impulses = Loads(
            [fn.named(fn.select(happens, P, 0), "contact_impulse") for P in found.forces],
            [fn.named(fn.select(happens, v, 0), "contact_kick") for v in found.changes],
        )
        failed = fn.select(fn.and_(happens, failed), IMPULSES, 0)
    changes = row_changes(rows, impulses.changes)
    after: Sequence[Scalar] = [plus(v, x) for v, x in zip(velocities, changes, strict=True)]
    stops = {c.name: fn.or_(hits[c.name], fn.and_(calm, c.touches)) for c in one_sided}
    choices = [_choice_of_forces(c, after, stops.get(c.name, 0), happens) for c in contacts]
    rest = _rows_that_may_rest(contacts, choices, len(after))
    centred: list[Scalar] = [0] * len(contacts)
    # Several slips may be slow at one dead centre. Impulses of redundant rows are not unique, so the work of
    # one slip may be too small to tell: the slips that are left are judged again, by all impulses together.
    for alone in (True, False):
        loads = rows.hold(after, rest)
        slow = [_is_at_dead_centre(rows, c, after, loads, alone) for c in contacts]
        centred = [fn.or_(x, y) for x, y in zip(centred, slow, strict=True)]
        each = zip(contacts, choices, centred, strict=True)
        choices = [_pass_dead_centre(c, choice, some, after) for c, choice, some in each]
        rest = _rows_at_rest(contacts, choices, centred, after)
    impulses = impulses + rows.hold(after, rest)
    free, after = moved(impulses)
    solution = rows.solve(free, choices)
    outcome = solution["failed"][0]
    lost = fn.named(fn.equal(outcome, NOT_FOUND), "contact_lost")
    critical = [fn.and_(x, fn.not_(happens)) for x in jams]
    doubts = [fn.select(lost, x, grows) for x, grows in zip(solution["doubt"], critical, strict=True)]
    stays = fn.named(fn.or_(lost, _any(critical)), "contact_stays")
    still = list(solution["held"])
    for c, choice, status, is_centred in zip(contacts, choices, solution["status"], centred, strict=True):
        for row in c.slip:  # a slip that begins starts from rest
            begins = fn.and_(status > 0, _is_at_rest(c, choice, solution["direction"]))
            still[row] = fn.select(is_centred, 0, fn.maximum(still[row], begins))
    impulses = impulses + rows.hold(after, [fn.select(stays, 0, x) for x in still])
    memories: dict[Expr, Scalar] = {}
    for c, status, doubt in zip(contacts, solution["status"], doubts, strict=True):
        direction = [solution["direction"][row] for row in c.slip]
        code = _code(c, status, direction)
        kept = c.status if c.is_brake else fn.select(fn.and_(c.undecided, fn.not_(c.touches)), 0, c.status)
        code = fn.select(stays, fn.select(doubt, JAMS, kept), code)
        memories[c.status] = code
        if c.direction:
            slides = fn.equal(code, 2)
            memories |= {d: fn.select(slides, e, d) for d, e in zip(c.direction, direction, strict=True)}
        if isinstance(c.pressed, Expr):
            slid = fn.select(fn.equal(fn.absolute(code), 2), solution["force"][c.normal_row], 0)
            memories[c.pressed] = fn.select(stays, c.pressed, slid)
        if not c.is_brake:
            memories |= _flight(c, time, hits[c.name], fn.equal(code, 0))
    # Contacts in doubt jam, which causes another event at once. If contacts have jammed in this event
    # already, the decision has failed.
    jam = fn.and_(_any(doubts), fn.not_(jammed))
    wrong = fn.select(fn.and_(lost, fn.not_(jam)), FORCES, 0)
    failed = fn.select(failed, failed, wrong)
    failed = fn.select(_any([c.overlaps for c in one_sided]), OVERLAPS, failed)
    failed = fn.named(failed, "contact_failed")
    return Decision(impulses, memories, failed, fn.equal(outcome, DOUBTFUL), jammed, without)


def _rows_that_may_rest(
    contacts: Sequence[ContactState], choices: Sequence[_Choice], count: int
) -> list[Scalar]:
    """Return the rows that hold if all active contacts close and all slips that may stick do stick."""
    rest: list[Scalar] = [0] * count
    for c, choice in zip(contacts, choices, strict=True):
        if c.normal is not None:
            rest[c.normal] = choice.active
        for row in c.slip:
            rest[row] = fn.and_(choice.active, fn.equal(choice.rests, 1))
    return rest


def _is_at_dead_centre(
    rows: ContactRows, c: ContactState, velocities: Sequence[Scalar], loads: Loads, alone: bool = True
) -> Scalar:
    """Return whether the slip of a contact is slow because its row of J is small, though its bodies move.

    The impulses ``loads``, which end all slips that may end, would then stop the bodies. Examples: the foot
    of a pendulum slides along a plane and is right below the pivot, where the slip reverses; the slider of a
    crank with a brake reverses its motion; the speed ratio of two shafts of a linkage passes the ratio of a
    clutch between them; a foot slides while another foot sticks, and at this instant the motion of the bodies
    does not change the distance between the feet.

    The normal row n of J has its usual size at such a place. So the work of the impulses along the slip is
    (of all impulses, unless ``alone``) is compared with v²/A for a negligible slip v, with A = n M⁻¹ nᵀ. If
    no impulse changes the slip at all, the slip that is left after the impulses shows the dead centre. A
    brake has no normal row: it is at a dead centre if an impulse that removes its slip changes a speed.
    """
    if not c.slip:
        return 0

    def own_product(row: int) -> Scalar:
        speeds = range(rows.forces.shape.speeds)
        first = row * len(speeds)
        return total([times(rows.jacobian[first + s], rows.columns[first + s]) for s in speeds])

    if c.is_brake:
        slip, along = fn.absolute(velocities[c.slip[0]]), own_product(c.slip[0])
        noticed = [as_expr(times(slip, change)) > times(along, least) for change, least in c.speed_changes]
        return fn.named(_any(noticed), f"{c.name}_dead_centre")
    across = own_product(c.normal_row)
    works = [times(-1, times(P, v)) for P, v in zip(loads.forces, velocities, strict=True)]
    # The works of single redundant contacts may be far larger than the work of all contacts together.
    own, whole = total([works[row] for row in c.slip]), total(works)
    work = fn.minimum(own, whole) if alone else whole
    none = plus(c.turning, times(10, c.slow))
    fast = as_expr(times(work, across)) > times(none, none)
    if len(c.slip) > 1:
        slips = [_velocity_with(rows, row, velocities, loads) for row in c.slip]
        fast = fn.or_(fast, as_expr(length_of(slips)) > c.reversal)
    return fn.named(fast, f"{c.name}_dead_centre")


def _velocity_with(rows: ContactRows, row: int, velocities: Sequence[Scalar], loads: Loads) -> Scalar:
    """Return the velocity of a row after impulses."""
    speeds = len(loads.changes)
    levers = rows.jacobian[row * speeds : (row + 1) * speeds]
    return plus(velocities[row], total([times(x, y) for x, y in zip(levers, loads.changes, strict=True)]))


def _pass_dead_centre(
    c: ContactState, choice: _Choice, centred: Scalar, velocities: Sequence[Scalar]
) -> _Choice:
    """Return the choice of a contact; at a dead centre a slip in a plane goes on in its direction."""
    if len(c.slip) < 2:
        return choice
    sliding = [velocities[row] for row in c.slip]
    speed = fn.named(length_of(sliding), f"{c.name}_slip")
    passes = fn.named(fn.and_(centred, speed > c.reversal), f"{c.name}_passes")
    direction = tuple(
        fn.select(passes, v / fn.select(passes, speed, 1), e)
        for v, e in zip(sliding, choice.direction, strict=True)
    )
    return replace(choice, rests=fn.select(passes, 0, choice.rests), direction=direction)


def _rows_at_rest(
    contacts: Sequence[ContactState],
    choices: Sequence[_Choice],
    centred: Sequence[Scalar],
    velocities: Sequence[Scalar],
) -> list[Scalar]:
    """Return the rows with negligible velocities, which become zero before forces are found.

    Accelerations contain products of velocities, so the accelerations of redundant rows would otherwise
    contradict each other. Approaches too slow for an impact become zero, too: a contact that opened while it
    still approached would close again at once, without end.
    """
    rest: list[Scalar] = [0] * len(velocities)
    for c, choice, at_dead_centre in zip(contacts, choices, centred, strict=True):
        closes = choice.before
        if c.normal is not None:
            closes = fn.or_(choice.before, as_expr(velocities[c.normal]) < 0)
            rest[c.normal] = fn.and_(choice.active, closes)
        for row in c.slip:
            stands = fn.and_(fn.and_(choice.active, closes), fn.equal(choice.rests, 1))
            rest[row] = fn.select(at_dead_centre, 0, stands)
    return rest


def _any(conditions: Iterable[Scalar]) -> Scalar:
    found: Scalar = 0
    for condition in conditions:
        found = fn.or_(found, condition)
    return found


def _is_struck(c: ContactState) -> fn.Operand:
    return fn.and_(c.touches, c.closing < times(-1, c.gentle))


def _settles(c: ContactState, time: Scalar) -> fn.Operand:
    """Return whether the contact comes to rest now, since all following flights would end very soon."""
    share = fn.maximum(c.restitution, 0.5)
    room = times(SETTLED, c.longest)
    room = room if c.settle is None else fn.maximum(room, c.settle)
    return times(minus(time, c.opened), share) <= times(room, minus(1, c.restitution))


def _flight(c: ContactState, time: Scalar, hit: Scalar, is_open: Scalar) -> dict[Expr, Scalar]:
    """Return the memories of flights. The longest flight is reset when the contact opens after having been
    closed for longer than that flight.
    """
    leaves = fn.and_(is_open, fn.or_(hit, fn.not_(c.open)))
    first = c.opened < 0.5 * NEVER
    flight = fn.select(first, 0, minus(time, c.opened))
    forgets = fn.and_(fn.not_(hit), minus(time, c.last) > c.longest)
    kept = fn.select(hit, fn.maximum(c.longest, flight), c.longest)
    return {
        c.last: fn.select(hit, time, c.last),
        c.opened: fn.select(leaves, time, c.opened),
        c.longest: fn.select(fn.and_(leaves, forgets), 0, kept),
    }


def _impact(
    rows: ContactRows,
    contacts: Sequence[ContactState],
    velocities: Sequence[Scalar],
    hits: dict[str, Expr],
    calm: Scalar,
    law: str,
) -> tuple[Loads, Scalar, Scalar]:
    """Return the impulses, whether no impulses were found, and whether they are without rebound."""
    # Velocities of one motion do not contradict each other, so compression has a solution.
    before = list(velocities)
    e: dict[str, Scalar] = {}
    for c in contacts:
        if c.normal is not None:
            rebounds = fn.and_(hits[c.name], fn.not_(calm))
            e[c.name] = fn.named(fn.select(rebounds, c.restitution, 0), "contact_e")

    choices = []
    for c in contacts:
        if c.is_brake:
            choices.append(_Choice(c.slip, 0, direction=(0,) * len(c.slip)))
            continue
        stopped: Scalar = 2
        if c.slip:  # friction stops slips that are as slow as the last bounces
            slow = length_of([velocities[row] for row in c.slip]) <= times(LAST_BOUNCES, c.gentle)
            stopped = fn.select(slow, 3, 2)
        active = fn.select(c.touches, fn.select(calm, stopped, 1), 0)
        active = fn.select(c.jams, 4, active) if c.slip else active
        before_it = fn.or_(hits[c.name], c.closed)
        choices.append(
            _Choice(c.slip, active, 1, c.friction, c.friction, 0, 0, before_it, (0,) * len(c.slip))
        )

    if law == "newton":
        rebound: list[Scalar] = [0] * len(before)
        for c in contacts:
            if c.normal is not None:
                rebound[c.normal] = times(e[c.name], before[c.normal])
        found = rows.solve(before, choices, rebound)
        outcome = found["failed"][0]
        impulses = Loads(list(found["force"]), list(found["loaded"]))
        return impulses, fn.equal(outcome, NOT_FOUND), fn.equal(outcome, WITHOUT_REBOUND)
    first = rows.solve(before, choices)
    pressed = Loads(list(first["force"]), list(first["loaded"]))
    given: list[Scalar] = [0] * len(before)
    back: dict[str, Scalar] = {}
    for c in contacts:
        if c.normal is not None:
            back[c.name] = fn.named(times(e[c.name], first["force"][c.normal]), "contact_back")
            given[c.normal] = back[c.name]
    returned = Loads(given, _speed_changes(rows, given))
    pressed_rows, returned_rows = (row_changes(rows, loads.changes) for loads in (pressed, returned))
    changes = [plus(x, y) for x, y in zip(pressed_rows, returned_rows, strict=True)]
    right = [_velocity_after(v, change) for v, change in zip(before, changes, strict=True)]
    for c in contacts:
        if c.normal is not None:  # slips that are negligible beside the approach become zero
            approach = times(1e-9, plus(fn.absolute(before[c.normal]), fn.absolute(changes[c.normal])))
            for row in c.slip:
                right[row] = fn.select(fn.absolute(right[row]) <= approach, 0, right[row])
    second = rows.solve(right, _restitution_phase(contacts, choices, back), apart=True)
    without = fn.named(fn.equal(second["failed"][0], NOT_FOUND), "contact_without_rebound")
    # The impulses of the second phase: those given back, and those of its own problem.
    returned = returned + Loads(list(second["force"]), list(second["loaded"]))
    after = [plus(v, change) for v, change in zip(before, pressed_rows, strict=True)]
    lost = times(-0.5, _work(pressed.forces, [plus(v, w) for v, w in zip(before, after, strict=True)]))
    energy = _returned_energy(law, lost, contacts, e, pressed.forces, before)
    share = _share(returned.forces, after, row_changes(rows, returned.changes), energy)
    share = share if law == "energetic" else fn.minimum(share, 1)
    share = fn.named(fn.select(without, 0, share), "contact_share")
    shared = Loads([times(share, P) for P in returned.forces], [times(share, v) for v in returned.changes])
    return pressed + shared, fn.equal(first["failed"][0], NOT_FOUND), without


def _velocity_after(velocity: Scalar, change: Scalar) -> Scalar:
    """Return a velocity after a change; zero if the result is only a rounding error."""
    after = plus(velocity, change)
    size = plus(fn.absolute(velocity), fn.absolute(change))
    return fn.named(fn.select(fn.absolute(after) <= times(1e-10, size), 0, after), "contact_after")


def _restitution_phase(
    contacts: Sequence[ContactState], first: Sequence[_Choice], back: dict[str, Scalar]
) -> list[_Choice]:
    """Return the choices of contacts in the second phase: first all normals, then all slips.

    The friction impulse is bounded by μ times the impulse ``back`` that its contact gives back, even if the
    contact separates.
    """
    normals = [_Choice((), choice.active, before=choice.before) for choice in first]
    slips = []
    for c, choice in zip(contacts, first, strict=True):
        if c.slip:
            most = 0 if c.is_brake else times(c.friction, back[c.name])
            acts = fn.select(fn.equal(choice.active, 1), 1, 0) if not c.is_brake else 0
            slips.append(
                _Choice(c.slip, acts, capacity=most, static_capacity=most, direction=choice.direction)
            )
    return [n for n, c in zip(normals, contacts, strict=True) if not c.is_brake] + slips


def _work(impulses: Sequence[Scalar], velocities: Sequence[Scalar]) -> Scalar:
    return reduce(plus, [times(P, v) for P, v in zip(impulses, velocities, strict=True)])


def _returned_energy(
    law: str,
    lost: Scalar,
    contacts: Sequence[ContactState],
    e: dict[str, Scalar],
    pressed: Sequence[Scalar],
    before: Sequence[Scalar],
) -> Scalar:
    """Return the energy that the second phase may give back: by the energetic law, e² of the work of each
    normal impulse, and in any case at most ``lost``, the energy that compression has taken.
    """
    if law != "energetic":
        return lost
    stored: Scalar = 0
    for c in contacts:
        if c.normal is not None:
            taken = times(-0.5, times(pressed[c.normal], before[c.normal]))
            stored = plus(stored, times(times(e[c.name], e[c.name]), fn.maximum(taken, 0)))
    return as_expr(fn.minimum(stored, lost))


def _share(
    impulses: Sequence[Scalar], after: Sequence[Scalar], changes: Sequence[Scalar], energy: Scalar
) -> Scalar:
    """Return the share η of impulses P that gives the energy ½ η² P·A P + η P·γ; γ are velocities ``after``
    compression, and A P are the ``changes`` of velocities.
    """
    linear = fn.named(_work(impulses, after), "contact_linear")
    square = fn.named(fn.maximum(_work(impulses, changes), 0), "contact_square")
    root = fn.sqrt(as_expr(fn.maximum(plus(times(linear, linear), times(2, times(square, energy))), 0)))
    some = square > 0
    return as_expr(fn.select(some, minus(root, linear) / fn.select(some, square, 1), 1))


def _speed_changes(rows: ContactRows, impulses: Sequence[Scalar]) -> list[Scalar]:
    """Return D P, the changes of the speeds u that impulses in the rows cause."""
    speeds = rows.forces.shape.speeds
    return [
        fn.named(
            reduce(plus, [times(rows.columns[i * speeds + s], P) for i, P in enumerate(impulses)]), "kick"
        )
        for s in range(speeds)
    ]


def row_changes(rows: ContactRows, changes: Sequence[Scalar]) -> list[Scalar]:
    """Return J Δu, the changes of the rows' velocities by changes of speeds."""
    speeds = len(changes)
    return [
        reduce(plus, [times(rows.jacobian[i * speeds + s], changes[s]) for s in range(speeds)])
        for i in range(len(rows.jacobian) // speeds)
    ]


def _choice_of_forces(c: ContactState, after: Sequence[Scalar], stops: Scalar, happens: Scalar) -> _Choice:
    """Return the statuses that a contact may take after an event; ``happens``: the event has an impact.

    A contact is active if it touches and does not separate. ``stops``: it was struck, or it came to rest.
    ``after`` are the velocities by row.
    """
    sliding = [after[row] for row in c.slip]
    direction: tuple[Scalar, ...] = ()
    rests: Scalar = 1
    if c.slip:
        speed = fn.named(length_of(sliding), f"{c.name}_slip")
        still = speed <= times(2, c.slow)
        rests = fn.select(still, 1, fn.select(speed <= times(10 if c.direction else SLOWLY, c.slow), 0.5, 0))
        direction = tuple(fn.select(still, 0, v / fn.select(still, 1, speed)) for v in sliding)
    if c.is_brake:
        return _Choice(c.slip, 1, rests, 0, 0, c.friction, c.held, 1, direction, c.least)
    stays = fn.and_(c.touches, after[c.normal_row] <= c.gentle)
    before = fn.or_(stops, c.closed)
    active = fn.select(stays, 1, 0)
    least = plus(c.least, fn.select(happens, c.rounded, 0))
    return _Choice(c.slip, active, rests, c.friction, c.held, 0, 0, before, direction, least)


def _is_at_rest(c: ContactState, choice: _Choice, direction: Sequence[Scalar]) -> fn.Operand:
    """Return whether a slip that begins starts from rest.

    It does if it was at rest. It also does if it was slow, was stopped because no statuses were found with
    which it continued, and now begins in another ``direction``.
    """
    along = total([times(direction[row], e) for row, e in zip(c.slip, choice.direction, strict=True)])
    slow = fn.and_(as_expr(choice.rests) > 0.25, as_expr(along) < WITHIN)
    return fn.or_(fn.equal(choice.rests, 1), slow)


def _code(c: ContactState, status: Scalar, direction: Sequence[Scalar]) -> fn.Operand:
    """Return the number of a status; see ``state.py``."""
    slides = fn.equal(status, 2)
    if len(c.slip) == 1:
        status = fn.select(slides, fn.select(direction[0] < 0, -2, 2), status)
    if c.is_brake:
        return fn.select(fn.or_(c.friction > 0, c.held > 0), status, 0)
    return status
