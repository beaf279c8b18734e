"""A solution of the conditions as an operating point: names, units, residuals, stability and notes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from armillary.analysis.operating.contacts.contact_conditions import CLOSED
from armillary.analysis.operating.newton import Root, outlook
from armillary.analysis.operating.point import OperatingPoint
from armillary.analysis.operating.problem import Problem
from armillary.analysis.operating.stability import stability_of
from armillary.columns import listed
from armillary.runtime.models.programs.instance import Instance
from armillary.untyped import DataTable


class Held(NamedTuple):
    """Parameters and memories that hold a point, in stated units, and the outputs there."""

    parameters: DataTable
    memory: dict[str, float]
    outputs: np.ndarray


def held_instance(made: Problem, x: np.ndarray) -> tuple[Instance, np.ndarray]:
    """The model with the parameters at the point x = [state, inputs], and the memory there."""
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
    """The loads that hold the point x = [state, inputs], with the inputs that were found, and the outputs."""
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
        stability=stability_of(made.values, c, C, made.held),
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
    contacts = made.conditions.equations.system.contacts.values()
    of_contacts = {
        s.data.name
        for c in contacts
        for s in (c.status, c.last, c.opened, c.longest, c.size, *c.direction)
        if s is not None
    }
    memories = [name for name in made.conditions.memories if name not in of_contacts]
    if memories:
        notes.append(f"held as they are at the start: {listed(memories)}")
    words = {1: "holds", 2: "slides", -2: "slides"}
    closed = [
        f"'{c.name}' {words[int(made.request.memory[c.status])]}"
        for c in made.conditions.contacts
        if made.request.memory[c.status] in CLOSED
    ]
    if closed:
        notes.append(f"contacts: {listed(closed)}")
    return tuple(notes)
