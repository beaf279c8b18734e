"""The columns of a sweep, computed from the positions of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from armillary.analysis.kinematics.drives import TIME, Drive
from armillary.analysis.kinematics.landmarks import Landmark
from armillary.analysis.kinematics.mechanism.mechanism import Mechanism
from armillary.analysis.kinematics.mechanism.motion import PathMotion
from armillary.analysis.kinematics.reactions import reactions_at_rest
from armillary.analysis.kinematics.result import Sweep
from armillary.program.derivatives.sensitivities import derivative_name, quotient
from armillary.runtime.models.compiled import CompiledModel

Result = TypeVar("Result", bound=Sweep)


class SweepColumns:
    """The columns of a sweep under construction."""

    def __init__(self, mechanism: Mechanism, drive: Drive, motion: PathMotion, found: np.ndarray) -> None:
        self.mechanism, self.drive, self.motion, self.found = mechanism, drive, motion, found
        k = mechanism.kinematics
        self.count = len(drive.names)
        held = motion.positions[:, mechanism.state + self.count : mechanism.state + len(mechanism.driven)]
        balance = np.zeros((len(drive), mechanism.followed - len(mechanism.driven)))
        self.targets = np.column_stack([drive.values, held, balance])
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

    def add_reactions(
        self, model: CompiledModel, names: Sequence[str], parameters: Mapping[str, object] | None
    ) -> None:
        """Reactions of bodies and constraints, where the positions were found."""
        m = self.mechanism
        q = self.motion.positions[self.found, : len(m.kinematics.equations.targets.coordinates)]
        run = reactions_at_rest(model, m, q, self.drive.times[self.found], names, parameters)
        for name in run.names:
            if name.startswith("effort("):  # a column of its own
                continue
            values = np.full(len(self.found), np.nan)
            values[self.found] = run[name]
            self._add(name, values, run.units[name], run.descriptions[name])

    def add_rates(self, speeds: np.ndarray, accelerations: np.ndarray) -> None:
        """Outputs at speeds and accelerations of what is driven, with their first and second rates."""
        m, more = self.mechanism, np.zeros((len(self.drive), self.mechanism.followed - self.count))
        u = self.motion.speeds(np.column_stack([speeds, more]), 1.0)
        a = self.motion.accelerations(u, np.column_stack([accelerations, more]), 1.0)
        values, rates = self.motion.moving(u, a, 1.0)
        self.add_outputs(values)
        for i, o in enumerate(m.outputs):
            self._add(f"d({o.name})/dt", rates[:, i], quotient(o.units, "s"), f"rate of {o.name}")
            if i in m.twice:
                second = rates[:, len(m.outputs) + m.twice.index(i)]
                self._add(f"d²({o.name})/dt²", second, quotient(o.units, "s^2"), f"second rate of {o.name}")

    def derivatives(self, motion: PathMotion) -> np.ndarray:
        """Derivatives of all outputs of positions by each driven quantity at all rows; those of outputs of
        speeds are NaN.
        """
        m = self.mechanism
        found = np.full((len(motion.positions), len(m.outputs), self.count), np.nan)
        for d in range(self.count):
            rates = np.zeros((len(motion.positions), m.followed))
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
        rates = np.zeros((len(self.drive), m.followed))
        rates[:, 0] = 1.0
        u = self.motion.speeds(rates, 0.0)
        a = self.motion.accelerations(u, np.zeros_like(rates), 0.0)
        _, shown = self.motion.moving(u, a, 0.0)
        by = self.drive.names[0]
        for at, i in enumerate(m.twice):
            o = m.outputs[i]
            units = quotient(o.units, _squared(k.quantities[by].units))
            values = shown[:, len(m.outputs) + at]
            self._add(second_name(o.name, by), values, units, f"second derivative of {o.name} by {by}")

    def result(
        self,
        model: CompiledModel,
        parameters: Mapping[str, object] | None,
        marks: tuple[Landmark, ...],
        kind: type[Result],
    ) -> Result:
        """The finished value."""
        k, drive = self.mechanism.kinematics, self.drive
        coordinates = tuple(n for n in k.coordinates if n in self.columns)
        asked = [o.name for o in self.mechanism.outputs if o.name not in coordinates]
        still = self.mechanism.driven[self.count :] if len(drive) else ()
        held = {d.name: float(self.targets[0, i]) for i, d in enumerate(still, self.count)}
        last = [n for n in coordinates if n not in drive.axes]
        names = [n for n in self.columns if n not in last] + last
        values = model.parameter_table.values(parameters)
        return kind(
            k.system.name,
            drive.axes,
            tuple(asked),
            tuple(names),
            np.column_stack([self.columns[n] for n in names]),
            self.found,
            units=self.units,
            descriptions=self.abouts,
            landmarks=marks,
            held=held,
            coordinates=coordinates,
            shape=drive.shape,
            parameters=values,
            parameter_units=dict(zip(model.parameter_table.names, model.parameter_table.units, strict=True)),
        )


def second_name(of: str, by: str) -> str:
    """The name of the second derivative of an output."""
    return f"d²({of})/d({by})²"


def _squared(units: str) -> str:
    """Units of the square of something."""
    if units.strip() in ("", "1", "-"):
        return ""
    return f"{units}^2" if units.isalpha() else f"({units})^2"
