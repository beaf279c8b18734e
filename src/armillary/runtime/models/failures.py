"""Errors of runs that had to stop or cannot start, and the search for motions without mass.

Where some motion moves no mass, the mass matrix is singular, and a run divides by rounding errors: it may end
with plausible numbers, or get stuck in steps of 1e-10 s. The error names the joint and the time.

Before a run (`refuse_locked`, `watch_start`): joints with three angles have a known singular configuration. A
start there may be possible, since constraints, or an angle that is prescribed or locked, may exclude the
motion without mass. The mass matrix decides, but takes long to evaluate. So it is evaluated only in such a
configuration, or in any system if the first steps of an adaptive method do not advance.

After a run (`weakness`): the search is made only if the run failed or its speeds jumped, and outside the
integration loop. The mass matrix is evaluated along straight lines from the last rows before the jump. The
pivots of a slender body are small everywhere without harm, so a pivot counts as singular only if its share
(its ratio to the inertias in it) falls far below its share at the start of the run. A finished run is cut
only if the singularity explains the jump: if speeds jumped within a single fixed step, which was too long to
resolve it; or if the kinetic energy jumped too. (True speeds may also be large next to a singular
configuration, but then the energy stays smooth.) All measures are dimensionless ratios.

In most systems the links' own inertias keep all pivots from falling so far in any configuration
(`Instance.masses_suffice`); then there is no search.

With constraints, the pivots are those of the tree without constraints. The mass matrix M, restricted to
admissible speeds, is singular only if M itself is singular and the constraints allow the motion without mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from armillary.algebra.calculus import NumericValue, Values, ValueTable, evaluate, evaluate_all, evaluator
from armillary.algebra.walk import symbols
from armillary.errors import SimulationError
from armillary.mechanics.constraints.rows import ConstraintRow, rows
from armillary.mechanics.contact.decision import IMPULSES, OVERLAPS
from armillary.mechanics.massless import Masses, MotionWithoutMass, at_place, motions_left_by, tree_masses
from armillary.model.description import AMBIGUOUS, FAILED, JAMMED, JAMS, WITHOUT_REBOUND
from armillary.model.quantities import kinetic_energy
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.runtime.integrators.settings import Integration
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.initial import Place
from armillary.solver.thresholds import (
    COARSE,
    FALLEN,
    FARTHEST,
    FINE,
    NOWHERE,
    SPEED_JUMP,
    WEAK,
)
from armillary.untyped import Given

_JUMPS = 5  # number of jumps of speeds that are checked, the first ones of a run
_BURST = 100.0  # growth of kinetic energy between rows that shows a step across a singular mass matrix
_SMALL = 1e-3  # part of the run's median speed; speeds below it may grow fast, as at the start of a motion
_HELD = 1e-2  # constraints exclude a motion of size one if they resist it by at least this
# A run counts as its number of rows plus _EACH. When the sum over all runs is above _PATIENCE, masses_suffice
# is computed.
_EACH, _PATIENCE = 300, 100_000
_ROWS = 20  # number of rows before a jump from which paths start, and on each side of it to compare energies
SINGULAR_THERE = "the mass matrix becomes singular there"
REMEDY = (
    "give the body, or a body that hangs on it, mass or inertia there, keep the motion away from this "
    "position, or use a joint without this singularity (Spherical instead of three angles)"
)


def weakness(instance: Instance, result: Integration, adaptive: bool = True) -> tuple[int, str]:
    """Return the number of sound rows and an error message, "" if every motion moves some mass."""
    whole, failed = len(result.time), result.status in ("diverged", "step too small")
    if (result.calm and not failed) or not whole or _is_excluded(instance, whole):
        return whole, ""
    sizes = _speeds(instance, result)
    # If the bodies have coordinates of their own, joint angles may jump at a gimbal lock although the bodies
    # move smoothly.
    by_joints = instance.equations.joints_move_bodies
    stepwise = by_joints and not adaptive and result.steps < whole + len(result.events)  # a row for each step
    ends = _jumps(sizes) + ([whole] if failed else [])  # an earlier jump may be due to a lock or impact
    if not ends or instance.masses_suffice:
        return whole, ""
    look: _MassCheck | None = None
    for end in ends:
        ways = [_path_from_row(instance, result, k) for k in range(max(0, end - _ROWS), end)]
        if failed and end == whole and by_joints:
            last = instance.place(result.t_stop, result.final_state, result.final_memory)
            ways.append(_Path(instance, last.t, _with_given_values(instance, instance.values(last))))
        ways = [way for way in ways if way.known]
        if not (failed or stepwise or _energy_bursts(instance, result, end)):
            continue
        look = look or _MassCheck(instance, _path_from_row(instance, result, 0))
        said = look.message(ways) if ways else ""
        if said:
            return end, said
    return whole, ""


def weak_start(instance: Instance, start: Place) -> str:
    """Describe a motion without mass at a start, so that no run can begin there; "" if there is none."""
    way = _Path(instance, start.t, _with_given_values(instance, instance.values(start)), within=0.0)
    return _MassCheck(instance, way).message([way])


def _is_excluded(instance: Instance, rows: int) -> bool:
    """Return whether the links' own inertias are known to exclude motions without mass.

    `masses_suffice` is computed when a jump is seen, or once the searches for jumps in the rows of all runs
    have taken as long as that computation.
    """
    instance.searched[0] += _EACH + rows
    known = "masses_suffice" in vars(instance) or instance.searched[0] > _PATIENCE
    return known and instance.masses_suffice


def _jumps(sizes: np.ndarray) -> list[int]:
    """Return the first rows in which speeds of some kind are far above the speeds in all earlier rows.

    Rows at rest do not count as earlier rows.
    """
    before = np.maximum.accumulate(sizes, axis=1)[:, :-1]
    if ((sizes[:, 1:] < SPEED_JUMP * before) | (before <= 0.0)).all():
        return []
    known = np.where(np.isfinite(sizes), sizes, np.inf)
    before = np.maximum.accumulate(known, axis=1)[:, :-1]
    small = _SMALL * np.median(known, axis=1, keepdims=True)
    least = np.maximum(before, np.where(np.isfinite(small), small, 0.0))
    jumps = (before > 0.0) & ~(known[:, 1:] < SPEED_JUMP * least)
    return [int(k) + 1 for k in np.flatnonzero(np.any(jumps, axis=0))[:_JUMPS]]


def _energy_bursts(instance: Instance, result: Integration, end: int) -> bool:
    """Return whether kinetic energy is far higher in the rows from ``end`` on than in the rows before."""
    rows = range(max(0, end - _ROWS), min(end + _ROWS, len(result.time)))
    known = [_row_values(instance, result, k) for k in rows]
    values = {name: np.array([each[name] for each in known]) for name in known[0]}
    with np.errstate(all="ignore"):
        [energy] = instance.model.row_energy(values)
    energy = np.broadcast_to(energy, len(rows))
    return not np.nanmax(energy[end - rows[0] :]) < _BURST * np.nanmax(energy[: end - rows[0]])


def _row_values(instance: Instance, result: Integration, k: int) -> ValueTable:
    """Return the values of all symbols, by name, in a row of a run."""
    system = instance.equations.system
    shown = dict(zip(instance.model.output_names, result.samples[k].tolist(), strict=True))
    values: ValueTable = instance.model.inside(instance.parameters)
    values |= {s.data.name: shown[s.data.name] * state_factor(s) for s in system.moving()}
    values |= dict(zip(system.memories, result.final_memory.tolist(), strict=False))
    return values | {system.time.data.name: float(result.time[k])}


def _with_given_values(instance: Instance, values: ValueTable) -> ValueTable:
    """Add the values of prescribed and locked coordinates and speeds."""
    for given in instance.equations.reduction.given.values():
        pairs = ((given.speed, given.value), (given.coordinate, given.position))
        for s, x in pairs:
            if s is not None and x is not None:
                values[s.data.name] = evaluate(x, values)
    return values


def _path_from_row(instance: Instance, result: Integration, k: int) -> _Path:
    """Return the straight path from a row of a run, up to twice the time to the next row."""
    following = result.time[k + 1] if k + 1 < len(result.time) else result.t_stop
    t = float(result.time[k])
    return _Path(instance, t, _row_values(instance, result, k), 2 * float(following - t))


class _Path:
    """A straight line from a state: coordinates that change with constant rates."""

    def __init__(self, instance: Instance, t: float, values: Values, within: float = np.inf) -> None:
        system = instance.equations.system
        names = [q.data.name for q in system.coordinates]
        self.t, self.values = t, values
        moving = [values[s.data.name] for s in (*system.coordinates, *system.speeds)]
        self.known = bool(np.all(np.isfinite(moving)))
        with np.errstate(all="ignore"):
            found = evaluate_all([system.rates[q] for q in system.coordinates], values)
        rates = np.array([x if np.isfinite(x) else 0.0 for x in found])
        fastest = np.max(np.abs(rates), initial=0.0)
        self.ahead = min(FARTHEST / fastest, within) if fastest > 0.0 else 0.0
        self.start = {name: values[name] for name in names}
        self.rates = dict(zip(names, rates, strict=True))

    def at(self, times: np.ndarray, time_name: str) -> ValueTable:
        """Return the values of all symbols at given times after the start of the path."""
        moved = {name: q + self.rates[name] * times for name, q in self.start.items()}
        return {**self.values, **moved, time_name: self.t + times}


def masses_and_constraints(equations: DerivedEquations) -> tuple[Masses, list[ConstraintRow]]:
    """Return the masses of the tree without its constraints, and the rows of the constraints."""
    system = equations.system
    masses, plain = tree_masses(system, equations.configuration)
    return masses, rows(system, plain) if system.constraints else []


def energy_function(equations: DerivedEquations) -> Callable[[Values], list[NumericValue]]:
    """Return a function that computes the kinetic energy from values by name."""
    return evaluator([kinetic_energy(equations.system)])


class _MassCheck:
    """A system's pivots along the paths of a run, compared with the pivots at its start."""

    def __init__(self, instance: Instance, start: _Path) -> None:
        self.masses, self.constraints = instance.model.masses
        self.time = instance.equations.system.time.data.name
        self.usual = self.masses.shares(start.at(np.zeros(1), self.time))[:, 0]

    def message(self, ways: Sequence[_Path]) -> str:
        """Describe the weakest configuration on the paths; "" if all pivots are about as large as at the
        start.
        """
        portions = np.linspace(0.0, 1.0, COARSE)
        looks = [(self._weakest(way, way.ahead * portions), way) for way in ways]
        known = [(found[1], found[2], way) for found, way in looks if found is not None]
        if not known:
            return ""
        _, k, way = min(known, key=lambda each: each[0])
        near = way.ahead * np.linspace(portions[max(k - 1, 0)], portions[min(k + 1, COARSE - 1)], FINE)
        found = self._weakest(way, near)
        if found is None or found[0] > WEAK or found[1] > FALLEN:
            return ""
        share, _, k, motion = found
        if self.constraints:
            values = at_place(way.at(near[k : k + 1], self.time), 0)
            if not motions_left_by(self.constraints, [motion], self.masses.system, values, _HELD):
                return ""
        return (
            f"near t = {way.t + near[k]:.6g} s {motion.line()}: {SINGULAR_THERE} (one of its pivots "
            f"is only {share:.1g} times the inertias in it); {REMEDY}"
        )

    def _weakest(self, way: _Path, times: np.ndarray) -> tuple[float, float, int, MotionWithoutMass] | None:
        return self.masses.weakest(way.at(times, self.time), self.usual)


