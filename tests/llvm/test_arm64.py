"""Words of arm64 instructions that are written here compute what LLVM's code does, to the last bit."""

from __future__ import annotations

import ctypes
import platform
import random
import re
from typing import Any

import numpy as np
import pytest

from armillary.llvm import sections
from armillary.llvm.arrangement.arm64 import SHAPES, encoded
from armillary.llvm.arrangement.arrangement import PAIR
from armillary.llvm.arrangement.entry import Entry, machine_words
from armillary.llvm.jit import Compiled, encodes
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from tests.llvm.test_arrangement import lines_of
from tests.mechanics import random_trees

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("aarch64", "arm64"), reason="machine code of arm64"
)


@pytest.fixture(autouse=True)
def final_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick code is not fused."""
    monkeypatch.delenv("ARMILLARY_COMPILE", raising=False)
    assert encodes()


Code = tuple[list[str], dict[str, Any], dict[str, str], list[Any]]
PLACES = [*range(9), 31, 33, 4094, 4095, 4097, 5001, 9000, 9001, 13000]  # near and far, odd and even
SIZE = 13003
NAME = re.compile(r"%v\d+")
DECLARED = "\n".join(
    f"declare {kind} @llvm.{name}.{end}({', '.join([kind] * count)})"
    for kind, end in (("double", "f64"), (PAIR, "v2f64"))
    for name, count in (("fmuladd", 3), ("fma", 3), ("maximum", 2), ("minimum", 2), ("sqrt", 1), ("fabs", 1))
)


def random_code(seed: int, size: int) -> Code:
    """Lines of all shapes on inputs, a third of their operands negated.

    Second factors and divisors are inputs, so that values stay finite; whole numbers are signs, or bits that
    signs are taken of; a lane that is not defined is filled at once.
    """
    rng = random.Random(seed)
    loads: dict[str, Any] = {}
    pool: dict[str, list[str]] = {"double": [], PAIR: [], "bits": [], "raw": [], "sign": [], "mask": []}
    for i, place in enumerate(PLACES):
        for j, kind in enumerate(("double", PAIR)):
            loads[f"%v{2 * i + j}"] = ("state", place, kind)
            pool[kind].append(f"%v{2 * i + j}")
    given = {kind: list(pool[kind]) for kind in ("double", PAIR)}
    names = iter([f"%v{i}" for i in range(len(loads), 9 * size)])
    opposites: dict[str, str] = {}
    lines: list[str] = []

    def operand(kind: str, source: list[str]) -> str:
        name = rng.choice(source[-60:])
        if kind in given and rng.random() < 0.3:
            opposites[negative := next(names)] = name
            return negative
        return name

    def add(shape: str) -> None:
        if "sqrt" in shape:
            add(shape.replace("sqrt", "fabs"))
        operands, result = kinds_of(shape)
        sources = [given[k] if i == 1 and k in given else pool[k] for i, k in enumerate(operands)]
        values = [operand(kind, source) for kind, source in zip(operands, sources, strict=True)]
        if "sqrt" in shape:
            values = pool[result][-1:]
        text = shape
        for value in values:
            text = text.replace("$", value, 1)
        lines.append(f"  {(name := next(names))} = {text}")
        pool[result].append(name)
        if "poison, double" in shape:
            ways = [s for s in SHAPES if (s.startswith("insertelement") and "i64 1" in s) or "i32> zero" in s]
            second = rng.choice(ways)
            pool[result][-1:] = []
            text = second.replace("$", name, 1).replace("$", operand("double", pool["double"]), 1)
            lines.append(f"  {(name := next(names))} = {text}")
            pool[result].append(name)

    for word in (f"bitcast {PAIR}", "lshr", "shl", "icmp"):
        add(next(s for s in SHAPES if s.startswith(word)))
    while len(lines) < size:
        add(rng.choice([s for s in SHAPES if "<2 x i32> zeroinitializer" not in s]))
    for name in pool["double"][-12::2]:  # opposites of values that nothing else takes, and of others
        opposites[negative := next(names)] = name
        pool["double"].append(negative)
    kept = [*pool["double"][-40:], *list(opposites)[-9:-6], *pool["double"][:2], *pool[PAIR][-30:]]
    kept.insert(20, kept[3])  # twice, beside others
    kinds = {name: kind for kind in given for name in pool[kind]}
    stores, place = [], 31  # neighbours, across the places up to which one instruction stores two
    for value in kept:
        kind = kinds[opposites.get(value, value)]
        stores.append((value, ("out", place, kind)))
        place += 1 if kind == "double" else 2
    stores.append(("0x0000000000000000", ("out", 299, "double")))
    return lines, loads, opposites, stores


def kinds_of(shape: str) -> tuple[list[str], str]:
    """Kinds of the operands and of the value of an operation."""
    word = shape.split()[0]
    if word in ("bitcast", "xor", "shl", "lshr", "icmp", "select"):
        return {
            "bitcast": (["bits"], PAIR) if shape.startswith("bitcast <2 x i64>") else ([PAIR], "bits"),
            "xor": (["bits", "sign"], "bits"),
            "shl": (["raw"], "sign"),
            "lshr": (["bits"], "raw"),
            "icmp": (["sign"], "mask"),
            "select": (["mask", PAIR, PAIR], PAIR),
        }[word]
    if word == "extractelement":
        return [PAIR], "double"
    if word == "insertelement":
        return (["double"], PAIR) if "poison" in shape else ([PAIR, "double"], PAIR)
    kind = PAIR if PAIR in shape else "double"
    return [kind] * shape.count("$"), kind


def plain_text(code: Code) -> str:
    """The same lines for LLVM, in their order."""
    lines, loads, opposites, stores = code
    kinds = {name: kind for name, (_, _, kind) in loads.items()}
    kinds |= {line.split()[0]: kinds_of(NAME.sub("$", line.partition(" = ")[2]))[1] for line in lines}
    first = [
        f"  %p{name[1:]} = getelementptr double, ptr %state, i64 {place}\n"
        f"  {name} = load {kind}, ptr %p{name[1:]}, align 8"
        for name, (_, place, kind) in loads.items()
    ]
    made: list[str] = []
    turned: set[str] = set()

    def turn(text: str) -> None:
        for name in NAME.findall(text):
            if name in opposites and name not in turned:
                turned.add(name)
                made.append(f"  {name} = fneg {kinds[opposites[name]]} {opposites[name]}")

    for line in lines:
        turn(line)
        made.append(line)
    for i, (value, (_, place, kind)) in enumerate(stores):
        turn(value)
        made.append(f"  %o{i} = getelementptr double, ptr %out, i64 {place}")
        made.append(f"  store {kind} {value}, ptr %o{i}, align 8")
    body = "\n".join([*first, *made])
    return f"{DECLARED}\ndefine void @f(ptr %state, ptr %out) {{\n{body}\n  ret void\n}}"


ENTRY = Entry(["state", "out"], [], [])

CALLER = """
declare void @"\\01f_code"(ptr, ptr)
define void @f(ptr %state, ptr %out) {
  call void @"\\01f_code"(ptr {arrays[0]}, ptr {arrays[1]})
  ret void
}
define double @kept(ptr %state, ptr %out) {
{loads}
  call void @"\\01f_code"(ptr {arrays[0]}, ptr {arrays[1]})
{sums}
  ret double %s20
}
"""


def words_text(code: Code) -> str:
    """The words, and two callers: one with twenty values that are needed after the call."""
    found = encoded(lines_of(code[0]), *code[1:], ENTRY)
    assert found is not None
    loads = "\n".join(
        f"  %p{i} = getelementptr double, ptr %state, i64 {i}\n  %x{i} = load double, ptr %p{i}"
        for i in range(20)
    )
    sums = "\n".join(f"  %s{i + 1} = fadd double {f'%s{i}' if i else '0.0'}, %x{i}" for i in range(20))
    text = CALLER.replace("{loads}", loads).replace("{sums}", sums)
    for i, array in enumerate(found.arrays):
        text = text.replace(f"{{arrays[{i}]}}", f"%{array}")
    return machine_words("f", found) + text


def called(text: str, name: str, state: Any, out: Any) -> float:
    code = Compiled(text)
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)
    result: float = kind(code.address(name))(state.ctypes.data, out.ctypes.data)
    return result


@pytest.mark.parametrize("seed", range(6))
def test_words_of_random_code_compute_the_same_bits(seed: int) -> None:
    """Of all shapes, with more values than registers; registers that a caller needs are kept."""
    code = random_code(seed, 500)
    rng = np.random.default_rng(seed)
    state = rng.uniform(0.5, 1.5, SIZE) * rng.choice([-1, 1], SIZE)
    expected, found = np.full((2, 300), 7.0)
    called(plain_text(code), "f", state, expected)
    text = words_text(code)
    assert called(text, "kept", state, found) == np.add.accumulate(state[:20])[-1]
    assert np.array_equal(expected, found)


def test_what_is_not_written_here_is_left_to_llvm() -> None:
    loads = {"%v0": ("state", 0, "double")}
    stores = [("%v1", ("out", 0, "double"))]
    assert encoded(lines_of(["%v1 = call double @exp(double %v0)"]), loads, {}, stores, ENTRY) is None
    assert encoded(lines_of(["%v1 = fadd double %v0, %t"]), loads, {}, stores, ENTRY) is None
    stores.append(("%t", ("out", 1, "double")))
    assert encoded(lines_of(["%v1 = fadd double %v0, %v0"]), loads, {}, stores, ENTRY) is None


def test_code_that_one_instruction_does_not_cross_is_left_to_llvm() -> None:
    """Numbers, angles and the way out lie beside the code: addresses and branches reach 2^18 words."""
    entry = Entry(["state", "out"], [0, 1], [0.5])
    body = [0xD503201F] * (2**18 - 40)
    assert entry.near(len(body)) and not entry.near(2**18 - 1)
    words, second, address = entry.framed([], body, [], entry.arrays([], 8))
    assert max(words) < 2**32 and second < address < 2**18
    numbers = next(word for word in words if word & 0x9F00001F == 0x10000004)  # adr x4
    assert words.index(numbers) + (numbers >> 5 & 0x3FFFF) == address + 2 + 4


def test_an_opposite_goes_to_the_same_place_of_two_arrays() -> None:
    """As in events that set a memory and a speed of the same number to one value: both are set."""
    stores = [("%v1", (array, 3, "double")) for array in ("new_memory", "new_state")]
    found = encoded(
        [],
        {"%v0": ("state", 0, "double")},
        {"%v1": "%v0"},
        stores,
        Entry(["state", "new_memory", "new_state"], [], []),
    )
    assert found is not None
    assert {word >> 5 & 31 for word in found.words if word >> 22 == 0xFD000000 >> 22} == {1, 2}


@pytest.mark.parametrize(("seed", "piece"), [(9, 60), (11, 60), (9, 1600)])
def test_a_model_has_the_digits_of_llvms_code(seed: int, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of angles beyond the limit of sines and of those that are no numbers, in one or several pieces."""
    monkeypatch.setattr(sections, "ENCODED_PIECE", piece)
    case = random_trees.tree_case(seed)
    equations = random_trees.build(case, parameters=True).derive()
    texts = [sections.llvm_text(equations.program, 32, encodes=words) for words in (False, True)]
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
