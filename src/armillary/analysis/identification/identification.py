"""The result of an identification: base parameters and friction with their uncertainty, and bodies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from armillary.analysis.fitting.outcome import rounded_to_error
from armillary.analysis.identification.inertias import BodyInertia
from armillary.analysis.result_files import json_text, write_result
from armillary.columns import aligned, counted, html_table
from armillary.results.record import label_units


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """Inertial parameters and friction found from efforts.

        found.values["A.Jzz"], found.standard_errors["A.Jzz"]     and found.intervals["A.Jzz"], with 95 %
        found.bodies["A"]           mass, com and inertia of a body that is physically possible
        found.parameters            those of the description that stand for these, for simulate
        found.friction["A.u1"]      {"viscous": …, "coulomb": …}

    ``values`` are base parameters and friction of the possible bodies; ``unconstrained`` those of least
    squares alone, to which standard errors and intervals belong. ``sigma`` is the noise of each effort.
    """

    system: str
    names: tuple[str, ...]
    values: Mapping[str, float]
    unconstrained: Mapping[str, float]
    standard_errors: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    units: Mapping[str, str]
    described: Mapping[str, float]  # what the description has, NaN where it has no values
    covariance: np.ndarray
    friction: Mapping[str, Mapping[str, float]]
    bodies: Mapping[str, BodyInertia]
    parameters: Mapping[str, float]
    sigma: Mapping[str, float]
    residuals: np.ndarray  # efforts measured less those found, (rows, speeds)
    condition: float
    warnings: tuple[str, ...]

    def report(self) -> str:
        """Values with standard errors and 95 % intervals, bodies, noise, and warnings."""
        rows = self.residuals.shape[0]
        lines = [
            f"Identification of '{self.system}': {counted(rows, 'row')} of "
            f"{counted(len(self.sigma), 'effort')}, {counted(len(self.names), 'unknown')}, "
            f"condition number {self.condition:.3g}"
        ]
        head = ["", "value", "standard error", "95 % interval", "", "described", ""]
        lines += [f"  {line}" for line in aligned([head, *self._rows()], "<>>>>><")]
        if self.bodies:
            lines += ["", *(f"  {name}: {body!r}" for name, body in self.bodies.items())]
        noise = ", ".join(f"{name} {value:.3g}" for name, value in self.sigma.items())
        lines += ["", f"  noise of the efforts: {noise}"]
        return "\n".join([*lines, *(f"  warning: {note}" for note in self.warnings)])

    def _rows(self) -> list[list[str]]:
        rows = []
        for n in self.names:
            error = self.standard_errors[n]
            value, low, high = (rounded_to_error(x, error) for x in (self.values[n], *self.intervals[n]))
            known = self.described.get(n, float("nan"))
            shown = "" if np.isnan(known) else f"{known:.6g}"
            rows.append([n, value, f"{error:.3g}", low, high, shown, label_units(self.units[n])])
        return rows

    def save(self, path: str | os.PathLike[str]) -> None:
        """Values, standard errors, intervals, bodies and parameters as a JSON file."""
        data = {
            "system": self.system,
            "unknowns": {
                n: {
                    "value": self.values[n], "standard_error": _finite(self.standard_errors[n]),
                    "interval": [_finite(x) for x in self.intervals[n]], "units": self.units[n],
                }
                for n in self.names
            },
            "bodies": {
                name: {"mass": b.mass, "com": b.com.tolist(), "inertia": b.inertia.tolist()}
                for name, b in self.bodies.items()
            },
            "parameters": dict(self.parameters),
            "sigma": dict(self.sigma),
            "warnings": list(self.warnings),
        }  # fmt: skip
        write_result(path, "an identification", {".json": lambda: json_text(data) + "\n"})

    def __repr__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        head = ["", "value", "standard error", "95 % interval", "", "described", "units"]
        return html_table(head, self._rows(), "<>>>>><", caption=f"Identification of '{self.system}'")


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
