"""Models linearised at operating points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from armillary.algebra.arguments import read_only, several
from armillary.algebra.calculus import NumericValue, directional_derivatives, evaluator
from armillary.algebra.expression import UNIT, Expr
from armillary.algebra.walk import operands_first, symbols
from armillary.analysis.linear.linear_model import LinearModel
from armillary.analysis.linear.matrices import Linearization, Matrices, linearization
from armillary.analysis.linear.points import OperatingPoints, operating_points
from armillary.cache import kept_per_object
from armillary.errors import ArmillaryError
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.linearization import LinearForm, Variable
from armillary.program.sensitivities import switches
from armillary.program.targets.contact_targets import ContactGeometry
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.parameters import parameter_table
from armillary.text_tables import listed
from armillary.untyped import DataTable

# Errors for operating points at which there is no linear model, and notes on kinks.

_CHECKED = 20  # most operating points of a batch that are checked for events and jumps
_AT = 1e-12  # a switch or event counts as at the point up to this relative distance
_STEPS = (1e-7, 1e-9)  # relative steps to both sides of a switch; a jump does not shrink with the step
_JUMP = 1e-9  # least relative size of a jump
_BENT = 1e-3  # least relative difference of the slopes at a kink


def idle_inputs(form: LinearForm) -> str:
    """Return a note on inputs that act on no state and on no output: their columns are zero."""
    acting = {j for _, j in (*form.B, *form.D)}
    idle = [f"'{v.name}'" for j, v in enumerate(form.inputs) if j not in acting]
    if not idle:
        return ""
    what = f"input {idle[0]} acts" if len(idle) == 1 else f"inputs {listed(idle)} act"
    return f"{what} on no state{' and no output that is requested' if form.outputs else ''}"


def check_matrices(compiled: Linearization, found: Matrices, system: str) -> None:
    """Raise an error for elements that are not finite."""
    form = compiled.form
    groups = {"A": (form.states, form.states), "B": (form.states, form.inputs)}
    groups |= {"C": (form.outputs, form.states), "D": (form.outputs, form.inputs)}
    for name, matrix in zip("ABCD", found, strict=True):
        bad = np.argwhere(~np.isfinite(matrix))
        if len(bad):
            point, i, j = bad[0]
            rows, columns = groups[name]
            where = f" (point {point} of {len(matrix)})" if len(matrix) > 1 else ""
            prime = "the rate of " if name in "AB" else ""
            raise ArmillaryError(
                f"{prime}'{rows[i].name}' of '{system}' has no finite derivative by '{columns[j].name}' at "
                f"the operating point{where}: something is divided by zero there, or constraints lose rank; "
                "linearise a little away from there"
            )


def check_points(model: CompiledModel, compiled: Linearization, points: OperatingPoints) -> str:
    """Raise an error for points at which an event happens, or rates or outputs jump; return a
    note on a kink.
    """
    jumps = _jump_functions(compiled)
    _check_events(model, points)
    return jumps(points)


@kept_per_object
def _jump_functions(compiled: Linearization) -> _Jumps:
    return _Jumps(compiled.equations, compiled.form)


def _check_events(model: CompiledModel, points: OperatingPoints) -> None:
    """Raise an error for an event that happens at a point and changes something.

    Only the first points are checked, since the model's compiled code computes them one by one.
    """
    watched = model.equations.targets.watched
    acting = [
        (i, event)
        for i, event in enumerate(watched)
        if event.name not in INTERNAL_EVENTS and (event.changes or event.lock or event.unlock)
    ]
    for k in range(min(len(points), _CHECKED) if acting else 0):
        instance, state = Instance(model, points.parameters_of(k)), points.states[k]
        values = instance.events(float(points.t[k]), state, points.memory[k])
        size = 1.0 + float(np.max(np.abs(state), initial=0.0))
        for i, event in acting:
            if abs(values[i]) <= _AT * size:
                raise ArmillaryError(
                    f"event '{event.name}' happens just at the operating point{_which(k, points)}, and its "
                    "effect has no linear model; linearise a little before or after it"
                )


def _which(k: int, points: OperatingPoints) -> str:
    return f" (point {k} of {len(points)})" if len(points) > 1 else ""


def _kinks(roots: Sequence[Expr]) -> Iterator[tuple[Expr, Expr, Expr]]:
    """Yield calls that may have a kink, as ``switches`` yields jumps; the second item is zero at the kink."""
    for node in operands_first(roots):
        if node.kind == "call" and node.data in ("min", "max", "abs"):
            gap = node.args[0] - node.args[1] if node.data != "abs" else node.args[0]
            yield node, gap, node


class _Jumps:
    """Checks for points at which rates or outputs jump or bend with a state, the time or an input."""

    def __init__(self, equations: DerivedEquations, form: LinearForm) -> None:
        t = equations.targets
        shown = {v.name for v in form.outputs}
        columns = [c for c in t.columns if c.name in shown]
        self._labels = [f"the rate of '{s.data.name}'" for s in t.integrated]
        self._labels += [f"output '{c.name}'" for c in columns]
        roots = [*t.rates, *(c.expression for c in columns)]
        hidden = any(m.hidden for m in equations.system.memories.values())  # FMUs, which only runs can call
        found = [] if hidden else [*switches(roots), *_kinks(roots)]
        moving = {*t.integrated, t.time, *t.memory}
        self._switches = [(node, [s for s in symbols(gap) if s in moving]) for node, gap, _ in found]
        # A gap is zero where a call switches: the difference that is compared or, for floor, ceil and mod, a
        # sine that vanishes at each whole number.
        whole = ("floor", "ceil", "mod")
        self._gaps = evaluator([side if node.data in whole else gap for node, gap, side in found])
        self._values = evaluator(roots) if found else None
        self._equations, self._table = equations, parameter_table(equations)

    def __call__(self, points: OperatingPoints) -> str:
        """Raise an error for a jump at a point; return a note on a kink there.

        All points are checked for switches; the two sides of a switch are compared only at the first few
        points that have it.
        """
        note = ""
        if self._values is None:
            return note
        at = self._at(points)
        with np.errstate(all="ignore"):
            for (node, ways), gap in zip(self._switches, self._gaps(at), strict=True):
                if not ways:
                    continue
                size = np.max(np.broadcast_arrays(*(np.abs(at[s]) for s in ways)), axis=0)
                there = np.abs(gap) <= _AT * size + 1e-300
                close = np.flatnonzero(np.broadcast_to(there, (len(points),)))[:_CHECKED]
                if close.size:
                    here = {s: x[close] if np.ndim(x) else x for s, x in at.items()}
                    self._check(node, ways, here, [_which(k, points) for k in close])
                    note = note or self._kink(node, ways, here)
        return note

    def _at(self, points: OperatingPoints) -> dict[Expr, NumericValue]:
        """Return the value of each symbol: a number, or an array with a number for each point."""
        targets, system = self._equations.targets, self._equations.system
        columns = self._table.inside_columns(points.parameters)
        at = {self._equations.reduction.plain(system.parameters[name]): x for name, x in columns.items()}
        at |= dict(zip(targets.integrated, points.states.T, strict=False))
        return at | dict(zip(targets.memory, points.memory.T, strict=True)) | {targets.time: points.t}

    def _sides(
        self, at: Mapping[Expr, NumericValue], moves: Sequence[tuple[Expr, float]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates and outputs (roots) at s − h, s and s + h, and the steps h.

        The axes of the rates and outputs are (side, move, root, point), those of h (move, point). A move is a
        symbol s with its step h relative to the size of s. All moves are computed at once: computed one by
        one, they took 12 s for a car of 38 states at six switches.
        """
        assert self._values is not None
        count = len(np.broadcast_arrays(*[at[s] for s, _ in moves], np.zeros(1))[0])
        h = np.array([np.broadcast_to(step * np.maximum(np.abs(at[s]), 1.0), (count,)) for s, step in moves])
        whole = 3 * len(moves)
        values = {s: np.tile(x, whole) if np.ndim(x) else x for s, x in at.items()}
        for s in {s for s, _ in moves}:
            sides = np.tile(np.broadcast_to(at[s], (count,)), whole).reshape(3, len(moves), count)
            for k, (moved, _) in enumerate(moves):
                if moved is s:
                    sides[0, k] -= h[k]
                    sides[2, k] += h[k]
            values[s] = sides.ravel()
        found = [np.broadcast_to(x, (whole * count,)) for x in self._values(values)]
        roots = np.array(found, dtype=float).reshape(-1, 3, len(moves), count)
        return np.moveaxis(roots, 0, 2), h

    def _kink(self, node: Expr, ways: Sequence[Expr], at: Mapping[Expr, NumericValue]) -> str:
        """Return a note if slopes on both sides of a switch differ, else an empty text."""
        (before, here, after), steps = self._sides(at, [(s, _STEPS[0]) for s in ways])
        for s, x, y, z, h in zip(ways, before, here, after, steps, strict=True):
            left, right = y - x, z - y
            size = np.maximum(np.abs(left), np.abs(right))
            bent = (np.abs(right - left) > _BENT * size) & (size > 1e-12 * (h + np.abs(y)))
            if bent.any():
                return (
                    f"{self._labels[np.argwhere(bent)[0][0]]} has a kink with '{s.data.name}' at the "
                    f"operating point, where '{node}' switches: this model holds on one side of it, or on "
                    "none"
                )
        return ""

    def _check(
        self, node: Expr, ways: Sequence[Expr], at: Mapping[Expr, NumericValue], which: Sequence[str]
    ) -> None:
        """Raise an error if values on both sides of a switch differ."""
        (before, _, after), _ = self._sides(at, [(s, step) for s in ways for step in _STEPS])
        gaps, sizes = np.abs(after - before), np.abs(after) + np.abs(before)
        for i, s in enumerate(ways):
            wide, close = gaps[len(_STEPS) * i : len(_STEPS) * (i + 1)]
            size = sizes[len(_STEPS) * i]
            jumped = np.argwhere((close > 0.5 * wide) & (close > _JUMP * np.maximum(size, 1e-6)))
            if jumped.size:
                root, k = jumped[0]
                raise ArmillaryError(
                    f"{self._labels[root]} jumps with '{s.data.name}' at the operating point{which[k]}, "
                    f"where '{node}' switches, so it has no derivative there; linearise away from there, or "
                    "smooth it (tanh in place of sign)"
                )


