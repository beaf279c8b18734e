"""Frequencies of a system over the spin of a part, and the speeds at which they meet the spin's multiples.

An unbalance excites with the spin Ω, a blade that passes k times in a turn with kΩ. Where a frequency of the
system equals kΩ, the spin is critical:

    Im λ(Ω) = k Ω

Frequencies refer to the coordinates of the model: they are frequencies of whirl in space if the coordinates
do not turn with the rotor.

Source: Genta (2005), "Dynamics of Rotating Systems", sections 1.5 and 2.4.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from armillary.algebra.arguments import real, several
from armillary.algebra.calculus import NumericValue
from armillary.analysis.modes.files import read_modal_file, write_modal_file
from armillary.analysis.modes.shapes import body_functions
from armillary.analysis.modes.tracking import (
    OperatingSweep,
    Spectra,
    Tracker,
    branch_order,
    operating_sweep,
    radians_per_value,
    sorted_values,
)
from armillary.analysis.result_files import refuse_damage
from armillary.columns import aligned, html_table
from armillary.errors import ArmillaryError
from armillary.runtime.models.compiled import ModelHolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# The sense in which bodies run round their orbits in a mode: with the spin of a part, or against it.
#
# A body at Re(d e^{iωt}) sweeps the area ½ Im(d × d*) per radian of ωt; along the axis of the spin it is
# positive for forward whirl.

_PLANE = 1e-6  # area beside the square of the amplitude, below which a motion has no sense


def whirl_directions(sweep: OperatingSweep, tracker: Tracker, found: Spectra) -> np.ndarray:
    """(points, branches): 1 for whirl with the spin, −1 against it, 0 for neither.

    The axis is that about which the fastest body turns where the spin is largest.
    """
    points = sweep.points(found.values)
    place = (points.t, points.states, points.parameters, points.memory)
    factors = np.array([v.factor for v in sweep.states])[tracker.others]
    x = tracker.vectors_of_states(found) * factors[:, None]
    y = sweep.compiled.basis(*place)[:, :, tracker.others] @ x
    motions = body_functions(sweep.compiled).motions(*place, np.swapaxes(y, 1, 2))
    spins = motions.spins
    turning = np.linalg.norm(spins, axis=2)
    if not turning.any():
        return np.zeros(found.eigenvalues.shape, dtype=int)
    k, b = np.unravel_index(int(np.argmax(turning)), turning.shape)
    axis = spins[k, b] / turning[k, b]
    sense = np.where(np.max(spins @ axis, axis=1) >= -np.min(spins @ axis, axis=1), 1.0, -1.0)[:, None]
    areas, sizes = np.zeros(found.eigenvalues.shape), np.zeros(found.eigenvalues.shape)
    for d in (motions.translations, motions.rotations):
        areas += np.einsum("c,pmbc->pm", axis, np.imag(np.cross(d, d.conj())))
        sizes += np.sum(np.abs(d) ** 2, axis=(2, 3))
    return np.where(np.abs(areas) > _PLANE * sizes, np.sign(sense * areas), 0).astype(int)


_STILL = 1e-9  # imaginary parts below this part of the largest eigenvalue are none
WHIRLS = {1: "forward", -1: "backward", 0: ""}


class CriticalSpeed(NamedTuple):
    """A spin at which the frequency of a mode is a multiple of it."""

    spin: float  # in the units of the spin
    omega: float  # rad/s
    order: float
    branch: int


@dataclass(frozen=True, eq=False, repr=False)
class Campbell:
    """Frequencies over the spin of a part: a column of ``eigenvalues`` follows one oscillation by its shape.

    diagram.values, diagram.frequencies      spins, and (spins, branches) in Hz
    diagram.critical_speeds                  where a frequency is an order of the spin, refined
    diagram.whirl                            (spins, branches): 1 forward, −1 backward, 0 neither
    """

    system: str
    spin: str
    units: str
    values: np.ndarray
    eigenvalues: np.ndarray
    whirl: np.ndarray
    orders: tuple[float, ...]
    radians: float  # rad/s in a unit of the spin
    critical_speeds: tuple[CriticalSpeed, ...]

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies of the motion in Hz, (spins, branches)."""
        return self.eigenvalues.imag / (2 * math.pi)

    @property
    def dampings(self) -> np.ndarray:
        """Damping ratios −Re λ/|λ|, (spins, branches)."""
        size = np.abs(self.eigenvalues)
        found: np.ndarray = np.divide(-self.eigenvalues.real, size, out=np.zeros_like(size), where=size > 0)
        return found

    def __repr__(self) -> str:
        span = f"{self.values[0]:g} to {self.values[-1]:g} {self.units}".strip()
        count = len(self.critical_speeds)
        return f"Campbell({self.system!r}: {self.spin} from {span}, {count} critical speeds)"

    def __str__(self) -> str:
        axis = f"{self.spin} ({self.units})" if self.units else self.spin
        lines = [f"Campbell diagram of '{self.system}' over {axis}:"]
        lines += [f"  {line}" for line in aligned([self._header, *self._rows()], ">>><")]
        if self.critical_speeds:
            lines += ["", "Critical speeds:"]
            lines += [f"  {line}" for line in aligned([self._critical, *self._critical_rows()], ">>>><")]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first = html_table(self._header, self._rows(), ">>><", caption=repr(self))
        return first + html_table(self._critical, self._critical_rows(), ">>>><", caption="Critical speeds")

    @property
    def _header(self) -> list[str]:
        return ["", *(f"Hz at {v:g}" for v in (self.values[0], self.values[-1])), "whirl"]

    def _rows(self) -> list[list[str]]:
        f = self.frequencies
        return [
            [str(i), f"{f[0, i]:.5g}", f"{f[-1, i]:.5g}", WHIRLS[int(self.whirl[-1, i])]]
            for i in range(f.shape[1])
        ]

    @property
    def _critical(self) -> list[str]:
        return [f"spin ({self.units})" if self.units else "spin", "rad/s", "order", "branch", "whirl"]

    def _critical_rows(self) -> list[list[str]]:
        return [
            [f"{c.spin:.8g}", f"{c.omega:.8g}", f"{c.order:g}", str(c.branch), WHIRLS[self._whirl_at(c)]]
            for c in self.critical_speeds
        ]

    def _whirl_at(self, c: CriticalSpeed) -> int:
        return int(self.whirl[int(np.argmin(np.abs(self.values - c.spin))), c.branch])

    def plot(self, *, path: str | os.PathLike[str] | None = None, show: bool = False) -> Figure:
        """Frequencies over the spin, lines for its orders, and marks at critical speeds."""
        from armillary.analysis.modes.plots import campbell_plot

        return campbell_plot(self, path, show)

    def save(self, path: str | os.PathLike[str]) -> None:
        """A .json file with all numbers, or a report, .txt or .html; ``Campbell.load`` reads it."""
        write_modal_file(path, "Campbell diagram", {
            "system": self.system, "spin": self.spin, "units": self.units, "values": self.values,
            "eigenvalues": self.eigenvalues, "whirl": self.whirl, "orders": self.orders,
            "radians": self.radians, "critical_speeds": [list(c) for c in self.critical_speeds],
        }, self)  # fmt: skip

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The diagram in a file that ``save`` has written."""
        with refuse_damage(path, "a file of a Campbell diagram"):
            data = read_modal_file(path, "Campbell diagram")
            data["orders"] = tuple(data["orders"])
            data["critical_speeds"] = tuple(CriticalSpeed(*row) for row in data["critical_speeds"])
            found = cls(**data)
            str(found), repr(found)
        return found


def campbell(
    model: ModelHolder,
    spin: str,
    values: object,
    *,
    orders: Sequence[float] = (1,),
    at: object = None,
    trim: object = None,
    parameters: Mapping[str, object] | None = None,
) -> Campbell:
    """Frequencies of a model over the spin of a part, and its critical speeds.

    ``spin`` is the name of a speed, as in ``"rotor.u1"``, or of a parameter that is one; ``orders`` are the
    multiples of the spin that excite. ``at``, ``trim`` and ``parameters`` are as for ``root_locus``.
    """
    multiples = tuple(real(k, "an order") for k in several(orders, "orders="))
    asked = operating_sweep(model, spin, at, trim, parameters)
    tracker = Tracker(asked.matrices, sorted_values(values))
    found = tracker.follow()
    size = np.max(np.abs(found.eigenvalues), axis=1, keepdims=True)
    turns = np.max(found.eigenvalues.imag / size, axis=0) > _STILL
    chosen = np.flatnonzero(turns & (np.sum(found.eigenvalues.imag, axis=0) > 0))
    if not chosen.size:
        raise ArmillaryError(
            f"'{asked.model.equations.system.name}' has no oscillation over these values of '{spin}'"
        )
    chosen = chosen[branch_order(1j * found.eigenvalues[:, chosen].imag)]
    branches = Spectra(found.values, found.eigenvalues[:, chosen], found.vectors[:, :, chosen])
    radians = radians_per_value(asked)
    return Campbell(
        asked.model.equations.system.name, spin, asked.units, found.values, branches.eigenvalues,
        whirl_directions(asked, tracker, branches), multiples, radians,
        tuple(_critical_speeds(tracker, branches, multiples, radians)),
    )  # fmt: skip


def _critical_speeds(
    tracker: Tracker, found: Spectra, orders: Sequence[float], radians: float
) -> list[CriticalSpeed]:
    speeds = []
    for branch in range(found.eigenvalues.shape[1]):
        for order in orders:
            gap = partial(_gap, excited=order * radians)
            gaps = gap(found.eigenvalues[:, branch], found.values)
            for a, b in pairwise(np.flatnonzero(gaps).tolist()):
                if gaps[a] * gaps[b] < 0:
                    value, w = tracker.root(found, branch, a, b, gap)
                    speeds.append(CriticalSpeed(value, w.imag, order, branch))
    return sorted(speeds)


def _gap(eigenvalue: NumericValue, spin: NumericValue, excited: float) -> NumericValue:
    """Im λ − k Ω in rad/s."""
    return eigenvalue.imag - excited * np.abs(spin)
