"""The solver of exported programs, written once: what every language prints of it."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import armillary as arm
from armillary.solver.language import language
from armillary.solver.language.translator import FEATURES, _comments, _function, read_contacts, read_solver
from armillary.solver.methods.method_text import exported_methods, source
from armillary.solver.methods.registry import METHODS
from armillary.solver.methods.tableau import Method, Tableau
from tests.export.python_programs import load

TABLEAU = Tableau(2, (0, 2 / 3), ((), (2 / 3,)), (1 / 4, 3 / 4))
RALSTON = Method("ralston", 2, False, "Ralston's method", TABLEAU, exported=True)


def test_functions_stand_after_those_that_they_call() -> None:
    solver = read_solver({"EVENTS", "UPDATE", "ADAPTIVE"}, exported_methods(True), ("start_run", "find_row"))
    seen: set[str] = set()
    for name, function in solver.functions.items():
        calls = {c.func.id for n in function.body for c in ast.walk(n) if _is_call(c)}  # type: ignore[attr-defined]
        assert calls & set(solver.functions) <= seen
        seen.add(name)


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def test_programs_without_events_hold_nothing_of_them() -> None:
    solver = read_solver({"ALWAYS_DENSE"}, exported_methods(False), ("start_run", "find_row"))
    assert not {"scan", "cut", "locate", "adaptive_step"} & set(solver.functions)
    assert not {"g", "sign", "ratio", "dense"} & {field.name for field in solver.fields}
    assert set(solver.constants) == {"EPSILON", "LONGEST_RATIO", "SNAP"}


def test_comments_stay_with_the_statements_that_they_explain() -> None:
    """Those on a line of their own explain the next statement, those behind one this."""
    text = """
def f(run):
    # first
    run.a = 1.0
    if run.a > 0.0:
        run.b = 2.0  # second
        # third
        run.c = 3.0
    run.d = 4.0
"""
    found = _comments(ast.parse(text), text)
    assert {words: ast.unparse(statement) for statement, words in found.items()} == {
        "first": "run.a = 1.0", "second": "run.b = 2.0", "third": "run.c = 3.0",
    }  # fmt: skip


def test_a_function_changes_the_run_if_one_does_that_it_calls() -> None:
    solver = read_solver({"EVENTS"}, exported_methods(True), ("find_row",))
    changing = {name for name, function in solver.functions.items() if function.changes_run}
    assert {"find_row", "turn", "settle", "probe", "locate"} <= changing
    assert not {"next_due", "closeness", "sign_of"} & changing


def test_names_of_a_function_are_no_words_of_languages_nor_those_of_constants_and_tables() -> None:
    """Constants and functions are printed in lower case; `until` and `end` are words of MATLAB and Octave."""
    features = set(FEATURES) - {"SCHEME", "ALWAYS_DENSE"}
    solver = read_solver(features, exported_methods(True), ("start_run", "find_row", "choose_start"))
    tables = {name for name, value in vars(language).items() if isinstance(value, np.ndarray)}
    known = {n.lower() for n in (*solver.constants, *tables)}
    known -= {"kind", "lands", "nothing"}  # kind_of, a part of a structure, and of the process alone
    words = {"end", "until", "do", "function", "otherwise", "loop", "type", "match", "double", "default"}
    for name, function in solver.functions.items():
        own = {*function.locals, *function.arguments}
        assert not own & words, name
        assert not own & known, name
    assert not {n.lower() for n in solver.constants} & set(solver.functions)


def test_loop_variables_are_not_compared_with_numbers() -> None:
    """Indices begin at 1 in Fortran and MATLAB, where the first of a loop is not 0."""
    text = """def scan(run: Run) -> None:
    'Look at all.'
    for part in range(2):
        if part == {}:
            run.t = 0.0"""
    assert _function(list(ast.walk(ast.parse(text.format("FIRST")).body[0]))).name == "scan"
    with pytest.raises(TypeError, match=r"scan compares the loop variable part with a number.*with FIRST"):
        _function(list(ast.walk(ast.parse(text.format(0)).body[0])))
    assert read_contacts(("solve_independent_rows",)).functions  # the contacts' own text passes


def test_coefficients_are_the_doubles_of_the_tableau() -> None:
    for method in exported_methods(True, multistep=False):
        tableau = method.tableau
        assert tableau is not None
        tree = ast.parse(source([method]))
        stages = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "stages")
        found = []
        for node in ast.walk(stages):
            if isinstance(node, ast.BinOp) and _is_weighted_rate(node):
                found.append(abs(float(eval(ast.unparse(node.left), {"h": 1.0}))))
        wanted = [abs(w) for row in (*tableau.a[1:], tableau.b) for w in row if w not in (0, 1)]
        assert sorted(found) == sorted(wanted)


def _is_weighted_rate(node: ast.BinOp) -> bool:
    rate = isinstance(node.right, ast.Attribute) and node.right.attr.startswith("k")
    return rate and isinstance(node.op, ast.Mult) and not isinstance(node.left, ast.Name)


@pytest.fixture
def ralston(monkeypatch: pytest.MonkeyPatch) -> Method:
    monkeypatch.setitem(METHODS, RALSTON.name, RALSTON)
    return RALSTON


def pendulum() -> arm.System:
    s = arm.System("pendulum")
    s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    return s


def test_a_method_that_is_registered_runs_in_an_exported_program(ralston: Method, tmp_path: Path) -> None:
    """64 ulp: the order of operations is that of the process, fused operations are not."""
    eom = pendulum().derive()
    program: ModuleType = load(eom.export("python", tmp_path / "pendulum"))
    found = program.simulate(0.5, 0.01, method="ralston", initial={"bob.q1": 1.0}).column("bob.q1")
    run = eom.compile().simulate(0.5, step=0.01, method="ralston", initial={"bob.q1": 1.0})
    assert found == pytest.approx(run["bob.q1"].tolist(), rel=64 * 2.0**-52)


@pytest.mark.parametrize("language", ["c", "fortran", "matlab", "jax"])
def test_a_method_that_is_registered_is_in_every_language(
    language: str, ralston: Method, tmp_path: Path
) -> None:
    folder = pendulum().derive().export(language, tmp_path / language)
    texts = "".join(p.read_text() for p in folder.rglob("*") if p.is_file())
    assert "ralston" in texts and "2.0 / 3.0" in texts.replace("_dp", "")
