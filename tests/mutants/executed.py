"""Which test executes which piece of ``src``: a map made once, from which the tests for a fault are taken.

    python -m pytest -p tests.mutants.executed --executed build/executed.sqlite tests

Each *stretch* of a function, statements that are executed one after the other, notes that it has been
reached; the notes are read and cleared after each test. The code is changed while it is imported, not on the
disk, and takes about a fifth longer; a tracer takes several times as long in Python 3.11. A stretch is named
by its file, function and first line, so that a map serves until the stretch itself is changed. With several
workers (``-n 8``) each writes a part, and the parts are put together at the end.
"""

from __future__ import annotations

import ast
import builtins
import os
import sqlite3
import sys
import time
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from itertools import compress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from tests.mutants.planting import ROOT

_NOTES = "__stretches_reached__"
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Stretch:
    """Statements of one list that are executed one after the other, but for errors."""

    function: str
    text: str  # of its first line
    first: int
    last: int
    within: list[ast.stmt]
    place: int  # in that list

    @property
    def name(self) -> str:
        return f"{self.function}\t{self.text}"


def _leaves(statement: ast.stmt) -> bool:
    """Whether what follows a statement may be left out after it was begun."""
    return any(isinstance(node, _LEAVING) for node in ast.walk(statement))


def stretches_of(text: str, tree: ast.Module) -> list[Stretch]:
    """All stretches of all functions of a file."""
    lines = text.splitlines()
    found: list[Stretch] = []

    def visit(node: ast.AST, function: str, inside: bool) -> None:
        for field, value in ast.iter_fields(node):
            if not (isinstance(value, list) and value):
                continue
            if inside and field != "decorator_list" and isinstance(value[0], ast.stmt):
                cut(value, function)
            for child in value:
                if isinstance(child, _FUNCTIONS):
                    visit(child, f"{function}.{child.name}", True)
                elif isinstance(child, ast.ClassDef):
                    visit(child, f"{function}.{child.name}", False)
                elif isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                    visit(child, function, inside)

    def cut(body: list[ast.stmt], function: str) -> None:
        start = 0
        for i, statement in enumerate(body):
            if i + 1 == len(body) or _leaves(statement):
                last = body[i].end_lineno
                assert last is not None
                line = body[start].lineno
                found.append(Stretch(function, lines[line - 1].strip(), line, last, body, start))
                start = i + 1

    visit(tree, "", False)
    return found


def annotate(text: str, first: int) -> ast.Module:
    """The syntax of a file in which each stretch sets its note, the first with this number."""
    tree = ast.parse(text)
    marks = list(enumerate(stretches_of(text, tree), first))
    for number, stretch in reversed(marks):  # of one list the last first: the places before it stay
        line = stretch.within[stretch.place].lineno
        note = ast.parse(f"{_NOTES}[{number}] = 1").body[0]
        for node in ast.walk(note):
            if isinstance(node, (ast.stmt, ast.expr)):
                node.lineno = node.end_lineno = line
                node.col_offset = node.end_col_offset = 0
        place = stretch.place
        if place == 0 and _is_docstring(stretch.within[0]):
            place = 1
        stretch.within.insert(place, note)
    return tree


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


class _Loader(SourceFileLoader):
    """Compiles the annotated syntax; byte code on the disk is neither read nor written."""

    first = 0

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        text = self.get_data(path).decode("utf-8")
        code = compile(annotate(text, self.first), path, "exec", dont_inherit=True)
        assert isinstance(code, CodeType)
        return code


class _Finder(MetaPathFinder):
    def __init__(self, first: dict[str, int]) -> None:
        self._first = first

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "armillary":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin in self._first:
            loader = _Loader(fullname, spec.origin)
            loader.first = self._first[spec.origin]
            spec.loader = loader
        return spec


class Recorder:
    """The notes of a run of tests, written test by test.

    A test that fails without any fault is left out: a fault that no other notices would come to it at last,
    and would be taken out of the count in place of counted as not killed.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._base = sqlite3.connect(path)
        self._base.executescript(
            "create table if not exists stretches (id integer primary key, file text, name text);"
            "create table if not exists tests (name text primary key, seconds real, reached blob);"
        )
        known = {(file, name): i for i, file, name in self._base.execute("select * from stretches")}
        first: dict[str, int] = {}
        self._ids: list[int] = []
        for source in sorted((ROOT / "src" / "armillary").rglob("*.py")):
            text, file = source.read_text(encoding="utf-8"), source.relative_to(ROOT).as_posix()
            first[str(source)] = len(self._ids)
            names = [stretch.name for stretch in stretches_of(text, ast.parse(text))]
            self._ids += [known.setdefault((file, name), len(known)) for name in names]
        rows = ((i, *key) for key, i in known.items())
        self._base.executemany("insert or replace into stretches values (?, ?, ?)", rows)
        self._base.commit()
        self._notes = bytearray(len(self._ids))
        self._failed: set[str] = set()
        setattr(builtins, _NOTES, self._notes)
        sys.meta_path.insert(0, _Finder(first))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._notes[:] = bytes(len(self._notes))
        begun = time.process_time()
        try:
            return (yield)
        finally:
            seconds = time.process_time() - begun
            if item.nodeid in self._failed:
                self._base.execute("delete from tests where name = ?", (item.nodeid,))
                self._base.commit()
            else:
                self._write(item.nodeid, seconds)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    def _write(self, test: str, seconds: float) -> None:
        reached = array("I", compress(self._ids, self._notes))
        row = test, seconds, zlib.compress(reached.tobytes())
        self._base.execute("insert or replace into tests values (?, ?, ?)", row)
        self._base.commit()


def merge_parts(path: Path) -> None:
    """Move the tests that each worker has noted into the map; also those of a run that was ended before."""
    base = sqlite3.connect(path)
    known = {(file, name): i for i, file, name in base.execute("select id, file, name from stretches")}
    for part in sorted(path.parent.glob(f"{path.name}.gw*[0-9]")):
        noted = sqlite3.connect(part)
        # A map that is added to has numbered the stretches in the order in which it met them.
        number = {i: known[file, name] for i, file, name in noted.execute("select * from stretches")}
        for test, seconds, packed in noted.execute("select * from tests"):
            reached = array("I", (number[i] for i in array("I", zlib.decompress(packed))))
            row = test, seconds, zlib.compress(reached.tobytes())
            base.execute("insert or replace into tests values (?, ?, ?)", row)
        base.commit()
        noted.close()
        part.unlink()


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--executed", help="the map of executed stretches to write")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before ``conftest.py`` imports the package."""
    given = early_config.known_args_namespace.executed
    if given:
        worker = os.environ.get("PYTEST_XDIST_WORKER")
        path = Path(f"{given}.{worker}" if worker else given).resolve()
        early_config.pluginmanager.register(Recorder(path))


def pytest_unconfigure(config: pytest.Config) -> None:
    given = config.getoption("--executed")
    if given and "PYTEST_XDIST_WORKER" not in os.environ:
        merge_parts(Path(given).resolve())
