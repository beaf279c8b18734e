"""What a step needs where it ends comes from one function, whose results are those of the separate ones."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.llvm.sections import llvm_text
from armillary.runtime.models.compiled import CompiledModel

_REALS = ctypes.POINTER(ctypes.c_double)


@cache
def table_on_two_feet(planar: bool) -> CompiledModel:
    """In a plane, formulas find the forces; in space, the solver."""
    s = arm.System("table")
    s.gravity(9.81, -s.ground.z)
    joint = arm.Joint(translate=["x", "z"], rotate=["y"]) if planar else arm.Free()
    top = s.body("top", joint=joint, mass=2.0, inertia=(0.1, 0.2, 0.15))
    for i, x in enumerate((-0.3, 0.3)):
        s.contact(f"c{i}", top.point(f"foot_{i}", (x, 0, -0.1)), plane=(s.ground, s.ground.z), friction=0.5)
    return core_of(s.derive().compile(tier="quick"))


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("drift", [0.0, 1e-9])
@pytest.mark.parametrize("status", [0.0, 1.0, 2.0])
def test_an_arrival_has_the_results_of_its_sections(planar: bool, drift: float, status: float) -> None:
    """With drift, which is removed, and without; with contacts that are open, stick or slide."""
    model = table_on_two_feet(planar)
    program = model.equations.program
    n, places = len(program.state), {s.data.name: i for i, s in enumerate(program.state)}
    height = places["top.q2" if planar else "top.q3"]
    constants = model.constants()
    evaluate_end = ctypes.CFUNCTYPE(None, ctypes.c_double, *[_REALS] * 5)(model.address("evaluate_end"))
    normalise = ctypes.CFUNCTYPE(None, ctypes.c_double, *[_REALS] * 3)(model.address("normalise"))
    memory = np.array([status if m.data.name.endswith("_status") else 0.0 for m in program.memory])
    state = np.zeros(n)
    for start in program.quaternions:
        state[start] = 1.0 + 1e-9
    state[height] = 0.1 + drift
    state[places["top.u1"]] = 0.15 if status == 2.0 else 0.0
    together, apart = state.copy(), state.copy()
    k, g = np.zeros((2, n)), np.zeros((2, len(program.fire)))

    def given(state: np.ndarray, *results: np.ndarray) -> list[object]:
        return [0.5, *(array.ctypes.data_as(_REALS) for array in (state, constants, memory, *results))]

    evaluate_end(*given(together, k[0], g[0]))
    normalise(*given(apart))
    model.function("derivatives")(*given(apart, k[1]))
    model.function("events")(*given(apart, g[1]))
    assert np.allclose(together, apart, rtol=0, atol=1e-15)
    assert np.allclose(k[0], k[1], rtol=1e-12, atol=1e-12)
    assert np.allclose(g[0], g[1], rtol=1e-9, atol=1e-12)
    assert abs(together[height] - 0.1 - (drift if status == 0.0 else 0.0)) < 1e-15


def test_what_only_rare_conditions_need_is_not_computed() -> None:
    """Without drift no forces are needed to find that there is none, and without doubt no solver."""
    text = llvm_text(table_on_two_feet(True).equations.program)
    bodies = {part.split("(", 1)[0]: part for part in text.split("define void @")[1:]}
    assert "fdiv" not in bodies["renew_usual"]
    assert "contact_" not in bodies["derivatives_usual"]
    assert "contact_forces" in text


def test_usual_parts_compute_functions_of_parameters_that_only_they_have() -> None:
    """A block with friction: without a doubtful pivot, 1 + μ occurs, which no other section has."""
    s = arm.System("block")
    s.gravity(10.0, -s.ground.z)
    block = s.body("b", joint=arm.Joint(translate=["x", "z"]), mass=s.parameter("m", 2.0), inertia=0)
    s.contact("c", block, plane=(s.ground, s.ground.z), friction=s.parameter("mu", 0.5))
    model = s.derive().compile(tier="quick")
    for mu in (0.25, 0.5):
        run = model.simulate(2.0, initial={"b.u1": 3.0}, parameters={"mu": mu}, step=1e-2, method="rk4")
        assert run.final["b.q1"] == pytest.approx(9 / (2 * mu * 10), rel=1e-9)
