"""A branch of operating points along a parameter: its table, changes of stability, and figure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.algebra import arguments
from armillary.algebra.arguments import count, instance, text
from armillary.analysis.operating.conditions import conditions
from armillary.analysis.operating.contacts import Fault, faults_at, within_contacts
from armillary.analysis.operating.curve import BranchCurve, CurvePlace, Stability, follow, stability_of
from armillary.analysis.operating.newton import Root, RootProblem, newton
from armillary.analysis.operating.point import OperatingPoint, held_values, operating_point
from armillary.analysis.operating.problem import ModelNames, Problem, Quantity, with_named_speeds
from armillary.analysis.result_files import SavedResult
from armillary.errors import ArmillaryError, nearest, require, shown
from armillary.results.plots.run_plot import COLOURS, axis_label, literal, open_figure
from armillary.results.record import label_units
from armillary.text_tables import aligned, counted, html_table, html_text
from armillary.untyped import DataTable

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from armillary.runtime.models.compiled import CompiledModel


_SHOWN = 4  # columns of a table besides the varied quantity


@dataclass(frozen=True)
class Mark:
    """A change of stability or direction of a branch: its kind, the index of its point, the value of the
    varied quantity, and the frequency of a Hopf point in rad/s.
    """

    kind: str  # "fold", "Hopf point", "branch point", "zero eigenvalue" or "limit of contact '…'"
    index: int
    value: float
    frequency: float = 0.0

    def __str__(self) -> str:
        more = f", {self.frequency:.6g} rad/s" if self.frequency else ""
        return f"{self.kind}{more}"


@dataclass(frozen=True, eq=False, repr=False)
class Branch(SavedResult):
    """Operating points along a parameter, or along a fixed state, a prescribed output or a rate.

    branch["speed"], branch["bead.q1"]      values along the branch, in stated units
    branch.marks                            folds, Hopf points, branch points
    branch.stable                           whether each point is stable
    branch.point(12)                        an OperatingPoint, e.g. for initial=
    """

    _kind, _mark, _of_process = "a branch", "armillary_branch", ("_point",)

    system: str
    name: str  # the varied quantity
    names: tuple[str, ...]  # columns: the varied quantity, states, inputs, outputs
    values: np.ndarray  # (points, names)
    units: Mapping[str, str]
    eigenvalues: np.ndarray  # (points, independent states); NaN for a point that is not steady
    growing: np.ndarray  # number of growing eigenvalues; -1 for a point that is not steady
    marks: tuple[Mark, ...]
    found: tuple[str, ...]  # names of the unknowns
    _point: Callable[[int], OperatingPoint] | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the values of a column along the branch."""
        return self.values[
            :, arguments.index_of_name(name, self.names, f"the branch of '{self.system}' has no")
        ]

    @property
    def stable(self) -> np.ndarray:
        """For each point, whether no eigenvalue grows."""
        found: np.ndarray = self.growing == 0
        return found

    def point(self, index: int) -> OperatingPoint:
        """Return one of the points, with its table and stability; it can be the start of a run."""
        index = arguments.index(index, len(self), "point")
        if self._point is None:
            raise ArmillaryError(
                "a branch that comes from another process or a file has no points; use model.trace here"
            )
        return self._point(index)

    # ------------------------------------------------------------ tables

    @property
    def table(self) -> str:
        """The ends and marks of the branch, and the stability between them, as text."""
        return "\n".join(
            [self._title, *(f"  {line}" for line in aligned([self._head, *self._rows], self._sides))]
        )

    @property
    def _title(self) -> str:
        first, last = (self._text(self.name, i) for i in (0, len(self) - 1))
        units = label_units(self.units[self.name])
        return (
            f"Branch of '{self.system}' over {self.name} from {first} to {last} {units}: "
            f"{counted(len(self), 'point')}"
        )

    @property
    def _columns(self) -> tuple[str, ...]:
        return (self.name, *self.found[:_SHOWN])

    @property
    def _sides(self) -> str:
        return ">" * len(self._columns)

    @property
    def _head(self) -> list[str]:
        labels = [
            f"{n} ({label_units(self.units[n])})" if label_units(self.units[n]) else n for n in self._columns
        ]
        return [*labels, ""]

    @property
    def _rows(self) -> list[list[str]]:
        words = {0: "start", len(self) - 1: "end"} | {mark.index: str(mark) for mark in self.marks}
        places = sorted(words)
        rows = []
        for i in places:
            cells = [self._text(name, i) for name in self._columns]
            rows.append([*cells, words[i]])
            later = [j for j in places if j > i]
            if later:
                rows.append([*[""] * len(cells), self._between(i, later[0])])
        return rows

    def _text(self, name: str, i: int) -> str:
        """Return a value as text for a table; a rounding error is shown as 0."""
        column = self[name]
        value, size = float(column[i]), float(np.max(np.abs(column)))
        return f"{value if abs(value) > 1e-7 * size else 0.0:.8g}"

    def _between(self, i: int, j: int) -> str:
        """Return the stability between two marks, as text."""
        inner = self.growing[i + 1 : j] if j > i + 1 else self.growing[[i, j]]
        kinds = set(inner.tolist())
        if -1 in kinds:
            return "  not steady"
        return "  stable" if kinds == {0} else f"  unstable, {counted(max(kinds), 'growing eigenvalue')}"

    def __repr__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        return f"<p>{html_text(self._title)}</p>" + html_table(self._head, self._rows, self._sides)

    # ------------------------------------------------------------ files and figures

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a row per point; ``growing`` is the number of growing eigenvalues."""
        pd = require("pandas", extra="data", purpose="Tables")
        frame = pd.DataFrame(self.values, columns=list(self.names))
        return frame.assign(growing=self.growing)

    def _file_data(self) -> DataTable:
        roots = (self.eigenvalues.real, self.eigenvalues.imag)
        return {
            "system": self.system,
            "varied": self.name,
            "columns": {name: self[name].tolist() for name in self.names},
            "units": {n: u for n, u in self.units.items() if u},
            "eigenvalues": dict(zip(("real", "imaginary"), (x.tolist() for x in roots), strict=True)),
            "growing": self.growing.tolist(),
            "marks": [asdict(mark) for mark in self.marks],
            "found": self.found,
        }

    @classmethod
    def _from_file(cls, data: DataTable) -> Branch:
        columns, roots = data["columns"], data["eigenvalues"]
        names, marks = tuple(columns), tuple(Mark(**mark) for mark in data["marks"])
        return cls(
            data["system"], data["varied"], names, np.column_stack([columns[n] for n in names]).astype(float),
            {n: data["units"].get(n, "") for n in names},
            np.array(roots["real"], dtype=float) + 1j * np.array(roots["imaginary"], dtype=float),
            np.array(data["growing"], dtype=int), marks,
            tuple(data.get("found", names[1:])), None,  # files of version 0.1.0 do not have the unknowns
        )  # fmt: skip

    def plot(
        self,
        *names: str,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        show: bool = False,
    ) -> Figure:
        """Plot columns over the varied quantity: full lines where stable, dashed where not, with marks.

        Without names, plot up to three unknowns that vary, and the real parts of the eigenvalues.
        """
        shown = list(names) or [name for name in self.found if self._varies(name)][:3]
        columns = [self[name] for name in shown]
        lam = self[self.name]
        panels = len(shown) + (not names)
        with open_figure((8.0, 1.4 + 2.4 * panels), path, show=show) as figure:
            axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
            if not names:
                axes[-1].plot(lam, self.eigenvalues.real, ".", markersize=3, color=COLOURS[-1])
                axes[-1].set_ylabel("real parts of eigenvalues (1/s)")
                for mark in self.marks:
                    axes[-1].axvline(mark.value, color=COLOURS[2], linewidth=0.8)
            for ax, name, y in zip(axes, shown, columns, strict=False):
                ax.plot(lam, np.where(self._drawn_points(True), y, np.nan), color=COLOURS[0], label="stable")
                ax.plot(
                    lam,
                    np.where(self._drawn_points(False), y, np.nan),
                    "--",
                    color=COLOURS[1],
                    label="unstable",
                )
                for k, kind in enumerate(dict.fromkeys(mark.kind for mark in self.marks)):
                    at = [mark.index for mark in self.marks if mark.kind == kind]
                    ax.plot(lam[at], y[at], "os^D"[k % 4], color=COLOURS[2 + k], label=kind, zorder=3)
                ax.set_ylabel(literal(axis_label(name, self.units[name])))
            if shown:
                axes[0].legend(loc="best")
            axes[0].set_title(literal(title or self.system))
            axes[-1].set_xlabel(literal(axis_label(self.name, self.units[self.name])))
        return figure

    def _varies(self, name: str) -> bool:
        column = self[name]
        return bool(np.ptp(column) > 1e-7 * (1.0 + np.max(np.abs(column))))

    def _drawn_points(self, stable: bool) -> np.ndarray:
        """Return which points are stable, or unstable, with marked neighbours so that lines meet."""
        own = self.stable == stable
        marked = np.zeros(len(self), dtype=bool)
        marked[[mark.index for mark in self.marks]] = True
        beside = np.zeros(len(self), dtype=bool)
        beside[1:] |= own[:-1]
        beside[:-1] |= own[1:]
        found: np.ndarray = own | (marked & beside)
        return found


# The varied quantity of a branch, the start of the branch, and its points as operating points.

_STEPS = 3.0  # the range of a branch, in sizes of the varied quantity


def trace(
    model: CompiledModel, op: OperatingPoint, name: str, start: object, stop: object, *, points: int = 1000
) -> Branch:
    """Return the branch of operating points through ``op``, along ``name`` from ``start`` to ``stop``.

    ``name`` is a parameter or input, or a fixed state, prescribed output or prescribed rate of ``op``. The
    branch has marks at folds, where ``name`` turns back, at Hopf points, where eigenvalues cross the
    imaginary axis, and where another branch crosses. It ends when ``name`` leaves its range, or after
    ``points`` points in each direction.
    """
    op = instance(op, OperatingPoint, "an operating point, of model.trim or model.equilibrium,")
    made = op.problem
    if made is None or made.request.model is not with_named_speeds(model):
        raise ArmillaryError(
            f"this operating point of '{op.system}' belongs to another model, or was read from a file; find "
            "it again with model.trim or model.equilibrium"
        )
    varied = _varied_quantity(made, text(name, "the name of the varied quantity"))
    first, last = varied.number(start), varied.number(stop)
    if first == last:
        raise ArmillaryError(f"'{name}' is varied from {shown(start)} to {shown(stop)}; give two values")
    # On the branch a speed is not zero, so the code for rest, with which the point was found, does not apply.
    if varied.kind == "state" and varied.quantity.kind == "speed" and made.values.still:
        asked = made.request
        values = made.conditions.instance(asked.t, asked.parameters, asked.memory)
        made = replace(made, values=values)
    return _Tracer(op, made, varied, first, last).branch(count(points, "points="))


@dataclass(frozen=True, eq=False)
class Varied:
    """The variable of a branch: a parameter or input, a fixed state, a prescribed output or rate."""

    name: str
    kind: str  # "input", "state", "output" or "rate"
    quantity: Quantity
    now: float  # its value at the first operating point, in the model's units
    number: Callable[[Any], float]  # from values in stated units

    @property
    def label(self) -> str:
        """The name of its column on the branch."""
        return f"rate of {self.name}" if self.kind == "rate" else self.name

    def problem(self, made: Problem, value: float) -> Problem:
        """Return the problem with another value."""
        asked, wanted = made.request, made.wanted.copy()
        if self.kind == "input" and self.quantity.kind == "parameter":
            asked = replace(asked, parameters=asked.parameters | {self.name: value / self.quantity.factor})
        elif self.kind == "input":
            memory = asked.memory.copy()
            memory[list(made.conditions.equations.system.memories).index(self.name)] = value
            asked = replace(asked, memory=memory)
        elif self.kind == "state":
            asked = replace(asked, fixed=asked.fixed | {self.name: value})
        elif self.kind == "output":
            asked = replace(asked, outputs=asked.outputs | {self.name: value})
            wanted[self.row(made)] = value
        else:
            asked = replace(asked, rates=asked.rates | {self.name: value})
            wanted[self.row(made)] = value
        values = made.conditions.instance(asked.t, asked.parameters, asked.memory, made.values.still)
        return replace(made, request=asked, values=values, wanted=wanted)

    def row(self, made: Problem) -> int:
        """Return the index of the condition whose value is varied; -1 if a state or an input is varied."""
        found = made.conditions
        if self.kind == "output":
            return found.shown.start + list(made.request.outputs).index(self.name)
        return found.states.index(self.name) if self.kind == "rate" else -1


def _varied_quantity(made: Problem, name: str) -> Varied:
    """Return the quantity to vary; raise an error for a name that is not given at the operating point."""
    asked, names = made.request, ModelNames(made.request.model)
    system = made.conditions.equations.system
    if name in asked.fixed:
        q = asked.quantities[name]
        return Varied(name, "state", q, asked.fixed[name], lambda v: names.state(name, v, f"'{name}'"))
    if name in asked.outputs:
        units = next(c.units for c in made.conditions.equations.targets.columns if c.name == name)
        q = Quantity(name, units, 1.0, "output")
        return Varied(name, "output", q, asked.outputs[name], lambda v: names.output(name, v))
    if asked.rates.get(name) is not None:
        q = replace(
            asked.quantities[name], units=made.conditions.row_units[made.conditions.states.index(name)][1]
        )
        return Varied(name, "rate", q, asked.rates[name] or 0.0, lambda v: names.rate(name, v) or 0.0)
    if name in asked.inputs or name in made.conditions.states:
        raise ArmillaryError(
            f"'{name}' is found at this operating point, so it cannot be varied; find the point with "
            f"fixed={{'{name}': …}}, or vary a given quantity"
        )
    if name in system.parameters or name in system.memories:
        (q, now) = names.inputs([name], asked.parameters, asked.memory)[name]
        return Varied(name, "input", q, now, lambda v: names.inputs({name: v}, {}, asked.memory)[name][1])
    known = [*system.parameters, *asked.fixed, *asked.outputs, *asked.rates]
    raise ArmillaryError(
        f"there is no parameter '{name}', nor a state, output or rate of that name that is given at this "
        f"operating point{nearest(name, known)}"
    )


class _Tracer:
    """Continuation of one branch: its conditions as functions of z = [unknowns, varied quantity]."""

    def __init__(self, op: OperatingPoint, made: Problem, varied: Varied, first: float, last: float) -> None:
        self.op, self.made, self.varied = op, made, varied
        self.low, self.high, self.rising = min(first, last), max(first, last), last > first
        self.wide = self._with_column(made)
        self.row = varied.row(made)
        x = np.append(op_vector(op, made), varied.now) if varied.kind == "input" else op_vector(op, made)
        self.x = x
        sizes, weights = self.wide.sizes(x, idle=True)
        self.sizes = np.append(sizes[self.wide.unknown][: len(made.unknown)], (self.high - self.low) / _STEPS)
        self.weights = weights[self.wide.rows]
        self.both = np.ix_(self.wide.rows, self.wide.unknown)
        self.wanted = self.wide.wanted[self.wide.rows]

    def _with_column(self, made: Problem) -> Problem:
        """Return the problem with the varied quantity as a further column, if it is a state or an input."""
        varied, found = self.varied, made.conditions
        if varied.kind == "state":
            column = found.states.index(varied.name)
        elif varied.kind == "input":
            asked = replace(
                made.request,
                inputs=made.request.inputs | {varied.name: varied.now},
                parameters={n: v for n, v in made.request.parameters.items() if n != varied.name},
                quantities=made.request.quantities | {varied.name: varied.quantity},
            )
            found = conditions(asked.model, tuple(asked.outputs), tuple(asked.inputs))
            values = found.instance(asked.t, asked.parameters, asked.memory, made.values.still)
            made = replace(made, request=asked, conditions=found, values=values)
            column = len(found.names) - 1
        else:
            return made
        added = [i for i in made.constant.tolist() if found.depends[i, column]]
        rows = np.array(sorted({*made.rows.tolist(), *added}), dtype=int)
        return replace(made, rows=rows, unknown=np.append(made.unknown, column))

    # ------------------------------------------------------------ the curve

    def whole(self, z: np.ndarray) -> np.ndarray:
        """Return x = [state, inputs] of the conditions at z."""
        x = self.x.copy()
        x[self.wide.unknown] = z if self.row < 0 else z[:-1]
        return x

    def residual(self, z: np.ndarray) -> np.ndarray:
        c: np.ndarray = self.wide.values.values(self.whole(z))[self.wide.rows] - self.wanted
        if self.row >= 0:
            c[self.wide.rows == self.row] -= z[-1] - self.varied.now
        return c

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        C: np.ndarray = self.wide.values.jacobian(self.whole(z))[self.both]
        if self.row < 0:
            return C
        return np.hstack([C, -(self.wide.rows == self.row).astype(float)[:, None]])

    def stability(self, z: np.ndarray) -> Stability | None:
        x = self.whole(z)
        values, held = self.wide.values, self.wide.held
        return stability_of(values, values.values(x), values.jacobian(x), held)

    def faults(self, z: np.ndarray) -> list[Fault]:
        """Return the contacts whose statuses are contradicted at z."""
        x = self.whole(z)[: len(self.made.conditions.names)]
        return faults_at(self.varied.problem(self.made, float(z[-1])), x)

    def branch(self, most: int) -> Branch:
        curve = BranchCurve(self.residual, self.jacobian, self.sizes, self.weights, self.stability)
        z = np.append(self.x[self.made.unknown], self.varied.now)
        inside = self.low < z[-1] < self.high
        if not self.low <= z[-1] <= self.high:
            z = self._move_to_end(z, self.low if z[-1] < self.low else self.high)
        forward = np.zeros(len(z))
        forward[-1] = 1.0 if self.rising else -1.0
        if not inside and (z[-1] == self.high) == self.rising:
            forward = -forward
        place = curve.place(z, forward) or curve.place(z, np.ones(len(z)))
        if place is None:
            raise ArmillaryError(
                f"no branch over '{self.varied.name}' leads through this operating point of "
                f"'{self.op.system}'"
            )
        places = follow(curve, place, self.low, self.high, most)
        if inside:
            back = curve.place(z, -place.tangent)
            before = [] if back is None else follow(curve, back, self.low, self.high, most)[1:]
            places = [*(_reverse_tangent(p) for p in reversed(before)), *places]
        elif (z[-1] == self.high) == self.rising:
            places = [_reverse_tangent(p) for p in reversed(places)]
        if self.made.conditions.contacts:
            places = within_contacts(curve, places, z, self.faults)
        return self._result(places)

    def _move_to_end(self, z: np.ndarray, value: float) -> np.ndarray:
        """Return z at the nearest end of the range."""
        z = np.append(z[:-1], value)
        wanted = self.wanted.copy()
        if self.row >= 0:
            wanted[self.wide.rows == self.row] += value - self.varied.now
        unknown = self.wide.unknown[: len(z) - 1]
        values, rows, sizes = self.wide.values, self.wide.rows, self.sizes[:-1]
        root = newton(RootProblem(values, self.whole(z), rows, unknown, wanted, sizes, self.weights))
        if not root.met:
            at = value / self.varied.quantity.factor
            raise ArmillaryError(
                f"from this operating point no solution with {self.varied.name} = {at:.6g} was found, where "
                "the branch should start; find an operating point between the two ends first"
            )
        return np.append(root.unknowns, value)

    # ------------------------------------------------------------ the result

    def _result(self, places: list[CurvePlace]) -> Branch:
        factor, model = self.varied.quantity.factor, self.made.request.model
        found, asked = self.made.conditions, self.made.request
        n = len(found.names)
        xs = np.array([self.whole(p.z)[:n] for p in places])
        lam = np.array([p.z[-1] for p in places])
        factors = np.array([asked.quantities[name].factor for name in found.names])
        problems = [self.varied.problem(self.made, float(v)) for v in lam]
        outputs = np.array([held_values(p, x).outputs for p, x in zip(problems, xs, strict=True)])
        units = {name: asked.quantities[name].units for name in found.names}
        columns = {c.name: c.units for c in found.equations.targets.columns}
        states = [name for name in found.names if name != self.varied.label]
        shown_names = [
            name for name in model.output_names if name not in found.names and name != self.varied.label
        ]
        names = (self.varied.label, *states, *shown_names)
        table = np.column_stack(
            [
                lam / factor,
                *((xs / factors)[:, found.names.index(name)] for name in states),
                *(outputs[:, model.output_names.index(name)] for name in shown_names),
            ]
        )
        sizes = {len(p.stability.eigenvalues) for p in places if p.stability is not None}
        roots = np.full((len(places), max(sizes, default=0)), np.nan + 0j)
        for i, p in enumerate(places):
            if p.stability is not None:
                roots[i] = p.stability.eigenvalues
        marks = [Mark(p.mark, i, float(lam[i] / factor), p.frequency) for i, p in enumerate(places) if p.mark]
        return Branch(
            system=found.equations.system.name,
            name=self.varied.label,
            names=names,
            values=table,
            units={
                self.varied.label: self.varied.quantity.units,
                **units,
                **{k: columns[k] for k in shown_names},
            },
            eigenvalues=roots,
            growing=np.array([-1 if p.stability is None else p.growing for p in places]),
            marks=tuple(marks),
            found=tuple(name for name in self.made.names if name != self.varied.label),
            _point=lambda i: _point(problems[i], xs[i]),
        )


def _reverse_tangent(place: CurvePlace) -> CurvePlace:
    return replace(place, tangent=-place.tangent)


def op_vector(op: OperatingPoint, made: Problem) -> np.ndarray:
    """Return x = [state, inputs] of an operating point, in the model's units."""
    found = {**op.initial, **op.inputs}
    return np.array([found[name] * made.request.quantities[name].factor for name in made.conditions.names])


def _point(made: Problem, x: np.ndarray) -> OperatingPoint:
    """Return a point of a branch as an operating point."""
    left = made.values.values(x)[made.rows] - made.wanted[made.rows]
    of, held = made.equations(x, idle=True), np.zeros(len(made.unknown), dtype=bool)
    return operating_point(made, Root(of, x, x[made.unknown], left, left * of.weights, 0, held))
