"""Frequencies, dampings and time constants of modes, by the definitions and by closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armillary as arm
from armillary.analysis.modes.modes import Mode

OMEGA, ZETA = 10.0, 0.2
DAMPED = OMEGA * math.sqrt(1 - ZETA**2)


def mode(eigenvalue: complex, chain: int = 0) -> Mode:
    return Mode(eigenvalue, "", {"x.q1": 1.0}, {"x.q1": 1.0}, {"x.q1": "m"}, chain)


@pytest.mark.parametrize(
    ("eigenvalue", "kind", "damping", "constant", "words"),
    [
        (complex(-ZETA * OMEGA, DAMPED), "oscillation", ZETA, 0.5, "1.592 Hz, damping ratio 0.2"),
        (complex(ZETA * OMEGA, DAMPED), "oscillation", -ZETA, 0.5, "1.592 Hz, damping ratio -0.2, grows"),
        (complex(0.0, OMEGA), "oscillation", 0.0, math.inf, "1.592 Hz, damping ratio 0"),
        (complex(-4.0, 0.0), "decay", 1.0, 0.25, "decays, time constant 0.25 s"),
        (complex(4.0, 0.0), "growth", -1.0, 0.25, "grows, time constant 0.25 s"),
    ],
)
def test_figures_of_one_eigenvalue(
    eigenvalue: complex, kind: str, damping: float, constant: float, words: str
) -> None:
    found = mode(eigenvalue)
    assert found.kind == kind
    assert found.omega == pytest.approx(abs(eigenvalue))
    assert found.frequency == pytest.approx(abs(eigenvalue) / (2 * math.pi))
    assert found.damped_frequency == pytest.approx(eigenvalue.imag / (2 * math.pi))
    assert found.damping == pytest.approx(damping)
    assert found.time_constant == pytest.approx(constant)
    assert found.stable == (eigenvalue.real <= 0)
    assert found.summary == words


def test_free_motions_have_neither_frequency_nor_damping() -> None:
    for chain in (1, 2):
        found = mode(0j, chain)
        assert (found.kind, found.omega, found.damping, found.time_constant) == ("rigid", 0.0, 0.0, math.inf)
        assert found.stable and found.summary == ("free to move" + " and to drift" * (chain == 2))


def test_arrays_of_a_damped_oscillator_beside_a_lag() -> None:
    """m = 1 kg, k = ω², c = 2ζω, and a body in oil alone that stops with the time constant m/c."""
    s = arm.System("oscillator")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    b = s.body("b", joint=arm.Prismatic("y"), mass=2.0, inertia=0)
    s.force("spring", f"-{OMEGA**2}*a.q1 - {2 * ZETA * OMEGA}*a.u1", s.ground.x, at=a.com)
    s.force("oil", "-8*b.u1", s.ground.y, at=b.com)
    modes = s.derive().compile().linearize().modes()
    oscillation = [i for i, m in enumerate(modes) if m.kind == "oscillation"]
    decay = [i for i, m in enumerate(modes) if m.kind == "decay"]
    assert len(oscillation) == len(decay) == 1
    i, j = oscillation[0], decay[0]
    assert modes.frequencies[i] == pytest.approx(OMEGA / (2 * math.pi))
    assert modes.damped_frequencies[[i, j]] == pytest.approx([DAMPED / (2 * math.pi), 0.0])
    assert modes.dampings[[i, j]] == pytest.approx([ZETA, 1.0])
    assert modes.time_constants[[i, j]] == pytest.approx([1 / (ZETA * OMEGA), 0.25])
    assert len(modes.labels) == len(modes) and modes.stable
    np.testing.assert_allclose(modes.dampings, [m.damping for m in modes])
