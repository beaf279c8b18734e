"""Sweeps: a mechanism moved along a path of driven quantities, without its dynamics; and workspaces."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import checked_names, count, flag, several, table
from armillary.analysis.kinematics.drives import Drive, PathStart, held_quantities, read_drive, start_of
from armillary.analysis.kinematics.follower import FollowedRows
from armillary.analysis.kinematics.mechanism import (
    MechanismNumbers,
    joint_model,
    kinematics_of,
    mechanism_of,
    shown_quantities,
)
from armillary.analysis.kinematics.motion import (
    Landmark,
    Path,
    PathMotion,
    limits_of_reach,
    singular_positions,
    turning_points,
)
from armillary.analysis.kinematics.result import Sweep, SweepColumns
from armillary.errors import ArmillaryError, ParameterError, shown
from armillary.results.plots.run_plot import FIGURES, axis_label, check_suffix, literal, open_figure
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.settings import Initial
from armillary.text_tables import aligned, counted, html_table, html_text
from armillary.untyped import DataMapping, DataTable, Given

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sweep(
    model: CompiledModel,
    driven: Mapping[str, object],
    outputs: Sequence[str] | None = None,
    *,
    speeds: Mapping[str, object] | None = None,
    accelerations: Mapping[str, object] | None = None,
    derivatives: bool = False,
    static: bool = False,
    reactions: Sequence[str] = (),
    grid: bool = False,
    held: Sequence[str] | None = None,
    start: Initial = None,
    parameters: Mapping[str, object] | None = None,
    time: float | str = 0.0,
) -> Sweep:
    """Return the positions of a mechanism along a path, without dynamics; constraints are satisfied.

    ``driven`` has values of coordinates, of outputs of positions, or of "time": numbers, or arrays of one
    length. With ``grid``, arrays may differ in length, and each combination of their values is a row. Values
    are in the units that the quantity has in runs, or are pairs (values, units).

    ``outputs`` are by default the outputs of the description. ``speeds`` and ``accelerations`` of driven
    quantities give rates in time of all outputs, as columns d(y)/dt and d²(y)/dt²; ``derivatives`` gives
    derivatives by the driven quantities. ``start`` has initial values, as for ``simulate``; they decide which
    of several possible closures of the loops is followed.

    If the driven quantities leave n degrees of freedom, n coordinates are held at their start values: first
    the coordinates in ``held``, then coordinates with a value in ``start``, then the coordinates that the
    driven quantities move least. With ``static`` only the coordinates in ``held`` are held; the others are in
    static equilibrium under all loads, and the efforts that hold the driven quantities are further outputs.
    ``reactions`` then names constraints, whose forces are further columns, and bodies, whose columns are the
    force and moment that the joint exerts on the body, in the body's axes.
    """
    derivatives = flag(derivatives, "derivatives=")
    wanted = several(reactions, "reactions=")
    if wanted and not flag(static, "static="):
        raise ArmillaryError(
            "a sweep has reactions only under static loads: give static=True, or use "
            "model.inverse(q, u, udot, reactions=…) for a motion"
        )
    found = swept(
        model, driven, outputs, static=static, grid=grid, held=held, start=start, parameters=parameters,
        time=time,
    )  # fmt: skip
    drive, columns, motion = found.drive, found.columns, found.motion
    if drive.timed or speeds is not None or accelerations is not None:
        rates = ((speeds, "speeds="), (accelerations, "accelerations="))
        columns.add_rates(*(_driven_rates(drive, given, what) for given, what in rates))
    else:
        columns.add_outputs()
    if wanted:
        columns.add_reactions(found.model, wanted, parameters)
    slopes = columns.derivatives(motion)
    if derivatives:
        columns.add_derivatives(slopes)
    path = found.path
    marks = limits_of_reach(path, found.followed, columns.targets, drive.times)
    marks += singular_positions(path)
    marks += turning_points(path, slopes, columns.derivatives) if drive.names else []
    return found.result(tuple(marks))


@dataclass(frozen=True, eq=False)
class Swept:
    """A mechanism at the positions of all rows, before its columns are computed."""

    model: CompiledModel
    parameters: DataMapping | None
    drive: Drive
    numbers: MechanismNumbers
    followed: FollowedRows
    motion: PathMotion
    columns: SweepColumns

    @property
    def path(self) -> Path:
        return Path(self.motion, self.followed.found, self.drive.origins, self.drive.axes)

    def result(self, marks: tuple[Landmark, ...]) -> Sweep:
        return self.columns.result(self.model, self.parameters, marks, Sweep)


def swept(
    model: CompiledModel,
    driven: Mapping[str, object],
    outputs: Sequence[str] | None = None,
    *,
    static: bool = False,
    grid: bool = False,
    held: Sequence[str] | None = None,
    start: Mapping[str, float] | Sequence[float] | None = None,
    parameters: Mapping[str, object] | None = None,
    time: float | str = 0.0,
) -> Swept:
    """Return the positions of a sweep, before its columns are computed."""
    static, grid = flag(static, "static="), flag(grid, "grid=")
    base = joint_model(model)
    kinematics = kinematics_of(base)
    drive = read_drive(kinematics, driven, "sweep", time, grid=grid)
    asked = [kinematics.position(name, "sweep") for name in drive.names]
    shown = shown_quantities(kinematics, drive.names, outputs)
    begin = start_of(base, start, parameters, float(drive.times[0]))
    fixed = held_quantities(kinematics, asked, begin, held, only_named=static)
    mechanism = mechanism_of(kinematics, [*asked, *fixed], shown, static=static)
    numbers = MechanismNumbers(mechanism, parameters, begin.place.memory)
    numbers = numbers.with_forces(numbers.position(begin.place), begin.place.t)
    followed = _follow_path(base, numbers, drive, begin, start, parameters)
    motion = PathMotion(numbers, followed.times, followed.positions)
    columns = SweepColumns(mechanism, drive, motion, followed.found)
    return Swept(base, parameters, drive, numbers, followed, motion, columns)


def _follow_path(
    model: CompiledModel,
    numbers: MechanismNumbers,
    drive: Drive,
    begin: PathStart,
    start: object,
    parameters: Mapping[str, object] | None,
) -> FollowedRows:
    """Return the positions of all rows, found one from another, beginning at the model's start position.

    If the first row is not reached from there, begin at a position assembled with the first row's
    coordinates. If that fails under static loads, begin at the equilibrium found by descent.
    """
    position = numbers.position(begin.place)
    found = _follow_rows(numbers, drive, position, begin.place.t)
    if found.found[0]:
        return found
    if start is None or isinstance(start, Mapping):
        first = dict(zip(drive.names, drive.values[0].tolist(), strict=True))
        first = {n: v for n, v in first.items() if n in model.coordinate_names}
        try:
            other = start_of(model, {**(start or {}), **first}, parameters, float(drive.times[0]))
        except ParameterError:
            return found
        position = numbers.position(other.place)
        again = _follow_rows(numbers, drive, position, other.place.t)
        if again.found[0]:
            return again
    if numbers.mechanism.static:
        targets = _targets(numbers, drive, position, begin.place.t)[:1]
        near = numbers.follow(position[None], drive.times[:1], [0], drive.times[:1], targets, descend=True)
        if near.found[0]:
            return _follow_rows(numbers, drive, near.positions[0], drive.times[0])
    return found


def _follow_rows(numbers: MechanismNumbers, drive: Drive, position: np.ndarray, t: float) -> FollowedRows:
    targets = _targets(numbers, drive, position, t)
    return numbers.follow(position[None], np.array([t]), drive.origins + 1, drive.times, targets)


def _targets(numbers: MechanismNumbers, drive: Drive, position: np.ndarray, t: float) -> np.ndarray:
    """Return the targets of all rows: values of driven and held quantities, and zeros for residual forces."""
    m = numbers.mechanism
    held = numbers.values(position[None], np.array([t]))[0, len(drive.names) : len(m.driven)]
    rest = np.concatenate([held, np.zeros(m.followed - len(m.driven))])
    return np.column_stack([drive.values, np.tile(rest, (len(drive), 1))])


def _driven_rates(drive: Drive, given: Mapping[str, object] | None, what: str) -> np.ndarray:
    """Return the rates of the driven quantities (rows × quantities); zero if not given."""
    found = np.zeros((len(drive), len(drive.names)))
    known = checked_names(table(given, what), drive.names, what, after=" is not driven")
    for name, values in known.items():
        try:
            numbers = np.asarray(values, dtype=float)
            found[:, drive.names.index(name)] = numbers.reshape(-1) if numbers.ndim else numbers
        except (TypeError, ValueError, OverflowError):
            raise ArmillaryError(
                f"{what} '{name}': give a number, or one for each of the {len(drive)} rows"
            ) from None
    return found


# Workspaces: the outputs that a mechanism reaches over ranges of the driven quantities, and their boundary.
#
# With as many outputs y as driven quantities c, det(∂y/∂c) changes its sign where the mechanism cannot move
# its outputs in every direction. These positions are found between neighbours of a grid over the ranges;
# their outputs bound the workspace, or divide it, together with the edges of the ranges and the limits of
# reach.


@dataclass(frozen=True, eq=False, repr=False)
class Workspace:
    """Outputs that a mechanism reaches over ranges of the driven quantities.

    ``sweep`` has the positions on the grid; ``singular`` has positions between them at which the outputs
    cannot move in every direction. ``edges`` marks rows at the ends of ranges, and next to unreached rows.
    """

    sweep: Sweep
    singular: Sweep
    edges: np.ndarray
    outputs: tuple[str, ...]

    @property
    def extent(self) -> dict[str, tuple[float, float]]:
        """The least and the largest value of each output."""
        found = {}
        for name in self.outputs:
            values = np.concatenate([self.sweep[name], self.singular[name]])
            values = values[np.isfinite(values)]
            found[name] = (float(values.min()), float(values.max())) if values.size else (np.nan, np.nan)
        return found

    def _heading(self) -> str:
        reached = int(np.sum(self.sweep.found))
        over = ", ".join(f"{n} {_range_text(self.sweep[n])}" for n in self.sweep.driven)
        return (
            f"Workspace of '{self.sweep.system}' over {over}: {counted(reached, 'position')} of "
            f"{len(self.sweep)} reached, {counted(len(self.singular), 'singular position')}"
        )

    def _rows(self) -> list[list[str]]:
        units = self.sweep.units
        return [
            [n, f"{low:.6g}", f"{high:.6g}", label_units(units[n])] for n, (low, high) in self.extent.items()
        ]

    def __repr__(self) -> str:
        lines = aligned([["", "least", "largest", ""], *self._rows()], "<>><")
        return "\n".join([self._heading(), *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        """Return a heading and the extent of each output, for notebooks."""
        table_of = html_table(["", "least", "largest", "units"], self._rows(), "<>><")
        return f"<p>{html_text(self._heading())}</p>{table_of}"

    def plot(
        self,
        *names: str,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        show: bool = False,
    ) -> Figure:
        """Draw a figure of two outputs against each other: positions, edges of the ranges, singular
        positions.
        """
        wanted = names or self.outputs[:2]
        if len(wanted) != 2:
            raise ArmillaryError(f"the plot of a workspace has two outputs, not {len(wanted)}; name two")
        x, y = wanted
        if path is not None:
            check_suffix(path, FIGURES)
        groups: tuple[tuple[Sweep, np.ndarray, DataTable], ...] = (
            (self.sweep, self.sweep.found, {"color": "0.8", "s": 4, "label": "reached"}),
            (self.sweep, self.edges, {"color": "C0", "s": 6, "label": "end of a range"}),
            (self.singular, self.singular.found, {"color": "C3", "s": 6, "label": "singular"}),
        )
        with open_figure((6.4, 6.0), path, show=show) as figure:
            axes = figure.subplots()
            for source, rows, look in groups:
                axes.scatter(source[x][rows], source[y][rows], **look)
            axes.set_xlabel(literal(axis_label(x, self.sweep.units[x])))
            axes.set_ylabel(literal(axis_label(y, self.sweep.units[y])))
            axes.set_title(literal(title or f"{self.sweep.system}: workspace"))
            if self.sweep.units[x] == self.sweep.units[y]:
                axes.set_aspect("equal")
            axes.legend(loc="best")
        return figure


def workspace(
    model: CompiledModel,
    ranges: Mapping[str, object],
    outputs: Sequence[str],
    *,
    points: int = 41,
    start: Initial = None,
    parameters: Mapping[str, object] | None = None,
    time: float | str = 0.0,
) -> Workspace:
    """Return the outputs that are reached over ranges (low, high) of driven quantities, and their boundary.

    The grid combines ``points`` values of each range. Between neighbours of the grid, positions are found at
    which the outputs cannot move in every direction. There must be as many outputs as ranges.
    """
    named = several(outputs, "outputs=")
    given = {name: _ends(name, pair) for name, pair in table(ranges, "workspace").items()}
    if len(named) != len(given):
        raise ArmillaryError(
            f"workspace: give as many outputs as ranges, not {len(named)} and {len(given)}; the "
            "boundary is where the square matrix of their derivatives by the driven quantities is singular"
        )
    if repeated := [name for i, name in enumerate(named) if name in named[:i]]:
        raise ArmillaryError(f"workspace: output '{repeated[0]}' is given twice; give different outputs")
    if "time" in given:
        raise ArmillaryError("workspace: 'time' cannot have a range; give one time as time=")
    n = count(points, "points=")
    if n < 2:
        raise ArmillaryError(f"workspace: points={n}: a range has two points at least")
    values = {name: np.linspace(*pair, n) for name, pair in given.items()}
    found = swept(model, values, named, grid=True, start=start, parameters=parameters, time=time)
    found.columns.add_outputs()
    mechanism, reached = found.numbers.mechanism, found.followed.found
    places = [o.name for o in mechanism.outputs]
    if driven := [name for name in named if name not in places]:
        raise ArmillaryError(f"workspace: output '{driven[0]}' is driven itself; give other outputs")
    slope = _Determinants(found.columns, tuple(places.index(name) for name in named))
    first, last = _neighbours(found.drive, reached)
    here = np.sign(slope(found.motion))
    turned = here[first] * here[last] < 0
    if np.any(turned):
        motion = found.path.zeros(first[turned], last[turned], slope)[0]
    else:
        motion = PathMotion(found.numbers, np.empty(0), np.empty((0, mechanism.conditions.width)))
    return Workspace(found.result(()), _singular(found, motion), _edges(found.drive, reached), tuple(named))


@dataclass(frozen=True, eq=False)
class _Determinants:
    """The determinant of ∂y/∂c at positions, for the outputs y with the indices ``outputs``."""

    columns: SweepColumns
    outputs: tuple[int, ...]

    def __call__(self, motion: PathMotion) -> np.ndarray:
        return np.asarray(np.linalg.det(self.columns.derivatives(motion)[:, list(self.outputs)]))


def _singular(found: Swept, motion: PathMotion) -> Sweep:
    """Return the singular positions as a sweep."""
    m, drive = found.numbers.mechanism, found.drive
    values = motion.positions[:, m.state : m.state + len(drive.names)]
    rows = Drive(drive.names, values, motion.times, drive.timed, (len(values),), drive.axes)
    columns = SweepColumns(m, rows, motion, np.ones(len(values), dtype=bool))
    columns.add_outputs()
    return columns.result(found.model, found.parameters, (), Sweep)


def _neighbours(drive: Drive, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of reached rows that are neighbours on the grid, as two arrays."""
    index = np.arange(len(drive)).reshape(drive.shape)
    pairs = [
        (np.moveaxis(index, axis, 0)[:-1].reshape(-1), np.moveaxis(index, axis, 0)[1:].reshape(-1))
        for axis in range(len(drive.shape))
    ]
    first, last = (np.concatenate(side) for side in zip(*pairs, strict=True))
    both = found[first] & found[last]
    return first[both], last[both]


def _edges(drive: Drive, found: np.ndarray) -> np.ndarray:
    """Return a mask of reached rows at the ends of ranges or next to rows that were not reached."""
    grid = found.reshape(drive.shape)
    inside = np.ones(drive.shape, dtype=bool)
    for axis in range(len(drive.shape)):
        moved, held = np.moveaxis(inside, axis, 0), np.moveaxis(grid, axis, 0)
        moved[0], moved[-1] = False, False
        moved[1:] &= held[:-1]
        moved[:-1] &= held[1:]
    return found & ~inside.reshape(-1)


def _ends(name: str, pair: Given) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in (() if isinstance(pair, str) else pair))
    except (TypeError, ValueError, OverflowError):
        raise ArmillaryError(f"workspace: '{name}' needs (low, high), not {shown(pair)}") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ArmillaryError(f"workspace: '{name}': {low:.6g} is not below {high:.6g}")
    return low, high


def _range_text(values: np.ndarray) -> str:
    return f"{values.min():.6g} to {values.max():.6g}"
