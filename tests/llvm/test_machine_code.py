"""Machine code that is written here for this processor computes what LLVM's code does, to the last bit."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.llvm import section_writer, sections
from armillary.llvm.arrangement import arranged_writer
from armillary.llvm.arrangement.arranged_writer import INSTRUCTION_SETS
from armillary.llvm.arrangement.arrangement import PAIR
from armillary.llvm.arrangement.machine_code import FORMS, FOUR
from armillary.llvm.jit import Compiled, encodes, features, vector_doubles
from armillary.program.packs import in_lanes
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from armillary.stages.equations import Equations
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


@pytest.mark.parametrize("seed", range(4))
def test_random_code_of_four_doubles_computes_the_same_bits(seed: int, size: int, name: str) -> None:
    machine = INSTRUCTION_SETS[name]
    if machine.SELECTION.WIDEST < 2:
        pytest.skip("no registers of four doubles")
    code = random_code(seed, 500, machine, wide=True)
    rng = np.random.default_rng(seed)
    state = rng.uniform(0.5, 1.5, SIZE) * rng.choice([-1, 1], SIZE)
    expected, found = np.full((2, 300), 7.0)
    called(plain_text(code), "f", state, expected)
    called(machine_text(code, machine, size), "f", state, found)
    assert np.array_equal(expected, found)


@pytest.mark.parametrize("kind", ["double", FOUR])
def test_comparisons_and_extremes_of_special_values_have_the_same_bits(
    size: int, name: str, kind: str
) -> None:
    """Of NaN, infinities and zeros of both signs, also with values in registers above the sixteenth."""
    machine = INSTRUCTION_SETS[name]
    if kind == FOUR and machine.SELECTION.WIDEST < 2:
        pytest.skip("no registers of four doubles")
    special = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1e-320]
    pairs = np.array([(a, b) for a in special for b in special]).T
    count, mask, end = (4, "<4 x i1>", "v4f64") if kind == FOUR else (1, "i1", "f64")
    loads = {f"%v{i}": ("state", count * i, kind) for i in range(48)}
    lines, stores = [], []
    for i in range(0, 48, 2):
        word = ("ogt", "oge", "olt", "ole", "oeq", "une", "maximum", "minimum")[i // 2 % 8]
        a, b, made = f"%v{i}", f"%v{i + 1}", f"%v{100 + 2 * i}"
        if word.endswith("imum"):
            lines.append(f"{made} = call {kind} @llvm.{word}.{end}({kind} {a}, {kind} {b})")
        else:
            lines.append(f"{made}1 = fcmp {word} {kind} {a}, {b}")
            lines.append(f"{made} = uitofp {mask} {made}1 to {kind}")
        stores.append((made, ("out", count * (i // 2), kind)))
    code = lines, loads, {}, stores
    text, plain = Compiled(machine_text(code, machine, size)), Compiled(plain_text(code))
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    for first in range(pairs.shape[1]):
        places = (first + np.arange(24 * count)) % pairs.shape[1]
        state = pairs[:, places].reshape(2, 24, count).transpose(1, 0, 2).ravel().copy()
        out = np.zeros((2, 300))
        for compiled, target in zip((plain, text), out, strict=True):
            run(compiled.address("f"))(state.ctypes.data, target.ctypes.data)
        given = ~np.isnan(out[0])
        assert np.array_equal(given, ~np.isnan(out[1]))
        assert np.array_equal(out[0].view(np.int64)[given], out[1].view(np.int64)[given])


def test_chosen_lanes_are_the_lanes_of_the_text(size: int, name: str) -> None:
    machine = INSTRUCTION_SETS[name]
    if machine.SELECTION.WIDEST < 2:
        pytest.skip("no registers of four doubles")
    texts = [text for text, form in FORMS.items() if form.name.startswith("lanes ")]
    loads = {"%v0": ("state", 0, FOUR), "%v1": ("state", 0, PAIR)}
    lines = [
        f"%v{i + 2} = {text.replace('$', '%v0' if FOUR in text else '%v1')}" for i, text in enumerate(texts)
    ]
    kinds = [PAIR if FOUR in text else FOUR for text in texts]
    stores = [(f"%v{i + 2}", ("out", 4 * i, kind)) for i, kind in enumerate(kinds)]
    state, out = np.arange(4.0), np.full(4 * len(texts), -1.0)
    called(machine_text((lines, loads, {}, stores), machine, size), "f", state, out)
    for text, found in zip(texts, out.reshape(-1, 4), strict=True):
        lanes = [float(lane) for lane in re.findall(r"i32 (\d)", text)]
        assert found.tolist() == [*lanes, -1.0, -1.0][:4], text


def test_opposites_of_a_lane_and_of_its_pair_are_two_values(size: int, name: str) -> None:
    """Both are stored meanwhile, one as a double: its register was taken for the pair's, too."""
    loads = {"%v0": ("state", 0, PAIR), "%v1": ("state", 2, PAIR)}
    loads |= {f"%v{i}": ("state", i, "double") for i in range(10, 60)}
    lines = [
        f"%v100 = fadd {PAIR} %v0, %v1",
        f"%v101 = extractelement {PAIR} %v100, i64 0",
        "%v103 = call double @llvm.sqrt.f64(double %v102)",
        *[f"%v{i + 200} = fadd double %v{i}, %v103" for i in range(10, 60)],
        "%v310 = fmul double %v210, %v103",
        *[f"%v{i + 300} = fmul double %v{i + 299}, %v{i + 200}" for i in range(11, 60)],
        "%v409 = fadd double %v359, %v359",
        *[f"%v{i + 400} = fadd double %v{i + 399}, %v{i + 200}" for i in range(10, 60)],
        f"%v500 = insertelement {PAIR} poison, double %v459, i64 0",
        f"%v501 = shufflevector {PAIR} %v500, {PAIR} poison, <2 x i32> zeroinitializer",
        f"%v502 = bitcast {PAIR} %v501 to <2 x i64>",
        "%v503 = shl <2 x i64> %v502, splat (i64 63)",
        "%v504 = icmp slt <2 x i64> %v503, splat (i64 0)",
        f"%v505 = select <2 x i1> %v504, {PAIR} %v104, {PAIR} %v1",
    ]
    code = lines, loads, {"%v102": "%v101", "%v104": "%v100"}, [("%v505", ("out", 0, PAIR))]
    text = machine_text(code, INSTRUCTION_SETS[name], size)
    out, taken = np.empty(2), 0
    for scale in np.linspace(1.0, 1.1, 12):  # whose last bits decide
        state = np.linspace(-1.5, -0.5, 60) * scale
        called(text, "f", state, out)
        taken += out[0] > 0
        assert np.array_equal(out, -(state[:2] + state[2:4]) if out[0] > 0 else state[2:4])
    assert 0 < taken < 12


