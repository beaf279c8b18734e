"""The modes of a linear model: δẋ = A δx has the solutions δx = Re(x̂ e^{λt})."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from armillary.algebra.arguments import count, from_zero, index, names_by_number, read_only, real
from armillary.analysis.modes import reports
from armillary.analysis.modes.eigensystem import ZERO, Eigensystem, eigensystem
from armillary.analysis.modes.reports import ROUNDING, eigenvalue_text, in_words
from armillary.analysis.modes.shapes import (
    BodyShapes,
    LinearPlace,
    body_shapes,
    by_coordinate,
    by_share,
    speeds_of_positions,
    state_participation,
)
from armillary.analysis.result_files import SavedResult
from armillary.errors import ArmillaryError, nearest
from armillary.model.units import state_factor
from armillary.program.linearization import Variable
from armillary.results import Run
from armillary.text_tables import aligned, counted, html_table
from armillary.untyped import DataTable

# One mode of a linear model: δx = Re(x̂ e^{λt}).


@dataclass(frozen=True, eq=False, repr=False)
class Mode:
    """One mode: ``shape`` has the complex amplitudes x̂ of the states by name, δx = Re(x̂ e^{λt}).

    The shape is scaled so that the coordinate with the largest participation has 1, in its own units and with
    phase zero. ``participation`` is by coordinate, with the sum 1. A mode with the eigenvalue zero is a
    displacement that nothing resists: its ``chain`` is 2 if a steady drift along it is free too, else 1. The
    ``chain`` of other modes is 0.
    """

    eigenvalue: complex
    name: str
    shape: Mapping[str, complex]
    participation: Mapping[str, float]
    units: Mapping[str, str]
    chain: int = 0

    @property
    def kind(self) -> str:
        """ "rigid", "oscillation", "decay" or "growth"."""
        if self.chain:
            return "rigid"
        if self.eigenvalue.imag:
            return "oscillation"
        return "decay" if self.eigenvalue.real < 0 else "growth"

    @property
    def omega(self) -> float:
        """Natural angular frequency |λ| in rad/s."""
        return abs(self.eigenvalue)

    @property
    def frequency(self) -> float:
        """Natural frequency |λ|/2π in Hz."""
        return self.omega / (2 * math.pi)

    @property
    def damped_omega(self) -> float:
        """Angular frequency of the motion, Im λ, in rad/s."""
        return float(self.eigenvalue.imag)

    @property
    def damped_frequency(self) -> float:
        """Frequency of the motion, Im λ/2π, in Hz."""
        return self.damped_omega / (2 * math.pi)

    @property
    def damping(self) -> float:
        """Damping ratio −Re λ/|λ|: 1 for a decay without oscillation, negative for a mode that grows."""
        ratio = -self.eigenvalue.real / self.omega if self.omega else 0.0
        return ratio if abs(ratio) > ROUNDING else 0.0

    @property
    def time_constant(self) -> float:
        """The time 1/|Re λ| in s in which the mode decays, or grows, by the factor e."""
        return 1.0 / abs(self.eigenvalue.real) if self.damping else math.inf

    @property
    def stable(self) -> bool:
        """Whether the mode does not grow with e^{Re λ t}; a free drift counts as stable."""
        return self.damping >= 0

    @property
    def label(self) -> str:
        """The mode's name, and the coordinates that make up most of the mode."""
        words = in_words(np.array([*self.participation.values()]), [*self.participation])
        return f"{self.name}: {words}" if self.name else words

    @property
    def summary(self) -> str:
        """The mode's natural frequency and damping ratio, or its time constant, in words."""
        if self.chain:
            return "free to move and to drift" if self.chain > 1 else "free to move"
        if self.kind == "oscillation":
            grows = "" if self.stable else ", grows"
            return f"{self.frequency:.4g} Hz, damping ratio {self.damping:.3g}{grows}"
        return f"{'decays' if self.stable else 'grows'}, time constant {self.time_constant:.4g} s"

    def __repr__(self) -> str:
        return f"Mode({self.kind}, {eigenvalue_text(self.eigenvalue, pair=True)} 1/s, {self.label})"


# A mode as a run of the coordinates, to be animated.

_AMPLITUDE = 0.15  # default amplitude of the leading coordinate, in rad or the model's unit of length
_CONSTANTS = 3.0  # duration of the motion of a mode without oscillation, in time constants


