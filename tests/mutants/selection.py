"""The tests for a fault, in the order in which they are run: by the map of executed code where there is one.

First those that reach the stretch of the fault, each function of tests once before any twice, the quick ones
of likely files first, and of a condition before all others those that take the rarer of its branches; then
the other tests of these files, since a model that several tests share is made in the first of them alone,
and those of the likeliest files (``relevant.py``), by words that their names have in common with the
function. A fault outside of functions, of a constant or a default, counts for all stretches that name what it
defines.
"""

from __future__ import annotations

import ast
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import log
from pathlib import Path

import numpy as np

from tests.mutants.executed import stretches_of
from tests.mutants.generated import GeneratedFault
from tests.mutants.planting import ROOT
from tests.mutants.relevant import (
    FILES,
    LEFT_OUT,
    function_at,
    likelihood,
    parsed,
    relevant_tests,
    words_of,
)

BUDGET = 40.0  # seconds of a processor for the tests of one fault, as they take without it
OTHERS = 6  # of the likeliest, after those of the map
FEW = 30  # tests that are run before the files of others are read
MOST = 24  # files of tests for one fault, in the budget: each takes time to import


class Map:
    """Which tests reach which stretches, read from the file that ``executed.py`` writes."""

    def __init__(self, path: Path) -> None:
        base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.seconds: dict[str, float] = {}
        self._reached: dict[str, np.ndarray] = {}
        for name, seconds, reached in base.execute("select name, seconds, reached from tests"):
            if Path(_file(name)).stem not in LEFT_OUT and (ROOT / _file(name)).exists():
                self.seconds[name] = seconds
                self._reached[name] = np.sort(np.frombuffer(zlib.decompress(reached), np.uint32))
        self._ids: dict[tuple[str, str], list[int]] = {}
        for i, file, name in base.execute("select id, file, name from stretches"):
            self._ids.setdefault((file, name), []).append(i)

    def tests_reaching(self, stretches: Iterable[tuple[str, str]]) -> set[str]:
        wanted = np.array([i for key in stretches for i in self._ids.get(key, ())], np.uint32)
        found = set()
        for test, reached in self._reached.items():
            places = np.searchsorted(reached, wanted)
            if np.any(reached[np.minimum(places, len(reached) - 1)] == wanted) if len(reached) else False:
                found.add(test)
        return found

    def select(self, fault: GeneratedFault, budget: float) -> tuple[str, ...]:
        """Tests that take so many seconds together without any fault; of more files if there is more time."""
        more = max(budget / BUDGET, 1.0)
        reaching = next(filter(None, map(self.tests_reaching, _concerned(fault.file, fault.line))), set())
        # Numbers of published cases are computed while they are imported, and their tests have their names.
        cases = re.findall(r'Case\(\s*"(\w+)"', parsed(fault.file)[0])
        reaching |= {
            t for t in self.seconds if "test_cases.py" in t and t.endswith(tuple(f"[{c}]" for c in cases))
        }
        files = sorted({_file(t) for t in reaching}, key=lambda f: -likelihood(fault.file, f))
        files = files[: round(MOST * more)]
        first = [t for t in reaching if _file(t) in files]
        text = function_at(fault.file, fault.line)
        # Of a function that keeps its results, the map has the test that happened to be the first alone.
        inside = bool(text) and not re.search(r"^@(lru_)?cache\b", text, re.MULTILINE)
        likely = relevant_tests(fault.file, round(more * (OTHERS if reaching and inside else FILES)))
        taken = set(first)
        beside = [t for t in self.seconds if t not in taken and _file(t) in files]
        rest = [t for t in self.seconds if _file(t) in likely and _file(t) not in files]
        if reaching and inside:
            rarer = self._of_rarer_branch(fault, taken)
            others = [t for t in first if t not in rarer]
            groups = [
                self._by_cost(fault.file, sorted(rarer)),
                self._by_cost(fault.file, others),
                self._by_name(fault, [*beside, *rest]),
            ]
        else:  # of a constant, many tests reach a function that uses it and few depend on it
            groups = [self._by_name(fault, [*first, *rest]), self._by_cost(fault.file, beside)]
        chosen: list[str] = []
        spent = 0.0
        for group in groups:
            for test in group:
                if spent + self.seconds[test] <= budget:
                    spent += self.seconds[test]
                    chosen.append(test)
        return tuple(chosen)

    def _of_rarer_branch(self, fault: GeneratedFault, tests: set[str]) -> set[str]:
        """Those that take the branch of a condition that fewer take; none where all take the same."""
        branches = [tests & self.tests_reaching(one) for one in _branches(fault.file, fault.line) if one]
        if len(branches) == 1:
            branches.append(tests - branches[0])
        return min((b for b in branches if b and len(b) < len(tests)), key=len, default=set())

    def _by_cost(self, source: str, tests: Sequence[str]) -> list[str]:
        """Quick ones of likely files first."""
        return _in_turn(tests, lambda t: (self.seconds[t] + 0.1) / likelihood(source, _file(t)))

    def _by_name(self, fault: GeneratedFault, tests: Sequence[str]) -> list[str]:
        """Those first whose names have most in common with the function of a fault: of functions that are
        translated to machine code, as those of ``solver`` are, no map can be made.
        """
        words = (Path(fault.file).stem, fault.original_line, function_at(fault.file, fault.line))
        own = words_of(" ".join(words))
        names = {test: words_of(test.partition("::")[2]) for test in tests}
        counts = Counter(word for words in names.values() for word in words)

        def cost(test: str) -> float:
            shared = sum(log(len(names) / counts[word]) for word in names[test] & own)
            return (self.seconds[test] + 0.3) / (0.3 + shared) / likelihood(fault.file, _file(test)) ** 0.5

        return _in_turn(tests, cost)


