"""An operating point: values by name, fixed or found, and residuals of the conditions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from armillary.algebra.arguments import index_of_name, real, text
from armillary.analysis.operating.conditions import CLOSED
from armillary.analysis.operating.curve import Stability, stability_of
from armillary.analysis.operating.newton import Root, outlook
from armillary.analysis.operating.problem import Problem
from armillary.analysis.result_files import SavedResult
from armillary.results.record import label_units
from armillary.runtime.models.instance import Instance
from armillary.text_tables import aligned, html_table, html_text, listed
from armillary.untyped import DataMapping, DataTable


@dataclass(frozen=True, eq=False, repr=False)
class OperatingPoint(SavedResult, Mapping[str, float]):
    """A state in which a model rests or moves steadily, and the inputs that hold it.

        op["A.q1"]                              coordinates, speeds and states by name, in stated units
        op.inputs["throttle"]                   inputs that were found
        print(op)                               fixed and found values, and the residual of each condition
        model.simulate(10, initial=op, parameters=op.parameters)

    ``state`` is the state of the model as ``derivatives`` takes it. ``parameters`` are the parameters that
    differ from their defaults, with the inputs that were found. ``rates`` has the rates of all states.
    ``stable`` is true if the linear model in the independent states has no growing eigenvalue, and `None` if
    the point is not steady.
    """

    _kind, _mark = "an operating point", "armillary_operating_point"
    _of_process = ("problem",)

    system: str
    time: float
    state: np.ndarray
    initial: Mapping[str, float]  # coordinates, speeds and states, as ``simulate`` takes them
    units: Mapping[str, str]
    roles: Mapping[str, str]  # "fixed", "found", "held" or "cyclic"
    inputs: Mapping[str, float]
    parameters: DataMapping
    memory: Mapping[str, float]
    outputs: Mapping[str, float]
    rates: Mapping[str, float]
    wanted: Mapping[str, float]  # values of the conditions by name
    residuals: Mapping[str, float]
    condition_units: Mapping[str, str]
    error: float  # the largest residual over the size of its condition
    steps: int  # of Newton's method
    stability: Stability | None
    notes: tuple[str, ...]
    others: tuple[OperatingPoint, ...] = ()  # further solutions, from other starts
    problem: Problem | None = field(default=None, repr=False)

    # ------------------------------------------------------------ values by name

    def __getitem__(self, name: str) -> float:
        names = tuple(self.initial)
        return self.initial[
            names[index_of_name(name, names, f"the operating point of '{self.system}' has no")]
        ]

    def __iter__(self) -> Iterator[str]:
        return iter(self.initial)

    def __len__(self) -> int:
        return len(self.initial)

    @property
    def found(self) -> dict[str, float]:
        """States and inputs that were found, in stated units."""
        return {name: value for name, value in self.initial.items() if self.roles[name] == "found"} | dict(
            self.inputs
        )

    @property
    def fixed(self) -> dict[str, float]:
        """States that were given, in stated units."""
        return {name: value for name, value in self.initial.items() if self.roles[name] == "fixed"}

    @property
    def cyclic(self) -> dict[str, float]:
        """Cyclic coordinates with their rates, in stated units per second."""
        return {name: self.rates[name] for name, role in self.roles.items() if role == "cyclic"}

    @property
    def residual(self) -> float:
        """The largest residual, in the units of its condition."""
        return max(map(abs, self.residuals.values()), default=0.0)

    @property
    def stable(self) -> bool | None:
        """Whether no eigenvalue grows; `None` if the point is not steady."""
        return None if self.stability is None else self.stability.stable

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of the linear model in the independent states, the largest real part first."""
        return np.zeros(0, dtype=complex) if self.stability is None else self.stability.eigenvalues

    @property
    def solutions(self) -> tuple[OperatingPoint, ...]:
        """All solutions that were found, this one first."""
        return (self, *self.others)

    def _file_data(self) -> DataTable:
        found = super()._file_data() | {"state": self.state.tolist()}
        del found["others"], found["stability"]
        if (own := self.stability) is not None:
            roots = {"real": own.eigenvalues.real.tolist(), "imaginary": own.eigenvalues.imag.tolist()}
            found |= {"eigenvalues": roots}
            found |= {name: getattr(own, name) for name in ("growing", "neutral", "limit")}
        return found

    @classmethod
    def _from_file(cls, data: DataTable) -> OperatingPoint:
        stability = None
        if (roots := data.get("eigenvalues")) is not None:
            values = np.array(roots["real"], dtype=float) + 1j * np.array(roots["imaginary"], dtype=float)
            stability = Stability(values, data["growing"], data["neutral"], data["limit"])
        for name in ("initial", "inputs", "memory", "outputs", "rates", "wanted", "residuals"):
            for key, value in data[name].items():
                real(value, f"{name} of '{key}'")
        dict(data["parameters"].items())
        text(data["system"], "the system")
        notes = tuple(map(str, data["notes"]))
        state = np.array(data["state"], dtype=float)
        return super()._from_file(data | {"state": state, "notes": notes, "stability": stability})

    # ------------------------------------------------------------ tables

    @property
    def table(self) -> str:
        """The fixed and found values, and the conditions with their residuals."""
        return "\n".join(
            [
                self._title,
                *(f"  {line}" for line in aligned([_HEAD, *self._rows], "<><<")),
                "",
                *(f"  {line}" for line in aligned([_CONDITIONS, *self._conditions], "<>><")),
                *(f"  note: {note}" for note in self.notes),
                *(f"  another solution: {other.summary}" for other in self.others),
            ]
        )

    @property
    def summary(self) -> str:
        """The values found, and the stability, in one line."""
        shown = [
            f"{n} = {_table_number(v)} {label_units(self.units[n])}".rstrip() for n, v in self.found.items()
        ]
        return f"{listed(shown)}; {'not steady' if self.stability is None else self.stability}"

    @property
    def _title(self) -> str:
        how = "not steady" if self.stability is None else str(self.stability)
        return f"Operating point of '{self.system}': {how}"

    @property
    def _rows(self) -> list[list[str]]:
        rows = []
        for name, value in self.initial.items():
            role = self.roles[name]
            if role == "cyclic" or abs(self.rates[name]) > _MOVES:
                role = f"{role}, rate {self.rates[name]:.6g}"
            rows.append([name, _table_number(value), label_units(self.units[name]), role])
        rows += [
            [name, _table_number(value), label_units(self.units[name]), "input found"]
            for name, value in self.inputs.items()
        ]
        return rows

    @property
    def _conditions(self) -> list[list[str]]:
        return [
            [name, f"{self.wanted[name]:.6g}", f"{left:.2g}", label_units(self.condition_units[name])]
            for name, left in self.residuals.items()
        ]

    def __repr__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html_text(note)}</p>" for note in self.notes)
        return (
            f"<p>{html_text(self._title)}</p>"
            + html_table(_HEAD, self._rows, "<><<")
            + html_table(_CONDITIONS, self._conditions, "<>><")
            + notes
        )


