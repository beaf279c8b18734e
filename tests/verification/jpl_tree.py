"""The constructed five-body tree of JPL's formulations as a description, with every load a parameter."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import armillary as arm
from armillary.stages.model import Model
from tests.verification.common import reference

AXES = "xyz"
GENERIC = reference("jpl_generic_tree")


def tree(data: dict[str, Any], formulation: str, prescribed: Any = None) -> arm.System:
    """Bodies b0 to b4 with their appendages; hinges that ``prescribed`` marks move as parameters say."""
    inputs = data["inputs"]
    records = data["appendages_MBDYFR" if formulation == "mbdyfr" else "appendages_MBDYFN_MBDYFL"]
    s = arm.System("generic tree")
    bodies: list[arm.Body] = []
    hinge = 0
    for k, mass in enumerate(inputs["mass"]):
        carried = [r for r in records if r["body"] == k]
        link = next((c for c in inputs["connections"] if c["body"] == k), None)
        inward = np.array(inputs["p_in"][str(k)]) if link else np.zeros(3)
        rigid = _rigid(mass, np.array(inputs["inertia_about_o"][k]), carried, inward)
        if link is None:
            body = s.body(f"b{k}", joint=arm.Free(), **rigid)
        else:
            axes = inputs["hinge_axes"][hinge : hinge + link["dof"]]
            parent = bodies[link["inboard"]]
            outward = np.array(inputs["p_out"][f"{link['inboard']}->{k}"]) - _inward(inputs, link["inboard"])
            body = s.body(f"b{k}", parent, arm.Joint(rotate=axes), at=tuple(outward), **rigid)
            _hinge_torques(s, body, parent, axes, hinge)
            hinge += link["dof"]
        bodies.append(body)
        for record in carried:
            _flexible(body, record, inward, formulation)
            _node_loads(s, body, records.index(record), record)
        for axis in AXES:
            direction = getattr(body, axis)
            s.moment(f"T{k}{axis}", f"T{k}{axis}_", direction, on=body)
            s.force(f"F{k}{axis}", f"F{k}{axis}_", direction, at=body.point(f"o{axis}", tuple(-inward)))
    if prescribed is not None:
        _prescribe(s, bodies, prescribed)
    return s


@cache
def compiled(formulation: str) -> Model:
    """The tree of the reference data with free hinges, by a formulation."""
    return tree(GENERIC, formulation).derive(formulation).compile()


def parameters(data: dict[str, Any], state: dict[str, Any]) -> dict[str, float]:
    """The loads of a reference state, by name."""
    found: dict[str, float] = {f"tau{i}_": v for i, v in enumerate(_moments(data["inputs"], state))}
    for letter, key in (("T", "body_torque_about_o"), ("F", "body_force_at_o")):
        for k, vector in enumerate(state[key]):
            found |= {f"{letter}{k}{axis}_": v for axis, v in zip(AXES, vector, strict=True)}
    for letter, key in (("t", "node_torque"), ("f", "node_force")):
        for m, nodes in enumerate(state[key]):
            for n, vector in enumerate(nodes):
                found |= {f"{letter}{m}_{n}{axis}_": v for axis, v in zip(AXES, vector, strict=True)}
    return found


def _moments(inputs: dict[str, Any], state: dict[str, Any]) -> list[float]:
    """Moments along the hinge axes whose work is that of the data's hinge torques.

    A moment between two bodies works in all hinges between them whose axes are not across it.
    """
    found: list[float] = []
    for link in inputs["connections"]:
        own = slice(len(found), len(found) + link["dof"])
        turn, axes = np.eye(3), []
        for axis, angle in zip(inputs["hinge_axes"][own], state["gamma"][own], strict=True):
            axes.append(turn @ axis)
            turn = turn @ Rotation.from_rotvec(angle * np.array(axis)).as_matrix()
        work = np.array(axes) @ np.array(axes).T
        found += np.linalg.solve(work, state["hinge_torque"][own]).tolist()
    return found


def _inward(inputs: dict[str, Any], k: int) -> np.ndarray:
    return np.array(inputs["p_in"].get(str(k), (0, 0, 0)))


def _point(r: np.ndarray) -> np.ndarray:
    return r @ r * np.eye(3) - np.outer(r, r)


def _rigid(mass: float, inertia: np.ndarray, carried: list[Any], inward: np.ndarray) -> dict[str, Any]:
    """A substructure less its nodes, about the hinge point."""
    own, moment, left = mass, np.zeros(3), inertia.copy()
    for node in (n for record in carried for n in record["nodes"]):
        r = np.array(node["r"])
        own -= node["mass"]
        moment -= node["mass"] * r
        left -= node["mass"] * _point(r) + np.array(node["inertia"])
    com = moment / own
    left -= own * _point(com)
    return {"mass": own, "com": tuple(com - inward), "inertia": left.tolist(), "check_inertia": False}


def _flexible(body: arm.Body, record: dict[str, Any], inward: np.ndarray, formulation: str) -> None:
    common: dict[str, Any] = {
        "nodes": {f"n{i}": tuple(np.array(n["r"]) - inward) for i, n in enumerate(record["nodes"])},
        "masses": [n["mass"] for n in record["nodes"]],
        "inertias": [n["inertia"] for n in record["nodes"]],
    }
    if formulation == "mbdyfr":
        body.flexible(
            **common, stiffness=np.array(record["stiffness_6n"]), modes=record["modes_kept"],
            damping=record["damping"], spin=record["Omega"],
        )  # fmt: skip
    else:
        sigma = np.array(record["sigma"])
        body.flexible(
            **common, shapes=np.array(record["phi"]), stiffness=np.diag(sigma**2),
            damping_matrix=np.diag(2 * np.array(record["damping"]) * sigma),
        )  # fmt: skip


def _node_loads(s: arm.System, body: arm.Body, m: int, record: dict[str, Any]) -> None:
    for n in range(len(record["nodes"])):
        node = body.node(f"n{n}")
        for axis in AXES:
            s.force(f"f{m}_{n}{axis}", f"f{m}_{n}{axis}_", getattr(body, axis), at=node)
            s.moment(f"t{m}_{n}{axis}", f"t{m}_{n}{axis}_", getattr(body, axis), on=node)


def _hinge_torques(s: arm.System, body: arm.Body, parent: arm.Body, axes: Any, first: int) -> None:
    frames = []
    frame = body.frame
    for _ in axes:
        assert frame.parent is not None
        frame = frame.parent
        frames.append(frame)
    for i, (before, axis) in enumerate(zip(reversed(frames), axes, strict=True)):
        name = f"tau{first + i}"
        s.moment(name, f"{name}_", before.vector(axis), on=body, reaction=parent)


def _prescribe(s: arm.System, bodies: list[arm.Body], values: Any) -> None:
    """Hinge motions γ + γ̇ t + ½ γ̈ t² for those that are given, from parameters."""
    names = [f"{b.name}.q{i + 1}" for b in bodies[1:] for i in range(len(b.joint_coordinates))]
    for i, (name, given) in enumerate(zip(names, values, strict=True)):
        if given:
            for letter, units in (("a", "rad"), ("v", "rad/s"), ("w", "rad/s2")):
                s.parameter(f"{letter}{i}", 0.0, units=units)
            s.prescribe(name, f"a{i} + v{i}*t + 0.5*w{i}*t^2")
