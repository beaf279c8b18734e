"""Words of arm64 instructions, made on any machine."""

from __future__ import annotations

import platform
from struct import unpack

import pytest

import armillary as arm
from armillary.llvm import section_writer, sections
from armillary.llvm.arrangement.arm64 import SPACING, TOUCHED_PAGE, Arm64, frame_code, reaches
from armillary.llvm.arrangement.arrangement import PAIR
from armillary.llvm.arrangement.machine_code import Entry, encode_lines
from tests.llvm.arranged_lines import lines_of
from tests.llvm.assembler import assembled
from tests.llvm.random_sections import ENTRY


def words_of(code: bytes) -> list[int]:
    return list(unpack(f"<{len(code) // 4}I", code))


def test_words_of_a_small_section() -> None:
    lines = ["%v1 = fdiv double %v0, %v0", "%v2 = fsub double %v0, %v1"]
    stores = [("%v2", ("out", 0, "double"))]
    found = encode_lines(lines_of(lines), {"%v0": ("state", 0, "double")}, {}, stores, ENTRY, Arm64, 32)
    assert found is not None
    text = ["ldr d0, [x0]", "fdiv d1, d0, d0", "fmov v30.2d, 1.0", "fnmsub d2, d0, d30, d1"]
    text += ["str d2, [x1]", "ret"]
    expected = [0xFD400000, 0x1E601801, 0x6F03F61E, 0x1F7E8402, 0xFD000022, 0xD65F03C0]
    assert words_of(found.code)[:6] == expected
    if platform.machine() in ("aarch64", "arm64"):
        assert found.code[:24] == assembled(text, "aarch64-unknown-linux-gnu", "")


def test_each_angle_is_loaded_from_its_place_and_a_far_one_leads_behind_the_return() -> None:
    """ldr x15, [x2, 8·place]; cmp x8, x15, lsl 1; b.ls to the word behind ret."""
    body = [0xD503201F] * (2 * SPACING)
    code = frame_code(
        Entry(("state", "out"), (3, 7), ()), [], body, [], ("state", "out", "angles", "thirds")
    ).code
    words = words_of(code)
    loads = [i for i, word in enumerate(words) if word & 0xFFC0001F == 0xF940000F]
    assert [words[i] for i in loads] == [0xF9400000 | place << 10 | 2 << 5 | 15 for place in (3, 7)]
    behind = words.index(0xD65F03C0) + 1
    for i in loads:
        assert words[i + 1] == 0xEB0F051F and words[i + 2] == 0x54000009 | behind - (i + 2) << 5


def test_a_section_without_operations_returns() -> None:
    found = encode_lines([], {}, {}, [], ENTRY, Arm64, 32)
    assert found is not None and words_of(found.code)[0] == 0xD65F03C0


def test_inputs_that_are_results_go_by_registers_of_integers() -> None:
    """Of one double and of two; no register for doubles is loaded, and none of their units has to store."""
    loads = {"%v0": ("state", 3, "double"), "%v1": ("state", 4, PAIR), "%v2": ("state", 1000, PAIR)}
    stores = [("%v0", ("out", 0, "double")), ("%v1", ("out", 2, PAIR)), ("%v2", ("out", 4, PAIR))]
    found = encode_lines([], loads, {}, stores, ENTRY, Arm64, 32)
    assert found is not None
    text = [
        *("ldr x17, [x0, 24]", "str x17, [x1]", "ldp x17, x13, [x0, 32]", "stp x17, x13, [x1, 16]"),
        *("add x16, x0, 1, lsl 12", "add x16, x16, 3968", "ldp x17, x13, [x16, -64]"),
        *("stp x17, x13, [x1, 32]", "ret", "nop"),
    ]
    expected = [0xF9400C11, 0xF9000031, 0xA9423411, 0xA9013431]
    assert words_of(found.code)[:4] == expected and len(found.code) == 4 * len(text)
    if platform.machine() in ("aarch64", "arm64"):
        assert found.code == assembled(text, "aarch64-unknown-linux-gnu", "")


