"""Arranged code computes the same numbers, with no more values at hand than there are registers."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from armillary.algebra.arguments import core_of
from armillary.algebra.expression import symbol
from armillary.llvm import sections
from armillary.llvm.arrangement.arranged_writer import _pair_angles
from armillary.llvm.arrangement.arrangement import SPARE, Store, schedule_and_allocate
from armillary.llvm.jit import Compiled
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from tests.llvm.arranged_lines import lines_of
from tests.mechanics import random_trees

INPUTS = 12


def random_code(seed: int, size: int) -> tuple[list[str], dict[str, Any], dict[str, str], list[Store]]:
    """Lines on inputs that are loaded, some operands negated, and the last values and some others stored."""
    rng = random.Random(seed)
    loads = {f"%v{i}": ("state", i, "double") for i in range(INPUTS)}
    names, opposites, lines = list(loads), {}, []
    for i in range(size):
        a, b = rng.choice(names[-60:]), rng.choice(names)
        if rng.random() < 0.2:
            negative = f"%v{INPUTS + size + i}"
            opposites[negative] = b
            b = negative
        lines.append(f"  %v{INPUTS + i} = {rng.choice(['fmul', 'fadd', 'fsub'])} double {a}, {b}")
        names.append(f"%v{INPUTS + i}")
    kept = [*names[-5:], *rng.sample(names[INPUTS:], 5), names[0], next(iter(opposites))]
    return lines, loads, opposites, [(name, ("out", i, "double")) for i, name in enumerate(kept)]


def evaluated(lines: list[str], arrays: dict[str, dict[int, float]]) -> int:
    """Runs lines; gives the largest number of values that later lines need."""
    values: dict[str, Any] = {f"%{name}": (name, 0) for name in (*arrays, "slots")}
    arrays["slots"] = {}
    last = {name: i for i, line in enumerate(lines) for name in re.findall(r"%\w+", line)}
    most = 0
    for i, line in enumerate(lines):
        words = re.findall(r"%\w+|[-\w.]+", line.replace("volatile ", ""))
        if words[0] == "store":
            array, index = values[words[-3]]
            arrays[array][index] = values[words[2]]
        elif words[0][0] == "%":
            name, operation = words[0], words[1]
            if operation == "getelementptr":
                values[name] = (values[words[5]][0], int(words[-1]))
            elif operation == "load":
                array, index = values[words[4]]
                values[name] = arrays[array][index]
            elif operation == "fneg":
                values[name] = -values[words[-1]]
            elif operation != "alloca":
                a, b = values[words[-2]], values[words[-1]]
                values[name] = a * b if operation == "fmul" else a + b if operation == "fadd" else a - b
        needed = [n for n, v in values.items() if isinstance(v, float) and last.get(n, -1) > i]
        most = max(most, len(needed))
    return most


@pytest.mark.parametrize("registers", [0, 8, 16, 32])
@pytest.mark.parametrize("seed", range(6))
def test_random_code_keeps_its_values(seed: int, registers: int) -> None:
    lines, loads, opposites, stores = random_code(seed, 150)
    state = dict(enumerate(np.random.default_rng(seed).uniform(-1.1, 1.1, INPUTS).tolist()))
    plain: dict[str, float] = {name: state[i] for name, (_, i, _) in loads.items()}
    for line in lines:
        name, operation, a, b = re.findall(r"%\w+|f\w+", line)
        x, y = (-plain[opposites[n]] if n in opposites else plain[n] for n in (a, b))
        plain[name] = x * y if operation == "fmul" else x + y if operation == "fadd" else x - y
    out: dict[int, float] = {}
    _, found = schedule_and_allocate(lines_of(lines), loads, opposites, stores, registers)
    most = evaluated([line.strip() for line in found], {"state": state, "out": out})
    expected = [-plain[opposites[v]] if v in opposites else plain[v] for v, _ in stores]
    assert [out[i] for i in range(len(stores))] == expected
    assert not registers or most <= registers - SPARE + 1  # a negated operand exists for one line


def test_what_no_result_needs_is_left_out() -> None:
    lines = ["  %v1 = fmul double %v0, %v0", "  %v2 = fadd double %v1, %v0", "  %v3 = fmul double %v1, %v1"]
    _, found = schedule_and_allocate(
        lines_of(lines), {"%v0": ("state", 0, "double")}, {}, [("%v3", ("out", 0, "double"))], 32
    )
    assert [line.split()[0] for line in found] == ["%r1", "%v1", "%v3", "store"]


def test_the_time_is_an_argument_and_not_loaded() -> None:
    """Also where it is negated."""
    loads = {"%v0": ("state", 0, "double")}
    lines = ["  %v1 = fadd double %v0, %t", "  %v2 = fmul double %v1, %v3"]
    _, found = schedule_and_allocate(
        lines_of(lines), loads, {"%v3": "%t"}, [("%v2", ("out", 0, "double"))], 32
    )
    assert [line.split()[2] for line in found if "=" in line] == ["load", "fadd", "fneg", "fmul"]
    assert sum("%t" in line for line in found) == 2


def test_pairs_and_whole_numbers_are_stored_with_their_kind() -> None:
    """Eight pairs and eight pairs of bits, with room for five values."""
    loads = {"%v0": ("state", 0, "<2 x double>")}
    lines = []
    for i in range(1, 17, 2):
        lines.append(f"  %v{i} = fadd <2 x double> %v0, splat (double 0x{i:016X})")
        lines.append(f"  %v{i + 1} = bitcast <2 x double> %v{i} to <2 x i64>")
    for i in range(17, 33, 2):
        lines.append(f"  %v{i} = xor <2 x i64> %v{i - 15}, %v{i - 1 if i > 17 else 2}")
        lines.append(f"  %v{i + 1} = add <2 x i64> %v{i}, %v2")
    lines.append("  %v33 = bitcast <2 x i64> %v32 to <2 x double>")
    room, found = schedule_and_allocate(lines_of(lines), loads, {}, [("%v33", ("out", 0, "<2 x double>"))], 8)
    kinds = {line[: line.index(">") + 1] for line in found if "store" in line}
    assert kinds == {"  store volatile <2 x double>", "  store volatile <2 x i64>"}
    stored = [line for line in found if "store volatile <2 x i64>" in line]
    assert room == [f"  %slots = alloca [{2 * len(stored)} x double], align 16"]


def test_each_value_is_stored_at_most_once() -> None:
    lines, loads, opposites, stores = random_code(3, 400)
    _, found = schedule_and_allocate(lines_of(lines), loads, opposites, stores, 8)
    stored = [line.split()[3] for line in found if "store" in line]
    assert len(stored) > 100 and len(stored) == len(set(stored)) + len(stores) - len({s[0] for s in stores})


@pytest.mark.parametrize("seed", [9, 11])
def test_a_model_has_the_same_digits_for_any_number_of_registers(seed: int) -> None:
    case = random_trees.tree_case(seed)
    equations = random_trees.build(case, parameters=True).derive()
    state = np.concatenate([case.q, case.u])
    models = [
        CompiledModel(
            core_of(equations), Compiled(sections.llvm_text(equations.program, n)), 0.0, compile_equations
        )
        for n in (0, 16, 32)
    ]
    first, *others = (model.derivatives(0.0, state) for model in models)
    for other in others:
        assert np.array_equal(first, other)
        assert models[0].outputs(0.0, state) == models[-1].outputs(0.0, state)


def test_sines_of_neighbours_in_the_state_are_computed_together() -> None:
    """They are loaded as one vector; the others are paired in their order."""
    places = [0, 1, 2, 4, 6, 7, 9]
    angles = [symbol(f"q{place}", "coordinate") for place in places]
    pairs = [[angle.data.name for angle in pair] for pair in _pair_angles(angles, places)]
    assert pairs == [["q0", "q1"], ["q6", "q7"], ["q2", "q4"], ["q9"]]
