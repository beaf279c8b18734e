"""The phase of a frequency response as a continuous function of frequency.

Below all poles and zeros |G| is proportional to ωⁿ; the phase starts nearest to n·90°, at −180° for a
negative gain with n = 0. From there the angle is followed by bisection until no step exceeds a quarter of
a turn, so that a light resonance between two samples turns all curves the same way. An undamped pole or
zero is a jump of half a turn at any resolution; it goes whichever way ends nearer to (n − 1)·90°, as
those of a collocated response do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_QUARTER = 0.5 * np.pi
_LEVELS = 48  # of bisection: beyond, an interval is narrower than rounding
_WORK = 4000  # frequencies at one level; responses of rounding errors have a random phase everywhere
_HIGHEST = 0.75 * np.pi  # above n quarters: the start of −180° and of 180° is one
_NOTHING = 1e-13  # of a response's largest value: its angle there is that of rounding errors
_APART = 1.1  # factor of the two frequencies from which n is found
_POWERS = 8  # the most of n, either way


def continuous_phase(
    evaluate: Callable[[np.ndarray], np.ndarray], omega: np.ndarray, values: np.ndarray, lowest: float
) -> np.ndarray:
    """Return the angles of G in radians, with the axes frequencies, outputs, inputs; ``evaluate`` gives G at
    other frequencies, and ``lowest`` is one below the poles.
    """
    if not len(omega):
        return np.empty(values.shape)
    first = min(lowest, omega[0])
    if not first > 0:  # the order of given frequencies is that of the curve
        return _along(evaluate, omega, values, np.zeros(values.shape[1:]))
    start = evaluate(np.array([first, first * _APART]))
    with np.errstate(all="ignore"):
        power = np.rint(np.log(np.abs(start[1] / start[0])) / np.log(_APART))
    power = np.clip(np.nan_to_num(power), -_POWERS, _POWERS)
    along = np.concatenate([[first], omega]), np.concatenate([start[:1], values])
    return _along(evaluate, *along, power)[1:]


def _along(
    evaluate: Callable[[np.ndarray], np.ndarray], omega: np.ndarray, values: np.ndarray, power: np.ndarray
) -> np.ndarray:
    values = values.copy()
    for k in range(1, len(values)):  # an exact zero has no angle: that before it stays
        values[k] = np.where((values[k] == 0) | ~np.isfinite(values[k]), values[k - 1], values[k])
    seen = np.abs(values) > _NOTHING * np.max(np.abs(values), axis=0)
    steps, known = _followed(evaluate, omega, values, seen[1:] & seen[:-1])
    found = np.empty(values.shape)
    highest = power * _QUARTER + _HIGHEST
    found[0] = highest - (highest - np.angle(values[0])) % (2 * np.pi)
    for k, step in enumerate(steps):
        other, usual = step - np.copysign(2 * np.pi, step), (power - 1) * _QUARTER
        nearer = np.abs(found[k] + other - usual) < np.abs(found[k] + step - usual)
        found[k + 1] = found[k] + np.where(~known[k] & nearer, other, step)
    return found


def _followed(
    evaluate: Callable[[np.ndarray], np.ndarray], omega: np.ndarray, values: np.ndarray, counted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Changes of the angle from each frequency to the next, and where they are known: the others are jumps of
    half a turn.
    """
    direct = _angle_between(values[:-1], values[1:])
    steps = direct.copy()
    wide = (np.abs(steps) > _QUARTER) & counted
    known = ~wide
    place = np.flatnonzero(wide.any(axis=(1, 2)))
    low, high, g_low, g_high = omega[place], omega[place + 1], values[place], values[place + 1]
    steps[place] = 0.0
    for level in range(_LEVELS):
        if not place.size or (level and place.size > _WORK):
            break
        middle = np.where(low * high > 0, np.sign(low) * np.sqrt(np.abs(low * high)), 0.5 * (low + high))
        try:
            g = evaluate(middle)
        except np.linalg.LinAlgError:  # exactly at an undamped pole
            break
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        g_low, g_high = np.concatenate([g_low, g]), np.concatenate([g, g_high])
        place = np.concatenate([place, place])
        turned = _angle_between(g_low, g_high)
        done = ((np.abs(turned) <= _QUARTER) | ~counted[place]).all(axis=(1, 2))
        np.add.at(steps, place[done], turned[done])
        known[place[done]] |= True
        low, high, g_low, g_high, place = (x[~done] for x in (low, high, g_low, g_high, place))
    np.add.at(steps, place, _angle_between(g_low, g_high))
    jumps = (np.abs(_angle_between(g_low, g_high)) > _QUARTER) & counted[place]
    np.logical_and.at(known, place, ~jumps)
    # Whole turns beside the direct angle: a bisection that meets a zero exactly has no angle there.
    return direct + 2 * np.pi * np.rint((steps - direct) / (2 * np.pi)), known


def _angle_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The angle from one complex number to another, in (−π, π]; 0 where one of them is none."""
    with np.errstate(all="ignore"):
        found = np.angle(b * np.conj(a) / (np.abs(a) * np.abs(b)))
    return np.asarray(np.where(np.isfinite(found), found, 0.0))