def test_the_first_lane_of_an_input_is_copied_as_one_double() -> None:
    """By a register of integers; the second lane takes one for doubles."""
    lines = [f"%v{i + 1} = extractelement {PAIR} %v0, i64 {i}" for i in range(2)]
    stores = [("%v1", ("out", 5, "double")), ("%v2", ("out", 9, "double"))]
    found = encode_lines(lines_of(lines), {"%v0": ("state", 4, PAIR)}, {}, stores, ENTRY, Arm64, 32)
    assert found is not None
    assert {0xF9401011, 0xF9001431} < set(words_of(found.code))  # ldr x17, [x0, 32]; str x17, [x1, 40]


def test_single_sums_are_fused_with_one() -> None:
    """a + b = a·1 + b, a − b = a·1 − b = −b·1 + a, so that results of all operations come one by one; not
    where most operations are on pairs.
    """
    loads = {f"%v{i}": ("state", i, "double") for i in range(2)} | {"%v2": ("state", 2, "<2 x double>")}
    lines = ["%v3 = fadd double %v0, %v1", "%v4 = fsub double %v1, %v3", "%v5 = fsub double %v4, %v0"]
    pairs = [f"%v{i} = fmul <2 x double> %v2, %v2" for i in range(10, 30)]
    results = [("%v5", ("out", 0, "double"))]
    others = [(f"%v{i}", ("out", 2 * i, "<2 x double>")) for i in range(10, 30)]

    def sums(text: list[str], stores: list[tuple[str, tuple[str, int, str]]]) -> list[int]:
        found = encode_lines(lines_of(text), loads, {}, stores, ENTRY, Arm64, 32)
        assert found is not None
        words = words_of(found.code)
        return [word & 0xFFE08000 for word in words if word >> 24 == 0x1F and word >> 16 & 31 == 30]

    fmadd, fmsub, fnmsub = 0x1F400000, 0x1F408000, 0x1F608000  # c + a·b, c − a·b, a·b − c
    assert sums(lines, results) == [fmadd, fnmsub, fmsub]
    assert sums([*lines, *pairs], results + others) == []


@pytest.mark.parametrize(("operation", "holds"), [("fadd", True), ("fdiv", False)])
def test_values_are_in_no_register_that_holds_a_number(operation: str, holds: bool) -> None:
    """Sums without a change of sign hold 1 in a register, though more values than registers are in use;
    quotients hold nothing, so that all registers are for values.
    """
    loads = {f"%v{i}": ("state", i, "double") for i in range(40)}
    names = iter(f"%v{i}" for i in range(40, 1000))
    lines, stores = [], []
    for step in (1, 3, 7, 9):
        last = "%v0"
        for i in range(step, 40 * step, step):
            name = next(names)
            lines.append(f"{name} = {operation} double {last}, %v{i % 40}")
            last = name
        stores.append((last, ("out", step, "double")))
    found = encode_lines(lines_of(lines), loads, {}, stores, ENTRY, Arm64, 32)
    assert found is not None
    into = {
        word for word in words_of(found.code) if word >> 24 in (0x1E, 0x1F, 0x6F, 0xFD) and word & 31 == 30
    }
    one = 0x6F03F61E
    assert into == {one} if holds else len(into) > 1 and one not in into


def test_what_is_not_written_here_is_left_to_llvm() -> None:
    loads = {"%v0": ("state", 0, "double")}
    stores = [("%v1", ("out", 0, "double"))]

    def left(line: str) -> bool:
        return encode_lines(lines_of([line]), loads, {}, stores, ENTRY, Arm64, 32) is None

    assert left("%v1 = call double @exp(double %v0)") and left("%v1 = fadd double %v0, %t")
    stores.append(("%t", ("out", 1, "double")))
    assert left("%v1 = fadd double %v0, %v0")


