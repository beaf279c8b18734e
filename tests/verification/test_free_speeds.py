"""Free(velocity="auto"): the program's own choice of what is integrated for a free body.

Sayers (1990), section 8.1, and his counts for Spacecraft 1 and 2 (Tables 9.4.3 and 9.5.2), here without the
arrangement of origins and speeds that the examples have. Truth for the motions: the same system with the
description's speeds as states.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from examples import spacecraft_1, spacecraft_2
from tests.free_bodies import thrown

START = {"B.u1": 1.0, "B.u2": -0.5, "B.u3": 0.3, "B.u4": 0.7, "B.u5": -0.4, "B.u6": 1.1}
TIGHT = {"rtol": 1e-11, "atol": 1e-13}


def loaded(velocity: str) -> arm.System:
    """A thrown body with loads along its axes and a kick."""
    s = thrown(velocity)
    B = s.bodies["B"]
    s.moment("T", "0.5*sin(t)", B.x, on=B)
    s.force("F", "0.3*cos(t)", B.y, at=B.point((0.1, 0.2, 0)))
    s.output("a", arm.dot(arm.acceleration(B.point((1, 1, 1))), s.ground.x))
    s.output("v", arm.dot(arm.velocity(B.com), B.y))
    s.event("kick", "t - 0.5", set={"B.u1": "B.u1 + 1"})
    return s


@pytest.fixture(scope="module")
def models() -> dict[str, arm.CompiledModel]:
    return {velocity: loaded(velocity).derive().compile() for velocity in ("parent", "auto")}


def counts(eom: arm.Equations) -> tuple[int, int]:
    o = eom.operations
    return o.additions, o.multiplications + o.divisions + o.functions


def test_spacecraft_1_as_anybody_would_describe_it_costs_less_than_autosim_arranged_by_hand() -> None:
    """AUTOSIM has 628 and 791, with speeds of B* in body axes; the same arrangement here 398 and 519."""
    eom = spacecraft_1.system(arranged=False).derive()
    assert counts(eom) == (371, 495)


def test_spacecraft_2_with_speeds_of_the_programs_choice_costs_less_than_autosim() -> None:
    """AUTOSIM has 338 and 455; speeds in body axes here 244 and 322."""
    assert counts(spacecraft_2.system("auto").derive()) == (238, 316)


def test_a_body_with_its_mass_centre_off_its_origin_moves_by_its_mass_centre() -> None:
    found = {}
    for velocity in ("parent", "body", "auto"):
        s = arm.System("stone")
        s.body("B", joint=arm.Free(velocity=velocity), com=("a", "b", "c"), mass="m",
               inertia=("I1", "I2", "I3", "I4", "I5", "I6"))  # fmt: skip
        s.gravity(9.81, -s.ground.z)
        found[velocity] = s.derive()
    assert counts(found["parent"]) == (66, 96)
    assert counts(found["body"]) == (74, 105)
    assert counts(found["auto"]) == (53, 76)
    cheapest = min(found["auto"].considered, key=lambda c: c.cycles)
    assert "velocity of the mass centre in ground axes" in cheapest.formalism


def test_a_model_of_chosen_speeds_is_none_of_momenta(models: dict[str, arm.CompiledModel]) -> None:
    assert repr(models["auto"]).startswith("ConvertedModel('thrown', ")
    assert not hasattr(models["auto"], "momenta") and not hasattr(models["auto"], "momentum_names")


def test_runs_start_from_and_show_the_descriptions_speeds(models: dict[str, arm.CompiledModel]) -> None:
    """Coordinates, speeds, outputs with accelerations, and an event that sets a speed."""
    assert models["auto"].speed_names == models["parent"].speed_names
    runs = {name: model.simulate(1.0, initial=START, **TIGHT) for name, model in models.items()}
    for name in runs["parent"].names:
        np.testing.assert_allclose(runs["auto"][name], runs["parent"][name], rtol=0, atol=3e-9, err_msg=name)
    assert runs["auto"]["B.u1"][0] == pytest.approx(1.0, rel=1e-15)
    assert [e.name for e in runs["auto"].events] == ["kick"]


def test_values_at_a_state_agree(models: dict[str, arm.CompiledModel]) -> None:
    rng = np.random.default_rng(8)
    q, u = rng.normal(size=8), rng.normal(size=7)
    q[3:7] /= np.linalg.norm(q[3:7])
    expected = models["parent"].accelerations(0.2, q, u)
    np.testing.assert_allclose(models["auto"].accelerations(0.2, q, u), expected, rtol=1e-11, atol=1e-11)


def test_batches_and_sensitivities_agree(models: dict[str, arm.CompiledModel]) -> None:
    """A batch of three masses, and the derivative of the last row by the mass against the batch's slope."""
    masses = np.array([2.999, 3.0, 3.001])
    ends = {}
    for name, model in models.items():
        batch = model.simulate_batch(
            0.4, initial=START, parameters={"m": masses}, metrics={"end": "final(B.u1)"}, **TIGHT
        )
        ends[name] = batch["end"]
    np.testing.assert_allclose(ends["auto"], ends["parent"], rtol=0, atol=1e-9)
    derived = models["auto"].sensitivities(0.4, ["m"], ["B.u1"], initial=START, **TIGHT)
    slope = (ends["parent"][2] - ends["parent"][0]) / 0.002
    assert derived["B.u1", "m"][-1] == pytest.approx(slope, rel=1e-4)


def test_a_text_model_says_auto(tmp_path: Path) -> None:
    s = arm.System("stone")
    s.body("B", joint=arm.Free("zyx", velocity="auto"), com=(1, 2, 3), mass=1, inertia=(1, 1, 1))
    s.save(tmp_path / "stone.toml")
    text = (tmp_path / "stone.toml").read_text()
    assert 'velocity = "auto"' in text
    assert counts(arm.load(tmp_path / "stone.toml").derive()) == counts(s.derive())


@pytest.mark.parametrize("formalism", ["momentum", "redundant", "kane", "recursive", "back_substitution"])
def test_every_formalism_takes_it(formalism: str) -> None:
    s = arm.System("stone")
    s.body("B", joint=arm.Free(velocity="auto"), com=(1, 2, 3), mass=1, inertia=(1, 1, 1))
    assert s.derive(formalism).formalism == formalism


def test_constraints_keep_the_descriptions_speeds() -> None:
    s = arm.System("sled")
    B = s.body("B", joint=arm.Free(velocity="auto"), com=(0.1, 0, 0), mass=1, inertia=(1, 1, 1))
    s.constrain(arm.dot(arm.velocity(B.origin), B.y))
    eom = s.derive()
    assert set(eom.speeds) < {f"B.u{i}" for i in range(1, 7)}
    assert type(eom).__name__ == "Equations"