def mode_motion(
    system: str, label: str, place: LinearPlace, eigenvalue: complex, displacements: np.ndarray,
    leading: float, amplitude: float | None, periods: float, samples: int,
) -> Run:  # fmt: skip
    """Return a mode as a run about the operating point.

    ``displacements`` has the displacements of all coordinates in their stated units. In the model's units,
    the displacement of the leading coordinate, the one with the largest participation, is ``leading``.
    """
    equations = place.linearization.equations
    coordinates = equations.targets.coordinates
    factors = np.array([state_factor(q) for q in coordinates])
    base = place.state[: len(coordinates)] / factors
    size = _AMPLITUDE / leading if amplitude is None else amplitude
    if eigenvalue.imag:
        time = np.linspace(0.0, periods * 2 * np.pi / eigenvalue.imag, samples)
        course = np.exp(1j * eigenvalue.imag * time)
    elif eigenvalue.real:
        time = np.linspace(0.0, _CONSTANTS / abs(eigenvalue.real), samples)
        course = np.exp(eigenvalue.real * time - max(eigenvalue.real * time[-1], 0.0))
    else:
        time = np.linspace(0.0, periods, samples)
        course = np.sin(2 * np.pi * time)
    values = base + size * (course[:, None] * displacements).real
    for start in equations.targets.quaternions:
        four = values[:, start : start + 4]
        values[:, start : start + 4] = four / np.linalg.norm(four, axis=1, keepdims=True)
    return Run(
        system,
        time,
        values,
        tuple(q.data.name for q in coordinates),
        units={q.data.name: q.data.units or "" for q in coordinates},
        descriptions={q.data.name: q.data.about for q in coordinates},
        parameters={name: float(value) for name, value in place.parameters.items()},
        info={"mode": label},
        picture=place.linearization.picture,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Modes(SavedResult):
    """The modes of a linear model in ascending order of |λ|, from λ = 0 on; a complex pair is one mode.

    modes[0], modes["weave"]                      one ``Mode``
    modes.frequencies, modes.dampings             arrays over all modes
    modes.shapes                                  (modes, states), complex
    modes.participation                           (modes, coordinates)
    modes.bodies.kinetic, .potential              energies by body and by load
    """

    _kind, _of_process = "modes", ("place",)

    system: str
    eigenvalues: np.ndarray
    shapes: np.ndarray
    participation: np.ndarray
    states: tuple[str, ...]
    coordinates: tuple[str, ...]
    units: Mapping[str, str]
    chains: tuple[int, ...]
    names: tuple[str, ...] = ()
    place: LinearPlace | None = None
    known_bodies: BodyShapes | None = None

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def __iter__(self) -> Iterator[Mode]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: int | str) -> Mode:
        """Return a mode by its number, or by the name that ``named`` gave it."""
        i = self._index(key)
        return Mode(
            complex(self.eigenvalues[i]),
            self.names[i],
            {s: complex(x) for s, x in zip(self.states, self.shapes[i], strict=True)},
            {c: float(x) for c, x in zip(self.coordinates, self.participation[i], strict=True)},
            self.units,
            self.chains[i],
        )

    def _index(self, key: int | str) -> int:
        if isinstance(key, str):
            known = [name for name in self.names if name]
            if key not in known:
                hint = nearest(key, known) or "; name modes with modes.named({number: name})"
                raise ArmillaryError(f"no mode of '{self.system}' is called '{key}'{hint}")
            return self.names.index(key)
        return index(key, len(self), "mode")

    # ------------------------------------------------------------ numbers of all modes

    @property
    def frequencies(self) -> np.ndarray:
        """Natural frequencies |λ|/2π in Hz."""
        return np.array([m.frequency for m in self])

    @property
    def damped_frequencies(self) -> np.ndarray:
        """Frequencies of the motion, Im λ/2π, in Hz."""
        return np.array([m.damped_frequency for m in self])

    @property
    def dampings(self) -> np.ndarray:
        """Damping ratios."""
        return np.array([m.damping for m in self])

    @property
    def time_constants(self) -> np.ndarray:
        """Times 1/|Re λ| in s."""
        return np.array([m.time_constant for m in self])

    @property
    def labels(self) -> tuple[str, ...]:
        """A description of each mode, in words."""
        return tuple(m.label for m in self)

    @property
    def stable(self) -> bool:
        """Whether none of the modes grows."""
        return all(m.stable for m in self)

    @cached_property
    def bodies(self) -> BodyShapes:
        """Displacements of all coordinates and bodies, and energies, by mode."""
        if self.known_bodies is not None:
            return self.known_bodies
        if self.place is None:
            raise ArmillaryError(
                f"the modes of '{self.system}' come from a matrix alone and have no bodies; take them from "
                "model.linearize(…)"
            )
        return body_shapes(self.place, self.eigenvalues, self.shapes)

    def named(self, names: Mapping[int, str]) -> Modes:
        """Return the modes with names for some of them, by number: modes.named({3: "weave"})."""
        made = list(self.names)
        for i, name in names_by_number(names).items():
            made[self._index(i)] = str(name)
        return replace(self, names=tuple(made))

    def motion(
        self, mode: int | str, *, amplitude: float | None = None, periods: float = 1.0, samples: int = 101
    ) -> Run:
        """Return one mode as a run of all coordinates about the operating point, to be animated.

        The coordinate with the largest participation has the ``amplitude``, in its units; the default is 0.15
        rad or units of length. An oscillation keeps its amplitude; a mode that decays or grows is shown for
        three time constants.
        """
        if self.place is None:
            raise ArmillaryError(
                f"these modes of '{self.system}' have no operating point to move about: take them from "
                "model.linearize(…), not from a file or a reduced model"
            )
        i, states = self._index(mode), self.place.linearization.form.states
        lead = next(k for k, x in enumerate(self.shapes[i]) if abs(x - 1.0) < 1e-9)
        size = None if amplitude is None else real(amplitude, "amplitude=")
        moved = self.bodies.displacements[i]
        return mode_motion(
            self.system, self.labels[i], self.place, complex(self.eigenvalues[i]), moved, states[lead].factor,
            size, real(periods, "periods="), count(samples, "samples="),
        )  # fmt: skip

    view = reports.view
    animate = reports.animate

    # ------------------------------------------------------------ shown

    def __repr__(self) -> str:
        return f"Modes({self.system!r}: {counted(len(self), 'mode')} of {counted(len(self.states), 'state')})"

    def __str__(self) -> str:
        drifts = " except for free drifts" if any(m.chain > 1 for m in self) else ""
        head = f"Modes of '{self.system}', {'stable' + drifts if self.stable else 'not stable'}:"
        return "\n".join([head, *(f"  {line}" for line in aligned([_HEADER, *self._rows()], _SIDES))])

    def _repr_html_(self) -> str:
        return html_table(_HEADER, self._rows(), _SIDES, caption=repr(self))

    def _rows(self) -> list[list[str]]:
        rows = []
        for i, m in enumerate(self):
            if m.chain:
                drift = "and free drift" if m.chain > 1 else ""
                rows.append([str(i), "0", "", "", "", drift, m.label])
                continue
            damped = f"{m.damped_frequency:.5g}" if m.damped_omega else ""
            natural = f"{m.frequency:.5g}" if m.damped_omega else ""
            constant = f"{m.time_constant:.5g}" if m.damping else ""
            ratio = f"{m.damping:.4g}" if m.damped_omega else ""
            rows.append(
                [str(i), eigenvalue_text(m.eigenvalue, pair=True), natural, damped, ratio, constant, m.label]
            )
        return rows

    plot = reports.plot

    # ------------------------------------------------------------ files

    def _file_data(self) -> DataTable:
        found = super()._file_data()
        del found["known_bodies"]
        bodies = self.bodies if self.place is not None else self.known_bodies
        return found | {"bodies": None if bodies is None else bodies.as_dict()}

    @classmethod
    def _from_file(cls, data: DataTable) -> Self:
        bodies = data["bodies"]
        made = super()._from_file(data)
        known = None if bodies is None else BodyShapes.from_dict(bodies)
        str(known)
        return replace(made, known_bodies=known)


