"""One step across a place where the constraints lose rank, such as the flat position of a parallelogram.

Several branches of motion meet there. Along each of them the motion is smooth, though its equations are 0/0
in that place, so one step of high order passes it, placed so that no stage comes near. Loops are closed at
every stage: rows that are nearly dependent would make much of a small gap.

Dormand and Prince's method of order eight has no stage between 0.34 and 0.59 of its step (Hairer, Nørsett &
Wanner 1993, II.5), so the place is put in the middle of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armillary.errors import ArmillaryError
from armillary.mechanics.constraints.choice.partition import sizes_by_kind
from armillary.program.targets.targets import CONSTRAINT_RANK, INTERNAL_EVENTS
from armillary.runtime.integrators.dop853 import TABLEAU
from armillary.runtime.integrators.records import Integration, Status
from armillary.runtime.loop.formulas import EPSILON
from armillary.runtime.loop.thresholds.change_thresholds import (
    BELIEVED,
    BLIND,
    IN_PLACE,
    LOOKS,
    MIDDLE,
    NO_STRENGTH,
    RANK_LEFT,
    RANK_SMALL,
    ROUGH,
    SOON,
    STRIDE,
    TORN,
)
from armillary.runtime.models.configurations.run_changes import near_place
from armillary.runtime.models.instance import Instance
from armillary.runtime.solver.language.language import PASSES
from armillary.runtime.start.place import Place

_AHEAD = (1e-3, 1e-4, 1e-5)  # radians or lengths of motion from which a forecast is made
_A, _EXTRA_A, _DENSE, _ERRORS = (
    tuple(np.array(weights) for weights in rows)
    for rows in (TABLEAU.a, TABLEAU.extra_a, TABLEAU.dense, TABLEAU.errors)
)
_B = np.array(TABLEAU.b)


Rates = Callable[[float, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Forecast:
    """The time at which the constraints will lose rank, and the length of the step across.

    It is ``certain`` where a step has jumped over the place and found it.
    """

    singular: float
    stride: float
    certain: bool = False

    @property
    def begin(self) -> float:
        """Where the step across begins."""
        return self.singular - MIDDLE * self.stride

    def next_look(self, t: float) -> float:
        """When to look again: half way there, as the motion may be quicker or slower by then."""
        return self.begin if self.certain else t + 0.5 * (self.begin - t)

    def at_hand(self, t: float) -> bool:
        """Whether the step across can begin."""
        return self.begin - t <= (1e-9 if self.certain else SOON) * (self.singular - t)

    def across(self, t: float) -> float:
        """The step from t that has the place where no stage comes near."""
        return (self.singular - t) / MIDDLE


def _cause(instance: Instance) -> str:
    """What may be behind a place that no step leads across."""
    if instance.equations.system.prescriptions:
        return "a loop cannot follow what is prescribed any further: look where its points have to go"
    return (
        "if directions of close_loop() are fixed in different bodies, they may have become parallel: give "
        "directions of one body"
    )


class RoughStepError(ArmillaryError):
    """A step across that was too long for its motion: a shorter one may do."""


def _rough(instance: Instance, t: float) -> str:
    return (
        f"the constraints of '{instance.equations.system.name}' lose rank near t = {t:.6g} s "
        f"and the motion could not be carried across; {_cause(instance)}"
    )


def refuse(instance: Instance, result: Integration) -> None:
    """An error for a run that ended where no step leads across, or where an event cannot happen."""
    k = result.refused_event
    assert k is not None
    if instance.equations.targets.watched[k].name == CONSTRAINT_RANK:
        raise ArmillaryError(_rough(instance, result.t_stop))
    _check_changes(instance, k, result.t_stop)


def refuse_choice(instance: Instance, place: Place) -> None:
    """An error where other dependent speeds are required so near a place where rank is lost that none are
    better: a run that went on with others would leave its branch of motion there.
    """
    weak = instance.equations.reduction.strength is not None
    if weak and instance.strength(place.t, instance.packed(place), place.memory) <= NO_STRENGTH:
        raise ArmillaryError(_rough(instance, place.t))


def forecast(instance: Instance, place: Place, share: float = 1.0) -> Forecast | None:
    """What is ahead of a place if the strength of the constraints goes on to fall as it does, with its
    slope and bend: from rest there is no slope. ``share``: of the usual step across.
    """
    y, memory = instance.packed(place), place.memory
    rate = instance.derivatives(place.t, y, memory)
    if not np.all(np.isfinite(rate)):
        return None

    def strength(ahead: float) -> float:
        later = instance.derivatives(place.t + ahead, y + ahead * rate, memory)
        found: float = instance.strength(place.t + ahead, y + 0.5 * ahead * (rate + later), memory) ** 0.5
        return found

    here = strength(0.0)
    for distance in _AHEAD:
        dt = horizon(instance, place, distance)
        if not 0.0 < dt < np.inf:
            return None
        soon, later = strength(dt), strength(2 * dt)
        slope, bend = (4 * soon - 3 * here - later) / (2 * dt), (here - 2 * soon + later) / (2 * dt * dt)
        ahead = _first_root(here, slope, bend)
        if (ahead is None and soon >= here) or (ahead is not None and ahead > 4 * dt):
            break  # else the place was passed in looking for it: look less far
    if ahead is None or ahead > horizon(instance, place, BELIEVED):
        return None
    return Forecast(place.t + ahead, min(horizon(instance, place, share * STRIDE), ahead / MIDDLE))


def confirmed(instance: Instance, place: Place, ahead: Forecast) -> bool:
    """Whether the constraints do lose rank where a forecast says: the smallest singular value of J falls.

    The strength of a row depends on the choice of dependent speeds and may fall where J is of full rank. At
    the place, extrapolated to second order from where the step across begins, little must be left of σ.
    """
    y, memory, dt = instance.packed(place), place.memory, ahead.singular - place.t
    rate = instance.derivatives(place.t, y, memory)
    later = instance.derivatives(place.t + dt, y + dt * rate, memory)
    there = instance.closed(ahead.singular, y + 0.5 * dt * (rate + later), memory)
    if not np.all(np.isfinite(there)):
        return True
    system, reduction, geometry = (
        instance.equations.system,
        instance.equations.reduction,
        instance.geometry(memory),
    )
    kept = [i for i, row in enumerate(reduction.rows) if row in reduction.elimination.kept]
    here, then = (
        geometry.at(t, q).jacobian for t, q in ((place.t, place.q), (ahead.singular, there[: len(place.q)]))
    )
    sizes = sizes_by_kind(np.max(np.abs(here), axis=0), [u.dimension for u in system.speeds])
    norms = np.linalg.norm(here[kept] / sizes, axis=1, keepdims=True)
    now, left = (float(np.linalg.svd(J[kept] / sizes / norms, compute_uv=False)[-1]) for J in (here, then))
    return left <= RANK_LEFT * now or now <= RANK_SMALL


def _first_root(c: float, b: float, a: float) -> float | None:
    """The first time t > 0 at which c + b t + a t², falling from c > 0, is zero."""
    under = b * b - 4 * a * c
    if under < 0:
        return None
    denominator = -b + np.sqrt(under)  # of the nearer root: 2c / (−b + √…)
    return 2 * c / denominator if denominator > 0 else None


def found(instance: Instance, place: Place, singular: float, share: float = 1.0) -> Forecast:
    """The step across a place ahead whose time is known."""
    usual = horizon(instance, place, share * STRIDE)
    return Forecast(singular, min(usual, (singular - place.t) / MIDDLE), certain=True)


def horizon(instance: Instance, place: Place, distance: float) -> float:
    """Seconds in which a motion covers a distance, in radians or lengths of its quickest coordinate."""
    rate = np.abs(instance.derivatives(place.t, instance.packed(place), place.memory))
    n = len(place.q)
    fast, quickens = (float(np.max(part, initial=1e-300)) for part in (rate[:n], rate[n:]))
    found: float = min(distance / fast, (2 * distance / quickens) ** 0.5)
    return found


def _error_norm(rates: np.ndarray, h: float, scale: np.ndarray) -> float:
    """The error of a step of dop853 from the rates of its stages, over a scale: e₅²/√(e₅² + 0.01 e₃²)."""
    high, low = (float(np.sum((weights @ rates[: len(weights)] / scale) ** 2)) for weights in _ERRORS)
    return h * high / float(np.sqrt((high + 0.01 * low) * len(scale))) if high + low > 0.0 else 0.0


def _step(rates: Rates, t: float, y: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """The rates k of a step's stages, with room for those of its dense output, and the state after it."""
    stages = TABLEAU.stages
    K = np.empty((stages + 1 + len(TABLEAU.extra_c), len(y)))
    K[0] = rates(t, y)
    for i in range(1, stages):
        K[i] = rates(t + TABLEAU.c[i] * h, y + h * (_A[i] @ K[: len(_A[i])]))
    reached = y + h * (_B @ K[: len(_B)])
    K[stages] = rates(t + h, reached)
    return K, reached


