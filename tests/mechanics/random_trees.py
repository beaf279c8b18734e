"""Random trees of bodies as plain data, and the systems that a user would describe for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from armillary.model import joints
from armillary.model.bodies.body import Body
from armillary.stages import System
from tests.mechanics.reference import (
    GROUND,
    Array,
    BodyData,
    Joint,
    LoadData,
    TreeData,
    axis_vector,
    equations,
    turn,
)

SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # elements of an inertia as users list them
SLANTED = (0.36, -0.48, 0.8)
IN_A_PLANE = (0.0, 0.6, -0.8)
ONE_AXIS: tuple[Any, ...] = ("x", "y", "z", (-1, 0, 0), (0, -1, 0), (0, 0, -1), SLANTED, IN_A_PLANE)
BALL = ("quaternion", "xzy", "xyx", "zyx", "zxz")

# Every kind of joint with every setting that takes another path through the code.
JOINTS: tuple[Joint, ...] = (
    Joint("fixed"),
    *(Joint("revolute", (axis,)) for axis in ONE_AXIS),
    *(Joint("prismatic", (axis,)) for axis in ONE_AXIS),
    *(Joint("cylindrical", (axis,)) for axis in ("x", (0, -1, 0), SLANTED)),
    *(Joint("planar", (normal, "parent")) for normal in ("x", "y", "z", (0, 0, -1), SLANTED)),
    *(Joint("planar", (normal, "body")) for normal in "xyz"),
    *(Joint("gimbal", (sequence,)) for sequence in ("zx", "xy", "zyx", "zxz", "yzx")),
    *(Joint("spherical", (rotation,)) for rotation in BALL),
    *(Joint("free", (rotation, axes)) for axes in ("parent", "body") for rotation in BALL[:3]),
    Joint("general", (("x", SLANTED), ())),
    Joint("general", (("z", "x", "y"), ("x", "y", "z"))),
    Joint("general", (("y",), (SLANTED, "x"))),
    Joint("general", (((0, 1, 1),), ("z", IN_A_PLANE, (0, 0, -1)))),
)

# Of each kind one along a principal axis and one along an oblique one, and whatever else differs: for what is
# done with the motions of a joint. That these are right for every axis, test_tree_formalisms.py shows.
KINDS: tuple[Joint, ...] = (
    Joint("fixed"),
    *(Joint(kind, (axis,)) for kind in ("revolute", "prismatic") for axis in ("y", SLANTED)),
    *(Joint("cylindrical", (axis,)) for axis in ((0, -1, 0), SLANTED)),
    *(Joint("planar", settings) for settings in (("y", "parent"), (SLANTED, "parent"), ("y", "body"))),
    *(Joint("gimbal", (sequence,)) for sequence in ("zx", "zxz")),
    *(Joint("spherical", (rotation,)) for rotation in ("quaternion", "zyx")),
    *(Joint("free", ("quaternion", axes)) for axes in ("parent", "body")),
    *(Joint("free", settings) for settings in (("xzy", "parent"), ("xyx", "body"))),
    *(j for j in JOINTS if j.kind == "general"),
)


@dataclass(frozen=True)
class Case:
    """A tree, how its fixed orientations are written, and a state."""

    tree: TreeData
    orients: list[Any]
    q: Array
    u: Array


def joint_case(joint: Joint, seed: int, *, moving_parent: bool) -> Case:
    """One joint under test with a child beyond it, on the ground or on a parent that turns and slides."""
    kinds = [Joint("general", ((SLANTED,), ("y", "x")))] if moving_parent else []
    kinds += [joint, Joint("revolute", (SLANTED,))]
    return _case(
        kinds, list(range(-1, len(kinds) - 1)), np.random.default_rng(seed), under_test=len(kinds) - 2
    )


def tree_case(seed: int) -> Case:
    """A random tree of two to eight bodies with any joints, massless frames and loads of every kind."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 9))
    kinds = [JOINTS[i] for i in rng.integers(len(JOINTS), size=count)]
    if sum(kind.nu for kind in kinds) == 0:
        kinds[0] = Joint("revolute", ("x",))
    parents = [int(rng.integers(max(-1, i - 3), i)) for i in range(count)]
    case = _case(kinds, parents, rng)
    return replace(case, tree=_with_frames(case.tree, case.q, case.u, rng))


