"""An operating point: its values by name, what was fixed and found, what is left of each condition."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import place
from armillary.analysis.operating.json_files import point_content, read_point, write_json
from armillary.analysis.operating.stability import Stability
from armillary.analysis.result_files import refuse_damage
from armillary.columns import aligned, html_table, html_text, listed
from armillary.results.record import label_units
from armillary.results.run import PickledValue
from armillary.untyped import DataMapping

if TYPE_CHECKING:
    from armillary.analysis.operating.problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class OperatingPoint(PickledValue, Mapping[str, float]):
    """A state in which a model stays or moves steadily, and the inputs that hold it.

        op["A.q1"]                              coordinates, speeds and states by name, in stated units
        op.inputs["throttle"]                   inputs that were found
        print(op)                               what was fixed and found, and what is left of each condition
        model.simulate(10, initial=op, parameters=op.parameters)

    ``state`` is the state of the model as ``derivatives`` takes it; ``parameters`` are those that differ from
    their defaults, with the inputs that were found; ``rates`` has the rates of all states; ``stable`` is
    whether no eigenvalue on the independent states grows (None: the point is not steady).
    """

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
    wanted: Mapping[str, float]  # of the conditions, by name
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
        return self.initial[names[place(name, names, f"the operating point of '{self.system}' has no")]]

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
        """The largest of the residuals, in the units of its condition."""
        return max(map(abs, self.residuals.values()), default=0.0)

    @property
    def stable(self) -> bool | None:
        """Whether no eigenvalue grows; None where the point is not steady."""
        return None if self.stability is None else self.stability.stable

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues on the independent states, the largest real part first."""
        return np.zeros(0, dtype=complex) if self.stability is None else self.stability.eigenvalues

    @property
    def solutions(self) -> tuple[OperatingPoint, ...]:
        """All solutions that were found, this one first."""
        return (self, *self.others)

    def save(self, path: str | os.PathLike[str]) -> None:
        """The point as a JSON file, which `load_point` reads."""
        write_json(path, "an operating point", point_content(self))

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
        shown = [f"{n} = {_number(v)} {label_units(self.units[n])}".rstrip() for n, v in self.found.items()]
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
            rows.append([name, _number(value), label_units(self.units[name]), role])
        rows += [
            [name, _number(value), label_units(self.units[name]), "input found"]
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
    """The operating point in a file that `OperatingPoint.save` wrote; `Model.trace` needs it found again."""
    content = read_point(path)
    with refuse_damage(path, "an operating point"):
        roots = content.get("eigenvalues")
        stability = None
        if roots is not None:
            values = np.array(roots["real"], dtype=float) + 1j * np.array(roots["imaginary"], dtype=float)
            stability = Stability(values, content["growing"], content["neutral"], content["limit"])
        known = {f.name for f in fields(OperatingPoint)}
        own = {name: value for name, value in content.items() if name in known}
        state, notes = np.array(own["state"], dtype=float), tuple(map(str, own["notes"]))
        found = OperatingPoint(**own | {"state": state, "notes": notes, "stability": stability})
        found._repr_html_(), found.table
    return found


def _number(value: float) -> str:
    """A value in a table; what is left of a zero by rounding is a zero."""
    return f"{value if abs(value) > _ZERO else 0.0:.8g}"


_ZERO = 1e-14
_MOVES = 1e-9  # rate of a state that does not rest
_HEAD: Sequence[str] = ["", "value", "", ""]
_CONDITIONS: Sequence[str] = ["condition", "wanted", "residual", ""]
