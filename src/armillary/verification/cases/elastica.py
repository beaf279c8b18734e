"""A cantilever bent far by a force at its tip: many rigid links with springs against the exact elastica."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.algebra.vectors import dot
from armillary.model.bodies.motion import position
from armillary.model.joints import Revolute
from armillary.stages import System
from armillary.stages.model import Model
from armillary.verification.rows import Case, value

_MATTIASSON = "Mattiasson (1981), elliptic integrals"
# P L²/EI: tip down by w/L, and back by u/L.
TABLE = {1.0: (0.30172, 0.05643), 2.0: (0.49346, 0.16064), 5.0: (0.71379, 0.38763), 10.0: (0.81061, 0.55500)}
LINKS = (6, 12)


def cantilever(links: int) -> System:
    """Rigid links with a hinge and a spring EI/ℓ in the middle of each element of length ℓ = L/links.

    EI = L = 1. A constant force P acts on the tip, down all the time.
    """
    s = System("elastica")
    s.parameter("P", units="N")
    length = 1.0 / links
    body, place = s.ground, 0.5 * length
    for i in range(links):
        own = length if i < links - 1 else 0.5 * length
        body = s.body(
            f"link{i}", body, Revolute("z"), at=(place, 0, 0), com=(own / 2, 0, 0), mass=own,
            inertia=(0, own**3 / 12, own**3 / 12),
        )  # fmt: skip
        s.moment(
            f"spring{i}", f"-{links}*link{i}.q1 - 0.05*link{i}.u1", body.z, on=body, reaction=body.parent
        )
        place = length
    tip = body.point("tip", (0.5 * length, 0, 0))
    s.force("load", "P", -s.ground.y, at=tip)
    for name, axis in (("x", s.ground.x), ("y", s.ground.y)):
        s.output(name, dot(position(tip), axis), units="m")
    return s


def deflections(links: int) -> np.ndarray:
    """(w, u) of the tip in equilibrium, one row for each load."""
    model = cantilever(links).derive("recursive").compile()
    state = np.zeros(2 * links)
    found = []
    for load in TABLE:
        state = _balance(model, state, load)
        shown = model.outputs(0.0, state, {"P": load})
        found.append((-shown["y"], 1.0 - shown["x"]))
    return np.array(found)


def _balance(model: Model, state: np.ndarray, load: float) -> np.ndarray:
    """Return the state of equilibrium under a load, by Newton's method from the state of a smaller load."""
    count = len(state) // 2

    def accelerations(q: np.ndarray) -> np.ndarray:
        found: np.ndarray = model.accelerations(0.0, q, np.zeros(count), {"P": load})
        return found

    q = state[:count].copy()
    for _ in range(40):
        now = accelerations(q)
        columns = [accelerations(q + 1e-6 * e) - accelerations(q - 1e-6 * e) for e in np.eye(count)]
        slope = np.array(columns).T / 2e-6
        step = np.linalg.solve(slope, -now)
        q = q + step * np.minimum(1.0, 0.5 / np.abs(step).max())
        if np.abs(step).max() < 1e-10:
            break
    return np.concatenate([q, np.zeros(count)])


def measure() -> Iterator[float]:
    """Errors fall with the square of the links' length, so two lengths give the limit."""
    coarse, fine = (deflections(links) for links in LINKS)
    yield from ((4 * fine - coarse) / 3).ravel()


CASES = (
    Case(
        "elastica",
        "Cantilever bent far by a tip force",
        _MATTIASSON,
        tuple(
            value(f"tip {way} at PL²/EI = {load:g}, of the length", number, 1e-4)
            for load, both in TABLE.items()
            for way, number in zip(("down", "back"), both, strict=True)
        ),
        measure,
        "elastica",
    ),
)
