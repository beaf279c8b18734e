"""Small models for the tests: Python functions traced into LLVM text, compiled, and given by address.

    spring = compile_model(lambda t, y, p, m: [y[1], -p[0] * y[0]], n_states=2)

Independent of the package: text is written line by line. Outputs are the state followed by the memory.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import binding

from armillary.runtime.integrators.settings import Functions

_INTRINSICS = ("sqrt", "sin", "cos", "fabs")


class Term:
    """A number in the text being written."""

    def __init__(self, lines: list[str], name: str) -> None:
        self.lines = lines
        self.name = name

    def _emit(self, instruction: str) -> Term:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return Term(self.lines, name)

    def _binary(self, operation: str, left: Any, right: Any) -> Term:
        return self._emit(f"{operation} double {name_of(left)}, {name_of(right)}")

    def __add__(self, other: Any) -> Term:
        return self._binary("fadd", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Term:
        return self._binary("fsub", self, other)

    def __rsub__(self, other: Any) -> Term:
        return self._binary("fsub", other, self)

    def __mul__(self, other: Any) -> Term:
        return self._binary("fmul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Term:
        return self._binary("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Term:
        return self._binary("fdiv", other, self)

    def __neg__(self) -> Term:
        return 0.0 - self

    def where_less(self, other: Any, yes: Any, no: Any) -> Term:
        """`yes` if self < other, else `no`."""
        test = self._emit(f"fcmp olt double {self.name}, {name_of(other)}")
        return self._emit(f"select i1 {test.name}, double {name_of(yes)}, double {name_of(no)}")

    def call(self, function: str) -> Term:
        return self._emit(f"call double @llvm.{function}.f64(double {self.name})")


def name_of(value: Any) -> str:
    if isinstance(value, Term):
        return value.name
    return "0x" + struct.pack(">d", float(value)).hex().upper()


def sqrt(x: Term) -> Term:
    return x.call("sqrt")


def cos(x: Term) -> Term:
    return x.call("cos")


def sin(x: Term) -> Term:
    return x.call("sin")


class Array:
    """Reads of one argument."""

    def __init__(self, lines: list[str], name: str) -> None:
        self.lines = lines
        self.name = name

    def __getitem__(self, index: int) -> Term:
        number = len(self.lines)
        self.lines.append(f"  %a{number} = getelementptr double, ptr %{self.name}, i64 {index}")
        return Term(self.lines, "")._emit(f"load double, ptr %a{number}")

    def first(self, count: int) -> list[Term]:
        return [self[i] for i in range(count)]


def _store(lines: list[str], values: Sequence[Any], target: str) -> None:
    for i, value in enumerate(values):
        number = len(lines)
        lines.append(f"  %s{number} = getelementptr double, ptr %{target}, i64 {i}")
        lines.append(f"  store double {name_of(value)}, ptr %s{number}")


_ARGUMENTS = "double %t, ptr %y, ptr %p, ptr %m"


def _function(name: str, trace: Callable[..., Sequence[Any]]) -> str:
    lines: list[str] = []
    y, p, m = (Array(lines, argument) for argument in "ypm")
    _store(lines, trace(Term(lines, "%t"), y, p, m), "out")
    return "\n".join([f"define void @{name}({_ARGUMENTS}, ptr %out) {{", *lines, "  ret void", "}"])


def _fire(trace: Callable[..., Any], count: int) -> str:
    cases = "\n".join(f"    i64 {k}, label %case{k}" for k in range(count))
    text = [
        f"define void @fire(i64 %k, {_ARGUMENTS}, ptr %new_memory, ptr %new_state) {{",
        f"  switch i64 %k, label %none [\n{cases}\n  ]",
    ]
    lines: list[str] = []
    for k in range(count):
        lines.append(f"case{k}:")
        y, p, m = (Array(lines, argument) for argument in "ypm")
        new_memory, new_state = trace(k, Term(lines, "%t"), y, p, m)
        _store(lines, new_memory, "new_memory")
        _store(lines, new_state, "new_state")
        lines.append("  ret void")
    return "\n".join([*text, *lines, "none:", "  ret void", "}"])


@dataclass
class Model:
    """Compiled functions; they keep their code alive."""

    functions: Functions


def compile_model(
    derivatives: Callable[..., Sequence[Any]],
    *,
    n_states: int,
    n_memory: int = 0,
    outputs: Callable[..., Sequence[Any]] | None = None,
    events: Callable[..., Sequence[Any]] | None = None,
    n_events: int = 0,
    update: Callable[..., Sequence[Any]] | None = None,
    fire: Callable[..., Any] | None = None,
    normalise: str = "",
    directions: tuple[int, ...] = (),
    terminal: tuple[bool, ...] = (),
    n_outputs: int | None = None,
) -> Model:
    """A model from functions of (t, y, p, m); `fire` has the event's number first and gives memory, state."""
    outputs = outputs or (lambda t, y, p, m: [*y.first(n_states), *m.first(n_memory)])
    parts = [_function("derivatives", derivatives), _function("outputs", outputs)]
    parts += [_function("events", events)] if events else []
    parts += [_function("update", update)] if update else []
    parts += [_fire(fire, n_events)] if fire else []
    parts += [normalise] if normalise else []
    parts += [f"declare double @llvm.{name}.f64(double)" for name in _INTRINSICS]
    text = "\n".join(parts)

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = binding.parse_assembly(text)
    module.verify()
    machine = binding.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    present = {"derivatives": True, "outputs": True, "events": events, "update": update, "fire": fire}
    present["normalise"] = bool(normalise)
    functions = Functions(
        **{name: engine.get_function_address(name) for name, there in present.items() if there},
        n_states=n_states,
        n_outputs=n_states + n_memory if n_outputs is None else n_outputs,
        n_memory=n_memory,
        n_events=n_events,
        event_directions=directions,
        event_terminal=terminal,
        owner=engine,
    )
    return Model(functions)
