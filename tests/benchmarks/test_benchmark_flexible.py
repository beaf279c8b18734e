"""Flexible bodies of the benchmarks: their arbiter against energy, Armillary and LAPACK against it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import build
from benchmarks.candidate import error_of, timer
from benchmarks.cholesky import cholesky_candidates
from benchmarks.flexible import SATELLITES as MEASURED
from benchmarks.report import flexible_table
from benchmarks.wings import DAMPER, SATELLITES, SPRING, Satellite

ROOT = Path(__file__).resolve().parents[2]
SMALL = {key: Satellite(key, "small", modes=3) for key in SATELLITES}


def rates(q: np.ndarray, u: np.ndarray) -> np.ndarray:
    e0, e, w = q[3], q[4:7], u[3:6]
    return np.hstack((u[:3], -0.5 * e @ w, 0.5 * (e0 * w + np.cross(e, w)), u[6:]))


@pytest.mark.parametrize("key", SMALL)
def test_only_dampers_take_energy(key: str) -> None:
    """dE/dt by central differences along the motion; their error goes with step², 1.2e-6 of it here."""
    satellite, step = SMALL[key], 3e-6
    q, u = (x[0] for x in satellite.pool(1))
    hinges, modes = [6, 10], [slice(7, 10), slice(11, 14)]

    def energy(q: np.ndarray, u: np.ndarray) -> float:
        M, _ = satellite.equations(q, u)
        bent = [q[1:][m] for m in modes]
        strain = sum(eta @ wing.stiffness @ eta for eta, wing in zip(bent, satellite.wings, strict=True))
        return float(0.5 * (u @ M @ u + strain + SPRING * sum(q[1:][hinges] ** 2)))

    a = np.linalg.solve(*satellite.equations(q, u))
    before, after = (energy(q + t * rates(q, u + 0.5 * t * a), u + t * a) for t in (-step, step))
    lost = sum(u[m] @ wing.damping @ u[m] for m, wing in zip(modes, satellite.wings, strict=True))
    lost += DAMPER * sum(u[hinges] ** 2)
    assert (after - before) / (2 * step) == pytest.approx(-lost, rel=1e-5)


@pytest.mark.parametrize("key", SMALL)
def test_armillary_agrees_with_the_arbiter(key: str) -> None:
    satellite = SMALL[key]
    model = satellite.system.derive().compile()
    assert (len(model.coordinate_names), len(model.speed_names)) == (satellite.nq, satellite.nv)
    for q, u in zip(*satellite.pool(3), strict=True):
        expected = np.linalg.solve(*satellite.equations(q, u))
        assert model.accelerations(0.0, q, u) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_lapack_solves_every_state_and_says_where_it_cannot() -> None:
    try:
        timer()
    except build.NotAvailable as reason:
        pytest.skip(str(reason))
    rng = np.random.default_rng(3)
    roots = rng.normal(size=(4, 9, 9))
    matrices, right = roots @ roots.transpose(0, 2, 1) + np.eye(9), rng.normal(size=(4, 9))
    solution, copy = cholesky_candidates(matrices, right)
    expected = np.linalg.solve(matrices, right[:, :, None])[:, :, 0]
    assert error_of(solution, expected) < 1e-12
    assert error_of(solution, expected) < 1e-12  # it works on copies
    assert error_of(copy, right) == 0.0
    indefinite, _ = cholesky_candidates(-matrices, right)
    assert error_of(indefinite, expected) == float("inf")


def test_the_report_tells_ratios_and_errors() -> None:
    assert set(MEASURED) == set(SATELLITES)
    times = {"derive_seconds": 1.0, "compile_seconds": 2.0, "together_seconds": 3.0, "peak_megabytes": 200.0}
    record = {"title": "two plates", "speeds": 108, "formalism": "recursive", "operations": 25_000, **times}
    record |= {"nanoseconds": 4e3, "cholesky_nanoseconds": 40e3, "error": 2e-11}
    row = flexible_table([record]).splitlines()[-1]
    assert row.split()[-4:] == ["4.0", "40.0", "0.10", "2e-11"]
    assert flexible_table([record | {"wrong": "off by 1"}]).endswith("WRONG")
    assert "not measured" in flexible_table([])


def test_ratios_of_spacecraft_in_the_readme_are_those_of_the_benchmark() -> None:
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    faster = [f"{r['basilisk_microseconds'] / r['microseconds']:.0f}" for r in results["panels"]]
    assert (
        "in 1/{} of the time of Basilisk without gravity and in 1/{} on its orbit".format(*faster) in readme
    )
    seconds = [f"{r['together_seconds']:.1f}" for r in results["flexible"]]
    ratios = [f"{r['nanoseconds'] / r['cholesky_nanoseconds']:.2f}" for r in results["flexible"]]
    assert f"compiled in {seconds[0]} s, and evaluated in {ratios[0]} of the time" in readme
    assert f"{seconds[1]} s and {ratios[1]} if no modal coefficient vanishes" in readme