@pytest.mark.parametrize(
    ("moment", "whole"), [("-k*B.u1", True), ("k*tanh(B.q1)", False), ("k*t", False), ("k*B.q1^0.3", False)]
)
def test_only_code_without_llvms_operations_is_one_piece(
    moment: str, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM would take long for a long function."""
    s = arm.System("two links")
    a = s.body("A", joint=arm.Revolute("x"), mass=1, com=(0, 0, 1), inertia=(1, 2, 3))
    b = s.body("B", a, arm.Revolute("y"), at=(0, 1, 0), mass=1, com=(1, 0, 0), inertia=(1, 2, 3))
    s.moment("drive", moment, b.y, on=b)
    monkeypatch.setattr(section_writer, "ENCODED_PIECE", 10)
    text = sections.llvm_text(s.derive().program, 32, encodes="arm64")
    assert ("derivatives_code:" in text, "@derivatives_1(" in text) == (whole, not whole)


def test_code_that_one_instruction_does_not_cross_is_left_to_llvm() -> None:
    """Numbers, angles and the way out lie beside the code: addresses and branches reach 2^18 words."""
    entry = Entry(["state", "out"], [0, 1], [0.5])
    body = [0xD503201F] * (2**18 - 40)
    assert reaches(entry, len(body)) and not reaches(entry, 2**18 - 1)
    found = frame_code(entry, [], body, [], entry.arrays([], 8))
    words = words_of(found.code)
    assert found.second < found.address < 4 * 2**18
    numbers = next(word for word in words if word & 0x9F00001F == 0x10000004)  # adr x4
    assert words.index(numbers) + (numbers >> 5 & 0x3FFFF) == found.address // 4 + 2 + 4


def test_an_opposite_goes_to_the_same_place_of_two_arrays() -> None:
    """As in events that set a memory and a speed of the same number to one value: both are set."""
    stores = [("%v1", (array, 3, "double")) for array in ("new_memory", "new_state")]
    entry = Entry(["state", "new_memory", "new_state"], [], [])
    loads, opposites = {"%v0": ("state", 0, "double")}, {"%v1": "%v0"}
    found = encode_lines([], loads, opposites, stores, entry, Arm64, 32)
    assert found is not None
    assert {word >> 5 & 31 for word in words_of(found.code) if word >> 22 == 0xFD000000 >> 22} == {1, 2}


def test_a_large_frame_takes_its_pages_one_after_the_other() -> None:
    """Each is touched, so that a stack that is too small ends at its guard page: 1,200 products, which
    are divisors twice, the last one first the second time, are more than two pages.
    """
    count = 1200
    loads = {f"%v{i}": ("state", i, "double") for i in range(count)}
    lines = [f"%v{count + i} = fmul double %v{i}, %v{i}" for i in range(count)]
    for last, i in enumerate([*range(count), *reversed(range(count))], 2 * count - 1):
        lines.append(f"%v{last + 1} = fdiv double %v{last}, %v{count + i}")
    stores = [(f"%v{4 * count - 1}", ("out", 0, "double"))]
    found = encode_lines(lines_of(lines), loads, {}, stores, ENTRY, Arm64, 32)
    assert found is not None
    words = words_of(found.code)
    sub_page, touch = TOUCHED_PAGE
    pages = [words[i : i + 2] == TOUCHED_PAGE for i in range(len(words))].count(True)
    freed = [word >> 10 & 4095 for word in words if word & 0xFFC003FF == 0x914003FF]  # add sp, sp, pages
    assert pages == words.count(sub_page) == words.count(touch) and freed == [pages]
    if platform.machine() in ("aarch64", "arm64"):
        text = ["sub sp, sp, 1, lsl 12", "str xzr, [sp]"]
        assert words_of(assembled(text, "aarch64-unknown-linux-gnu", "")) == TOUCHED_PAGE
