"""Operations that machine code is written of, by their words in LLVM.

What an operation does is its form's name; the instructions for it are those of an instruction set
(``arm64.py``, ``x86_64.py``). Operations on pairs are the same ones on two doubles.
"""

from __future__ import annotations

from typing import NamedTuple

from armillary.llvm.arrangement.arrangement import PAIR


class Form(NamedTuple):
    """An operation without its operands: what it does, and whether on pairs."""

    name: str
    pairs: bool


ALIKE = Form("alike", False)  # the same register: nothing is written
PUT = Form("put", False)  # a given value, or zero, to a place
NEGATIONS = [Form("negate", False), Form("negate", True)]
BOTH_LANES = Form("both lanes", True)
SECOND_LANE = Form("second lane", True)


def _forms() -> dict[str, Form]:
    made: dict[str, Form] = {}
    for pairs, kind, end in ((False, "double", "f64"), (True, PAIR, "v2f64")):
        for word, name in (("fmul", "multiply"), ("fdiv", "divide"), ("fadd", "add"), ("fsub", "subtract")):
            made[f"{word} {kind} $, $"] = Form(name, pairs)
        for word in ("fmuladd", "fma"):
            made[f"call {kind} @llvm.{word}.{end}({kind} $, {kind} $, {kind} $)"] = Form("fuse", pairs)
        for word in ("maximum", "minimum"):
            made[f"call {kind} @llvm.{word}.{end}({kind} $, {kind} $)"] = Form(word, pairs)
        for word, name in (("sqrt", "root"), ("fabs", "size")):
            made[f"call {kind} @llvm.{word}.{end}({kind} $)"] = Form(name, pairs)
    for text, name in (
        ("xor <2 x i64> $, $", "turn signs"),
        ("shl <2 x i64> $, splat (i64 63)", "last bit first"),
        ("lshr <2 x i64> $, splat (i64 1)", "bits down"),
        ("icmp slt <2 x i64> $, splat (i64 0)", "first bit"),
    ):
        made[text] = Form(name, True)
    made[f"extractelement {PAIR} $, i64 1"] = SECOND_LANE
    made[f"shufflevector {PAIR} $, {PAIR} poison, <2 x i32> zeroinitializer"] = BOTH_LANES
    made[f"shufflevector {PAIR} $, {PAIR} poison, <2 x i32> <i32 1, i32 0>"] = Form("swap", True)
    made[f"select <2 x i1> $, {PAIR} $, {PAIR} $"] = Form("select", True)
    made[f"insertelement {PAIR} $, double $, i64 1"] = Form("insert", True)
    for text in (
        f"bitcast {PAIR} $ to <2 x i64>",
        f"bitcast <2 x i64> $ to {PAIR}",
        f"extractelement {PAIR} $, i64 0",
        f"insertelement {PAIR} poison, double $, i64 0",
    ):
        made[text] = ALIKE
    return made


FORMS = _forms()
KINDS = {
    text: "double" if text.startswith("extractelement") or not (form.pairs or form is ALIKE) else PAIR
    for text, form in FORMS.items()
}
