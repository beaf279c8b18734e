"""The checker of programs: it accepts what derivations make, and finds planted faults with their lines."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

import armillary as arm
from armillary.algebra.expression import Expr, symbol
from armillary.algebra.node import intern
from armillary.algebra.units import LENGTH
from armillary.program import passes, sections
from armillary.program.checker import IllegalProgram, check_program
from armillary.program.passes import Graph
from armillary.program.program import Program
from armillary.verification.cases.momentum import MomentumSystem
from tests.systems.everything import everything

TREES = ("kane", "recursive", "back_substitution")
# Small examples with formalisms that take them: trees, loops, quaternions, modes, events, prescribed motion.
ACCEPTED: dict[str, tuple[str, ...]] = {
    "array_deployment": ("mbdyfr",),
    "bouncing_ball": (*TREES, "momentum", "redundant"),
    "bump_stop": ("auto", *TREES),
    "four_bar": ("kane",),
    "integral_control": ("auto",),
    "pendulum": (*TREES, "momentum", "redundant"),
    "rolling_disc": ("kane",),
    "spinning_top": (*TREES, "momentum"),
    "steered_car": ("kane",),
}


def example(name: str) -> arm.System:
    return importlib.import_module(f"examples.{name}").system()


@pytest.mark.parametrize(("name", "formalism"), [(n, f) for n, all_of in ACCEPTED.items() for f in all_of])
def test_examples_are_legal_after_every_pass(name: str, formalism: str) -> None:
    assert example(name).derive(formalism, check=True).formalism in (formalism, *TREES)


def test_a_check_changes_nothing() -> None:
    checked, plain = (everything().derive(check=check).program for check in (True, False))
    for one, other in zip(checked.sections(), plain.sections(), strict=True):
        assert [str(r) for r in one.results] == [str(r) for r in other.results]


def test_a_verification_model_with_momenta_is_legal_after_every_pass() -> None:
    system = MomentumSystem("tree5").system
    assert system.derive("momentum", check=True).formalism == "momentum"


def test_a_model_with_memory_and_events_is_legal_after_every_pass() -> None:
    assert everything().derive(check=True).program.fire


def test_check_takes_a_truth_value_only() -> None:
    with pytest.raises(arm.ModelError, match="check="):
        everything().derive(check="yes")  # type: ignore[arg-type]


# ---------------------------------------------------------------- planted faults


@cache
def program() -> Program:
    return everything().derive().program


def derivatives(**changes: object) -> Program:
    return replace(program(), derivatives=replace(program().derivatives, **changes))


def swapped() -> Program:
    """The first node that has a computed operand, put before it."""
    nodes = list(program().derivatives.nodes)
    i = next(i for i, node in enumerate(nodes) if any(a in nodes[:i] for a in node.args))
    j = min(nodes.index(a) for a in nodes[i].args if a in nodes[:i])
    nodes.insert(j, nodes.pop(i))
    return derivatives(nodes=tuple(nodes))


def with_result(result: Expr, *nodes: Expr) -> Program:
    """The first derivative replaced, with these nodes to compute it; what it needed before is left out."""
    section = program().derivatives
    return derivatives(results=(result, *section.results[1:]), nodes=(*section.nodes, *nodes))


def illegal(kind: str, args: tuple[Expr, ...], data: object, dimension: object = None) -> Program:
    made = intern(Expr, kind, args, data, dimension, ("planted", kind, args, repr(data)))  # type: ignore[arg-type]
    return with_result(made, made)


foreign = symbol("stranger", "coordinate")
q = symbol("q", "coordinate")

FAULTS: list[tuple[str, Callable[[], Program], str]] = [
    (
        "a node before its operand",
        swapped,
        r"section 'derivatives', line \d+: its operand v\d+ is computed later",
    ),
    (
        "a foreign symbol",
        lambda: with_result(foreign),
        r"'stranger' \(coordinate\) is not an input of this sect",
    ),
    (
        "an operand left out",
        lambda: with_result(arm.sin(state()) * 2, arm.sin(state()) * 2),
        "is not computed in",
    ),
    (
        "a node twice",
        lambda: derivatives(nodes=program().derivatives.nodes[:1] * 2),
        "line 1: v1 is listed again",
    ),
    (
        "a node too many",
        lambda: derivatives(nodes=(*program().derivatives.nodes, arm.tan(state()))),
        "no result",
    ),
    ("a label too few", lambda: derivatives(labels=()), r"section 'derivatives': 0 labels for \d+ results"),
    ("a wrong count", lambda: derivatives(operations=program().update.operations + others()), "are given as"),
    ("a number not finite", lambda: illegal("number", (), math.inf), "the number inf is not finite"),
    ("a dimension", lambda: illegal("call", (state(),), "sin", LENGTH), r"the call has the dimension \[m"),
    ("an arity", lambda: illegal("call", (state(), state()), "sin"), "sin has 2 arguments, not 1"),
    ("a function unknown", lambda: illegal("call", (state(),), "bessel"), "there is no function 'bessel'"),
    ("an exponent 0", lambda: illegal("product", (state(),), (1, (0,))), "a product has the exponent 0"),
    ("an exponent too few", lambda: illegal("product", (state(),), (1, ())), "1 operands and 0 exponents"),
    ("a coefficient NaN", lambda: illegal("sum", (state(),), (math.nan, (1,))), "number that is not finite"),
    ("an operand twice", lambda: illegal("sum", (state(), state()), (0, (1, 1))), "the same operand twice"),
    ("a constant in the loop", lambda: with_result(c() ** 2, c() ** 2), "a constant outside precompute"),
    (
        "a wrong place",
        lambda: replace(program(), quaternions=(99,)),
        "quaternions has the index 99, outside of",
    ),
    ("places that overlap", lambda: replace(program(), corrected=(0, 0)), "two indices of corrected overlap"),
    ("a state too many", lambda: replace(program(), state=(*program().state, q)), "'derivatives' has"),
    ("an event too few", lambda: replace(program(), fire=()), "1 events, and 0 sections for them"),
    (
        "a symbol in two lists",
        lambda: replace(program(), memory=program().state),
        "is in its state and its memory",
    ),
    (
        "a constant twice",
        lambda: replace(program(), constants=program().constants * 2),
        "is twice among its const",
    ),
    (
        "a size",
        lambda: replace(program(), speed_sizes=(q,)),
        "the size 'q' is neither a number nor a constant",
    ),
]


def state() -> Expr:
    return program().state[0]


def c() -> Expr:
    return program().constants[0]


def others() -> object:
    return program().derivatives.operations


@pytest.mark.parametrize(("plant", "message"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_planted_fault_is_found(plant: Callable[[], Program], message: str) -> None:
    check_program(program())
    with pytest.raises(IllegalProgram, match=message):
        check_program(plant())


def test_a_constant_that_no_section_reads_is_found() -> None:
    one = program()
    spare = symbol("spare", "parameter")
    precompute = replace(
        one.precompute, labels=(*one.precompute.labels, "spare"), results=(*one.precompute.results, spare)
    )
    planted = replace(
        one, parameters=(*one.parameters, spare), constants=(*one.constants, spare), precompute=precompute
    )
    with pytest.raises(IllegalProgram, match="no section reads the constant 'spare'"):
        check_program(planted)


def test_a_fault_is_shown_among_its_lines() -> None:
    section = program().outputs
    middle = len(section.nodes) // 2
    made = intern(Expr, "call", section.nodes[:2], "sin", None, ("planted", "line"))
    nodes = (*section.nodes[:middle], made, *section.nodes[middle:])
    with pytest.raises(IllegalProgram) as caught:
        check_program(replace(program(), outputs=replace(section, nodes=nodes)))
    first, *lines = str(caught.value).splitlines()
    assert first == f"section 'outputs', line {middle + 1}: sin has 2 arguments, not 1"
    assert [int(line[1:7]) for line in lines] == list(range(middle - 4, middle + 7))
    assert lines[5] == f">{middle + 1:6d}  v{middle + 1} = call 'sin' of v1, v2"


def test_the_pass_that_makes_a_fault_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "share", lambda graph: Graph([r + foreign for r in graph.roots]))
    with pytest.raises(IllegalProgram, match=r"after share, section 'derivatives', line \d+: 'stranger'"):
        everything().derive(check=True)


def test_a_pass_that_loses_a_result_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "factor", lambda graph: Graph(graph.roots[1:]))
    with pytest.raises(IllegalProgram, match=r"after factor, section 'derivatives': \d+ results became \d+"):
        everything().derive(check=True)


def test_a_constant_without_a_name_is_found_after_hoisting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "hoist", lambda graph, constants: graph)
    s = arm.System("pendulum")
    s.body("b", joint=arm.Revolute("z"), com=(0, "-L", 0), mass="m", inertia=0)
    s.output("square", "m*L^2*b.q1")
    with pytest.raises(
        IllegalProgram, match=r"after hoist, section 'outputs', line \d+: a constant without a name"
    ):
        s.derive("kane", check=True)
