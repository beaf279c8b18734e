"""Random straight-line code for the tests of machine code: the same lines for LLVM and for ``encoded``."""

from __future__ import annotations

import ctypes
import random
import re
from typing import Any

from armillary.llvm.arrangement.arrangement import PAIR
from armillary.llvm.arrangement.machine_code import (
    ALIKE,
    FORMS,
    FOUR,
    Entry,
    MachineCode,
    encode_lines,
    machine_code,
)
from armillary.llvm.jit import Compiled
from tests.llvm.arranged_lines import lines_of

Code = tuple[list[str], dict[str, Any], dict[str, str], list[Any]]
PLACES = [*range(9), 31, 33, 4094, 4095, 4097, 5001, 9000, 9001, 13000]  # near and far, odd and even
SIZE = 13004
NAME = re.compile(r"%v\d+")
DECLARED = "\n".join(
    f"declare {kind} @llvm.{name}.{end}({', '.join([kind] * count)})"
    for kind, end in (("double", "f64"), (PAIR, "v2f64"), (FOUR, "v4f64"))
    for name, count in (("fmuladd", 3), ("fma", 3), ("maximum", 2), ("minimum", 2), ("sqrt", 1), ("fabs", 1))
)


def random_code(seed: int, size: int, machine: type[MachineCode], *, wide: bool = False) -> Code:
    """Lines of all forms that a machine has on inputs, a third of their operands negated.

    With ``wide``, values of four doubles take the place of pairs, and none is put together from lanes.

    Second factors and divisors are inputs, so that values stay finite; whole numbers are signs, or bits that
    signs are taken of; a lane that is not defined is filled at once.
    """
    rng = random.Random(seed)
    known = machine.SELECTION.LATENCIES
    shapes = [
        text
        for text, form in FORMS.items()
        if "<4 x " not in text
        and not form.name.startswith("lanes ")
        and (form is ALIKE or form.name in known)
        and not (wide and PAIR in text and text.split()[0] in _OF_LANES)
    ]
    loads: dict[str, Any] = {}
    kinds_of_values = ("double", PAIR, "bits", "raw", "sign", "mask", "flag")
    pool: dict[str, list[str]] = {kind: [] for kind in kinds_of_values}
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
            ways = [s for s in shapes if (s.startswith("insertelement") and "i64 1" in s) or "i32> zero" in s]
            second = rng.choice(ways)
            pool[result][-1:] = []
            text = second.replace("$", name, 1).replace("$", operand("double", pool["double"]), 1)
            lines.append(f"  {(name := next(names))} = {text}")
            pool[result].append(name)

    for word in (f"bitcast {PAIR}", "lshr", "shl", "icmp", "fcmp ogt double"):
        for shape in [s for s in shapes if s.startswith(word)][:1]:
            add(shape)
    while len(lines) < size:
        add(rng.choice([s for s in shapes if "<2 x i32> zeroinitializer" not in s]))
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
        place += 1 if kind == "double" else 4 if wide else 2
    stores.append(("0x0000000000000000", ("out", 299, "double")))
    if not wide:
        return lines, loads, opposites, stores
    lines = [_of_four(line) for line in lines]
    loads = {name: (*place[:2], _of_four(place[2])) for name, place in loads.items()}
    return lines, loads, opposites, [(value, (*place[:2], _of_four(place[2]))) for value, place in stores]


_OF_LANES = ("insertelement", "extractelement", "shufflevector")


def _of_four(text: str) -> str:
    return text.replace("<2 x ", "<4 x ").replace(".v2f64", ".v4f64")


def kinds_of(shape: str) -> tuple[list[str], str]:
    """Kinds of the operands and of the value of an operation; of whole numbers only last bits count."""
    word = shape.split()[0]
    if word in ("add", "sub", "and", "or", "uitofp") or "i64 52" in shape or " i1 " in shape:
        kind = "raw" if "i64" in shape else "flag" if " i1 " in shape else "mask"
        if word == "uitofp":
            return [kind], PAIR if PAIR in shape else "double"
        if word == "select":
            return ["flag", "double", "double"], "double"
        return [kind] * shape.count("$"), kind
    if word == "fcmp":
        kind = PAIR if PAIR in shape else "double"
        return [kind] * shape.count("$"), "mask" if kind == PAIR else "flag"
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
    wide = (PAIR, FOUR) if FOUR in kinds.values() else ("", "")
    for line in lines:
        form = NAME.sub("$", line.partition(" = ")[2])
        kinds[line.split()[0]] = kinds_of(form.replace("<4 x ", "<2 x "))[1].replace(*wide)
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


def machine_text(code: Code, machine: type[MachineCode], registers: int) -> str:
    """The code, and two callers: one with twenty values that are needed after the call."""
    found = encode_lines(lines_of(code[0]), *code[1:], ENTRY, machine, registers)
    assert found is not None
    loads = "\n".join(
        f"  %p{i} = getelementptr double, ptr %state, i64 {i}\n  %x{i} = load double, ptr %p{i}"
        for i in range(20)
    )
    sums = "\n".join(f"  %s{i + 1} = fadd double {f'%s{i}' if i else '0.0'}, %x{i}" for i in range(20))
    text = CALLER.replace("{loads}", loads).replace("{sums}", sums)
    for i, array in enumerate(found.arrays):
        text = text.replace(f"{{arrays[{i}]}}", f"%{array}")
    return machine_code("f", found) + text


def called(text: str, name: str, state: Any, out: Any) -> float:
    code = Compiled(text)
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)
    result: float = kind(code.address(name))(state.ctypes.data, out.ctypes.data)
    return result
