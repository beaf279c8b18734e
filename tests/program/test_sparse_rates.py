"""Sparse equations of implicit steps: elements against dense derivatives, size, runs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate_all
from armillary.program import rate_columns as chosen
from armillary.program.formalisms.formalism import derivation
from armillary.program.sparse_rates import SparseStructure, sparse_rates
from tests.systems.cable import cable


@cache
def equations(n: int, branches: int = 1) -> arm.Equations:
    return cable(n, branches).derive("recursive")


def _sparse(n: int, branches: int = 1) -> tuple[SparseStructure, list[arm.Expr]]:
    program = equations(n, branches).program
    with derivation():
        return sparse_rates(program.derivatives.results, program.state)


def _values(n: int, branches: int, seed: int) -> dict[object, float]:
    """A place with one joint at rest, and the constants of the program."""
    program, rng = equations(n, branches).program, np.random.default_rng(seed)
    found: dict[object, float] = {s: rng.uniform(-0.3, 0.3) for s in program.state}
    resting = next(s for s in program.state if s.data.name == "g0x1.u1")
    found |= {program.time: 0.5, resting: 0.0}
    constants = evaluate_all(program.precompute.results, found)
    return found | dict(zip(program.constants, constants, strict=True))


@pytest.mark.parametrize(("n", "branches"), [(5, 1), (3, 2)])
def test_intermediate_values_eliminated_leave_the_dense_derivatives(n: int, branches: int) -> None:
    """Against tangents of the rates, in another graph (targets.rates) and by another rule."""
    structure, entries = _sparse(n, branches)
    values, program = _values(n, branches, 1), equations(n, branches).program
    elements = evaluate_all(entries, values)
    size, states = structure.unknowns, len(program.state)
    matrix = np.zeros((size, size))
    for i in range(size):
        for e in range(structure.entry_start[i], structure.entry_start[i + 1]):
            matrix[i, structure.entry_column[e]] = elements[e]
    of = np.array(structure.state_of)
    own = [int(np.flatnonzero(of == k)[0]) for k in range(states)]
    between = np.flatnonzero(of < 0)
    inner = np.linalg.solve(
        np.eye(len(between)) - matrix[np.ix_(between, between)], matrix[np.ix_(between, own)]
    )
    found = matrix[np.ix_(own, own)] + matrix[np.ix_(own, between)] @ inner
    dense = evaluate_all(chosen.partial_rates(core_of(equations(n, branches))), values)
    wanted = np.reshape(dense, (states + 1, states))[:-1].T
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("n", [12, 40])
def test_the_elimination_grows_linearly_with_a_chain(n: int) -> None:
    """A link has 700 operations and 210 elements in long chains (96 links), and fewer in short ones."""
    structure, _ = _sparse(n)
    assert structure.operations < 750 * n
    assert len(structure.column) < 220 * n
    assert sorted(structure.state_of)[-1] == 2 * n


def test_runs_with_sparse_and_dense_equations_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a change of method and back: products of df/dy are sparse, too."""
    settings = {"sample": 0.05, "rtol": 1e-7, "atol": 1e-9, "initial": {"heat": 3.0, "g0x0.q1": 0.05}}
    runs = {}
    for small in (0, 1000):
        monkeypatch.setattr(chosen, "_SMALL", small)
        monkeypatch.setattr(chosen, "_is_quicker", lambda *_: True)
        model = equations(5).compile()
        for method in ("rodas5p", "auto"):
            runs[small, method] = model.simulate(0.3, method=method, **settings)
        runs[small, "rodas3"] = model.simulate(0.3, method="rodas3", step=0.005, sample=0.05)
    for method in ("rodas5p", "auto", "rodas3"):
        sparse, dense = runs[0, method], runs[1000, method]
        assert sparse.info["steps"] == dense.info["steps"]
        np.testing.assert_allclose(sparse.values, dense.values, rtol=0, atol=1e-8)
    assert "rodas5p" in runs[0, "auto"].info["stiffness"]
