"""Systems of all kinds by chance: joints, loads, loops, rolling, prescribed motion, momenta, own states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import armillary as arm


@dataclass
class Case:
    """A system with the formalism to derive it by, a place of its motion, inputs and outputs."""

    system: arm.System
    formalism: str
    at: dict[str, float] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def _joint(chance: np.random.Generator) -> Any:
    axis = "xyz"[chance.integers(3)]
    oblique = tuple(chance.normal(size=3).round(2).tolist())
    return [
        lambda: arm.Revolute(axis),
        lambda: arm.Revolute(oblique),
        lambda: arm.Prismatic(axis),
        lambda: arm.Cylindrical(axis),
        lambda: arm.Gimbal("zx"),
        lambda: arm.Gimbal("zyx"),
        lambda: arm.Spherical(),
        lambda: arm.Planar(axis),
    ][chance.integers(8)]()


def _three(chance: np.random.Generator, size: float = 0.5) -> tuple[float, ...]:
    return tuple((size * chance.normal(size=3)).round(3).tolist())


def random_case(seed: int) -> Case:
    """The case of a seed: a tree, a closed loop, or a body that rolls; the rest by chance too."""
    chance = np.random.default_rng(seed)
    return (_tree, _tree, _tree, _loop, _rolling)[seed % 5](chance)


def _tree(chance: np.random.Generator) -> Case:
    s = arm.System("random tree")
    L = s.parameter("L", 0.4, units="m")
    k = s.parameter("k", 3.0)
    command = s.input("command", 0.3)
    parent: Any = s.ground
    bodies, speeds = [], 0
    for i in range(int(chance.integers(2, 4))):
        free = i == 0 and chance.random() < 0.4
        rotation, velocity = (
            ("quaternion", "zyx")[chance.integers(2)],
            ("parent", "body", "auto")[chance.integers(3)],
        )
        joint = arm.Free(rotation, velocity=velocity) if free else _joint(chance)
        at = (L, *_three(chance)[1:])
        body = s.body(
            f"b{i}", parent, joint, at=at, com=_three(chance, 0.2), mass=float(chance.uniform(0.5, 3)),
            inertia=tuple((1 + chance.uniform(0, 0.5, 3)).round(3).tolist()),
        )  # fmt: skip
        bodies.append(body)
        speeds += len(body.speeds)
        parent = bodies[chance.integers(len(bodies))]
        if speeds >= 6:
            break
    s.gravity(9.81, -s.ground.z)
    first, last = bodies[0], bodies[-1]
    u = last.speeds[-1]
    s.moment(
        "control",
        command - k * u - 0.3 * u * u * u,
        last.z,
        on=last,
        reaction=first if last is not first else None,
    )
    hook = s.ground.point(*_three(chance, 2.0))
    s.strut("spring", "-20*(x - 0.3) - v + command", between=(hook, last.point(0.2, 0.1, 0.3)))
    if chance.random() < 0.4:
        z = s.state("z", rate=(u - s.memory("held", 0.2)) * arm.cos(3 * s.time), initial=0.1)
        s.force("lag", z * z, s.ground.x, at=first.com)
    formalism = ("kane", "recursive", "momentum", "auto")[chance.integers(4)]
    if chance.random() < 0.25 and len(bodies) > 1 and formalism != "momentum":
        q = last.coordinates[0]
        if not last.assembly.quaternions:
            s.prescribe(q, 0.2 * arm.sin(3 * s.time))
    s.output("height", arm.dot(arm.position(last.com), s.ground.z))
    s.output("slip", arm.dot(arm.acceleration(last.com), first.x))
    return Case(s, formalism, _place(s, chance), ["command", "k", "L"], ["height", "slip", "spring"])


def _place(s: arm.System, chance: np.random.Generator) -> dict[str, float]:
    """Values of all coordinates and speeds that are not prescribed."""
    given = {p.coordinate for p in s.prescriptions.values()} | set(s.prescriptions)
    found = {"t": float(chance.uniform(0, 1))}
    for node in s.moving():
        if node not in given and node.data.role in ("coordinate", "speed"):
            found[node.data.name] = float(chance.normal(scale=0.5)) + (
                0.6 if node.data.role == "coordinate" else 0
            )
    return found


def _loop(chance: np.random.Generator) -> Case:
    """A planar four-bar or a slider-crank in an oblique plane, driven and sprung."""
    s = arm.System("random loop")
    a = s.parameter("a", float(chance.uniform(0.2, 0.35)), units="m")
    b = s.parameter("b", float(chance.uniform(0.8, 1.0)), units="m")
    heavy = {"mass": 1.5, "inertia": (0.1, 0.12, 0.15)}
    crank = s.body("crank", joint=arm.Revolute("z"), com=(a / 2, 0.02, 0), **heavy)
    rod = s.body("rod", crank, arm.Revolute("z"), at=(a, 0, 0), com=(b / 2, 0, 0), **heavy)
    if chance.random() < 0.5:
        other = s.body("slider", joint=arm.Prismatic("x"), **heavy)
        s.close_loop(rod.point(b, 0, 0), other.origin, directions=[s.ground.x, s.ground.y])
        s.start({"crank.q1": 1.0, "rod.q1": -1.3, "slider.q1": 1.0})
    else:
        other = s.body("rocker", joint=arm.Revolute("z"), at=(0.9, 0, 0), com=(0.2, 0, 0), **heavy)
        s.close_loop(rod.point(b, 0, 0), other.point(0.7, 0, 0), directions=[s.ground.x, s.ground.y])
        s.start({"crank.q1": 1.0, "rod.q1": -0.6, "rocker.q1": 2.0})
    if chance.random() < 0.5:  # something that hangs on the loop
        s.body("bob", rod, _joint(chance), at=(0.3, 0, 0), com=(0.1, -0.2, 0.1), **heavy)
    s.gravity(9.81, -s.ground.y)
    s.moment("drive", s.input("torque", 0.4) - 0.3 * crank.u1, s.ground.z, on=crank)
    s.output("height", arm.dot(arm.position(rod.com), s.ground.y))
    s.output("rate", other.speeds[0])
    at = {"crank.q1": float(chance.uniform(0.6, 1.4)), "crank.u1": float(chance.normal())}
    return Case(s, ("kane", "recursive")[chance.integers(2)], at, ["torque", "a", "b"], ["height", "rate"])


def _rolling(chance: np.random.Generator) -> Case:
    """A sledge with a blade that does not slip sideways, and a wheel that rolls along it."""
    s = arm.System("random sledge")
    d = s.parameter("d", float(chance.uniform(0.2, 0.5)), units="m")
    sledge = s.body("sledge", joint=arm.Planar("z"), com=(d, 0.05, 0), mass=2.0, inertia=(0.3, 0.4, 0.5))
    s.constrain(arm.dot(arm.velocity(sledge.origin), sledge.y), name="blade")
    wheel = s.body("wheel", sledge, arm.Revolute("y"), at=(-d, 0, 0), mass=0.7, inertia=(0.02, 0.03, 0.02))
    s.constrain(arm.dot(arm.velocity(sledge.point(-d, 0, 0)), sledge.x) - 0.3 * wheel.u1, name="rolling")
    swing = s.body(
        "swing", sledge, _joint(chance), com=(0.1, 0.1, -0.4), mass=0.6, inertia=(0.02, 0.03, 0.04)
    )
    s.gravity(9.81, -s.ground.z)
    s.force("push", s.input("thrust", 1.2) - 0.2 * wheel.u1 * wheel.u1, sledge.x, at=sledge.com)
    s.output("along", arm.dot(arm.velocity(swing.com), s.ground.x))
    at = {"sledge.q3": float(chance.normal()), "sledge.u3": 0.4, "swing.u1": 0.3, "swing.q1": 0.8}
    return Case(s, ("kane", "recursive")[chance.integers(2)], at, ["thrust", "d"], ["along"])
