"""Random trees of rigid and flexible bodies, and their accelerations from the paths of their particles alone.

Every body is a cloud of particles, so there is nothing to it but positions x(q): with J = ∂x/∂q

    Σ m Jᵀ J q̈ = Σ Jᵀ( F − m J̇ q̇ ) − K η − C η̇

J comes from complex steps, exact to rounding; J̇ q̇ from central differences of eighth order along q̇. No
formula of mechanics beyond Newton's and no code of the package enters. Coordinates are such that u = q̇.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import armillary as arm

Array = np.ndarray
AXES = {"x": 0, "y": 1, "z": 2}

# (translations, rotations) of a joint, in the order of its coordinates
JOINTS: tuple[tuple[str, str], ...] = (
    ("", "x"),
    ("", "z"),
    ("y", ""),
    ("x", "x"),
    ("", "zx"),
    ("", "xyz"),
    ("xyz", "zyx"),
    ("yz", "x"),
    ("", ""),
)


@dataclass
class Part:
    """Particles moved by modes, the first of them with small rotations as well: the node for children."""

    places: Array  # n × 3
    masses: Array  # n
    shapes: Array  # n × 3 × N
    turns: Array  # n × 3 × N
    stiffness: Array  # N × N
    damping: Array  # N × N


@dataclass
class Member:
    """A body of a random tree."""

    parent: int
    node: bool  # whether it hangs on its parent's node
    joint: tuple[str, str]
    at: Array
    orient: float
    places: Array  # of its rigid particles
    masses: Array
    part: Part | None = None
    held: bool = False

    @property
    def modes(self) -> int:
        return 0 if self.part is None else self.part.stiffness.shape[0]

    @property
    def freedoms(self) -> int:
        return len(self.joint[0]) + len(self.joint[1]) + self.modes


@dataclass
class FlexibleTree:
    """A tree with the same force on some of its points, and uniform gravity."""

    members: list[Member]
    gravity: Array
    push: Array
    forced: list[tuple[int, bool]] = field(default_factory=list)  # (member, on its node) that are pushed

    @property
    def freedoms(self) -> int:
        return sum(m.freedoms for m in self.members)


def random_tree(seed: int) -> FlexibleTree:
    """Two to five bodies, at least one of them flexible."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    members: list[Member] = []
    for i in range(count):
        parent = int(rng.integers(max(-1, i - 2), i)) if i else -1
        joint = JOINTS[int(rng.integers(len(JOINTS)))]
        flexible = rng.random() < 0.6 or i == 0
        part = _part(rng) if flexible else None
        on_node = parent >= 0 and members[parent].part is not None and rng.random() < 0.7
        own = part is not None and rng.random() < 0.4
        n = int(rng.integers(4, 7))
        members.append(
            Member(
                parent,
                on_node,
                joint,
                rng.normal(size=3),
                float(rng.uniform(-1, 1)) if rng.random() < 0.6 else 0.0,
                rng.normal(size=(n, 3)),
                rng.uniform(0.2, 1.0, size=n),
                part,
                own,
            )
        )
    if sum(len(m.joint[0]) + len(m.joint[1]) for m in members) == 0:
        members[0].joint = JOINTS[0]
    forced = [(count - 1, members[-1].part is not None), (0, True)]
    return FlexibleTree(members, rng.normal(size=3) * 4, rng.normal(size=3) * 3, forced)


def _part(rng: np.random.Generator) -> Part:
    nodes, modes = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    shapes = rng.normal(size=(nodes, 3, modes))
    turns = np.zeros((nodes, 3, modes))
    turns[0] = 0.5 * rng.normal(size=(3, modes))
    if rng.random() < 0.3:  # turns about one axis only have formulas of their own
        turns[0, [0, 1]] = 0
    root = rng.normal(size=(modes, modes))
    return Part(
        rng.normal(size=(nodes, 3)),
        rng.uniform(0.3, 1.0, size=nodes),
        shapes,
        turns,
        20 * (root @ root.T + np.eye(modes)),
        0.3 * np.eye(modes),
    )


def random_state(tree: FlexibleTree, seed: int) -> tuple[Array, Array]:
    """Large joint angles, modal rotations well below a radian."""
    rng = np.random.default_rng(seed + 1000)
    q = rng.uniform(0.3, 0.9, size=tree.freedoms) * rng.choice([-1, 1], size=tree.freedoms)
    at = 0
    for m in tree.members:
        at += m.freedoms
        q[at - m.modes : at] *= 0.5
    return q, rng.normal(size=tree.freedoms)


def turned_state(tree: FlexibleTree, seed: int, angle: float) -> tuple[Array, Array]:
    """The same, with modes so large that the node of every flexible body turns by this angle."""
    q, u = random_state(tree, seed)
    at = 0
    for m in tree.members:
        at += m.freedoms
        if m.part is not None:
            own = slice(at - m.modes, at)
            q[own] *= angle / np.linalg.norm(m.part.turns[0] @ q[own])
    return q, u


# ---------------------------------------------------------------- as a user describes it


