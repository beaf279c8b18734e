"""Checks of documents: a text model has known keys only, and values of the right kinds."""

from __future__ import annotations

import os
from collections.abc import Mapping

from armillary.errors import ModelError, nearest, shown, suggestion
from armillary.files.model.documents import Document, read_document
from armillary.files.model.sections import LAYOUT, SECTIONS, TOP, entry_form, entry_kind, verb_of, verbs_of
from armillary.model.reading.kinds import Either, KeyedTable, Kind, ListOf, TableOf
from armillary.model.units import unit_system
from armillary.untyped import DataTable

FORMAT = 1


def read_model(path: str | os.PathLike[str], *, part: bool = False) -> Document:
    """A model file as checked data; ``part``: it is included, and needs no name."""
    document = read_document(path)
    _flatten(document.data)
    check_document(document, part=part)
    try:
        unit_system(document.data.get("units", "SI"))
    except ModelError as error:
        raise document.error(str(error), "units") from None
    return document


def _flatten(data: DataTable) -> None:
    """Variables in [start], [prescribe] and [armature] written with or without quotes: A.q1 = 0.1 is a table
    to TOML.
    """
    for section in ("start", "prescribe", "armature"):
        table = data.get(section)
        if isinstance(table, dict):
            for head, inner in list(table.items()):
                if isinstance(inner, dict):
                    table.update({f"{head}.{tail}": value for tail, value in table.pop(head).items()})


def check_document(document: Document, *, part: bool = False) -> None:
    """An error for the first key or value that is wrong; ``part``: it is included, and needs no name."""
    data = document.data
    for key, value in data.items():
        if key in SECTIONS:
            _check_section(document, key, value)
        elif key in TOP:
            _check(document, TOP[key], value, (key,))
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
        _check(document, entry_kind(verb), entry, (section, name))


def _check(document: Document, kind: Kind, value: object, path: tuple[str, ...]) -> None:
    """The deepest fault of a value: of a table the first key that is wrong."""
    if kind.fits(value):
        return
    if isinstance(kind, KeyedTable) and isinstance(value, Mapping):
        for key, message in kind.problems(value):
            inner = kind.fields.get(key)
            if inner is not None and isinstance(value[key], Mapping):
                _check(document, inner, value[key], (*path, key))
            raise document.error(f"{_place(path)}: {message}", *path, key)
    if isinstance(kind, TableOf) and isinstance(value, Mapping):
        for key, item in value.items():
            _check(document, kind.of, item, (*path, key))
    if isinstance(kind, ListOf) and isinstance(value, list) and isinstance(kind.of, KeyedTable):
        for item in value:
            _check(document, kind.of, item, path)
    forms = [k for k in _alternatives(kind) if isinstance(k, KeyedTable)]
    if isinstance(value, Mapping) and forms:
        keys = list(dict.fromkeys(key for form in forms for key in form.fields))
        for key in value:
            if key not in keys:
                message = f"{_place(path)}: unknown key '{key}'{suggestion(key, keys)}"
                raise document.error(message, *path, key)
        # The error is that of the form which the table comes nearest to.
        _check(document, min(forms, key=lambda form: _distance(form, value)), value, path)
    raise document.error(f"{_place(path)} must be {kind.words}, not {shown(value)}", *path)


def _distance(form: KeyedTable, table: Mapping[str, object]) -> tuple[int, int]:
    """The distance of a table from a form: its number of errors, then of keys that both have, negative."""
    return len(list(form.problems(table))), -len(form.fields.keys() & table.keys())


def _alternatives(kind: Kind) -> list[Kind]:
    if not isinstance(kind, Either):
        return [kind]
    return [inner for choice in kind.kinds for inner in _alternatives(choice)]


def _place(path: tuple[str, ...]) -> str:
    return f"[{'.'.join(path)}]" if len(path) > 1 else f"'{path[0]}'"
