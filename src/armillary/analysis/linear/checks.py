"""Operating points and inputs for which a linear model is of no use, and the errors that state why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from armillary.algebra.derivatives.calculus import evaluator
from armillary.algebra.expression import Expr
from armillary.algebra.walk import operands_first, symbols
from armillary.analysis.linear.jacobians import Linearization, Matrices
from armillary.analysis.linear.points import OperatingPoints
from armillary.errors import ArmillaryError, ParameterError
from armillary.program.equations import DerivedEquations
from armillary.program.linearization.form import LinearForm
from armillary.program.sensitivities.jumps import switches
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.instance import Instance

_CHECKED = 20  # operating points that are looked at one by one
_AT = 1e-12  # of the size of what is compared: a switch or an event is there
_STEPS = (1e-7, 1e-9)  # to both sides of a switch: a kink shrinks with them, a jump does not
_JUMP = 1e-9  # of the size of what jumps
_BENT = 1e-3  # by which two slopes differ at a kink, as a part of the larger


_KNOWN: WeakKeyDictionary[Linearization, _Jumps] = WeakKeyDictionary()


def check_inputs(form: LinearForm) -> None:
    """An error for an input that acts on no state and on no output."""
    acting = {j for _, j in (*form.B, *form.D)}
    for j, v in enumerate(form.inputs):
        if j not in acting:
            outputs = " and no output that is asked for" if form.outputs else "; no outputs are asked for"
            raise ParameterError(
                f"input '{v.name}' acts on no state{outputs}; leave it out of inputs=, or use it in a load "
                "or a rate of the model"
            )


def check_matrices(compiled: Linearization, found: Matrices, system: str) -> None:
    """An error for elements that are no numbers."""
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
    """Errors for points at which an event happens, or at which rates or outputs jump; a note on the first
    kink at one of them.
    """
    if compiled not in _KNOWN:
        _KNOWN[compiled] = _Jumps(model.equations, compiled.form)
    jumps = _KNOWN[compiled]
    watched = [e for e in model.equations.targets.watched if e.name not in INTERNAL_EVENTS]
    note = ""
    if not watched and jumps.idle:
        return note
    for i in range(min(len(points), _CHECKED)):
        instance = Instance(model, points.parameters_of(i))
        t, state, memory = float(points.t[i]), points.states[i], points.memory[i]
        if watched:
            _check_events(model, instance, t, state, memory)
        note = note or jumps(instance, t, state, memory)
    return note


def _check_events(
    model: CompiledModel, instance: Instance, t: float, state: np.ndarray, memory: np.ndarray
) -> None:
    """An error for an event that changes something just here."""
    size = 1.0 + float(np.max(np.abs(state), initial=0.0))
    for event, value in zip(model.equations.targets.watched, instance.events(t, state, memory), strict=True):
        acts = event.changes or event.lock or event.unlock
        if event.name not in INTERNAL_EVENTS and acts and abs(value) <= _AT * size:
            raise ArmillaryError(
                f"event '{event.name}' happens just at the operating point, and what it does has no linear "
                "model; linearise a little before or after it"
            )


def _kinks(roots: Sequence[Expr]) -> Iterator[tuple[Expr, Expr, Expr]]:
    """Calls that may have a kink, in the form of ``switches``."""
    for node in operands_first(roots):
        if node.kind == "call" and node.data in ("min", "max", "abs"):
            gap = node.args[0] - node.args[1] if node.data != "abs" else node.args[0]
            yield node, gap, node


class _Jumps:
    """Places at which rates or outputs jump or bend with a state, the time or an input."""

    def __init__(self, equations: DerivedEquations, form: LinearForm) -> None:
        t = equations.targets
        shown = {v.name for v in form.outputs}
        columns = [c for c in t.columns if c.name in shown]
        self._labels = [f"the rate of '{s.data.name}'" for s in t.integrated]
        self._labels += [f"output '{c.name}'" for c in columns]
        roots = [*t.rates, *(c.expression for c in columns)]
        hidden = any(m.hidden for m in equations.system.memories.values())  # FMUs: called in runs only
        found = [] if hidden else [*switches(roots), *_kinks(roots)]
        moving = {*t.integrated, t.time, *t.memory}
        self._switches = [(node, [s for s in symbols(gap) if s in moving]) for node, gap, _ in found]
        # Of whole numbers (floor, mod) the sine that vanishes at each of them, else what is compared.
        whole = ("floor", "ceil", "mod")
        self._gaps = evaluator([side if node.data in whole else gap for node, gap, side in found])
        self._values = evaluator(roots) if found else None
        self._equations = equations

    @property
    def idle(self) -> bool:
        """Whether nothing can jump."""
        return self._values is None

    def __call__(self, instance: Instance, t: float, state: np.ndarray, memory: np.ndarray) -> str:
        """An error for a jump at a point, and a note on a kink there."""
        note = ""
        if self._values is None:
            return note
        targets, plain = self._equations.targets, self._equations.reduction.plain
        parameters = self._equations.system.parameters
        inside = instance.model.inside(instance.parameters)
        at: dict[Expr, Any] = {plain(parameters[name]): value for name, value in inside.items()}
        at |= dict(zip(targets.integrated, state.tolist(), strict=False))
        at |= dict(zip(targets.memory, memory.tolist(), strict=True)) | {targets.time: t}
        with np.errstate(all="ignore"):
            for (node, ways), gap in zip(self._switches, self._gaps(at), strict=True):
                if abs(gap) <= _AT * max((abs(at[s]) for s in ways), default=0.0) + 1e-300 and ways:
                    self._check(node, ways, at)
                    note = note or self._kink(node, ways, at)
        return note

    def _kink(self, node: Expr, ways: Sequence[Expr], at: Mapping[Expr, Any]) -> str:
        """A note where slopes to both sides of a switch differ."""
        assert self._values is not None
        for s in ways:
            h = _STEPS[0] * max(abs(at[s]), 1.0)
            before, here, after = (
                np.array(self._values({**at, s: at[s] + d}), dtype=float) for d in (-h, 0, h)
            )
            left, right = here - before, after - here
            size = np.maximum(np.abs(left), np.abs(right))
            bent = np.flatnonzero((np.abs(right - left) > _BENT * size) & (size > 1e-12 * (h + np.abs(here))))
            if bent.size:
                return (
                    f"{self._labels[bent[0]]} has a kink with '{s.data.name}' at the operating point, where "
                    f"'{node}' switches: this model holds on one side of it, or on none"
                )
        return ""

    def _check(self, node: Expr, ways: Sequence[Expr], at: Mapping[Expr, Any]) -> None:
        assert self._values is not None
        for s in ways:
            apart = []
            for step in _STEPS:
                h = step * max(abs(at[s]), 1.0)
                after, before = (np.array(self._values({**at, s: at[s] + d}), dtype=float) for d in (h, -h))
                apart.append((np.abs(after - before), np.abs(after) + np.abs(before)))
            (wide, size), (close, _) = apart
            jumped = np.flatnonzero((close > 0.5 * wide) & (close > _JUMP * np.maximum(size, 1e-6)))
            if jumped.size:
                raise ArmillaryError(
                    f"{self._labels[jumped[0]]} jumps with '{s.data.name}' at the operating point, where "
                    f"'{node}' switches, so it has no derivative there; linearise away from there, or smooth "
                    "it (tanh in place of sign)"
                )
