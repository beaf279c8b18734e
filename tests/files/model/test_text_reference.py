"""The page and the schema of text models say what the code reads."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import jsonschema
import pytest

import armillary as arm

ROOT = Path(__file__).parents[3]
MODELS = [p for p in (ROOT / "examples").rglob("*.toml") if "model" not in tomllib.loads(p.read_text())]


def test_page_and_schema_are_current():
    """Otherwise: python docs/make_text_reference.py."""
    made = runpy.run_path(str(ROOT / "docs" / "make_text_reference.py"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"]()
    assert made["SCHEMA"].read_text(encoding="utf-8") == made["schema"]()


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_examples_in_text_load_and_fit_the_schema(path):
    jsonschema.Draft202012Validator(arm.schema()).validate(tomllib.loads(path.read_text()))
    if "name" in tomllib.loads(path.read_text()):
        assert arm.load(path).derive().operations.total > 0
