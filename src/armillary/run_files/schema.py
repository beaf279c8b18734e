"""The JSON schema of run files, for editors that complete and check them."""

from __future__ import annotations

from typing import Any

from armillary.files.model.schema import SCHEMA_VERSION
from armillary.model.kinds import QUANTITY
from armillary.settings import RUN_TABLE

_VALUE = QUANTITY.schema()


def run_schema() -> dict[str, Any]:
    """The schema of run files."""

    def values(description: str) -> dict[str, Any]:
        # A dotted name may be a table in a table: RB.q1 = 1 says the same as "RB.q1" = 1.
        return {
            "type": "object",
            "description": description,
            "additionalProperties": {"anyOf": [_VALUE, {"type": "object"}]},
        }

    settings = {key: setting.schema() for key, setting in RUN_TABLE.items()}
    return {
        "$schema": SCHEMA_VERSION,
        "title": "Armillary run file",
        "type": "object",
        "required": ["model"],
        "additionalProperties": False,
        "properties": {
            "model": {"type": "string", "description": "model file, relative to this one, or an example"},
            "title": {"type": "string"},
            "parameters": values("numbers in the parameters' own units, or text with others"),
            "initial": values("coordinates and speeds at the start"),
            "inputs": values("signals from outside"),
            "memory": values("memories at the start"),
            "user": {"type": "object", "description": "data for the user's own function on_input"},
            "run": {"type": "object", "additionalProperties": False, "properties": settings},
            "output": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "file": {"type": "string", "description": "results: .csv, .nc, .parquet or .erd"},
                    "select": {
                        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                        "description": "outputs to keep, by name or pattern; all where left out",
                    },
                },
            },
        },
    }
