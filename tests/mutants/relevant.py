"""The files of tests that are most likely to notice a fault in a file, the likeliest first.

A file of tests is ranked by the words that it shares with the source: the names that the source defines and
those of its path, each the heavier the fewer files of tests contain it. Files that import the module, have
a word of its path in their name or are in the folder of its package count several times.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from functools import cache
from math import log
from pathlib import Path
from textwrap import dedent

from tests.mutants.planting import ROOT

# Tests of the project itself read sources: any change of a text may fail them.
LEFT_OUT = ("test_project", "test_cited_names", "test_untyped", "test_release", "test_docs", "test_firefox")
FILES = 16  # of tests for a fault
FIRST, FEW = 4, 16  # files that are run before others are imported, and their tests that are run first
_CASES = "tests/verification/test_cases.py::test_every_case_meets_its_source"
_BESIDE = 0.5  # likelihood of a test for a file that uses another, for the other
# Machine code, numbers, prints and signatures of all packages.
KEPT = (
    "tests/llvm/test_kept_code.py",
    *(f"tests/test_kept_{name}.py" for name in ("signatures", "numbers", "prints")),
)
# Packages whose tests are in the folders of others.
ELSEWHERE = {
    "stages": ("tests/model", "tests/program", "tests/runtime", "tests/analysis"),
    "verification": ("tests/verification", "tests/verification_command"),
    "export": ("tests/export", "tests/ensembles"),
    "solver": ("tests/solver", "tests/runtime", "tests/export"),
    "": ("tests/results", "tests/run_files", "tests/cli"),
}


def words_of(text: str) -> set[str]:
    """Names as written and their parts: ``mode_shapes`` is mode_shapes, mode and shapes."""
    names = set(re.findall(r"[A-Za-z_][A-Za-z_0-9]{2,}", text))
    parts = {part.lower() for name in names for part in re.findall(r"[A-Z]?[a-z0-9]{2,}|[A-Z]{3,}", name)}
    return names | parts


@cache
def _tests() -> dict[str, tuple[str, frozenset[str]]]:
    """Text and words of each file of tests."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file = path.relative_to(ROOT).as_posix()
        if path.stem not in LEFT_OUT and not file.startswith("tests/mutants/"):
            text = path.read_text(encoding="utf-8")
            found[file] = (text, frozenset(words_of(text) | words_of(path.stem)))
    return found


@cache
def _weights() -> dict[str, float]:
    """Of each word: the logarithm of one over the share of the files that contain it."""
    counts: dict[str, int] = {}
    for _, words in _tests().values():
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    return {word: log(len(_tests()) / count) for word, count in counts.items()}


@cache
def _likelihoods(file: str) -> dict[str, float]:
    """Of each file of tests: how likely it notices a fault in a source file, the most likely one 1."""
    parts = Path(file).with_suffix("").parts[2:]  # without src/armillary
    package = parts[0] if len(parts) > 1 else ""
    folders = ELSEWHERE.get("/".join(parts[:2]), ELSEWHERE.get(package, (f"tests/{package}",)))
    nearest = f"tests/{'/'.join(parts[:2])}/"  # where a part of the package has a folder of its own
    module = ".".join(["armillary", *parts]).removesuffix(".__init__")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    defined = " ".join(
        n.name.strip("_") for n in ast.walk(tree) if isinstance(n, kinds) and "__" not in n.name
    )
    own = words_of(f"{' '.join(parts[-2:])} {defined}")

    def score(test: str) -> float:
        text, words = _tests()[test]
        shared = _weigh(own & words)
        named = _singular(words_of(Path(test).stem)) & _singular(words_of(" ".join(parts[-2:])))
        near = 3.0 * (f"{module} import" in text) + 6.0 * test.startswith(nearest) + 3.0 * len(named)
        own_package = 4.0 * test.startswith(tuple(f"{f}/" for f in folders))
        return (1.0 + near + own_package) * (1.0 + shared)

    scores = {test: score(test) for test in _tests()}
    return {test: one / max(scores.values()) for test, one in scores.items()}


def _singular(words: Iterable[str]) -> set[str]:
    """Words without a last s: ``test_table_from_csv.py`` is about ``tables.py``."""
    return {word.removesuffix("s") for word in words}


def likelihood(file: str, test: str) -> float:
    return _likelihoods(file).get(test, 1e-3)


