"""TOML files as checked data: bytes to tables, every fault with its file, line and remedy.

Nothing in a file is ever executed.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from armillary.algebra.arguments import file_path
from armillary.errors import ModelError, shortened
from armillary.limited_files import UnreadableFileError, read_limited
from armillary.untyped import DataTable

LARGEST = 64 * 2**20  # bytes; a model of a thousand bodies has half a million
_DEEPEST = 60  # brackets in brackets; the reader of TOML calls itself once for each

_HEADER = re.compile(r"\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}")
_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([^\s.]+)""")
_DOTTED = re.compile(r"^\s*\[*\s*(?:[\w\"'-]+\s*\.\s*){20}", re.MULTILINE)  # a key of so many parts
_SAID = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*''', re.DOTALL
)
_PLACE = re.compile(r" \(at line (\d+), column \d+\)")


class FileError(ModelError):
    """A fault in a file, with its place: ``path``, and ``line`` counted from 1 (0 where there is none)."""

    def __init__(self, message: str, path: str = "", line: int = 0) -> None:
        super().__init__(message, path, line)
        self.message, self.path, self.line = message, path, line

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}: " if self.line else f"{self.path}: " if self.path else ""
        return place + shortened(self.message)


@dataclass(frozen=True)
class Document:
    """The content of a TOML file, and where in it things stand."""

    path: Path
    text: str
    data: DataTable
    _lines: dict[tuple[str, ...], int] = field(default_factory=dict)

    def line(self, *keys: str) -> int:
        """The line of an entry, or of the nearest one around it; 0 where nothing is known."""
        if not self._lines:
            self._lines.update(_lines_of(self.text) or {(): 0})
        while keys and keys not in self._lines:
            keys = keys[:-1]
        return self._lines.get(keys, 0)

    def error(self, message: str, *keys: str) -> FileError:
        """An error about an entry."""
        return FileError(message, str(self.path), self.line(*keys))


def read_document(path: str | os.PathLike[str], what: str = "model") -> Document:
    """A TOML file as data; ``what`` is the word for it in errors."""
    place = file_path(path, f"the {what}", FileError)
    try:
        raw = read_limited(place, LARGEST, "keep arrays in files of their own")
    except UnreadableFileError as error:
        raise FileError(str(error), str(place)) from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileError(f"this is not a text in UTF-8; give a {what} in TOML", str(place), line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileError(f"this is a binary file; give a {what} in TOML", str(place), line)
    if _nesting(text) > _DEEPEST:
        raise FileError(f"brackets are nested more than {_DEEPEST} deep; a {what} needs no more than five",
                        str(place))  # fmt: skip
    try:
        return Document(place, text, tomllib.loads(text.replace("\r\n", "\n")))
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        why = _PLACE.sub("", str(error)).replace(" (at end of document)", "; the file ends too early")
        hint = _unquoted(text.split("\n")[line - 1 : line])
        raise FileError(f"this is not TOML: {why[:1].lower()}{why[1:]}{hint}", str(place), line) from None
    except (RecursionError, ValueError, OverflowError) as error:
        raise FileError(f"this is not TOML that can be read: {error}", str(place)) from None


def _unquoted(lines: list[str]) -> str:
    """The remedy for the commonest slip: an expression without quotes."""
    found = (
        re.match(r"\s*([\w.\"'-]+)\s*=\s*([^\s\"'\[{#][^#\"'\[{]*?)\s*(#.*)?$", lines[0]) if lines else None
    )
    return f'; a text stands between quotes: {found[1]} = "{found[2]}"' if found else ""


def _nesting(text: str) -> int:
    """The greatest depth of brackets and dotted keys; those in texts and comments do not count."""
    if text.count("[") + text.count("{") <= _DEEPEST and text.count(".") <= _DEEPEST:
        return 0
    if _DOTTED.search(text):
        return _DEEPEST + 1
    deep = deepest = 0
    for mark in re.findall(r"[\[\]{}]", _SAID.sub("", text)):
        deep = deep + 1 if mark in "[{" else max(deep - 1, 0)
        deepest = max(deepest, deep)
    return deepest


def _lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Lines of headers and keys, by their paths. Good for errors, where a wrong line would only mislead a
    little: keys inside of texts and lists over several lines are not distinguished from others."""
    found: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            section = _parts(header[1])
            for length in range(1, len(section) + 1):
                found.setdefault(section[:length], number)
        elif key := _KEY.match(line):
            path = (*section, *_parts(key[1]))
            for length in range(len(section) + 1, len(path) + 1):
                found.setdefault(path[:length], number)
    return found


def _parts(text: str) -> tuple[str, ...]:
    return tuple(a or b or c for a, b, c in _PART.findall(text))