@cache
def derived(seed: int, formalism: str, parameters: bool = True) -> Any:
    """Equations of a random tree, for tests that only read them."""
    return build(tree_case(seed), parameters=parameters).derive(formalism)


def _case(
    kinds: list[Joint], parents: list[int], rng: np.random.Generator, under_test: int | None = None
) -> Case:
    """Random data for given joints; the one under test is never without a fixed orientation."""
    oriented = [_orient(rng, kind, always=i == under_test) for i, kind in enumerate(kinds)]
    bodies = [
        BodyData(f"B{i}", parent, kind, rng.normal(size=3), matrix, rng.normal(size=3), *_inertia(rng))
        for i, (parent, kind, (_, matrix)) in enumerate(zip(parents, kinds, oriented, strict=True))
    ]
    tree = TreeData(bodies, _loads(rng, bodies), 9.81 * axis_vector(rng.normal(size=3)))
    q, u = np.concatenate([_coordinates(rng, kind) for kind in kinds]), rng.normal(size=tree.nu)
    return Case(tree, [written for written, _ in oriented], q, u)


def _orient(rng: np.random.Generator, joint: Joint, *, always: bool) -> tuple[Any, Array | None]:
    """(as the user writes it, as a matrix): nothing, a sequence with angles, or a matrix."""
    choice = int(rng.integers(1 if always else 0, 4))
    if choice == 0 or (joint.kind == "planar" and joint.settings[1] == "body"):  # which takes no orient
        return None, None
    if choice == 1:  # a quarter turn leads from one principal axis to another
        letter = str(rng.choice(list("xyz")))
        return (matrix := np.round(turn(axis_vector(letter), np.pi / 2))).tolist(), matrix
    sequence = str(rng.choice(["z", "zx", "yxy", "xyz"]))
    angles = rng.uniform(-1.5, 1.5, size=len(sequence))
    matrix = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        matrix = matrix @ turn(axis_vector(letter), angle)
    return ((sequence, *map(float, angles)) if choice == 2 else matrix), matrix


def _inertia(rng: np.random.Generator) -> tuple[float, Array]:
    """A mass and an inertia about the mass centre that some cloud of points has."""
    points = rng.normal(size=(6, 3))
    points -= points.mean(axis=0)
    return float(rng.uniform(0.5, 3)), np.eye(3) * np.sum(points**2) - points.T @ points


def _coordinates(rng: np.random.Generator, joint: Joint) -> Array:
    q = rng.uniform(0.3, 1.2, size=joint.nq) * rng.choice([-1, 1], size=joint.nq)
    if joint.settings and joint.settings[0] == "quaternion":
        e = rng.normal(size=4)
        q[-4:] = e / np.linalg.norm(e)
    return q


def _loads(rng: np.random.Generator, bodies: list[BodyData]) -> list[LoadData]:
    """Forces and moments with every kind of reaction, and a strut: between any bodies or ground."""

    def some(*not_this: int) -> int:
        return int(rng.choice([b for b in range(-1, len(bodies)) if b not in not_this]))

    def place(b: int) -> tuple[int, Array]:
        return b, rng.normal(size=3)

    last = len(bodies) - 1
    a, b = some(GROUND), some()
    return [
        LoadData("force", "weight_like", 3 * rng.normal(size=3), some(), at=place(last)),
        LoadData("force", "push", 3 * rng.normal(size=3), some(), at=place(a), reaction=some(a)),
        LoadData("force", "pull", 3 * rng.normal(size=3), some(), at=place(b), reaction=place(some(b))),
        LoadData("moment", "twist", 3 * rng.normal(size=3), some(), on=last),
        LoadData("moment", "motor", 3 * rng.normal(size=3), some(), on=a, reaction=some(a)),
        LoadData("strut", "spring", at=place(b), reaction=place(some(b)), law=(20.0, 2.0, 0.7)),
    ]


