"""Bytes of x86-64 instructions, made on any machine and compared with LLVM's assembler on this one."""

from __future__ import annotations

import ctypes
import platform
import sys

import numpy as np
import pytest

from armillary.llvm import jit
from armillary.llvm.arrangement import x86_instructions as x86
from armillary.llvm.arrangement.machine_code import Entry, encode_lines, machine_code
from armillary.llvm.arrangement.x86_64 import X86
from tests.llvm.arranged_lines import lines_of
from tests.llvm.assembler import assembled
from tests.llvm.random_sections import ENTRY

HERE = platform.machine() in ("x86_64", "AMD64")
FEATURES = "+avx512vl,+avx512dq,+fma,+avx2"
BASES = {"rdi": 7, "rsp": 4, "rbp": 5, "r12": 12, "r13": 13, "r10": 10}

# Instructions on registers: LLVM's text with the registers that are put in, and what is written here.
FORMS = {
    "vaddsd {0}, {1}, {2}": x86.ADD[0],
    "vaddpd {0}, {1}, {2}": x86.ADD[1],
    "vmulsd {0}, {1}, {2}": x86.MULTIPLY[0],
    "vmulpd {0}, {1}, {2}": x86.MULTIPLY[1],
    "vsubsd {0}, {1}, {2}": x86.SUBTRACT[0],
    "vsubpd {0}, {1}, {2}": x86.SUBTRACT[1],
    "vdivsd {0}, {1}, {2}": x86.DIVIDE[0],
    "vdivpd {0}, {1}, {2}": x86.DIVIDE[1],
    "vsqrtsd {0}, {1}, {2}": x86.ROOT[0],
    "vunpckhpd {0}, {1}, {2}": x86.SECOND_LANES,
    "vunpcklpd {0}, {1}, {2}": x86.FIRST_LANES,
    "vfmadd132sd {0}, {1}, {2}": x86.fused_multiply_add(132, False, False, False),
    "vfmsub213pd {0}, {1}, {2}": x86.fused_multiply_add(213, True, False, True),
    "vfnmadd231sd {0}, {1}, {2}": x86.fused_multiply_add(231, False, True, False),
    "vfnmsub213pd {0}, {1}, {2}": x86.fused_multiply_add(213, True, True, True),
}
IN_MEMORY = {
    **{text: what for text, what in FORMS.items() if "sqrt" not in text},
    "vmovhpd {0}, {1}, {2}": x86.LOAD_SECOND_LANE,
}
MOVES = (("vmovsd", "q", "xmm"), ("vmovupd", "xmm", "xmm"), ("vmovupd", "ymm", "ymm"))
REGISTERS = [
    (1, 2, 3),
    (9, 2, 3),
    (1, 10, 3),
    (1, 2, 11),
    (17, 2, 3),
    (1, 18, 3),
    (1, 2, 27),
    (8, 31, 23),
    (8, 7, 3),
]


def prefixed(text: str, code: bytes) -> str:
    """With the prefix that was chosen: LLVM might have another one."""
    return {0x62: "{evex} ", 0xC4: "{vex3} ", 0xC5: ""}[code[0]] + text


def agree(lines: list[str], codes: list[bytes]) -> None:
    assert len(set(codes)) > 1
    if HERE:
        joined = assembled([".intel_syntax noprefix", *lines], "x86_64-unknown-linux-gnu", FEATURES)
        for line, code in zip(lines, codes, strict=True):
            assert joined[: len(code)].hex() == code.hex(), line
            joined = joined[len(code) :]


