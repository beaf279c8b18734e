"""The reference page of text models, docs/reference/text-models.md, and their schema beside it.

    python docs/make_text_reference.py

Both are made from the tables that read text models; a test compares them with what this file makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import armillary
from armillary.files.model.documents import (
    BEAMS,
    FLEXIBLE,
    LAYOUT,
    PLATES,
    SECTIONS,
    TOP,
    entry_form,
    entry_kind,
    verbs_of,
)
from armillary.model.bodies.bodies import FIGURES
from armillary.model.flexible.beam import SECTIONS as CROSS_SECTIONS
from armillary.model.joints import JOINTS
from armillary.model.loads.laws import FRICTIONS
from armillary.model.reading.kinds import Either, KeyedTable, Kind, ObjectForm, TableOf
from armillary.model.space.orbit import ORBITS
from armillary.model.verbs import Verb

FOLDER = Path(__file__).parent / "reference"
PAGE = FOLDER / "text-models.md"
SCHEMA = FOLDER / "model.schema.json"

HEAD = """# Text models: every section and key

A text model is TOML. [How to write one](../how-to/text-models.md) shows it by example; this page, made from
the tables that read models, lists all there is. The same as a JSON schema, for editors that complete and
check: [model.schema.json](model.schema.json), or `armillary schema`. Name it in a model's first line:

    #:schema ./model.schema.json

An *expression* is a text such as `"-k*(A.q1 - q0)"`, or a number. Names in it are parameters, inputs,
memories, states, loads, named expressions, `t`, `pi`, and parts of bodies: `A.q1` (coordinate), `A.u1`
(speed), `A.x` (axis), `A.com`, `A.origin`, `A.tip` (points), `A.mass`. Any other variable stands between back
quotes: the rate of a speed, the force of a constraint. Keys in **bold** are needed.
"""
ABOUT = {
    "include": "Other models as parts of this one, `[include.NAME]`.",
    "parameters": "Constants that each run may set: `L = 1.5`, or a table.",
    "inputs": "Signals from outside, driven by data over time, or constant in a run.",
    "memory": "Discrete states, renewed once per step, or once per `every` seconds.",
    "states": "Continuous states of one's own, after the speeds in the state; `rate` is the rate of change.",
    "tables": "Lookup tables, called in expressions as functions; with `z` of two arguments.",
    "functions": "Functions of one's own.",
    "expressions": "Named expressions and vectors, read when a text first uses them.",
    "bodies": "Bodies, reaction wheels and control moment gyros; coordinates are in the order of the file.",
    "gravity": "A uniform field; several as `[[gravity]]`.",
    "attractors": "Attracting bodies such as the Earth.",
    "fmus": "FMUs, and packages of them, in the system; read only with `trust=True` or `--trust`.",
    "blocks": "Control blocks; the first key gives the kind and its input. Texts name the output.",
    "loads": "Forces and moments; the first key gives the kind.",
    "constraints": "Equations that stay true, closed loops and joints.",
    "prescribe": "Coordinates or speeds as functions of time and parameters.",
    "armature": "Reflected rotor inertia of joints, by coordinate or speed.",
    "events": "What happens when an expression passes zero.",
    "outputs": "Quantities of interest.",
    "shapes": "Solids, meshes, lines and surfaces that pictures show; they have no mass.",
    "start": "Initial values, where a run does not say otherwise.",
    "start_mass_centre": "Where the mass centre of all that hangs on a free body starts.",
    "start_orbit": "The same, on an orbit.",
    "lock": "Joints that stand still.",
    "small": "Quantities that stay small.",
    "large": "Quantities that are large.",
}


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for key in LAYOUT:
        if key in SECTIONS:
            lines += [f"## {key}", "", ABOUT[key], ""]
            for verb in verbs_of(key):
                lines += list(_verb(key, verb))
        elif key in ABOUT:
            lines += [f"## {key}", "", ABOUT[key], ""]
            lines += list(_kind(TOP[key]))
    lines += ["## Objects", "", "Tables inside of entries; the key in bold names their kind.", ""]
    for title, forms in (
        ("joint", JOINTS), ("friction", FRICTIONS), ("orbit", ORBITS), ("beam", BEAMS),
        ("section", CROSS_SECTIONS), ("plate", PLATES), ("shape", FIGURES),
    ):  # fmt: skip
        lines += [f"### {title}", ""]
        lines += [f"- {_object(form)}" for form in forms] + [""]
    lines += ["### flexible", "", *_table(FLEXIBLE, ())]
    return "\n".join(lines).rstrip() + "\n"


def _verb(section: str, verb: Verb) -> Iterator[str]:
    yield f"### {entry_form(verb).key or verb.name}"
    yield ""
    yield f"`[{section}.NAME]` is a call of `System.{verb.name}`."
    yield ""
    yield from _table(entry_kind(verb).fields, entry_kind(verb).needs)


def _kind(kind: Kind) -> Iterator[str]:
    form = _form(kind)
    if form is not None:
        yield from _table(form.fields, form.needs)
    else:
        yield f"{kind.words[0].upper()}{kind.words[1:]}."
        yield ""


def _form(kind: Kind) -> KeyedTable | None:
    if isinstance(kind, TableOf):
        return _form(kind.of)
    if isinstance(kind, Either):
        return next((form for inner in kind.kinds if (form := _form(inner))), None)
    return kind if isinstance(kind, KeyedTable) else None


def _table(fields: Mapping[str, Kind], needs: tuple[str, ...]) -> Iterator[str]:
    yield "| key | value |"
    yield "| --- | --- |"
    for key, kind in fields.items():
        yield f"| {f'**{key}**' if key in needs else key} | {kind.words.replace('|', '/')} |"
    yield ""


def _object(form: ObjectForm) -> str:
    rest = [key for key in form.fields if key != form.key]
    more = f"; {', '.join(rest)}" if rest else ""
    return f"**{form.key}**: {form.fields[form.key].words}{more}"


def schema() -> str:
    """The schema as text."""
    return json.dumps(armillary.schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
    print(f"{PAGE.name} and {SCHEMA.name} written")