# Closed contacts as constraints of linear models.
#
# Small changes x of positions and speeds keep the gaps of closed contacts, and the rates of these gaps, at
# zero. Where a contact sticks, they also keep the sliding speeds γ = G u and the displacements G N⁺ q, with
# q̇ = N u, at zero. With the rows K of these conditions,
#
#     K x = 0   ⇒   x = S x_i,        A_i = (A S)_i,    B_i = (B)_i,    C_i = C S
#
# x_i are the independent changes. Elimination makes one change dependent for each row: the change on which
# the row depends most. Brakes that hold are treated as contacts that stick.

_REDUNDANT = 1e-9  # a row is redundant if no element above this remains after elimination
_HELD = {"normal": (1, 2, -2), "slip": (1,)}  # statuses of contacts in which gaps and slips are held


class HeldLinearization(Linearization):
    """A linearisation in the independent changes under the constraints of closed contacts."""

    def __init__(self, base: Linearization, kept: list[int], S: np.ndarray) -> None:
        self.base, self.kept, self.S = base, kept, S
        self.equations, self.picture = base.equations, base.picture
        self.form = replace(base.form, states=tuple(base.form.states[i] for i in kept))

    def reduce_matrices(self, found: Matrices) -> Matrices:
        """Return the matrices of the independent changes."""
        A, B, C, D = found
        return Matrices((A @ self.S)[..., self.kept, :], B[..., self.kept, :], C @ self.S, D)

    def basis(
        self,
        t: float | np.ndarray,
        states: np.ndarray,
        parameters: Mapping[str, object] | None = None,
        memory: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return ∂y/∂x_i of the model's whole state y, with a leading axis of rows."""
        found: np.ndarray = self.base.basis(t, states, parameters, memory) @ self.S
        return found


def held_motions(
    model: CompiledModel, compiled: Linearization, points: OperatingPoints
) -> tuple[list[int], np.ndarray] | None:
    """Return the indices of the independent changes, and S for each point; None if no contact is closed.

    All points must have the same closed contacts, since one linear model has one set of states.
    """
    targets = model.equations.targets
    if not targets.contacts:
        return None
    names = list(model.equations.system.memories)
    columns = [names.index(c.status.data.name) for c in targets.contacts]
    statuses = points.memory[:, columns]
    if not np.any(np.isin(statuses, _HELD["normal"])):
        return None
    if np.any(statuses != statuses[0]):
        raise ArmillaryError(
            f"contacts of '{model.equations.system.name}' are open at some of the operating points and "
            "closed at others, so their linear models have different states: linearize them one by one"
        )
    rows, slips = _contact_rows(compiled, targets.contacts, statuses[0])
    if not rows:
        return None
    first = len(targets.coordinates)
    speeds = slice(first, first + len(targets.speeds))
    ways = [directional_derivatives(targets.rates[:first], {u: UNIT}) for u in targets.speeds]
    functions = {"rows": [x for row in rows for x in row], "ways": [x for column in ways for x in column]}
    numbers = ModelFunctions(model.equations, functions)
    found, N = (
        numbers.rows(name, points.t, points.states, points.parameters, points.memory).reshape(
            len(points.states), count, -1
        )
        for name, count in (("rows", len(rows)), ("ways", len(ways)))
    )
    places = np.zeros((len(found), len(slips), found.shape[2]))
    if slips and N.size:
        places[:, :, :first] = found[:, slips, speeds] @ np.linalg.pinv(np.swapaxes(N, 1, 2))
    whole = np.concatenate([found, places], axis=1)
    K = whole @ compiled.basis(points.t, points.states, points.parameters, points.memory)
    kept, _ = _independent_changes(K[0])
    return kept, np.array([_solution(k, kept) for k in K])


def _contact_rows(
    compiled: Linearization, contacts: tuple[ContactGeometry, ...], statuses: np.ndarray
) -> tuple[list[list[Expr]], list[int]]:
    """Return the derivatives of gaps, their rates and slips by the whole state, and the indices of the rows
    of slips.
    """
    wanted: list[Expr] = []
    slips: list[int] = []
    for contact, status in zip(contacts, statuses, strict=True):
        if contact.closing is not None and contact.gap is not None and status in _HELD["normal"]:
            wanted += [contact.gap, contact.closing]
        if contact.sliding and status in _HELD["slip"]:
            slips += range(len(wanted), len(wanted) + len(contact.sliding))
            wanted += contact.sliding
    columns = [directional_derivatives(wanted, {s: UNIT}) for s in compiled.equations.targets.integrated]
    return [[column[i] for column in columns] for i in range(len(wanted))], slips


def _independent_changes(K: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the indices of independent and of dependent changes, by elimination with complete pivoting."""
    left, dependent = K / np.maximum(np.abs(K).max(axis=1, keepdims=True), 1e-300), []
    rows = list(range(len(left)))
    while rows:
        size = np.abs(left[rows])
        i, j = np.unravel_index(np.argmax(size), size.shape)
        if size[i, j] <= _REDUNDANT:
            break
        row = rows.pop(int(i))
        dependent.append(int(j))
        for other in rows:
            left[other] = left[other] - left[row] * (left[other, j] / left[row, j])
    return [j for j in range(K.shape[1]) if j not in dependent], dependent


def _solution(K: np.ndarray, kept: list[int]) -> np.ndarray:
    """Return S, which gives all changes from the independent changes."""
    others = [j for j in range(K.shape[1]) if j not in kept]
    S = np.zeros((K.shape[1], len(kept)))
    S[kept, range(len(kept))] = 1.0
    S[others] = -np.linalg.lstsq(K[:, others], K[:, kept], rcond=1e-12)[0]
    return S


def linearize(
    model: CompiledModel,
    at: object = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
) -> LinearModel:
    """Return the linear model of small changes about an operating point: exact A, B, C and D.

    ``at`` is None for the start of runs, values by name, a state, an operating point or (run, time); a
    list of these or arrays of values give many, with a leading axis. ``inputs`` are names of parameters,
    inputs and memories, ``outputs`` names of outputs. The states are independent: loops stay closed, and four
    Euler parameters become three rotations. Memories stay constant.
    """
    names = [
        tuple(map(str, several(group, what))) for group, what in ((inputs, "inputs="), (outputs, "outputs="))
    ]
    compiled = linearization(model, *names)
    points = operating_points(model, at, parameters)
    notes = (points.note, check_points(model, compiled, points), idle_inputs(compiled.form))
    return replace(at_points(model, compiled, points), note="; ".join(note for note in notes if note))


def at_points(model: CompiledModel, compiled: Linearization, points: OperatingPoints) -> LinearModel:
    """Return the linear model of compiled matrices at operating points."""
    found = compiled.rows(points.t, points.states, points.parameters, points.memory)
    check_matrices(compiled, found, model.equations.system.name)
    held = held_motions(model, compiled, points)
    used = compiled
    if held is not None:
        used = reduced = HeldLinearization(compiled, *held)
        found = reduced.reduce_matrices(found)
    form = used.form
    first = 0 if points.single else slice(None)
    A, B, C, D = (m[first] for m in _in_stated_units(form, found))
    for matrix in (A, B, C, D):
        matrix.setflags(write=False)
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
        state=read_only(points.states[first]),
        memory=read_only(points.memory[first]),
        parameters=MappingProxyType(parameters),
        operating_point=MappingProxyType(_values_by_name(model, points)),
        input_values=MappingProxyType(_input_values(model, points, form.inputs)),
        linearization=used,
    )


def _in_stated_units(form: LinearForm, inside: Matrices) -> list[np.ndarray]:
    """Return the matrices in stated units: x = factor · x_stated."""
    x, v, y = (np.array([v.factor for v in group]) for group in (form.states, form.inputs, form.outputs))
    A, B, C, D = inside
    pairs = ((A, x, x), (B, x, v), (C, y, x), (D, y, v))
    return [
        m if np.all(left == 1) and np.all(right == 1) else m * right / left[:, None]
        for m, left, right in pairs
    ]


def _input_values(model: CompiledModel, points: OperatingPoints, inputs: Sequence[Variable]) -> DataTable:
    """Return the inputs at operating points by name, in stated units."""
    values = model.parameter_table.inside_columns(points.parameters)
    values |= dict(zip(model.equations.system.memories, points.memory.T, strict=True))
    rows = {v.name: np.broadcast_to(values[v.name] / v.factor, (len(points),)) for v in inputs}
    return {name: float(row[0]) if points.single else row for name, row in rows.items()}


def _values_by_name(model: CompiledModel, points: OperatingPoints) -> DataTable:
    """Return operating points by name: coordinates, independent speeds and states, in stated units."""
    names = (*model.coordinate_names, *model.speed_names, *model.state_names)
    if points.single:
        instance = Instance(model, points.parameters)
        out = instance.outputs(float(points.t[0]), points.states[0], points.memory[0])
        found = dict(zip(model.output_names, out.tolist(), strict=True))
        return {name: found[name] for name in names if name in found}
    described = {s.data.name: s for s in model.equations.system.moving()}
    columns = zip(model.equations.targets.integrated, points.states.T, strict=True)
    values = {s.data.name: column for s, column in columns}
    return {n: values[n] / state_factor(described[n]) for n in names if n in values}
