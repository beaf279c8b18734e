"""A contact or brake in a run: its status, and the conditions that end the status.

status  0   open; a brake: released
        1   closed and sticking; without friction: closed
       ±2   closed and sliding forwards or backwards; in a plane 2, along a direction in two memories
        3   jams: an impulse stops it at once
        9   not decided yet, at the start of a run

Statuses are memories of the run and change at events only. An event is located a little after the exact end
of a status, so that rounding causes no event, and the decision (``decision.py``) is unambiguous. How much
later is stated below, as shares of the contact's lengths, speeds and forces in this run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.triples import Scalar, minus, plus, times, total
from armillary.model.description import JAMS, UNDECIDED

# Shares of the length of a contact's geometry:
DEEP = 4e-15  # depth below its surface at which an open contact closes
SUNK = 1e-10  # depth at which an open contact closes if it approaches more slowly than CREEP
TOUCH = 1e-9  # height above its surface up to which a contact touches
OVERLAP = 1e-3  # greatest depth at the start of a run; smaller depths are removed
LOST = 1e-3  # gap above which a closed contact has left its surface, as at an edge
# Shares of the negligible approach GENTLE: an approach that is hardly seen, and one that is only rounding.
CREEP, UNMOVED = 1e-3, 1e-6
# Drift that is not removed: a gap, as a share of the contact's length, and a velocity of a row that holds, as
# a share of the speed of a free fall through that length, plus this share of the contact's speeds. A contact
# at rest with such a velocity moves some 1e-12 of its length in 1000 s.
DRIFT = 1e-15
SLOW = 1e-12  # negligible slip, as a share of its speeds
# Negligible change of a speed: this share of the speed, plus this share of the change that its acceleration
# makes in the time of the run. Removing a slip of the share SLOW usually changes speeds by 1e-3 of this;
# where the lever of a brake is zero, it would take all of the speed.
UNNOTICED = 1e-9
TICK = 1e-15  # delay of an event, as a share of the time; velocities change a little during this delay
# Shares of the speed of a free fall through the contact's length:
# A negligible approach. A contact that was lifted by DEEP falls back at √(2 DEEP) of that speed, so with a
# smaller share contacts would never come to rest.
GENTLE = 1e-7
# The slip in a plane below which friction keeps the direction that is in memory. Across its direction, a
# slide is damped with the coefficient μ N/|v|, which explicit steps could not follow to a standstill.
TURNING = 1e-4
# A negligible slip in a plane. As a slip ends, its direction may turn faster and faster, with an event at
# every 15° (WITHIN); this limit ends these events.
STILL_IN_PLANE = 2e-5
# A negligible velocity against a slide in a plane. Redundant contacts that stand still at their friction
# limit have such velocities after the drift of other contacts was removed.
BACK_IN_PLANE = 1e-9
WITHIN = 0.966  # cosine of the angle (15°) that a slide may turn away from the direction in memory
GROWN = 2.0  # least growth of the normal force since the last event with which a slide can jam
LEAST = 1e-12  # share of accelerations that decisions neglect
# A motion that is lost to rounding, as a share of the contact's length. With DEEP in its place, contacts
# adhered with 2e-9 of the weight in the first thousandth of a run.
UNSEEN = 2e-16
# Acceleration that may be rounding, as a share of the terms of which it is the sum: the weights of two bodies
# that fall together, for example, cancel in their contact.
CANCELLED = 1e-15
# Acceleration that is neglected after an impact with velocities v, as a share of v²/length: it may come from
# the rounding of these velocities alone, as for a body that comes to rest without a load.
ROUNDED = 1e-16
WEAK = 1e-11  # negligible force, as a share of the terms whose sum it is


@dataclass(frozen=True, eq=False)
class ContactState:
    """One contact, or one brake if ``normal`` is None."""

    name: str
    normal: int | None  # the row of its normal
    slip: tuple[int, ...]  # the rows of its slip
    status: Expr
    gap: Scalar = 0
    closing: Scalar = 0  # rate of the gap
    sliding: tuple[Scalar, ...] = ()  # velocities of the slip
    friction: Scalar = 0  # μ, or the capacity of a brake
    held: Scalar = 0  # μ at rest, or the capacity at rest
    restitution: Scalar = 0
    last: Expr = ZERO  # time of its last impact, or −1e30
    opened: Expr = ZERO  # time at which it opened last, or −1e30
    longest: Expr = ZERO  # longest flight of its present bounces
    pressed: Scalar = 0  # its normal force after the last event, if it slid then
    length: Scalar = 1  # length of the geometry in the gap
    slow: Scalar = 0  # negligible velocity of slip
    reversal: Scalar = 0  # negligible velocity against the direction of the slide
    gentle: Scalar = 0  # negligible velocity of approach
    drift: Scalar = 0  # negligible velocity of a row that holds
    natural: Scalar = 0  # the size of its acceleration without forces of contacts
    least: Scalar = 0  # added to the size of its rows in decisions, in units of accelerations
    rounded: Scalar = 0  # added to ``least`` after an impact, for the rounding of velocities
    # For a brake: for each speed, the magnitude of its change by a unit impulse, and a negligible change.
    speed_changes: tuple[tuple[Scalar, Scalar], ...] = ()
    turning: Scalar = 0  # speed of slip below which friction keeps its direction
    direction: tuple[Expr, ...] = ()  # memories, if it can slide in two directions
    settle: float | None = None  # it settles if all its bounces would end within these seconds

    @property
    def is_brake(self) -> bool:
        return self.normal is None

    @property
    def normal_row(self) -> int:
        """The row of its normal; brakes have none."""
        assert self.normal is not None
        return self.normal

    @property
    def open(self) -> fn.Operand:
        return fn.equal(self.status, 0)

    @property
    def sticks(self) -> fn.Operand:
        return fn.equal(self.status, 1)

    @property
    def slides(self) -> fn.Operand:
        return fn.equal(fn.absolute(self.status), 2)

    @property
    def jams(self) -> fn.Operand:
        return fn.equal(self.status, JAMS)

    @property
    def undecided(self) -> fn.Operand:
        return fn.equal(self.status, UNDECIDED)

    @property
    def closed(self) -> fn.Operand:
        """Whether its status is closed: sticking or sliding."""
        return fn.or_(self.sticks, self.slides) if self.slip else self.sticks

    @property
    def on_surface(self) -> fn.Operand:
        """Whether it is closed and has not left its surface, as at an edge, where the gap jumps."""
        return self.closed if self.is_brake else fn.and_(self.closed, self.gap <= times(LOST, self.length))

    @property
    def touches(self) -> fn.Operand:
        return fn.or_(self.on_surface, self.gap <= times(TOUCH, self.length))

    @property
    def overlaps(self) -> fn.Operand:
        """Whether the contact is too far below its surface at the start of a run."""
        return fn.and_(self.undecided, self.gap < times(-OVERLAP, self.length))

    def slide_direction(self, sliding: tuple[Scalar, ...]) -> list[Scalar]:
        """Return the direction of a slide with slip velocities ``sliding``.

        For slip along a line the status gives the direction. In a plane the velocity gives it, or for slow
        slips the direction in memory. If a step goes beyond the end of a slide, the velocity reverses, but
        the force must not: the component of the velocity against the direction in memory is reflected.
        """
        if len(self.slip) == 1:
            # A released brake acts as soon as it has a capacity, so that the step's error estimate shows it.
            otherwise = fn.sign(sliding[0]) if self.is_brake else 0
            return [fn.select(self.slides, times(0.5, self.status), otherwise)]
        onwards = total([times(v, d) for v, d in zip(sliding, self.direction, strict=True)])
        back = fn.named(fn.maximum(times(-2, onwards), 0), f"{self.name}_back")
        turned = [
            plus(v, times(d, plus(back, self.turning))) for v, d in zip(sliding, self.direction, strict=True)
        ]
        length = fn.named(fn.sqrt(as_expr(total([times(v, v) for v in turned]))), f"{self.name}_speed")
        some = length > 0
        return [
            fn.named(fn.select(some, v / fn.select(some, length, 1), d), f"{self.name}_direction")
            for v, d in zip(turned, self.direction, strict=True)
        ]

    def jam_bound(self, most: Scalar) -> fn.Operand:
        """Return the normal force above which a slide jams; 0 if ``most`` is 0, and there is no such force.

        It is ``most``, but at least GROWN times the force after the last event: a force that was large then
        may still decrease.
        """
        return fn.select(most > 0, fn.maximum(most, times(GROWN, self.pressed)), 0)

    def limit(self, push: Scalar, *, held: bool) -> Scalar:
        """Return the greatest friction for a normal force; ``held`` selects the coefficient at rest."""
        bound = self.held if held else self.friction
        return bound if self.is_brake else times(bound, push)

    def normal_guard(self, push: Scalar, size: Scalar, most: Scalar) -> fn.Operand:
        """Return a function that is positive as long as the contact stays open or closed.

        ``push`` is the normal force, ``size`` the size of the terms whose sum it is, and ``most`` the force
        above which a slide jams, or 0. An open contact closes if it is below its surface and moves further
        down. If it is below only by rounding and moves up, it stays open; so it does if others hold it there,
        and its velocity is rounding.
        """
        pressed = plus(push, times(WEAK, size))
        stays_closed = fn.minimum(pressed, minus(times(LOST, self.length), self.gap))
        if self.slip:
            stays_closed = fn.minimum(stays_closed, fn.select(most > 0, minus(most, push), pressed))
        above = fn.maximum(
            plus(self.gap, times(DEEP, self.length)), plus(self.closing, times(UNMOVED, self.gentle))
        )
        slowly = fn.minimum(
            plus(self.closing, times(CREEP, self.gentle)), plus(self.gap, times(SUNK, self.length))
        )
        stays_open = fn.maximum(above, slowly)
        held = fn.select(self.closed, stays_closed, stays_open)
        return fn.select(self.jams, -1, held) if self.slip else held

    def slip_guard(self, push: Scalar, friction: list[Scalar], size: Scalar) -> fn.Operand:
        """Return a function that is positive as long as the slip continues to stick or to slide.

        ``push`` is the normal force, ``friction`` has the components of the friction force, and ``size`` is
        the size of the terms whose sum they are.
        """
        spare = minus(plus(self.limit(push, held=True), times(WEAK, size)), length_of(friction))
        if len(self.slip) == 1:
            onwards = times(0.5, times(self.status, self.sliding[0]))
        else:
            along = total([times(v, d) for v, d in zip(self.sliding, self.direction, strict=True)])
            turned = plus(minus(along, times(WITHIN, length_of(list(self.sliding)))), self.slow)
            onwards = fn.minimum(along, minus(turned, self.reversal))
        # A released brake has no force until its capacity becomes positive.
        still_released = fn.select(self.friction > 0, times(-1, self.friction), 1) if self.is_brake else 1
        otherwise = fn.select(self.slides, plus(onwards, self.reversal), still_released)
        return fn.select(self.sticks, spare, otherwise)


def length_of(vector: list[Scalar]) -> Scalar:
    """Return the length of a vector of one or two elements."""
    if len(vector) == 1:
        return as_expr(fn.absolute(vector[0]))
    return as_expr(fn.sqrt(as_expr(total([times(x, x) for x in vector]))))


def term_sizes(expression: Expr) -> Scalar:
    """Return the sum of the magnitudes of an expression's terms: its magnitude if no terms cancelled."""
    while expression.kind == "let":
        expression = expression.args[0]
    if expression.kind == "sum":
        constant, factors = expression.data
        parts = [times(abs(c), term_sizes(term)) for c, term in zip(factors, expression.args, strict=True)]
        return as_expr(reduce(plus, parts, abs(constant)))
    if expression.kind == "product":
        coefficient, exponents = expression.data
        sizes = [
            term_sizes(x) if n == 1 else fn.absolute(x**n)
            for x, n in zip(expression.args, exponents, strict=True)
        ]
        return as_expr(reduce(times, sizes, abs(coefficient)))
    if expression.kind == "call" and expression.data in ("select", "min", "max"):
        first, second = (term_sizes(x) for x in expression.args[-2:])
        if expression.data == "select":
            return as_expr(fn.select(expression.args[0], first, second))
        return as_expr(fn.maximum(first, second))
    return as_expr(fn.absolute(expression))
