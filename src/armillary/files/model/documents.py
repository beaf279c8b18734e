"""TOML documents of text models: read, and checked against known keys and kinds.

Each fault is reported with its file, line and remedy. Nothing in a file is ever executed.

The forms of the verbs define most sections of a text model: which verb an entry calls, and the kinds of its
values. Sections without a verb (parameters, tables, functions, parts of bodies, included models) and objects
such as beams and plates are described here:

    beam = { length = 2.0, section = { tube = [0.05, 0.002] }, E = 70e9, density = 2700.0 }

Models are read and written by these tables, and the published JSON schema is made from them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from armillary.algebra.arguments import file_path
from armillary.errors import ModelError, nearest, shorten_message, shown, suggestion
from armillary.limited_files import UnreadableFileError, read_limited
from armillary.model.bodies.bodies import FIGURES
from armillary.model.flexible.beam import SECTIONS as BEAM_SECTIONS
from armillary.model.flexible.beam import Beam
from armillary.model.flexible.plate import Plate
from armillary.model.joints import JOINTS, Joint
from armillary.model.loads.laws import FRICTIONS
from armillary.model.reading.kinds import (
    ARRAY,
    BODY,
    COUNT,
    EXPRESSION,
    FLAG,
    NUMBER,
    NUMBERS,
    PATH,
    QUANTITY,
    TRIPLE,
    UNITS,
    WORDS,
    Either,
    KeyedTable,
    Kind,
    ListOf,
    ObjectForm,
    OneOf,
    TableOf,
    choice,
)
from armillary.model.space.orbit import ORBITS
from armillary.model.units import unit_system
from armillary.model.verbs import VERBS, EntryForm, TopForm, Verb
from armillary.untyped import DataTable, Given

BEAMS = (ObjectForm("length", Beam),)
PLATES = (ObjectForm("a", Plate),)
ALL = (*BEAM_SECTIONS, *JOINTS, *FRICTIONS, *ORBITS, *BEAMS, *PLATES, *FIGURES)


def object_form(value: Given) -> ObjectForm | None:
    """Return the form of an object; `None` if it has no form as text."""
    cls = type(value)
    if cls is Joint:
        return next(m for m in JOINTS if m.key == ("translate" if value.translate else "rotate"))
    return next((m for m in ALL if m.make is cls), None)


FLEXIBLE: dict[str, Kind] = {
    "beam": OneOf(BEAMS), "plate": OneOf(PLATES), "part": PATH, "held": WORDS, "spin": NUMBERS,
    "modes": COUNT, "frequency_limit": NUMBER, "damping": ARRAY, "damping_matrix": ARRAY, "stiffening": FLAG,
    "second_order": FLAG, "mass_matrix": Either((PATH, ARRAY)), "stiffness_matrix": Either((PATH, ARRAY)),
    "positions": Either((ARRAY, TableOf(NUMBERS, keys=False))), "basis": WORDS,
    "fixed": Either((ARRAY, ListOf(WORDS))), "interface": Either((ARRAY, ListOf(WORDS))),
    "nodes": Either((ARRAY, TableOf(NUMBERS, keys=False))),
    "masses": Either((ARRAY, TableOf(NUMBER, keys=False))),
    "inertias": Either((ARRAY, TableOf(NUMBERS, keys=False))),
    "shapes": Either((ARRAY, TableOf(NUMBERS, keys=False))),
    "rotations": Either((ARRAY, TableOf(NUMBERS, keys=False))),
    "frequencies": ARRAY, "stiffness": ARRAY, "total_mass": NUMBER, "shortening": ARRAY,
    "coupling": ListOf(ARRAY, 2), "complex_shapes": ListOf(ARRAY, 2), "about": NUMBERS,
    **dict.fromkeys(("m", "c", "J", "P", "H", "M", "Q", "R", "S", "K", "C"), ARRAY),
}  # fmt: skip

ADDED: dict[str, Kind] = {
    "points": TableOf(TRIPLE, keys=False), "flexible": KeyedTable("a flexible part", FLEXIBLE),
    "nodes": ListOf(Either((WORDS, NUMBERS))),
}  # fmt: skip


TABLE: dict[str, Kind] = {
    "x": ARRAY, "y": ARRAY, "kind": choice("linear", "smooth"), "outside": choice("clamp", "extend"),
    "x_units": UNITS, "y_units": UNITS, "label": WORDS,
}  # fmt: skip
CURVE = KeyedTable("a table", TABLE, ("x", "y"))
SURFACE = KeyedTable("a table", {**TABLE, "z": ARRAY, "z_units": UNITS}, ("x", "y", "z"))

# Sections of named entries, in the order in which they are read. Each entry calls one verb.
SECTIONS = (
    "inputs", "memory", "states", "bodies", "attractors", "fmus", "blocks", "loads",
    "constraints", "events", "outputs", "shapes", "start_mass_centre", "start_orbit",
)  # fmt: skip

PARAMETER = KeyedTable("a parameter", {"value": QUANTITY, "units": UNITS, "about": WORDS})
FUNCTION = KeyedTable("a function", {"arguments": ListOf(WORDS), "value": EXPRESSION}, ("arguments", "value"))
DEFINED = KeyedTable("an expression", {"value": EXPRESSION, "label": WORDS, "units": UNITS}, ("value",))
INCLUDE = KeyedTable(
    "an included model",
    {
        "file": PATH,
        "prefix": WORDS,
        "on": BODY,
        "share": ListOf(WORDS),
        "set": TableOf(EXPRESSION, keys=False),
    },
    ("file",),
)


TOP: dict[str, Kind] = {
    "armillary": COUNT, "name": WORDS, "units": UNITS, "about": WORDS,
    "include": TableOf(INCLUDE, keys=False),
    "parameters": TableOf(Either((QUANTITY, PARAMETER), 'a number, a text such as "25 mm", or a table')),
    "tables": TableOf(Either((CURVE, SURFACE), "points of a curve, x and y, or of a surface, x, y and z")),
    "functions": TableOf(FUNCTION),
    "expressions": TableOf(Either((EXPRESSION, DEFINED))),
    **{
        v.form.section: v.kind
        for v in VERBS.values()
        if isinstance(v.form, TopForm)
    },
}  # fmt: skip
# The order of sections in a file that Armillary writes.
LAYOUT = (
    "armillary", "name", "units", "about", "lock", "small", "large", "include", "parameters", "inputs",
    "memory", "states",
    "tables", "functions", "expressions", "bodies", "gravity", "attractors", "fmus", "blocks", "loads",
    "constraints", "prescribe", "armature",
    "events", "outputs", "shapes", "start", "start_mass_centre", "start_orbit",
)  # fmt: skip


def verbs_of(section: str) -> list[Verb]:
    """Return the verbs that entries of a section can call."""
    return [v for v in VERBS.values() if isinstance(v.form, EntryForm) and v.form.section == section]


def entry_form(verb: Verb) -> EntryForm:
    """Return the form of a verb that has entries."""
    assert isinstance(verb.form, EntryForm)
    return verb.form


def entry_kind(verb: Verb) -> KeyedTable:
    """Return the kind of the table of an entry, with all keys that the table can have."""
    form = entry_form(verb)
    kinds = {**verb.kinds, **ADDED} if form.is_body else verb.kinds
    needed = [p.name for p in verb.parameters().values() if p.default is p.empty]
    needs = [form.key_of(name) for name in needed if name != form.name_argument]
    first = [form.key] if form.key else []
    return KeyedTable(
        f"'{form.key or verb.name}'", kinds, tuple(dict.fromkeys([*first, *needs, *form.needs]))
    )


def verb_of(section: str, entry: Mapping[str, object]) -> Verb | None:
    """Return the verb that an entry of a section calls; `None` if no verb of the section has its keys."""
    verbs = verbs_of(section)
    keys = [entry_form(verb).key for verb in verbs]
    found = [verb for verb, key in zip(verbs, keys, strict=True) if key and key in entry]
    if found:
        return found[0]
    return verbs[0] if len(verbs) == 1 or not keys[0] else None


SCHEMA_VERSION = "https://json-schema.org/draft/2020-12/schema"


def model_schema() -> DataTable:
    """Return the JSON schema of text models, for editors that complete and check them."""
    properties = {}
    for key in LAYOUT:
        if key in SECTIONS:
            forms = [entry_kind(verb).schema() for verb in verbs_of(key)]
            entry = forms[0] if len(forms) == 1 else {"anyOf": forms}
            properties[key] = {"type": "object", "additionalProperties": entry}
        else:
            properties[key] = TOP[key].schema()
    return {
        "$schema": SCHEMA_VERSION,
        "title": "Armillary text model",
        "description": "A mechanical system for Armillary: bodies, joints, loads, constraints, outputs.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


LARGEST = 64 * 2**20  # most bytes of a file; a model of a thousand bodies has half a million
_DEEPEST = 60  # most levels of nested brackets; the reader of TOML recurses once for each level

_HEADER = re.compile(r"\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}")
_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([^\s.]+)""")
_DOTTED = re.compile(r"^\s*\[*\s*(?:[\w\"'-]+\s*\.\s*){20}", re.MULTILINE)  # a key of more than 20 parts
_TEXT_OR_COMMENT = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*''', re.DOTALL
)
_PLACE = re.compile(r" \(at line (\d+), column \d+\)")


class FileError(ModelError):
    """A fault in a file, with its place: ``path``, and ``line`` counted from 1 (0 if unknown)."""

    def __init__(self, message: str, path: str = "", line: int = 0) -> None:
        super().__init__(message, path, line)
        self.message, self.path, self.line = message, path, line

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}: " if self.line else f"{self.path}: " if self.path else ""
        return place + shorten_message(self.message)


@dataclass(frozen=True)
class Document:
    """The content of a TOML file, and the lines of its entries."""

    path: Path
    text: str
    data: DataTable
    _lines: dict[tuple[str, ...], int] = field(default_factory=dict)

    def line(self, *keys: str) -> int:
        """Return the line of an entry, or of the nearest one around it; 0 if unknown."""
        if not self._lines:
            self._lines.update(_lines_of(self.text) or {(): 0})
        while keys and keys not in self._lines:
            keys = keys[:-1]
        return self._lines.get(keys, 0)

    def error(self, message: str, *keys: str) -> FileError:
        """Return an error about an entry."""
        return FileError(message, str(self.path), self.line(*keys))


def read_document(path: str | os.PathLike[str], what: str = "model") -> Document:
    """Return a TOML file as data; ``what`` is the word for it in errors."""
    file = file_path(path, f"the {what}", FileError)
    try:
        raw = read_limited(file, LARGEST, "keep arrays in files of their own")
    except UnreadableFileError as error:
        raise FileError(str(error), str(file)) from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileError(f"this is not a text in UTF-8; give a {what} in TOML", str(file), line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileError(f"this is a binary file; give a {what} in TOML", str(file), line)
    if _nesting(text) > _DEEPEST:
        raise FileError(f"brackets are nested more than {_DEEPEST} deep; a {what} needs no more than five",
                        str(file))  # fmt: skip
    try:
        return Document(file, text, tomllib.loads(text.replace("\r\n", "\n")))
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        why = _PLACE.sub("", str(error)).replace(" (at end of document)", "; the file ends too early")
        hint = _suggest_quotes(text.split("\n")[line - 1 : line])
        raise FileError(f"this is not TOML: {why[:1].lower()}{why[1:]}{hint}", str(file), line) from None
    except (RecursionError, ValueError, OverflowError) as error:
        raise FileError(f"this is not TOML that can be read: {error}", str(file)) from None


def _suggest_quotes(lines: list[str]) -> str:
    """Return the remedy for the commonest slip: an expression without quotes."""
    found = (
        re.match(r"\s*([\w.\"'-]+)\s*=\s*([^\s\"'\[{#][^#\"'\[{]*?)\s*(#.*)?$", lines[0]) if lines else None
    )
    return f'; a text stands between quotes: {found[1]} = "{found[2]}"' if found else ""


def _nesting(text: str) -> int:
    """Return the greatest depth of nested brackets outside texts and comments.

    Return 0 without counting if there are few brackets. A dotted key of more than 20 parts is too deep.
    """
    if text.count("[") + text.count("{") <= _DEEPEST and text.count(".") <= _DEEPEST:
        return 0
    if _DOTTED.search(text):
        return _DEEPEST + 1
    deep = deepest = 0
    for mark in re.findall(r"[\[\]{}]", _TEXT_OR_COMMENT.sub("", text)):
        deep = deep + 1 if mark in "[{" else max(deep - 1, 0)
        deepest = max(deepest, deep)
    return deepest


def _lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Return the lines of headers and keys, by their paths. They are approximate, for errors only: keys
    inside texts and lists over several lines are not distinguished from others.
    """
    found: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            section = _split_key(header[1])
            for length in range(1, len(section) + 1):
                found.setdefault(section[:length], number)
        elif key := _KEY.match(line):
            path = (*section, *_split_key(key[1]))
            for length in range(len(section) + 1, len(path) + 1):
                found.setdefault(path[:length], number)
    return found


def _split_key(text: str) -> tuple[str, ...]:
    return tuple(a or b or c for a, b, c in _PART.findall(text))


FORMAT = 1


def read_model(path: str | os.PathLike[str], *, part: bool = False) -> Document:
    """Return a model file as checked data; a ``part``, a file that another model includes, needs no name."""
    document = read_document(path)
    _flatten(document.data)
    check_document(document, part=part)
    try:
        unit_system(document.data.get("units", "SI"))
    except ModelError as error:
        raise document.error(str(error), "units") from None
    return document


def _flatten(data: DataTable) -> None:
    """Join the keys of variables in [start], [prescribe] and [armature] that are written without quotes.

    TOML reads A.q1 = 0.1 as a table A with the key q1.
    """
    for section in ("start", "prescribe", "armature"):
        table = data.get(section)
        if isinstance(table, dict):
            for head, inner in list(table.items()):
                if isinstance(inner, dict):
                    table.update({f"{head}.{tail}": value for tail, value in table.pop(head).items()})


def check_document(document: Document, *, part: bool = False) -> None:
    """Raise an error for the first wrong key or value; a ``part``, as in `read_model`, needs no name."""
    data = document.data
    for key, value in data.items():
        if key in SECTIONS:
            _check_section(document, key, value)
        elif key in TOP:
            _check_value(document, TOP[key], value, (key,))
        else:
            raise document.error(f"unknown key '{key}'{suggestion(key, LAYOUT)}", key)
    version = data.get("armillary", FORMAT)
    if version != FORMAT:
        raise document.error(
            f"the model is in format {version}, but this version of Armillary reads format {FORMAT}",
            "armillary",
        )
    if "name" not in data and not part:
        raise document.error('the model has no name; begin with: name = "…"')


def _check_section(document: Document, section: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise document.error(
            f"'{section}' must be entries by name, [{section}.NAME], not {shown(value)}", section
        )
    for name, entry in value.items():
        if not isinstance(entry, Mapping):
            raise document.error(f"[{section}.{name}] must be a table, not {shown(entry)}", section, name)
        verb = verb_of(section, entry)
        if verb is None:
            keys = [entry_form(v).key for v in verbs_of(section)]
            near = next((near for key in entry if (near := nearest(key, keys))), "")
            raise document.error(
                f"[{section}.{name}] has no kind: it needs one of the keys {', '.join(keys)}{near}",
                section,
                name,
            )
        _check_value(document, entry_kind(verb), entry, (section, name))


def _check_value(document: Document, kind: Kind, value: object, path: tuple[str, ...]) -> None:
    """Raise an error for the deepest fault of a value; in a table, for its first wrong key."""
    if kind.fits(value):
        return
    if isinstance(kind, KeyedTable) and isinstance(value, Mapping):
        for key, message in kind.problems(value):
            inner = kind.fields.get(key)
            if inner is not None and isinstance(value[key], Mapping):
                _check_value(document, inner, value[key], (*path, key))
            raise document.error(f"{_section_name(path)}: {message}", *path, key)
    if isinstance(kind, TableOf) and isinstance(value, Mapping):
        for key, item in value.items():
            _check_value(document, kind.of, item, (*path, key))
    if isinstance(kind, ListOf) and isinstance(value, list) and isinstance(kind.of, KeyedTable):
        for item in value:
            _check_value(document, kind.of, item, path)
    forms = [k for k in _alternatives(kind) if isinstance(k, KeyedTable)]
    if isinstance(value, Mapping) and forms:
        keys = list(dict.fromkeys(key for form in forms for key in form.fields))
        for key in value:
            if key not in keys:
                message = f"{_section_name(path)}: unknown key '{key}'{suggestion(key, keys)}"
                raise document.error(message, *path, key)
        # Show the error of the form that is nearest to the table.
        _check_value(document, min(forms, key=lambda form: _distance(form, value)), value, path)
    raise document.error(f"{_section_name(path)} must be {kind.words}, not {shown(value)}", *path)


def _distance(form: KeyedTable, table: Mapping[str, object]) -> tuple[int, int]:
    """Return the distance of a table from a form: (number of errors, minus the number of shared keys)."""
    return len(list(form.problems(table))), -len(form.fields.keys() & table.keys())


def _alternatives(kind: Kind) -> list[Kind]:
    if not isinstance(kind, Either):
        return [kind]
    return [inner for choice in kind.kinds for inner in _alternatives(choice)]


def _section_name(path: tuple[str, ...]) -> str:
    return f"[{'.'.join(path)}]" if len(path) > 1 else f"'{path[0]}'"
