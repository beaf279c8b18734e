"""The benchmark models in Armillary, through its public interface only.

Masses, lengths and inertias are plain numbers, as they are for CasADi; joint efforts and the base wrench
are the parameters tau_1 ... (in the order of the speeds), so that they vary from state to state as they do
for the peers. A joint's effort enters its own equation alone, so nothing is gained by its being a
parameter. The timed function also gives the rates of the coordinates, which no peer computes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import armillary as arm
from benchmarks.candidate import DerivativesRecord, Native, Operations, generated, pointer
from benchmarks.linkages import Closure, Linkage
from benchmarks.models import Link, Model, Pool


def system(model: Model) -> arm.System:
    """The model as a user would describe it; bodies are named link_1, link_2, ..."""
    s = arm.System(model.title)
    bodies: list[Any] = []
    for i, link in enumerate(model.links):
        parent = bodies[link.parent] if link.parent >= 0 else s.ground
        body = s.body(
            f"link_{i + 1}", parent=parent, joint=_joint(link), at=link.at, com=link.com, mass=link.mass,
            inertia=link.inertia,
        )  # fmt: skip
        bodies.append(body)
        _, first = model.place(i)
        if link.joint == "free":
            _base_wrench(s, body)
        else:
            _joint_effort(s, link, body, parent, number=first + 1)
    if isinstance(model, Linkage):
        for closure in model.closures:
            _close(s, closure, bodies)
    strength = float(np.linalg.norm(model.gravity))
    if strength:
        axis = int(np.flatnonzero(model.gravity)[0])
        direction = (s.ground.x, s.ground.y, s.ground.z)[axis]
        s.gravity(strength, direction if model.gravity[axis] > 0 else -direction)
    return s


def _joint(link: Link) -> Any:
    if link.joint == "free":
        return arm.Free(rotation="quaternion", velocity="body")
    return {"revolute": arm.Revolute, "prismatic": arm.Prismatic}[link.joint](link.axis_name)


def _base_wrench(s: arm.System, body: Any) -> None:
    for k, axis in enumerate((body.x, body.y, body.z), start=1):
        s.force(f"base_force_{k}", s.parameter(f"tau_{k}", 0.0), axis, at=body.origin)
        s.moment(f"base_moment_{k}", s.parameter(f"tau_{k + 3}", 0.0), axis, on=body)


def _joint_effort(s: arm.System, link: Link, body: Any, parent: Any, *, number: int) -> None:
    effort = s.parameter(f"tau_{number}", 0.0) - link.stiffness * body.q1 - link.damping * body.u1
    axis = getattr(parent, link.axis_name)
    if link.joint == "revolute":
        s.moment(f"drive_{number}", effort, axis, on=body, reaction=parent)
    else:
        assert not any(link.at), "force and reaction share a line only if the joint is at its parent's origin"
        s.force(f"drive_{number}", effort, axis, at=body.origin, reaction=parent.origin)


def _close(s: arm.System, closure: Closure, bodies: list[Any]) -> None:
    """The loop as the interface closes it by default; a planar one along the ground's axes."""
    count = len(s.constraints)
    here = bodies[closure.link].point(f"loop_{count}_1", closure.point)
    there = bodies[closure.other].point(f"loop_{count}_2", closure.other_point)
    planar = [getattr(s.ground, axis) for axis in closure.axes]
    s.close_loop(here, there, None if closure.axes == "xyz" else planar)


def effort_parameters(tau: np.ndarray) -> dict[str, float]:
    return {f"tau_{i}": float(value) for i, value in enumerate(tau, start=1)}


def candidate(model: Model, states: Pool) -> tuple[Native, Any]:
    """The candidate and its compiled model."""
    described = system(model)
    start = time.process_time()
    equations = described.derive()
    derived = time.process_time()
    compiled = equations.compile()
    done = time.process_time()

    everything = [str(speed) for speed in described.speeds]
    kept = tuple(everything.index(name) for name in compiled.speed_names)
    if len(compiled.coordinate_names) != model.nq or len(everything) != model.nv:
        raise RuntimeError(
            f"{model.title}: Armillary has other coordinates than the benchmark's canonical ones"
        )
    state = np.ascontiguousarray(np.hstack((states.q, states.v[:, kept])))
    constants = np.array([compiled.constants(effort_parameters(tau)) for tau in states.tau], dtype=float)
    memory, rate = np.zeros(1), np.zeros(state.shape[1])
    record = DerivativesRecord(
        compiled.address("derivatives"), len(states), model.nq, len(kept), constants.shape[1],
        *(pointer(array) for array in (state, constants, memory, rate)),
    )  # fmt: skip
    ours = generated(
        "derivatives", f"Armillary {equations.formalism}", record, (compiled, state, constants, memory, rate),
        operations=Operations.of(equations), derive_seconds=derived - start, compile_seconds=done - derived,
        speeds=kept,
    )  # fmt: skip
    return ours, compiled