def _dense_coefficients(
    rates: Rates, t: float, y: np.ndarray, h: float, K: np.ndarray, reached: np.ndarray
) -> list[np.ndarray]:
    """The coefficients F of the polynomial of loop/tableau.py, and further rates, which are put into K."""
    for i, (c, weights) in enumerate(zip(TABLEAU.extra_c, _EXTRA_A, strict=True), TABLEAU.stages + 1):
        K[i] = rates(t + c * h, y + h * (weights @ K[: len(weights)]))
    rise = reached - y
    bend = h * K[0] - rise
    further = [h * (weights @ K[: len(weights)]) for weights in _DENSE]
    return [rise, bend, rise - h * K[TABLEAU.stages] - bend, *further]


def _dense(theta: float, F: list[np.ndarray]) -> np.ndarray:
    """The change of the state in a part θ of a step."""
    nest = F[-1]
    for i in reversed(range(1, len(F))):
        nest = F[i - 1] + (1.0 - theta if i % 2 else theta) * nest
    return theta * nest


def leap(instance: Instance, place: Place, end: float, due: np.ndarray) -> Integration:
    """The motion from a place to an end in one step, with rows at the times that are due."""
    if place.along is not None:
        raise ArmillaryError(
            f"the constraints of '{instance.equations.system.name}' lose rank near t = {place.t:.6g} s, and "
            "the derivatives of the motion cannot be carried across; end the run before, or start beyond"
        )
    memory = begun = instance.updated(place.t, instance.packed(place), place.memory)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return instance.derivatives(t, instance.closed(t, y, begun), begun)

    h, start = end - place.t, instance.packed(place)
    K, reached = _step(rates, place.t, start, h)
    final = instance.closed(end, reached, memory)
    scale = 1.0 + np.maximum(np.abs(start), np.abs(reached))
    rough = _error_norm(K, h, scale)
    if not (rough <= ROUGH and np.max(np.abs(final - reached), initial=0.0) <= TORN):
        raise RoughStepError(_rough(instance, place.t))
    F = _dense_coefficients(rates, place.t, start, h, K, reached)

    def state(t: float) -> np.ndarray:
        return instance.closed(t, start + _dense((t - place.t) / h, F), begun)

    events: list[tuple[float, int]] = []
    memories = [(-np.inf, begun)]  # from which time on which memory holds
    status: Status = "finished"
    begin, beyond = place.t, min(end, place.t + (MIDDLE + BLIND) * h)
    while happening := _first_event(instance, (begin, place.t, end), state, memory):
        t, k = happening
        event = instance.equations.targets.watched[k]
        passing = abs((t - place.t) / h - MIDDLE) < BLIND
        passing = passing and near_place(event, instance.equations) == PASSES
        if events and t > beyond:
            break
        if not passing and abs((t - place.t) / h - MIDDLE) < IN_PLACE:
            _check_changes(instance, k, t)
        events.append(happening)
        new_state, memory = instance.fired(k, t, state(t), memory)
        memories.append((t, memory))
        if not passing:
            due, end, final = due[due < t], t, new_state
            status = "event" if instance.model.ends_a_leg(k) else "finished"
            break
        begin = t
    if begin > place.t and end > beyond:
        # No run can begin in the place or next to it. These events leave the motion as it is, so it goes on
        # to where one can.
        due, end, final = due[due <= beyond], beyond, state(beyond)

    def row(t: float, stored: np.ndarray) -> np.ndarray:
        return instance.outputs(t, state(t), stored)

    return Integration(
        time=due.copy(),
        samples=_rows(row, memories, place.t, h, due, len(instance.model.output_names)),
        final_state=final,
        final_memory=memory.copy(),
        status=status,
        failed_state=None,
        t_stop=end,
        events=events,
        steps=1,
        rejected=0,
        evaluations=len(K),
    )