@pytest.mark.parametrize(("seed", "piece"), [(9, 60), (11, 60), (9, 1600)])
def test_a_model_has_the_digits_of_llvms_code(
    seed: int, piece: int, size: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of angles beyond the limit of sines and of those that are no numbers, in one or several pieces."""
    monkeypatch.setattr(section_writer, "ENCODED_PIECE", piece)
    monkeypatch.setattr(section_writer, "WHOLE", 0)
    case = random_trees.tree_case(seed)
    equations = random_trees.build(case, parameters=True).derive()
    texts = [sections.llvm_text(equations.program, size, encodes=encodes) for encodes in ("", name)]
    assert ".ascii" in texts[1] and ("derivatives_2_code" in texts[1]) == (piece == 60)
    near = np.concatenate([case.q, case.u])
    far = near.copy()
    far[: len(case.q)] *= 1e7
    models = [CompiledModel(core_of(equations), Compiled(text), 0.0, compile_equations) for text in texts]
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


@pytest.mark.parametrize(("seed", "piece"), [(9, 60), (11, 1600)])
def test_two_runs_at_once_have_the_digits_of_llvms_code(
    seed: int, piece: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An angle beyond the limit of sines, or one that is not a number, leaves the digits of the other run."""
    if name != "arm64":
        pytest.skip("vectors of runs are LLVM's on this processor")
    monkeypatch.setattr(section_writer, "ENCODED_PIECE", piece)
    monkeypatch.setattr(section_writer, "WHOLE", 0)
    case = random_trees.tree_case(seed)
    equations = random_trees.build(case, parameters=True).derive()
    model = equations.compile()
    parameters = np.repeat([model.parameters[p.name] for p in equations.program.parameters], 2)
    texts = [sections.lanes_module(equations.program, 2).text()]
    monkeypatch.setattr(arranged_writer, "encode_lines", lambda *given: None)
    texts.append(sections.lanes_module(equations.program, 2).text())
    assert [text.count("module asm") > 0 for text in texts] == [True, False]
    codes = [Compiled(text) for text in texts]
    constants = np.empty((2, 2 * max(1, len(equations.program.constants))))
    for code, made in zip(codes, constants, strict=True):
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)(code.address("precompute"))(
            parameters.ctypes.data, made.ctypes.data
        )
    assert np.array_equal(*constants)

    def rates(*states: np.ndarray) -> np.ndarray:
        """Of two states, which both codes give."""
        state, memory = np.column_stack(states).copy(), np.zeros(2)
        found = np.empty((2, *state.shape))
        for code, out in zip(codes, found, strict=True):
            function = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 4)
            function(code.address("derivatives"))(
                0.0, state.ctypes.data, constants.ctypes.data, memory.ctypes.data, out.ctypes.data
            )
        assert np.array_equal(*found, equal_nan=True)
        return found[0]

    near = np.concatenate([case.q, case.u])
    both = rates(near, 0.9 * near)
    for column, state in zip(both.T, (near, 0.9 * near), strict=True):
        expected = model.derivatives(0.0, state)
        assert np.max(np.abs(column - expected)) < 1e-11 * np.max(np.abs(expected))
    for k in range(len(case.q)):
        for size in (1e7, np.nan):
            other = 0.9 * near
            other[k] *= size
            assert np.array_equal(rates(near, other)[:, 0], both[:, 0])
            assert np.array_equal(rates(other, 0.9 * near)[:, 1], both[:, 1])


