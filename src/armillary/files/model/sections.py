"""The sections of a text model, from the forms of the verbs: which verb an entry means, and its kinds.

These tables read models, write them, rename what is included and make the published schema. What a section of
its own kind holds (parameters, tables, functions, parts of bodies, included models) is described here.
"""

from __future__ import annotations

from collections.abc import Mapping

from armillary.files.model.objects import BEAMS, PLATES
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
    OneOf,
    TableOf,
    choice,
)
from armillary.model.recording.verbs import VERBS, EntryForm, TopForm, Verb

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

# Sections of named entries, in the order in which they are read. One entry, one verb.
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
    """The verbs whose entries a section holds."""
    return [v for v in VERBS.values() if isinstance(v.form, EntryForm) and v.form.section == section]


def entry_form(verb: Verb) -> EntryForm:
    """The form of a verb that has entries of its own."""
    assert isinstance(verb.form, EntryForm)
    return verb.form


def entry_kind(verb: Verb) -> KeyedTable:
    """The table of an entry, with all its keys."""
    form = entry_form(verb)
    kinds = {**verb.kinds, **ADDED} if form.is_body else verb.kinds
    needed = [p.name for p in verb.parameters().values() if p.default is p.empty]
    needs = [form.key_of(name) for name in needed if name != form.name_argument]
    first = [form.key] if form.key else []
    return KeyedTable(
        f"'{form.key or verb.name}'", kinds, tuple(dict.fromkeys([*first, *needs, *form.needs]))
    )


def verb_of(section: str, entry: Mapping[str, object]) -> Verb | None:
    """The verb that an entry of a section means; None where it has none of their keys."""
    verbs = verbs_of(section)
    keys = [entry_form(verb).key for verb in verbs]
    found = [verb for verb, key in zip(verbs, keys, strict=True) if key and key in entry]
    if found:
        return found[0]
    return verbs[0] if len(verbs) == 1 or not keys[0] else None