# Worked out by hand from the manual's tables of the prefixes (volume 2, 2.3.5 and 2.7.1), on any machine:
# vaddsd xmm1, xmm2, …, whose VEX prefix is C5 and R̄ v̄v̄v̄v̄ L pp = 1 1101 0 11 = EB; EVEX with W, R̄X̄B̄R̄' and V̄'.
@pytest.mark.parametrize(
    ("first", "second", "base", "offset", "registers", "code"),
    [
        (1, 2, "rdi", 0, 16, "c5 eb 58 0f"),
        (1, 2, "rdi", 127, 16, "c5 eb 58 4f 7f"),  # one byte holds −128 to 127
        (1, 2, "rdi", 128, 16, "c5 eb 58 8f 80 00 00 00"),
        (1, 2, "rdi", -128, 16, "c5 eb 58 4f 80"),
        (1, 2, "rdi", -129, 16, "c5 eb 58 8f 7f ff ff ff"),
        (1, 2, "rbp", 0, 16, "c5 eb 58 4d 00"),  # without a displacement it would be the place of the code
        (9, 2, "rsp", 8, 16, "c5 6b 58 4c 24 08"),
        (1, 2, "r10", 8, 16, "c4 c1 6b 58 4a 08"),
        (1, 2, "rdi", 128, 32, "62 f1 ef 08 58 4f 10"),  # 16 operands of eight bytes
        (1, 2, "rdi", 1016, 32, "62 f1 ef 08 58 4f 7f"),
        (1, 2, "rdi", 1024, 32, "c5 eb 58 8f 00 04 00 00"),
        (1, 2, "rdi", 132, 32, "c5 eb 58 8f 84 00 00 00"),
        (17, 2, "rdi", 8, 32, "62 e1 ef 08 58 4f 01"),
        (25, 2, "rdi", 4, 32, "62 61 ef 08 58 8f 04 00 00 00"),
        (1, 18, "r10", -8, 32, "62 d1 ef 00 58 4a ff"),
    ],
)
def test_addresses_are_as_short_as_the_manual_allows(
    first: int, second: int, base: str, offset: int, registers: int, code: str
) -> None:
    found = x86.with_memory(x86.ADD[0], first, second, BASES[base], offset, registers)
    assert found.hex(" ") == code


@pytest.mark.parametrize(
    ("base", "code"),
    [("rdi", "48 8b 47 08"), ("rsp", "48 8b 44 24 08"), ("r10", "49 8b 42 08"), ("r12", "49 8b 44 24 08")],
)
def test_whole_numbers_are_loaded_from_any_base(base: str, code: str) -> None:
    """mov rax, [base + 8]: REX.W, and REX.B for the upper eight registers (volume 2, section 2.2.1)."""
    assert x86.load_integer(0, BASES[base], 8).hex(" ") == code


@pytest.mark.parametrize(
    ("registers", "code"),
    [
        ((0, 2, 3), "c5 e9 58 c3"),
        ((7, 2, 3), "c5 e9 58 fb"),
        ((8, 2, 3), "c5 69 58 c3"),
        ((15, 8, 7), "c5 39 58 ff"),
        ((1, 15, 3), "c5 81 58 cb"),
        ((1, 2, 8), "c4 c1 69 58 c8"),
    ],
)
def test_the_short_prefix_has_the_upper_bit_of_the_first_register(
    registers: tuple[int, int, int], code: str
) -> None:
    """vaddpd: R̄, v̄v̄v̄v̄, L, pp in the second byte of C5; the upper bit of the third register needs C4
    (Intel's manual, volume 2, section 2.3.5).
    """
    assert x86.of_registers(x86.ADD[1], *registers).hex(" ") == code


