"""Runs of a batch that ended, but beyond a place where some motion moves no mass.

The loops of a batch keep no rows to judge by. A run is suspected where its last speeds are enormous beside
those at its start and what the accelerations there would give in its time; it is then made again by itself,
with rows, and judged as every single run is (see runtime/models/failures/weak_masses.py). Runs that prove
sound keep their numbers. Of runs that failed on the way the first ones are made again too, for the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from armillary.ensembles.engines.engine import Outcome
from armillary.ensembles.plan import DIVERGED, EVENT, FAILED, FINISHED, STATUS, TOO_SMALL, Plan
from armillary.errors import ArmillaryError, SimulationError
from armillary.model.units import state_factor
from armillary.runtime.models.failures.weak_masses import SINGULAR_THERE
from armillary.runtime.models.programs.instance import Instance

_ENORMOUS = 100.0  # times what the start lets expect
_EXAMINED = 256  # runs with the largest speeds: of so many, one must be suspect, or the others are left
_REPEATED = 20  # suspects that are made again: one of so many must be singular, or the others are left
_EXPLAINED = 5  # runs that failed on the way and are made again, for the reason
_ROWS = 2000  # of a run that is made again


def mark_weak_runs(plan: Plan, outcome: Outcome) -> None:
    """Runs through a place without mass fail, with the sentence of a single run."""
    _explain_failed_runs(plan, outcome)
    if not plan.model.equations.joints_move_bodies or _masses_suffice(plan):
        return
    kinds = _kinds(plan)
    ended = np.flatnonzero((outcome.status == FINISHED) | (outcome.status == EVENT))
    if not kinds or not ended.size:
        return
    values = (outcome.state[own][:, ended] for own in kinds)
    last = np.stack([np.max(np.abs(own), axis=0) for own in values])
    usual = np.median(last, axis=1, keepdims=True)
    size = np.max(last / np.where(usual > 0.0, usual, 1.0), axis=0)
    unsuspected = sound = 0
    for i in _largest_first(size, ended):
        if unsuspected >= _EXAMINED or sound >= _REPEATED:
            return
        if not _suspect(plan, i, outcome.state[:, i], kinds):
            unsuspected += 1
        elif why := _why_stopped(plan, i):
            outcome.status[i], outcome.messages[i], outcome.event[i] = FAILED, why, -1
            for array in (outcome.rows, outcome.slots, outcome.state, outcome.memory):
                array[..., i] = np.nan
            unsuspected = sound = 0
        else:
            sound += 1


def _masses_suffice(plan: Plan) -> bool:
    """Whether the parameters of a batch, which all runs share as far as masses depend on them, exclude
    places without mass.
    """
    starts = plan.starts
    if set(starts.varying) & set(starts.table.masses.defaults):
        return False
    return Instance(plan.model, starts.single(0)["parameters"]).masses_suffice


def _largest_first(size: np.ndarray, runs: np.ndarray) -> Iterator[int]:
    """Runs in the order of their size; few of very many are looked at, so that all are seldom sorted."""
    few = 2 * _EXAMINED
    if size.size > few:
        first = np.argpartition(-size, few)[:few]
        yield from runs[first[np.argsort(-size[first], kind="stable")]].tolist()
        yield from runs[np.argsort(-size, kind="stable")[few:]].tolist()
    else:
        yield from runs[np.argsort(-size, kind="stable")].tolist()


def _explain_failed_runs(plan: Plan, outcome: Outcome) -> None:
    """The reasons of runs that failed on the way, from single runs, where it is a place without mass."""
    failed = np.flatnonzero((outcome.status == DIVERGED) | (outcome.status == TOO_SMALL)).tolist()
    reasons = {i: why for i in failed[:_EXPLAINED] if (why := _why_stopped(plan, i))}
    outcome.messages |= reasons
    if reasons:
        first, why = next(iter(reasons.items()))
        status = {i: STATUS[outcome.status[i]] for i in failed[_EXPLAINED:]}
        outcome.messages |= {i: f"{s}; run {first}, which was looked at: {why}" for i, s in status.items()}


def _kinds(plan: Plan) -> list[list[int]]:
    """Places of the speeds among the states, those of one kind and unit together."""
    speeds = {u.data.name for u in plan.model.equations.system.speeds}
    kinds: dict[object, list[int]] = {}
    for k, symbol in enumerate(plan.program.state):
        if symbol.data.name in speeds:
            kinds.setdefault((symbol.dimension, state_factor(symbol)), []).append(k)
    return list(kinds.values())


def _suspect(plan: Plan, i: int, state: np.ndarray, kinds: list[list[int]]) -> bool:
    """Whether the speeds at the end are enormous beside what the start lets expect."""
    parameters, start, memory = plan.starts.block(i, i + 1)
    instance = Instance(plan.code, known=plan.code.constants_inside(parameters[:, 0]))
    rates = instance.derivatives(plan.settings.t0, start[:, 0], memory[:, 0])
    expected = np.abs(start[:, 0]) + np.abs(rates) * (plan.settings.t_end - plan.settings.t0)
    return any(np.max(np.abs(state[own])) > _ENORMOUS * np.max(expected[own]) for own in kinds)


def _why_stopped(plan: Plan, i: int) -> str:
    """Why a single run stopped, where that is a place without mass; else ""."""
    settings, step = plan.settings, plan.settings.fixed_step
    rows = max(1.0, np.ceil((settings.t_end - settings.t0) / step / _ROWS)) * step if step else None
    try:
        plan.model.run_with(replace(settings, sample=rows), **plan.starts.single(i))
    except SimulationError as error:
        return str(error) if SINGULAR_THERE in str(error) else ""
    except ArmillaryError:
        return ""
    return ""
