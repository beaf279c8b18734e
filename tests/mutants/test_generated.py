"""Faults made by rule: what is made of a text, and that each is another program."""

from __future__ import annotations

import ast

from tests.mutants.generated import draw_faults, faults_of, read_equivalents
from tests.mutants.planting import ROOT
from tests.mutants.relevant import relevant_tests

TEXT = """
def f(a: list[int] = [], *, s="ä") -> int:
    if a[1:n] and -x < 2.5:
        a += 1
    return max(f"{1 + 2}", g(s, strict=True) * 3)
"""


def test_each_rule_makes_its_faults_of_a_text() -> None:
    made = faults_of("f.py", TEXT.encode())
    found = {(fault.line, fault.faulty_line) for fault in made}
    condition = "a[1:n] and -x < 2.5"
    assert found == {
        (3, f"if (not ({condition})):"),
        (3, f"if (({condition}) and False):"),
        (3, "if a[2:n] and -x < 2.5:"),
        (3, "if a[0:n] and -x < 2.5:"),
        (3, "if a[1:(n) + 1] and -x < 2.5:"),
        (3, "if a[1:n] or -x < 2.5:"),
        (3, "if a[1:n] and (x) < 2.5:"),
        (3, "if a[1:n] and -x <= 2.5:"),
        (3, "if a[1:n] and -x < 5.0:"),
        (4, "a -= 1"),
        (4, "a += 2"),
        (4, "a += 0"),
        (5, 'return min(f"{1 + 2}", g(s, strict=True) * 3)'),
        (5, 'return max(f"{1 + 2}", g(s, strict=True) / 3)'),
        (5, 'return max(f"{1 + 2}", g(s, strict=True) * 4)'),
        (5, 'return max(f"{1 + 2}", g(s, strict=True) * 2)'),
    }


def test_drawn_faults_are_other_programs_and_those_of_their_seed() -> None:
    file = "analysis/linear/responses.py"
    drawn = draw_faults(3, 20, file)
    assert len(set(drawn)) == 20 and drawn == draw_faults(3, 20, file) != draw_faults(4, 20, file)
    for fault in drawn:
        sound = (ROOT / fault.file).read_bytes()
        assert ast.dump(ast.parse(fault.plant(sound))) != ast.dump(ast.parse(sound))
    tests = relevant_tests(f"src/armillary/{file}", 5)
    assert len(tests) == 5 and all((ROOT / test).exists() for test in tests)
    assert tests[0].startswith("tests/analysis/linear/")


def test_equivalent_faults_are_up_to_date() -> None:
    """Each is one of those that rules make of its file now, and has a reason."""
    for one in read_equivalents():
        made = faults_of(one["file"], (ROOT / one["file"]).read_bytes())
        lines = {(fault.original_line, fault.faulty_line) for fault in made}
        assert (one["original"], one["faulty"]) in lines and one["reason"]
