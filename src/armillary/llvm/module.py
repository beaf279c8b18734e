"""LLVM text under construction: functions of sections and the helpers that they call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from armillary.llvm.instructions import LABEL_TEXT, ValueTypes
from armillary.llvm.mathematics.trigonometry import sine_cosine_function
from armillary.llvm.shared_values import SharedSections

Sines = Callable[[int], tuple[str, str]]  # name and declaration of a function, for vectors of this length
LIBRARY = {
    "sin": 1,
    "cos": 1,
    "tan": 1,
    "asin": 1,
    "acos": 1,
    "atan": 1,
    "atan2": 2,
    "exp": 1,
    "log": 1,
    "pow": 2,
    "tanh": 1,
}


@dataclass
class Module:
    """LLVM text under construction: functions, and the helpers that they call, each once."""

    lanes: int = 1  # runs in a value
    registers: int = 0  # of the machine, for doubles; 0 where LLVM arranges the code
    encodes: str = ""  # the instruction set that machine code is written of here, if any
    functions: list[str] = field(default_factory=list)
    helpers: dict[str, str] = field(default_factory=dict)
    compiled_sines: Sines | None = None
    shared: SharedSections = field(default_factory=SharedSections)
    copies: dict[object, str] = field(default_factory=dict)  # functions that copy shared values

    @property
    def real(self) -> str:
        """The type of a value."""
        return ValueTypes(self.lanes, self.lanes == 1).real

    @property
    def shared_arrays(self) -> set[str]:
        """The names of the arrays of shared values."""
        return {group.array for group in self.shared.groups}

    def need(self, name: str, make: Callable[[], str]) -> str:
        """The name of a helper, written on its first use."""
        if name not in self.helpers:
            self.helpers[name] = make()
        return name

    def sines(self, lanes: int) -> str:
        """The name of the function of a vector's sines and cosines."""
        if self.compiled_sines is not None:
            name, declared = self.compiled_sines(lanes)
            self.helpers[name] = declared
            return name
        return self.need(f"sincos{lanes}", partial(sine_cosine_function, f"sincos{lanes}", lanes))

    @property
    def attributes(self) -> str:
        """Of every function. Vectors wider than LLVM would choose by itself stay whole."""
        width = 64 * self.lanes
        wide = (
            f' "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"' if self.lanes > 1 else ""
        )
        return f"nounwind{wide}"

    def define(self, head: str, body: str) -> None:
        """A function that gives nothing back."""
        self.functions.append(f"define {head} {self.attributes} {{\n{body}\n  ret void\n}}")

    def text(self) -> str:
        declared = [f"declare double @{f}({', '.join(['double'] * n)}) nounwind" for f, n in LIBRARY.items()]
        v, suffix = self.real, ValueTypes(self.lanes, self.lanes == 1).suffix
        declared += [
            f"declare {v} @llvm.{f}.{suffix}({v}) nounwind" for f in ("fabs", "sqrt", "floor", "ceil")
        ]
        declared.append(f"declare {v} @llvm.fmuladd.{suffix}({v}, {v}, {v}) nounwind")
        declared += [
            f"declare {v} @llvm.{f}.{suffix}({v}, {v}) nounwind" for f in ("minimum", "maximum", "copysign")
        ]
        likely = '!0 = !{!"branch_weights", i32 2000, i32 1}'
        head = _without_repeated_declarations("\n".join([*declared, *self.helpers.values()]))
        labels = [LABEL_TEXT] if self.registers else []
        return "\n".join([head, *self.functions, likely, *labels])


def _without_repeated_declarations(text: str) -> str:
    seen: set[str] = set()
    kept = []
    for line in text.split("\n"):
        if line.startswith("declare"):
            name = line[line.index("@") : line.index("(")]
            if name in seen:
                continue
            seen.add(name)
        kept.append(line)
    return "\n".join(kept)
