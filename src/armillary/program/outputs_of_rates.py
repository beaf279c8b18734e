"""Outputs that read the rates of the state, which a run with fixed steps knows at each of its rows.

An acceleration as an output is the equations of motion once more: in a batch whose metrics look at every step
it costs more than a stage. A step has just computed these rates. Each rate is, up to terms that are quickly
computed, one named value of the derivation; where outputs use this value, they take it from the rate. The
program keeps its constants, so that their tables serve as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from armillary.algebra.expression import Expr, multiply, power, scale, symbol, total
from armillary.algebra.walk import operands_first, symbols, transform
from armillary.program.passes import Constants, Graph, hoist
from armillary.program.program import Program, section
from armillary.program.targets.targets import Targets

# Outputs read rates if at most this part of their operations' time is left; to pass on state and rates costs
# something, too.
WORTHWHILE = 0.7


def with_outputs_of_rates(program: Program, targets: Targets, columns: Sequence[str]) -> Program:
    """Return the program with the outputs ``columns``; they read rates of the state if that pays."""
    described = {c.name: c.expression for c in targets.columns}
    first = len(targets.coordinates)  # rates of coordinates are quickly computed
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
    """Return a named value in the expression of a rate, and its expression in the rate's symbol ``known``.

    A rate c (a·value + rest) gives value = (known/c − rest)/a. `None` if the rate is not of this form.
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
