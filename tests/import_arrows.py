"""Who imports whom in a source tree, read from the text alone, and which arrows point the wrong way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# A package imports only from itself and from what stands to its left.
ORDER = (
    "version", "untyped", "errors", "atomic", "limited_files", "cache", "kept_results", "text_tables",
    "numerics", "algebra", "model", "mechanics", "program", "llvm", "solver", "results", "settings",
    "runtime", "analysis", "export", "ensembles", "control", "gym", "files", "viewer", "stages", "run_files",
    "studies", "vehicles", "verification", "cli",
)  # fmt: skip
# Packages that a user could have written: they import the public root and themselves, nothing else.
ON_PUBLIC_NAMES = ("vehicles",)


class Import(NamedTuple):
    """One import statement: who, whom, where, and whether it runs when the module is loaded."""

    source: str
    target: str
    line: int
    when: str  # "load", "call" (inside a function) or "hint" (under TYPE_CHECKING)

    def __str__(self) -> str:
        return f"{self.source}:{self.line} → {self.target}"


def modules(root: Path) -> dict[str, Path]:
    """Module name to file, for every Python file under `root`."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def package(module: str) -> str:
    """The part of ORDER a module belongs to: armillary.algebra.triples -> algebra; the root is ''."""
    return [*module.split("."), ""][1]


def imports(files: dict[str, Path]) -> list[Import]:
    """Every import of one of `files` by another, in functions, hints and import_module too."""
    return [found for name in files for found in _imports_of(name, files)]


def _imports_of(name: str, files: dict[str, Path]) -> Iterator[Import]:
    home = name if files[name].name == "__init__.py" else name.rpartition(".")[0]

    def targets(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, node.module] if node.module else base)
            for alias in node.names:
                inner = f"{origin}.{alias.name}"
                yield inner if inner in files else origin
        elif isinstance(node, ast.Call) and _called(node.func) in ("import_module", "__import__"):
            for text in (str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant)):
                yield home + text if text.startswith(".") else text

    text = files[name].read_text(encoding="utf-8")
    whole = "import_module" in text or "__import__" in text  # else imports are statements, not expressions
    stack: list[tuple[ast.AST, str]] = [(ast.parse(text), "load")]
    while stack:
        node, when = stack.pop()
        for target in targets(node):
            if target.partition(".")[0] == "armillary" and target != name:
                yield Import(name, target, getattr(node, "lineno", 0), when)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            when = "call"
        hinted: list[ast.stmt] = []
        if isinstance(node, ast.If) and _called(node.test) == "TYPE_CHECKING":
            hinted = node.body
        children = [child for child in ast.iter_child_nodes(node) if whole or not isinstance(child, ast.expr)]
        stack += [(child, "hint" if child in hinted else when) for child in children]


def _called(node: ast.expr) -> str:
    """The last part of a name such as importlib.import_module; "" of anything else."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def backward(found: list[Import]) -> list[Import]:
    """Imports against ORDER, or of the public root from inside; hints count, they are knowledge too. Packages
    on public names are the reverse: of them the root alone.
    """

    def points_back(arrow: Import) -> bool:
        source, target = package(arrow.source), package(arrow.target)
        if source not in ORDER:  # the public root, which gathers everything
            return False
        if source in ON_PUBLIC_NAMES:
            return target not in ("", source)
        return target not in ORDER or ORDER.index(target) > ORDER.index(source)

    return [arrow for arrow in found if points_back(arrow)]


def cycle(found: list[Import]) -> list[str]:
    """The first closed path of files within one package, or [].

    Hints are left out here: a joint may name its body's type although only the body imports the joint.
    """
    graph: dict[str, list[str]] = {}
    for arrow in found:
        if package(arrow.source) == package(arrow.target) != "" and arrow.when != "hint":
            graph.setdefault(arrow.source, []).append(arrow.target)

    finished: set[str] = set()

    def search(path: list[str]) -> list[str]:
        for target in graph.get(path[-1], []):
            if target in path:
                return [*path[path.index(target) :], target]
            if target not in finished and (closed := search([*path, target])):
                return closed
        finished.add(path[-1])
        return []

    return next((closed for start in sorted(graph) if (closed := search([start]))), [])


def circles(found: list[Import]) -> list[set[str]]:
    """Files that import each other, hints included: each set is one circle, or circles that share files."""
    graph: dict[str, set[str]] = {}
    for arrow in found:
        graph.setdefault(arrow.source, set()).add(arrow.target)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = graph.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen

    after = {name: reached(name) for name in graph}
    closed = {name for name, seen in after.items() if name in seen}
    groups = {frozenset(other for other in after[name] if name in after.get(other, ())) for name in closed}
    return [set(group) for group in groups]
