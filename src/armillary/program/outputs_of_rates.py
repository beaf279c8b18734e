"""Outputs that read the rates of the state, which a run with fixed steps has at each sample.

An acceleration as an output repeats the equations of motion: in a batch whose metrics use every step it costs
more than a stage, although the step has just computed these rates. Each rate is, up to cheap terms, one named
intermediate value of the derivation; outputs that use this value compute it from the rate instead. The
program keeps its constants, so that their tables can be used unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from armillary.algebra.expression import Expr, multiply, power, scale, symbol, total
from armillary.algebra.walk import operands_first, symbols, transform
from armillary.program.passes import Constants, Graph, hoist
from armillary.program.program import Program, section
from armillary.program.targets.targets import Targets

# Outputs read rates if at most this part of the time of their operations remains: passing state and rates to
# the outputs takes time, too.
WORTHWHILE = 0.7


def with_outputs_of_rates(program: Program, targets: Targets, columns: Sequence[str]) -> Program:
    """Return the program with the outputs ``columns``, which read rates of the state if that saves time."""
    described = {c.name: c.expression for c in targets.columns}
    first = len(targets.coordinates)  # rates of coordinates are cheap to compute
    rates = {i: symbol(f"rate {i}") for i in range(first, len(targets.rates))}
    values = dict(pair for i, rate in rates.items() if (pair := _value_of_rate(targets.rates[i], rate)))
    expressions = transform([described[name] for name in columns], values.get)
    expressions = _with_known_constants(program, expressions)
    read = set(symbols(*expressions))
    outputs = section("outputs", columns, expressions)
    pays = outputs.operations.weight <= WORTHWHILE * program.outputs.operations.weight
    if not pays or not {s for s in read if s.data.role == "parameter"} <= set(program.constants):
        return program
    row_rates = tuple((i, rate) for i, rate in rates.items() if rate in read)
    return replace(program, outputs=outputs, row_rates=row_rates)


def _value_of_rate(rate: Expr, known: Expr) -> tuple[Expr, Expr] | None:
    """Return an intermediate value in the expression of a rate, and its expression by the symbol ``known``.

    A rate c (a·value + rest), whose symbol is ``known``, gives value = (known/c − rest)/a. Return `None` if
    the rate does not have this form.
    """
    while True:
        if rate.kind == "let":
            return rate, known
        if rate.kind == "product":
            moving = [k for k, factor in enumerate(rate.args) if not factor.constant]
            if len(moving) != 1 or rate.data[1][moving[0]] != 1:
                return None
            inner = rate.args[moving[0]]
            known, rate = multiply(known, power(multiply(rate, power(inner, -1)), -1)), inner
        elif rate.kind == "sum":
            named = [k for k, term in enumerate(rate.args) if term.kind == "let"]
            if not named:
                return None
            k = max(named, key=lambda k: len(operands_first([rate.args[k]])))
            coefficient, inner = rate.data[1][k], rate.args[k]
            rest = total([(1.0, rate), (-coefficient, inner)])
            known, rate = scale(total([(1.0, known), (-1.0, rest)]), 1 / coefficient), inner
        else:
            return None


def _with_known_constants(program: Program, outputs: Sequence[Expr]) -> list[Expr]:
    """Return outputs with the program's names for their constants, and no other names."""
    definitions = dict(zip(program.constants, program.precompute.results, strict=True))
    constants = Constants.of(definitions)
    hoisted = hoist(Graph(outputs), constants).roots
    new: Mapping[Expr, Expr] = {
        name: value for name, value in constants.definitions.items() if name not in definitions
    }
    return transform(hoisted, new.get)
