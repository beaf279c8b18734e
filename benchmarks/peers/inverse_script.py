"""Efforts of a robot by Pinocchio's recursive Newton–Euler algorithm, under the peers' interpreter.

    python inverse_script.py FILE floating|fixed GX GY GZ SEED        prints one JSON object

States and rates are random; joints go by their names in the file, with the conventions of robots_script.py.
The damping of joints and joints that mimic others take part as in Armillary's import.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pinocchio as pin
from robots_script import STATES, index, pinocchio_state, pinocchio_text


def efforts(path: str, floating: bool, gravity: list[float], seed: int) -> dict[str, Any]:
    model = pin.buildModelFromUrdf(path, *([pin.JointModelFreeFlyer()] if floating else []))
    model.gravity.linear = np.array(gravity)
    if floating:
        model.names[1] = "floating_base"
    data = model.createData()
    with open(path, "rb") as file:
        root = ET.fromstring(file.read().strip())
    mimics, damping = {}, np.zeros(model.nv)
    for joint in root.findall("joint"):
        name, mimic, dynamics = joint.get("name"), joint.find("mimic"), joint.find("dynamics")
        if joint.get("type") == "fixed" or not model.existJointName(name):
            continue
        if mimic is not None:
            mimics[name] = (
                mimic.get("joint"),
                float(mimic.get("multiplier", 1.0)),
                float(mimic.get("offset", 0.0)),
            )
        if dynamics is not None:
            damping[index(model, name)] = float(dynamics.get("damping", 0.0))
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {"states": [], "q": [], "v": [], "given": []}
    for _ in range(STATES):
        pin.seed(int(rng.integers(1000)))
        q = pin.randomConfiguration(model, np.full(model.nq, -1.0), np.full(model.nq, 1.0))
        v, a = rng.normal(size=(2, model.nv))
        for follower, (leader, k, offset) in mimics.items():
            i, j = index(model, follower), index(model, leader)
            follower_q = model.joints[model.getJointId(follower)].idx_q
            q[follower_q] = k * q[model.joints[model.getJointId(leader)].idx_q] + offset
            v[i], a[i] = k * v[j], k * a[j]
        tau = pin.rnea(model, data, q, v, a) + damping * v
        for follower, (leader, k, _) in mimics.items():
            tau[index(model, leader)] += k * tau[index(model, follower)]
        state = pinocchio_state(model, q, v, a)
        state["effort"] = {}
        for i in range(1, model.njoints):
            joint = model.joints[i]
            own = tau[joint.idx_v : joint.idx_v + joint.nv]
            if joint.nq == 7:  # a force along the parent's axes
                x, y, z, w = q[joint.idx_q + 3 : joint.idx_q + 7]
                own = [*(pin.Quaternion(w, x, y, z).matrix() @ own[:3]), *own[3:]]
            state["effort"][model.names[i]] = [float(x) for x in own]
        found["states"].append(state)
        for key, value in (("q", q), ("v", v), ("given", a)):
            found[key].append(value.tolist())
    return {**found, "nv": model.nv, "text": pinocchio_text(model)}


if __name__ == "__main__":
    file, base, *rest = sys.argv[1:]
    print(json.dumps(efforts(file, base == "floating", [float(x) for x in rest[:3]], int(rest[3]))))
