"""Machine code that is written here for this processor computes what LLVM's code does, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.llvm import sections
from armillary.llvm.arrangement.arranged_writer import INSTRUCTION_SETS
from armillary.llvm.jit import Compiled, encodes, features
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from tests.llvm.random_sections import SIZE, called, machine_text, plain_text, random_code
from tests.mechanics import random_trees


@pytest.fixture(autouse=True)
def name(monkeypatch: pytest.MonkeyPatch) -> str:
    """Of this processor's instruction set; quick code is not fused."""
    monkeypatch.delenv("ARMILLARY_COMPILE", raising=False)
    return encodes() or pytest.skip("LLVM writes all code for this processor")


@pytest.fixture(params=[32, 16])
def size(request: pytest.FixtureRequest, name: str) -> int:
    """Registers that are used. Processors with 32 of x86-64 have those with 16, too."""
    if request.param == (16 if name == "arm64" else 32) and not features().get("avx512vl"):
        pytest.skip(f"not {request.param} registers")
    found: int = request.param
    return found


@pytest.mark.parametrize("seed", range(6))
def test_random_code_computes_the_same_bits(seed: int, size: int, name: str) -> None:
    """Of all forms, with more values than registers; registers that a caller needs are kept."""
    machine = INSTRUCTION_SETS[name]
    code = random_code(seed, 500, machine)
    rng = np.random.default_rng(seed)
    state = rng.uniform(0.5, 1.5, SIZE) * rng.choice([-1, 1], SIZE)
    expected, found = np.full((2, 300), 7.0)
    called(plain_text(code), "f", state, expected)
    text = machine_text(code, machine, size)
    assert called(text, "kept", state, found) == np.add.accumulate(state[:20])[-1]
    assert np.array_equal(expected, found)


@pytest.mark.parametrize(("seed", "piece"), [(9, 60), (11, 60), (9, 1600)])
def test_a_model_has_the_digits_of_llvms_code(
    seed: int, piece: int, size: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of angles beyond the limit of sines and of those that are no numbers, in one or several pieces."""
    monkeypatch.setattr(sections, "ENCODED_PIECE", piece)
    case = random_trees.tree_case(seed)
    equations = random_trees.build(case, parameters=True).derive()
    texts = [sections.llvm_text(equations.program, size, encodes=encodes) for encodes in ("", name)]
    assert ".ascii" in texts[1] and ("derivatives_2_code" in texts[1]) == (piece == 60)
    near = np.concatenate([case.q, case.u])
    far = near.copy()
    far[: len(case.q)] *= 1e7
    models = [CompiledModel(equations, Compiled(text), 0.0, compile_equations) for text in texts]
    lost = near.copy()
    lost[: len(case.q)] = np.nan
    for state in (near, far, lost):
        a, b = (model.derivatives(0.0, state) for model in models)
        assert np.array_equal(a, b, equal_nan=True) and np.all(np.isfinite(a)) == (state is not lost)
    for k in range(len(case.q)):  # each angle is looked at
        state = near.copy()
        state[k] *= 1e7
        a, b = (model.derivatives(0.0, state) for model in models)
        assert np.array_equal(a, b)
