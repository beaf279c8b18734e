"""The published JSON schema of text models, made from the same tables that read them."""

from __future__ import annotations

from armillary.files.model.sections import LAYOUT, SECTIONS, TOP, entry_kind, verbs_of
from armillary.untyped import DataTable

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