def _speeds(instance: Instance, result: Integration) -> np.ndarray:
    """Return the largest speed of each kind in each row (kinds × rows); kinds have different units."""
    kinds = instance.model.speeds.kinds
    sizes = [np.abs(result.samples[:, own]).max(axis=1) for own in kinds]
    return np.array(sizes) if sizes else np.zeros((0, len(result.time)))


def sound_part(instance: Instance, result: Integration, adaptive: bool) -> tuple[Integration, str]:
    """Return the result of a finished run, cut before a motion without mass, and the message.

    Return the whole result and "" if there is no such motion.
    """
    if result.status not in ("finished", "event"):
        return result, ""
    count, why = weakness(instance, result, adaptive)
    if not why:
        return result, ""
    sound = replace(result, time=result.time[:count], samples=result.samples[:count])
    return sound, f"simulation of '{instance.equations.system.name}' stopped: {why}"


_REMEDIES = {
    "diverged": "a value is no longer finite: look for a singularity, or check the loads and parameters",
    "step too small": "no step is small enough for the tolerance: look for a singularity or a stiff part "
    "(method='rodas5p'), or loosen rtol and atol",
    "too many steps": "raise max_steps, or loosen rtol and atol; for a stiff part use method='rodas5p'",
    "too many rows": "give sample=, the time between rows",
}
_REMEDIES_FIXED_STEP = _REMEDIES | {
    "diverged": "a value is no longer finite: use a smaller step or check the loads and parameters",
    "too many steps": "raise max_steps, or use a larger step",
}
_OUT_OF_REACH = "; or a loop cannot follow a prescribed motion any further: check how far its points can move"
_ACCUMULATES = "its effects come faster and faster; end the run there with stop=True, or use a contact force"