def test_instructions_on_registers() -> None:
    """Also on four doubles, in registers of 32 bytes."""
    lines, codes = [], []

    def add(text: str, code: bytes) -> None:
        lines.append(prefixed(text, code))
        codes.append(code)

    for numbers in REGISTERS:
        names = [f"xmm{i}" for i in numbers]
        a, b, c = numbers
        for text, what in FORMS.items():
            add(text.format(*names), x86.of_registers(what, a, b, c))
        two = [a, 0, c]
        add(f"vsqrtpd xmm{a}, xmm{c}", x86.of_registers(x86.ROOT[1], *two))
        add(f"vmovapd xmm{a}, xmm{c}", x86.of_registers(x86.COPY, *two))
        add(f"vmovddup xmm{a}, xmm{c}", x86.of_registers(x86.BOTH_LANES, *two))
        add(f"vshufpd {', '.join(names)}, 1", x86.of_registers(x86.SHUFFLE, a, b, c, 1))
        add(f"vpternlogq {', '.join(names)}, 202", x86.of_registers(x86.CHOOSE, a, b, c, 0xCA))
        add(f"vpsraq xmm{b}, xmm{c}, 63", x86.of_registers(x86.SPREAD_SIGN, x86.OF_SIGN, b, c, 63))
        add(f"vpsllq xmm{b}, xmm{c}, 63", x86.of_registers(x86.SHIFT, x86.LEFT, b, c, 63))
        add(f"vpsrlq xmm{b}, xmm{c}, 1", x86.of_registers(x86.SHIFT, x86.RIGHT, b, c, 1))
        long = [f"ymm{i}" for i in numbers]
        for text, what in FORMS.items():
            if "pd" in text and "unpck" not in text:
                add(text.format(*long), x86.of_registers(what.of_four, a, b, c))
        add(f"vsqrtpd ymm{a}, ymm{c}", x86.of_registers(x86.ROOT[2], *two))
        add(f"vmovapd ymm{a}, ymm{c}", x86.of_registers(x86.COPY.of_four, *two))
        add(f"vbroadcastsd ymm{a}, xmm{c}", x86.of_registers(x86.ALL_LANES, *two))
        add(f"vpermpd ymm{a}, ymm{c}, 170", x86.of_registers(x86.PERMUTE, a, 0, c, 0xAA))
        join, upper = x86.of_registers(x86.JOIN, a, b, c, 1), x86.of_registers(x86.UPPER_HALF, a, 0, c, 1)
        size = "64x2" if join[0] == 0x62 else "128"
        add(f"vinsertf{size} ymm{a}, ymm{b}, xmm{c}, 1", join)
        add(f"vextractf{'64x2' if upper[0] == 0x62 else '128'} xmm{c}, ymm{a}, 1", upper)
        suffix = "q" if max(numbers) > 15 else ""
        add(f"vpxor{suffix} {', '.join(names)}", x86.of_registers(x86.XOR, a, b, c))
        if not suffix:
            add(f"vblendvpd {', '.join(names)}, xmm6", x86.of_registers(x86.BLEND, a, b, c, 6 << 4))
    agree(lines, codes)


@pytest.mark.parametrize("registers", [16, 32])
def test_operands_in_memory(registers: int) -> None:
    """Near and far; with 32 registers a displacement of one byte reaches further."""
    lines, codes = [], []
    for a, b in ((1, 2), (9, 10), (1, 31), (17, 2))[: 4 if registers == 32 else 2]:
        for base, number in BASES.items():
            for offset in (0, 8, -128, 120, 128, 1008, 1016, 1024, 2032, 2040, 2048, 1 << 20):
                place = f"[{base}{offset:+}]"
                for text, what in IN_MEMORY.items():
                    code = x86.with_memory(what, a, b, number, offset, registers)
                    size = "qword" if what.bytes == 8 else "xmmword"
                    lines.append(prefixed(text.format(f"xmm{a}", f"xmm{b}", f"{size} ptr {place}"), code))
                    codes.append(code)
                    if what.bytes == 16 and "unpck" not in text:
                        code = x86.with_memory(what.of_four, a, b, number, offset, registers)
                        long = text.format(f"ymm{a}", f"ymm{b}", f"ymmword ptr {place}")
                        lines.append(prefixed(long, code))
                        codes.append(code)
                for load, store, (name, size, own) in zip(x86.LOAD, x86.STORE, MOVES, strict=True):
                    codes.append(x86.with_memory(load, a, 0, number, offset, registers))
                    lines.append(prefixed(f"{name} {own}{a}, {size}word ptr {place}", codes[-1]))
                    codes.append(x86.with_memory(store, a, 0, number, offset, registers))
                    lines.append(prefixed(f"{name} {size}word ptr {place}, {own}{a}", codes[-1]))
    far = [len(code) for code in codes if code[0] != 0x62]
    assert (0x62 in {code[0] for code in codes}) == (registers == 32) and max(far) <= 10
    agree(lines, codes)


