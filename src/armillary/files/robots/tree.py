"""A mechanism as robot files describe it: links on links, joints between them. Both formats become this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from armillary.files.robots.rotations import unit
from armillary.files.robots.visuals import Visual
from armillary.files.xml import Element

HINGE, SLIDE, BALL, FREE, PLANE = "hinge", "slide", "ball", "free", "planar"


@dataclass
class Inertial:
    """Mass, mass centre in the link's axes, and the inertia about it along these axes.

    ``axes`` are those (columns) in which the file gave a diagonal inertia, where it did.
    """

    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    axes: np.ndarray | None = None

    @classmethod
    def turned(
        cls, mass: float, com: np.ndarray, inertia: np.ndarray, axes: np.ndarray, *, diagonal: bool = False
    ) -> Inertial:
        """From an inertia along other axes (columns): R I Rᵀ."""
        turned = axes @ inertia @ axes.T
        return cls(mass, com, (turned + turned.T) / 2, axes if diagonal else None)


def symmetric(six: Sequence[float]) -> np.ndarray:
    """The matrix with the elements 11, 22, 33, 12, 13, 23."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def direction(element: Element, key: str, default: Sequence[float]) -> np.ndarray:
    """The unit vector along the axis that an attribute gives."""
    axis = element.numbers(key, 3, default)
    if np.linalg.norm(axis) < 1e-12:
        element.fail("an axis of length zero has no direction; give one such as '0 0 1'")
    return unit(axis)


@dataclass
class RobotFreedom:
    """A joint in the file's terms. ``axis`` and ``anchor`` are in the axes of the link that it moves.

    ``damping`` and ``stiffness`` act on each of its speeds and coordinates, a spring from ``rest``, a value
    of our coordinate. The file's coordinate is ours plus ``offset``. ``armature`` is added to the diagonal of
    the mass matrix.
    """

    name: str
    kind: str
    element: Element
    axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    anchor: np.ndarray = field(default_factory=lambda: np.zeros(3))
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    offset: float = 0.0
    armature: float = 0.0
    limits: tuple[float, float] | None = None  # of our coordinate


@dataclass
class RobotLink:
    """A link at ``place`` in its parent's axes, turned by ``rotation``, moved by its joints in order."""

    name: str
    parent: str | None
    element: Element
    place: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    joints: list[RobotFreedom] = field(default_factory=list)
    inertial: Inertial = field(default_factory=Inertial)
    points: dict[str, np.ndarray] = field(default_factory=dict)
    visuals: list[Visual] = field(default_factory=list)