def raise_for(result: Integration, run: Given, instance: Instance, adaptive: bool) -> None:
    """Raise an error with the data so far if a run had to stop."""
    if said := stuck_contacts(result, instance):
        raise SimulationError(f"{said}; the data so far are in the error's .run", run)
    culprit = _culprit(result, instance)
    if result.status == "events accumulate":
        what = f"event '{culprit}' accumulates at t = {result.t_stop:.6g} s: {_ACCUMULATES}"
    elif result.status in _REMEDIES:
        remedy = (_REMEDIES if adaptive else _REMEDIES_FIXED_STEP)[result.status]
        system = instance.equations.system
        if system.constraints and system.prescriptions:
            remedy += _OUT_OF_REACH
        remedy += "".join(f"; {said}" for said in _complaints(instance))
        if result.status in ("diverged", "step too small"):
            remedy = _unbounded_parameters(instance, run) or weakness(instance, result)[1] or remedy
        where = f" in '{culprit}'" if culprit else ""
        what = (
            f"simulation of '{run.system}' stopped at t = {result.t_stop:.6g} s "
            f"({result.status}{where}): {remedy}"
        )
    else:
        return
    raise SimulationError(f"{what}; the data so far are in the error's .run", run)


def stuck_contacts(result: Integration, instance: Instance) -> str:
    """Return why no forces or impulses of rigid contacts were admissible; "" if some always were."""
    system = instance.equations.system
    if not system.contacts:
        return ""
    stored = dict(zip(system.memories, result.final_memory.tolist(), strict=False))
    if not stored[FAILED]:
        return ""
    ways = {0: "is open", 1: "sticks", 2: "slides", -2: "slides", JAMS: "jams"}
    watched = instance.equations.targets.watched
    names = ", ".join(
        f"'{c.name}' {ways.get(int(stored[c.status.data.name]), 'begins')}" for c in system.contacts.values()
    )
    event = f" at event '{watched[result.events[-1][1]].name}'" if result.events else ""
    if stored[FAILED] == OVERLAPS:
        return f"contacts overlap at the start ({names}); start with every gap at zero or above"
    if stored[FAILED] == IMPULSES:
        return (
            f"no impulses are admissible in the impact at t = {result.t_stop:.6g} s{event} ({names}); use "
            "law='poisson', another friction=, or give the contacts a stiffness="
        )
    jammed = [f"'{c.name}'" for c in system.contacts.values() if int(stored[c.status.data.name]) == JAMS]
    why = "no statuses of these contacts agree with the forces that they give"
    if jammed:
        why = (
            f"an impulse has stopped {', '.join(jammed)}, since a contact that slides could neither press on "
            "its surface nor leave it (Painlevé's paradox), but no finite forces hold the bodies there; this "
            "happens if normal force and friction act nearly along one line; use a smaller friction=, or "
            "give the contact a stiffness="
        )
    return f"no forces are admissible at t = {result.t_stop:.6g} s{event} ({names}): {why}"


