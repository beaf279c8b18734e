"""Inverse dynamics as a compiled function: the efforts that a motion needs, at given states or along a run.

An effort is a generalised force: the force or moment along one speed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import index_of_name
from armillary.algebra.calculus import NumericValue
from armillary.algebra.expression import Expr
from armillary.algebra.units import FORCE, MOMENT, SPEED
from armillary.analysis.effort_equations import (
    Actuated,
    InverseEquations,
    add_actuators,
    inverse_equations,
    strengths,
)
from armillary.analysis.places import PlaceReader, Places
from armillary.cache import kept_per_object
from armillary.errors import ArmillaryError, nearest
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.passes.graph import Operations
from armillary.results import Run
from armillary.results.record import conversion, label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.runtime.start.initial import initial_memory
from armillary.text_tables import aligned, counted, html_table, html_text

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure
    from numpy.typing import DTypeLike


# Places along a run: coordinates, speeds, states and memory of its rows, and the rates of its speeds.

SPLINE = "spline"  # the value of udot= that takes slopes of splines as rates


def run_places(
    equations: DerivedEquations,
    run: Run,
    udot: object,
    rates: Callable[[Places], np.ndarray],
    speeds: object = None,
) -> Places:
    """Return the rows of a run as places.

    ``udot`` has the rates of the run's speeds as numbers, or is "spline" for the slopes of cubic splines
    through the speeds; if it is None, ``rates`` computes them from the model. If the run has no speeds,
    splines through its coordinates give the speeds, and by default splines through these give the rates.
    ``speeds`` must be None: it is the argument u of ``inverse``, which a run replaces.
    """
    if speeds is not None:
        raise ArmillaryError("inverse(run): the speeds come from the run; leave u out")
    count = len(run)
    if not count:
        raise ArmillaryError(f"inverse(run): the run of '{run.system}' has no samples")
    system = equations.system
    symbols = {s.data.name: s for s in system.initial}
    q = np.column_stack(
        [np.empty((count, 0)), *(_run_column(run, symbols[name]) for name in equations.coordinates)]
    )
    measured = all(name in run for name in equations.speeds)
    u = np.column_stack(
        [
            np.empty((count, 0)),
            *(
                _run_column(run, symbols[name])
                if measured
                else _rate_of_coordinate(run, equations, symbols, name)
                for name in equations.speeds
            ),
        ]
    )
    own = np.column_stack(
        [np.empty((count, 0)), *(_run_column(run, symbols[name]) for name in equations.states)]
    )
    memory = np.tile(initial_memory(equations, None, float(run.time[0])), (count, 1))
    for k, (name, m) in enumerate(system.memories.items()):
        if name in run:
            memory[:, k] = _run_column(run, m.symbol, m.factor)
    still = np.zeros((count, len(equations.speeds)))
    places = Places(run.time, np.hstack([q, u, own]), still, memory, (count,))
    if isinstance(udot, str) and udot != SPLINE:
        raise ArmillaryError(f"inverse(run): unknown udot='{udot}'; use '{SPLINE}', or give numbers")
    if isinstance(udot, str) or (udot is None and not measured):
        found = np.column_stack([still[:, :0], *(_slope(run, u[:, k]) for k in range(u.shape[1]))])
    elif udot is None:
        found = rates(places)
    else:
        given = PlaceReader(equations).rows(udot, equations.speeds, "udot", "speed", {})
        found = np.broadcast_to(given, still.shape)
    return replace(places, rates=found)


def _run_column(run: Run, node: Expr, factor: float | None = None) -> np.ndarray:
    name = node.data.name
    if name not in run:
        raise ArmillaryError(f"inverse(run): the run of '{run.system}' has no column '{name}'")
    stated = conversion(name, run.units[name], node.data.units or "")
    return run[name] * (stated * (state_factor(node) if factor is None else factor))


def _rate_of_coordinate(
    run: Run, equations: DerivedEquations, symbols: dict[str, Expr], name: str
) -> np.ndarray:
    """Return a speed that is the rate of a coordinate, as the slope of the coordinate's column."""
    rates = equations.system.rates
    found = [q for q in equations.system.coordinates if rates[q] is symbols[name] and q.data.name in run]
    if not found:
        raise ArmillaryError(
            f"inverse(run): the run of '{run.system}' has neither a column '{name}' nor a column of a "
            "coordinate of which it is the rate"
        )
    return _slope(run, _run_column(run, found[0]))


