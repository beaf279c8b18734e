"""A contact or brake in a run: its status, and what ends the status.

status  0   open; a brake: released
        1   closed and sticking; without friction: closed
       ±2   closed and sliding forwards or backwards; in a plane 2, along a direction in two memories
        3   jams: an impulse stops it at once
        9   not decided yet, at the start of a run

Statuses are memories of the run and change at events only. Events come a little after the end of a status, by
shares of the lengths, speeds and forces of this contact in this run, so that rounding does not cause any and
the decision (``decision.py``) is not in doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr, as_expr
from armillary.algebra.triples import Scalar, minus, plus, times, total
from armillary.model.description import JAMS, UNDECIDED

DEEP = 4e-15  # of its length: an open contact closes where it is so much below its surface
SUNK = 1e-10  # of its length: one that approaches more slowly than CREEP closes there
CREEP = 1e-3  # of an approach that is none
TOUCH = 1e-9  # of its length: how far above its surface a contact touches
OVERLAP = 1e-3  # of its length: a run does not start further below, and less is taken away
# Of its length, and of its speeds: drift that is not worth a solution. A contact at rest with such a velocity
# moves 1e-12 of its length in 1000 s.
DRIFT = 1e-15
LOST = 1e-3  # of its length: a closed contact has left its surface where its gap jumps to more
SLOW = 1e-12  # of its speeds: a velocity of slip that is none
TICK = 1e-15  # of the time: an event comes so much late, and velocities change meanwhile
# Of the speed that it would have after its length: an approach that is none. Contacts that are lifted by DEEP
# fall at √(2 DEEP) of that speed, so a slower one would never come to rest.
GENTLE = 1e-7
# Likewise: the speed of slip in a plane below which friction keeps the direction of the memory. Across the
# slide friction acts as a damper of μ N/|v|, which explicit steps could not follow to a standstill.
TURNING = 1e-4
# Likewise: a slip in a plane that is none. It turns faster and faster as it ends, by 15° again and again.
STILL_IN_PLANE = 2e-5
# Likewise: a velocity against a slide in a plane that is none. Redundant contacts at their limit that stand
# still have as much after the drift of others was taken away.
BACK_IN_PLANE = 1e-9
WITHIN = 0.966  # cosine of the angle (15°) that a slide may turn away from the direction of the memory
GROWN = 2.0  # times the normal force after the last event: one that grows while the contact slides
LEAST = 1e-12  # of accelerations, which decisions take as none
# Of v²/length: an acceleration that is none after an impact with velocities v, which leaves rounding of them.
# Nothing else may be there, as for a body that stops at rest without a load.
ROUNDED = 1e-16
WEAK = 1e-11  # of the forces that make up a force: a force that is none


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
    held: Scalar = 0  # the same at rest
    restitution: Scalar = 0
    last: Expr = ZERO  # time of its last impact, or −1e30
    opened: Expr = ZERO  # time at which it opened last, or −1e30
    longest: Expr = ZERO  # flight of its present bounces
    pressed: Scalar = 0  # its normal force after the last event, if it slid then
    length: Scalar = 1  # of the geometry that the gap is made of
    slow: Scalar = 0  # a velocity of slip that is none
    reversal: Scalar = 0  # a velocity against the slide that is none
    gentle: Scalar = 0  # an approach that is none
    drift: Scalar = 0  # a velocity of a row that holds which is none
    natural: Scalar = 0  # the size of its acceleration without forces of contacts
    least: Scalar = 0  # an acceleration of which DEEP / LEAST is none
    rounded: Scalar = 0  # likewise: LEAST of it is what rounding of its velocities may make
    turning: Scalar = 0  # a speed of slip below which friction does not turn with it
    direction: tuple[Expr, ...] = ()  # memories, where it can slide in two directions
    settle: float | None = None  # seconds

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
        """Closed by its status."""
        return fn.or_(self.sticks, self.slides) if self.slip else self.sticks

    @property
    def on_surface(self) -> fn.Operand:
        """Closed, and not past an edge or slot at which the gap has jumped."""
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
            # A released brake that gets a capacity acts at once, so that the error of the step shows it.
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
        """Return the normal force with which a slide jams, if ``most`` is not zero: one that has also grown
        since the last event. A force that is large from the beginning has a motion, in which it may fall.
        """
        return fn.select(most > 0, fn.maximum(most, times(GROWN, self.pressed)), 0)

    def limit(self, push: Scalar, *, held: bool) -> Scalar:
        """Return the greatest friction with a normal force."""
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
        """Return a function that is positive as long as the slip sticks or slides as it does."""
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
    """Return the sum of the sizes of an expression's terms, its size if nothing cancels."""
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
