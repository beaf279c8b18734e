"""An independent model of closed loops: each body by itself, held by multipliers, in numbers.

    [ M  Jᵀ ] [ a ]   [ f ]
    [ J  0  ] [ λ ] = [ −γ ]        a = (v̇, ω̇) of each body, in ground axes

Places and velocities are read from outputs of the model under test; accelerations are computed here, to be
compared. Redundant rows do no harm: least squares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

import armillary as arm
from tests.verification.common import assert_near

Vec = np.ndarray


def watch(s: arm.System) -> None:
    """Outputs for place, axes, velocities and accelerations of every body."""
    for body in s.bodies.values():
        vectors = {
            "r": arm.position(body.com),
            "v": arm.velocity(body.com),
            "w": arm.angular_velocity(body),
            "a": arm.acceleration(body.com),
            "e": arm.angular_acceleration(body),
            "X": body.x,
            "Y": body.y,
            "Z": body.z,
        }
        for label, vector in vectors.items():
            for i, axis in enumerate(s.ground.frame.axes):
                s.output(f"{body.name}:{label}{i}", arm.dot(vector, axis))


@dataclass
class Part:
    """A rigid body in ground axes; ``force`` and ``torque`` about its mass centre are summed up by loads."""

    mass: float
    inertia: Vec
    r: Vec
    R: Vec
    v: Vec
    w: Vec
    centre: Vec  # mass centre in body axes
    force: Vec = field(default_factory=lambda: np.zeros(3))
    torque: Vec = field(default_factory=lambda: np.zeros(3))

    def arm(self, point: Sequence[float]) -> Vec:
        """From the mass centre to a point given in body axes from the body's origin."""
        return np.asarray(self.R @ (np.asarray(point, float) - self.centre))

    def push(self, force: Vec, point: Sequence[float] | None = None) -> None:
        self.force = self.force + force
        if point is not None:
            self.torque = self.torque + np.cross(self.arm(point), force)


def read(
    outputs: Mapping[str, float], bodies: Mapping[str, tuple[float, Sequence[float], Sequence[float]]]
) -> dict[str, Part]:
    """Bodies (mass, moments of inertia, mass centre) where watched outputs say they are, and the ground."""

    def triple(name: str, label: str) -> Vec:
        return np.array([outputs[f"{name}:{label}{i}"] for i in range(3)])

    zero = np.zeros(3)
    parts = {"ground": Part(1.0, np.eye(3), zero, np.eye(3), zero, zero, zero)}
    for name, (mass, moments, centre) in bodies.items():
        R = np.column_stack([triple(name, axis) for axis in "XYZ"])
        parts[name] = Part(
            mass,
            np.diag(np.asarray(moments, float)),
            triple(name, "r"),
            R,
            triple(name, "v"),
            triple(name, "w"),
            np.asarray(centre, float),
        )
    return parts


# A row: what it holds of each part's (v̇, ω̇), what remains with those zero, and its position.
Row = tuple[dict[str, Vec], float, float]
Rows = Callable[[Mapping[str, Part]], list[Row]]


def _swirl(w: Vec, s: Vec) -> Vec:
    return np.cross(w, np.cross(w, s))


def _ends(parts: Mapping[str, Part], p: str, at_p: Vec, q: str, at_q: Vec) -> tuple[Vec, Vec, Vec, Vec, Vec]:
    """Arms of both points, and the line from q to p with its rate and the known part of its second rate."""
    s, z = parts[p].arm(at_p), parts[q].arm(at_q)
    line = parts[p].r + s - parts[q].r - z
    rate = parts[p].v + np.cross(parts[p].w, s) - parts[q].v - np.cross(parts[q].w, z)
    return s, z, line, rate, _swirl(parts[p].w, s) - _swirl(parts[q].w, z)


def together(p: str, at_p: Sequence[float], q: str, at_q: Sequence[float]) -> Rows:
    """Two points coincide."""

    def rows(parts: Mapping[str, Part]) -> list[Row]:
        s, z, line, _, rest = _ends(parts, p, np.asarray(at_p), q, np.asarray(at_q))
        return [
            ({p: np.r_[d, np.cross(s, d)], q: -np.r_[d, np.cross(z, d)]}, float(d @ rest), float(d @ line))
            for d in np.eye(3)
        ]

    return rows


def apart(p: str, at_p: Sequence[float], q: str, at_q: Sequence[float], length: float) -> Rows:
    """Two points keep their distance."""

    def rows(parts: Mapping[str, Part]) -> list[Row]:
        s, z, line, rate, rest = _ends(parts, p, np.asarray(at_p), q, np.asarray(at_q))
        held = {p: np.r_[line, np.cross(s, line)], q: -np.r_[line, np.cross(z, line)]}
        return [(held, float(line @ rest + rate @ rate), float(np.linalg.norm(line)) - length)]

    return rows


