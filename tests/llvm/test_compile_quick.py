"""Code that LLVM has only translated gives the same motion as code that it has optimised."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from armillary.llvm import jit


def bouncing_pendulum() -> arm.System:
    """With a memory, an event and an output, so that every function of a program is compiled."""
    s = arm.System("pendulum that strikes")
    s.body("bob", joint=arm.Revolute("z"), com=(0.0, -1.0, 0.0), mass=2.0, inertia=(0.1, 0.1, 0.1))
    s.gravity(9.81, -s.ground.y)
    s.memory("strikes", 0.0)
    s.event("strike", "bob.q1", direction=-1, set={"bob.u1": "-0.9*bob.u1", "strikes": "strikes + 1"})
    s.output("height", "-cos(bob.q1)")
    return s


@pytest.mark.parametrize("how", [{"method": "dop853", "rtol": 1e-10}, {"method": "rk4", "step": 1e-3}])
def test_translated_and_optimised_code_give_the_same_run(
    how: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    for kind in ("full", "quick"):
        monkeypatch.setenv("ARMILLARY_COMPILE", kind)
        model = bouncing_pendulum().derive().compile()
        runs.append(model.simulate(3.0, initial={"bob.q1": 0.5}, sample=0.01, **how))
    full, quick = runs
    assert [e.time for e in full.events] == pytest.approx([e.time for e in quick.events], abs=1e-9)
    assert full["strikes"][-1] == quick["strikes"][-1] >= 2
    np.testing.assert_allclose(quick["height"], full["height"], atol=1e-9)


def test_tiers_of_one_system_differ_by_rounding_and_keep_their_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARMILLARY_COMPILE", "full")
    eom = bouncing_pendulum().derive()
    final, quick = eom.compile(), eom.compile(tier="quick")
    assert (final.tier, quick.tier) == ("final", "quick")
    how = {"initial": {"bob.q1": 0.5}, "sample": 0.1}
    runs = [model.simulate(1.0, **how) for model in (final, quick, quick)]
    assert runs[1]["height"].tolist() == runs[2]["height"].tolist()
    np.testing.assert_allclose(runs[1]["height"], runs[0]["height"], rtol=1e-9)
    assert "tier" not in runs[0].info and runs[1].info["tier"] == "quick"
    with pytest.raises(ArmillaryError, match="unknown tier 'quik'; did you mean 'quick'"):
        eom.compile(tier="quik")


def test_models_compiled_in_both_ways_live_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine code of one is not taken for that of the other, in the process or in the cache."""
    text = "define double @f(double %x) { %y = fadd double %x, 1.0 ret double %y }"
    names = []
    for kind in ("full", "quick"):
        monkeypatch.setenv("ARMILLARY_COMPILE", kind)
        monkeypatch.setattr(jit.cache, "fetch", lambda key: names.append(key))
        jit.Compiled(text)
    assert names[0] != names[1]


def test_another_word_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_COMPILE", "fast")
    with pytest.raises(ArmillaryError, match="ARMILLARY_COMPILE is 'fast'; it can be 'full'"):
        bouncing_pendulum().derive().compile().simulate(0.1)