def _with_frames(tree: TreeData, q: Array, u: Array, rng: np.random.Generator) -> TreeData:
    """The tree with some inner bodies as massless frames, where the mass matrix stays well conditioned."""
    inner = {body.parent for body in tree.bodies} - {GROUND}
    for b in sorted(inner):
        if rng.random() < 0.5:
            bodies = list(tree.bodies)
            bodies[b] = replace(bodies[b], mass=0.0, inertia=np.zeros((3, 3)))
            lighter = replace(tree, bodies=bodies)
            if np.linalg.cond(equations(lighter, q, u)[0]) < 1e4:
                tree = lighter
    return tree


# ---------------------------------------------------------------- the system that a user would describe


def build(case: Case, *, parameters: bool = False) -> System:
    """The system of a case; with ``parameters`` every number of a body is a parameter with that default."""
    s = System("random tree")
    bodies: list[Body] = []

    def data(name: str, value: float, units: str) -> Any:
        return s.parameter(name, float(value), units=units) if parameters and value else float(value)

    for body, orient in zip(case.tree.bodies, case.orients, strict=True):
        n = body.name
        bodies.append(
            s.body(
                n,
                parent=None if body.parent == GROUND else bodies[body.parent],
                joint=user_joint(body.joint),
                at=[data(f"{n}_at{i}", x, "m") for i, x in enumerate(body.at)],
                orient=orient,
                com=[data(f"{n}_com{i}", x, "m") for i, x in enumerate(body.com)],
                mass=data(f"{n}_m", body.mass, "kg"),
                inertia=[data(f"{n}_I{i}{j}", body.inertia[i, j], "kg*m^2") for i, j in SIX],
            )
        )
    size = float(np.linalg.norm(case.tree.gravity))
    if size:
        s.gravity(size, _direction(s.ground, case.tree.gravity))
    for load in case.tree.loads:
        _apply(s, load, bodies)
    return s


def user_joint(joint: Joint) -> joints.JointType:
    """The package's joint of a description."""
    make: dict[str, Callable[..., joints.JointType]] = {
        "fixed": joints.Fixed,
        "revolute": joints.Revolute,
        "prismatic": joints.Prismatic,
        "cylindrical": joints.Cylindrical,
        "planar": joints.Planar,
        "gimbal": joints.Gimbal,
        "spherical": joints.Spherical,
        "free": joints.Free,
        "general": lambda translate, rotate: joints.Joint(translate=list(translate), rotate=list(rotate)),
    }
    return make[joint.kind](*joint.settings)


def _direction(body: Body, components: Array) -> Any:
    x, y, z = (float(c) for c in components / np.linalg.norm(components))
    return body.x * x + body.y * y + body.z * z


def _apply(s: System, load: LoadData, bodies: list[Body]) -> None:
    def body(b: int) -> Body:
        return s.ground if b == GROUND else bodies[b]

    def point(place: tuple[int, Array]) -> Any:
        return body(place[0]).point([float(x) for x in place[1]])

    reaction = load.reaction
    if load.kind == "strut":
        k, c, rest = load.law
        s.strut(load.name, f"-{k}*(x - {rest}) - {c}*v", between=(point(reaction), point(load.at)))  # type: ignore[arg-type]
        return
    direction = _direction(body(load.axes), load.vector)
    size = s.parameter(f"{load.name}_size", float(np.linalg.norm(load.vector)))
    if load.kind == "moment":
        other = None if reaction is None else body(reaction)
        s.moment(load.name, size, direction, on=body(load.on), reaction=other)
        return
    other = None if reaction is None else point(reaction) if isinstance(reaction, tuple) else body(reaction)
    s.force(load.name, f"{load.name}_size", direction, at=point(load.at), reaction=other)  # type: ignore[arg-type]


def values(system: System, q: Array, u: Array, t: float = 0.0) -> dict[str, Any]:
    """Numbers by name: the state, the time and the defaults of the parameters."""
    found: dict[str, Any] = {name: node.data.default for name, node in system.parameters.items()}
    found.update(zip([c.name for c in system.coordinates], q, strict=True))
    found.update(zip([s.name for s in system.speeds], u, strict=True))
    return {**found, "t": t}