def load_point(path: str | os.PathLike[str]) -> OperatingPoint:
    """Return the operating point in a file that `OperatingPoint.save` wrote.

    `Model.trace` does not start from it; find the point again for that.
    """
    return OperatingPoint.load(path)


def _table_number(value: float) -> str:
    """Return a value as text for a table; a rounding error is shown as 0."""
    return f"{value if abs(value) > _ZERO else 0.0:.8g}"


_ZERO = 1e-14  # largest value that is shown as 0
_MOVES = 1e-9  # largest rate that is not shown
_HEAD: Sequence[str] = ["", "value", "", ""]
_CONDITIONS: Sequence[str] = ["condition", "wanted", "residual", ""]


# A solution of the conditions as an operating point: names, units, residuals, stability and notes.


class Held(NamedTuple):
    """Parameters and memories that hold a point, in stated units, and the outputs there."""

    parameters: DataTable
    memory: dict[str, float]
    outputs: np.ndarray


def held_instance(made: Problem, x: np.ndarray) -> tuple[Instance, np.ndarray]:
    """Return the model with the parameters at the point x = [state, inputs], and the memory there."""
    request, found = made.request, made.conditions
    parameters, stored = dict(request.parameters), request.memory.copy()
    memories = list(found.equations.system.memories)
    for name, value in zip(found.inputs, x[len(found.states) :].tolist(), strict=True):
        q = request.quantities[name]
        if q.kind == "parameter":
            parameters[name] = value / q.factor
        else:
            stored[memories.index(name)] = value
    return Instance(request.model, parameters), stored