_HEADER = ["", "eigenvalue (1/s)", "frequency (Hz)", "damped (Hz)", "damping", "time constant (s)", "mode"]
_SIDES = ">>>>>><"


def modes_of(
    system: str,
    A: np.ndarray,
    variables: Sequence[Variable],
    place: LinearPlace | None = None,
    tolerance: float = ZERO,
) -> Modes:
    """Return the modes of a matrix whose states are these variables."""
    tolerance = from_zero(tolerance, "tolerance=", most=1)
    if A.ndim != 2:
        raise ArmillaryError(
            f"modes() is for one operating point, and '{system}' was linearised at {len(A)}; linearise it at "
            "one, or follow its modes from point to point with arm.root_locus"
        )
    if not np.all(np.isfinite(A)):
        bad = variables[int(np.flatnonzero(~np.all(np.isfinite(A), axis=1))[0])].name
        raise ArmillaryError(f"'{system}': the linearised rate of '{bad}' is not a finite number there")
    found = eigensystem(A, tolerance)
    p = state_participation(found)
    names = tuple(v.name for v in variables)
    partners = speeds_of_positions(A, names, [v.role for v in variables])
    places, shares = by_coordinate(p, partners)
    values = np.concatenate([np.zeros(len(found.chains)), found.values])
    return Modes(
        system,
        read_only(values.astype(complex)),
        read_only(_shapes(found, shares, places)),
        read_only(shares),
        names,
        tuple(names[k] for k in places),
        {v.name: v.units for v in variables},
        tuple([c.shape[1] for c in found.chains] + [0] * len(found.values)),
        ("",) * len(values),
        place,
    )


def _shapes(found: Eigensystem, shares: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Return the right eigenvectors, each divided by its element of the largest participation."""
    vectors = [*(c[:, 0] for c in found.chains), *found.right.T]
    shapes = np.zeros((len(vectors), len(found.right)), dtype=complex)
    for i, vector in enumerate(vectors):
        for k in by_share(shares[i]):
            if abs(lead := vector[places[k]]) > 1e-12 * np.max(np.abs(vector)):
                shapes[i] = vector / lead
                break
        else:
            shapes[i] = vector / vector[np.argmax(np.abs(vector))]
    return shapes
