"""The JSON schema of study files, for editors that complete and check them."""

from __future__ import annotations

from typing import Any

from armillary.model.reading.kinds import QUANTITY
from armillary.run_files.schema import run_schema
from armillary.studies.study_files.study_file import STUDY_TABLE

_NUMBER = {**QUANTITY.schema(), "examples": [1000, "55 mile/hour"]}
_UNITS = {"units": {"type": "string", "description": "of the numbers, where they bring none themselves"}}


def _distribution(word: str, numbers: list[str], **options: Any) -> dict[str, Any]:
    listed = {"type": "array", "items": _NUMBER, "minItems": len(numbers), "maxItems": len(numbers)}
    return {
        "type": "object",
        "required": [word],
        "additionalProperties": False,
        "properties": {word: {**listed, "description": ", ".join(numbers)}, **options, **_UNITS},
    }


_VARIED = {
    "anyOf": [
        _distribution("uniform", ["low", "high"]),
        _distribution("normal", ["mean", "sd"], low=_NUMBER, high=_NUMBER),
        _distribution("lognormal", ["median", "sigma"], low=_NUMBER, high=_NUMBER),
        _distribution("triangular", ["low", "mode", "high"]),
        {
            "type": "object",
            "required": ["choice"],
            "additionalProperties": False,
            "properties": {
                "choice": {"type": "array", "items": _NUMBER, "minItems": 1},
                "weights": {"type": "array", "items": {"type": "number", "minimum": 0}},
                **_UNITS,
            },
        },
        {
            "type": "object",
            "required": ["correlated", "correlation"],
            "additionalProperties": False,
            "properties": {
                "correlated": {"type": "object", "description": "distributions by name"},
                "correlation": {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "number"}},
                    "description": "matrix of correlations between -1 and 1",
                },
            },
        },
        {"type": "array", "items": _NUMBER, "minItems": 1, "description": "values, equally likely"},
        {"type": "object", "description": "further names: RB.q1 = … says the same as \"RB.q1\" = …"},
    ]
}  # fmt: skip


def study_schema() -> dict[str, Any]:
    """The schema of study files: that of run files, and what varies."""
    schema = run_schema()
    properties = schema["properties"]
    properties["output"]["properties"].pop("file")
    properties["output"]["properties"]["select"]["description"] = "outputs whose histories are kept too"
    return {
        **schema,
        "title": "Armillary study file",
        "required": ["model", "vary"],
        "properties": {
            **properties,
            "vary": {
                "type": "object",
                "minProperties": 1,
                "description": "parameters and initial values with their distributions",
                "additionalProperties": _VARIED,
            },
            "metrics": {
                "type": "object",
                "description": "numbers kept of each run, by name",
                "additionalProperties": {
                    "type": ["string", "object"],
                    "examples": ["maximum(r)", "crossing(r, 8, rising)", "histogram(r, 0, 20, 40)"],
                },
            },
            "study": STUDY_TABLE.schema(),
        },
    }
