"""Regressors of inverse dynamics, and exciting trajectories.

A regressor Y gives the efforts of a motion as linear functions e = Y π + e₀ of the base parameters π: the
fewest combinations of the links' inertial parameters that determine the efforts.

An exciting trajectory is a periodic motion whose efforts depend clearly on every base parameter,

    q(t) = q₀ + s Σ_k (a_k sin kωt + b_k cos kωt)/k,     ω = 2π/T

for each joint, with the largest s that keeps its limits of position, speed and acceleration. The a and b
minimise the condition number of the regressor's rows over one period. A Fourier series is band-limited and
periodic, so that measurements can be averaged over periods and differentiated without noise.

Source: Swevers et al. (1997), Optimal robot excitation and identification.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import checked_names, count, positive_number, real, reals, whole_number
from armillary.algebra.calculus import evaluate_all, tangents
from armillary.algebra.expression import UNIT, ZERO, Expr
from armillary.algebra.walk import symbols, transform
from armillary.analysis.effort_equations import refuse_rigid_contacts
from armillary.analysis.identification.inertial_parameters import (
    BaseParameters,
    LinearEfforts,
    count_of_places,
    grouped_parameters,
    grouping,
    has_loops,
    linear_efforts,
    random_regressor,
)
from armillary.analysis.places import PlaceReader, Places
from armillary.cache import kept_per_object
from armillary.errors import ArmillaryError, shown
from armillary.model.units import seconds, state_factor
from armillary.results import Run
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel, ModelHolder, compiled_model
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.runtime.models.parameters import parameter_table
from armillary.runtime.start.initial import initial_memory
from armillary.text_tables import aligned, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_NEAR = 0.3  # largest distance of random positions from the start, in radians or units of length
_TRIES = 5  # random positions tried at most for each required position with closed loops


@dataclass(frozen=True, eq=False, repr=False)
class Regressor:
    """Efforts e = Y π + e₀ at samples of a motion, linear in the base parameters π.

    y.values          Y, (…, speeds, parameters)
    y.rest            e₀, (…, speeds): efforts against springs and other loads, except gravity
    y.names           names of the speeds
    y.parameters      the base parameters, with names, values and expressions
    """

    system: str
    names: tuple[str, ...]
    parameters: BaseParameters
    values: np.ndarray
    rest: np.ndarray

    def efforts(self, parameters: object = None) -> np.ndarray:
        """Return Y π + e₀ for base parameters π, by default those of the description."""
        pi = self.parameters.values if parameters is None else reals(parameters, "parameters=")
        if pi.shape != (len(self.parameters),):
            raise ArmillaryError(
                f"parameters= must hold the {counted(len(self.parameters), 'base parameter')} of "
                f"'{self.system}', in the order of y.parameters; it has the shape {pi.shape}"
            )
        return np.asarray(self.values @ pi + self.rest)

    @property
    def condition(self) -> float:
        """The condition number of all rows together, with columns scaled to equal length."""
        return condition(self.values.reshape(-1, self.values.shape[-1]))

    def __repr__(self) -> str:
        places = int(np.prod(self.values.shape[:-2]))
        sizes = f"{counted(len(self.names), 'speed')}, {counted(len(self.parameters), 'base parameter')}"
        return (
            f"Regressor of '{self.system}' at {counted(places, 'place')}: {sizes}, "
            f"condition number {self.condition:.3g}"
        )


def condition(rows: np.ndarray) -> float:
    """Return the ratio of the largest and the least singular value, with columns scaled to equal length."""
    sizes = np.linalg.norm(rows, axis=0)
    if rows.shape[0] < rows.shape[1] or not np.all(sizes > 0):
        return float("inf")
    found = np.linalg.svd(rows / sizes, compute_uv=False)
    return float(found[0] / found[-1]) if found.size and found[-1] > 0 else float("inf")


class RegressorModel:
    """The efforts of a model as linear functions of its base parameters: expressions and machine code."""

    def __init__(self, model: CompiledModel, *, every: bool = False) -> None:
        refuse_rigid_contacts(model.base.equations, "the regressor of its efforts")
        self.linear: LinearEfforts = linear_efforts(model.base.equations, every=every)
        self.equations = self.linear.expressions.equations
        found, speeds = self.linear.expressions, self.equations.system.speeds
        self.names = tuple(speeds[i].data.name for i in (*found.independent, *found.given))
        loops = has_loops(self.equations)
        closed = closed_places(model.base, count_of_places(self.linear)) if loops else ()
        self.groups = grouping(random_regressor(self.linear, *closed))
        self.reader = PlaceReader(self.equations, "regressor()")

    @cached_property
    def parameters(self) -> BaseParameters:
        """The base parameters, one for each column."""
        return grouped_parameters(self.linear, self.groups)

    @cached_property
    def functions(self) -> ModelFunctions:
        """Compiled functions of Y, row by row with one column for each base parameter, and of e₀."""
        chosen = [row[k] for row in self.linear.rows for k in self.groups.independent]
        wanted = {"regressor": chosen, "rest": list(self.linear.rest)}
        return ModelFunctions(self.equations, wanted, self.linear.expressions.rates)

    def at(self, places: Places, parameters: Mapping[str, object] | None) -> tuple[np.ndarray, np.ndarray]:
        """Return Y and e₀ at samples of a motion; samples are the first axis of both."""
        at = (places.t, places.states, parameters, places.memory, places.rates)
        columns = len(self.groups.independent)
        rest = self.functions.rows("rest", *at)
        Y = self.functions.rows("regressor", *at).reshape(len(rest), len(self.names), columns)
        return Y, rest


def closed_places(model: CompiledModel, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return states of a system near the start, with closed loops and random speeds, and their times."""
    equations = model.equations
    rng = np.random.default_rng(0)
    start = model.state()
    guessed = {q.data.name for q in equations.reduction.corrections}
    symbols = {s.data.name: s for s in equations.system.initial}
    free = [(i, name) for i, name in enumerate(model.coordinate_names) if name not in guessed]
    found: list[np.ndarray] = []
    times = np.random.default_rng(1).uniform(0.0, 1.0, _TRIES * count) * bool(equations.system.prescriptions)
    kept: list[float] = []
    for t in times.tolist():
        moved = {n: (start[i] + rng.uniform(-_NEAR, _NEAR)) / state_factor(symbols[n]) for i, n in free}
        try:
            state = model.state(moved, t=t)
        except ArmillaryError:  # the loops cannot be closed from here
            continue
        first = len(model.coordinate_names)
        state[first : first + len(model.speed_names)] = rng.uniform(-1.0, 1.0, len(model.speed_names))
        found.append(state)
        kept.append(t)
        if len(found) == count:
            return np.array(found), np.array(kept)
    raise ArmillaryError(
        f"the regressor of '{equations.system.name}': too few positions near the start close its loops; "
        "start away from singular positions, s.start({…})"
    )


