"""Eigenvalues over a parameter: root loci, with the values at which modes become stable or unstable, and
Campbell diagrams, with critical speeds.

A Campbell diagram shows the frequencies of a system over the spin Ω of a part. An unbalance excites with the
frequency Ω, a blade that passes k times in a turn excites with kΩ. The spin is critical if a frequency of the
system equals kΩ:

    Im λ(Ω) = k |Ω|

Frequencies refer to the coordinates of the model: they are frequencies of whirl in space if the coordinates
do not turn with the rotor.

Source: Genta (2005), "Dynamics of Rotating Systems", sections 1.5 and 2.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from armillary.algebra.arguments import index, names_by_number, real, several
from armillary.algebra.calculus import NumericValue
from armillary.analysis.modes.reports import eigenvalue_text, in_words, plot_campbell, plot_root_locus
from armillary.analysis.modes.shapes import body_functions, by_coordinate, speeds_of_positions
from armillary.analysis.modes.tracking import (
    NO_SIZE,
    STILL,
    OperatingSweep,
    Spectra,
    Tracker,
    branch_order,
    meetings,
    operating_sweep,
    radians_per_value,
    sorted_values,
    still,
)
from armillary.analysis.result_files import SavedResult
from armillary.errors import ArmillaryError, nearest
from armillary.runtime.models.compiled import ModelHolder
from armillary.text_tables import aligned, html_table
from armillary.untyped import DataTable

# Values of a parameter at which modes become stable or unstable.

_ONSET = 1e-6  # Re λ / |λ| above which an undamped mode has left the imaginary axis


class AxisCrossing(NamedTuple):
    """A value at which an eigenvalue crosses the imaginary axis."""

    value: float
    eigenvalue: complex  # iω: oscillation; 0: growth or decay without oscillation
    branch: int
    stabilises: bool  # whether the mode becomes stable as the value grows


def crossings_of(tracker: Tracker, found: Spectra) -> list[AxisCrossing]:
    """Return the values at which Re λ of a branch changes its sign, once per complex pair, and the values at
    which two undamped modes meet and leave the imaginary axis together.
    """
    real = found.eigenvalues.real
    growth = np.where(np.abs(real) <= still(found.eigenvalues), 0.0, real)
    crossings = []
    for branch in range(growth.shape[1]):
        signs = np.flatnonzero(growth[:, branch])
        for a, b in pairwise(signs.tolist()):
            if growth[a, branch] * growth[b, branch] < 0 and found.eigenvalues[b, branch].imag >= 0:
                value, eigenvalue = tracker.root(found, branch, a, b, lambda w, _: w.real)
                turning = abs(eigenvalue.imag) > STILL * max(map(abs, found.eigenvalues[[a, b], branch]))
                at = complex(0.0, eigenvalue.imag if turning else 0.0)
                crossings.append(AxisCrossing(value, at, branch, bool(growth[b, branch] < 0)))
    stable = np.all(growth <= 0, axis=1)
    for a, b in pairwise(range(len(stable))):
        calm, grown = (a, b) if stable[a] else (b, a)
        branch = int(np.argmax(growth[grown]))
        if stable[a] != stable[b] and growth[calm, branch] == 0:
            value, eigenvalue = _onset(tracker, found.values[calm], found.values[grown])
            crossings.append(AxisCrossing(value, complex(0.0, eigenvalue.imag), branch, calm == b))
    return sorted(crossings)


def _onset(tracker: Tracker, calm: float, grown: float) -> tuple[float, complex]:
    """Return the value at which growth begins, between ``calm`` and ``grown``, and the eigenvalue that grows.

    The method is bisection. The growth of undamped modes that have met is proportional to the square root of
    the distance to that value, so a growth of 1e-6 means a distance of about 1e-12.
    """
    eigenvalue = 0j
    while True:
        middle = 0.5 * (calm + grown)
        if middle in (calm, grown):
            return float(grown), eigenvalue
        w = tracker.at(middle, zeros=False).eigenvalues[0]
        fastest = w[np.argmax(w.real)]
        if fastest.real > _ONSET * abs(fastest) + NO_SIZE * np.max(np.abs(w)):
            grown, eigenvalue = middle, complex(fastest.real, abs(fastest.imag))
        else:
            calm = middle


def stable_ranges(tracker: Tracker, crossings: Sequence[AxisCrossing]) -> list[tuple[float, float]]:
    """Return the ranges between crossings in whose middle no mode grows; adjacent ranges are merged."""
    found: list[tuple[float, float]] = []
    ends = [float(tracker.values[0]), *(c.value for c in crossings), float(tracker.values[-1])]
    for low, high in pairwise(ends):
        if low == high:
            continue
        w = tracker.at(0.5 * (low + high)).eigenvalues[0]
        if np.all(w.real <= still(w)):
            joined = found and found[-1][1] == low
            found[-1:] = [(found[-1][0], high)] if joined else [*found[-1:], (low, high)]
    return found


@dataclass(frozen=True, eq=False, repr=False)
class RootLocus(SavedResult):
    """Eigenvalues over the values of a parameter; a column of ``eigenvalues`` follows one mode by its shape.

        locus.values, locus.eigenvalues               (points,), (points, branches), complex
        locus.crossings                               where Re λ changes its sign, to rounding
        locus.stable_ranges                           where no mode grows
        locus["weave"]                                one branch, named by locus.named({3: "weave"})

    A complex pair is one branch. Modes of free motion, with λ = 0 at all values, are left out.
    """

    _kind = "a root locus"

    system: str
    parameter: str
    units: str
    values: np.ndarray
    eigenvalues: np.ndarray
    participation: np.ndarray  # (branches, coordinates), at the middle value
    coordinates: tuple[str, ...]
    crossings: tuple[AxisCrossing, ...]
    stable_ranges: tuple[tuple[float, float], ...]  # (lowest, highest) value, where no mode grows
    names: tuple[str, ...]

    def __len__(self) -> int:
        """The number of branches."""
        found: int = self.eigenvalues.shape[1]
        return found

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: int | str) -> np.ndarray:
        """The eigenvalues of a branch, by number or name."""
        if isinstance(key, str):
            if key not in self.names:
                known = [name for name in self.names if name]
                hint = nearest(key, known) or "; name branches with locus.named({number: name})"
                raise ArmillaryError(f"no branch of '{self.system}' is called '{key}'{hint}")
            key = self.names.index(key)
        return np.asarray(self.eigenvalues[:, index(key, len(self), "branch")])

    @property
    def labels(self) -> tuple[str, ...]:
        """A description of each branch: its name, and the coordinates that make up most of it."""
        words = [in_words(shares, self.coordinates) for shares in self.participation]
        return tuple(f"{n}: {w}" if n else w for n, w in zip(self.names, words, strict=True))

    def named(self, names: Mapping[int, str]) -> RootLocus:
        """Return this root locus with names for some branches, by number."""
        made = list(self.names)
        for i, name in names_by_number(names).items():
            made[index(i, len(self), "branch")] = str(name)
        return replace(self, names=tuple(made))

    # ------------------------------------------------------------ shown

    def __repr__(self) -> str:
        span = f"{self.values[0]:g} to {self.values[-1]:g} {self.units}".strip()
        return f"RootLocus({self.system!r}: {len(self)} branches over {self.parameter} from {span})"

    def __str__(self) -> str:
        lines = [f"Root locus of '{self.system}' over {self._axis}:"]
        lines += [f"  {line}" for line in aligned([self._header, *self._rows()], ">>><")]
        if self.crossings:
            lines += ["", f"{_TITLE}:"]
            lines += [f"  {line}" for line in aligned([_CROSSED, *self._crossing_rows()], "><><")]
        ranges = ", ".join(f"{a:.6g} to {b:.6g}" for a, b in self.stable_ranges)
        lines += ["", f"Stable: {ranges}" if ranges else "Stable nowhere"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first = html_table(self._header, self._rows(), ">>><", caption=repr(self))
        return first + html_table(
            _CROSSED, self._crossing_rows(), "><><", caption="Crossings of the imaginary axis"
        )

    @property
    def _axis(self) -> str:
        return f"{self.parameter} ({self.units})" if self.units else self.parameter

    @property
    def _header(self) -> list[str]:
        return ["", *(f"λ at {v:g} (1/s)" for v in (self.values[0], self.values[-1])), "branch"]

    def _rows(self) -> list[list[str]]:
        first, last = (list(map(eigenvalue_text, self.eigenvalues[k])) for k in (0, -1))
        return [[str(i), first[i], last[i], self.labels[i]] for i in range(len(self))]

    def _crossing_rows(self) -> list[list[str]]:
        rows = []
        for c in self.crossings:
            kind = f"{c.eigenvalue.imag:.6g} rad/s" if c.eigenvalue.imag else "without oscillation"
            does = "becomes stable" if c.stabilises else "becomes unstable"
            rows.append([f"{c.value:.10g}", does, kind, self.labels[c.branch]])
        return rows

    plot = plot_root_locus

    def _file_data(self) -> DataTable:
        columns = zip(*self.crossings, strict=True) if self.crossings else [()] * 4
        values, eigenvalues, branches, stabilises = columns
        crossings = {
            "values": np.array(values), "eigenvalues": np.array(eigenvalues, dtype=complex),
            "branches": branches, "stabilises": stabilises,
        }  # fmt: skip
        return super()._file_data() | {"crossings": crossings}

    @classmethod
    def _from_file(cls, data: DataTable) -> Self:
        columns = (x.tolist() if isinstance(x, np.ndarray) else x for x in data["crossings"].values())
        crossings = tuple(AxisCrossing(*row) for row in zip(*columns, strict=True))
        ranges = tuple((low, high) for low, high in data["stable_ranges"])
        return super()._from_file(data | {"crossings": crossings, "stable_ranges": ranges})


_TITLE = "Crossings of the imaginary axis"
_CROSSED = ["value", "", "oscillation", "branch"]


def root_locus(
    model: ModelHolder,
    parameter: str,
    values: object,
    *,
    at: object = None,
    trim: object = None,
    parameters: Mapping[str, object] | None = None,
) -> RootLocus:
    """Return the eigenvalues of a model over the values of a parameter, each mode followed by its shape.

    ``parameter`` is a parameter, an input, a coordinate or a speed of the operating point ``at``, which is
    given as for ``linearize``; or ``at`` is a function that returns the operating point for a value. If
    ``trim`` has arguments of ``model.trim``, each operating point is found by a trim to which the value is
    given in ``fixed``, ``memory`` or ``parameters``. Values at which a mode becomes stable or unstable are
    exact to rounding.
    """
    asked = operating_sweep(model, parameter, at, trim, parameters)
    tracker = Tracker(asked.matrices, sorted_values(values))
    found = tracker.follow()
    size = np.max(np.abs(found.eigenvalues), axis=1, keepdims=True)
    moving = np.flatnonzero(np.any(np.abs(found.eigenvalues) > NO_SIZE * size, axis=0))
    moving = _once(found.eigenvalues, moving)
    moving = moving[branch_order(found.eigenvalues[:, moving])]
    branches = Spectra(found.values, found.eigenvalues[:, moving], found.vectors[:, :, moving])
    shares, coordinates = _participation(asked, tracker, branches)
    crossings = tuple(crossings_of(tracker, branches))
    return RootLocus(
        asked.model.equations.system.name, parameter, asked.units, found.values, branches.eigenvalues, shares,
        coordinates, crossings, tuple(stable_ranges(tracker, crossings)), ("",) * len(moving),
    )  # fmt: skip


def _once(eigenvalues: np.ndarray, branches: np.ndarray) -> np.ndarray:
    """Return the branches without conjugates of other branches."""
    kept = []
    for i in branches:
        w = eigenvalues[:, i]
        column = w[:, None]
        apart = eigenvalues[:, branches].conj() - column
        mirrored = np.abs(apart) <= STILL * np.abs(column)
        if np.any(w.imag > 0) or not np.any(w.imag < 0) or not np.any(np.all(mirrored, axis=0)):
            kept.append(i)
    return np.array(kept, dtype=int)


def _participation(
    sweep: OperatingSweep, tracker: Tracker, found: Spectra
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the participation of the coordinates in each branch, and their names, at the middle value, or at
    a value near it if eigenvalues meet there.
    """
    apart = np.flatnonzero(~meetings(found.eigenvalues))
    middle = int(apart[len(apart) // 2])
    A = tracker.matrix(middle)
    w, right = np.linalg.eig(A)
    left = np.linalg.pinv(right).conj().T
    states = [sweep.states[k] for k in tracker.others]
    partners = speeds_of_positions(A, [v.name for v in states], [v.role for v in states])
    places = [int(np.argmin(np.abs(w - value))) for value in found.eigenvalues[middle]]
    weights = np.abs(left.conj() * right).T[places]
    chosen, shares = by_coordinate(weights / np.sum(weights, axis=1, keepdims=True), partners)
    return shares, tuple(states[k].name for k in chosen)


# Whirl: the direction in which bodies move on their orbits in a mode, with the spin of a part (forward) or
# against it (backward).
#
# A body at Re(d e^{iωt}) sweeps the area ½ Im(d × d*) per radian of ωt; the component of this vector along
# the axis of the spin is positive for forward whirl.

_PLANE = 1e-6  # motions with a smaller area over the squared amplitude have no whirl


def whirl_directions(sweep: OperatingSweep, tracker: Tracker, found: Spectra) -> np.ndarray:
    """Return an array (points, branches): 1 for whirl with the spin, −1 against it, 0 for neither.

    The axis is the rotation axis of the fastest body at the value at which it turns fastest.
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


_STILL = 1e-9  # imaginary parts below this share of the largest eigenvalue count as zero
WHIRLS = {1: "forward", -1: "backward", 0: ""}


class CriticalSpeed(NamedTuple):
    """A spin at which the frequency of a mode is the spin times an order."""

    spin: float  # in the units of the spin
    omega: float  # rad/s
    order: float
    branch: int


@dataclass(frozen=True, eq=False, repr=False)
class Campbell(SavedResult):
    """Frequencies over the spin of a part: a column of ``eigenvalues`` follows one oscillation by its shape.

    diagram.values, diagram.frequencies      spins, and (spins, branches) in Hz
    diagram.critical_speeds                  where a frequency is an order times the spin, to rounding
    diagram.whirl                            (spins, branches): 1 forward, −1 backward, 0 neither
    """

    _kind = "a Campbell diagram"

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

    plot = plot_campbell

    @classmethod
    def _from_file(cls, data: DataTable) -> Self:
        speeds = tuple(CriticalSpeed(*row) for row in data["critical_speeds"])
        return super()._from_file(data | {"critical_speeds": speeds})


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
    """Return the frequencies of a model over the spin of a part, and its critical speeds.

    ``spin`` is the name of a speed, as in ``"rotor.u1"``, or of a parameter that sets a speed; ``orders`` are
    the multiples of the spin with which the rotor excites the system. ``at``, ``trim`` and ``parameters`` are
    as for ``root_locus``.
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
    """Return Im λ − k |Ω| in rad/s."""
    return eigenvalue.imag - excited * np.abs(spin)