def _slope(run: Run, values: np.ndarray) -> np.ndarray:
    from scipy.interpolate import CubicSpline

    if len(run) < 4 or not np.all(np.diff(run.time) > 0):
        raise ArmillaryError(
            f"inverse(run): slopes along the run of '{run.system}' need four rows, at increasing times"
        )
    return np.asarray(CubicSpline(run.time, values)(run.time, 1))


# The result of inverse dynamics: efforts by the names of speeds, with units.

_SHOWN = 24  # most efforts that a table lists


@dataclass(frozen=True, eq=False, repr=False)
class Efforts:
    """Efforts that a motion needs: a force along each translation, a moment about each rotation.

        efforts["A.u1"]        a number, or an array if many places were given
        efforts.values         all efforts, along the last axis in the order of efforts.names
        efforts.units["A.u1"]
        dict(efforts)          numbers or arrays by name

    Efforts act in addition to all loads of the model. The efforts along the speeds named in ``prescribed``
    keep their prescribed motion. ``reactions`` has two kinds of entries: by the name of a body, the force and
    moment that its joint exerts on it, six numbers along the last axis; and by the name of a constraint, its
    force.
    """

    system: str
    names: tuple[str, ...]
    values: np.ndarray
    units: Mapping[str, str]
    prescribed: tuple[str, ...] = ()
    time: np.ndarray | None = None  # times of the rows of a run
    note: str = ""
    reactions: Mapping[str, np.ndarray] = field(default_factory=dict)
    reaction_units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.values, *self.reactions.values()):
            array.setflags(write=False)

    def keys(self) -> tuple[str, ...]:
        """Return the names, so that ``dict(efforts)`` is possible."""
        return self.names

    def __getitem__(self, name: str) -> NumericValue:
        found = self.values[..., index_of_name(name, self.names, f"efforts of '{self.system}' have no")]
        return float(found) if found.ndim == 0 else found

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)

    # ------------------------------------------------------------ conversions

    def as_run(self) -> Run:
        """Return the efforts over time as columns ``effort(speed)`` of a run.

        If the efforts have no times, the run's time counts the rows from 0.
        """
        columns = {
            f"effort({name})": (self[name], self.units[name], self._about(name)) for name in self.names
        }
        for name, values in self.reactions.items():
            columns |= self._reaction_columns(name, values)
        rows = np.column_stack([np.ravel(values) for values, _, _ in columns.values()])
        return Run(
            system=self.system,
            time=np.arange(float(len(rows))) if self.time is None else self.time.copy(),
            values=rows,
            names=tuple(columns),
            units={name: units for name, (_, units, _) in columns.items()},
            descriptions={name: about for name, (_, _, about) in columns.items()},
            info={"note": self.note} if self.note else {},
            outputs=tuple(columns),
        )

    def _reaction_columns(self, name: str, values: np.ndarray) -> dict[str, tuple[NumericValue, str, str]]:
        units = self.reaction_units[name]
        if values.shape == self.values.shape[:-1]:
            return {f"force({name})": (values, units, f"force of constraint {name}")}
        kinds = zip(("force", "moment"), units.split(", "), (0, 3), strict=True)
        return {
            f"{kind}({name}).{axis}": (
                values[..., first + i],
                own,
                f"{kind} of {name}'s joint on it, along its {axis}",
            )
            for kind, own, first in kinds
            for i, axis in enumerate("xyz")
        }

    def _about(self, name: str) -> str:
        return f"effort that {'keeps' if name in self.prescribed else 'gives'} {name}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the efforts as a file of a run (.csv, .nc, .parquet, .erd), which ``load_run`` reads."""
        self.as_run().save(path)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a column per effort, indexed by time."""
        return self.as_run().to_pandas()

    def plot(
        self,
        *names: str,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        show: bool = False,
    ) -> Figure | None:
        """Return a figure of efforts over time."""
        chosen = [f"effort({name})" for name in names or self.names if self[name] is not None]
        return self.as_run().plot(*chosen, path=path, title=title, show=show)

    # ------------------------------------------------------------ shown

    def _rows(self) -> list[list[str]]:
        single = self.values.ndim == 1
        rows = [["", "effort", ""] if single else ["", "least", "largest", "rms", ""]]
        for name in self.names[:_SHOWN]:
            column = np.atleast_1d(self[name])
            if single:
                numbers = [column[0]]
            elif column.size:
                numbers = [np.min(column), np.max(column), np.sqrt(np.mean(column**2))]
            else:
                numbers = [np.nan] * 3
            kept = ", prescribed" if name in self.prescribed else ""
            rows.append([name, *(f"{x:.6g}" for x in numbers), label_units(self.units[name]) + kept])
        return rows

    def _title(self) -> str:
        places = "" if self.values.ndim == 1 else f" at {counted(int(self.values[..., 0].size), 'place')}"
        return f"Efforts of '{self.system}'{places}:"

    def _notes(self) -> list[str]:
        more = len(self.names) - _SHOWN
        notes = [f"and {counted(more, 'effort')} more"] if more > 0 else []
        return [*notes, *([self.note] if self.note else [])]

    def __repr__(self) -> str:
        rows = self._rows()
        lines = aligned(rows, "<" + ">" * (len(rows[0]) - 2) + "<")
        return "\n".join([self._title(), *(f"  {line}" for line in [*lines, *self._notes()])])

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        notes = "".join(f"<p>{html_text(note)}</p>" for note in self._notes())
        return html_table(head, rows, "<" + ">" * (len(head) - 2), caption=self._title()) + notes


_OFF = 1e-5  # a loop with a smaller gap counts as closed; the start of a run has the same limit


def inverse(
    model: CompiledModel,
    q: object,
    u: object = None,
    udot: object = None,
    parameters: Mapping[str, object] | None = None,
    *,
    t: object = 0.0,
    memory: object = None,
    states: object = None,
    actuators: Sequence[str] | None = None,
    reactions: Sequence[str] = (),
) -> Efforts:
    """Return the efforts that, in addition to all loads, give the speeds u the rates udot at coordinates q.

    ``q``, ``u`` and ``udot`` are numbers in the order of ``coordinate_names`` and ``speed_names``, in the
    model's own units, or values by name in stated units; speeds and rates that are left out are zero. Arrays
    with leading axes describe many places, and so do arrays of ``t`` and ``parameters``. The result has
    efforts by the names of speeds: forces along translations, moments about rotations, also along prescribed
    and locked speeds. Under constraints the efforts act along the independent speeds.

    ``q`` may also be a run. The rates ``udot`` are then computed by the model, or are the slopes of splines
    through the run's speeds if ``udot="spline"``. ``actuators`` names speeds, loads, inputs or parameters:
    the result then has their strengths in place of efforts along the independent speeds, those of least norm
    if there are more actuators than freedoms. ``reactions`` names bodies, to compute the force and moment
    that the joint of each exerts on it, and constraints, to compute their forces.
    """
    made = inverse_model(model, actuators, reactions)
    if not isinstance(q, Run):
        places = made.reader.read(model.base, q, u, udot, t, memory, states, parameters)
        return made.efforts(places, parameters)
    plain = inverse_model(model)
    places = run_places(
        plain.equations, q, udot, lambda at: plain.free_rates(at, dict(q.parameters)), speeds=u
    )
    found = made.efforts(places, {**q.parameters, **(parameters or {})}, time=q.time)
    changing = [e.name for e in made.equations.system.events.values() if e.lock or e.unlock]
    if not changing:
        return found
    held = f"locks and unlocks by event '{changing[0]}' are left out"
    return replace(found, note=f"{found.note}; {held}" if found.note else held)


class InverseModel:
    """The inverse dynamics of a model: expressions, and machine code, which is made at its first use."""

    def __init__(
        self, model: CompiledModel, actuators: Sequence[str] | None = None, reactions: Sequence[str] = ()
    ) -> None:
        equations = model.base.equations
        self.expressions: InverseEquations = inverse_equations(equations)
        self.equations = self.expressions.equations
        system = self.equations.system
        self.bodies = tuple(name for name in reactions if name in system.bodies)
        self.constraints = tuple(name for name in reactions if name in system.constraints)
        self.actuated: Actuated | None = None
        if actuators is not None:
            self.actuated = add_actuators(
                self.equations, actuators, self._speed_units(range(len(system.speeds)))
            )
            self.expressions = self.actuated.expressions
        found = self.expressions
        self.prescribed = tuple(system.speeds[i].data.name for i in found.given)
        given = dict(self._speed_units(found.given))
        if self.actuated is None:
            self.units = {**self._speed_units(found.independent), **given}
        else:
            own = {a.name: a.units for a in self.actuated.actuators}
            if twice := [name for name in given if name in own]:
                raise ArmillaryError(
                    f"inverse(): '{twice[0]}' is prescribed or locked, so its effort is found anyway; leave "
                    "it out of actuators="
                )
            self.units = {**own, **given}
        self.names = tuple(self.units)
        self.reader = PlaceReader(self.equations)

    def _speed_units(self, indices: Sequence[int]) -> dict[str, str]:
        """Return the units of efforts along speeds: the unit of power divided by that of the speed."""
        system = self.equations.system
        speeds = [system.speeds[i] for i in indices]
        power = FORCE * SPEED
        return {
            u.data.name: system.units.unit_text(power / u.dimension if u.dimension is not None else power)
            for u in speeds
        }

    @cached_property
    def functions(self) -> ModelFunctions:
        """The functions of efforts, gaps of loops and reactions.

        With actuators of strengths e, also the functions of r (``left``) and B (``gains``) in B e = r.
        """
        found, inputs = self.expressions, list(self.expressions.rates)
        wanted: dict[str, Sequence[Expr]] = {"efforts": [*found.along_independent, *found.along_given]}
        reactions = found.reactions(self.bodies, self.constraints) if self.bodies or self.constraints else []
        if self.actuated is not None:
            inputs += [a.symbol for a in self.actuated.actuators]
            reactions = self.actuated.acting(reactions)
            wanted = {
                "left": self.actuated.left,
                "gains": self.actuated.gains,
                "efforts": self.actuated.acting(found.along_given),
            }
        gaps = [row.gap for row in found.reduction.elimination.kept if row.gap is not None]
        wanted |= {"gaps": gaps} if gaps else {}
        wanted |= {"reactions": reactions} if reactions else {}
        return ModelFunctions(self.equations, {name: e for name, e in wanted.items() if e}, inputs)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation of all efforts."""
        return self.functions.operations["efforts"]

    @property
    def address(self) -> int:
        """Address of the compiled function from [state, rates] to all efforts."""
        return self.functions.address("efforts")

    def efforts(
        self, places: Places, parameters: Mapping[str, object] | None, time: np.ndarray | None = None
    ) -> Efforts:
        """Return the efforts at places: the strengths of actuators, or the efforts along independent speeds;
        and the efforts along prescribed speeds.
        """
        self.check_closed(places, parameters)
        note, inputs = "", places.rates
        if self.actuated is None:
            values = self.rows("efforts", places, parameters, inputs)
        else:
            e, note = self._strengths(places, parameters)
            inputs = np.hstack([places.rates, e])
            values = e * [a.factor for a in self.actuated.actuators]
            if self.prescribed:
                values = np.hstack([values, self.rows("efforts", places, parameters, inputs)])
        return Efforts(
            self.equations.system.name,
            self.names,
            values.reshape(*places.shape, len(self.names)),
            self.units,
            self.prescribed,
            time,
            note,
            self._reactions(places, parameters, inputs),
            self._reaction_units,
        )

    def _strengths(self, places: Places, parameters: Mapping[str, object] | None) -> tuple[np.ndarray, str]:
        """Return the strengths of actuators at places, and a note if they are a solution of least norm."""
        assert self.actuated is not None
        n, m = len(self.expressions.independent), len(self.actuated.actuators)
        still = np.hstack([places.rates, np.zeros((len(places.states), m))])
        left = self.rows("left", places, parameters, still) if n else np.zeros((len(still), 0))
        gains = self.rows("gains", places, parameters, still) if n * m else np.zeros((len(still), 0))
        units = self._speed_units(self.expressions.independent)
        found, chosen = strengths(left, gains.reshape(len(still), n, m), tuple(units), units)
        note = (
            f"{counted(m, 'actuator')} on {counted(n, 'freedom')}: strengths of least norm" if chosen else ""
        )
        return found, note

    def _reactions(
        self, places: Places, parameters: Mapping[str, object] | None, inputs: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return reactions by name: six numbers for each body, one force for each constraint."""
        if not self.bodies and not self.constraints:
            return {}
        values = self.rows("reactions", places, parameters, inputs)
        split = 6 * len(self.bodies)
        found = {
            name: values[:, 6 * k : 6 * k + 6].reshape(*places.shape, 6) for k, name in enumerate(self.bodies)
        }
        return found | {
            name: values[:, split + k].reshape(places.shape) for k, name in enumerate(self.constraints)
        }

    @cached_property
    def _reaction_units(self) -> dict[str, str]:
        system = self.equations.system
        force, moment = system.units.unit_text(FORCE), system.units.unit_text(MOMENT)
        turning = {
            name for name in self.constraints if (c := system.constraints[name].load) and c.kind == "moment"
        }
        own = {name: moment if name in turning else force for name in self.constraints}
        return dict.fromkeys(self.bodies, f"{force}, {moment}") | own

    def free_rates(self, places: Places, parameters: Mapping[str, object] | None) -> np.ndarray:
        """Return the rates of the independent speeds for zero efforts: M u̇ = −e(u̇ = 0).

        The columns of M are differences of efforts, which are linear in the rates.
        """
        rows, n = places.states.shape[0], places.rates.shape[1]
        at_rest = np.zeros((rows, n))
        force = self.rows("efforts", places, parameters, at_rest)[:, :n]
        mass = np.empty((rows, n, n))
        for k in range(n):
            unit = at_rest.copy()
            unit[:, k] = 1.0
            mass[:, :, k] = self.rows("efforts", places, parameters, unit)[:, :n] - force
        return np.linalg.solve(mass, -force[..., None])[..., 0] if rows else at_rest

    def rows(
        self, name: str, places: Places, parameters: Mapping[str, object] | None, inputs: np.ndarray
    ) -> np.ndarray:
        """Return the results of a function, a row for each place."""
        if not places.shape:
            t, y, stored, given = float(places.t[0]), places.states[0], places.memory[0], inputs[0]
            return self.functions(name, t, y, parameters, stored, given)[None]
        return self.functions.rows(name, places.t, places.states, parameters, places.memory, inputs)

    def check_closed(self, places: Places, parameters: Mapping[str, object] | None) -> None:
        """Raise an error if the coordinates leave a kinematic loop open."""
        rows = [row for row in self.expressions.reduction.elimination.kept if row.gap is not None]
        if not rows or not len(places.states):
            return
        inputs = np.zeros((len(places.states), len(self.functions.equations.program.inputs)))
        gaps = np.abs(self.rows("gaps", places, parameters, inputs))
        if not np.max(gaps) < _OFF:
            i, k = np.unravel_index(int(np.argmax(np.nan_to_num(gaps, nan=np.inf))), gaps.shape)
            where = f" in row {i + 1}" if places.shape else ""
            raise ArmillaryError(
                f"inverse(): constraint '{rows[k].constraint.name}' is open by {gaps[i, k]:.3g}{where}; give "
                "coordinates that close the loops, e.g. model.state({…}) or those of a run"
            )


_made = kept_per_object(InverseModel)


def inverse_model(
    model: CompiledModel, actuators: Sequence[str] | None = None, reactions: Sequence[str] = ()
) -> InverseModel:
    """Return the inverse dynamics of a model, made once for each choice of actuators and reactions."""
    base = model.base
    chosen = None if actuators is None else _checked_names(actuators, "actuators=")
    wanted = _reaction_names(base, reactions)
    return _made(base, chosen, wanted)


def _checked_names(names: object, what: str) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ArmillaryError(f"inverse(): {what} must be a list of names, not {names!r}")
    return tuple(str(name) for name in names)


def _reaction_names(model: CompiledModel, reactions: object) -> tuple[str, ...]:
    system = model.equations.system
    known = [*system.bodies, *system.constraints]
    names = _checked_names(reactions, "reactions=")
    if unknown := [name for name in names if name not in known or name == system.ground.name]:
        raise ArmillaryError(
            f"inverse(): there is no body with a joint and no constraint '{unknown[0]}'"
            f"{nearest(unknown[0], known)}"
        )
    return names