_made = kept_per_object(RegressorModel)


def regressor_model(model: CompiledModel, *, every: bool = False) -> RegressorModel:
    """Return the regressor of a model, made at its first use; ``every`` is as for `linear_efforts`."""
    return _made(model.base, every=every)


def regressor(
    model: CompiledModel,
    q: object,
    u: object = None,
    udot: object = None,
    parameters: Mapping[str, object] | None = None,
    *,
    t: object = 0.0,
    memory: object = None,
    states: object = None,
) -> Regressor:
    """Return the efforts at samples of a motion as functions of the base parameters, e = Y π + e₀.

    Samples are given as for ``inverse``; ``parameters`` are parameters of geometry and loads.
    """
    made = regressor_model(model)
    places = made.reader.read(model.base, q, u, udot, t, memory, states, parameters)
    Y, rest = made.at(places, parameters)
    shape = places.shape
    return Regressor(
        made.equations.system.name,
        made.names,
        made.parameters,
        Y.reshape(*shape, *Y.shape[1:]),
        rest.reshape(*shape, *rest.shape[1:]),
    )


_ZERO = 1e-12  # columns whose norm is below this share of the largest norm are rounding errors
_FINE = 20  # samples per harmonic at which limits are checked
_DRAWS = 30  # random series that are compared; a minimisation starts from the best of them
_STEPS = 15  # most iterations of a minimisation


