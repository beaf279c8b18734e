"""Pages about the source cite only files, modules, functions, classes and methods that exist."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "compiler.md",
    *sorted((ROOT / "docs" / "theory").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("add-*.md")),
]
FOLDERS = ("src/armillary", "tests", "docs", "examples", "benchmarks", "tools")

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PLANNED = re.compile(r"^\|.*\| new\b.*$", re.MULTILINE)  # rows of tables about files that a reader would add
PATH = re.compile(r"[\w./*-]+(/|\.(py|md|toml|c|js|html|yml))|[\w.*-]+(/[\w.*-]+)+")
HEADING = re.compile(r"^ *(?:async )?(?:def|class) (\w+)", re.MULTILINE)
NAME = re.compile(r"(?P<name>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)(?P<call>\(.*\))?")


def spans(page: str) -> list[str]:
    """Code within the lines of a page, without its fenced blocks and rows of files to add."""
    return re.findall(r"`([^`\n]+)`", PLANNED.sub("", FENCE.sub("", page)))


@cache
def files() -> list[str]:
    found = [
        path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts
    ]
    return [*FOLDERS, *[path.relative_to(ROOT).as_posix() for path in [*found, *ROOT.iterdir()]]]


def file_exists(cited: str) -> bool:
    """Whether a file or folder of the project has this path, or one of the source ends with it; ``*`` is any
    part of a name.
    """
    pattern = re.compile(r"(src/armillary/(.*/)?)?" + re.escape(cited.rstrip("/")).replace(r"\*", "[^/]*"))
    return any(pattern.fullmatch(path) for path in files())


@cache
def texts() -> dict[Path, str]:
    sources = [*(ROOT / "src" / "armillary").rglob("*.py"), ROOT / "tests" / "conftest.py"]
    return {path: path.read_text(encoding="utf-8") for path in sources}


@cache
def headed() -> frozenset[str]:
    """Names of functions and classes: most of what is cited, found without parsing."""
    return frozenset(name for text in texts().values() for name in HEADING.findall(text))


@cache
def defined(name: str) -> bool:
    """Whether the source defines a name (function, class, argument, variable, attribute) or text."""
    word = re.compile(rf"(?<!\w){re.escape(name)}\s*(?![\w.( ])")  # neither an attribute's owner nor called
    found = (path for path, text in texts().items() if name in text and word.search(text))
    return name in headed() or any(name in _names_of(path) for path in found)


@cache
def _names_of(path: Path) -> frozenset[str]:
    return frozenset(name for node in ast.walk(ast.parse(texts()[path])) for name in _defined_by(node))


def _defined_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80:
        yield node.value


def name_exists(cited: str, page: str) -> bool:
    """Whether the source defines each part of a dotted name, or a library, or the page's own blocks hold it.

    The first part of several may be an object of the page, such as ``eom``.
    """
    if defined(cited) or any(
        re.search(rf"\b{re.escape(cited)}\b", block[0]) for block in FENCE.finditer(page)
    ):
        return True
    first, *rest = cited.split(".")
    if first == "armillary":
        return file_exists(f"src/{cited.replace('.', '/')}") or file_exists(
            f"src/{cited.replace('.', '/')}.py"
        )
    if rest and not defined(first) and importlib.util.find_spec(first):
        return all(hasattr(importlib.import_module(first), part) for part in rest[:1])
    return bool(rest) and all(defined(part) or re.fullmatch(r"[qu]\d", part) for part in rest)


def looks_like_code(span: str) -> bool:
    """Whether a span is a class, a call, a dotted name or a name with an underscore."""
    found = NAME.fullmatch(span)
    if found is None:
        return False
    name = found["name"]
    return bool("." in name or found["call"] or "_" in name or re.match(r"[A-Z]\w*[a-z]", name))


def faults(page: str, *, symbols: bool = True) -> list[str]:
    """Cited files and names that do not exist; ``symbols`` are names with an underscore alone."""
    missing = []
    for span in spans(page):
        if PATH.fullmatch(span):
            if not file_exists(span) and not name_exists(span, page):
                missing.append(span)
        elif looks_like_code(span):
            found = NAME.fullmatch(span)
            assert found is not None
            if not symbols and not found["call"] and "." not in span:
                continue
            if not name_exists(found["name"], page):
                missing.append(span)
    return missing


@pytest.mark.parametrize("path", PAGES, ids=[p.relative_to(ROOT).as_posix() for p in PAGES])
def test_what_a_page_cites_exists(path: Path) -> None:
    # The names in notation.md are patterns, in which X stands for a body.
    found = faults(path.read_text(encoding="utf-8"), symbols=path.name != "notation.md")
    assert not found, f"{path.relative_to(ROOT)} cites what does not exist: {', '.join(found)}"


@pytest.mark.parametrize(
    "span",
    ["src/armillary/program/gone.py", "gone.py", "passes/gone/", "armillary.program.gone", "eom.no_verb()",
     "NoSuchClass", "no_such_function", "nothing_of_this_name()"],
)  # fmt: skip
def test_a_name_that_does_not_exist_is_found(span: str) -> None:
    assert faults(f"See `{span}`.") == [span]


def test_names_that_exist_are_accepted() -> None:
    cited = ("program/derive.py", "passes/", "tests/*.py", "armillary.program.derive", "eom.show()", "System",
             "check_program", "functools.cache", "b.q1")  # fmt: skip
    assert faults(" ".join(f"`{span}`" for span in cited)) == []
    assert faults("`hp_bob_y`\n```python\nhp_bob_y = 1\n```\n") == []
