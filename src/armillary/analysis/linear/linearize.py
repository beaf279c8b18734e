"""Models linearised at operating points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from armillary.algebra.arguments import read_only, several
from armillary.analysis.linear.checks import check_matrices, check_points, idle_inputs
from armillary.analysis.linear.closed_contacts import HeldLinearization, held_motions
from armillary.analysis.linear.derivatives.jacobians import Linearization, Matrices, linearization
from armillary.analysis.linear.linear_model import LinearModel
from armillary.analysis.linear.points import OperatingPoints, operating_points
from armillary.model.units import state_factor
from armillary.program.derivatives.linearization.form import LinearForm
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.programs.instance import Instance
from armillary.untyped import DataTable


def linearize(
    model: CompiledModel,
    at: object = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
) -> LinearModel:
    """The model linearised; see ``stages/model.py``, whose verb it is."""
    names = [
        tuple(map(str, several(group, what))) for group, what in ((inputs, "inputs="), (outputs, "outputs="))
    ]
    compiled = linearization(model, *names)
    points = operating_points(model, at, parameters)
    notes = (points.note, check_points(model, compiled, points), idle_inputs(compiled.form))
    return replace(at_points(model, compiled, points), note="; ".join(note for note in notes if note))


def at_points(model: CompiledModel, compiled: Linearization, points: OperatingPoints) -> LinearModel:
    """The linear model of compiled matrices at operating points."""
    found = compiled.rows(points.t, points.states, points.parameters, points.memory)
    check_matrices(compiled, found, model.equations.system.name)
    held = held_motions(model, compiled, points)
    used = compiled
    if held is not None:
        used = reduced = HeldLinearization(compiled, *held)
        found = reduced.reduced(found)
    form = used.form
    first = 0 if points.single else slice(None)
    A, B, C, D = (m[first] for m in _stated(form, found))
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
        operating_point=MappingProxyType(_values(model, points)),
        linearization=used,
    )


def _stated(form: LinearForm, inside: Matrices) -> list[np.ndarray]:
    """Matrices in stated units: x = factor · x_stated."""
    x, v, y = (np.array([v.factor for v in group]) for group in (form.states, form.inputs, form.outputs))
    A, B, C, D = inside
    pairs = ((A, x, x), (B, x, v), (C, y, x), (D, y, v))
    return [
        m if np.all(left == 1) and np.all(right == 1) else m * right / left[:, None]
        for m, left, right in pairs
    ]


def _values(model: CompiledModel, points: OperatingPoints) -> DataTable:
    """Operating points by name: coordinates, independent speeds and states, in stated units."""
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