def _in_turn(tests: Sequence[str], cost: Callable[[str], float]) -> list[str]:
    """The first of each function of tests, then the second of each, and of these the cheapest first."""
    turns: Counter[str] = Counter()
    ranked = []
    for test in sorted(tests, key=lambda t: (cost(t), t)):
        function = test.partition("[")[0]
        turns[function] += 1
        ranked.append((turns[function], test))
    return [test for _, test in sorted(ranked, key=lambda pair: pair[0])]


def first_few(tests: Sequence[str]) -> list[Sequence[str]]:
    """The first tests, of three files, and the others: most faults are noticed by the first, and each file
    takes time to import.
    """
    files = list(dict.fromkeys(map(_file, tests[:FEW])))[:3]
    few = [test for test in tests[:FEW] if _file(test) in files]
    return [few, [test for test in tests if test not in set(few)]]


def _file(test: str) -> str:
    return test.partition("::")[0]


@cache
def _stretches(file: str) -> tuple[tuple[str, str, int, int], ...]:
    """Of each stretch of a file: its function, its name, its first and its last line."""
    return tuple((s.function, s.name, s.first, s.last) for s in stretches_of(*parsed(file)))


def _concerned(file: str, line: int) -> list[list[tuple[str, str]]]:
    """The stretches that a fault of a line concerns; where no test reaches them, all of the function."""
    own = [s for s in _stretches(file) if s[2] <= line <= s[3]]
    if own:
        function, name, _, _ = min(own, key=lambda s: s[3] - s[2])
        return [[(file, name)], [(file, s[1]) for s in _stretches(file) if s[0] == function]]
    return [_of_definition(file, line)]


def _branches(file: str, line: int) -> list[list[tuple[str, str]]]:
    """The first stretch of each branch of the condition on a line."""
    _, tree = parsed(file)
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While)) and node.test.lineno <= line <= (node.test.end_lineno or 0):
            places = [body[0].lineno for body in (node.body, node.orelse) if body]
            return [[(file, s[1]) for s in _stretches(file) if s[2] == place] for place in places]
    return []


def _of_definition(file: str, line: int) -> list[tuple[str, str]]:
    """The stretches that use what a statement outside of functions defines."""
    _, tree = parsed(file)
    holding = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    functions = [n for n in holding if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if functions:  # a default of an argument
        within = functions[-1]
        lines = range(within.lineno, (within.end_lineno or within.lineno) + 1)
        return [(file, s[1]) for s in _stretches(file) if s[2] in lines]
    names = {n.name for n in holding if isinstance(n, ast.ClassDef)}
    for node in holding:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            names |= _targets(node)
    if not names:
        return [(file, s[1]) for s in _stretches(file)]
    return _using(file, frozenset(names))


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _targets(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {name for target in targets for name in _names(target)}


def _using(file: str, names: frozenset[str]) -> list[tuple[str, str]]:
    """The stretches of all files that contain one of the names, by way of constants that are made of them."""
    found: list[tuple[str, str]] = []
    others = [] if all(n.startswith("_") for n in names) else _sources()
    for source in {file, *others}:
        text, tree = parsed(source)
        wanted = set(names)
        if source != file and not any(re.search(rf"\b{n}\b", text) for n in wanted):
            continue
        for node in tree.body:  # constants made of these
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                wanted |= _targets(node) if wanted & _names(node.value) else set()
        word, lines = re.compile(rf"\b({'|'.join(wanted)})\b"), text.splitlines()
        for _, name, first, last in _stretches(source):
            if any(word.search(one) for one in lines[first - 1 : last]):
                found.append((source, name))
    return found


@cache
def _sources() -> tuple[str, ...]:
    return tuple(p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "src").rglob("*.py")))