def test_instructions_on_addresses() -> None:
    code = {
        "mov rax, qword ptr [rdi+8]": x86.load_integer(0, 7, 8),
        "mov qword ptr [r12+800], rax": x86.store_integer(0, 12, 800),
        "mov qword ptr [rsp+8], 0": x86.store_zero(4, 8),
        "lea r11, [rip+4096]": x86.address(11, 4096),
        "lea rbx, [rsp+128]": x86.address_from(3, 4, 128),
        "lea r13, [rsp+640]": x86.address_from(13, 4, 640),
        "mov r8, rdi": x86.copy_integer(8, 7),
        "movabs r10, 0x8250d40000000000": x86.set_integer(10, 0x8250D40000000000),
        "mov rbx, -1": x86.set_integer(3, (1 << 64) - 1),
        "add rax, rax": x86.double_integer(0),
        "cmp rax, r10": x86.compare_integers(0, 10),
        "push rbx": x86.push(3),
        "pop r12": x86.pop(12),
        "sub rsp, 4104": x86.move_stack(-4104),
        "add rsp, 4104": x86.move_stack(4104),
        "sub rsp, 2048": x86.make_room(2048),
        "and rsp, -32": x86.align_stack(32),
        "vzeroupper": x86.LEAVE_LONG,
        "jmp qword ptr [rip+64]": x86.branch_to_address(64),
        "ret": x86.RETURN,
    }
    agree(list(code), list(code.values()))


def test_a_large_frame_takes_its_pages_one_after_the_other() -> None:
    """Each is touched, so that a stack that is too small ends at its guard page."""
    lines, code = ["sub rsp, 4096", "or qword ptr [rsp], 0", "sub rsp, 2056"], x86.make_room(4096 + 2056)
    agree(lines, [code[:7], code[7:12], code[12:]])


def test_bytes_of_a_small_section() -> None:
    """x − x y + z: y and z, which are used once, stay in memory."""
    loads = {f"%v{i}": ("state", i, "double") for i in range(3)}
    lines = [
        "%v3 = fmul double %v0, %v1",
        "%v4 = fsub double %v0, %v3",
        "%v5 = fadd double %v4, %v2",
    ]
    stores = [("%v5", ("out", 0, "double"))]
    found = encode_lines(lines_of(lines), loads, {}, stores, ENTRY, X86, 32)
    assert found is not None
    text = [
        "vmovsd xmm0, qword ptr [rdi]",
        "vmulsd xmm1, xmm0, qword ptr [rdi+8]",
        "vsubsd xmm2, xmm0, xmm1",
        "vaddsd xmm1, xmm2, qword ptr [rdi+16]",
        "vmovsd qword ptr [rsi], xmm1",
        "ret",
    ]
    start = bytes.fromhex("c5fb1007 c5fb594f08 c5fb5cd1 c5eb584f10 c5fb110e c3")
    assert found.code.startswith(start)
    if HERE:
        assert found.code.startswith(
            assembled([".intel_syntax noprefix", *text], "x86_64-unknown-linux-gnu", FEATURES)
        )


def test_a_product_with_an_opposite_takes_no_instruction_of_its_own() -> None:
    """c − (−a) b is c + a b."""
    loads = {f"%v{i}": ("state", i, "double") for i in range(3)}
    lines = ["%v4 = fmul double %v3, %v1", "%v5 = fsub double %v2, %v4"]
    found = encode_lines(
        lines_of(lines), loads, {"%v3": "%v0"}, [("%v5", ("out", 0, "double"))], ENTRY, X86, 32
    )
    assert found is not None
    assert found.code.startswith(bytes.fromhex("c5fb1007 c5fb594f08 c5f3584710 c5fb1106 c3"))


def test_what_is_not_written_here_is_left_to_llvm() -> None:
    loads = {"%v0": ("state", 0, "double")}
    stores = [("%v1", ("out", 0, "double"))]

    def left(line: str) -> bool:
        return encode_lines(lines_of([line]), loads, {}, stores, ENTRY, X86, 32) is None

    assert left("%v1 = call double @exp(double %v0)") and left("%v1 = fadd double %v0, %t")
    assert left("%v1 = call double @llvm.floor.f64(double %v0)")
    assert not left("%v1 = fadd double %v0, %v0")


