"""Benchmark models as plain data, written once; Armillary and every peer are built from these.

All link frames are parallel when every joint coordinate is zero; a link's origin is its joint's point.
Canonical arrays, used for every comparison (the base part only where the first link is free):

    q    position of the base origin in ground axes, quaternion w x y z; then one coordinate per joint
    v    velocity of the base origin and angular velocity of the base, both in base axes; then joint rates
    tau  force on the base at its origin and torque, both in base axes; then joint efforts
    a    time derivative of the components of v

Springs and dampers act in addition to tau.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Vector = tuple[float, float, float]
ORIGIN, X, Y, Z = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Link:
    """A rigid link and the joint that carries it; `inertia` holds central moments in link axes."""

    parent: int  # index of the parent link, -1 is the ground
    joint: Literal["revolute", "prismatic", "free"]  # free only for the first link
    axis: Vector  # a coordinate axis of the parent
    at: Vector  # place of the joint in the parent's frame
    mass: float
    com: Vector
    inertia: Vector
    stiffness: float = 0.0
    damping: float = 0.0

    @property
    def axis_name(self) -> str:
        return "xyz"[self.axis.index(1.0)]


@dataclass(frozen=True)
class Model:
    key: str
    title: str
    gravity: Vector
    links: tuple[Link, ...]

    @property
    def floating(self) -> bool:
        return self.links[0].joint == "free"

    @property
    def nq(self) -> int:
        return len(self.links) + (6 if self.floating else 0)

    @property
    def nv(self) -> int:
        return len(self.links) + (5 if self.floating else 0)

    def place(self, link: int) -> tuple[int, int]:
        """Indices in q and in v of a link's joint (its first ones, for a free link)."""
        return (link + 6, link + 5) if self.floating and link else (link, link)


@dataclass(frozen=True)
class Pool:
    """Random canonical states and efforts, one per row; each timed loop cycles through them."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray

    def __len__(self) -> int:
        return len(self.q)


def pool(model: Model, size: int = 16, seed: int = 7) -> Pool:
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.5, 1.5, (size, model.nq))
    v = rng.uniform(-1.0, 1.0, (size, model.nv))
    tau = rng.uniform(-1.0, 1.0, (size, model.nv))
    if model.floating:
        quaternion = rng.normal(size=(size, 4))
        q[:, 3:7] = quaternion / np.linalg.norm(quaternion, axis=1)[:, None]
    return Pool(q, v, tau)


def stanford_arm() -> Model:
    """Stanford arm of Kane and Levinson, its sliding joint through the shoulder's centre (no offset)."""
    links = (
        Link(-1, "revolute", Y, ORIGIN, 9.0, ORIGIN, (0.01, 0.02, 0.01)),
        Link(0, "revolute", X, ORIGIN, 6.0, (0.1, 0.0, 0.0), (0.06, 0.01, 0.05)),
        Link(1, "prismatic", Y, ORIGIN, 4.0, ORIGIN, (0.4, 0.01, 0.4)),
        Link(2, "revolute", Y, ORIGIN, 1.0, (0.0, 0.7, 0.0), (0.0005, 0.001, 0.001)),
        Link(3, "revolute", X, (0.0, 0.6, 0.0), 0.6, (0.0, 0.06, 0.0), (0.0005, 0.0002, 0.0005)),
        Link(4, "revolute", Y, ORIGIN, 0.5, (0.0, 0.2, 0.0), (0.001, 0.002, 0.003)),
    )
    return Model("arm", "Stanford arm", (0.0, -9.81, 0.0), links)


def spacecraft_2() -> Model:
    """Sayers (1990), section 9.5: a hub with four sprung antennas in free space."""
    antennas = (((0.5, 0.0, 0.3), Y), ((0.5, 0.3, 0.0), Z), ((0.5, 0.0, -0.3), Y), ((0.5, -0.3, 0.0), Z))
    hub = Link(-1, "free", ORIGIN, ORIGIN, 500.0, ORIGIN, (110.0, 100.0, 70.0))
    links = tuple(
        Link(
            0,
            "revolute",
            axis,
            at,
            2.0,
            (0.2, 0.0, 0.0),
            (0.0, 0.02, 0.02),
            stiffness=2.85e-5,
            damping=1.359e-3,
        )
        for at, axis in antennas
    )
    return Model("spacecraft2", "Spacecraft 2", ORIGIN, (hub, *links))


def _rod(parent: int, number: int, at: Vector) -> Link:
    """The link of chains and trees; joint axes x, y, z in turn."""
    return Link(parent, "revolute", (X, Y, Z)[number % 3], at, 1.0, (0.0, 0.0, 0.15), (0.01, 0.012, 0.005))


def chain(n: int) -> Model:
    links = tuple(_rod(i - 1, i, (0.0, 0.0, 0.3) if i else ORIGIN) for i in range(n))
    return Model(f"chain{n}", f"chain of {n}", (0.0, 0.0, -9.81), links)


def floating_tree(depth: int = 5) -> Model:
    """A full binary tree on a free base, numbered depth first so that every peer keeps that order."""
    links = [Link(-1, "free", ORIGIN, ORIGIN, 10.0, ORIGIN, (1.0, 1.2, 0.8))]

    def grow(parent: int, at: Vector, level: int) -> None:
        index = len(links)
        links.append(_rod(parent, index - 1, at))
        if level < depth:
            grow(index, (0.1, 0.0, 0.3), level + 1)
            grow(index, (-0.1, 0.0, 0.3), level + 1)

    grow(0, (0.0, 0.0, 0.1), 1)
    size = len(links) - 1
    return Model(f"tree{size}", f"floating tree of {size}", (0.0, 0.0, -9.81), tuple(links))


MODELS: dict[str, Model] = {
    model.key: model
    for model in (
        stanford_arm(), spacecraft_2(), *(chain(n) for n in (4, 8, 10, 16, 32, 64)), floating_tree()
    )
}  # fmt: skip

TIMED = ("arm", "spacecraft2", "chain8", "chain16", "chain32", "chain64", "tree31")
"""Models that a full run times; the others serve the growth law or are there for the asking."""
