"""Sweeps: a mechanism moved along a path of driven quantities, without its dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import checked_names, flag, several, table
from armillary.analysis.kinematics.drives import Drive, PathStart, read_drive, start_of
from armillary.analysis.kinematics.follower import Followed
from armillary.analysis.kinematics.held_coordinates import held_quantities
from armillary.analysis.kinematics.landmarks import (
    Landmark,
    Path,
    limits_of_reach,
    singular_positions,
    turning_points,
)
from armillary.analysis.kinematics.mechanism.motion import PathMotion
from armillary.analysis.kinematics.mechanism.numbers import MechanismNumbers
from armillary.analysis.kinematics.mechanism.preparation import (
    joint_model,
    kinematics_of,
    mechanism_of,
    shown_quantities,
)
from armillary.analysis.kinematics.result import Sweep
from armillary.analysis.kinematics.table import SweepColumns
from armillary.errors import ArmillaryError, ParameterError
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import DataMapping


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
    start: Mapping[str, float] | Sequence[float] | None = None,
    parameters: Mapping[str, object] | None = None,
    time: float | str = 0.0,
) -> Sweep:
    """See ``Model.sweep``."""
    derivatives = flag(derivatives, "derivatives=")
    wanted = several(reactions, "reactions=")
    if wanted and not flag(static, "static="):
        raise ArmillaryError(
            "reactions along a sweep are those of static loads: give static=True, or take "
            "model.inverse(q, u, udot, reactions=…) of a motion"
        )
    found = swept(
        model, driven, outputs, static=static, grid=grid, held=held, start=start, parameters=parameters,
        time=time,
    )  # fmt: skip
    drive, columns, motion = found.drive, found.columns, found.motion
    if drive.timed or speeds is not None or accelerations is not None:
        rates = ((speeds, "speeds="), (accelerations, "accelerations="))
        columns.add_rates(*(_rates(drive, given, what) for given, what in rates))
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
    followed: Followed
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
    """The positions of a sweep."""
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
    followed = _followed(base, numbers, drive, begin, start, parameters)
    motion = PathMotion(numbers, followed.times, followed.positions)
    columns = SweepColumns(mechanism, drive, motion, followed.found)
    return Swept(base, parameters, drive, numbers, followed, motion, columns)


def _followed(
    model: CompiledModel,
    numbers: MechanismNumbers,
    drive: Drive,
    begin: PathStart,
    start: object,
    parameters: Mapping[str, object] | None,
) -> Followed:
    """The positions of all rows, from the model's own position; where the first row is not reached from
    there, from one that is assembled at its coordinates, and under static loads from an equilibrium.
    """
    position = numbers.position(begin.place)
    found = _run(numbers, drive, position, begin.place.t)
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
        again = _run(numbers, drive, position, other.place.t)
        if again.found[0]:
            return again
    if numbers.mechanism.static:
        targets = _targets(numbers, drive, position, begin.place.t)[:1]
        near = numbers.follow(position[None], drive.times[:1], [0], drive.times[:1], targets, descend=True)
        if near.found[0]:
            return _run(numbers, drive, near.positions[0], drive.times[0])
    return found


def _run(numbers: MechanismNumbers, drive: Drive, position: np.ndarray, t: float) -> Followed:
    targets = _targets(numbers, drive, position, t)
    return numbers.follow(position[None], np.array([t]), drive.origins + 1, drive.times, targets)


def _targets(numbers: MechanismNumbers, drive: Drive, position: np.ndarray, t: float) -> np.ndarray:
    """Values of what is driven and held, and zero for what is left of the balance of forces."""
    m = numbers.mechanism
    held = numbers.values(position[None], np.array([t]))[0, len(drive.names) : len(m.driven)]
    rest = np.concatenate([held, np.zeros(m.followed - len(m.driven))])
    return np.column_stack([drive.values, np.tile(rest, (len(drive), 1))])


def _rates(drive: Drive, given: Mapping[str, object] | None, what: str) -> np.ndarray:
    """Rates of what is driven, a row each; zero where none is given."""
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