def build(tree: FlexibleTree) -> arm.System:
    """The system of a tree."""
    s = arm.System("random flexible tree")
    bodies: list[arm.Body] = []
    for i, m in enumerate(tree.members):
        mass, com = m.masses.sum(), m.masses @ m.places / m.masses.sum()
        r = m.places - com
        inertia = sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(m.masses, r, strict=True))
        parent = None if m.parent < 0 else bodies[m.parent]
        if m.node and parent is not None:
            parent = parent.node("n0")
        body = s.body(
            f"B{i}",
            parent=parent,
            joint=arm.Joint(translate=list(m.joint[0]), rotate=list(m.joint[1])),
            at=m.at.tolist(),
            orient=("y", m.orient) if m.orient else None,
            com=com.tolist(),
            mass=float(mass),
            inertia=inertia.tolist(),
        )
        if m.part is not None:
            p = m.part
            body.flexible(
                nodes={f"n{k}": x.tolist() for k, x in enumerate(p.places)},
                masses=p.masses,
                shapes=p.shapes,
                rotations=p.turns,
                stiffness=p.stiffness,
                damping_matrix=p.damping,
                held="n0" if m.held else None,
            )
        bodies.append(body)
    s.gravity(float(np.linalg.norm(tree.gravity)), _direction(s.ground, tree.gravity))
    for k, (b, on_node) in enumerate(tree.forced):
        at = bodies[b].node("n0") if on_node else bodies[b].origin
        s.force(f"push{k}", float(np.linalg.norm(tree.push)), _direction(s.ground, tree.push), at=at)
    return s


def _direction(body: arm.Body, v: Array) -> Any:
    x, y, z = (float(c) for c in v / np.linalg.norm(v))
    return body.x * x + body.y * y + body.z * z


# ---------------------------------------------------------------- and as its particles move


def _turn(b: Array) -> Array:
    """Exp of a rotation vector, real or complex, by its power series."""
    x = b @ b
    A = B = 0
    term = 1.0
    for k in range(1, 26):  # term = (−x)^(k−1) / (2k − 1)!
        A, B = A + term, B + term / (2 * k)
        term = -term * x / ((2 * k) * (2 * k + 1))
    tilde = np.array([[0, -b[2], b[1]], [b[2], 0, -b[0]], [-b[1], b[0], 0]])
    return np.eye(3) + A * tilde + B * tilde @ tilde


def _about(axis: int, angle: Any) -> Array:
    return _turn(np.eye(3)[axis] * angle)


def particles(tree: FlexibleTree, q: Array) -> tuple[Array, Array]:
    """Positions of all particles, and of the points that are pushed."""
    found, frames, nodes = [], [], []
    start = 0
    for m in tree.members:
        own = q[start : start + m.freedoms]
        start += m.freedoms
        origin, R = (np.zeros(3), np.eye(3)) if m.parent < 0 else (nodes if m.node else frames)[m.parent]
        place = origin + R @ m.at
        slides, turns = m.joint
        for k, letter in enumerate(slides):
            place = place + R @ (np.eye(3)[AXES[letter]] * own[k])
        for k, letter in enumerate(turns):
            R = R @ _about(AXES[letter], own[len(slides) + k])
        R = R @ _about(1, m.orient)
        node = (place, R)
        if m.part is not None:
            p, eta = m.part, own[len(slides) + len(turns) :]
            moved = p.places + p.shapes @ eta
            bent = _turn(p.turns[0] @ eta)
            if m.held:
                R = R @ bent.T
                place = place - R @ moved[0]
            node = (place + R @ moved[0], R @ bent)
            found.extend(place + R @ x for x in moved)
        frames.append((place, R))
        nodes.append(node)
        found.extend(place + R @ x for x in m.places)
    pushed = [(nodes if on_node else frames)[b][0] for b, on_node in tree.forced]
    return np.array(found).ravel(), np.array(pushed).ravel()


def accelerations(tree: FlexibleTree, q: Array, u: Array) -> Array:
    """q̈ from Newton's law for every particle."""

    def jacobian(at: Array) -> tuple[Array, Array]:
        columns = [particles(tree, at + 1e-40j * e) for e in np.eye(len(q))]
        return tuple(np.array([c[k].imag / 1e-40 for c in columns]).T for k in (0, 1))  # type: ignore[return-value]

    h = 0.01
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    drift = 0.0
    for k, w in weights.items():
        ahead = particles(tree, q + k * h * u + 1e-40j * u)[0].imag / 1e-40
        behind = particles(tree, q - k * h * u + 1e-40j * u)[0].imag / 1e-40
        drift = drift + w * (ahead - behind) / h
    mass = []
    for m in tree.members:
        mass += [*(m.part.masses if m.part is not None else []), *m.masses]
    weight = np.repeat(mass, 3)
    J, J_push = jacobian(q)
    force = J.T @ (weight * (np.tile(tree.gravity, len(mass)) - drift))
    force += J_push.T @ np.tile(tree.push, len(tree.forced))
    start = 0
    for m in tree.members:
        start += m.freedoms
        if m.part is not None:
            own = slice(start - m.modes, start)
            force[own] -= m.part.stiffness @ q[own] + m.part.damping @ u[own]
    return np.linalg.solve(J.T @ (weight[:, None] * J), force)
