"""Faults made by rule: what is made of a text, and that each is another program."""

from __future__ import annotations

import ast
import sqlite3
import zlib
from array import array
from pathlib import Path

from tests.mutants.executed import annotate, stretches_of
from tests.mutants.generated import draw_faults, faults_of, named_functions, read_equivalents
from tests.mutants.planting import ROOT
from tests.mutants.relevant import imported_at, relevant_tests
from tests.mutants.selection import Map

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


def test_the_tests_of_what_a_verb_imports_are_likely_to_notice_a_fault_in_it() -> None:
    """model.mpc passes its work to control/predictive.py; most files of tests use other verbs there."""
    file = "src/armillary/stages/analyses.py"
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    line = next(i for i, text in enumerate(lines, 1) if "control.predictive import mpc" in text)
    assert "src/armillary/control/predictive.py" in imported_at(file, line)
    assert relevant_tests(file, 3, line)[0] == "tests/control/test_predictive.py"
    assert imported_at(file, 1) == ()


def test_a_file_of_tests_is_near_a_source_whose_name_is_its_plural() -> None:
    file = "src/armillary/algebra/tables.py"
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    line = next(i for i, text in enumerate(lines, 1) if text.startswith("def read_columns"))
    assert "tests/algebra/test_table_from_csv.py" in relevant_tests(file, 4, line)


def test_equivalent_faults_are_up_to_date() -> None:
    """Each is one of those that rules make of its file now, and has a reason."""
    listed: dict[str, list[tuple[str, str]]] = {}
    for one in read_equivalents():
        listed.setdefault(one["file"], []).append((one["original"], one["faulty"]))
        assert one["reason"]
    for file, ours in listed.items():
        text = (ROOT / file).read_bytes()
        begins = tuple(original[:20] for original, _ in ours)
        lines = enumerate(text.decode().splitlines(), 1)
        made = faults_of(file, text, [i for i, line in lines if line.lstrip().startswith(begins)])
        assert set(ours) <= {fault.code_lines for fault in made}, file
    for one in read_equivalents("estimate"):
        tree = ast.parse((ROOT / one["file"]).read_bytes())
        assert one["function"] in dict(named_functions(tree)) and one["reason"]


IDLE = """
import matplotlib
from armillary.solver.thresholds import STUCK
from armillary.verification.rows import difference

NEAR = 1e-9
SHARE = 5e-3
CHECKS = (difference("energy", 3e-4, "a book"),)

def f(n, x, ax):
    one: real = 0.0
    two: real = 0.0
    three = 0.0
    four = False
    for i in range(n):
        one = x + i
        if i > 7:
            continue
        two = one
        four = x
    one = n
    if x < NEAR * n or four:
        three = one
    if x > STUCK * n:
        ax.plot(x / max(n, 1e-300), linewidth=3.0)
    return two + three + x.reshape(-1, 2) + np.zeros((n, 0)).sum()

LOOK = {"lines.linewidth": 1.6, "axes.grid": True, "size": 3.0}
"""


def test_no_fault_is_planted_where_none_can_change_anything() -> None:
    """``one`` is replaced before it is read; the others may be read as they were declared."""
    made = faults_of("f.py", IDLE.encode())
    lines = (6, 7, 8, 11, 12, 13, 14, 22, 24, 25, 26, 28)
    found = {(fault.line, fault.faulty) for fault in made if fault.line in lines}
    condition = "x < NEAR * n or four"
    assert found == {
        (6, "1.0000000000000002e-06"),
        (7, "5.0"),
        (12, "1.0"),
        (13, "1.0"),
        (14, "True"),
        (22, f"(not ({condition}))"),
        (22, f"(({condition}) and False)"),
        (22, "and"),
        (22, "/"),
        (24, "(not (x > STUCK * n))"),
        (24, "((x > STUCK * n) and False)"),
        (24, "/"),
        (25, "*"),
        (25, "min"),
        (26, "-"),
        (26, "(1)"),
        (26, "0"),
        (26, "1"),
        (26, "3"),
        (26, "prod"),
        (28, "False"),
        (28, "6.0"),
    }


BRANCHES = """
class A:
    def f(self, x):
        \"\"\"Words.\"\"\"
        y = 1
        if x > y:
            return 2
        for i in range(x + 1):
            y += i
        return y
"""


def test_stretches_end_where_a_statement_may_leave_and_note_what_is_executed() -> None:
    found = [(s.name, s.first, s.last) for s in stretches_of(BRANCHES, ast.parse(BRANCHES))]
    assert sorted(found, key=lambda one: one[1]) == [
        ('.A.f\t"""Words."""', 4, 7),
        (".A.f\treturn 2", 7, 7),
        (".A.f\tfor i in range(x + 1):", 8, 10),
        (".A.f\ty += i", 9, 9),
    ]
    notes = bytearray(14)
    space: dict[str, object] = {"__stretches_reached__": notes}
    exec(compile(annotate(BRANCHES, 10), "branches", "exec"), space)
    made = space["A"]
    assert isinstance(made, type) and made().f(2) == 2 and made.f.__doc__ == "Words."
    reached = {found[i - 10][1] for i, note in enumerate(notes) if note}
    assert reached == {4, 7}
    notes[:] = bytes(14)
    assert made().f(0) == 1
    assert {found[i - 10][1] for i, note in enumerate(notes) if note} == {4, 8, 9}


def test_tests_that_reach_a_fault_come_first_and_the_quick_ones_before_the_slow(tmp_path: Path) -> None:
    file = "src/armillary/analysis/linear/responses.py"
    fault = next(f for f in draw_faults(3, 20, file) if f.original_line.startswith(("if", "return")))
    text = (ROOT / file).read_text(encoding="utf-8")
    own = min(
        (s for s in stretches_of(text, ast.parse(text)) if s.first <= fault.line <= s.last),
        key=lambda s: s.last - s.first,
    )
    base = sqlite3.connect(tmp_path / "map.sqlite")
    base.execute("create table stretches (id integer primary key, file text, name text)")
    base.execute("create table tests (name text primary key, seconds real, reached blob)")
    base.execute("insert into stretches values (5, ?, ?)", (file, own.name))
    here = "tests/analysis/linear/test_linear_analyses.py"
    rows = {"slow": (9.0, [5]), "quick": (0.1, [5]), "elsewhere": (0.1, []), "endless": (90.0, [5])}
    for name, (seconds, reached) in rows.items():
        data = zlib.compress(array("I", reached).tobytes())
        base.execute("insert into tests values (?, ?, ?)", (f"{here}::test_{name}", seconds, data))
    base.commit()
    base.close()
    chosen = Map(tmp_path / "map.sqlite").select(fault, 20.0)
    assert chosen == tuple(f"{here}::test_{name}" for name in ("quick", "slow", "elsewhere"))