@pytest.mark.skipif(not HERE, reason="features of x86-64")
def test_registers_are_those_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM writes all code without fused operations, as before."""
    monkeypatch.delenv("ARMILLARY_COMPILE", raising=False)
    found = {}
    for taken in ("", "-avx512vl", "-avx512f", "-fma", "-avx2"):
        monkeypatch.setenv("ARMILLARY_CPU", taken)
        found[taken] = jit.encodes(), jit.registers()
    if sys.platform == "win32" or not found[""][0]:
        assert {name for name, _ in found.values()} == {""}
        return
    assert found["-avx512vl"] == found["-avx512f"] == ("x86_64", 16)
    assert found["-fma"][0] == found["-avx2"][0] == "" and found[""][1] in (16, 32)


ARRAYS = ["state", "constants", "memory", "out", "work", "more"]
TAKEN = ", ".join([f"ptr %{a}" for a in ARRAYS])
POINTERS = ", ".join(["ptr"] * len(ARRAYS))
# Nine whole numbers in registers that a function has to keep; angles beyond the limit are those in %more.
CALLER = f"""
define hidden void @"\\01f_far"({TAKEN}) noinline {{
  call void @"\\01f_code_at"({TAKEN}, ptr %more, ptr %work)
  ret void
}}
declare void @"\\01f_code_at"({POINTERS}, ptr, ptr)
declare void @"\\01f_code"({POINTERS})
define i64 @f({TAKEN}, ptr %whole) {{
{{loads}}
  call void @"\\01f_code"({TAKEN})
{{sums}}
  ret i64 %s8
}}
"""


@pytest.mark.skipif(not HERE, reason="machine code of x86-64")
@pytest.mark.parametrize("size", [7, 307, 807])
def test_registers_of_addresses_are_kept_for_the_caller(size: int) -> None:
    """Addresses of nine arrays take more registers than a function may change; the last two arguments of the
    second entry are on the stack. Longer code has addresses within the numbers and the stack as well.
    """
    read = ["state", "constants", "memory", "work", "more", "angles", "thirds", "numbers"]
    loads = {f"%v{i}": (array, 0, "double") for i, array in enumerate(read)}
    lines = ["%v8 = fadd double %v0, %v1"]
    lines += [f"%v{7 + i} = fadd double %v{6 + i}, %v{i}" for i in range(2, 8)]
    words = ["fadd", "fsub"]  # the same number in turns
    lines += [f"%v{i + 8} = {words[i % 2 == 0]} double %v{i + 7}, %v1" for i in range(7, size)]
    stores = [(f"%v{size + 7}", ("out", 0, "double"))]
    found = encode_lines(lines_of(lines), loads, {}, stores, Entry(ARRAYS, [0], [2048.0]), X86, 16)
    assert found is not None and found.arrays == ARRAYS and found.code[0] == 0x53
    numbers = [
        f"  %p{i} = getelementptr i64, ptr %whole, i64 {i}\n  %n{i} = load volatile i64, ptr %p{i}"
        for i in range(9)
    ]
    sums = [f"  %s{i} = add i64 {f'%s{i - 1}' if i else '0'}, %n{i}" for i in range(9)]
    text = CALLER.replace("{loads}", "\n".join(numbers)).replace("{sums}", "\n".join(sums))
    code = jit.Compiled(machine_code("f", found) + text)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 7)(code.address("f"))
    values = np.array([[3.0 + 2**k, 7.0] for k in range(6)])
    whole = 3 ** np.arange(9)
    for angle in (1.0, -2e9, np.nan):
        values[0, 0] = angle
        assert function(*[row.ctypes.data for row in values], whole.ctypes.data) == whole.sum()
        state, constants, memory, out, work, more = values[:, 0]
        angles, thirds = (angle, 0.0) if angle == 1 else (more, work)
        expected = state + constants + memory + work + more + angles + thirds + 2048
        assert np.array_equal(out, expected, equal_nan=True)
