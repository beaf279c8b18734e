"""Packs: operations of branches that are alike are found, whatever their numbers, and computed as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.expression import Expr, symbol, total
from armillary.algebra.functions import let
from armillary.llvm import section_writer
from armillary.llvm import sections as llvm
from armillary.llvm.jit import Compiled, everywhere, vector_doubles
from armillary.program import packs as worth
from armillary.program.branch_packs import Pack, _Numbering, possible_packs, strip_lets
from armillary.program.checker import IllegalProgram, check_section
from armillary.program.packs import pack_section
from armillary.program.program import Program, ProgramSection, section
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from tests.systems.walker import derived

pytestmark = pytest.mark.optimised


def model(program: Program, piece: int, monkeypatch: pytest.MonkeyPatch, registers: int = 0) -> CompiledModel:
    equations = derived("wheel.q1" in [s.data.name for s in program.state])
    monkeypatch.setattr(section_writer, "PIECE", piece)
    text = llvm.llvm_text(program, registers)
    assert ("derivatives_1(" in text) == (piece < 1000)
    return CompiledModel(replace(core_of(equations), program=program), Compiled(text), 0.0, compile_equations)


@pytest.mark.parametrize(("piece", "lanes", "registers"), [(150, 2, 32), (150, 4, 0), (10**9, 4, 0)])
def test_packs_change_nothing_but_rounding(
    piece: int, lanes: int, registers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one function, and in pieces that hand packs on through memory; arranged for registers, and not."""
    program = derived(wheel=lanes == 2).program
    packs = pack_section(program.derivatives, program.alike, {}).packs
    assert lanes in {len(pack.lanes) for pack in packs}
    wide = model(program, piece, monkeypatch, registers)
    single = model(replace(program, alike=()), piece, monkeypatch)
    rng = np.random.default_rng(3)
    for _ in range(5):
        state = rng.uniform(-1, 1, len(program.state))
        expected = single.derivatives(0.0, state)
        np.testing.assert_allclose(
            wide.derivatives(0.0, state), expected, rtol=0, atol=1e-12 * np.max(np.abs(expected))
        )


def test_a_sum_over_lanes_keeps_a_value_beside_a_name_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 x + 3 y + 5 z, where (x, y) is a pack and z a name of x: an element of back substitution has such."""
    program = derived().program
    rates = program.derivatives
    wide = pack_section(rates, program.alike, {})
    x, y = next(p.lanes for p in wide.packs if p.kind == "sum")
    results = [total([(2, x), (3, y), (5, let(x, "z"))]), *rates.results[1:]]
    program = replace(program, derivatives=section("derivatives", rates.labels, results))
    assert {x, y} <= {n for p in pack_section(program.derivatives, program.alike, {}).packs for n in p.lanes}
    state = np.random.default_rng(4).uniform(-1, 1, len(program.state))
    found, expected = (
        model(p, 10**9, monkeypatch).derivatives(0.0, state)[0] for p in (program, replace(program, alike=()))
    )
    assert found == pytest.approx(expected, rel=1e-12)


def test_legs_with_other_numbers_and_signs_are_computed_in_pairs() -> None:
    """All operations of the legs, which are five in six here; the trunk and the wheel's leg remain."""
    equations = derived()
    names = {(a.data.name, b.data.name) for a, b in equations.program.alike}
    assert {("hip0.q1", "hip1.q1"), ("shank0.u1", "shank1.u1"), ("hip2.q1", "hip3.q1")} <= names
    assert equations.paired.total > 0.6 * equations.operations.total
    assert f"of which in pairs: {equations.paired}" in equations.report()
    text = llvm.llvm_text(equations.program)
    fused = text.count("@llvm.fmuladd.v2f64(") + text.count(" = fmul <2 x double>")
    assert fused > 0.25 * equations.operations.multiplications
    packs = pack_section(equations.program.derivatives, equations.program.alike, {}).packs
    assert {"sin", "cos", "max", "select", "gt", "abs"} <= {
        p.lanes[0].data for p in packs if p.kind == "call"
    }


def test_columns_of_operands_count_the_packs_in_use_that_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made = worth._Choice.choose_packs
    given_up: list[int] = []

    def checked(choice: worth._Choice) -> list[Pack]:
        chosen = made(choice)
        for column, users in choice.column_users.items():
            assert choice.sharing[column] == sum([pack in chosen for pack in users])
        given_up.append(len(choice.saved) - len(chosen))
        return chosen

    monkeypatch.setattr(worth._Choice, "choose_packs", checked)
    program = derived(wheel=False).program
    pack_section(program.derivatives, program.alike, {})
    assert max(given_up) > 0


def branches_that_share(seed: int) -> tuple[tuple[Expr, ...], list[tuple[Expr, ...]]]:
    """Nodes of random values in four branches, of which some reach into the next branches, and sums of any of
    them; and the columns of the states.
    """
    rng = np.random.default_rng(seed)
    columns = [tuple(symbol(f"{name}{i}", "coordinate") for i in range(4)) for name in "ab"]
    rows = list(columns)
    for _ in range(5):
        (k, m), operation, shift = rng.integers(len(rows), size=2), rng.integers(4), rng.integers(3)
        made = []
        for i in range(4):
            x, y, factor = rows[k][i], rows[m][(i + shift) % 4], (2, 3, 5, 7, 11, 13)[rng.integers(6)]
            made.append((x * y, factor * x + y, arm.sin(x) + factor * y, x - y)[operation])
        rows.append(tuple(made))
    values = [value for row in rows[2:] for value in row]
    chosen = [zip(rng.choice(len(values), 4), rng.integers(1, 4, 4), strict=True) for _ in range(4)]
    results = [*(total([(int(c), values[j]) for j, c in one]) for one in chosen), *rows[-1]]
    labels = [f"r{i}" for i in range(len(results))]
    return section("derivatives", labels, results).nodes, columns


