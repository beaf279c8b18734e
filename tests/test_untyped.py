"""`Any`, `hasattr` and `type: ignore` have a reason where they stand: the number of the first two may only
fall in each package.

A value that has no narrower type gets a name that says why, as those of `armillary/untyped.py` do, or a
comment in its line or the one above. Lower a limit with the number; a higher one needs a reason in the same
change.
"""

from __future__ import annotations

import re
import tokenize
from collections import Counter
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "armillary"
IMPORT = re.compile(r"^(from typing import .*|    Any,)$", re.MULTILINE)

ANY: dict[str, int] = {
    "__init__.py": 1,
    "algebra": 21,
    "analysis": 3,
    "cli": 6,
    "ensembles": 4,
    "errors.py": 1,
    "export": 3,
    "files": 2,
    "llvm": 7,
    "mechanics": 1,
    "model": 7,
    "program": 6,  # with the formalisms, which were in mechanics
    "results": 2,
    "runtime": 7,
    "solver": 1,
    "studies": 1,
    "untyped.py": 6,
    "vehicles": 2,  # a scalar of any kind and a compiled model, which have no public names
}
HASATTR: dict[str, int] = {
    "algebra": 5,
    "analysis": 3,
    "cache.py": 1,
    "ensembles": 2,
    "export": 1,
    "files": 2,
    "model": 4,
    "results": 2,
    "runtime": 10,
    "stages": 1,
    "studies": 2,
    "viewer": 1,
}


@cache
def texts() -> dict[str, str]:
    """The text of each package, except for imports."""
    found: dict[str, list[str]] = {}
    for path in SOURCES.rglob("*.py"):
        package = path.relative_to(SOURCES).parts[0]
        found.setdefault(package, []).append(IMPORT.sub("", path.read_text(encoding="utf-8")))
    return {package: "\n".join(parts) for package, parts in found.items()}


def numbers(pattern: str) -> Counter[str]:
    """How often a pattern occurs in each package, except for imports."""
    return +Counter({package: len(re.findall(pattern, text)) for package, text in texts().items()})


def test_any_becomes_no_more_frequent() -> None:
    assert {name: n for name, n in numbers(r"\bAny\b").items() if n > ANY.get(name, 0)} == {}


def test_hasattr_becomes_no_more_frequent() -> None:
    assert {name: n for name, n in numbers(r"\bhasattr\(").items() if n > HASATTR.get(name, 0)} == {}


def test_unchecked_arguments_become_no_more_frequent() -> None:
    """`Given` is `Any`: an argument that is only passed on or tested by `isinstance` is an `object`."""
    assert sum(numbers(r"\bGiven\b").values()) <= 540


def test_ignored_errors_of_mypy_have_a_code_and_a_reason() -> None:
    bare = []
    for path in SOURCES.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        for before, line in zip(["", *lines], lines, strict=False):
            reason = before.strip().startswith("#") or "]  # " in line
            if "type: ignore" in line and not (reason and "type: ignore[" in line):
                bare.append(f"{path}: {line}")
    assert bare == []


@pytest.mark.parametrize("word", ["Any", "hasattr"])
def test_each_stands_with_a_comment(word: str) -> None:
    bare = []
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if word in text:
            tokens = list(tokenize.generate_tokens(StringIO(text).readline))
            commented = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
            words = [token for token in tokens if token.type == tokenize.NAME and token.string == word]
            bare += [
                f"{path}: {token.line}"
                for token in words
                if not commented & {token.start[0] - 1, token.start[0]} and not IMPORT.match(token.line)
            ]
    assert bare == []
