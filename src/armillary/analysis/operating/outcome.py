"""A solution of the conditions as an operating point: names, units, residuals, stability and notes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from armillary.analysis.operating.point import OperatingPoint
from armillary.analysis.operating.problem import Problem
from armillary.analysis.operating.search.newton import Root, outlook
from armillary.analysis.operating.stability import stability_of
from armillary.columns import listed
from armillary.runtime.models.programs.instance import Instance
from armillary.untyped import DataTable


class Held(NamedTuple):
    """Parameters and memories that hold a point, in stated units, and the outputs there."""

    parameters: DataTable
    memory: dict[str, float]
    outputs: np.ndarray


def held_values(made: Problem, x: np.ndarray) -> Held:
    """The loads that hold the point x = [state, inputs], with the inputs that were found, and the outputs."""
    request, found = made.request, made.conditions
    parameters, memory, stored = dict(request.parameters), {}, request.memory.copy()
    memories = list(found.equations.system.memories)
    for name, value in zip(found.inputs, x[len(found.states) :].tolist(), strict=True):
        q = request.quantities[name]
        if q.kind == "parameter":
            parameters[name] = value / q.factor
        else:
            memory[name], stored[memories.index(name)] = value / q.factor, value
    outputs = Instance(request.model, parameters).outputs(request.t, x[: len(found.states)], stored)
    return Held(parameters, memory, outputs)


def operating_point(made: Problem, root: Root) -> OperatingPoint:
    """A solution with its names, units, residuals and stability."""
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
        stability=stability_of(made.values, c, C),
        notes=_notes(made, open_, root),
        problem=made,
    )


def _notes(made: Problem, open_: np.ndarray, root: Root) -> tuple[str, ...]:
    """Notes for readers of the point."""
    notes = []
    if made.undecided:
        notes.append(f"nothing decides {listed(made.undecided)}, held at the start")
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
    if made.conditions.memories:
        notes.append(f"held as they are at the start: {listed(made.conditions.memories)}")
    return tuple(notes)
