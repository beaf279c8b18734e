"""Accelerations of robot files by the programs that these files were made for, as JSON in ``data``.

    python tests/files/robots/make_reference.py          needs pinocchio and mujoco, not Armillary

States are random. Everything is written by the file's names of joints and actuators, in Armillary's
conventions: coordinates counted from rest, quaternions scalar first, a free body's velocity in its parent's
axes and its angular velocity in its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples"
STATES = 4


def rounded(values: Any) -> list[float]:
    return [float(x) for x in np.atleast_1d(values)]


def write(name: str, made_by: str, states: list[dict[str, Any]], **more: Any) -> None:
    content = {"made_by": made_by, **more, "states": states}
    (HERE / "data" / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- Pinocchio


def to_world(R: np.ndarray, v: np.ndarray, a: np.ndarray, n: int) -> tuple[list[float], list[float]]:
    """Velocity and acceleration of an origin in the parent's axes, from those of a body-axes joint."""
    linear, angular = np.zeros(3), np.zeros(3)
    rate, spin = np.zeros(3), np.zeros(3)
    if n == 6:
        linear, angular, rate, spin = v[:3], v[3:], a[:3], a[3:]
        up, down = R @ linear, R @ (rate + np.cross(angular, linear))
        return [*up, *angular], [*down, *spin]
    linear[:2], angular[2], rate[:2], spin[2] = v[:2], v[2], a[:2], a[2]
    up, down = R @ linear, R @ (rate + np.cross(angular, linear))
    return [*up[:2], angular[2]], [*down[:2], spin[2]]


def urdf(
    path: Path,
    name: str,
    damping: dict[str, float],
    *,
    floating: bool = False,
    mimic: tuple[str, str] | None = None,
) -> None:
    root = pinocchio.JointModelFreeFlyer() if floating else None
    model = pinocchio.buildModelFromUrdf(str(path), root) if root else pinocchio.buildModelFromUrdf(str(path))
    data = model.createData()
    rng = np.random.default_rng(len(name))
    low, high = np.full(model.nq, -1.0), np.full(model.nq, 1.0)
    names = {i: model.names[i] for i in range(1, model.njoints)}
    if floating:
        names[1] = "floating_base"
    states = []
    for _ in range(STATES):
        pinocchio.seed(int(rng.integers(1000)))
        q = pinocchio.randomConfiguration(model, low, high)
        v, tau = rng.normal(size=model.nv), rng.normal(size=model.nv) * 5
        for i in names:
            if model.joints[i].nv > 1:
                tau[model.joints[i].idx_v : model.joints[i].idx_v + model.joints[i].nv] = 0.0
        if mimic:
            follower, leader = (model.joints[model.getJointId(x)] for x in mimic)
            q[follower.idx_q], v[follower.idx_v], tau[follower.idx_v] = q[leader.idx_q], v[leader.idx_v], 0.0
        forces = tau.copy()
        for i, label in names.items():
            k = model.joints[i].idx_v
            forces[k] -= damping.get(label, 0.0) * v[k]
        if mimic:  # q̈ = G z̈: the follower's column goes to its leader's
            G = np.eye(model.nv)
            G[follower.idx_v, leader.idx_v] = 1.0
            G = np.delete(G, follower.idx_v, axis=1)
            M = pinocchio.crba(model, data, q)
            M = np.triu(M) + np.triu(M, 1).T
            h = pinocchio.nonLinearEffects(model, data, q, v)
            a = G @ np.linalg.solve(G.T @ M @ G, G.T @ (forces - h))
        else:
            a = pinocchio.aba(model, data, q, v, forces).copy()
        state: dict[str, Any] = {"q": {}, "u": {}, "tau": {}, "udot": {}}
        for i, label in names.items():
            joint = model.joints[i]
            own_q = q[joint.idx_q : joint.idx_q + joint.nq]
            own_v, own_a = v[joint.idx_v : joint.idx_v + joint.nv], a[joint.idx_v : joint.idx_v + joint.nv]
            if joint.nq == 7:
                x, y, z, w = own_q[3:]
                R = pinocchio.Quaternion(w, x, y, z).matrix()
                own_q = np.array([*own_q[:3], w, x, y, z])
                own_v, own_a = to_world(R, own_v, own_a, 6)
            elif joint.nq == 4:
                c, s = own_q[2:]
                own_q = np.array([own_q[0], own_q[1], np.arctan2(s, c)])
                own_v, own_a = to_world(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), own_v, own_a, 3)
            elif joint.nq == 2:
                own_q = np.arctan2(own_q[1], own_q[0])
            state["q"][label], state["u"][label] = rounded(own_q), rounded(own_v)
            state["udot"][label] = rounded(own_a)
            if joint.nv == 1:
                state["tau"][label] = float(tau[joint.idx_v])
        states.append(state)
    write(name, f"Pinocchio {pinocchio.__version__}", states)


# ---------------------------------------------------------------- MuJoCo