@cache
def four_legs() -> Equations:
    """A trunk on four legs of three links, with a number of its own for each."""
    s = arm.System("legs")
    s.gravity(9.81, -s.ground.z)
    trunk = s.body("trunk", joint=arm.Free(velocity="body"), mass=25, inertia=(0.4, 1.0, 1.1))
    for leg, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        parent = trunk
        for k, axis in enumerate("xyy"):
            parent = s.body(
                f"link_{leg}_{k}", parent, arm.Revolute(axis), at=(0.3 * x, 0.1 * y, -0.2 * k),
                mass=2 + 0.1 * leg, com=(0.02 * x, 0.05 * y, -0.1), inertia=(0.02, 0.025, 0.018),
            )  # fmt: skip
    return s.derive("recursive")


@pytest.mark.parametrize("piece", [60, 1600])
def test_packs_of_four_have_the_digits_of_llvms_code(
    piece: int, size: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one or several pieces; pairs where registers hold no more. LLVM's code takes sines by another
    function here, whose last bits differ for angles beyond the limit: both are within one unit of those.
    """
    monkeypatch.setattr(section_writer, "PIECE", piece)
    monkeypatch.setattr(section_writer, "ENCODED_PIECE", piece)
    monkeypatch.setattr(section_writer, "WHOLE", 0)
    equations = four_legs()
    lanes = vector_doubles()
    program = replace(equations.program, alike=in_lanes(equations.program.alike, lanes))
    texts = [sections.llvm_text(program, 0), sections.llvm_text(program, size, encodes=name)]
    product = f"fmul <{lanes} x double>"
    assert product in texts[0] and product not in texts[1].partition("@derivatives")[2]
    assert "derivatives_1_code" in texts[1] if piece == 60 else "derivatives_code" in texts[1]
    models = [CompiledModel(core_of(equations), Compiled(text), 0.0, compile_equations) for text in texts]
    rng = np.random.default_rng(5)
    for scale in (1.0, 1.0, 1e7):
        state = scale * rng.uniform(-1, 1, len(program.state))
        a, b = (model.derivatives(0.0, state) for model in models)
        room = 1e-14 * np.max(np.abs(a)) if scale > 1 else 0.0
        assert np.all(np.isfinite(a)) and np.max(np.abs(a - b)) <= room