def held_values(made: Problem, x: np.ndarray) -> Held:
    """Return the parameters and memories that hold the point x = [state, inputs], and the outputs."""
    request, found = made.request, made.conditions
    parameters, stored = dict(request.parameters), request.memory
    memory: dict[str, float] = {}
    memories = list(found.equations.system.memories)
    for c in found.equations.system.contacts.values():
        own = [s.data.name for s in (c.status, *c.direction)]
        memory |= {name: float(stored[memories.index(name)]) for name in own}
    for name, value in zip(found.inputs, x[len(found.states) :].tolist(), strict=True):
        q = request.quantities[name]
        if q.kind == "parameter":
            parameters[name] = value / q.factor
        else:
            memory[name] = value / q.factor
    instance, stored = held_instance(made, x)
    outputs = instance.outputs(request.t, x[: len(found.states)], stored)
    return Held(parameters, memory, outputs)


def operating_point(made: Problem, root: Root) -> OperatingPoint:
    """Return a solution as an operating point, with names, units, residuals and stability."""
    request, found, x = made.request, made.conditions, root.x
    c = made.values.values(x)
    C, open_ = outlook(replace(root.of, x=x))
    n, quantities = len(found.states), request.quantities
    unknown = {found.names[j] for j in made.unknown}
    roles = {name: "cyclic" if i in made.cyclic else "held" for i, name in enumerate(found.states)}
    roles |= dict.fromkeys(request.fixed, "fixed") | dict.fromkeys(unknown & set(roles), "found")
    factors = np.array([quantities[name].factor for name in found.names])
    shown = dict(zip(found.names, (x / factors).tolist(), strict=True))
    given = {found.states.index(name) for name, rate in request.rates.items() if rate is not None}
    rows = sorted({*made.rows.tolist(), *(given & set(made.constant.tolist()))})
    scales = np.array([found.row_units[i][0] for i in rows])
    labels = [found.labels[i] for i in rows]
    left = ((c[rows] - made.wanted[rows]) / scales + 0.0).tolist()
    want = (made.wanted[rows] / scales).tolist()
    held = held_values(made, x)
    return OperatingPoint(
        system=found.equations.system.name,
        time=request.t,
        state=x[:n].copy(),
        initial={name: shown[name] for name in found.states},
        units={name: q.units for name, q in quantities.items()},
        roles=roles,
        inputs={name: shown[name] for name in request.inputs},
        parameters=held.parameters,
        memory=held.memory,
        outputs=dict(zip(request.model.output_names, held.outputs.tolist(), strict=True)),
        rates=dict(zip(found.states, (c[:n] / factors[:n]).tolist(), strict=True)),
        wanted=dict(zip(labels, want, strict=True)),
        residuals=dict(zip(labels, left, strict=True)),
        condition_units={found.labels[i]: found.row_units[i][1] for i in rows},
        error=root.error,
        steps=root.steps,
        stability=stability_of(made.values, c, C, made.held),
        notes=_notes(made, open_, root),
        problem=made,
    )


def _notes(made: Problem, open_: np.ndarray, root: Root) -> tuple[str, ...]:
    """Return notes for the table: on undecided values, bounds, time, memories and contacts."""
    notes = []
    if made.undecided:
        notes.append(f"no condition decides {listed(made.undecided)}, held at the start")
    open_ones = tuple(name for name, share in zip(made.names, open_, strict=True) if share > 1e-3)
    if open_ones:
        notes.append(
            f"the conditions do not decide {listed(open_ones)} to first order: this is the solution nearest "
            "to the start"
        )
    for name, at_bound in zip(made.names, root.held, strict=True):
        if at_bound:
            notes.append(f"'{name}' is at its bound")
    if made.conditions.depends_on_time:
        notes.append(f"the conditions depend on time; they hold at t = {made.request.t:g} s")
    contacts = made.conditions.equations.system.contacts.values()
    of_contacts = {
        s.data.name
        for c in contacts
        for s in (c.status, c.last, c.opened, c.longest, c.size, *c.direction)
        if s is not None
    }
    memories = [name for name in made.conditions.memories if name not in of_contacts]
    if memories:
        notes.append(f"memories with their start values: {listed(memories)}")
    words = {1: "holds", 2: "slides", -2: "slides"}
    closed = [
        f"'{c.name}' {words[int(made.request.memory[c.status])]}"
        for c in made.conditions.contacts
        if made.request.memory[c.status] in CLOSED
    ]
    if closed:
        notes.append(f"contacts: {listed(closed)}")
    return tuple(notes)