def mjcf(path: Path, name: str, accelerations: Callable[[Any, Any], np.ndarray], seed: int) -> None:
    model = mujoco.MjModel.from_xml_path(str(path))
    for flag in ("CONTACT", "LIMIT", "FRICTIONLOSS"):
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}")
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(model)
    rng = np.random.default_rng(seed)
    states = []
    for _ in range(STATES):
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv) * 0.7, 1.0)
        data.qvel[:] = rng.normal(size=model.nv)
        data.ctrl[:] = rng.normal(size=model.nu) * 1.5
        udot = accelerations(model, data)
        state: dict[str, Any] = {"q": {}, "u": {}, "tau": {}, "udot": {}}
        for i in range(model.njnt):
            label = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, i)
            nq, nv = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}[int(model.jnt_type[i])]
            at, dof = int(model.jnt_qposadr[i]), int(model.jnt_dofadr[i])
            rest = model.qpos0[at : at + nq] if nq == 1 else 0.0
            state["q"][label] = rounded(data.qpos[at : at + nq] - rest)
            state["u"][label] = rounded(data.qvel[dof : dof + nv])
            state["udot"][label] = rounded(udot[dof : dof + nv])
        for i in range(model.nu):
            state["tau"][mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i)] = float(data.ctrl[i])
        states.append(state)
    masses = {model.body(i).name: float(model.body_mass[i]) for i in range(1, model.nbody)}
    write(name, f"MuJoCo {mujoco.__version__}", states, masses=masses)


def unconstrained(model: Any, data: Any) -> np.ndarray:
    mujoco.mj_forward(model, data)
    return data.qacc_smooth.copy()


def constrained(model: Any, data: Any) -> np.ndarray:
    """Rigid constraints, from MuJoCo's mass matrix, forces, residuals and their Jacobian:

    [ M  Jᵀ ] [ q̈ ]   [ f    ]
    [ J  0  ] [ λ ] = [ −J̇ v ]        J̇ v by differences of sixth order along the motion
    """
    for _ in range(50):  # assemble
        mujoco.mj_forward(model, data)
        J = data.efc_J.reshape(data.nefc, model.nv)
        mujoco.mj_integratePos(model, data.qpos, -np.linalg.pinv(J, rcond=1e-9) @ data.efc_pos, 1.0)
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() < 1e-13
    J = data.efc_J.reshape(data.nefc, model.nv).copy()
    data.qvel[:] -= np.linalg.pinv(J, rcond=1e-9) @ (J @ data.qvel)
    mujoco.mj_forward(model, data)
    f = data.qfrc_smooth.copy()
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    home, v, h = data.qpos.copy(), data.qvel.copy(), 2e-3

    def turned(steps: int) -> np.ndarray:
        data.qpos[:] = home
        mujoco.mj_integratePos(model, data.qpos, v, steps * h)
        mujoco.mj_fwdPosition(model, data)
        return data.efc_J.reshape(data.nefc, model.nv) @ v

    weights = {1: 45, 2: -9, 3: 1}
    drift = sum(w * (turned(k) - turned(-k)) for k, w in weights.items()) / (60 * h)
    data.qpos[:] = home
    mujoco.mj_forward(model, data)
    rows = len(J)
    K = np.block([[M, J.T], [J, np.zeros((rows, rows))]])
    return np.linalg.lstsq(K, np.concatenate([f, -drift]), rcond=1e-11)[0][: model.nv]


def write_bracket() -> None:
    """An angle bracket, which is not convex, as STL (binary) and OBJ."""
    L = [(0, 0), (0.3, 0), (0.3, 0.05), (0.05, 0.05), (0.05, 0.2), (0, 0.2)]
    flat = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    corners = np.array([(x, y, z) for z in (0.0, 0.1) for x, y in L])
    faces = [(c, b, a) for a, b, c in flat] + [(a + 6, b + 6, c + 6) for a, b, c in flat]
    for i in range(6):
        k = (i + 1) % 6
        faces += [(i, k, k + 6), (i, k + 6, i + 6)]
    body = b"".join(
        np.zeros(3, "<f4").tobytes() + corners[list(f)].astype("<f4").tobytes() + b"\0\0" for f in faces
    )
    (HERE / "data" / "bracket.stl").write_bytes(b"\0" * 80 + np.array(len(faces), "<u4").tobytes() + body)
    lines = [f"v {x:g} {y:g} {z:g}" for x, y, z in corners] + [
        f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces
    ]
    (HERE / "data" / "bracket.obj").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_bracket()
    arm = {"pan": 1.2, "lift": 1.2, "elbow": 0.8, "left": 5.0}
    urdf(EXAMPLES / "six_axis_arm.urdf", "six_axis_arm", arm, mimic=("right", "left"))
    urdf(EXAMPLES / "six_axis_arm.urdf", "six_axis_arm_floating", arm, floating=True, mimic=("right", "left"))
    urdf(HERE / "data" / "platform.urdf", "platform", {})
    mjcf(HERE / "data" / "pendulum.xml", "pendulum", unconstrained, 1)
    mjcf(EXAMPLES / "humanoid.xml", "humanoid", unconstrained, 2)
    mjcf(HERE / "data" / "linkage.xml", "linkage", constrained, 3)
    mjcf(HERE / "data" / "workshop.xml", "workshop", unconstrained, 4)