@pytest.mark.parametrize("seed", [157, 431, 442, 514])  # where an operand of a pack is in another one already
def test_a_node_is_in_one_pack_alone(seed: int) -> None:
    nodes, columns = branches_that_share(seed)
    lanes = [node for pack in possible_packs(nodes, columns) for node in pack.lanes]
    assert lanes and len(lanes) == len(set(lanes))


def test_lanes_are_in_the_order_of_the_branches() -> None:
    """Of (a, b, c, d) the images of a c are b d and itself again: branches 0 and 1 of two. Those of (a c) a
    are four, whose branch is that of the second factor.
    """
    a, b, c, d = column = tuple(symbol(name, "coordinate") for name in "abcd")
    pairs = (arm.sin(a * c), arm.sin(b * d))
    products = (pairs[0] * c, pairs[1] * d, pairs[0] * a, pairs[1] * b)
    nodes = section("derivatives", list("wxyz"), products).nodes
    numbering = _Numbering(nodes, [column])
    assert [numbering.period(p) for p in (*pairs, *products)] == [2, 2, 4, 4, 4, 4]
    assert [numbering.branch[p] for p in (*pairs, *products)] == [0, 1, 2, 3, 0, 1]
    lanes = [pack.lanes for pack in possible_packs(nodes, [column])]
    assert pairs in lanes and (products[2], products[3], products[0], products[1]) in lanes


def test_a_chain_has_no_packs() -> None:
    s = arm.System("chain")
    link = None
    for i in range(3):
        link = s.body(f"link{i}", link, arm.Revolute("xyz"[i]), at=(0, 0, 1), mass=1, inertia=(1, 2, 3))
    equations = s.derive()
    assert equations.program.alike == () and equations.paired.total == 0
    assert "pairs" not in equations.report()


def test_vectors_of_runs_hold_no_packs() -> None:
    """A batch takes as many runs at once as a register holds numbers; its operations are wide already."""
    program = derived().program
    texts = [llvm.lanes_module(p, 2).text() for p in (program, replace(program, alike=()))]
    assert texts[0] == texts[1]


def test_without_vector_registers_nothing_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = derived(wheel=False).program
    assert {len(column) for column in program.alike} == {4}
    assert vector_doubles() in (2, 4)
    assert max(map(len, llvm.for_this_machine(program).alike)) == vector_doubles()
    monkeypatch.setenv("ARMILLARY_CPU", "-neon,-sse2,-avx2")
    assert vector_doubles() == 1
    text = llvm.llvm_text(llvm.for_this_machine(program))
    assert text == llvm.llvm_text(replace(program, alike=()))


def of_other_operands(section: ProgramSection) -> ProgramSection:
    place = next(i for i, p in enumerate(section.packs) if p.kind == "sum" and len(set(p.factors)) > 1)
    packs = list(section.packs)
    packs[place] = replace(packs[place], operands=packs[place].operands[::-1])
    return replace(section, packs=tuple(packs))


def apart(section: ProgramSection) -> ProgramSection:
    a, b = (next(p for p in section.packs if p.kind == kind) for kind in ("sum", "product"))
    return replace(section, packs=(Pack((a.lanes[0], b.lanes[0]), a.operands, a.factors),))


def of_different_operations(section: ProgramSection) -> ProgramSection:
    """Of two neighbours that are different."""
    pairs = zip(section.nodes, section.nodes[1:], strict=False)
    a, b = next((a, b) for a, b in pairs if {a.kind, b.kind} == {"sum", "product"})
    columns, factors = tuple((x, x) for x in map(strip_lets, a.args)), tuple((f, f) for f in a.data[1])
    return replace(section, packs=(Pack((a, b), columns, factors),))


def twice(section: ProgramSection) -> ProgramSection:
    return replace(section, packs=(*section.packs, section.packs[0]))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (of_other_operands, "the columns of its pack are not its operands"),
        (apart, "are not adjacent"),
        (of_different_operations, "the nodes of its pack are different operations"),
        (twice, "it is in two packs"),
    ],
)
def test_the_checker_finds_faults_of_packs(
    fault: Callable[[ProgramSection], ProgramSection], message: str
) -> None:
    program = derived().program
    section = pack_section(program.derivatives, program.alike, {})
    inputs = {program.time, *program.state, *program.constants, *program.memory}
    check_section(section, inputs)
    with pytest.raises(IllegalProgram, match=message):
        check_section(fault(section), inputs)


def test_machines_whose_features_llvm_does_not_find_have_the_vectors_of_their_architecture() -> None:
    triples = ("x86_64-pc-linux-gnu", "aarch64-unknown-linux-gnu", "arm64-apple-darwin24", "riscv64-linux")
    assert [everywhere(t) for t in triples] == [{"sse2": True}, {"neon": True}, {"neon": True}, {}]
