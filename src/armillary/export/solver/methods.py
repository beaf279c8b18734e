"""The parts of the exported solver that come from the tableaux of methods, in the small language.

A method is exported if its `Method` is marked so (runtime/integrators). This file writes its stages, its
error estimate and its dense output from the tableau, and the functions that choose among a program's methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from armillary.runtime.integrators import METHODS
from armillary.runtime.integrators.records import Method
from armillary.runtime.loop.tableau import Row, Tableau


def exported_methods(adaptive: bool) -> list[Method]:
    """The methods of exported programs, in the order of their numbers; without those that choose steps."""
    return [m for m in METHODS.values() if m.exported and (adaptive or not m.adaptive)]


def method_names(adaptive: bool, quote: str = "", joint: str = "or") -> str:
    """The names of the exported methods in a sentence."""
    *first, last = [f"{quote}{m.name}{quote}" for m in exported_methods(adaptive)]
    return f"{', '.join(first)} {joint} {last}" if first else last


def tableau(method: Method) -> Tableau:
    assert method.tableau is not None
    return method.tableau


def fields(methods: Sequence[Method]) -> dict[str, str]:
    """Vectors of the run that the methods need beside those of record.py: stages and dense output."""
    tableaux = [tableau(m) for m in methods]
    found = [f"k{i}" for i in range(1, max(t.stages for t in tableaux))]
    found += [f"nest{3 + i}" for i in range(max(len(t.dense) for t in tableaux))]
    return dict.fromkeys(found, "States")


def source(methods: Sequence[Method]) -> str:
    """The functions of the methods, as text of the small language."""
    parts = [_stages(m) for m in methods]
    chosen = [m.name for m in methods]
    about = "The stages of a step and the trial state."
    calls = {name: [f"{name}_stages(run, t, h)"] for name in chosen}
    parts.append(_function("stages(run: Run, t: real, h: real)", about, _cases(chosen, calls)))
    own = [m for m in methods if m.adaptive]
    terms = max(len(tableau(m).dense) for m in methods)
    if own:
        errors = {m.name: [f"run.ratio = h * ({_sum(tableau(m), tableau(m).errors[0])})"] for m in own}
        own_names = [m.name for m in own]
        about = "The error estimate of a step."
        parts.append(_function("error_ratios(run: Run, h: real)", about, _cases(own_names, errors)))
        parts.append(_function("set_control(run: Run)", "Constants of the step-size control.", _control(own)))
        zero = [f"run.nest{3 + i} = 0.0" for i in range(terms)]
        dense = {m.name: _dense_terms(tableau(m)) for m in own} | {"other": zero}
        about = "The further coefficients of the dense output."
        parts.append(_function("dense_terms(run: Run)", about, _cases([*own_names, "other"], dense)))
        is_own = " or ".join(f"run.method == METHOD_{m.name.upper()}" for m in own)
        parts.append(
            f'def adaptive(run: Run) -> truth:\n    """Whether the method chooses its steps."""\n'
            f"    return {is_own}\n"
        )
    nested = f"run.nest{2 + terms}"
    for i in reversed(range(2 + terms)):
        nested = f"run.nest{i} + {'(1.0 - theta)' if i % 2 == 0 else 'theta'} * ({nested})"
    about = "The state at a part theta of the step just taken, from its coefficients."
    parts.append(
        _function("dense_state(run: Run, theta: real)", about, [f"run.point = run.base + theta * ({nested})"])
    )
    return "\n\n".join(parts)


def _function(head: str, about: str, lines: Sequence[str]) -> str:
    body = [f'"""{about}"""', *lines]
    return "\n".join([f"def {head} -> None:", *(f"    {line}" for line in body)]) + "\n"


def _cases(methods: Sequence[str], lines: dict[str, list[str]]) -> list[str]:
    """The lines of the method chosen; those of the last where there is no other."""
    found: list[str] = []
    for method in methods[:-1]:
        found.append(f"{'el' if found else ''}if run.method == METHOD_{method.upper()}:")
        found += [f"    {line}" for line in lines[method]]
    last = lines[methods[-1]]
    return [*found, "else:", *(f"    {line}" for line in last)] if found else last


def _stages(method: Method) -> str:
    t = tableau(method)
    lines = []
    for i in range(1, t.stages):
        lines.append(f"run.stage = run.state + h * ({_sum(t, t.a[i])})")
        when = "t + h" if t.c[i] == 1 else f"t + {fraction(t.c[i])} * h"
        lines.append(f"run.k{i} = derivatives({when}, run.stage)")
    lines.append(f"run.trial = run.state + h * ({_sum(t, t.b)})")
    about = f"{method.description[0].upper()}{method.description[1:]}: the stages of a step; k0 is there."
    return _function(f"{method.name}_stages(run: Run, t: real, h: real)", about.replace("–", "-"), lines)


def _dense_terms(t: Tableau) -> list[str]:
    return [f"run.nest{3 + i} = run.h_taken * ({_sum(t, row)})" for i, row in enumerate(t.dense)]


def _control(methods: Sequence[Method]) -> list[str]:
    cases: dict[str, list[str]] = {}
    for m in methods:
        control = tableau(m).control
        assert control is not None
        values = {"order": float(m.order), **vars(control)}
        cases[m.name] = [f"run.{name} = {value!r}" for name, value in values.items()]
    return _cases([m.name for m in methods], cases)


def _sum(t: Tableau, row: Row) -> str:
    text = ""
    for j, weight in enumerate(row):
        if weight:
            vector = f"run.k{j}" if j < t.stages else "run.k_end"
            term = vector if abs(weight) == 1 else f"{fraction(abs(weight))} * {vector}"
            if text:
                term = f" {'-' if weight < 0 else '+'} {term}"
            elif weight < 0:
                term = term.replace("(", "(-", 1) if term[0] == "(" else f"-{term}"
            text += term
    return text


def fraction(value: float) -> str:
    """A coefficient as the simplest fraction that rounds to it."""
    for largest in (1, 10**4, 10**8, 10**12):
        found = Fraction(value).limit_denominator(largest)
        if found.numerator / found.denominator == value:
            above, below = float(found.numerator), float(found.denominator)
            return repr(value) if found.denominator in (1, 2) else f"({above!r} / {below!r})"
    return repr(float(value))
