"""The package uses what a user's own package could use, and costs nothing where it is not used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import armillary as arm
from tests.import_arrows import Import, backward

PACKAGE = Path(__file__).parents[2] / "src" / "armillary" / "vehicles"


def test_every_name_of_armillary_that_is_used_is_public() -> None:
    used = {
        node.attr
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "arm"
    }
    assert len(used) > 10
    assert used <= set(arm.__all__)


def test_an_import_of_what_is_not_public_is_seen() -> None:
    inside = "armillary.vehicles.wheel"
    targets = ("armillary", "armillary.vehicles.tyres", "armillary.algebra.functions", "armillary.errors")
    found = backward([Import(inside, target, 1, "load") for target in targets])
    assert [arrow.target for arrow in found] == ["armillary.algebra.functions", "armillary.errors"]


def test_armillary_alone_does_not_import_it() -> None:
    code = "import sys, armillary; sys.exit('armillary.vehicles' in sys.modules)"
    root = str(PACKAGE.parents[1])
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": root}).returncode == 0
