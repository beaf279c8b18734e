"""Robots as Pinocchio and MuJoCo read them, under the peers' interpreter: states, accelerations, and for
Pinocchio the model as text.

    python robots_script.py pinocchio|mujoco FILE SEED        prints one JSON object

States are random. Joints go by their names in the file, with Armillary's conventions: coordinates counted
from rest, quaternions scalar first, a free body's velocity in its parent's axes and its angular velocity in
its own.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

STATES = 4


def pinocchio_robot(path: str, seed: int) -> dict[str, Any]:
    """A floating robot; joints that mimic others are free in Pinocchio, so accelerations are projected."""
    import xml.etree.ElementTree as ET

    import pinocchio as pin

    model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    data = model.createData()
    model.names[1] = "floating_base"
    with open(path, "rb") as file:
        root = ET.fromstring(file.read().strip())
    mimics, damping = {}, {}
    for joint in root.findall("joint"):
        mimic, dynamics = joint.find("mimic"), joint.find("dynamics")
        if mimic is not None and joint.get("type") != "fixed":
            numbers = (float(mimic.get(key, usual)) for key, usual in (("multiplier", 1.0), ("offset", 0.0)))
            mimics[joint.get("name")] = (mimic.get("joint"), *numbers)
        if dynamics is not None:
            damping[joint.get("name")] = float(dynamics.get("damping", 0.0))
    G = np.eye(model.nv)
    for follower, (leader, k, _) in mimics.items():
        if not model.existJointName(leader):
            raise SystemExit(f"joint '{follower}' follows '{leader}', which is not there")
        G[index(model, follower)] = k * G[index(model, leader)]
    keep = [j for j in range(model.nv) if j not in {index(model, name) for name in mimics}]
    G = G[:, keep]
    rng = np.random.default_rng(seed)
    states, raw_q, raw_v = [], [], []
    for _ in range(STATES):
        pin.seed(int(rng.integers(1000)))
        q = pin.randomConfiguration(model, np.full(model.nq, -1.0), np.full(model.nq, 1.0))
        v = rng.normal(size=model.nv)
        for follower, (leader, k, offset) in mimics.items():
            a, b = (model.joints[model.getJointId(x)] for x in (follower, leader))
            angle = q[b.idx_q] if b.nq == 1 else np.arctan2(q[b.idx_q + 1], q[b.idx_q])
            angle = k * angle + offset
            q[a.idx_q : a.idx_q + a.nq] = angle if a.nq == 1 else (np.cos(angle), np.sin(angle))
            v[a.idx_v] = k * v[b.idx_v]
        effort = np.zeros(model.nv)
        for i in range(1, model.njoints):
            j = model.joints[i]
            if j.nv == 1:
                effort[j.idx_v] -= damping.get(model.names[i], 0.0) * v[j.idx_v]
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        h = pin.nonLinearEffects(model, data, q, v)
        reduced = G.T @ M @ G
        if np.linalg.matrix_rank(reduced, hermitian=True) < len(keep):
            raise SystemExit("its mass matrix is singular")
        acceleration = G @ np.linalg.solve(reduced, G.T @ (effort - h))
        states.append(pinocchio_state(model, q, v, acceleration))
        raw_q.append(q.tolist())
        raw_v.append(v.tolist())
    return {"states": states, "q": raw_q, "v": raw_v, "nv": model.nv, "text": pinocchio_text(model)}


def index(model: Any, name: str) -> int:
    return int(model.joints[model.getJointId(name)].idx_v)


def pinocchio_state(model: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, Any]:
    import pinocchio as pin

    state: dict[str, Any] = {"q": {}, "u": {}, "udot": {}}
    for i in range(1, model.njoints):
        joint, name = model.joints[i], model.names[i]
        own_q = q[joint.idx_q : joint.idx_q + joint.nq]
        own_v, own_a = (x[joint.idx_v : joint.idx_v + joint.nv] for x in (v, a))
        if joint.nq == 7:
            x, y, z, w = own_q[3:]
            R = pin.Quaternion(w, x, y, z).matrix()
            own_q = [*own_q[:3], w, x, y, z]
            rate = own_a[:3] + np.cross(own_v[3:], own_v[:3])
            own_v, own_a = [*(R @ own_v[:3]), *own_v[3:]], [*(R @ rate), *own_a[3:]]
        elif joint.nq == 2:
            own_q = [np.arctan2(own_q[1], own_q[0])]
        elif joint.nq == 4:
            raise SystemExit("a planar joint")
        for key, value in (("q", own_q), ("u", own_v), ("udot", own_a)):
            state[key][name] = [float(x) for x in value]
    return state


def pinocchio_text(model: Any) -> str:
    lines = [" ".join(map(repr, model.gravity.linear.tolist()))]
    for i in range(1, model.njoints):
        joint, place, inertia = model.joints[i], model.jointPlacements[i], model.inertias[i]
        axis = np.zeros(3)
        if "Unaligned" in joint.shortname():
            axis = np.array(joint.extract().axis).ravel()
        numbers = [*axis, *place.rotation.ravel(), *place.translation, inertia.mass, *inertia.lever]
        numbers += [*inertia.inertia.ravel()]
        lines.append(f"{joint.shortname()} {model.parents[i]} " + " ".join(repr(float(x)) for x in numbers))
    return "\n".join(lines) + "\n"


def mujoco_robot(path: str, seed: int) -> dict[str, Any]:
    """Without contact, limits, dry friction, equalities, fluids, tendons and drives."""
    import mujoco

    spec = mujoco.MjSpec.from_file(path)
    for joint in spec.joints:
        joint.springdamper[:] = 0.0  # springs made for a time constant: an import leaves them out
    model = spec.compile()
    for flag in ("CONTACT", "LIMIT", "FRICTIONLOSS", "EQUALITY", "ACTUATION"):
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}")
    model.opt.density = model.opt.viscosity = 0.0
    model.tendon_stiffness[:], model.tendon_damping[:] = 0.0, 0.0
    data = mujoco.MjData(model)
    rng = np.random.default_rng(seed)
    states, raw_q, raw_v = [], [], []
    for _ in range(STATES):
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv) * 0.7, 1.0)
        data.qvel[:] = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        state: dict[str, Any] = {"q": {}, "u": {}, "udot": {}}
        for i in range(model.njnt):
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, i) or f"joint{i + 1}"
            nq, nv = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}[int(model.jnt_type[i])]
            at, dof = int(model.jnt_qposadr[i]), int(model.jnt_dofadr[i])
            rest = model.qpos0[at : at + nq] if nq == 1 else 0.0
            state["q"][name] = (data.qpos[at : at + nq] - rest).tolist()
            state["u"][name] = data.qvel[dof : dof + nv].tolist()
            state["udot"][name] = data.qacc_smooth[dof : dof + nv].tolist()
        states.append(state)
        raw_q.append(data.qpos.tolist())
        raw_v.append(data.qvel.tolist())
    return {"states": states, "q": raw_q, "v": raw_v, "nv": model.nv}


if __name__ == "__main__":
    program, file, chosen = sys.argv[1:4]
    made = {"pinocchio": pinocchio_robot, "mujoco": mujoco_robot}[program](file, int(chosen))
    print(json.dumps(made))
