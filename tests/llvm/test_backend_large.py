"""Large programs: cut into pieces without a trace, compiled in linear time, and freed with their models."""

from __future__ import annotations

import gc
import math
import re
import weakref
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.expression import Expr, total
from armillary.llvm import node_writer, pieces, section_writer
from armillary.llvm import sections as llvm
from armillary.llvm.instructions import real
from armillary.llvm.jit import Compiled, without_fusion
from armillary.program.program import Program
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from armillary.settings import RunSettings
from armillary.stages.equations import Equations
from tests.mechanics import random_trees
from tests.systems.everything import everything

pytestmark = pytest.mark.optimised


def compiled(
    equations: Equations, piece: int, monkeypatch: pytest.MonkeyPatch, *, fused: bool
) -> CompiledModel:
    monkeypatch.setattr(section_writer, "PIECE", piece)
    text = llvm.llvm_text(equations.program)
    assert ("derivatives_1(" in text) == (len(equations.program.derivatives.nodes) > 2 * piece)
    code = Compiled(text if fused else without_fusion(text))
    return CompiledModel(core_of(equations), code, 0.0, compile_equations)


@cache
def derived(seed: int) -> Equations:
    return random_trees.build(random_trees.tree_case(seed), parameters=True).derive()


@pytest.mark.parametrize(("seed", "piece"), [(11, 1), (11, 50)])
def test_pieces_leave_no_trace_in_the_numbers(seed: int, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, whether × and + are fused or not: which are is chosen for the whole section."""
    case = random_trees.tree_case(seed)
    equations = derived(seed)
    state = np.concatenate([case.q, case.u])
    found = []
    for fused in (True, False):
        whole = compiled(equations, 10**9, monkeypatch, fused=fused)
        cut = compiled(equations, piece, monkeypatch, fused=fused)
        assert np.array_equal(cut.constants(), whole.constants())
        found.append(whole.derivatives(0.0, state))
        assert np.array_equal(cut.derivatives(0.0, state), found[-1])
        assert cut.outputs(0.0, state) == whole.outputs(0.0, state)
    np.testing.assert_allclose(*found, rtol=0, atol=1e-11 * np.max(np.abs(found[1])))


def test_every_section_can_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events, update, fire and normalise run in pieces too: the whole run is the same, bit for bit."""
    s = everything()
    s.body("ball", joint=arm.Spherical(), mass=1, inertia=(1, 2, 2.5))
    equations = s.derive()
    parameters = {
        "L": 0.4,
        "m": 2.0,
        "Ix": 1.0,
        "Iy": 1.1,
        "Iz": 1.2,
        "g": 9.81,
        "k": 3.0,
        "target": 0.2,
        "limit": 0.1,
    }
    start = {"A.q1": 0.5, "B.q1": 0.3, "A.u1": 0.2, "B.u1": 0.4, "ball.u1": 1.0, "ball.u2": 0.1}
    runs = [
        compiled(equations, piece, monkeypatch, fused=False).run_with(
            RunSettings(1.0, method="dopri5"), initial=start, parameters=parameters
        )
        for piece in (10**9, 2)
    ]
    assert runs[0].events and runs[0].final["held"] != 0
    assert runs[0].events == runs[1].events
    assert np.array_equal(runs[0].values, runs[1].values, equal_nan=True)  # log of a negative number


def piece_texts(text: str) -> list[str]:
    return re.findall(r"^define internal void @outputs_\d+\(.*?^}", text, re.M | re.S)


def cubics(terms: int) -> Program:
    """A program whose outputs hold the same few numbers in every term."""
    s = arm.System("numbers")
    x = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1)).q1
    node = x
    for _ in range(terms):
        node = 0.3 + 0.7 * node * (1.1 - 2 * node**2)
    s.output("large", node)
    return s.derive().program