def across(p: str, a: Sequence[float], q: str, b: Sequence[float]) -> Rows:
    """An axis of one body stays at right angles to an axis of another."""

    def rows(parts: Mapping[str, Part]) -> list[Row]:
        P, Q = parts[p], parts[q]
        x, y = P.R @ np.asarray(a, float), Q.R @ np.asarray(b, float)
        turn = np.r_[np.zeros(3), np.cross(x, y)]
        rest = _swirl(P.w, x) @ y + x @ _swirl(Q.w, y) + 2 * np.cross(P.w, x) @ np.cross(Q.w, y)
        return [({p: turn, q: -turn}, float(rest), float(x @ y))]

    return rows


def beside(p: str, at_p: Sequence[float], q: str, at_q: Sequence[float], b: Sequence[float]) -> Rows:
    """The line from a point of q to a point of p stays at right angles to an axis of q."""

    def rows(parts: Mapping[str, Part]) -> list[Row]:
        s, z, line, rate, rest = _ends(parts, p, np.asarray(at_p), q, np.asarray(at_q))
        Q = parts[q]
        y = Q.R @ np.asarray(b, float)
        held = {p: np.r_[y, np.cross(s, y)], q: -np.r_[y, np.cross(z, y) + np.cross(line, y)]}
        remains = y @ rest + 2 * rate @ np.cross(Q.w, y) + line @ _swirl(Q.w, y)
        return [(held, float(remains), float(line @ y))]

    return rows


def hinge(
    p: str, at_p: Sequence[float], q: str, at_q: Sequence[float], axis: Sequence[Sequence[float]]
) -> list[Rows]:
    """A revolute joint: points together, the axis in p across two directions of q (axis, first, second)."""
    own, first, second = axis
    return [together(p, at_p, q, at_q), across(p, own, q, first), across(p, own, q, second)]


def accelerations(parts: Mapping[str, Part], joints: Sequence[Rows]) -> tuple[dict[str, Vec], float, float]:
    """(v̇, ω̇) of each part by name, and the largest gap and speed that the joints leave."""
    names = [name for name in parts if name != "ground"]
    index = {name: 6 * i for i, name in enumerate(names)}
    n = 6 * len(names)
    rows = [row for joint in joints for row in joint(parts)]
    M, f, J = np.zeros((n, n)), np.zeros(n), np.zeros((len(rows), n))
    u = np.zeros(n)
    for name, i in index.items():
        part = parts[name]
        inertia = part.R @ part.inertia @ part.R.T
        M[i : i + 3, i : i + 3] = part.mass * np.eye(3)
        M[i + 3 : i + 6, i + 3 : i + 6] = inertia
        f[i : i + 3] = part.force
        f[i + 3 : i + 6] = part.torque - np.cross(part.w, inertia @ part.w)
        u[i : i + 6] = np.r_[part.v, part.w]
    for k, (held, _, _) in enumerate(rows):
        for name, factors in held.items():
            if name in index:
                J[k, index[name] : index[name] + 6] += factors
    rest = np.array([row[1] for row in rows])
    system = np.block([[M, J.T], [J, np.zeros((len(rows), len(rows)))]])
    found = np.linalg.lstsq(system, np.r_[f, -rest], rcond=1e-12)[0][:n]
    gap = float(np.max(np.abs([row[2] for row in rows])))
    return {name: found[i : i + 6] for name, i in index.items()}, gap, float(np.max(np.abs(J @ u)))


def check_accelerations(
    outputs: Mapping[str, float], parts: Mapping[str, Part], joints: Sequence[Rows], names: Sequence[str],
    tolerance: float, closed: tuple[float, float],
) -> None:  # fmt: skip
    """Accelerations among outputs are those of the parts under their pushes, of the largest; gaps and speeds
    that the joints leave are below ``closed``.
    """
    expected, gap, slip = accelerations(parts, joints)
    assert gap < closed[0]
    assert slip < closed[1]
    found = watched(outputs, names)
    scale = max(float(np.max(np.abs(a))) for a in expected.values())
    for name in names:
        assert_near(found[name] / scale, expected[name] / scale, tolerance, f"accelerations of {name}")


def watched(outputs: Mapping[str, float], names: Sequence[str]) -> dict[str, Vec]:
    """(v̇, ω̇) of bodies as the model under test gives them."""
    return {n: np.array([outputs[f"{n}:{label}{i}"] for label in "ae" for i in range(3)]) for n in names}
