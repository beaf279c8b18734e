"""The shapes of modes as motion of coordinates and bodies, and their energies by body and by load."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from armillary.analysis.modes.shapes.bodies import LinearPlace, body_functions
from armillary.analysis.modes.shapes.participation import by_share
from armillary.columns import aligned, html_table
from armillary.model.units import state_factor
from armillary.untyped import DataTable

_SHOWN = 0.005  # shares below this are not listed


@dataclass(frozen=True, eq=False, repr=False)
class BodyShapes:
    """Motion of coordinates, bodies and loads in modes; the first axis of each array is that of the modes.

    ``displacements`` are of all coordinates in their stated units, dependent ones too. ``translations`` are
    of the mass centres in the ground's axes, in the model's unit of length, ``rotations`` about these axes in
    rad. ``kinetic`` has the share of each body in the kinetic energy of a mode over a cycle, with the sum 1;
    ``potential`` that of each load, weight or elasticity in what is stored, ``dissipation`` in what is
    dissipated. Where these are of both signs their magnitudes have the sum 1, and a negative one drives the
    mode.
    """

    coordinates: tuple[str, ...]
    displacements: np.ndarray
    bodies: tuple[str, ...]
    translations: np.ndarray
    rotations: np.ndarray
    kinetic: np.ndarray
    loads: tuple[str, ...]
    potential: np.ndarray
    dissipation: np.ndarray

    def __str__(self) -> str:
        return "\n".join(aligned([_HEADER, *self._rows()], ">"))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(_HEADER, self._rows(), ">")

    def _rows(self) -> list[list[str]]:
        groups = ((self.bodies, self.kinetic), (self.loads, self.potential), (self.loads, self.dissipation))
        return [[str(i), *(_shares(names, x[i]) for names, x in groups)] for i in range(len(self.kinetic))]

    def as_dict(self) -> DataTable:
        """All fields, for files."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: DataTable) -> BodyShapes:
        """From the fields of a file."""
        texts = ("coordinates", "bodies", "loads")
        given: DataTable = {name: tuple(x) if name in texts else x for name, x in data.items()}
        return cls(**given)


_HEADER = ["mode", "kinetic energy", "potential energy", "dissipation"]


def _shares(names: tuple[str, ...], shares: np.ndarray) -> str:
    order = by_share(np.abs(shares))
    return ", ".join(f"{100 * shares[k]:.0f} % {names[k]}" for k in order[:3] if abs(shares[k]) > _SHOWN)


def body_shapes(place: LinearPlace, eigenvalues: np.ndarray, shapes: np.ndarray) -> BodyShapes:
    """Those of modes with these eigenvalues and shapes (modes, states), in stated units."""
    linearization = place.linearization
    equations, form = linearization.equations, linearization.form
    functions = body_functions(linearization)
    basis = linearization.basis(place.t, place.state[None, :], place.parameters, place.memory)[0]
    y = (shapes * np.array([v.factor for v in form.states])) @ basis.T
    bodies = functions.at(place, y)
    coordinates = equations.targets.coordinates
    moved, rest = y.copy(), y.copy()
    moved[:, len(coordinates) :] = 0
    rest[:, : len(coordinates)] = 0
    u = bodies.speeds[:, functions.free]
    with np.errstate(divide="ignore", invalid="ignore"):
        column = eigenvalues[:, None]
        pi = np.where(column == 0, 0.0, u / column)
    energy = np.real(np.conj(bodies.velocities) * bodies.momenta)
    starts = np.cumsum([0, *functions.sizes])[:-1]
    return BodyShapes(
        tuple(q.data.name for q in coordinates),
        y[:, : len(coordinates)] / np.array([state_factor(q) for q in coordinates]),
        tuple(b.name for b in functions.bodies),
        bodies.translations,
        bodies.rotations,
        _normalised(np.add.reduceat(energy, starts, axis=1) if len(starts) else energy),
        functions.load_names,
        _normalised(-functions.works(place, pi, moved)),
        _normalised(-functions.works(place, u, rest)),
    )


def _normalised(values: np.ndarray) -> np.ndarray:
    """Shares of each row, whose magnitudes have the sum 1; zeros where there is nothing but rounding."""
    total = np.sum(np.abs(values), axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, values / total, 0.0)