def _check_changes(instance: Instance, k: int, t: float) -> None:
    """An error for an event that sets what the motion depends on where the accelerations are 0/0."""
    event, system = instance.equations.targets.watched[k], instance.equations.system
    if event.changes and not event.stop:
        raise ArmillaryError(
            f"event '{event.name}' changes the motion at t = {t:.6g} s, in a place where the constraints of "
            f"'{system.name}' lose rank: there the motion cannot begin anew, for its accelerations are not "
            "determined; let the event happen a little earlier or later"
        )


def _first_event(
    instance: Instance,
    span: tuple[float, float, float],
    state: Callable[[float], np.ndarray],
    memory: np.ndarray,
) -> tuple[float, int] | None:
    """(time, number) of the first event of the description inside the step, just after it.

    ``span``: where the search begins, where the step does, and where both end.
    """
    watched = [
        (k, e) for k, e in enumerate(instance.equations.targets.watched) if e.name not in INTERNAL_EVENTS
    ]
    if not watched:
        return None

    def values(t: float) -> np.ndarray:
        return instance.events(t, state(t), memory)

    begin, start, end = span
    times = [begin, *(t for t in (start + x * (end - start) for x in LOOKS) if t > begin)]
    looks = [values(t) for t in times]
    found: list[tuple[float, int]] = []
    for k, event in watched:
        for a, b, before, after in zip(times, times[1:], looks, looks[1:], strict=False):
            crossed = before[k] * after[k] < 0 or (before[k] != 0 and after[k] == 0)
            if crossed and event.direction * after[k] >= 0 and event.direction * before[k] <= 0:
                found.append((_located(lambda t, k=k: float(values(t)[k]), a, b), k))  # type: ignore[misc]
                break
    return min(found, default=None)