@cache
def relevant_tests(file: str, count: int, line: int = 0) -> tuple[str, ...]:
    """So many files of tests for a source file, the likeliest first; for a line of it, those that share rare
    words with its function and those for the files that use what it defines, or that it imports itself.
    """
    text, users = (
        (definition_at(file, line), (*users_of(file, line), *imported_at(file, line))) if line else ("", ())
    )
    own = words_of(text)
    shared = {test: _weigh(own & words) for test, (_, words) in _tests().items()}
    most = max(shared.values()) or 1.0

    def score(test: str) -> float:
        beside = max((_BESIDE * _likelihoods(user)[test] for user in users), default=0.0)
        return max(_likelihoods(file)[test], beside) * (0.3 + shared[test] / most)

    return tuple(sorted(_tests(), key=lambda test: (-score(test), test))[:count])


def relevant_groups(file: str, line: int) -> list[Sequence[str]]:
    """Tests of the likeliest files for a fault at a line: some of the first files whose texts share most with
    its function's, the others of these files, and those of the other files and of all packages.
    """
    files = relevant_tests(file, FILES, line)
    own = words_of(definition_at(file, line))
    shared = {test: _weigh(own & words) for one in files[:FIRST] for test, words in _functions(one)}
    likeliest = [*_of_cases(file), *sorted(shared, key=lambda test: -shared[test])[:FEW]]
    return [likeliest, [test for test in shared if test not in likeliest], [*files[FIRST:], *KEPT]]


@cache
def parsed(file: str) -> tuple[str, ast.Module]:
    text = (ROOT / file).read_text(encoding="utf-8")
    return text, ast.parse(text)


def function_at(file: str, line: int) -> str:
    """The text of the innermost function around a line with its decorators; none outside of functions."""
    text, tree = parsed(file)
    around = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _holds(node, line)]
    if not around:
        return ""
    decorators = "".join(f"@{ast.unparse(d)}\n" for d in around[-1].decorator_list)
    return decorators + (ast.get_source_segment(text, around[-1]) or "")


def definition_at(file: str, line: int) -> str:
    """The text of the innermost function around a line; outside of functions, that of the statement."""
    text, tree = parsed(file)
    statement = next((node for node in tree.body if _holds(node, line)), None)
    return function_at(file, line) or (ast.get_source_segment(text, statement) or "" if statement else "")


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def users_of(file: str, line: int) -> tuple[str, ...]:
    """The other sources that import what a line is part of, or what uses that in the file."""
    _, tree = parsed(file)
    wanted = {name for node in tree.body if _holds(node, line) for name in _defined(node)}
    before: set[str] = set()
    while wanted != before:
        before = set(wanted)
        for node in tree.body:
            if wanted & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
                wanted |= _defined(node)
    module = ".".join(Path(file).with_suffix("").parts[1:])
    return tuple(user for user, names in _importers().get(module, ()) if wanted & names)


def imported_at(file: str, line: int) -> tuple[str, ...]:
    """The sources that the innermost function around a line imports: a verb passes its work to them."""
    text = function_at(file, line)
    modules = {n.module for n in ast.walk(ast.parse(dedent(text))) if isinstance(n, ast.ImportFrom)}
    paths = [f"src/{module.replace('.', '/')}.py" for module in sorted(filter(None, modules))]
    return tuple(path for path in paths if (ROOT / path).is_file())


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {
        name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name)
    }


# Imports by their form: to parse all sources takes twenty times as long.
_IMPORT = re.compile(r"^ *from ([\w.]+) import (\([^)]*\)|[^\n(]*)", re.MULTILINE)


@cache
def _importers() -> dict[str, list[tuple[str, set[str]]]]:
    """Of each module: the sources that import from it, and the names."""
    found: dict[str, list[tuple[str, set[str]]]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
            found.setdefault(module, []).append((file, set(re.findall(r"(\w+)(?: as \w+)?", names))))
    return found


def _of_cases(file: str) -> list[str]:
    """The tests of the published cases that a file defines."""
    return [f"{_CASES}[{name}]" for name in re.findall(r'\bCase\(\s*"(\w+)"', parsed(file)[0])]


def _weigh(words: Iterable[str]) -> float:
    return sum(_weights()[word] for word in words)


@cache
def _functions(test: str) -> list[tuple[str, frozenset[str]]]:
    """The tests of a file by their names in pytest, and the words of each."""
    text, _ = _tests()[test]
    found = []
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        for target in targets:
            name = target.id if isinstance(target, ast.Name) else getattr(target, "name", "")
            if name.startswith(("test_", "Test")):
                words = words_of(ast.get_source_segment(text, node) or "")
                found.append((f"{test}::{name}", frozenset(words)))
    return found
