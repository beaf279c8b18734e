"""Sweeps: a mechanism moved along a path of driven quantities, without its dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from armillary.algebra.arguments import several, table
from armillary.analysis.kinematics.drives import (
    TIME,
    Drive,
    Start,
    held_quantities,
    read_drive,
    start_of,
)
from armillary.analysis.kinematics.follower import Followed, follow
from armillary.analysis.kinematics.landmarks import (
    Landmark,
    Path,
    limits_of_reach,
    singular_positions,
    turning_points,
)
from armillary.analysis.kinematics.mechanism import Kinematics, Mechanism, Numbers, Quantity
from armillary.analysis.kinematics.motion import Motion
from armillary.analysis.kinematics.result import Sweep
from armillary.errors import ArmillaryError, ParameterError, nearest
from armillary.program.derive import derive
from armillary.program.sensitivities.directions import quotient
from armillary.program.sensitivities.equations import derivative_name
from armillary.runtime.models.compiled import CompiledModel


def sweep(
    model: CompiledModel,
    driven: Mapping[str, Any],
    outputs: Sequence[str] | None = None,
    *,
    speeds: Mapping[str, Any] | None = None,
    accelerations: Mapping[str, Any] | None = None,
    derivatives: bool = False,
    grid: bool = False,
    held: Sequence[str] | None = None,
    start: Mapping[str, float] | Sequence[float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    time: float = 0.0,
) -> Sweep:
    """See ``Model.sweep``."""
    base = joint_model(model)
    drive = read_drive(driven, "sweep", time, grid=grid)
    mechanism, begin = _mechanism(base, drive, outputs, held, start, parameters, time)
    numbers = Numbers(mechanism, parameters, begin.place.memory)
    followed = _followed(base, numbers, drive, begin, start, parameters)
    motion = Motion(numbers, followed.times, followed.positions)
    path = Path(motion, followed.found, drive.origins, drive.axes)
    count = len(drive.names)
    timed = drive.timed or speeds is not None or accelerations is not None
    table_of = _Columns(mechanism, drive, motion, followed.found)
    marks: list[Landmark] = []
    slopes = table_of.derivatives(motion, count)
    if timed:
        rates = [
            _rates(drive, given, what)
            for given, what in ((speeds, "speeds="), (accelerations, "accelerations="))
        ]
        table_of.add_rates(*rates)
    else:
        table_of.add_outputs()
    if derivatives:
        table_of.add_derivatives(slopes)
    targets = table_of.targets
    marks += limits_of_reach(path, followed, targets, drive.times)
    marks += singular_positions(path)
    if count:
        marks += turning_points(path, slopes, lambda there: table_of.derivatives(there, count))
    return table_of.result(base, parameters, tuple(marks), begin)


def joint_model(model: CompiledModel) -> CompiledModel:
    """The model itself, or one whose coordinates are those of the joints."""
    base = model.base
    if base.equations.absolute:
        return base._compiler(derive(base.equations.system, "kane"))
    return base


def _mechanism(
    model: CompiledModel,
    drive: Drive,
    outputs: Sequence[str] | None,
    held: Sequence[str] | None,
    start: Any,
    parameters: Mapping[str, Any] | None,
    time: float,
) -> tuple[Mechanism, Start]:
    """The mechanism with what is driven and held; those of the same names are made once per model."""
    kinematics = kinematics_of(model)
    asked = [kinematics.position(name, "sweep") for name in drive.names]
    shown = [kinematics.quantity(name, "outputs=") for name in output_names(kinematics, drive.names, outputs)]
    begin = start_of(model, start, parameters, float(drive.times[0]) if drive.timed else time)
    fixed = held_quantities(kinematics, asked, begin, held)
    return mechanism_of(kinematics, [*asked, *fixed], shown), begin


def kinematics_of(model: CompiledModel) -> Kinematics:
    kept = model.__dict__
    if "_kinematics" not in kept:
        kept["_kinematics"] = Kinematics(model.equations)
    found = kept["_kinematics"]
    assert isinstance(found, Kinematics)
    return found


def mechanism_of(kinematics: Kinematics, driven: Sequence[Quantity], shown: Sequence[Quantity]) -> Mechanism:
    key = tuple(d.name for d in driven), tuple(o.name for o in shown)
    if key not in kinematics.mechanisms:
        kinematics.mechanisms[key] = Mechanism(kinematics, driven, shown)
    return kinematics.mechanisms[key]


def output_names(kinematics: Kinematics, driven: Sequence[str], outputs: Sequence[str] | None) -> list[str]:
    """Outputs that are asked for, else those of the description, then all coordinates that are not driven."""
    own = [n for n in kinematics.system.outputs if n in kinematics.quantities]
    asked = own if outputs is None else list(dict.fromkeys(several(outputs, "outputs=")))
    found = [n for n in asked if n not in driven]
    return [*found, *(q for q in kinematics.coordinates if q not in {*found, *driven})]


def _followed(
    model: CompiledModel,
    numbers: Numbers,
    drive: Drive,
    begin: Start,
    start: Any,
    parameters: Mapping[str, Any] | None,
) -> Followed:
    """The positions of all rows, from the model's own position; where the first row is not reached from
    there, from one that is assembled at its coordinates.
    """
    found = _run(numbers, drive, begin)
    if not found.reached[0] >= 1.0 and (start is None or isinstance(start, Mapping)):
        first = dict(zip(drive.names, drive.values[0].tolist(), strict=True))
        first = {n: v for n, v in first.items() if n in model.coordinate_names}
        try:
            other = start_of(model, {**(start or {}), **first}, parameters, float(drive.times[0]))
        except ParameterError:
            return found
        again = _run(numbers, drive, other)
        if again.reached[0] >= 1.0:
            return again
    return found


def _run(numbers: Numbers, drive: Drive, begin: Start) -> Followed:
    position = numbers.position(begin.place)
    held = numbers.values(position[None], np.array([begin.place.t]))[0, len(drive.names) :]
    targets = np.column_stack([drive.values, np.tile(held, (len(drive), 1))])
    return follow(
        numbers.mechanism.conditions, position[None], np.array([begin.place.t]), drive.origins + 1,
        drive.times, targets, numbers.sizes, numbers.constants, numbers.memory,
    )  # fmt: skip


def _rates(drive: Drive, given: Mapping[str, Any] | None, what: str) -> np.ndarray:
    """Rates of what is driven, a row each; zero where none is given."""
    found = np.zeros((len(drive), len(drive.names)))
    for name, values in table(given, what).items():
        if name not in drive.names:
            raise ArmillaryError(f"{what} '{name}' is not driven{nearest(name, drive.names)}")
        try:
            numbers = np.asarray(values, dtype=float)
            found[:, drive.names.index(name)] = numbers.reshape(-1) if numbers.ndim else numbers
        except (TypeError, ValueError):
            raise ArmillaryError(
                f"{what} '{name}': give a number, or one for each of the {len(drive)} rows"
            ) from None
    return found


class _Columns:
    """The columns of a sweep under construction."""

    def __init__(self, mechanism: Mechanism, drive: Drive, motion: Motion, found: np.ndarray) -> None:
        self.mechanism, self.drive, self.motion, self.found = mechanism, drive, motion, found
        k = mechanism.kinematics
        self.count = len(drive.names)
        held = motion.positions[:, mechanism.state + self.count : mechanism.state + len(mechanism.targets)]
        self.targets = np.column_stack([drive.values, held])
        driven = {name: drive.values[:, i] for i, name in enumerate(drive.names)} | {TIME: drive.times}
        self.columns: dict[str, np.ndarray] = {name: driven[name] for name in drive.axes}
        known = k.quantities
        self.units = {n: known[n].units for n in drive.names} | ({TIME: "s"} if drive.timed else {})
        self.abouts = {n: known[n].about for n in drive.names} | ({TIME: "time"} if drive.timed else {})

    def _add(self, name: str, values: np.ndarray, units: str, about: str) -> None:
        self.columns[name] = np.where(self.found, values, np.nan)
        self.units[name], self.abouts[name] = units, about

    def add_outputs(self, values: np.ndarray | None = None) -> None:
        values = self.motion.shown() if values is None else values
        for i, o in enumerate(self.mechanism.outputs):
            self._add(o.name, values[:, i], o.units, o.about)

    def add_rates(self, speeds: np.ndarray, accelerations: np.ndarray) -> None:
        """Outputs at speeds and accelerations of what is driven, with their first and second rates."""
        m, more = self.mechanism, np.zeros((len(self.drive), len(self.mechanism.targets) - self.count))
        u = self.motion.speeds(np.column_stack([speeds, more]), 1.0)
        a = self.motion.accelerations(u, np.column_stack([accelerations, more]), 1.0)
        values, rates = self.motion.moving(u, a, 1.0)
        self.add_outputs(values)
        for i, o in enumerate(m.outputs):
            self._add(f"d({o.name})/dt", rates[:, i], quotient(o.units, "s"), f"rate of {o.name}")
            if i in m.twice:
                second = rates[:, len(m.outputs) + m.twice.index(i)]
                self._add(f"d²({o.name})/dt²", second, quotient(o.units, "s^2"), f"second rate of {o.name}")

    def derivatives(self, motion: Motion, count: int) -> np.ndarray:
        """Derivatives of all outputs of positions by each driven quantity at all rows; those of outputs of
        speeds are NaN.
        """
        m = self.mechanism
        outputs = len(m.outputs)
        found = np.full((len(motion.positions), outputs, count), np.nan)
        for d in range(count):
            rates = np.zeros((len(motion.positions), len(m.targets)))
            rates[:, d] = 1.0
            u = motion.speeds(rates, 0.0)
            _, shown = motion.moving(u, np.zeros_like(u), 0.0)
            found[:, list(m.twice), d] = shown[:, list(m.twice)]
        return found

    def add_derivatives(self, slopes: np.ndarray) -> None:
        """Derivatives by what is driven; second ones where one quantity is."""
        m, k = self.mechanism, self.mechanism.kinematics
        for d, by in enumerate(self.drive.names):
            for i in m.twice:
                o = m.outputs[i]
                units = quotient(o.units, k.quantities[by].units)
                self._add(
                    derivative_name(o.name, by), slopes[:, i, d], units, f"derivative of {o.name} by {by}"
                )
        if self.count != 1:
            return
        rates = np.zeros((len(self.drive), len(m.targets)))
        rates[:, 0] = 1.0
        u = self.motion.speeds(rates, 0.0)
        a = self.motion.accelerations(u, np.zeros_like(rates), 0.0)
        _, shown = self.motion.moving(u, a, 0.0)
        by = self.drive.names[0]
        for at, i in enumerate(m.twice):
            o = m.outputs[i]
            units = quotient(quotient(o.units, k.quantities[by].units), k.quantities[by].units)
            values = shown[:, len(m.outputs) + at]
            self._add(second_name(o.name, by), values, units, f"second derivative of {o.name} by {by}")

    def result(
        self,
        model: CompiledModel,
        parameters: Mapping[str, Any] | None,
        marks: tuple[Landmark, ...],
        begin: Start,
    ) -> Sweep:
        k, drive = self.mechanism.kinematics, self.drive
        coordinates = tuple(n for n in k.coordinates if n in self.columns)
        asked = [o.name for o in self.mechanism.outputs if o.name not in coordinates]
        held = {
            d.name: float(self.targets[0, i]) for i, d in enumerate(self.mechanism.driven) if i >= self.count
        }
        values = model._table.values(parameters)
        return Sweep(
            k.system.name,
            drive.axes,
            tuple(asked),
            tuple(self.columns),
            np.column_stack(list(self.columns.values())),
            self.found,
            units=self.units,
            descriptions=self.abouts,
            landmarks=marks,
            held=held,
            coordinates=coordinates,
            shape=drive.shape,
            parameters=values,
            parameter_units=dict(zip(model._table.names, model._table.units, strict=True)),
        )


def second_name(of: str, by: str) -> str:
    """What the second derivative of an output is called."""
    return f"d²({of})/d({by})²"