def _located(g: Callable[[float], float], a: float, b: float) -> float:
    """The time just after the zero of g between a and b."""
    sign = g(a)
    for _ in range(60):
        middle = 0.5 * (a + b)
        if not a < middle < b:
            break
        a, b = (middle, b) if g(middle) * sign > 0 else (a, middle)
    return b


def _rows(
    row: Callable[[float, np.ndarray], np.ndarray],
    memories: list[tuple[float, np.ndarray]],
    t: float,
    h: float,
    due: np.ndarray,
    columns: int,
) -> np.ndarray:
    """Rows at the times that are due; near the singular place from rows around it, by a polynomial.

    Each shows the memory of its time, so those around it are computed with that memory too.
    """
    result = np.empty((len(due), columns))
    share = (due - t) / h
    near = np.abs(share - MIDDLE) < BLIND
    # An event is located just after its zero, so a row at the same time may seem to be before it.
    begins = [begin * (1.0 - np.sign(begin) * 8 * EPSILON) for begin, _ in memories]
    piece = np.searchsorted(begins, due, side="right") - 1
    for k in np.flatnonzero(~near):
        result[k] = row(float(due[k]), memories[piece[k]][1])
    for m in np.unique(piece[near]):
        around = np.array([row(t + x * h, memories[m][1]) for x in LOOKS])
        mine = near & (piece == m)
        result[mine] = [_interpolated(x, around) for x in share[mine]]
    return result


def _interpolated(x: float, values: np.ndarray) -> np.ndarray:
    """Lagrange's interpolation through the rows around; what is the same in all of them stays so exactly."""
    weights = [np.prod([(x - b) / (a - b) for b in LOOKS if b != a]) for a in LOOKS]
    found: np.ndarray = np.where(np.all(values == values[0], axis=0), values[0], np.array(weights) @ values)
    return found