@dataclass(frozen=True, eq=False, repr=False)
class ExcitingTrajectory:
    """A periodic motion of all joints, with the condition number of the regressor along it.

        q, u, udot = motion.at(t)        at any times, in the model's own units
        motion.time, motion.q, motion.u, motion.udot        the samples of one period
        s.prescribe("A.q1", motion.text("A.q1"))        the motion as an expression of time

    ``amplitudes`` has the amplitudes of the sines and cosines, shape (joints, harmonics, 2). ``condition``
    leaves out parameters that do not change the efforts in any motion of these joints; `identify` warns of
    them by name.
    """

    system: str
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    period: float
    centre: np.ndarray
    amplitudes: np.ndarray
    time: np.ndarray
    condition: float
    units: Mapping[str, str]
    factors: np.ndarray  # factors from stated units of the coordinates to the model's own units
    speed_factors: np.ndarray  # factors from stated units of the speeds to the model's own units
    model_centre: np.ndarray  # all coordinates of the model, in its order, with the joints at their centre
    follow: np.ndarray  # derivatives of all coordinates of the model by the joints' coordinates

    def model_coordinates(self, t: object) -> np.ndarray:
        """Return all coordinates of the model, in its order, at times.

        Locked coordinates have the values at the start of runs; mimic joints follow the joint that they copy.
        """
        return np.asarray(self.model_centre + (self.at(t)[0] - self.centre) @ self.follow.T)

    def at(self, t: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coordinates, speeds and their rates at times, with joints along the last axis."""
        return _motion(np.asarray(t, dtype=float), self.period, self.centre, self.amplitudes)

    @property
    def q(self) -> np.ndarray:
        """Coordinates at the samples."""
        return self.at(self.time)[0]

    @property
    def u(self) -> np.ndarray:
        """Speeds at the samples."""
        return self.at(self.time)[1]

    @property
    def udot(self) -> np.ndarray:
        """Rates of the speeds at the samples."""
        return self.at(self.time)[2]

    def text(self, coordinate: str) -> str:
        """Return the motion of a coordinate as an expression of the time t, in the model's own units."""
        [coordinate] = checked_names([coordinate], self.coordinates, "the trajectory has no coordinate")
        j = self.coordinates.index(coordinate)
        terms = [repr(float(self.centre[j]))]
        for k, (a, b) in enumerate(self.amplitudes[j].tolist(), start=1):
            w = repr(2 * np.pi * k / self.period)
            terms += [f"({a!r})*sin({w}*t)", f"({b!r})*cos({w}*t)"]
        return " + ".join(terms)

    def as_run(self) -> Run:
        """Return coordinates, speeds and accelerations of one period as columns of a run, in stated units."""
        rates = tuple(f"rate of {name}" for name in self.speeds)
        names = (*self.coordinates, *self.speeds, *rates)
        speeds = (x / self.speed_factors for x in (self.u, self.udot))
        columns = np.hstack([self.q / self.factors, *speeds])
        units = {name: self.units[name] for name in (*self.coordinates, *self.speeds)}
        units |= {f"rate of {name}": f"{self.units[name]}/s" for name in self.speeds}
        return Run(self.system, self.time.copy(), columns, names, units, outputs=names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one period as a file of a run (.csv, .nc, .parquet), for a robot's controller."""
        self.as_run().save(path)

    def plot(self, path: str | os.PathLike[str] | None = None, show: bool = False) -> Figure | None:
        """Return a figure of the coordinates over one period."""
        return self.as_run().plot(*self.coordinates, path=path, show=show)

    def __repr__(self) -> str:
        title = (
            f"Exciting trajectory of '{self.system}': period {self.period:g} s, {self.amplitudes.shape[1]} "
            f"harmonics, condition number {self.condition:.4g}"
        )
        rows = [["", "least", "largest", "", "fastest", ""]]
        q, u = self.q / self.factors, self.u / self.speed_factors
        for j, (name, speed) in enumerate(zip(self.coordinates, self.speeds, strict=True)):
            numbers = [f"{x:.4g}" for x in (q[:, j].min(), q[:, j].max(), np.abs(u[:, j]).max())]
            rows.append(
                [
                    name,
                    *numbers[:2],
                    label_units(self.units[name]),
                    numbers[2],
                    label_units(self.units[speed]),
                ]
            )
        return "\n".join([title, *(f"  {line}" for line in aligned(rows, "<>><><"))])


def exciting_trajectory(
    model: ModelHolder,
    limits: Mapping[str, tuple[float, float]],
    *,
    period: float | str = 10.0,
    harmonics: int = 5,
    speed_limits: Mapping[str, float] | float | None = None,
    acceleration_limits: Mapping[str, float] | float | None = None,
    samples: int = 100,
    starts: int = 2,
    seed: int = 0,
    parameters: Mapping[str, object] | None = None,
) -> ExcitingTrajectory:
    """Return a periodic motion within limits whose efforts determine the base parameters as well as possible.

    ``limits`` has the lowest and highest value of every coordinate. ``speed_limits`` and
    ``acceleration_limits`` have the largest magnitude of every speed and of its rate, by the speed's name, or
    one number for all. All limits are in stated units. ``samples`` is the number of samples in a period. The
    best of ``starts`` minimisations from random series is returned.
    """
    core = compiled_model(model, "exciting_trajectory()")
    for name, value in {"harmonics": harmonics, "samples": samples, "starts": starts}.items():
        count(value, name)
    seed = whole_number(seed, "seed=")
    made = regressor_model(core)
    joints = _Joints(made, limits, speed_limits, acceleration_limits, seconds(period, "period"))
    time = np.linspace(0.0, joints.period, samples, endpoint=False)
    centre, follow = _following(core, made, joints, parameters)
    search = _ConditionSearch(made, joints, centre, follow, time, harmonics, parameters)
    rng = np.random.default_rng(seed)
    found = [search.minimise(rng) for _ in range(starts)]
    best = min(found, key=search.value)
    amplitudes = search.amplitudes(best)
    rows = search.rows(amplitudes)[:, search.shown]
    return ExcitingTrajectory(
        made.equations.system.name, joints.coordinates, made.equations.speeds, joints.period, joints.centre,
        amplitudes, time, condition(rows), joints.units, joints.factors,
        joints.speed_factors, centre, follow,
    )  # fmt: skip


def _motion(
    t: np.ndarray, period: float, centre: np.ndarray, amplitudes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    k = np.arange(1, amplitudes.shape[1] + 1) * (2 * np.pi / period)
    s, c = np.sin(t[..., None] * k), np.cos(t[..., None] * k)
    a, b = amplitudes[..., 0].T, amplitudes[..., 1].T
    return centre + s @ a + c @ b, (c * k) @ a - (s * k) @ b, -(s * k**2) @ a - (c * k**2) @ b


class _Joints:
    """The coordinates to excite, in the order of the speeds that are their rates; limits in model units."""

    def __init__(
        self,
        made: RegressorModel,
        limits: Mapping[str, tuple[float, float]],
        speed_limits: Mapping[str, float] | float | None,
        acceleration_limits: Mapping[str, float] | float | None,
        period: float,
    ) -> None:
        equations = made.equations
        system = equations.system
        self.period = positive_number(period, "period")
        by_speed = {system.rates[q]: q for q in system.coordinates}
        speeds = [u for u in system.speeds if u.data.name in equations.speeds]
        for u in speeds:
            if u not in by_speed:
                raise ArmillaryError(
                    f"exciting_trajectory(): '{u}' is not the rate of one coordinate; only joints that turn "
                    "about and slide along fixed axes can be excited"
                )
        nodes = [by_speed[u] for u in speeds]
        self.coordinates = tuple(q.data.name for q in nodes)
        self.factors = np.array([state_factor(q) for q in nodes])
        self.speed_factors = np.array([state_factor(u) for u in speeds])
        self.units = {s.data.name: s.data.units or "" for s in (*nodes, *speeds)}
        if not isinstance(limits, Mapping):
            raise ArmillaryError(f"limits= must be {{coordinate: (lowest, highest)}}, not {shown(limits)}")
        named = checked_names(limits, self.coordinates, "limits= names", listed=True)
        if missing := [name for name in self.coordinates if name not in named]:
            raise ArmillaryError(f"limits= has no '{missing[0]}'; give its lowest and highest value")
        both = np.array([_range_of(named[q.data.name], q) for q in nodes]) * self.factors[:, None]
        self.centre, self.reach = both.mean(axis=1), (both[:, 1] - both[:, 0]) / 2
        self.speed = _bounds_by_name(speed_limits, speeds, "speed_limits=") * self.speed_factors
        self.acceleration = (
            _bounds_by_name(acceleration_limits, speeds, "acceleration_limits=") * self.speed_factors
        )


def _following(
    model: CompiledModel, made: RegressorModel, joints: _Joints, parameters: Mapping[str, object] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``model_centre`` and ``follow`` of an `ExcitingTrajectory`."""
    equations = made.equations
    names, n = equations.coordinates, len(equations.coordinates)
    places = dict(zip(joints.coordinates, joints.centre, strict=True))
    if set(names) == places.keys():
        return np.array([places[q] for q in names]), np.array(
            [[q == k for k in places] for q in names], float
        )
    targets = equations.targets
    rates = targets.rates[:n]
    by_speed = {u.data.name: u for u in targets.speeds}
    slopes = [tangents(rates, {by_speed[name]: UNIT}) for name in equations.speeds]
    still = transform(rates, dict.fromkeys(targets.speeds, ZERO).get)
    for i, name in enumerate(names):
        varying = [s for s in symbols(*(column[i] for column in slopes)) if s.data.role != "parameter"]
        if varying or still[i] is not ZERO:
            why = f"its rate depends on '{varying[0]}'" if varying else "a prescribed motion drives it"
            raise ArmillaryError(
                f"exciting_trajectory(): '{name}' does not follow the joints in proportion ({why}); only "
                "trees of joints can be excited; joints may be locked or follow others by a ratio"
            )
    inside = parameter_table(equations).inside_columns(parameters)
    ratios = np.array([[float(x) for x in evaluate_all(column, inside)] for column in slopes]).T
    start = {q: x / f for (q, x), f in zip(places.items(), joints.factors, strict=True)}
    whole = dict(zip(model.base.coordinate_names, model.base.state(start, parameters), strict=False))
    return np.array([whole[name] for name in names]), ratios


def _range_of(given: object, coordinate: Expr) -> tuple[float, float]:
    """Return the lowest and highest value of a coordinate, in stated units."""
    what = f"limits= of '{coordinate}'"
    if not isinstance(given, tuple | list | np.ndarray) or np.shape(given) != (2,):
        raise ArmillaryError(f"{what} are not a lowest and a higher value: {shown(given)}")
    low, high = (real(x, what) for x in given)
    if not (low < high and math.isfinite(high - low)):
        raise ArmillaryError(f"{what} are not a lowest and a higher value: {shown(given)}")
    return low, high


def _bounds_by_name(
    given: Mapping[str, float] | float | None, speeds: Sequence[Expr], what: str
) -> np.ndarray:
    """Return the largest magnitude for each speed, infinite by default."""
    names = [u.data.name for u in speeds]
    if isinstance(given, Mapping):
        named = checked_names(given, names, f"{what} names", listed=True)
    else:
        named = {} if given is None else dict.fromkeys(names, given)
    return np.array(
        [positive_number(named.get(name, np.inf), f"{what} of '{name}'", finite=False) for name in names]
    )


class _ConditionSearch:
    """The minimisation of the condition number over the series' unscaled amplitudes."""

    def __init__(
        self,
        made: RegressorModel,
        joints: _Joints,
        centre: np.ndarray,
        follow: np.ndarray,
        time: np.ndarray,
        harmonics: int,
        parameters: Mapping[str, object] | None,
    ) -> None:
        self.made, self.joints, self.time, self.harmonics = made, joints, time, harmonics
        self._centre, self._follow = centre, follow
        self.parameters = parameters
        self._memory = initial_memory(made.equations, None, 0.0)
        self._own = made.reader.rows(None, made.equations.states, "states", "state")
        # A series of n harmonics is nowhere larger than 1/cos(π n/N) times the largest of N samples over its
        # period (Ehlich and Zeller 1964). With this factor limits hold between samples too.
        self._fine = np.linspace(0.0, joints.period, _FINE * harmonics, endpoint=False)

    @cached_property
    def shown(self) -> np.ndarray:
        """A mask of the regressor's columns that are not zero along a random motion of these joints.

        A column is zero if its parameter matters only at other positions of a locked joint.
        """
        x = np.random.default_rng(0).normal(size=2 * self.harmonics * len(self.joints.coordinates))
        sizes = np.linalg.norm(self.rows(self.amplitudes(x)), axis=0)
        return np.asarray(sizes > _ZERO * np.max(sizes, initial=0.0))

    def amplitudes(self, x: np.ndarray) -> np.ndarray:
        """Return the amplitudes x, scaled for each joint to the largest motion that keeps its limits."""
        joints = self.joints
        shape = (len(joints.coordinates), self.harmonics, 2)
        raw = x.reshape(shape) / np.arange(1, self.harmonics + 1)[:, None]
        sizes = [np.abs(m).max(axis=0) for m in _motion(self._fine, joints.period, np.zeros(shape[0]), raw)]
        bounds = (joints.reach, joints.speed, joints.acceleration)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.min([b / s for b, s in zip(bounds, sizes, strict=True)], axis=0)
        found: np.ndarray = (
            raw * (np.where(np.isfinite(scale), scale, 0.0) * np.cos(np.pi / _FINE))[:, None, None]
        )
        return found

    def rows(self, amplitudes: np.ndarray) -> np.ndarray:
        """Return the regressor along the motion, with the rows of all samples stacked."""
        q, u, udot = _motion(self.time, self.joints.period, self.joints.centre, amplitudes)
        count = len(self.time)
        own = np.broadcast_to(self._own, (count, len(self._own)))
        states = np.hstack([self._centre + (q - self.joints.centre) @ self._follow.T, u, own])
        places = Places(
            self.time, states, udot, np.broadcast_to(self._memory, (count, len(self._memory))), (count,)
        )
        Y, _ = self.made.at(places, self.parameters)
        return Y.reshape(-1, Y.shape[-1])

    def value(self, x: np.ndarray) -> float:
        """Return ln of the condition number, from the eigenvalues of YᵀY (squared singular values of Y)."""
        rows = self.rows(self.amplitudes(x))[:, self.shown]
        sizes = np.linalg.norm(rows, axis=0)
        if not np.all(sizes > 0):
            return 50.0
        gram = (rows / sizes).T @ (rows / sizes)
        found = np.linalg.eigvalsh(gram)
        return 0.5 * float(np.log(found[-1] / max(found[0], 1e-15)))

    def minimise(self, rng: np.random.Generator) -> np.ndarray:
        """Return a local minimum, found from the best of some random series."""
        from scipy.optimize import minimize

        count = 2 * self.harmonics * len(self.joints.coordinates)
        start = min((rng.normal(size=count) for _ in range(_DRAWS)), key=self.value)
        found = minimize(self.value, start, method="L-BFGS-B", options={"maxiter": _STEPS})
        return np.asarray(found.x)
