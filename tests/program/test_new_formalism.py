"""A formalism is one object and a name in a list; a model of its own is one line more."""

from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.program.derive import FORMALISMS
from armillary.program.formalisms.momentum import MOMENTUM, DerivedMomentumEquations
from armillary.runtime.models.compilation import MODELS, CompiledMomentumModel
from armillary.stages.equations import MomentumEquations
from armillary.stages.model import MomentumModel

DOCS = Path(__file__).resolve().parents[2] / "docs"


@dataclass(frozen=True, eq=False, repr=False)
class DerivedImpulseEquations(DerivedMomentumEquations):
    """Equations of motion in coordinates and momenta, as a class that the stages do not list."""


class CompiledImpulseModel(CompiledMomentumModel):
    """A model as a class that the stages do not list."""


def pendulum() -> arm.System:
    s = arm.System("pendulum")
    s.gravity(9.81, -s.ground.y)
    s.body("A", joint=arm.Revolute("z"), com=(0, -1, 0), mass=2.0, inertia=0)
    return s


def test_equations_of_a_new_class_have_the_verbs_and_the_model_of_the_nearest_one() -> None:
    with patch.dict(FORMALISMS, {"impulse": replace(MOMENTUM, name="impulse", kind=DerivedImpulseEquations)}):
        eom = pendulum().derive("impulse")
        again = pendulum().derive("impulse")
    assert type(eom) is type(again) is MomentumEquations and eom.formalism == "impulse"
    assert isinstance(core_of(eom), DerivedImpulseEquations) and eom.momenta == ("p(A.u1)",)
    model = eom.compile()
    assert type(model) is MomentumModel
    # p = m l² u and ṗ = -m g l sin q
    assert np.allclose(model.derivatives(0.0, [0.3, 4.0]), [2.0, -2.0 * 9.81 * np.sin(0.3)])
    with patch.dict(MODELS, {DerivedImpulseEquations: CompiledImpulseModel}):
        model = eom.compile()
    assert type(model) is MomentumModel and isinstance(core_of(model), CompiledImpulseModel)
    assert model.linearize().states == ("A.q1", "p(A.u1)")


def test_every_formalism_has_its_page_of_theory_and_its_row_among_the_choices() -> None:
    page = (DOCS / "how-to" / "choose-a-formalism.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for formalism in FORMALISMS.values():
        assert (DOCS / "theory" / f"{formalism.theory}.md").exists()
        name, link = f'`"{formalism.name}"`', f"(../theory/{formalism.theory}.md)"
        assert any(name in row.split("|")[1] and link in row for row in rows), formalism.name
