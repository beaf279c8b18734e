"""A model linearised at an operating point, or at many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.algebra.arguments import several
from armillary.analysis.linear.jacobians import Linearization, Matrices, linearization
from armillary.analysis.linear.points import OperatingPoints, operating_points
from armillary.columns import aligned, counted, html_table, html_text
from armillary.program.linearization.form import LinearForm, Variable
from armillary.results.units import label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.instance import Instance

if TYPE_CHECKING:
    from armillary.analysis.modes.modes import Modes

_SHOWN = 12  # states up to which a matrix is printed whole


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel:
    """A linear model of small changes about an operating point,

        δẋ = A δx + B δv          δy = C δx + D δv

    ``states``, ``inputs`` and ``outputs`` are the names of x, v and y; matrices are in their stated units
    (``units``). At many operating points matrices, ``state`` and ``time`` have a leading axis. ``state`` is
    the whole state of the model there, as ``model.derivatives`` takes it, and ``operating_point`` has its
    values by name, in stated units, for ``initial=``.
    """

    system: str
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    variables: tuple[tuple[Variable, ...], tuple[Variable, ...], tuple[Variable, ...]]
    time: Any = 0.0
    state: np.ndarray = field(default_factory=lambda: np.empty(0))
    memory: np.ndarray = field(default_factory=lambda: np.empty(0))
    parameters: Mapping[str, Any] = field(default_factory=dict)
    operating_point: Mapping[str, Any] = field(default_factory=dict)
    linearization: Linearization | None = None  # the compiled matrices that these are values of
    note: str = ""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return tuple(v.name for v in self.variables[0])

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(v.name for v in self.variables[1])

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(v.name for v in self.variables[2])

    @property
    def units(self) -> dict[str, str]:
        """Units of states, inputs and outputs by name."""
        return {v.name: v.units for group in self.variables for v in group}

    @property
    def many(self) -> bool:
        """Whether there are many operating points."""
        return self.A.ndim == 3

    def __len__(self) -> int:
        """The number of operating points."""
        return len(self.A) if self.many else 1

    # ------------------------------------------------------------ modes

    def modes(self, *, tolerance: float = 1e-9) -> Modes:
        """Eigenvalues with frequencies, dampings, shapes, participation and energies.

        Singular values of the balanced A below ``tolerance`` of the largest count as zero: as modes of free
        motion.
        """
        from armillary.analysis.modes.bodies import Place
        from armillary.analysis.modes.modes import modes_of

        place = None
        if self.linearization is not None and not self.many:
            place = Place(self.linearization, float(self.time), self.state, self.memory, self.parameters)
        return modes_of(self.system, self.A, self.variables[0], place, tolerance)

    # ------------------------------------------------------------ shown

    def __repr__(self) -> str:
        sizes = (
            counted(len(self.states), "state"),
            counted(len(self.inputs), "input"),
            counted(len(self.outputs), "output"),
        )
        at = f" at {len(self)} operating points" if self.many else ""
        return f"LinearModel({self.system!r}: {', '.join(sizes)}{at})"

    def __str__(self) -> str:
        if self.many or len(self.states) > _SHOWN:
            return repr(self)
        lines = [repr(self)]
        for title, header, rows in self._tables():
            lines += ["", title]
            lines += [f"  {line}" for line in aligned([header, *rows], "<" + ">" * (len(header) - 1))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = f"<p>{html_text(repr(self))}</p>"
        if self.many or len(self.states) > _SHOWN:
            return head
        parts = [
            html_table(header, rows, "<" + ">" * (len(header) - 1), caption=title)
            for title, header, rows in self._tables()
        ]
        return head + "".join(parts)

    def _tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Rates of the states and outputs, a row each, over states and inputs."""
        columns = [*self.variables[0], *self.variables[1]]
        found = []
        for title, rows, left, right in (
            ("rates of states", self.variables[0], self.A, self.B),
            ("outputs", self.variables[2], self.C, self.D),
        ):
            if not rows:
                continue
            values = np.hstack([left, right])
            labels = [f"{v.name}'" if rows is self.variables[0] else _labelled(v) for v in rows]
            body = [[label, *(f"{x:.5g}" for x in row)] for label, row in zip(labels, values, strict=True)]
            found.append((title, ["", *(_labelled(v) for v in columns)], body))
        return found


def _labelled(v: Variable) -> str:
    units = label_units(v.units)
    return f"{v.name} ({units})" if units else v.name


def linearize(
    model: CompiledModel,
    at: Any = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
) -> LinearModel:
    """The model linearised; see ``stages/model.py``, whose verb it is."""
    names = [
        tuple(map(str, several(group, what))) for group, what in ((inputs, "inputs="), (outputs, "outputs="))
    ]
    compiled = linearization(model, *names)
    points = operating_points(model, at, parameters)
    return at_points(model, compiled, points)


def at_points(model: CompiledModel, compiled: Linearization, points: OperatingPoints) -> LinearModel:
    """The linear model of compiled matrices at operating points."""
    found = compiled.rows(points.t, points.states, points.parameters, points.memory)
    form = compiled.form
    first = 0 if points.single else slice(None)
    A, B, C, D = (_frozen(m[first]) for m in _stated(form, found))
    parameters = {
        name: value if points.single or np.ndim(value) else float(value)
        for name, value in {**model.parameters, **points.parameters}.items()
        if value is not None
    }
    return LinearModel(
        model.equations.system.name,
        A,
        B,
        C,
        D,
        (form.states, form.inputs, form.outputs),
        time=points.t[first],
        state=_frozen(points.states[first]),
        memory=_frozen(points.memory[first]),
        parameters=MappingProxyType(parameters),
        operating_point=MappingProxyType(_values(model, points) if points.single else {}),
        linearization=compiled,
    )


def _stated(form: LinearForm, inside: Matrices) -> list[np.ndarray]:
    """Matrices in stated units: x = factor · x_stated."""
    x, v, y = (np.array([v.factor for v in group]) for group in (form.states, form.inputs, form.outputs))
    A, B, C, D = inside
    pairs = ((A, x, x), (B, x, v), (C, y, x), (D, y, v))
    return [m * right / left[:, None] for m, left, right in pairs]


def _frozen(values: np.ndarray) -> np.ndarray:
    found = np.array(values)
    found.setflags(write=False)
    return found


def _values(model: CompiledModel, points: OperatingPoints) -> dict[str, float]:
    """The operating point by name: coordinates, independent speeds and states, in stated units."""
    instance = Instance(model, points.parameters)
    out = instance.outputs(float(points.t[0]), points.states[0], points.memory[0])
    found = dict(zip(model.output_names, out.tolist(), strict=True))
    names = (*model.coordinate_names, *model.speed_names, *model.state_names)
    return {name: found[name] for name in names if name in found}