def doubtful_contacts(result: Integration, instance: Instance) -> str:
    """Describe how often contacts had several admissible outcomes, or none; "" if this never happened."""
    system = instance.equations.system
    if AMBIGUOUS not in system.memories:
        return ""
    names = list(system.memories)
    told = (
        (AMBIGUOUS, "change", "of contact may have more than one admissible outcome, since the friction of a "
         "sliding contact makes its normal force grow (Painlevé's paradox); the outcome nearest to the "
         "previous statuses was taken"),
        (JAMMED, "impact", "without collision: a contact that slid could neither press on its surface nor "
         "leave it, or its force grew without bound (Painlevé's paradox), so an impulse stopped it"),
        (WITHOUT_REBOUND, "impact", "without rebound, since rebounds contradicted each other or friction"),
    )  # fmt: skip
    counts = [int(result.final_memory[names.index(name)]) for name, _, _ in told]
    return "; ".join(
        f"{count} {what}{'s' if count > 1 else ''} {about}"
        for count, (_, what, about) in zip(counts, told, strict=True)
        if count
    )


def _unbounded_parameters(instance: Instance, run: Given) -> str:
    """Describe the parameters that make a constant (a value of parameters alone) infinite; "" if none do."""
    results = instance.equations.program.precompute.results
    known = {name for name, value in run.parameters.items() if np.isfinite(value)}
    names = [
        sorted(used)
        for x, value in zip(results, instance.constants, strict=False)
        if not np.isfinite(value) and (used := {s.data.name for s in symbols(x)}) <= known
    ]
    if not names:
        return ""
    values = ", ".join(f"{name} = {run.parameters[name]:g}" for name in min(names, key=len))
    return (
        f"a factor that depends only on parameters is not finite with {values}; give other values, or "
        "describe the system so that nothing is divided by them"
    )


