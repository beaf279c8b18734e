"""The JSON schema of run files, for editors that complete and check them."""

from __future__ import annotations

from typing import Any

_VALUE = {"type": ["number", "string"]}
_TIME = {**_VALUE, "examples": [0.01, "10 ms", "2 min"]}
_SETTINGS: dict[str, dict[str, Any]] = {
    "duration": {**_TIME, "description": "length of the run; seconds, or text with units"},
    "start": {**_TIME, "description": "time at which it starts; 0 where left out"},
    "step": {**_TIME, "description": "step of a fixed-step method, first step of an adaptive one"},
    "method": {
        "type": "string",
        "description": "integration method; rk4 with a step, dop853 without",
        "examples": ["rk4", "midpoint", "dopri5", "dop853", "scipy:Radau"],
    },
    "sample": {
        "anyOf": [_TIME, {"type": "array", "items": _TIME}],
        "description": "time between rows of the results, or the times of rows",
    },
    "rtol": {"type": "number", "description": "relative error that an adaptive method tolerates"},
    "atol": {
        "anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}],
        "description": "absolute error that it tolerates; one number, or one per state",
    },
    "max_step": {**_TIME, "description": "largest step of an adaptive method"},
    "max_steps": {"type": "integer", "minimum": 1, "description": "number of steps that ends the run"},
    "formalism": {"type": "string", "description": "how the equations are derived; auto where left out"},
}


def run_schema() -> dict[str, Any]:
    """The schema of run files."""

    def values(description: str) -> dict[str, Any]:
        # A dotted name may be a table in a table: RB.q1 = 1 says the same as "RB.q1" = 1.
        return {
            "type": "object",
            "description": description,
            "additionalProperties": {"anyOf": [_VALUE, {"type": "object"}]},
        }

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
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
            "run": {"type": "object", "additionalProperties": False, "properties": _SETTINGS},
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
