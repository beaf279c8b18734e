"""A contact or brake in a run: its place, its status, and what ends the status.

status  0   open; a brake: released
        1   closed and sticking; without friction: closed
       ±2   closed and sliding forwards or backwards
        9   not decided yet, at the start of a run
"""

from __future__ import annotations

from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr
from armillary.algebra.vectors.scalars import Scalar, minus, plus, times
from armillary.mechanics.contact.complementarity import (
    BACKWARD,
    CLOSED,
    FORWARD,
    OPEN,
    STICKS,
    ContactStatus,
    ContactUnknown,
    StatusTriple,
)
from armillary.model.recording.records import UNDECIDED

# A status has ended where its guard is below this share of what it is made of, or a slide would end within as
# many seconds: located events are on the far side of their zeros, but other code rounds otherwise.
ENDED = 1e-11
SOON = (
    1e-8  # seconds: slides that end at once, as those of a linkage, do so within the tolerance of the method
)
LOST = 1e-6  # a closed contact has left its surface where its gap jumps to more: a slot or an edge ends
NONE = 1e-12  # a force as small as this is none: what holds without load is not let go by rounding
# Rate (1/s) at which the drift of the gap and of the velocities of a closed contact is reduced. A higher
# one makes explicit methods with long steps unstable: with 20, shafts in a clutch that held differed by 2e-9
# in speed.
RETURN = 1.0


@dataclass(frozen=True, eq=False)
class ContactState:
    """One contact, or with ``normal`` None one brake."""

    name: str
    normal: int | None  # its rows
    slip: int | None
    status: Expr
    gap: Scalar = 0
    closing: Scalar = 0  # rate of the gap
    sliding: Scalar = 0  # velocity of the slip
    friction: Scalar = 0  # μ, or the capacity of a brake
    held: Scalar = 0  # the same at rest
    restitution: Scalar = 0
    last: Expr = ZERO  # time of its last impact
    touch: float = 1e-9
    settle: float = 1e-6
    hysteresis: bool = False  # whether ``held`` is another value than ``friction``

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
    def undecided(self) -> fn.Operand:
        return fn.equal(self.status, UNDECIDED)

    @property
    def closed(self) -> fn.Operand:
        """Closed by its status."""
        return fn.or_(self.sticks, self.slides) if self.slip is not None else self.sticks

    @property
    def pressed(self) -> fn.Operand:
        """Closed and on its surface: it may have a force."""
        return self.closed if self.is_brake else fn.and_(self.closed, self.gap <= LOST)

    def unknown(self) -> ContactUnknown:
        """The contact in the problem of accelerations."""
        if self.is_brake:
            either = (ContactStatus(False, 0), ContactStatus(False, 1), ContactStatus(False, -1))
            return ContactUnknown(None, self.slip, either, capacity=self.friction)
        if self.slip is None:
            return ContactUnknown(self.normal, None, (CLOSED, OPEN))
        statuses = (STICKS, FORWARD, BACKWARD, OPEN)
        return ContactUnknown(self.normal, self.slip, statuses, friction=self.friction)

    def holding(self) -> StatusTriple:
        """(closed, sticks, direction) as 0, 1 and −1."""
        closed = fn.select(self.pressed, 1, 0)
        if self.slip is None:
            return closed, 0, 0
        sticks = fn.select(fn.and_(self.pressed, self.sticks), 1, 0)
        # A released brake that gets a capacity acts at once, so that the error of the step shows it.
        otherwise = fn.sign(self.sliding) if self.is_brake else 0
        direction = fn.select(self.slides, times(0.5, self.status), otherwise)
        return closed, sticks, direction if self.is_brake else times(closed, direction)

    def limit(self, push: Scalar, *, held: bool) -> Scalar:
        """The greatest friction with a normal force."""
        bound = self.held if held else self.friction
        return bound if self.is_brake else times(bound, push)

    def normal_guard(self, push: Scalar) -> fn.Operand:
        """Positive as long as the contact stays open or closed as it is."""
        return fn.select(self.closed, fn.minimum(plus(push, NONE), minus(LOST, self.gap)), self.gap)

    def opens(self, push: Scalar, free: Scalar) -> fn.Operand:
        """Whether a closed contact has just let go; ``free`` is the force that would hold it alone."""
        ended = fn.or_(plus(push, NONE) <= times(ENDED, fn.absolute(free)), self.gap > LOST)
        return fn.and_(self.closed, ended)

    def slips(self, push: Scalar, friction: Scalar) -> fn.Operand:
        """Whether sticking has just ended."""
        limit, size = self.limit(push, held=True), fn.absolute(friction)
        spare = minus(plus(limit, NONE), size)
        return fn.and_(self.sticks, spare <= times(ENDED, plus(fn.absolute(limit), size)))

    def turns(self, acceleration: Scalar) -> fn.Operand:
        """Whether a slide has just come to its end."""
        onwards = times(0.5, times(self.status, self.sliding))
        return fn.and_(self.slides, onwards <= times(SOON, fn.absolute(acceleration)))

    def slip_guard(self, push: Scalar, friction: Scalar) -> fn.Operand:
        """Positive as long as it sticks or slides as it does."""
        spare = minus(plus(self.limit(push, held=True), NONE), fn.absolute(friction))
        onwards = times(0.5, times(self.status, self.sliding))
        still_released = minus(NONE, self.friction) if self.is_brake else 1
        return fn.select(self.sticks, spare, fn.select(self.slides, onwards, still_released))
