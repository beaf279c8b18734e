"""The solver of contacts at numbers: forces and statuses satisfy the conditions of complementarity, which are
written here once more.
"""

from __future__ import annotations

import numpy as np
import pytest

from armillary.mechanics.contact.blocks import ContactBlock, ContactShape


def solve(
    J: np.ndarray,
    free: np.ndarray,
    rows: list[tuple[int, tuple[int, ...]]],
    friction: list[float],
    rebound: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Return the solution for unit masses, where all contacts touch."""
    block = ContactBlock("contact_problem", ContactShape(rows, J.shape[1]))
    n, m = len(rows), len(free)
    given = {name: np.zeros(block.vectors[name]) for name in block.takes}
    given |= {"jacobian": J.ravel(), "columns": J.ravel(), "free": free, "friction": np.array(friction)}
    given |= {name: np.ones(n) for name in ("active", "rests", "before")} | {"static": np.array(friction)}
    given["rebound"] = np.zeros(m) if rebound is None else rebound
    found = block.value(*[float(x) for name in block.takes for x in given[name]])
    return {name: np.array(x, float) for name, x in block.split(block.gives, found).items()}


def largest_violation(
    J: np.ndarray,
    free: np.ndarray,
    rows: list[tuple[int, tuple[int, ...]]],
    friction: list[float],
    force: np.ndarray,
) -> float:
    """Return the greatest violation of 0 ≤ λ_N ⟂ z_N ≥ 0 and of Coulomb's law, λ_T = the nearest point of the
    cone's section to λ_T − z_T, as a share of the greatest velocity."""
    z = J @ (J.T @ force) + free
    found = [0.0]
    for (n, slip), mu in zip(rows, friction, strict=True):
        found.append(abs(force[n] - np.maximum(force[n] - z[n], 0.0)))
        if slip:
            wanted = force[list(slip)] - z[list(slip)]
            length = float(np.linalg.norm(wanted))
            inside = wanted * min(1.0, mu * max(force[n], 0.0) / length) if length > 0.0 else wanted
            found.append(float(np.linalg.norm(inside - force[list(slip)])))
    return float(np.max(found)) / float(np.abs(free).max())


@pytest.mark.parametrize("seed", range(6))
def test_compression_of_any_motion_has_a_solution(seed: int) -> None:
    """Free velocities that belong to one motion leave impulses, however many contacts there are (Klarbring &
    Pang 1998). More rows than speeds: often all motion ends, and impulses are not unique."""
    random = np.random.default_rng(seed)
    speeds, contacts = 3, 4
    rows = [(2 * c, (2 * c + 1,)) for c in range(contacts)]
    J = random.normal(size=(2 * contacts, speeds))
    friction = list(random.uniform(0.2, 1.2, contacts))
    free = J @ random.normal(size=speeds)
    found = solve(J, free, rows, friction)
    assert found["failed"][0] in (0, 2)
    assert largest_violation(J, free, rows, friction, found["force"]) < 1e-9


def test_forces_that_grow_without_end_are_no_solution() -> None:
    """A wall on each side, both approached: b is that of no motion, and relaxation diverges."""
    J = np.array([[1.0], [-1.0]])
    found = solve(J, np.array([-1.0, -0.5]), [(0, ()), (1, ())], [0.0, 0.0])
    assert found["failed"][0] == 1
