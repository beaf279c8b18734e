"""The tests for a fault, in the order in which they are run: by the map of executed code where there is one.

First those that reach the stretch of the fault, each function of tests once before any twice, the quick ones
of likely files first; then the other tests of these files, since a model that several tests share is made in
the first of them alone; then those of the likeliest files (``relevant.py``). A fault outside of functions, of
a constant or a default, counts for all stretches that name what it defines.
"""

from __future__ import annotations

import ast
import re
import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from tests.mutants.executed import stretches_of
from tests.mutants.generated import GeneratedFault
from tests.mutants.planting import ROOT
from tests.mutants.relevant import LEFT_OUT, likelihood, relevant_tests

FILES = 16  # of the likeliest, where no test of the map reaches a fault
OTHERS = 6  # of the likeliest, after those of the map
MOST = 24  # files of tests for one fault: each takes time to import


class Map:
    """Which tests reach which stretches, read from the file that ``executed.py`` writes."""

    def __init__(self, path: Path) -> None:
        base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.seconds: dict[str, float] = {}
        self._reached: dict[int, list[str]] = {}
        for name, seconds, reached in base.execute("select name, seconds, reached from tests"):
            if (
                Path(name.partition("::")[0]).stem in LEFT_OUT
                or not (ROOT / name.partition("::")[0]).exists()
            ):
                continue
            self.seconds[name] = seconds
            ids = array("I")
            ids.frombytes(zlib.decompress(reached))
            for i in ids:
                self._reached.setdefault(i, []).append(name)
        self._ids: dict[tuple[str, str], list[int]] = {}
        for i, file, name in base.execute("select id, file, name from stretches"):
            self._ids.setdefault((file, name), []).append(i)

    def tests_reaching(self, stretches: Iterable[tuple[str, str]]) -> set[str]:
        return {t for key in stretches for i in self._ids.get(key, ()) for t in self._reached.get(i, ())}

    def select(self, fault: GeneratedFault, budget: float) -> tuple[str, ...]:
        """Tests that together take so many seconds, without any fault."""
        reaching = next(filter(None, map(self.tests_reaching, _concerned(fault.file, fault.line))), set())
        files = sorted({_file(t) for t in reaching}, key=lambda f: -likelihood(fault.file, f))[:MOST]
        first = [t for t in reaching if _file(t) in files]
        likely = relevant_tests(fault.file, OTHERS if reaching else FILES)
        taken = set(first)
        beside = [t for t in self.seconds if t not in taken and _file(t) in files]
        rest = [t for t in self.seconds if _file(t) in likely and _file(t) not in files]
        chosen: list[str] = []
        spent = 0.0
        for group in (first, beside, rest):
            for test in self._in_turn(fault.file, group):
                if spent + self.seconds[test] <= budget:
                    spent += self.seconds[test]
                    chosen.append(test)
        return tuple(chosen)

    def _in_turn(self, source: str, tests: Sequence[str]) -> list[str]:
        """The first of each function of tests, then the second of each, quick and likely ones first."""

        def cost(test: str) -> float:
            return (self.seconds[test] + 0.1) / likelihood(source, _file(test))

        turns: dict[str, int] = {}
        ranked = []
        for test in sorted(tests, key=lambda t: (cost(t), t)):
            function = test.partition("[")[0]
            turns[function] = turns.get(function, 0) + 1
            ranked.append((turns[function], test))
        return [test for _, test in sorted(ranked, key=lambda pair: pair[0])]


def _file(test: str) -> str:
    return test.partition("::")[0]


@cache
def _parsed(file: str) -> tuple[str, ast.Module]:
    text = (ROOT / file).read_text(encoding="utf-8")
    return text, ast.parse(text)


@cache
def _stretches(file: str) -> tuple[tuple[str, str, int, int], ...]:
    """Of each stretch of a file: its function, its name, its first and its last line."""
    return tuple((s.function, s.name, s.first, s.last) for s in stretches_of(*_parsed(file)))


def _concerned(file: str, line: int) -> list[list[tuple[str, str]]]:
    """The stretches that a fault of a line concerns; where no test reaches them, all of the function."""
    own = [s for s in _stretches(file) if s[2] <= line <= s[3]]
    if own:
        function, name, _, _ = min(own, key=lambda s: s[3] - s[2])
        return [[(file, name)], [(file, s[1]) for s in _stretches(file) if s[0] == function]]
    return [_of_definition(file, line)]


def _of_definition(file: str, line: int) -> list[tuple[str, str]]:
    """The stretches that use what a statement outside of functions defines."""
    _, tree = _parsed(file)
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
        text, tree = _parsed(source)
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
