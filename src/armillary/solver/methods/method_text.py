"""Functions of the solver, generated in the language of solver/language from the tableaux of methods.

From the tableau of a method, this file writes its stages, its error estimate and its dense output; it also
writes the functions that choose among a program's methods. Runs in the process, batches of runs in vector
lanes and exported programs all use this one description of a step. A `Method` is exported if its field
`exported` is true (registry.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from armillary.solver.methods.registry import METHODS
from armillary.solver.methods.tableau import Method, Rosenbrock, Row, Tableau, rate_name

_COMMON = ("k0", "k_end", "nest0", "nest1", "nest2")  # vectors of every method, declared in record.py


def exported_methods(adaptive: bool, stiff: bool = False, multistep: bool = True) -> list[Method]:
    """Return the methods of exported programs, in the order of their numbers.

    Adaptive, linearly implicit (``stiff``) and multistep methods are included only if requested.
    """
    known = [m for m in METHODS.values() if adaptive or not m.adaptive]
    known = [m for m in known if multistep or not m.coefficients.multistep]
    return [m for m in known if m.exported] + [
        m for m in known if stiff and m.rosenbrock and not m.begins_with
    ]


def method_names(
    adaptive: bool, quote: str = "", joint: str = "or", stiff: bool = False, multistep: bool = True
) -> str:
    """Return the names of the exported methods, joined as in a sentence."""
    *first, last = [f"{quote}{m.name}{quote}" for m in exported_methods(adaptive, stiff, multistep)]
    return f"{', '.join(first)} {joint} {last}" if first else last


def fields(methods: Sequence[Method]) -> dict[str, str]:
    """Return the vectors of the run that the methods need beyond those in record.py: stages, dense output."""
    own = [name for m in methods for name in m.coefficients.vectors if name not in _COMMON]
    return dict.fromkeys(sorted(own, key=lambda name: name.startswith("nest")), "States")


def source(methods: Sequence[Method]) -> str:
    """Return the functions of the methods, as text of the small language."""
    alone = len(methods) == 1
    parts = [_stages(m, "stages" if alone else f"{m.name}_stages") for m in methods]
    if not alone:
        chosen = [m.name for m in methods]
        about = "Compute the stages of a step and the trial state."
        calls = {name: [f"{name}_stages(run, t, h)"] for name in chosen}
        parts.append(_function("stages(run: RunRecord, t: real, h: real)", about, _cases(chosen, calls)))
    own = [m for m in methods if m.adaptive]
    if own:
        own_names = [m.name for m in own]
        errors = {m.name: _errors(m.coefficients) for m in own}
        about = "Compute the error estimate of a step."
        parts.append(_function("error_ratios(run: RunRecord, h: real)", about, _cases(own_names, errors)))
        parts.append(
            _function("set_control(run: RunRecord)", "Set the constants of step-size control.", _control(own))
        )
        parts.append(_method_test("adaptive", "Return whether the method chooses its steps.", own))
        ending = [m for m in own if m.coefficients.end_enters_error]
        about = "Return whether the error estimate needs the derivative at the end of a step."
        parts.append(_method_test("end_enters_error", about, ending))
        about = "Return whether the method has two error estimates (HNW I, II.10)."
        parts.append(
            _method_test("has_two_errors", about, [m for m in own if len(m.coefficients.errors) > 1])
        )
    return "\n\n".join([*parts, *_dense(methods)])


def _dense(methods: Sequence[Method]) -> list[str]:
    """Return the functions of the dense output; every method has at least its cubic Hermite polynomial."""
    further = [m for m in methods if m.coefficients.dense]
    terms = {m.name: _dense_terms(m.coefficients) for m in further}
    about = "Compute the further coefficients of the dense output, and the stages that they need."
    alone = len(methods) == 1
    parts = (
        [_function("dense_terms(run: RunRecord)", about, _cases(list(terms), terms, last=alone))]
        if terms
        else []
    )
    values = {m.name: [f"run.point = {_nested_polynomial(_nests(m.coefficients))}"] for m in further}
    if not alone or not values:
        values["other"] = [f"run.point = {_nested_polynomial(0)}"]
    about = "Compute the state at the fraction theta of the step just taken, from its coefficients."
    return [
        *parts,
        _function("dense_state(run: RunRecord, theta: real)", about, _cases(list(values), values)),
    ]


def _nested_polynomial(terms: int) -> str:
    """Return the polynomial of solver/methods/tableau.py with ``terms`` terms beyond the cubic ones."""
    nested = f"run.nest{2 + terms}"
    for i in reversed(range(2 + terms)):
        nested = f"run.nest{i} + {'(1.0 - theta)' if i % 2 == 0 else 'theta'} * ({nested})"
    return f"run.base + theta * ({nested})"


def _nests(t: Tableau | Rosenbrock) -> int:
    """Return the number of terms of the dense output beyond the cubic ones."""
    return len(t.dense) - 2 if isinstance(t, Rosenbrock) else len(t.dense)


def _method_test(name: str, about: str, methods: Sequence[Method]) -> str:
    """Return a function that tests whether the method of a run is one of these."""
    found = " or ".join(f"run.method == METHOD_{m.name.upper()}" for m in methods) or "False"
    return f'def {name}(run: RunRecord) -> truth:\n    """{about}"""\n    return {found}\n'


def _errors(t: Tableau | Rosenbrock) -> list[str]:
    if isinstance(t, Rosenbrock):
        return [f"run.ratio = {_increments(t.errors[0])}"]
    names = ("ratio", "ratio_low")
    return [f"run.{name} = h * ({_sum(t, row)})" for name, row in zip(names, t.errors, strict=False)]


def _function(head: str, about: str, lines: Sequence[str]) -> str:
    body = [f'"""{about}"""', *lines]
    return "\n".join([f"def {head} -> None:", *(f"    {line}" for line in body)]) + "\n"


def _cases(methods: Sequence[str], lines: dict[str, list[str]], last: bool = True) -> list[str]:
    """Return an `if` with the lines of each method; with ``last``, the last method takes the `else`."""
    found: list[str] = []
    for method in methods[:-1] if last else methods:
        found.append(f"{'el' if found else ''}if run.method == METHOD_{method.upper()}:")
        found += [f"    {line}" for line in lines[method]]
    if not last:
        return found
    rest = lines[methods[-1]]
    return [*found, "else:", *(f"    {line}" for line in rest)] if found else rest


def _stages(method: Method, name: str) -> str:
    t = method.coefficients
    about = f"{method.description[0].upper()}{method.description[1:]}: the stages of a step after k0."
    lines = _implicit_stages(t) if isinstance(t, Rosenbrock) else _explicit_stages(t)
    return _function(f"{name}(run: RunRecord, t: real, h: real)", about.replace("–", "-"), lines)


def _explicit_stages(t: Tableau) -> list[str]:
    lines = []
    for i in range(1, t.stages):
        lines.append(f"run.stage = run.state + {_advance(t, t.a[i], 'h')}")
        lines.append(f"run.k{i} = derivatives({_stage_time(t, i)}, run.stage)")
    lines.append(f"run.trial = run.state + {_advance(t, t.b, 'h')}")
    if not t.multistep:
        return lines
    return [
        "if h <= LONGEST_RATIO * run.h_before:",
        "    part: real = 0.5 * h / run.h_before",
        "    run.trial = run.state + h * ((1.0 + part) * run.k0 - part * run.k_before)",
        "else:",
        *(f"    {line}" for line in lines),
    ]


def _stage_time(t: Tableau | Rosenbrock, i: int) -> str:
    return "t + h" if t.c[i] == 1 else f"t + {fraction(t.c[i])} * h"


def _implicit_stages(t: Rosenbrock) -> list[str]:
    """Return the stages of a linearly implicit method: see Rosenbrock in solver/methods/tableau.py."""
    lines = [f"begin_stages(run, t, {fraction(t.gamma)} * h)"]
    before: Row = ()
    for i in range(t.stages):
        rates = "run.k0"
        if any(t.a[i]):
            known = len(before) if before and t.a[i][: len(before)] == before else 0
            base, weights = ("run.stage", t.a[i][known:]) if known else ("run.state", t.a[i])
            if any(weights):
                lines.append(f"run.stage = {base} + {_increments(weights, known)}")
            lines.append(f"run.right_side = derivatives({_stage_time(t, i)}, run.stage)")
            rates, before = "run.right_side", t.a[i]
        terms = [rates]
        if any(t.couplings[i]):
            terms.append(f"({_increments(t.couplings[i])}) / h")
        if t.slopes[i]:
            terms.append(f"({fraction(t.slopes[i])} * h) * run.time_rate")
        if terms != ["run.right_side"]:
            lines.append(f"run.right_side = {' + '.join(terms)}")
        lines += ["solve_system(run)", f"run.w{i + 1} = run.right_side"]
    known = len(before) if t.b[: len(before)] == before else 0
    base = "run.stage" if known else "run.state"
    return [*lines, f"run.trial = {base} + {_increments(t.b[known:], known)}"]


def _increments(weights: Row, first: int = 0) -> str:
    """Return a weighted sum of the increments w of a linearly implicit method, from the number `first` on."""
    terms = [(weight, f"run.w{first + j + 1}") for j, weight in enumerate(weights) if weight]
    text = " + ".join(name if weight == 1 else f"{fraction(weight)} * {name}" for weight, name in terms)
    return text.replace("+ -", "- ").replace("+ (-", "- (")


def _dense_terms(t: Tableau | Rosenbrock) -> list[str]:
    if isinstance(t, Rosenbrock):
        return [f"run.nest{1 + i} = {_increments(row)}" for i, row in enumerate(t.dense)]
    lines = []
    for i, (c, row) in enumerate(zip(t.extra_c, t.extra_a, strict=True), t.stages + 1):
        lines.append(f"run.point = run.base + {_advance(t, row, 'run.h_taken')}")
        lines.append(f"run.k{i} = derivatives(run.t_old + {fraction(c)} * run.h_taken, run.point)")
    return lines + [f"run.nest{3 + i} = run.h_taken * ({_sum(t, row)})" for i, row in enumerate(t.dense)]


def _control(methods: Sequence[Method]) -> list[str]:
    cases: dict[str, list[str]] = {}
    for m in methods:
        control = m.coefficients.control
        assert control is not None
        values = {"order": float(m.order), **vars(control)}
        cases[m.name] = [f"run.{name} = {value!r}" for name, value in values.items()]
    return _cases([m.name for m in methods], cases)


def _advance(t: Tableau, row: Row, h: str) -> str:
    """Return h Σⱼ wⱼ kⱼ; a single term as (h wⱼ) kⱼ, whose factor is the same for all states."""
    own = [j for j, weight in enumerate(row) if weight]
    if len(own) > 1:
        return f"{h} * ({_sum(t, row)})"
    weight = "" if row[own[0]] == 1 else f" * {fraction(row[own[0]])}"
    return f"({h}{weight}) * run.{rate_name(t, own[0])}" if weight else f"{h} * run.{rate_name(t, own[0])}"


def _sum(t: Tableau, row: Row) -> str:
    text = ""
    for j, weight in enumerate(row):
        if weight:
            vector = f"run.{rate_name(t, j)}"
            term = vector if abs(weight) == 1 else f"{fraction(abs(weight))} * {vector}"
            if text:
                term = f" {'-' if weight < 0 else '+'} {term}"
            elif weight < 0:
                term = term.replace("(", "(-", 1) if term[0] == "(" else f"-{term}"
            text += term
    return text


def fraction(value: float) -> str:
    """Return a coefficient as the simplest fraction that rounds to it."""
    for largest in (1, 10**4, 10**7):
        found = Fraction(value).limit_denominator(largest)
        if found.numerator / found.denominator == value:
            above, below = float(found.numerator), float(found.denominator)
            return repr(value) if found.denominator in (1, 2) else f"({above!r} / {below!r})"
    return repr(float(value))
