"""What was just stored as single doubles is loaded as such on x86-64: one load of several would wait."""

from __future__ import annotations

import pytest

import armillary as arm
from armillary.llvm import jit, section_writer, sections
from armillary.llvm.arrangement import arranged_writer
from armillary.llvm.arrangement.arrangement import PAIR
from armillary.solver.llvm.layout import LoopShape
from armillary.solver.llvm.loop import emit_loop
from armillary.solver.methods.rk4 import TABLEAU


def angles_loaded(monkeypatch: pytest.MonkeyPatch, encodes: str) -> set[str]:
    """Kinds of values that the derivatives of two links load from their angles."""
    found: set[str] = set()

    class Noted(arranged_writer.ArrangedWriter):
        def load(self, array: str, index: int, kind: str = "") -> str:
            if array == "angles":
                found.add(kind or "double")
            return super().load(array, index, kind)

    s = arm.System("two links")
    at, com, inertia = (1, 0, 0), (1, 2, 3), (1, 2, 2)
    a = s.body("a", joint=arm.Revolute("z"), com=com, mass=1, inertia=inertia)
    s.body("b", parent=a, joint=arm.Revolute("x"), at=at, com=com, mass=1, inertia=inertia)
    s.gravity(9.81, s.ground.x)
    monkeypatch.setattr(section_writer, "ArrangedWriter", Noted)
    sections.llvm_text(s.derive("recursive").program, 32, encodes=encodes)
    return found


def test_few_neighbouring_angles_are_loaded_one_by_one_on_x86(monkeypatch: pytest.MonkeyPatch) -> None:
    assert angles_loaded(monkeypatch, "x86_64") == {"double"}
    assert angles_loaded(monkeypatch, "arm64") == {PAIR}
    monkeypatch.setattr(arranged_writer, "FEW_ANGLES", 1)
    assert angles_loaded(monkeypatch, "x86_64") == {PAIR}


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_loops_have_no_vectors_of_four_and_load_new_rates_as_the_processor_needs(
    triple: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors of four doubles lower the clock of some processors (``each_pair``)."""
    monkeypatch.delenv("ARMILLARY_COMPILE", raising=False)
    monkeypatch.setattr(jit, "_host", lambda: jit.Host(triple, "", {}))
    shape = LoopShape(
        TABLEAU, states=0, memory=0, outputs=1, events=0, update=False, fire=False, normalise=False,
        dense=False, general=True,
    )  # fmt: skip
    text = str(emit_loop(shape).module)
    assert "<4 x" not in text
    # Two pairs in each of four sums over the stages.
    assert text.count("load volatile double") == (16 if triple.startswith("x86_64") else 0)
