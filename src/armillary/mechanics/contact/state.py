"""A contact or brake in a run: its status, and the conditions that end the status.

status  0   open; a brake: released
        1   closed and sticking; without friction: closed
       ±2   closed and sliding forwards or backwards; in a plane 2, along a direction in two memories
        3   jams: an impulse stops it at once
        9   not decided yet, at the start of a run

Statuses are memories of the run and change at events only. An event comes a little after the exact end of a
status, by the shares below of the contact's lengths, speeds and forces in this run: then rounding causes no
event, and the decision (``decision.py``) is clear.
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
SUNK = 1e-10  # depth at which a contact closes that approaches more slowly than CREEP
TOUCH = 1e-9  # height above its surface up to which a contact touches
OVERLAP = 1e-3  # greatest depth at the start of a run; smaller depths are removed
LOST = 1e-3  # gap above which a closed contact has left its surface, as at an edge
CREEP = 1e-3  # share of the negligible approach GENTLE
# Velocity of drift that is not removed: this share of the contact's length per second, and of its speeds. A
# contact at rest with such a velocity moves 1e-12 of its length in 1000 s.
DRIFT = 1e-15
SLOW = 1e-12  # negligible slip, as a share of its speeds
# Negligible change of a speed, as a share of the speed, and of its change by its acceleration in the time of
# the run. To remove a slip that is SLOW takes 1e-3 of this; where the lever of a brake is zero, it takes all
# of the speed.
UNNOTICED = 1e-9
TICK = 1e-15  # delay of an event, as a share of the time, in which velocities change
# Shares of the speed of a free fall through the contact's length:
# A negligible approach. Contacts that are lifted by DEEP fall at √(2 DEEP) of that speed, so with a smaller
# share they would never come to rest.
GENTLE = 1e-7
# The slip in a plane below which friction keeps the direction in memory. Across the slide friction acts as a
# damper of μ N/|v|, which explicit steps could not follow to a standstill.
TURNING = 1e-4
# A negligible slip in a plane. As a slip ends it turns faster and faster, by 15° again and again.
STILL_IN_PLANE = 2e-5
# A negligible velocity against a slide in a plane. Redundant contacts that stand still at their friction
# limit have as much after the drift of others was removed.
BACK_IN_PLANE = 1e-9
WITHIN = 0.966  # cosine of the angle (15°) that a slide may turn away from the direction in memory
GROWN = 2.0  # least growth of the normal force since the last event with which a slide can jam
LEAST = 1e-12  # share of accelerations that decisions neglect
# Acceleration that is neglected after an impact with velocities v, as a share of v²/length: it may come from
# their rounding alone, as for a body that comes to rest without a load.
ROUNDED = 1e-16
WEAK = 1e-11  # negligible force, as a share of the forces whose sum it is


@dataclass(frozen=True, eq=False)
class ContactState:
    """One contact, or with ``normal`` None one brake."""

    name: str
    normal: int | None  # its rows
    slip: tuple[int, ...]
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
    reversal: Scalar = 0  # negligible velocity against the slide
    gentle: Scalar = 0  # negligible velocity of approach
    drift: Scalar = 0  # negligible velocity of a row that holds
    natural: Scalar = 0  # the size of its acceleration without forces of contacts
    least: Scalar = 0  # an acceleration; decisions neglect the part DEEP / LEAST of it
    rounded: Scalar = 0  # an acceleration; the part LEAST of it may be rounding of its velocities
    # Of a brake: for each speed the magnitude of its change by a unit impulse, and a negligible change.
    speed_changes: tuple[tuple[Scalar, Scalar], ...] = ()
    turning: Scalar = 0  # speed of slip below which friction keeps its direction
    direction: tuple[Expr, ...] = ()  # memories, if it can slide in two directions
    settle: float | None = None  # seconds to the end of its bounces within which it may settle

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
        """Whether it is closed, and not past an edge or slot at which the gap has jumped."""
        return self.closed if self.is_brake else fn.and_(self.closed, self.gap <= times(LOST, self.length))

    @property
    def touches(self) -> fn.Operand:
        return fn.or_(self.on_surface, self.gap <= times(TOUCH, self.length))

    @property
    def overlaps(self) -> fn.Operand:
        """Whether a run would start below the surface."""
        return fn.and_(self.undecided, self.gap < times(-OVERLAP, self.length))

    def slide_direction(self, sliding: tuple[Scalar, ...]) -> list[Scalar]:
        """Return the direction of a slide with slip velocities ``sliding``.

        Along a line the status gives the direction, in a plane the velocity, for slow slips the memory. If a
        step goes beyond the end of a slide, the force keeps its direction: the part of the velocity against
        the direction of the memory is reflected.
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
        """Return the normal force with which a slide jams: ``most``, but at least GROWN times the force after
        the last event, since a force that is large from the start may decrease; 0 if ``most`` is 0.
        """
        return fn.select(most > 0, fn.maximum(most, times(GROWN, self.pressed)), 0)

    def limit(self, push: Scalar, *, held: bool) -> Scalar:
        """Return the greatest friction for a normal force; ``held`` selects the coefficient at rest."""
        bound = self.held if held else self.friction
        return bound if self.is_brake else times(bound, push)

    def normal_guard(self, push: Scalar, size: Scalar, most: Scalar) -> fn.Operand:
        """Return a function that is positive as long as the contact stays open or closed.

        ``size``: the size of the forces that make up ``push``; ``most``: the force with which a slide jams,
        or 0. An open contact closes if it is below its surface and on its way down: one that starts below by
        rounding and leaves stays open.
        """
        pressed = plus(push, times(WEAK, size))
        stays_closed = fn.minimum(pressed, minus(times(LOST, self.length), self.gap))
        if self.slip:
            stays_closed = fn.minimum(stays_closed, fn.select(most > 0, minus(most, push), pressed))
        above = fn.maximum(plus(self.gap, times(DEEP, self.length)), self.closing)
        slowly = fn.minimum(
            plus(self.closing, times(CREEP, self.gentle)), plus(self.gap, times(SUNK, self.length))
        )
        stays_open = fn.maximum(above, slowly)
        held = fn.select(self.closed, stays_closed, stays_open)
        return fn.select(self.jams, -1, held) if self.slip else held

    def slip_guard(self, push: Scalar, friction: list[Scalar], size: Scalar) -> fn.Operand:
        """Return a function that is positive as long as the slip keeps its status: sticking or sliding."""
        spare = minus(plus(self.limit(push, held=True), times(WEAK, size)), length_of(friction))
        if len(self.slip) == 1:
            onwards = times(0.5, times(self.status, self.sliding[0]))
        else:
            along = total([times(v, d) for v, d in zip(self.sliding, self.direction, strict=True)])
            turned = plus(minus(along, times(WITHIN, length_of(list(self.sliding)))), self.slow)
            onwards = fn.minimum(along, minus(turned, self.reversal))
        # A released brake waits for a capacity.
        still_released = fn.select(self.friction > 0, times(-1, self.friction), 1) if self.is_brake else 1
        otherwise = fn.select(self.slides, plus(onwards, self.reversal), still_released)
        return fn.select(self.sticks, spare, otherwise)


def length_of(vector: list[Scalar]) -> Scalar:
    """Return the length of a vector of one or two elements."""
    if len(vector) == 1:
        return as_expr(fn.absolute(vector[0]))
    return as_expr(fn.sqrt(as_expr(total([times(x, x) for x in vector]))))


def term_sizes(expression: Expr) -> Scalar:
    """Return the sum of the magnitudes of an expression's terms: its magnitude if nothing cancelled."""
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
