"""Events for SciPy's solvers, by the rules of the compiled loops: see runtime/solver/events.py."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, ulp

import numpy as np

from armillary.runtime.integrators.records import Functions
from armillary.runtime.loop.layout import SNAP
from armillary.runtime.loop.thresholds.event_thresholds import (
    CLEAR,
    FIRST_LOOK,
    LEAST_RATIO,
    LONGEST_STREAK,
    MOST_RATIO,
    MOST_STUCK,
    PILED_UP,
    STUCK,
    STUCK_ULPS,
    SUSPECT,
)


class Events:
    """The signs of the event functions, the first change of one in a step, and how often each happens."""

    def __init__(
        self, functions: Functions, g: Callable[[float, np.ndarray, np.ndarray], np.ndarray]
    ) -> None:
        self.count = functions.n_events
        self.direction = np.array(functions.event_directions or [0] * self.count)
        self.terminal = functions.event_terminal or (False,) * self.count
        self.accumulating: int | None = None
        self._g = g
        self._sign, self._side, self._g_start = np.zeros((3, self.count))
        self._last, self._gap = np.full(self.count, -inf), np.full(self.count, inf)
        self._longest, self._streak, self._stuck = np.zeros((3, self.count))
        self._returning = np.zeros(self.count, dtype=bool)
        self._fired = 0
        self._shortest, self._blind = inf, 0.0

    def adopt(
        self, t: float, state: np.ndarray, rate: np.ndarray, memory: np.ndarray, fired: list[int], h: float
    ) -> None:
        """The signs from which changes are counted, after what has just `fired`; `h`: the last step."""
        g = self._g(t, state, memory)
        self._sign = np.nan_to_num(np.sign(g))
        back = (self._sign == self._side) & (np.abs(g) > CLEAR * np.abs(self._g_start))
        just_fired = np.zeros(self.count, dtype=bool)
        just_fired[fired] = True
        self._sign[just_fired & ~back] = 0.0
        self._g_start = g
        suspect = (self._sign == 0.0) & (self._streak >= 1) & (self._gap <= SUSPECT * self._longest)
        self._returning = suspect
        if suspect.any():
            ahead = FIRST_LOOK * h
            rise = self._g(t + ahead, state + ahead * rate, memory) - g
            self._returning = suspect & (rise * self._side > 0.0)

    def closeness(self, t_old: float, t: float) -> float:
        """The distance below which two times near the end of a step count as one."""
        unit = max(ulp(t_old), ulp(t))
        return max(16 * unit, min((16 + self._fired) * unit, SNAP * (t - t_old)))

    def first(
        self, t_old: float, t: float, last: bool, inside: Callable[[float], np.ndarray], memory: np.ndarray
    ) -> tuple[float, list[int]] | None:
        """The time of the first event in a step and the events that happen then; `last`: the run ends at t.

        An event that crossed unseen is left in `accumulating`.
        """
        if not self.count:
            return None
        h, low, near = t - t_old, t_old, self.closeness(t_old, t)
        g = self._g_start
        for x in self._looks(h, 16 * ulp(t)):
            high = t if x == h else t_old + x
            g = self._g(high, inside(high), memory)
            now, before = np.sign(g), self._sign
            changed = (now != before) & ~np.isnan(now)
            crossed = changed & (before != 0.0) & (self.direction * before <= 0.0)
            took = changed & ~crossed & ((before != 0.0) | (x >= FIRST_LOOK * h) | (now == self._side))
            unseen = took & (before == 0.0) & self._returning & (now != self._side)
            if unseen.any():
                self.accumulating = int(np.flatnonzero(unseen)[0])
                return None
            self._sign = np.where(took, now, before)
            beyond = np.zeros(self.count, dtype=bool)
            if high == t:
                ahead = np.sign(self._g(t + near, inside(t + near), memory))
                beyond = ~crossed & (self._sign != 0.0) & (self.direction * self._sign <= 0.0)
                beyond &= (ahead != self._sign) & ~np.isnan(ahead)
            if crossed.any() or beyond.any():
                return self._located(crossed, beyond, before, low, high, t, near, last, inside, memory)
            low = high
        self._g_start = g
        return None

    def _looks(self, h: float, least: float) -> list[float]:
        """Where to look in a step of length h; more than its end only after an event."""
        if not np.any(self._sign == 0.0):
            return [h]
        looks, shortest = [h], max(FIRST_LOOK * min(h, self._shortest), least)
        while looks[-1] > shortest and 0.5 * looks[-1] >= self._blind:
            looks.append(0.5 * looks[-1])
        self._shortest, self._blind = inf, 0.0
        return looks[::-1]

    def _located(
        self,
        crossed: np.ndarray,
        beyond: np.ndarray,
        before: np.ndarray,
        low: float,
        high: float,
        t: float,
        near: float,
        last: bool,
        inside: Callable[[float], np.ndarray],
        memory: np.ndarray,
    ) -> tuple[float, list[int]]:
        """The first event between low, where functions have the signs ``before``, and high, or next to t."""
        tolerance = 4 * ulp(high)
        roots = {
            k: self._root(k, low, high, tolerance, inside, memory) for k in map(int, np.flatnonzero(crossed))
        }
        for k in map(int, np.flatnonzero(beyond)):
            roots[k] = t if last else self._root(k, t, t + near, tolerance, inside, memory)
        place = min(roots.values())
        now = np.sign(self._g(place, inside(place), memory))
        unseen = ~crossed & ~beyond & (before != 0.0) & (self.direction * before <= 0.0)
        unseen &= (now != before) & ~np.isnan(now)
        if unseen.any() and place < high:  # of those that change back before the step ends
            none = np.zeros_like(beyond)
            return self._located(unseen, none, before, low, place, t, near, last, inside, memory)
        if last and t - place <= near:
            place = t
            self._blind = 2 * near if beyond.any() else 0.0
        happening = sorted(k for k, root in roots.items() if root <= place + tolerance)
        self._record(place, happening)
        return place, happening

    def _root(
        self,
        k: int,
        low: float,
        high: float,
        tolerance: float,
        inside: Callable[[float], np.ndarray],
        memory: np.ndarray,
    ) -> float:
        """The far side of a root of g_k."""
        from scipy.optimize import brentq

        def g(x: float) -> float:
            return float(self._g(x, inside(x), memory)[k])

        if not g(low) * g(high) < 0.0:
            return high
        root: float = brentq(g, low, high, xtol=tolerance)
        while root < high and np.sign(g(root)) == self._sign[k]:
            root = min(root + tolerance, high)
        return root

    def _record(self, t: float, happening: list[int]) -> None:
        self._fired += len(happening)
        self._shortest = inf
        for k in happening:
            self._side[k] = self._sign[k]
            now = t - self._last[k]
            goes_on = LEAST_RATIO * self._gap[k] < now < MOST_RATIO * self._gap[k]
            streak = self._streak[k] = self._streak[k] + 1 if goes_on else 0
            longest = self._longest[k] = max(now, self._longest[k]) if goes_on else now
            short = now <= STUCK_ULPS * ulp(t) or (1 <= streak <= LONGEST_STREAK and now <= STUCK * longest)
            self._stuck[k] = self._stuck[k] + 1 if short else 0
            self._last[k], self._gap[k] = t, now
            self._shortest = min(self._shortest, now)
            if (streak >= 1 and now <= PILED_UP * longest) or self._stuck[k] > MOST_STUCK:
                self.accumulating = k