def test_pieces_load_numbers_from_one_array_and_single_functions_hold_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each number has one place in it; 2 is part of the code. Beyond LOADED, a piece holds numbers itself."""
    program = cubics(60)
    assert "_numbers" not in llvm.llvm_text(program)
    monkeypatch.setattr(section_writer, "PIECE", 50)
    text = llvm.llvm_text(program)
    array = re.search(r"@outputs_numbers = internal constant \[\d+ x double\] \[(.*)\]", text)
    assert array is not None
    numbers = [word.removeprefix("double ") for word in array[1].split(", ")]
    assert len(set(numbers)) == len(numbers) == 4 and real(0.3) in numbers
    pieces = piece_texts(text)
    assert len(pieces) > 2
    assert not any(number in piece for piece in pieces for number in numbers)
    monkeypatch.setattr(node_writer, "LOADED", 2)
    held = piece_texts(llvm.llvm_text(program))
    assert all(sum(number in piece for number in numbers) == 2 for piece in held[1:-1])


def test_pieces_that_load_many_numbers_are_half_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    program = cubics(60)
    monkeypatch.setattr(section_writer, "PIECE", len(program.outputs.nodes) / 5)
    assert len(piece_texts(llvm.llvm_text(program))) == 10
    monkeypatch.setattr(pieces, "RICH", 2)
    assert len(piece_texts(llvm.llvm_text(program))) == 5
    monkeypatch.undo()
    monkeypatch.setattr(section_writer, "PIECE", len(program.outputs.nodes))
    assert not piece_texts(llvm.llvm_text(program))


def test_a_whole_piece_has_few_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for arm64 is one piece only where its instructions reach each other, however long its sums are."""
    section = cubics(60).outputs
    assert len(pieces._pieces(section, 50, section_writer.WHOLE, loading=False)) == 1
    monkeypatch.setattr(pieces, "OPERANDS", sum(len(n.args) for n in section.nodes) - 1)
    assert len(pieces._pieces(section, 50, section_writer.WHOLE, loading=False)) > 1


def test_writers_of_pieces_are_freed_at_once() -> None:
    """Without garbage collection: they hold expressions."""
    writer = node_writer.Writer(node_writer.Module(), {}, {}, {}, {})
    assert writer.number(0.3) == "%v1"  # the first number, loaded
    gone = weakref.ref(writer)
    gc.disable()
    try:
        del writer
        assert gone() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------- tens of thousands of nodes


def slider(output: Expr, system: arm.System) -> CompiledModel:
    system.output("large", output)
    return system.derive().compile()


def test_a_chain_of_ten_thousand_nodes_compiles() -> None:
    """Far deeper than any recursion reaches; 100,000 nodes take 14 s, in proportion."""
    s = arm.System("deep")
    x = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1)).q1
    node, expected = x, 0.3
    for i in range(5_001):
        node = 0.5 * node**2 + 0.01 * (i % 7 + 1)
        expected = 0.5 * expected**2 + 0.01 * (i % 7 + 1)
    model = slider(node, s)
    nodes = len(model.equations.program.outputs.nodes)
    assert nodes > 10_000
    assert model.outputs(0.0, [0.3, 0.0])["large"] == pytest.approx(expected, rel=1e-13)


def sum_of_squares(terms: int) -> CompiledModel:
    s = arm.System("wide")
    x = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1)).q1
    return slider(total((1 + i / terms, (x + i) ** 2) for i in range(terms)), s)


def test_a_sum_of_thousands_of_terms_compiles_in_proportion_to_its_length() -> None:
    """LLVM's time grows with the square of the length of a function, so functions keep theirs."""
    short, long = sum_of_squares(600), sum_of_squares(3_000)
    expected = math.fsum((1 + i / 3_000) * (0.3 + i) ** 2 for i in range(3_000))
    assert long.outputs(0.0, [0.3, 0.0])["large"] == pytest.approx(expected, rel=1e-13)
    few, many = (piece_texts(llvm.llvm_text(model.equations.program)) for model in (short, long))
    assert sum(map(len, many)) < 6 * sum(map(len, few))
    assert max(map(len, many)) < 1.5 * max(map(len, few))


# ---------------------------------------------------------------- freed with the model


def small_model(i: int) -> CompiledModel:
    s = arm.System(f"small {i}")
    s.body("A", joint=arm.Revolute("z"), mass=1 + i, inertia=(1, 1, 1))
    s.output("o", arm.sin(s.coordinates[0] * (i + 1)))
    return s.derive().compile()


def resident_megabytes() -> float:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert found is not None
    return int(found.group(1)) / 1024


def test_code_is_freed_with_its_model() -> None:
    model = small_model(0)
    engine, code = weakref.ref(core_of(model)._code._engine), weakref.ref(core_of(model)._code)
    assert engine() is not None
    run = model.simulate(0.1, step=0.01)
    del model
    gc.collect()
    assert engine() is None and code() is None
    assert len(run) == 11  # a run does not need its model


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
def test_memory_does_not_grow_with_models_made_and_dropped() -> None:
    """Code, graph and library objects of a small model are some 300 kB; 48 of them leave less than 3 MB."""
    for i in range(16):
        small_model(i)
    gc.collect()
    before = resident_megabytes()
    for i in range(48):
        small_model(i)
    gc.collect()
    assert resident_megabytes() - before < 3


def test_functions_outlive_the_model_in_a_run_that_is_under_way() -> None:
    """The integrator holds the code: a model that only the call refers to is not freed during it."""
    run = small_model(3).simulate(1.0, step=1e-3, progress=lambda t: gc.collect() and None)
    assert run.info["status"] == "finished"
