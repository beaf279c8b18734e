"""Hinges about two and three axes that are not at right angles, imaginary bodies, and wheels without mass.

Fleischer and Likins (1975), Definition 45 and section II.A: a connection has one to three axes through a
point, or imaginary bodies without mass stand between them. Both describe one vehicle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm

AXES = [(1, 0, 0), (0, 0.6, 0.8), (0.5, 0.5, 0.7)]
FORMULATIONS = ("mbdyfr", "mbdyfn", "mbdyfl")
BOOM: dict[str, Any] = {
    "nodes": {"a": (0.5, 0, 0.1), "b": (1, 0.2, 0)},
    "masses": [0.4, 0.3],
    "shapes": [np.diag([0.1, 1.0, 0.4])[:, 1:].tolist(), [[0.2, 0.1], [1.5, 0.2], [0.1, 1.2]]],
    "stiffness": [[4.0, 0.5], [0.5, 12.0]],
}


def vehicle(count: int, imaginary: bool, flexible: bool = False) -> arm.System:
    """A hub that carries an arm on ``count`` oblique axes, and beyond it a tool on two axes."""
    s = arm.System("oblique hinges")
    hub = s.body("hub", joint=arm.Free(), mass=10, inertia=(4, 5, 6, 0.1, 0.2, 0.3), com=(0.1, 0, 0.05))
    parent, joint, at = hub, arm.Gimbal(AXES[:count]), (0.5, 0.2, 0)
    if imaginary:
        for i, axis in enumerate(AXES[: count - 1]):
            parent = s.body(f"ring{i}", parent, arm.Revolute(axis), at=at, mass=0, inertia=0)
            at = (0, 0, 0)
        joint = arm.Revolute(AXES[count - 1])
    link = s.body("link", parent, joint, at=at, orient=("z", 0.3), com=(0.3, 0, 0.1), mass=2,
                  inertia=(0.3, 0.4, 0.5))  # fmt: skip
    if flexible:
        link.flexible(**BOOM)
    tool = s.body("tool", link, arm.Gimbal(["z", (0.3, 0.9, 0.1)]), at=(0.6, 0, 0), com=(0, 0.2, 0), mass=1,
                  inertia=(0.1, 0.2, 0.15))  # fmt: skip
    s.force("push", 3.0, tool.x + 2 * hub.y, at=link.com)
    s.moment("drive", 0.4, link.z, on=link, reaction=hub)
    s.moment("spring", -2.0, tool.y, on=tool, reaction=link)
    return s


def state(s: arm.System, moving: bool) -> tuple[np.ndarray, np.ndarray]:
    q, u = np.zeros(len(s.coordinates)), np.zeros(len(s.speeds))
    q[3] = 1.0
    if moving:
        rng = np.random.default_rng(5)
        q, u = rng.normal(size=len(q)), rng.normal(size=len(u))
        q[3:7] /= np.linalg.norm(q[3:7])
    return q, u


def accelerations(s: arm.System, formalism: str, moving: bool) -> np.ndarray:
    return s.derive(formalism).compile().accelerations(0.0, *state(s, moving))


@pytest.mark.parametrize(("count", "imaginary"), [(2, False), (3, True)])
def test_oblique_hinges_accelerate_as_by_kane(count: int, imaginary: bool) -> None:
    """MBDYFL is linear: it is exact at rest with all angles zero."""
    s = vehicle(count, imaginary)
    kane = s.derive("kane").compile()
    for formalism in FORMULATIONS:
        moving = formalism != "mbdyfl"
        wanted, found = kane.accelerations(0.0, *state(s, moving)), accelerations(s, formalism, moving)
        assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max(), formalism


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_imaginary_bodies_between_hinges_change_nothing_for_appendages(formulation: str) -> None:
    """The same coordinates in the same order, so the same derivatives, whatever the formulation drops."""
    direct, by_rings = (vehicle(3, imaginary, flexible=True) for imaginary in (False, True))
    wanted, found = (accelerations(s, formulation, moving=True) for s in (direct, by_rings))
    assert np.abs(found - wanted).max() < 1e-11 * np.abs(wanted).max()


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_wheel_without_mass_is_a_rotor(formulation: str) -> None:
    s = arm.System("wheel")
    hub = s.body("hub", joint=arm.Free(), mass=10, inertia=(4, 5, 6), com=(0.1, 0, 0.05))
    wheel = s.body("wheel", hub, arm.Revolute((0, 0.6, 0.8)), at=(0.3, 0, 0), mass=0,
                   inertia=round_inertia((0, 0.6, 0.8), 0.4, 0.25))  # fmt: skip
    s.moment("motor", 0.7, 0.6 * hub.y + 0.8 * hub.z, on=wheel, reaction=hub)
    moving = formulation != "mbdyfl"
    wanted, found = (accelerations(s, f, moving) for f in ("kane", formulation))
    assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()


def round_inertia(axis: tuple[float, float, float], axial: float, across: float) -> list[list[float]]:
    """The inertia matrix of a round body about an axis."""
    k = np.array(axis)
    return (across * np.eye(3) + (axial - across) * np.outer(k, k)).tolist()
