"""Operations that machine code is written of, by their words in LLVM.

What an operation does is its form's name; the instructions for it are those of an instruction set
(``arm64.py``, ``x86_64.py``). Operations on pairs and on four doubles are the same ones on all lanes.
"""

from __future__ import annotations

from typing import NamedTuple

from armillary.llvm.arrangement.arrangement import PAIR

FOUR = "<4 x double>"
WIDTHS = {"double": 0, PAIR: 1, FOUR: 2}


class Form(NamedTuple):
    """An operation without its operands: what it does, and on one, two or four doubles (0, 1, 2)."""

    name: str
    wide: int


ALIKE = Form("alike", 0)  # the same register: nothing is written
PUT = Form("put", 0)  # a given value, or zero, to a place
NEGATIONS = [Form("negate", wide) for wide in WIDTHS.values()]
BOTH_LANES = Form("both lanes", 1)
SECOND_LANE = Form("second lane", 1)
THIRD, FOURTH = Form("insert third", 2), Form("insert fourth", 2)


def _forms() -> dict[str, Form]:
    made: dict[str, Form] = {}
    for wide, kind, end in ((0, "double", "f64"), (1, PAIR, "v2f64"), (2, FOUR, "v4f64")):
        for word, name in (("fmul", "multiply"), ("fdiv", "divide"), ("fadd", "add"), ("fsub", "subtract")):
            made[f"{word} {kind} $, $"] = Form(name, wide)
        for word in ("fmuladd", "fma"):
            made[f"call {kind} @llvm.{word}.{end}({kind} $, {kind} $, {kind} $)"] = Form("fuse", wide)
        for word in ("maximum", "minimum"):
            made[f"call {kind} @llvm.{word}.{end}({kind} $, {kind} $)"] = Form(word, wide)
        for word, name in (("sqrt", "root"), ("fabs", "size")):
            made[f"call {kind} @llvm.{word}.{end}({kind} $)"] = Form(name, wide)
    for text, name in (
        ("xor <2 x i64> $, $", "turn signs"),
        ("shl <2 x i64> $, splat (i64 63)", "last bit first"),
        ("lshr <2 x i64> $, splat (i64 1)", "bits down"),
        ("icmp slt <2 x i64> $, splat (i64 0)", "first bit"),
    ):
        made[text] = Form(name, 1)
    made[f"extractelement {PAIR} $, i64 1"] = SECOND_LANE
    made[f"shufflevector {PAIR} $, {PAIR} poison, <2 x i32> zeroinitializer"] = BOTH_LANES
    made[f"shufflevector {PAIR} $, {PAIR} poison, <2 x i32> <i32 1, i32 0>"] = Form("swap", 1)
    made[f"select <2 x i1> $, {PAIR} $, {PAIR} $"] = Form("select", 1)
    made[f"insertelement {PAIR} $, double $, i64 1"] = Form("insert", 1)
    made[f"extractelement {FOUR} $, i64 1"] = SECOND_LANE
    made[f"extractelement {FOUR} $, i64 2"] = Form("third lane", 2)
    made[f"extractelement {FOUR} $, i64 3"] = Form("fourth lane", 2)
    made[f"insertelement {FOUR} $, double $, i64 1"] = Form("insert", 1)
    made[f"insertelement {FOUR} $, double $, i64 2"] = THIRD
    made[f"insertelement {FOUR} $, double $, i64 3"] = FOURTH
    made[f"shufflevector {FOUR} $, {FOUR} poison, <4 x i32> zeroinitializer"] = Form("both lanes", 2)
    made[f"shufflevector {FOUR} $, {FOUR} poison, <2 x i32> <i32 2, i32 3>"] = Form("upper half", 2)
    for text in (
        f"insertelement {FOUR} poison, double $, i64 0",
        f"extractelement {FOUR} $, i64 0",
        f"shufflevector {FOUR} $, {FOUR} poison, <2 x i32> <i32 0, i32 1>",
        f"bitcast {PAIR} $ to <2 x i64>",
        f"bitcast <2 x i64> $ to {PAIR}",
        f"extractelement {PAIR} $, i64 0",
        f"insertelement {PAIR} poison, double $, i64 0",
    ):
        made[text] = ALIKE
    return made


FORMS = _forms()


def _kind(text: str, form: Form) -> str:
    """Of the value."""
    if text.startswith("extractelement") or (not form.wide and form is not ALIKE):
        return "double"
    return FOUR if form.wide == 2 and form.name != "upper half" else PAIR


KINDS = {text: _kind(text, form) for text, form in FORMS.items()}
