"""The sections, objects and JSON schema of text models.

Beams, plates and their cross-sections in a text model, and how any object is described by a table.

beam = { length = 2.0, section = { tube = [0.05, 0.002] }, E = 70e9, density = 2700.0 }

The sections of a text model, from the forms of the verbs: which verb an entry means, and its kinds.

These tables read models, write them, rename what is included and make the published schema. What a section of
its own kind holds (parameters, tables, functions, parts of bodies, included models) is described here.

The published JSON schema of text models, made from the same tables that read them.
"""

from __future__ import annotations

from collections.abc import Mapping

from armillary.model.bodies.shapes import FIGURES
from armillary.model.flexible.beam import SECTIONS as BEAM_SECTIONS
from armillary.model.flexible.beam import Beam
from armillary.model.flexible.plate import Plate
from armillary.model.joints import Joint
from armillary.model.joints.text_forms import JOINTS
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
from armillary.model.recording.verbs import VERBS, EntryForm, TopForm, Verb
from armillary.model.space.orbit import ORBITS
from armillary.untyped import DataTable, Given

BEAMS = (ObjectForm("length", Beam),)
PLATES = (ObjectForm("a", Plate),)
ALL = (*BEAM_SECTIONS, *JOINTS, *FRICTIONS, *ORBITS, *BEAMS, *PLATES, *FIGURES)


def object_form(value: Given) -> ObjectForm | None:
    """The description of an object; None for one that no text can describe."""
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


SCHEMA_VERSION = "https://json-schema.org/draft/2020-12/schema"


def model_schema() -> DataTable:
    """The JSON schema of text models, for editors that complete and check them."""
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