def _culprit(result: Integration, instance: Instance) -> str:
    """Return the name of the event that accumulates, or of the state in which a run failed.

    The state is the first one whose rate is not finite, since such a rate makes other states infinite too.
    """
    if result.failed_event is not None:
        return instance.equations.targets.watched[result.failed_event].name
    if result.failed_state is None:
        return ""
    rates = instance.derivatives(result.t_stop, result.final_state, result.final_memory)
    strange = np.flatnonzero(~np.isfinite(rates))
    place = int(strange[0]) if strange.size and result.status == "diverged" else result.failed_state
    found: str = instance.equations.program.state[place].data.name
    return found


def _complaints(instance: Instance) -> list[str]:
    """Return the messages of imported FMUs that failed in this run."""
    memories = instance.equations.system.memories.values()
    handles = [m.start.data for m in memories if m.hidden and m.start is not None]
    # Only handles of FMUs have `complaint`; their package is above this one and cannot be imported here.
    return [said for handle in handles if hasattr(handle, "complaint") and (said := handle.complaint())]


def refuse_locked(instance: Instance, start: Place) -> None:
    """Raise an error if a joint's three axes are in one plane at the start and a motion moves no mass."""
    for joint in instance.model.three_angles:
        if joint.is_locked(start.q[joint.middle]) and (why := weak_start(instance, start)):
            raise SimulationError(f"a run of '{instance.equations.system.name}' cannot start: {why}")


def watch_start(
    report: Callable[[float], None] | None,
    instance: Instance,
    start: Callable[[], Place],
    t0: float,
    t_end: float,
) -> Callable[[float], None]:
    """Return a function that calls ``report``; its first call also checks that the run advances.

    The check raises an error if a motion without mass keeps the run from advancing. ``start`` returns the
    start of the run.
    """
    first = True

    def report_time(t: float) -> None:
        nonlocal first
        if first and t - t0 < NOWHERE * (t_end - t0) and (why := weak_start(instance, start())):
            raise SimulationError(f"simulation of '{instance.equations.system.name}' does not advance: {why}")
        first = False
        if report is not None:
            report(t)

    return report_time
