"""Dry friction with memory: an elastic anchor that holds at rest and is dragged along in sliding.

    pull      p = k (x − a)                      x: where the mover is, a: its anchor
    trial     p_L + c v                          ( )_L: shortened to the limit L where it is longer
    friction  F = −( p_L + c v )_L

It sticks while |p_L + c v| < L = μ_s N, and the anchor does not move: no creep. It slides while that is at
least L = μ N; the friction is then L against the motion, and the anchor follows at the distance L/k. Friction
never gives energy: what it returns, p²/2k at most, was put into the surfaces before.

Sources: Cundall & Strack (1979), A discrete numerical model for granular assemblies, section on the shear
force, for spring, dashpot and slider; the anchor renewed by radial return as in plasticity, Simo & Hughes
(1998), section 1.4.

When is the anchor renewed? Inside a step all memory is constant, so that the integrator meets a smooth
function and may try and reject as it likes. In sliding an anchor left behind does no harm: the friction is L
whether the pull is L or more, so renewing once per step is enough. What must not wait for the end of a step
is the change between sticking and sliding: a reversal with the anchor far behind would go on for as long as
the mover needs to come back to it. That change is the event |p_L + c v| = L; in one dimension its end of a
slide is v = 0 exactly. It renews the memory as a step does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr
from armillary.model.description import Description
from armillary.model.signals.events import event
from armillary.model.signals.memory import memory, update

OPEN, STICKS, SLIDES = 0, 1, 2  # values of the memory of the status; open: not begun, or nothing presses


@dataclass(frozen=True, eq=False)
class Limits:
    """The greatest friction while sliding and while sticking; zero or less where nothing presses."""

    sliding: Expr
    sticking: Expr


def sticking_friction(
    system: Description,
    name: str,
    place: Sequence[Expr],
    velocity: Sequence[Expr],
    limits: Limits,
    stiffness: Expr,
    damping: Expr,
) -> list[Expr]:
    """Friction on a mover, in one or two directions; makes the memory and the event behind it.

    Memories: ``name_status`` and ``name_anchor`` (with a number where there are two). Event: ``name_grip``.
    """
    units = system.units.unit_text(place[0].dimension)
    numbers = range(1, len(place) + 1) if len(place) > 1 else [""]
    status = memory(system, f"{name}_status", OPEN, units="-", about=f"{name}: 0 open, 1 sticks, 2 slides")
    anchors = [
        memory(system, f"{name}_anchor{i}", units=units or "-", about=f"{name}: where the elastic anchor is")
        for i in numbers
    ]
    pull = [
        fn.named(fn.select(status > OPEN, stiffness * (x - a), 0), f"{name}_pull")
        for x, a in zip(place, anchors, strict=True)
    ]
    limit = fn.named(fn.select(status > STICKS, limits.sliding, limits.sticking), f"{name}_limit")
    trial = [
        fn.named(p + damping * v, f"{name}_trial")
        for p, v in zip(_shortened(pull, limit), velocity, strict=True)
    ]
    excess = fn.named(_length(trial) - limit, f"{name}_excess")

    slides = excess >= 0
    # What both the present and the next status bear: else the pull would jump up to μ_s N where a slide ends.
    bound = fn.minimum(limit, fn.select(slides, limits.sliding, limits.sticking))
    moved = fn.or_(_length(pull) > bound, status <= OPEN)
    renewed: dict[Expr | str, Expr] = {
        a: fn.select(moved, x - p / stiffness, a)  # else the very same value: rounding would creep
        for a, x, p in zip(anchors, place, _shortened(pull, bound), strict=True)
    }
    renewed[status] = fn.select(limits.sticking > 0, fn.select(slides, SLIDES, STICKS), OPEN)
    for variable, value in renewed.items():
        update(system, variable, value)
    event(system, f"{name}_grip", excess, set=renewed, about=f"{name} begins to stick or to slide")
    return [-p for p in _shortened(trial, limit)]


def _length(vector: Sequence[Expr]) -> Expr:
    found: Expr = fn.absolute(vector[0]) if len(vector) == 1 else fn.sqrt(sum(x * x for x in vector))
    return found


def _shortened(vector: Sequence[Expr], limit: Expr) -> list[Expr]:
    """The vector, no longer than the limit."""
    if len(vector) == 1:
        return [fn.maximum(fn.minimum(vector[0], limit), -limit)]
    length = _length(vector)
    factor = fn.select(length > limit, limit / length, 1)
    return [x * factor for x in vector]
