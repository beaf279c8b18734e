"""The gradient of a scalar of a run by its start, parameters and inputs, from one run and one backward pass.

    J = ∫ cost dt + Σ sample_cost(samples) + final_cost(end)

The steps that the run takes are differentiated exactly, to rounding: all steps of a method with fixed steps,
and the accepted steps of an adaptive method, with their lengths held. At events that change the motion, the
derivatives include the change of the event's time (``event_jumps.py``). Derivatives of the start, where loops
are closed and Euler parameters normalised, come from forward sensitivities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Unpack

import numpy as np

from armillary.algebra.arguments import checked_names, flag, several
from armillary.algebra.calculus import evaluator
from armillary.algebra.expression import Expr
from armillary.cache import kept_per_object
from armillary.control.adjoint import HeldInputs, Motion, MotionGradient, PlaceFunctions, RunMap, StepGrid
from armillary.control.event_jumps import EventJump
from armillary.control.problem import ExpressionReader
from armillary.errors import ArmillaryError, ParameterError
from armillary.program.sensitivities import directions
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.runtime.integrators.settings import IntegrationSettings, complete_settings
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.derivatives import StartDerivatives
from armillary.runtime.start.initial import initial_memory
from armillary.settings import (
    KEPT,
    Initial,
    RunSettings,
    SettingOptions,
    expanded_signature,
    run_settings,
)
from armillary.solver.methods.tableau import Method, Tableau
from armillary.text_tables import aligned
from armillary.untyped import DataMapping, Given

if TYPE_CHECKING:
    from armillary.runtime.models.legs import RunLegs

_NEAR = 1e-9  # relative to a step: closer times are taken as equal


@dataclass(frozen=True, eq=False, repr=False)
class RunGradient(Mapping[str, Given]):
    """A scalar of a run and its derivatives, by the names of parameters, initial values and inputs.

        g.value        the scalar
        g["k1"]        its derivative by k1, per stated unit
        g["F"]         its derivatives by the values of an input with data, in the order of its times

    ``final`` has the states at the end, in stated units (those of the description). ``per`` has the units of
    the names by which the scalar is differentiated.
    """

    system: str
    value: float
    derivatives: Mapping[str, float | np.ndarray]
    per: Mapping[str, str]
    final: Mapping[str, float]
    steps: int

    def __getitem__(self, name: str) -> Given:
        if name not in self.derivatives:
            checked_names([name], list(self.derivatives), "the gradient has no derivative by", ParameterError)
        return self.derivatives[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.derivatives)

    def __len__(self) -> int:
        return len(self.derivatives)

    def __repr__(self) -> str:
        rows = []
        for name, found in self.derivatives.items():
            shown = f"{found:.6g}" if isinstance(found, float) else f"{len(found)} values"
            rows.append([name, shown, f"per {self.per[name]}" if self.per[name] else ""])
        head = f"Gradient of {self.value:.6g} over a run of '{self.system}' ({self.steps} steps):"
        return "\n".join([head, *(f"  {line}" for line in aligned(rows, "<><"))])


def gradient(
    model: CompiledModel,
    t_end: float | str,
    to: Sequence[object],
    *,
    cost: object = None,
    final_cost: object = None,
    sample_cost: object = None,
    initial: Initial = None,
    parameters: DataMapping | None = None,
    memory: Mapping[str, float] | None = None,
    inputs: object = None,
    ignore_jumps: bool = False,
    **settings: Unpack[SettingOptions],
) -> RunGradient:
    """Return the derivatives of ∫ ``cost`` dt + Σ ``sample_cost`` + ``final_cost`` of a run, by the
    adjoint.

    This takes one run and one backward pass, however many names ``to`` has: parameters, initial values
    and inputs. An input with data in ``inputs`` gives a derivative by each of its values. Costs are texts
    or expressions as for ``optimize``; ``sample_cost`` is summed over the rows of the run. Derivatives
    are exact for the steps taken, by methods "rk4", "midpoint", "dopri5" and "dop853". Other arguments
    are as in ``simulate``, ``ignore_jumps`` as in ``with_sensitivities``. Events may change states and
    memories of models without constraints; events that lock or end a run, and contacts, raise errors.
    """
    flag(ignore_jumps, "ignore_jumps=")
    if cost is None and final_cost is None and sample_cost is None:
        raise ArmillaryError("gradient: give cost=, final_cost= or sample_cost=, the scalar to differentiate")
    made = run_settings(gradient, t_end, **settings)
    scalar = _read_scalar(model, tuple(map(str, several(to, "to="))), (cost, sample_cost, final_cost))
    return _GradientRun(model, made, scalar, initial, parameters, memory, inputs, ignore_jumps).gradient()


expanded_signature(SettingOptions)(gradient)  # no decorator: with one, mypy loses the type in stages


class _Scalar:
    """The expressions of a scalar, and the variables by which it is differentiated."""

    def __init__(self, model: CompiledModel, names: tuple[str, ...], costs: Sequence[object]) -> None:
        equations = model.equations
        self.directions = directions(equations, names)
        self.starts = StartDerivatives(equations, self.directions)
        self.sizes = evaluator([d.size for d in self.directions])
        self.parameter_places = [i for i, d in enumerate(self.directions) if d.role == "parameter"]
        self.parameters = tuple(self.directions[i].name for i in self.parameter_places)
        self.factors = np.array([d.factor for d in self.directions])
        reader = ExpressionReader(equations, {}, None)
        self.running, self.sampled, self.ended = (
            None if text is None else reader.read(text, what)
            for text, what in zip(costs, ("cost=", "sample_cost=", "final_cost="), strict=True)
        )


@kept_per_object
def _kept_scalar(model: CompiledModel, names: tuple[str, ...], costs: tuple[object, ...]) -> _Scalar:
    return _Scalar(model, names, costs)


def _read_scalar(model: CompiledModel, names: tuple[str, ...], costs: tuple[object, ...]) -> _Scalar:
    kept = all([isinstance(c, str | int | float | Expr | None) for c in costs])
    return _kept_scalar(model, names, costs) if kept else _Scalar(model, names, costs)


class _GradientRun:
    """One run, and the backward pass through it."""

    def __init__(
        self,
        model: CompiledModel,
        given: RunSettings,
        scalar: _Scalar,
        initial: Initial,
        parameters: DataMapping | None,
        memory: Mapping[str, float] | None,
        inputs: object,
        ignore_jumps: bool,
    ) -> None:
        if model.base is not model:
            raise ArmillaryError("gradient is a verb of the model itself, not of one with sensitivities")
        equations = model.equations
        self.model, self.equations, self.ignore_jumps = model, equations, ignore_jumps
        self.scalar, self.directions = scalar, scalar.directions
        self.settings = complete_settings(given)
        tableau = self.settings.integrator.tableau
        if tableau is None or tableau.multistep:
            raise ArmillaryError(
                f"gradient goes back through explicit one-step methods, and '{self.settings.method}' is not "
                "one; use method='rk4' with a step, or 'dop853'"
            )
        self.tableau: Tableau = tableau
        self.driven = model.driven_inputs(inputs, memory, given)
        self._check_signals()
        self.values = model.parameter_table.values(parameters)
        self.changed = self.values if parameters else None  # constants of the defaults are kept
        self.instance = Instance(model, self.values)
        self.initial = self._complete_initial(initial)
        t0 = self.settings.t0
        stored = initial_memory(equations, memory, t0)
        self.given_memory = self.driven.at(t0, stored) if self.driven else stored
        self.start = model.place_at_start(self.instance, self.initial, t0, self.given_memory)
        self.rows = _sample_rows(self.settings, scalar.sampled is not None)
        self.jumps = tuple(
            i for i, e in enumerate(equations.targets.watched) if e.changes and e.name not in INTERNAL_EVENTS
        )
        if self.jumps and self.driven is not None:
            event = equations.targets.watched[self.jumps[0]].name
            raise ArmillaryError(
                f"gradient: inputs= of '{equations.system.name}' have data, and its event '{event}' changes "
                "the motion; the adjoint of a run supports only one of both. Model the input as a function "
                "of time, or use model.sensitivities"
            )
        self.happened: list[tuple[float, int]] = []  # times and numbers of events that change the motion
        self.grid = self._grid()

    def _complete_initial(self, initial: Initial) -> Initial:
        """Return initial values, with all by which the scalar is differentiated: assembly keeps these."""
        if initial is not None and not isinstance(initial, Mapping):
            return initial
        described = {s.data.name: value for s, value in self.equations.system.initial.items()}
        varied = [d for d in self.directions if d.role in ("coordinate", "speed", "state")]
        said = {str(name): value for name, value in (initial or {}).items()}
        return {d.name: described[d.name] / d.factor for d in varied} | said

    def _interpolation(self, name: str) -> str:
        """Return the interpolation of a driven input."""
        assert self.driven is not None
        memory = self.equations.system.memories[name]
        return self.driven.signals[name].interpolation or memory.interpolation or "linear"

    def _check_signals(self) -> None:
        """Raise an error if derivatives by the values of a signal are requested that do not exist here."""
        signals = self.driven.signals if self.driven else {}
        for name in (d.name for d in self.directions if d.name in signals):
            if (how := self._interpolation(name)) not in ("hold", "linear"):
                raise ArmillaryError(
                    f"gradient: input '{name}' is interpolated by '{how}', and there are no derivatives by "
                    "its values here; give arm.Signal(t, y, interpolation='linear') or 'hold'"
                )
            for rate, m in self.equations.system.memories.items():
                if m.rate_of == name:
                    raise ArmillaryError(
                        f"gradient: '{self.equations.system.name}' needs the rate of its input '{name}' "
                        f"('{rate}'), through which there are no derivatives by its values; make '{name}' a "
                        "state whose rate is the input"
                    )

    # ------------------------------------------------------------ steps

    def _grid(self) -> StepGrid:
        """Return the run's steps, divided at samples: equal, or accepted steps of an adaptive method."""
        s = self.settings
        moves = s.integrator.adaptive or self.model.changes_configuration or bool(self.jumps)
        if moves and s.t_end > s.t0:
            return _step_grid(s, self._step_ends(s), self.rows, self._stops())
        stops = self._stops()
        if stops is None:
            return _equal_grid(s, self.scalar.sampled is not None)
        return _step_grid(s, replace(s, sample=None).row_times, self.rows, stops)

    def _stops(self) -> np.ndarray | None:
        """Return the times at which data of inputs jump."""
        s = self.settings
        return self.driven.stops(s.t0, s.t_end, s.integrator.adaptive) if self.driven else None

    def _step_ends(self, settings: IntegrationSettings) -> np.ndarray:
        """Make the run and return the ends of its steps; raise an error if its configuration changes."""
        from armillary.runtime.models.run_record import recorded_run, run_info

        model, every_step = self.model, replace(settings, sample=None)
        legs = self._legs(every_step)
        known = model._with_parameters(self.values)  # the run that an error carries has these parameters
        recorded_run(known.blank, legs.result(), run_info(known.blank, settings.summary, model.tier), legs,
                     self.start.note, settings.integrator.adaptive)  # fmt: skip
        if legs.notes:
            raise ArmillaryError(
                f"gradient: the run of '{self.equations.system.name}' changes its choice of independent "
                f"speeds ({legs.notes[0]}), and the adjoint of a run does not go through that; end it before"
            )
        result = legs.result()
        self.happened = [(float(t), int(k)) for t, k in result.events if int(k) in self.jumps]
        return np.asarray(result.time, dtype=float)

    def _legs(self, settings: IntegrationSettings) -> RunLegs:
        from armillary.runtime.models.legs import ConfigurationRun, single_leg

        model, instance, start = self.model, self.instance, self.start
        used = model
        if self.driven is not None:
            used, driven = model.driven, self.driven.complete(start.memory)
            instance = Instance(used, self.values, driven, inside=instance.inside)
            start = start._replace(memory=driven.address_data(start.memory))
        if model.changes_configuration:
            return ConfigurationRun(model._configurations(used, instance), start, settings, None).run()
        return single_leg(instance, start, settings, None)

    # ------------------------------------------------------------ the gradient

    def gradient(self) -> RunGradient:
        scalar = self.scalar
        of = _run_map(
            self.model,
            self.settings.integrator,
            self._input_names(),
            scalar.parameters,
            scalar.running,
            self.ignore_jumps,
        )
        if self.jumps:
            return self._gradient_through_events(of)
        held = self._held_inputs(of)
        start, memory = self.instance.pack_state(self.start)[None], self.start.memory
        motion, back = of.keep(start, self.grid, held, self.changed, memory)
        self._check(of, motion)
        value, shares = (
            float(motion.cost[0]),
            _SampleShares(of, self, motion.states[0], self.grid, self.start.memory),
        )
        if scalar.sampled is not None:
            value += shares.add(_place_functions(of, scalar.sampled), slice(0, len(self.rows)))
        if scalar.ended is not None:
            value += shares.add(_place_functions(of, scalar.ended), slice(-1, None))
        found = back(shares.seeds[None], 1.0)
        derivatives = self._derivatives(of, found, shares)
        final = {p.name: float(x) / p.factor for p, x in zip(of.states, motion.states[0, -1], strict=True)}
        return RunGradient(
            self.equations.system.name, value, derivatives, {d.name: d.units for d in self.directions}, final,
            len(self.grid.lengths),
        )  # fmt: skip

    def _gradient_through_events(self, of: RunMap) -> RunGradient:
        """Return the gradient of a run that events divide into legs, going back through legs and jumps."""
        scalar, parts = self.scalar, []
        state, memory = self.instance.pack_state(self.start), np.array(self.start.memory, dtype=float)
        value = 0.0
        for grid, rows, event in self._cut_at_events():
            held = HeldInputs(memory[of.places].reshape(1, 1, 1, -1))
            motion, back = of.keep(state[None], grid, held, self.changed, memory)
            self._check(of, motion, grid)
            shares = _SampleShares(of, self, motion.states[0], grid, memory)
            value += float(motion.cost[0])
            if scalar.sampled is not None and rows:
                value += shares.add(_place_functions(of, scalar.sampled), slice(0, rows))
            if scalar.ended is not None and event is None:
                value += shares.add(_place_functions(of, scalar.ended), slice(-1, None))
            end = motion.states[0, -1].copy()
            jump = None if event is None else _event_jump(of, event)
            after = (end, memory) if jump is None else jump.after(grid.end_time, end, memory, self.changed)
            parts.append((grid, back, shares, jump, (end, memory), after))
            state, memory = after
        by_state, by_memory = np.zeros(len(of.states)), np.zeros(len(memory))
        by_parameters = np.zeros(len(of.parameters))
        for grid, back, shares, jump, before, after in reversed(parts):
            if jump is not None:
                found = jump.pull(grid.end_time, before, after, self.changed, by_state, by_memory)
                by_state, by_memory = found.state, found.memory
                by_parameters += found.parameters
            seeds = shares.seeds
            seeds[-1] += by_state
            leg = back(seeds[None], 1.0)
            by_state = leg.by_start[0]
            by_memory[of.places] += leg.by_inputs[0].sum(axis=(0, 1)) + shares.by_inputs.sum(axis=0)
            by_parameters += leg.by_parameters[0] + shares.by_parameters
        states, memories = self._start_derivatives()
        whole = states @ by_state + memories @ by_memory
        whole[scalar.parameter_places] += by_parameters
        derivatives = dict(
            zip((d.name for d in self.directions), (whole * scalar.factors).tolist(), strict=True)
        )
        final = {p.name: float(x) / p.factor for p, x in zip(of.states, state, strict=True)}
        return RunGradient(
            self.equations.system.name, value, derivatives, {d.name: d.units for d in self.directions}, final,
            sum(len(part[0].lengths) for part in parts),
        )  # fmt: skip

    def _cut_at_events(self) -> list[tuple[StepGrid, int, int | None]]:
        """Return, for each leg between events, its steps, its number of rows, and the event at its end.

        A leg's end is always its last sample; a row at the time of an event belongs to the leg before it.
        """
        s = self.settings
        rows = self.rows if self.scalar.sampled is not None else np.empty(0)
        inner = np.append(self.grid.times, s.t_end)
        near = _NEAR * (s.t_end - s.t0) / max(len(inner), 1)
        found: list[tuple[StepGrid, int, int | None]] = []
        begin = s.t0
        for time, event in [*self.happened, (s.t_end, None)]:
            first = -np.inf if not found else begin + near
            own = rows[(rows > first) & (rows <= (time + near if event is not None else np.inf))]
            between = np.union1d(inner, own)
            between = between[(between > begin + near) & (between < time - near)]
            ends = np.concatenate([[begin], between, [time] if time > begin else []])
            kept = np.full(len(ends), -1)
            kept[np.searchsorted(ends, own - near)] = np.arange(len(own))
            if kept[-1] < 0:
                kept[-1] = len(own)
            found.append((StepGrid(ends[:-1], np.diff(ends), kept, time), len(own), event))
            begin = time
        return found

    def _check(self, of: RunMap, motion: Motion, grid: StepGrid | None = None) -> None:
        """Raise an error if the run diverges."""
        states = motion.states[0]
        if not (np.isfinite(states).all() and np.isfinite(motion.cost).all()):
            bad = np.argwhere(~np.isfinite(states))
            where = ""
            if len(bad):
                t = float((grid or self.grid).sample_times[bad[0, 0]])
                where = f": '{of.states[bad[0, 1]].name}' is not finite at t = {t:g} s"
            raise ArmillaryError(
                f"gradient: the run of '{self.equations.system.name}' diverges{where}; take a smaller step"
            )

    def _input_names(self) -> tuple[str, ...]:
        """Return the memories that are inputs of the run map.

        These have data, or a computed start, or the scalar is differentiated by them; with events, all are.
        """
        chosen = {d.name for d in self.directions if d.role == "memory"}
        driven = set(self.driven.pieces) if self.driven else set()
        memories = self.equations.system.memories
        if self.jumps:  # each may have another value after an event
            return tuple(memories)
        return tuple(n for n, m in memories.items() if n in chosen | driven or m.start is not None)

    def _held_inputs(self, of: RunMap) -> HeldInputs:
        """Return the inputs at all stages; without data they are constant."""
        constant = self.start.memory[of.places]
        if self.driven is None:
            return HeldInputs(constant.reshape(1, 1, 1, -1))
        times = self._stage_times()
        values = np.empty((1, *times.shape, len(of.inputs)))
        for j, port in enumerate(of.inputs):
            pieces = self.driven.pieces.get(port.name)
            values[0, :, :, j] = constant[j] if pieces is None else pieces(times)
        return HeldInputs(values)

    def _stage_times(self) -> np.ndarray:
        """Return the times of all stages; stages at the end of a step are set just before a jump of data."""
        grid, s = self.grid, self.settings
        times: np.ndarray = grid.times[:, None] + grid.lengths[:, None] * np.array(self.tableau.c)
        stops = self._stops()
        if stops is not None:
            ends = np.append(grid.times[1:], s.t_end)
            before = np.where(np.isin(ends, stops), np.nextafter(ends, -np.inf), np.inf)
            times = np.minimum(times, before[:, None])
        return times

    def _derivatives(
        self, of: RunMap, found: MotionGradient, shares: _SampleShares
    ) -> dict[str, float | np.ndarray]:
        """Return the derivatives by name, per stated unit."""
        by_stages, by_samples = found.by_inputs[0], shares.by_inputs
        constant = by_stages.sum(axis=(0, 1)) + by_samples.sum(axis=0)
        inputs, signals = [p.name for p in of.inputs], self.driven.signals if self.driven else {}
        if self.driven is not None:
            constant[[name in self.driven.pieces for name in inputs]] = 0.0
        states, memory = self._start_derivatives()
        whole = states @ found.by_start[0] + memory[:, of.places] @ constant
        whole[self.scalar.parameter_places] += found.by_parameters[0] + shares.by_parameters
        result: dict[str, float | np.ndarray] = {}
        for d, value in zip(self.directions, (whole * self.scalar.factors).tolist(), strict=True):
            if d.name in signals:
                j = inputs.index(d.name)
                result[d.name] = self._by_data(d.name, by_stages[:, :, j], by_samples[:, j])
            else:
                result[d.name] = value
        return result

    def _start_derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Return derivatives of the start's state and memory, a row per direction, in the model's units."""
        starts = self.scalar.starts
        found = starts.at_start(self.instance, self.start, self.initial, self.given_memory)
        sizes = np.array(self.scalar.sizes(found.values), dtype=float)[:, None]
        speeds = [starts.speeds.index(name) for name in self.model.speed_names]
        return np.hstack([found.q, found.u[:, speeds], found.states]) / sizes, found.memory / sizes

    def _by_data(self, name: str, by_stages: np.ndarray, by_samples: np.ndarray) -> np.ndarray:
        """Return the derivatives by the values of a signal, one for each of its times."""
        from armillary.runtime.inputs.reading import factor

        assert self.driven is not None
        memory, signal = self.equations.system.memories[name], self.driven.signals[name]
        times = np.concatenate([self._stage_times().ravel(), self.grid.sample_times])
        shares = np.concatenate([by_stages.ravel(), by_samples])
        found = np.zeros(len(signal.time))
        first = np.clip(np.searchsorted(signal.time, times, side="right") - 1, 0, len(found) - 1)
        after = np.minimum(first + 1, len(found) - 1)
        part = np.zeros(len(times))
        if self._interpolation(name) == "linear":
            length = signal.time[after] - signal.time[first]
            part = np.clip((times - signal.time[first]) / np.where(length > 0, length, 1.0), 0.0, 1.0)
        np.add.at(found, first, (1 - part) * shares)
        np.add.at(found, after, part * shares)
        return found * factor(self.equations.system, memory, signal)


class _SampleShares:
    """Derivatives of the sum of costs at samples, by states, inputs and parameters."""

    def __init__(
        self, of: RunMap, run: _GradientRun, states: np.ndarray, grid: StepGrid, memory: np.ndarray
    ) -> None:
        self._system = run.equations.system.name
        self._times, self._states, self._changed = grid.sample_times, states, run.changed
        self._memory = np.tile(memory, (len(states), 1))
        for place, port in zip(of.places, of.inputs, strict=True):
            if run.driven is not None and port.name in run.driven.pieces:
                self._memory[:, place] = run.driven.pieces[port.name](self._times)
        self.seeds = np.zeros(states.shape)
        self.by_inputs = np.zeros((len(states), len(of.inputs)))
        self.by_parameters = np.zeros(len(of.parameters))

    def add(self, functions: PlaceFunctions, chosen: slice) -> float:
        """Add the derivatives of an expression at some samples; return the sum of its values."""
        at = self._times[chosen], self._states[chosen], self._memory[chosen], self._changed
        values, by_states, by_inputs, by_parameters = functions.values_and_slopes(*at)
        if not np.isfinite(values).all():
            k = int(np.argmax(~np.isfinite(values)))
            raise ArmillaryError(
                f"gradient: final_cost= or sample_cost= of '{self._system}' is {values[k]} at "
                f"t = {at[0][k]:g} s, and has no derivative there"
            )
        self.seeds[chosen] += by_states
        self.by_inputs[chosen] += by_inputs
        self.by_parameters += by_parameters.sum(axis=0)
        return float(np.sum(values))


@kept_per_object
def _run_map(
    model: CompiledModel,
    method: Method,
    inputs: tuple[str, ...],
    parameters: tuple[str, ...],
    cost: Expr | None,
    ignore_jumps: bool,
) -> RunMap:
    return RunMap(model, method, inputs, parameters, cost, ignore_jumps, through_events=True)


@kept_per_object
def _event_jump(of: RunMap, event: int) -> EventJump:
    return EventJump(of, event)


@kept_per_object
def _place_functions(of: RunMap, expression: Expr) -> PlaceFunctions:
    return PlaceFunctions(of, expression)


def _sample_rows(settings: IntegrationSettings, sampled: bool) -> np.ndarray:
    """Return the times over which the sampled cost is summed; only the end if there is no such cost."""
    return settings.sampled.row_times if sampled else np.array([settings.t_end])


@lru_cache(maxsize=KEPT)
def _equal_grid(settings: IntegrationSettings, sampled: bool) -> StepGrid:
    """Return steps of equal size, kept for the next run with equal settings."""
    return _step_grid(
        settings, replace(settings, sample=None).row_times, _sample_rows(settings, sampled), None
    )


def _step_grid(
    settings: IntegrationSettings, times: np.ndarray, samples: np.ndarray, stops: np.ndarray | None
) -> StepGrid:
    """Return steps that end at given times, at samples and at jumps of data."""
    s = settings
    if not s.t_end > s.t0:
        return StepGrid(np.empty(0), np.empty(0), np.zeros(1, dtype=int))
    near = _NEAR * (s.t_end - s.t0) / max(len(times) - 1, 1)
    ends = _union(times, samples, near)
    ends = ends if stops is None else _union(ends, stops, near)
    lengths = np.diff(ends)
    if s.fixed_step is not None:  # all full steps have exactly the same length, as in a run
        lengths[np.abs(lengths - s.fixed_step) <= 4 * np.spacing(np.abs(ends[1:]))] = s.fixed_step
    kept = np.full(len(ends), -1)
    kept[np.searchsorted(ends, samples - near)] = np.arange(len(samples))
    if kept[-1] < 0:
        kept[-1] = len(samples)
    return StepGrid(ends[:-1], lengths, kept)


def _union(times: np.ndarray, more: np.ndarray, near: float) -> np.ndarray:
    """Return the union of two sorted arrays of times; of two nearly equal ones, keep the time of ``more``."""
    apart = np.abs(more[np.clip(np.searchsorted(more, times), 0, len(more) - 1)] - times) > near
    apart &= np.abs(more[np.clip(np.searchsorted(more, times) - 1, 0, len(more) - 1)] - times) > near
    return np.union1d(times[apart], more)
